//! The vocabulary of the log: events, which users see, and notes, which they don't.
//!
//! An [`Event`] is a fact of the workflow and has a sequence number; a [`Note`]
//! is bookkeeping of the fleet. Both are immutable and decode for ever: fields
//! and variants have numbers (`#[n(…)]`), a number is never used twice, and new
//! fields are optional. `shared/tests/golden` holds an encoding of each for every
//! schema that was ever written.
//!
//! Events of a planned workflow name a task by its position in the plan, which
//! keeps a step of a workflow far under the kibibyte of one write unit.
//! `query::history` gives positions their names back.

use minicbor::{Decode, Encode};

use crate::id::{Kind, NodeId, OwnerId, PackageHash, QueueName, SignalName, TimerId, WorkflowType};
use crate::labels::{AttributeChanges, Labels};
use crate::payload::Payload;
use crate::plan::PlanRef;
use crate::time::Timestamp;

/// What an attempt is of.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(flat)]
pub enum Target {
    /// A node of the plan, by its position.
    #[n(0)]
    Planned(#[n(0)] u32),
    /// An activity of a driven workflow.
    #[n(1)]
    Driven(#[n(0)] NodeId, #[n(1)] u32),
}

/// Which timer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(flat)]
pub enum TimerKey {
    /// The wait of a plan's node.
    #[n(0)]
    Node(#[n(0)] u32),
    /// A timer of a driven workflow.
    #[n(1)]
    Named(#[n(0)] TimerId),
}

/// The one owner of a driven workflow; fencing is equality of all four.
#[derive(
    Debug,
    Clone,
    PartialEq,
    Eq,
    Encode,
    Decode,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// Who.
    #[n(0)]
    pub owner: OwnerId,
    /// Which process of theirs.
    #[n(1)]
    pub instance: OwnerId,
    /// Counts hand-offs, from 1.
    #[n(2)]
    #[schemars(range(min = 1))]
    pub generation: u64,
    /// A secret-free random text, new for each generation.
    #[n(3)]
    pub token: OwnerId,
}

/// Time-outs of an attempt, each in milliseconds; `None` is none.
#[derive(
    Debug,
    Clone,
    Default,
    PartialEq,
    Eq,
    Encode,
    Decode,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// From the hand-over to the first sign of life.
    #[n(0)]
    pub schedule_to_start_ms: Option<u64>,
    /// From the receipt to the outcome; 24 hours where absent.
    #[n(1)]
    pub start_to_close_ms: Option<u64>,
    /// Between two heartbeats.
    #[n(2)]
    pub heartbeat_ms: Option<u64>,
}

/// What a driven attempt needs to be dispatched; a planned one has it in the plan.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct DrivenWork {
    /// The task queue.
    #[n(0)]
    pub queue: QueueName,
    /// What kind of work.
    #[n(1)]
    pub kind: Kind,
    /// The worker's input.
    #[n(2)]
    pub input: Option<Payload>,
    /// Its time-outs.
    #[n(3)]
    pub timeouts: Timeouts,
    /// Whether a repetition may do harm.
    #[n(4)]
    pub mutating: bool,
}

/// Why an attempt failed.
#[derive(
    Debug,
    Clone,
    PartialEq,
    Eq,
    Encode,
    Decode,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The kind of the error, which a retry policy may call non-retryable.
    #[n(0)]
    pub kind: Kind,
    /// For people.
    #[n(1)]
    #[serde(default)]
    pub message: String,
    /// What the worker has to say beside.
    #[n(2)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Payload>,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum Outcome {
    /// It did its work.
    #[n(0)]
    Succeeded(#[n(0)] Option<Payload>),
    /// It says that it did not.
    #[n(1)]
    Failed(#[n(0)] Failure),
    /// It stopped because it was told to.
    #[n(2)]
    Cancelled,
    /// Nobody heard of it in time; an observation.
    #[n(3)]
    TimedOut(#[n(0)] Timeout),
    /// Its worker is known to be gone; an observation that costs no retry.
    #[n(4)]
    Lost,
}

/// Which time-out ended an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Timeout {
    /// No sign of life after the hand-over.
    #[n(0)]
    ScheduleToStart,
    /// No outcome after the receipt.
    #[n(1)]
    StartToClose,
    /// No heartbeat.
    #[n(2)]
    Heartbeat,
}

/// How a run ended.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Encode,
    Decode,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum Ending {
    /// With its result.
    #[n(0)]
    Completed,
    /// With a failure that nothing collected.
    #[n(1)]
    Failed,
    /// Because it was asked to.
    #[n(2)]
    Cancelled,
    /// At its deadline.
    #[n(3)]
    TimedOut,
}

/// What a start says about the run.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Started {
    /// The workflow's type.
    #[n(0)]
    pub workflow_type: WorkflowType,
    /// Which run of the chain, from 1.
    #[n(1)]
    pub run: u32,
    /// The plan; absent for a driven workflow.
    #[n(2)]
    pub plan: Option<PlanRef>,
    /// The workflow's input.
    #[n(3)]
    pub input: Option<Payload>,
    /// When the run is ended as timed out.
    #[n(4)]
    pub deadline: Option<Timestamp>,
    /// Attempts that may be live at once.
    #[n(5)]
    pub concurrency: Option<u32>,
    /// Attempts that the run may ever have.
    #[n(6)]
    pub attempts_max: u64,
    /// Hash of the command, by which a repeated start is known.
    #[n(7)]
    pub command: crate::id::CommandHash,
    /// Where the run before it began, if it continues one.
    #[n(8)]
    pub previous: Option<RunStart>,
    /// The package that it is pinned to.
    #[n(9)]
    pub package: Option<PackageHash>,
    /// What it is found by; of a run that continues one, absent: that is kept.
    #[n(10)]
    pub labels: Option<Box<Labels>>,
}

/// Where in the log a run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RunStart {
    /// The commit that holds its start.
    #[n(0)]
    pub commit: u64,
    /// The sequence number of its start.
    #[n(1)]
    pub seq: u64,
}

