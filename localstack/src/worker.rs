//! Workers: take dispatches, run them, say how they ended.
//!
//! A worker is as any worker of a user's: it knows dispatches and commands,
//! not the log. A task that may run longer than 20 seconds, or that has a
//! time-out, gets a receipt first; a second worker with the same dispatch is
//! refused by it. While a worker runs something, that stands in the
//! [`running`] file, so that a new owner of the database knows what died.

mod execute;
pub mod running;
mod underway;

use std::sync::Arc;
use std::time::Duration;

use everlog::answer::{Directive, Reply};
use everlog::command::{AttemptId, Command, Ended, Evidence, Settle, Verb};
use everlog::config::SETTLE;
use everlog::fleet::{Fleet, Function, GiveBack, build_dispatch, group_id};
use everlog::id::{CommandId, OwnerId};
use everlog::journal::{JournalError, LogKey};
use everlog::message::Dispatch;
use everlog::relay::Outgoing;
use everlog_sqs::{Engine, Receive, ReceivedMessage};
use tokio::task::JoinSet;

pub use execute::Pace;
use running::Running;
pub use underway::Underway;

use crate::stack;

/// A worker that runs longer than this says so.
const RECEIPT_AFTER: Duration = Duration::from_secs(20);
/// Seconds for which a received dispatch is hidden: the longest that SQS takes.
const HIDDEN_S: u32 = 43_200;
/// Seconds after which a dispatch that could not begin is received again.
const AGAIN_S: u32 = 2;
/// Tries of a direct settle.
const SETTLE_TRIES: u32 = 20;
/// Tries of a receipt.
const RECEIPT_TRIES: u64 = 10;

/// A pool of workers on the embedded task queues.
#[derive(Debug, Clone)]
pub struct Pool {
    /// An instance of the functions, for receipts.
    pub fleet: Fleet,
    /// The queues.
    pub sqs: Engine,
    /// What the workers run, if anybody must know.
    pub running: Option<Arc<Running>>,
    /// How fast measured run times pass.
    pub pace: Pace,
    /// Who speaks to the fleet directly: one at a time, so that workers of one
    /// workflow do not race each other.
    pub turn: Arc<tokio::sync::Mutex<()>>,
    /// What they are at, or were at a moment ago.
    pub underway: Underway,
    /// The beginning of the names under which they send receipts.
    pub name: OwnerId,
}

