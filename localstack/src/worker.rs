//! Workers of this machine: what `everlog run` performs tasks with.
//!
//! They are as any worker of a user's (`everlog::worker`): they know dispatches
//! and commands, not the log. On a deployed fleet they poll its queues; on the
//! embedded one a [`Pool`] takes from the engine itself, without the SDK in
//! between, and writes down what it runs in the [`running`] file, so that a new
//! owner of the database knows what died.

mod execute;
pub mod running;

use std::sync::Arc;
use std::time::Duration;

use everlog::answer::Reply;
use everlog::client::Client;
use everlog::command::{Command, Ended, Settle, Verb};
use everlog::fleet::{Fleet, Function, GiveBack};
use everlog::id::CommandId;
use everlog::journal::JournalError;
use everlog::message::Dispatch;
use everlog::worker::{Deadline, Fate, NoSettleQueue, Worker, unique_name};
use everlog_sqs::{Engine, Receive, ReceivedMessage};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

pub use execute::Pace;
use running::Running;

use crate::stack;

/// Seconds for which a received dispatch is hidden: the longest that SQS takes.
/// The engine dies with this process, so nothing is hidden longer than it lives.
const HIDDEN_S: u32 = 43_200;
/// Seconds until a second copy of a running dispatch is looked at again.
const COPY_S: u32 = 60;

/// A worker that runs the commands of tasks, or lets their measured run times
/// pass at `pace`. `fleet` is its way to send and to read; `client` to call.
///
/// # Errors
/// [`NoSettleQueue`].
pub fn local(fleet: &Fleet, client: Client, pace: Pace) -> Result<Worker, NoSettleQueue> {
    let relay = fleet.relay().clone();
    let run = move |task, _| execute::execute(task, pace);
    let worker = Worker::new(unique_name("local"), client, relay, run)?;
    // Commands and sleeps have nothing to tidy up: no grace.
    let worker = worker.with_cancel_grace(Duration::ZERO);
    Ok(worker.with_journal(fleet.journal().clone()))
}

/// A pool of workers on the embedded task queues.
#[derive(Debug, Clone)]
pub struct Pool {
    /// What each of them does.
    pub worker: Worker,
    /// The queues.
    pub sqs: Engine,
    /// What the workers run, if anybody must know.
    pub running: Option<Arc<Running>>,
}

impl Pool {
    /// Starts `workers` workers on each of the queues; they end when the set is dropped.
    #[must_use]
    pub fn start(&self, queues: &[String], workers: usize) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let slots = Arc::new(Semaphore::new(workers));
        for (at, queue) in queues.iter().flat_map(|q| (0..workers).map(move |_| q)).enumerate() {
            tasks.spawn(self.clone().work(queue.clone(), at, slots.clone()));
        }
        tasks
    }

    async fn work(self, queue: String, slot: usize, slots: Arc<Semaphore>) {
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
        let fate = match serde_json::from_str::<Dispatch>(&message.body) {
            Ok(dispatch) => {
                if let Some(running) = &self.running {
                    running.begin(slot, &dispatch);
                }
                let fate = self.worker.perform(dispatch, &Deadline::never()).await;
                if let Some(running) = &self.running {
                    running.end(slot);
                }
                fate
            }
            Err(error) => {
                tracing::error!(%error, "a dispatch that can't be read");
                Fate::Done
            }
        };
        let handle = &message.receipt_handle;
        let told = match fate {
            Fate::Done => self.sqs.delete(url, handle).await,
            Fate::Again(after) => {
                let seconds = u32::try_from(after.as_secs()).unwrap_or(HIDDEN_S);
                self.sqs.change_visibility(url, handle, seconds).await
            }
            Fate::Leave => self.sqs.change_visibility(url, handle, COPY_S).await,
        };
        if let Err(error) = told {
            tracing::error!(%error, url, "the queue does not hear of a message's end");
        }
    }
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
