//! The half that writes.

use std::time::Duration;

use super::Address;
use crate::answer::{Rejection, Reply};
use crate::client::{CallError, Client};
use crate::command::{
    Append, Barrier, Claim, Command, Delete, Prepare, Reopen, Resume, Start, Verb,
};
use crate::id::{CommandId, DispatchKey, Incarnation};
use crate::query::HistoryEvent;

/// How long a write is repeated while its outcome is unknown.
const PATIENCE: Duration = Duration::from_secs(30);

/// The capability to write. It can't be cloned: who should write is handed it.
#[derive(Debug)]
pub struct Recorder {
    client: Client,
    patience: Duration,
}

/// What a write came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The life of the workflow.
    pub incarnation: Incarnation,
    /// The head that the answer was decided on: at least that of the write; 0 of
    /// a life that was deleted.
    pub head: u64,
    /// Keys of the attempts that it prepared, in order.
    pub dispatch_keys: Vec<DispatchKey>,
    /// It was there already: this was a repeat, or there was nothing to do.
    pub unchanged: bool,
}

/// Why nothing is known to be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// Another writer came first; nothing was stored. Decide anew.
    #[error("expected sequence {expected}, found {found}")]
    SequenceConflict {
        /// What the caller expected.
        expected: u64,
        /// The true head.
        found: u64,
        /// Up to 100 of the events in between.
        events: Vec<HistoryEvent>,
    },
    /// A different owner has authority; nothing was stored. Stop.
    #[error("fenced by generation {generation}")]
    Fenced {
        /// The generation of the owner in power.
        generation: u64,
    },
    /// The answer is no; nothing was stored.
    #[error(transparent)]
    Rejected(Rejection),
    /// Nobody knows: call again, under the same id. Never under another one.
    #[error("the outcome is unknown: {0}")]
    Unknown(#[source] CallError),
}

impl Recorder {
    pub(super) fn new(client: Client) -> Self {
        Self { client, patience: PATIENCE }
    }

    /// How long a write is repeated while its outcome is unknown, 30 seconds by
    /// default; then it is [`WriteError::Unknown`].
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Begins a workflow: the append at head 0. Of several creators one wins;
    /// the others learn the head.
    ///
    /// Costs 5 write units: the card, the commit, and the card's place in lists.
    ///
    /// # Errors
    /// [`WriteError`]; another start's workflow is a conflict at 0.
    pub async fn start(
        &self,
        id: CommandId,
        of: &Address,
        start: Start,
    ) -> Result<Recorded, WriteError> {
        self.record(id, of, Verb::Start(Box::new(start))).await
    }

    /// Appends events, prepares attempts, arms timers, and ends or continues the
    /// run: all of it or nothing, and only at the expected head. Without any of
    /// it only the head is checked.
    ///
    /// Costs a write unit a started KiB, and a read unit where this process has
    /// not seen the workflow before.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn append(
        &self,
        id: CommandId,
        of: &Address,
        append: Append,
    ) -> Result<Recorded, WriteError> {
        self.record(id, of, Verb::Append(Box::new(append))).await
    }

    /// Takes authority over a workflow that has no owner.
    ///
    /// # Errors
    /// [`WriteError::Fenced`] where another one has it.
    pub async fn claim(
        &self,
        id: CommandId,
        of: &Address,
        claim: Claim,
    ) -> Result<Recorded, WriteError> {
        self.record(id, of, Verb::Claim(claim)).await
    }

    /// Reserves an attempt, whatever the head is.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn prepare(
        &self,
        id: CommandId,
        of: &Address,
        prepare: Prepare,
    ) -> Result<Recorded, WriteError> {
        self.record(id, of, Verb::Prepare(Box::new(prepare))).await
    }

    /// Goes on with a run after its end.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn reopen(
        &self,
        id: CommandId,
        of: &Address,
        reopen: Reopen,
    ) -> Result<Recorded, WriteError> {
        self.record(id, of, Verb::Reopen(reopen)).await
    }

    /// Deletes a workflow that has ended: nobody finds it any more, its items go an
    /// hour later, and its id may be started again at once.
    ///
    /// # Errors
    /// [`WriteError`]; of an open one, or one under legal hold, its state.
    pub async fn delete(&self, id: CommandId, of: &Address) -> Result<Recorded, WriteError> {
        self.record(id, of, Verb::Delete(Delete {})).await
    }

    /// Forbids to delete a workflow, for a command and for retention, until
    /// [`Recorder::release`].
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn hold(
        &self,
        id: CommandId,
        of: &Address,
        reason: Option<String>,
    ) -> Result<Recorded, WriteError> {
        self.record(id, of, Verb::Hold(Barrier { reason })).await
    }

    /// Lifts the hold.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn release(&self, id: CommandId, of: &Address) -> Result<Recorded, WriteError> {
        self.record(id, of, Verb::Release(Resume {})).await
    }

    /// Records whatever a command may: evidence of workers, signals, barriers.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn record(
        &self,
        id: CommandId,
        of: &Address,
        verb: Verb,
    ) -> Result<Recorded, WriteError> {
        let command = Command::new(id, of.namespace.clone(), of.workflow.clone(), verb);
        let answer = self.client.call(&command, self.patience).await;
        let answer = answer.map_err(WriteError::Unknown)?;
        let unchanged = match answer.reply {
            Reply::Committed => false,
            Reply::Unchanged => true,
            Reply::Rejected { rejection, .. } => return Err(rejection.into()),
        };
        let Some(incarnation) = answer.incarnation else {
            let why = CallError::Unreadable("an answer without an incarnation".into());
            return Err(WriteError::Unknown(why));
        };
        let head = answer.head.unwrap_or_default();
        Ok(Recorded { incarnation, head, dispatch_keys: answer.dispatch_keys, unchanged })
    }
}

impl From<Rejection> for WriteError {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::SequenceConflict { expected, found, events } => {
                Self::SequenceConflict { expected, found, events }
            }
            Rejection::Fenced { generation } => Self::Fenced { generation },
            other => Self::Rejected(other),
        }
    }
}