impl Pool {
    /// Starts `workers` workers on each of the queues; they end when the set is dropped.
    #[must_use]
    pub fn start(&self, queues: &[String], workers: usize) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let slots = Arc::new(tokio::sync::Semaphore::new(workers));
        for (at, queue) in queues.iter().flat_map(|q| (0..workers).map(move |_| q)).enumerate() {
            let mut worker = self.clone();
            worker.name = worker.numbered(at);
            tasks.spawn(worker.work(queue.clone(), at, slots.clone()));
        }
        tasks
    }

    async fn work(self, queue: String, slot: usize, slots: Arc<tokio::sync::Semaphore>) {
        let url = stack::queue_url(&queue);
        let receive = Receive { max_messages: 1, wait_s: Some(20), visibility_s: Some(HIDDEN_S) };
        loop {
            match self.sqs.receive(&url, receive).await {
                Ok(messages) => {
                    for message in messages {
                        let Ok(_permit) = slots.acquire().await else { return };
                        self.take(&url, slot, &message).await;
                    }
                }
                Err(error) => {
                    tracing::error!(%error, url, "receive failed");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }

    /// Each worker has a name of its own, so that its receipt is its own.
    fn numbered(&self, at: usize) -> OwnerId {
        OwnerId::new(format!("{}-{at}", self.name)).unwrap_or_else(|_| self.name.clone())
    }

    async fn take(&self, url: &str, slot: usize, message: &ReceivedMessage) {
        let done = match serde_json::from_str::<Dispatch>(&message.body) {
            Ok(dispatch) if !self.underway.begin(dispatch.dispatch_key) => true,
            Ok(dispatch) => {
                let key = dispatch.dispatch_key;
                if let Some(running) = &self.running {
                    running.begin(slot, &dispatch);
                }
                let done = match self.claim(dispatch).await {
                    Some(dispatch) => self.perform(dispatch).await,
                    None => false,
                };
                if let Some(running) = &self.running {
                    running.end(slot);
                }
                self.underway.end(key, done);
                done
            }
            Err(error) => {
                tracing::error!(%error, "a dispatch that can't be read");
                true
            }
        };
        let told = match done {
            true => self.sqs.delete(url, &message.receipt_handle).await,
            false => self.sqs.change_visibility(url, &message.receipt_handle, AGAIN_S).await,
        };
        if let Err(error) = told {
            tracing::error!(%error, url, "the queue does not hear of a message's end");
        }
    }

    /// The dispatch with its payloads: what was too large to carry is read from
    /// the log. `None` if it can't be read now; the message comes again.
    async fn claim(&self, dispatch: Dispatch) -> Option<Dispatch> {
        if !dispatch.claim {
            return Some(dispatch);
        }
        let (namespace, workflow) = (dispatch.namespace.clone(), dispatch.workflow.clone());
        let key = LogKey::new(namespace, workflow, dispatch.incarnation);
        let journal = self.fleet.journal();
        let loaded = journal.load(&key).await.ok()?;
        let live = loaded.state.attempts.iter().find(|(target, attempt)| {
            let partition = key.partition();
            let own = loaded.state.dispatch_key(&partition, key.incarnation, target, attempt.n);
            own == dispatch.dispatch_key
        });
        // An attempt that is over by now needs no payload: its settle is a repeat.
        let Some((target, attempt)) = live else { return Some(dispatch) };
        build_dispatch(journal, &key, &loaded.state, target, attempt).await.ok()
    }

    /// Does the work of a dispatch; false if the fleet did not let it begin.
    async fn perform(&self, dispatch: Dispatch) -> bool {
        let watched = dispatch.timeouts.start_to_close_ms.is_some()
            || dispatch.timeouts.heartbeat_ms.is_some()
            || dispatch.timeouts.schedule_to_start_ms.is_some();
        if watched {
            match self.receipt(&dispatch).await {
                Some(Directive::Proceed) => {}
                Some(Directive::Cancel) => {
                    self.settle(&dispatch, Ended::Cancelled {}).await;
                    return true;
                }
                Some(Directive::Stop) => return true,
                None => return false,
            }
        }
        let began = tokio::time::Instant::now();
        let ended = tokio::select! {
            ended = execute::execute(&dispatch, self.pace) => ended,
            ended = self.stay_alive(&dispatch) => ended,
        };
        let taken = watched || began.elapsed() >= RECEIPT_AFTER;
        match ended {
            Some(ended) if taken => self.settle_taken(&dispatch, ended).await,
            Some(ended) => self.settle(&dispatch, ended).await,
            None => {}
        }
        true
    }

    /// Says now and then that the worker is alive; ends when it must stop.
    async fn stay_alive(&self, dispatch: &Dispatch) -> Option<Ended> {
        let half_beat = dispatch.timeouts.heartbeat_ms.map(|ms| Duration::from_millis(ms / 2));
        let every = half_beat.unwrap_or(RECEIPT_AFTER).min(RECEIPT_AFTER);
        loop {
            tokio::time::sleep(every.max(Duration::from_millis(50))).await;
            let evidence = Evidence { attempt: attempt(dispatch), worker: self.name.clone() };
            match self.tell(dispatch, Verb::Heartbeat(evidence)).await {
                Some(Directive::Proceed) | None => {}
                Some(Directive::Cancel) => return Some(Ended::Cancelled {}),
                Some(Directive::Stop) => return None,
            }
        }
    }

    /// Says that the work begins, and hears whether it may; asks again while
    /// there is no answer.
    async fn receipt(&self, dispatch: &Dispatch) -> Option<Directive> {
        let evidence = Evidence { attempt: attempt(dispatch), worker: self.name.clone() };
        for attempt in 1..=RECEIPT_TRIES {
            let told = self.tell(dispatch, Verb::Receipt(evidence.clone())).await;
            if told.is_some() {
                return told;
            }
            let wait_ms = rand::random_range(0..100 * attempt);
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        }
        None
    }

    /// Tells the fleet directly and hears what to do; `None` if it did not answer.
    async fn tell(&self, dispatch: &Dispatch, verb: Verb) -> Option<Directive> {
        let body = serde_json::to_string(&command(dispatch, verb)?).ok()?;
        let _turn = self.turn.lock().await;
        match self.fleet.direct(Function::Settle, &body).await {
            Ok(answer) => match answer.reply {
                Reply::Rejected { .. } => Some(Directive::Stop),
                Reply::Committed | Reply::Unchanged => answer.directive,
            },
            Err(error) => {
                tracing::warn!(%error, node = %dispatch.node, "no answer to a sign of life");
                None
            }
        }
    }

    /// Settles an attempt that has a receipt, directly: nobody else may take it
    /// up, so its outcome must be in the log before its slot is blanked.
    async fn settle_taken(&self, dispatch: &Dispatch, outcome: Ended) {
        let worker = Some(self.name.clone());
        let settle = Settle { attempt: attempt(dispatch), worker, outcome: outcome.clone() };
        let body = command(dispatch, Verb::Settle(Box::new(settle)));
        let body =
            body.and_then(|command| serde_json::to_string(&command).ok()).unwrap_or_default();
        for _ in 0..SETTLE_TRIES {
            let _turn = self.turn.lock().await;
            match self.fleet.direct(Function::Settle, &body).await {
                Ok(_) => return,
                Err(error) => tracing::warn!(%error, node = %dispatch.node, "not settled yet"),
            }
        }
        self.settle(dispatch, outcome).await;
    }

    async fn settle(&self, dispatch: &Dispatch, outcome: Ended) {
        let settle =
            Settle { attempt: attempt(dispatch), worker: Some(self.name.clone()), outcome };
        let Some(command) = command(dispatch, Verb::Settle(Box::new(settle))) else { return };
        let partition = everlog::journal::keys::partition(&dispatch.namespace, &dispatch.workflow);
        let mut message = vec![Outgoing {
            body: serde_json::to_string(&command).unwrap_or_default(),
            group: group_id(&partition),
            dedup: command.id.to_string(),
            delay_s: 0,
        }];
        while !message.is_empty() {
            message = self.fleet.relay().send(SETTLE, message).await;
        }
    }
}

/// The attempt that a dispatch is of.
#[must_use]
pub fn attempt(dispatch: &Dispatch) -> AttemptId {
    AttemptId {
        node: dispatch.node.clone(),
        activation: dispatch.activation,
        attempt: dispatch.attempt,
        dispatch_key: dispatch.dispatch_key,
    }
}

/// A command about a dispatch, with an id of its own.
#[must_use]
pub fn command(dispatch: &Dispatch, verb: Verb) -> Option<Command> {
    let chance: u64 = rand::random();
    let id = format!("{}-{}-{chance:016x}", dispatch.dispatch_key, verb.name());
    let (namespace, workflow) = (dispatch.namespace.clone(), dispatch.workflow.clone());
    let command = Command::new(CommandId::new(id).ok()?, namespace, workflow, verb);
    Some(Command { incarnation: Some(dispatch.incarnation), ..command })
}

/// Ends what a dead owner's workers were running, so that it is tried again.
///
/// # Errors
/// [`GiveBack`]: the fleet does not answer; ask again.
pub async fn lose(fleet: &Fleet, dispatches: &[running::Entry]) -> Result<usize, GiveBack> {
    let mut lost = 0;
    for entry in dispatches {
        let settle =
            Settle { attempt: entry.attempt.clone(), worker: None, outcome: Ended::Lost {} };
        let chance: u64 = rand::random();
        let Ok(id) = CommandId::new(format!("lost-{chance:016x}")) else { continue };
        let verb = Verb::Settle(Box::new(settle));
        let command = Command {
            incarnation: Some(entry.incarnation),
            ..Command::new(id, entry.namespace.clone(), entry.workflow.clone(), verb)
        };
        let body = serde_json::to_string(&command).unwrap_or_default();
        match fleet.direct(Function::Settle, &body).await {
            Ok(answer) => lost += usize::from(matches!(answer.reply, Reply::Committed)),
            // One log that does not fold keeps nobody else from going on.
            Err(GiveBack::Journal(JournalError::Damaged(why))) => {
                tracing::error!(workflow = %entry.workflow, why, "its lost attempt is left alone");
            }
            Err(other) => return Err(other),
        }
    }
    Ok(lost)
}
