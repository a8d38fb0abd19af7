//! What a command is told: an answer, of which a rejection is one kind.
//!
//! A rejection is not a fault. It is decided on a known state, it changed
//! nothing, and it says by [`Rejection::retryable`] whether the same command
//! may succeed later. Infrastructure trouble never becomes a rejection: the
//! message is given back to its queue instead (`fleet`).

use std::fmt::Display;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Ending;
use crate::id::{CommandId, DispatchKey, Incarnation, Namespace, WorkflowId};
use crate::time::Timestamp;

/// A field whose value is outside its bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{field}: expected {limit}, found {value}")]
pub struct InvalidInput {
    /// Path of the field in the message, `command.start.plan.tasks[3].after[0]`.
    pub field: String,
    /// What is allowed.
    pub limit: String,
    /// What was found, shortened to 200 characters.
    pub value: String,
}

impl InvalidInput {
    /// Names a field, its bound and what was found.
    pub fn new(field: impl Into<String>, limit: impl Into<String>, value: impl Display) -> Self {
        let mut value = value.to_string();
        if let Some((cut, _)) = value.char_indices().nth(200) {
            value.truncate(cut);
            value.push('…');
        }
        Self { field: field.into(), limit: limit.into(), value }
    }

    /// The same, seen from one level above.
    #[must_use]
    pub fn under(mut self, parent: &str) -> Self {
        self.field = format!("{parent}.{}", self.field);
        self
    }
}

/// Why a command changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Rejection {
    /// The message breaks a bound; correct it.
    #[error("invalid input: {0}")]
    InvalidInput(InvalidInput),
    /// There is no such thing.
    #[error("no {what} {id}")]
    NotFound {
        /// What kind of thing.
        what: String,
        /// Its name.
        id: String,
    },
    /// It was done before, differently.
    #[error("conflict: {what}")]
    Conflict {
        /// What contradicts.
        what: String,
    },
    /// The head is not the expected one; read on from there and decide anew.
    #[error("expected sequence {expected}, found {found}")]
    SequenceConflict {
        /// What the caller expected.
        expected: u64,
        /// The true head.
        found: u64,
        /// Up to 100 of the events in between.
        #[serde(default)]
        events: Vec<crate::query::HistoryEvent>,
    },
    /// The workflow is not in a state that allows it.
    #[error("the workflow is {state}")]
    WrongState {
        /// What it is.
        state: String,
    },
    /// A different owner has authority; stop, don't retry.
    #[error("fenced by generation {generation}")]
    Fenced {
        /// The generation of the owner in power.
        generation: u64,
    },
    /// Paused; try after the resume.
    #[error("paused")]
    Paused,
    /// Cancelled; stop.
    #[error("cancelled")]
    Cancelled,
    /// The deadline is over.
    #[error("expired at {deadline:?}")]
    Expired {
        /// When.
        deadline: Timestamp,
    },
    /// A cap is used up.
    #[error("exhausted: {what} is {limit}")]
    Exhausted {
        /// Which cap.
        what: String,
        /// Its value.
        limit: u64,
    },
    /// A bound on what is live at once; try later.
    #[error("busy: {what} is {limit}")]
    Busy {
        /// Which bound.
        what: String,
        /// Its value.
        limit: u64,
    },
    /// The sequence that the command waits for did not come in time; send it again.
    #[error("sequence {after_seq} not reached, the head is {head}")]
    NotReached {
        /// What the command waits for.
        after_seq: u64,
        /// The head.
        head: u64,
    },
}

impl Rejection {
    /// Whether the same command may succeed later.
    #[must_use]
    pub fn retryable(&self) -> bool {
        matches!(self, Self::Paused | Self::Busy { .. } | Self::NotReached { .. })
    }

    /// The kind, as metrics and messages name it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::InvalidInput(_) => "invalid_input",
            Self::NotFound { .. } => "not_found",
            Self::Conflict { .. } => "conflict",
            Self::SequenceConflict { .. } => "sequence_conflict",
            Self::WrongState { .. } => "wrong_state",
            Self::Fenced { .. } => "fenced",
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
            Self::Expired { .. } => "expired",
            Self::Exhausted { .. } => "exhausted",
            Self::Busy { .. } => "busy",
            Self::NotReached { .. } => "not_reached",
        }
    }
}

impl From<InvalidInput> for Rejection {
    fn from(input: InvalidInput) -> Self {
        Self::InvalidInput(input)
    }
}

/// What a worker should do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Directive {
    /// Go on.
    Proceed,
    /// Stop, the workflow is to end.
    Cancel,
    /// Stop, the attempt is over.
    Stop,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Reply {
    /// Its facts are in the log.
    Committed,
    /// They were there already.
    Unchanged,
    /// It changed nothing.
    Rejected {
        /// Why.
        rejection: Rejection,
        /// Whether the same command may succeed later.
        retryable: bool,
    },
}

impl From<Rejection> for Reply {
    fn from(rejection: Rejection) -> Self {
        let retryable = rejection.retryable();
        Self::Rejected { rejection, retryable }
    }
}

/// The answer to one command, sent to its reply queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The command, if its id could be read.
    pub command: Option<CommandId>,
    /// Its namespace, if it could be read.
    pub namespace: Option<Namespace>,
    /// Its workflow, if it could be read.
    pub workflow: Option<WorkflowId>,
    /// The incarnation that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
    /// The head of the history that the answer was decided on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<u64>,
    /// How it ended.
    #[serde(flatten)]
    pub reply: Reply,
    /// The keys of prepared attempts, in the order of the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dispatch_keys: Vec<DispatchKey>,
    /// What the worker should do, after a receipt or heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directive: Option<Directive>,
    /// How the workflow ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
}