/// What ended a wait.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum WaitEnd {
    /// The signal of this sequence number.
    #[n(0)]
    Signal(#[n(0)] u64),
    /// Nothing came in time.
    #[n(1)]
    TimedOut,
}

/// A fact of the workflow, with a sequence number of its own.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum Event {
    /// A run began.
    #[n(0)]
    Started(#[n(0)] Box<Started>),
    /// The user's engine appended this.
    #[n(1)]
    Appended(#[n(0)] Kind, #[n(1)] Option<Payload>),
    /// Somebody took authority.
    #[n(2)]
    Claimed(#[n(0)] Owner),
    /// Attempt `n` was reserved; its dispatch goes out, at `not_before` if given.
    #[n(3)]
    Prepared(
        #[n(0)] Target,
        #[n(1)] u32,
        #[n(2)] Option<Timestamp>,
        #[n(3)] Option<Box<DrivenWork>>,
    ),
    /// Attempt `n` is in this worker's hands.
    #[n(4)]
    Receipt(#[n(0)] Target, #[n(1)] u32, #[n(2)] OwnerId),
    /// Attempt `n` ended; where a time is given, attempt `n + 1` is reserved for then.
    #[n(5)]
    Settled(#[n(0)] Target, #[n(1)] u32, #[n(2)] Outcome, #[n(3)] Option<Timestamp>),
    /// A timer will fire then.
    #[n(6)]
    TimerArmed(#[n(0)] TimerKey, #[n(1)] Timestamp),
    /// It fired.
    #[n(7)]
    TimerFired(#[n(0)] TimerKey),
    /// It will not fire.
    #[n(8)]
    TimerCancelled(#[n(0)] TimerKey),
    /// A signal came.
    #[n(9)]
    Signalled(#[n(0)] SignalName, #[n(1)] Option<Payload>),
    /// A node listens for a signal, until then if given.
    #[n(10)]
    Listening(#[n(0)] u32, #[n(1)] Option<Timestamp>),
    /// It need not listen any more.
    #[n(11)]
    WaitEnded(#[n(0)] u32, #[n(1)] WaitEnd),
    /// Nothing new is handed over.
    #[n(12)]
    Paused(#[n(0)] Option<String>),
    /// It is again.
    #[n(13)]
    Resumed,
    /// The run is to end; what never began won't.
    #[n(14)]
    CancelRequested(#[n(0)] Option<String>),
    /// The deadline passed; what never began won't.
    #[n(15)]
    DeadlineReached,
    /// The run ended.
    #[n(16)]
    Closed(#[n(0)] Ending, #[n(1)] Option<Payload>),
    /// The run ended with this, and another one of the same history follows in
    /// the same commit.
    #[n(17)]
    ContinuedAsNew(#[n(0)] Option<Payload>),
    /// The run goes on after its end, until that deadline if given.
    #[n(18)]
    Reopened(#[n(0)] Option<String>, #[n(1)] Option<Timestamp>),
    /// Search attributes were set, or taken away.
    #[n(19)]
    AttributesChanged(#[n(0)] AttributeChanges),
}

/// Bookkeeping of the fleet; no part of the history.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum Note {
    /// Every dispatch that was due by then goes out (again).
    #[n(0)]
    HandedOver(#[n(0)] Timestamp),
    /// A worker is alive.
    #[n(1)]
    Heartbeat(#[n(0)] Target, #[n(1)] u32),
    /// Somebody looked, and there may be nothing to say.
    #[n(2)]
    Looked,
    /// The incarnation exists, but is not started.
    #[n(3)]
    Opened,
    /// The start that made the card never came.
    #[n(4)]
    Abandoned,
    /// Nothing follows in this incarnation.
    #[n(5)]
    Deleted,
    /// It is not to be deleted, for this reason, until the hold is lifted.
    #[n(6)]
    HoldPlaced(#[n(0)] Option<String>),
    /// It may be deleted again.
    #[n(7)]
    HoldLifted,
    /// Ended as it is, it is deleted then.
    #[n(8)]
    Expires(#[n(0)] Timestamp),
}
