//! What a worker says to the fleet: receipts and heartbeats by a call, whose
//! answer it needs; outcomes through the queue `settle`, which keeps them.
//!
//! Each saying has an id of its own that its repeats carry. Two performances
//! of one attempt never share an id: the queue would take the second for a
//! repeat of the first and swallow it, though the fleet had refused that.

use std::time::Duration;

use tokio::time::Instant;

use super::attempt::Received;
use super::{Fate, SETTLE_PATIENCE, Worker};
use crate::answer::{Directive, Reply};
use crate::command::{Command, Ended, Evidence, Settle, Verb};
use crate::config::{DEAD_LETTER, SETTLE};
use crate::fleet::group_id;
use crate::id::CommandId;
use crate::journal::keys;
use crate::message::{DeadLetter, Dispatch};
use crate::relay::Outgoing;

/// Longest wait between two tries of a settle, milliseconds.
const WAIT_MS_MAX: u64 = 5_000;
/// Until a message that is no dispatch is looked at again.
const UNREADABLE_AGAIN: Duration = Duration::from_secs(300);
/// How long a direct settle is repeated before the queue takes it.
const CALL_PATIENCE: Duration = Duration::from_secs(10);

/// A command about a dispatch, with an id of its own. `None` never happens:
/// keys and verbs make ids.
#[must_use]
pub fn command(dispatch: &Dispatch, verb: Verb) -> Option<Command> {
    let chance: u64 = rand::random();
    let id = format!("{}-{}-{chance:016x}", dispatch.dispatch_key, verb.name());
    let (namespace, workflow) = (dispatch.namespace.clone(), dispatch.workflow.clone());
    let command = Command::new(CommandId::new(id).ok()?, namespace, workflow, verb);
    Some(Command { incarnation: Some(dispatch.incarnation), ..command })
}

impl Worker {
    pub(super) fn evidence(&self, dispatch: &Dispatch) -> Evidence {
        Evidence { attempt: dispatch.attempt_id(), worker: self.name.clone() }
    }

    /// Gives a sign of life and hears what to do; `None` if there is no answer
    /// in time.
    pub(super) async fn tell(
        &self,
        dispatch: &Dispatch,
        verb: Verb,
        patience: Duration,
    ) -> Option<Directive> {
        let told = self.client.call(&command(dispatch, verb)?, patience).await;
        match told {
            Ok(answer) => match answer.reply {
                Reply::Rejected { retryable: true, .. } => None,
                Reply::Rejected { rejection, .. } => {
                    tracing::info!(%rejection, key = %dispatch.dispatch_key, "refused");
                    Some(Directive::Stop)
                }
                Reply::Committed | Reply::Unchanged => answer.directive,
            },
            Err(error) => {
                tracing::warn!(%error, key = %dispatch.dispatch_key, "no answer to a sign of life");
                None
            }
        }
    }

    /// Says how an attempt ended, until that is accepted; false if no queue
    /// takes it for ten minutes.
    pub(super) async fn settle(&self, dispatch: &Dispatch, outcome: Ended, taken: bool) -> bool {
        let (attempt, worker) = (dispatch.attempt_id(), Some(self.name.clone()));
        let settle = Verb::Settle(Box::new(Settle { attempt, worker, outcome }));
        let Some(command) = command(dispatch, settle) else { return false };
        if taken && self.settle_by_call {
            match self.client.call(&command, CALL_PATIENCE).await {
                Ok(_) => return true,
                Err(error) => {
                    tracing::warn!(%error, key = %dispatch.dispatch_key, "not settled by call");
                }
            }
        }
        self.send(dispatch, &command, Instant::now() + SETTLE_PATIENCE).await
    }

    /// Sends a command to the settle queue until it is accepted.
    async fn send(&self, dispatch: &Dispatch, command: &Command, end: Instant) -> bool {
        let Ok(body) = serde_json::to_string(command) else { return false };
        let group = group_id(&keys::partition(&dispatch.namespace, &dispatch.workflow));
        let mut left = vec![Outgoing { body, group, dedup: command.id.to_string(), delay_s: 0 }];
        let mut longest_ms = 100;
        loop {
            left = self.relay.send(SETTLE, left).await;
            if left.is_empty() {
                return true;
            }
            let wait = Duration::from_millis(rand::random_range(0..=longest_ms));
            if Instant::now() + wait >= end {
                tracing::error!(key = %dispatch.dispatch_key, "an outcome that no queue takes");
                return false;
            }
            tokio::time::sleep(wait).await;
            longest_ms = (2 * longest_ms).min(WAIT_MS_MAX);
        }
    }

    /// What is no dispatch goes to the dead-letter queue, with the reason, if
    /// this worker knows that queue; else its own queue keeps it, until it is
    /// received too often.
    pub(super) async fn set_aside(&self, received: Received<'_>, reason: &str) -> Fate {
        let Received { queue, id: message_id, body, .. } = received;
        tracing::error!(queue, message_id, reason, "a dispatch that can't be read");
        if self.relay.queues().url(DEAD_LETTER).is_none() {
            return Fate::Again(UNREADABLE_AGAIN);
        }
        let letter = DeadLetter {
            queue: queue.to_owned(),
            message_id: message_id.to_owned(),
            reason: reason.to_owned(),
            body: body.to_owned(),
            cut: false,
        };
        let (body, dedup) = (letter.into_body(), message_id.to_owned());
        let letter = Outgoing { body, group: "dead-letter".into(), dedup, delay_s: 0 };
        match self.relay.send(DEAD_LETTER, vec![letter]).await.is_empty() {
            true => Fate::Done,
            false => Fate::Again(UNREADABLE_AGAIN),
        }
    }
}
