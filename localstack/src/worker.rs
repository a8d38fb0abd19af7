//! Workers: take dispatches, run them, say how they ended.
//!
//! A worker is as any worker of a user's: it knows dispatches and commands,
//! not the log. A task that may run longer than 20 seconds, or that has a
//! time-out, gets a receipt first; a second worker with the same dispatch is
//! refused by it. While a worker runs something, that stands in the
//! [`running`] file, so that a new owner of the database knows what died.

mod execute;
pub mod running;

use std::sync::Arc;
use std::time::Duration;

use everlog::answer::{Directive, Reply};
use everlog::command::{AttemptId, Command, Ended, Evidence, Settle, Verb};
use everlog::config::SETTLE;
use everlog::fleet::{Fleet, Function, GiveBack, build_dispatch, group_id};
use everlog::id::{CommandId, OwnerId};
use everlog::journal::LogKey;
use everlog::message::Dispatch;
use everlog::relay::Outgoing;
use everlog_sqs::{Engine, Receive, ReceivedMessage};
use tokio::task::JoinSet;

pub use execute::Pace;
use running::Running;

use crate::stack;

/// A worker that runs longer than this says so.
const RECEIPT_AFTER: Duration = Duration::from_secs(20);
/// Seconds for which a received dispatch is hidden: the longest that SQS takes.
const HIDDEN_S: u32 = 43_200;

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
    /// The name under which they send receipts.
    pub name: OwnerId,
}

impl Pool {
    /// Starts `workers` workers on each of the queues; they end when the set is dropped.
    #[must_use]
    pub fn start(&self, queues: &[String], workers: usize) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let slots = Arc::new(tokio::sync::Semaphore::new(workers));
        for (at, queue) in queues.iter().flat_map(|q| (0..workers).map(move |_| q)).enumerate() {
            tasks.spawn(self.clone().work(queue.clone(), at % workers, slots.clone()));
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

    async fn take(&self, url: &str, slot: usize, message: &ReceivedMessage) {
        match serde_json::from_str::<Dispatch>(&message.body) {
            Ok(dispatch) => {
                let Some(dispatch) = self.claim(dispatch).await else { return };
                if let Some(running) = &self.running {
                    running.begin(slot, &dispatch);
                }
                self.perform(dispatch).await;
                if let Some(running) = &self.running {
                    running.end(slot);
                }
            }
            Err(error) => tracing::error!(%error, "a dispatch that can't be read"),
        }
        if let Err(error) = self.sqs.delete(url, &message.receipt_handle).await {
            tracing::error!(%error, url, "delete failed");
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

    async fn perform(&self, dispatch: Dispatch) {
        let watched = dispatch.timeouts.start_to_close_ms.is_some()
            || dispatch.timeouts.heartbeat_ms.is_some()
            || dispatch.timeouts.schedule_to_start_ms.is_some();
        if watched && !self.proceed(&dispatch).await {
            return;
        }
        let ended = tokio::select! {
            ended = execute::execute(&dispatch, self.pace) => ended,
            ended = self.stay_alive(&dispatch) => ended,
        };
        if let Some(ended) = ended {
            self.settle(&dispatch, ended).await;
        }
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

    /// Whether the fleet lets this worker begin.
    async fn proceed(&self, dispatch: &Dispatch) -> bool {
        let evidence = Evidence { attempt: attempt(dispatch), worker: self.name.clone() };
        match self.tell(dispatch, Verb::Receipt(evidence)).await {
            Some(Directive::Proceed) => true,
            Some(Directive::Cancel) => {
                self.settle(dispatch, Ended::Cancelled {}).await;
                false
            }
            Some(Directive::Stop) | None => false,
        }
    }

    /// Tells the fleet directly and hears what to do; `None` if it did not answer.
    async fn tell(&self, dispatch: &Dispatch, verb: Verb) -> Option<Directive> {
        let body = serde_json::to_string(&command(dispatch, verb)?).ok()?;
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
    Some(Command {
        id: CommandId::new(id).ok()?,
        namespace: dispatch.namespace.clone(),
        workflow: dispatch.workflow.clone(),
        incarnation: Some(dispatch.incarnation),
        issued_at: None,
        after_seq: None,
        reply_to: None,
        command: verb,
    })
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
        let command = Command {
            id,
            namespace: entry.namespace.clone(),
            workflow: entry.workflow.clone(),
            incarnation: Some(entry.incarnation),
            issued_at: None,
            after_seq: None,
            reply_to: None,
            command: Verb::Settle(Box::new(settle)),
        };
        let body = serde_json::to_string(&command).unwrap_or_default();
        let answer = fleet.direct(Function::Settle, &body).await?;
        lost += usize::from(matches!(answer.reply, Reply::Committed));
    }
    Ok(lost)
}
