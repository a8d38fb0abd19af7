//! What the five functions do with what invokes them:
//! load → decide → commit → relay.
//!
//! A batch is grouped by workflow; the commands of a group are decided one
//! after another on one state and become one commit. No answer leaves before
//! the commit that it was decided on is in, a refusal only from a state that
//! was confirmed after the command arrived, and a message is done only when
//! the dispatches of its commit are accepted by their queues.
//!
//! Trouble is given back, never answered: the message becomes visible again
//! and whoever receives it starts from the log. What can't be read is answered
//! and moved to the dead-letter queue, with the reason.
//!
//! Nothing runs after a handler has answered. The fleet keeps no state that
//! it needs: its cache may be lost at any time.
//!
//! [`batch`] is the way in, `serve` the heart, [`after`] what follows a
//! commit, [`look`] and [`sweep`] the alarm, [`lambda`] the shape of events,
//! [`measure`] an invocation in numbers.

pub mod after;
pub mod batch;
mod begin;
mod cache;
mod deciding;
mod dispatch;
#[cfg(feature = "aws")]
mod environment;
pub mod lambda;
pub mod look;
pub mod measure;
mod quarantine;
mod removal;
mod serve;
pub mod sweep;

use std::sync::Arc;

use crate::command::Verb;
use crate::config::{APPEND, OUTBOX, PREPARE, SETTLE, WAKE};
use crate::journal::Journal;
use crate::relay::Relay;
use crate::telemetry::Tally;
use crate::time::{Clock, Timestamp};

pub use dispatch::build as build_dispatch;
#[cfg(feature = "aws")]
pub use environment::EnvironmentError;
pub use serve::GiveBack;
pub(crate) use serve::panic_text;

/// Milliseconds of an invocation that are kept for giving back.
const RESERVE_MS: u64 = 3_000;

/// One instance of the functions.
#[derive(Debug, Clone)]
pub struct Fleet {
    journal: Journal,
    relay: Relay,
    clock: Clock,
    cache: Arc<cache::Cache>,
    /// When the present invocation must be done.
    deadline: Option<tokio::time::Instant>,
    /// What the present invocation comes to, if anybody asks.
    tally: Tally,
    /// Milliseconds after which what has ended is deleted; never where absent.
    retention_ms: Option<u64>,
}

/// The five functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// Commands of callers and engines.
    Append,
    /// Reservations of attempts.
    Prepare,
    /// Evidence of workers.
    Settle,
    /// Alarms and wakes.
    TimerSweep,
    /// What relay could not hand over.
    OutboxDispatch,
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Append, Self::Prepare, Self::Settle, Self::TimerSweep, Self::OutboxDispatch];

    /// The function that takes such a command.
    #[must_use]
    pub fn of(verb: &Verb) -> Self {
        match verb {
            Verb::Prepare(_) => Self::Prepare,
            Verb::Receipt(_) | Verb::Heartbeat(_) | Verb::Settle(_) => Self::Settle,
            Verb::Start(_)
            | Verb::Append(_)
            | Verb::Claim(_)
            | Verb::Signal(_)
            | Verb::Pause(_)
            | Verb::Resume(_)
            | Verb::Cancel(_)
            | Verb::Reopen(_)
            | Verb::Delete(_)
            | Verb::Hold(_)
            | Verb::Release(_) => Self::Append,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Prepare => "prepare",
            Self::Settle => "settle",
            Self::TimerSweep => "timer-sweep",
            Self::OutboxDispatch => "outbox-dispatch",
        }
    }

    /// The logical name of the queue that invokes it.
    #[must_use]
    pub fn queue(self) -> &'static str {
        match self {
            Self::Append => APPEND,
            Self::Prepare => PREPARE,
            Self::Settle => SETTLE,
            Self::TimerSweep => WAKE,
            Self::OutboxDispatch => OUTBOX,
        }
    }
}

/// One message of a batch, as SQS brought it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// Its id, by which a failure is reported.
    pub id: String,
    /// Its body.
    pub body: String,
    /// By which its visibility is changed.
    pub receipt_handle: String,
    /// Logical name of its queue.
    pub queue: String,
    /// Its FIFO group, if the queue has groups.
    pub group: Option<String>,
    /// How often it was received, this time included.
    pub receive_count: u32,
    /// When it was sent.
    pub sent_at: Option<Timestamp>,
    /// When it was first received.
    pub first_received_at: Option<Timestamp>,
    /// The span that sent it, as the W3C writes it.
    pub traceparent: Option<String>,
}

impl Fleet {
    /// An instance with an empty cache.
    #[must_use]
    pub fn new(journal: Journal, relay: Relay) -> Self {
        let clock = journal.clock().clone();
        Self {
            journal,
            relay,
            clock,
            cache: Arc::default(),
            deadline: None,
            tally: Tally::default(),
            retention_ms: None,
        }
    }

    /// The same instance: what it ends is deleted so long after, milliseconds;
    /// never without.
    #[must_use]
    pub fn keeping(self, retention_ms: Option<u64>) -> Self {
        Self { retention_ms, ..self }
    }

    /// The same instance, for an invocation that ends at `deadline`,
    /// milliseconds since 1970: what does not fit any more is given back, in
    /// time to say so.
    #[must_use]
    pub fn until(&self, deadline: Timestamp) -> Self {
        let left_ms = deadline.since(self.clock.now());
        let work_ms = left_ms.saturating_sub(RESERVE_MS).max(left_ms / 2);
        let end = tokio::time::Instant::now() + std::time::Duration::from_millis(work_ms);
        Self { deadline: Some(end), ..self.clone() }
    }

    /// Its journal.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Its relay.
    #[must_use]
    pub fn relay(&self) -> &Relay {
        &self.relay
    }
}

/// A FIFO group: at most 128 characters, so a long name becomes its hash.
#[must_use]
pub fn group_id(name: &str) -> String {
    if name.len() <= 128 {
        return name.to_owned();
    }
    crate::id::DispatchKey(crate::id::hash16(&[name.as_bytes()])).to_string()
}
