//! Commands: what callers and workers ask of a workflow.
//!
//! A command is a JSON object (schema: `docs/schemas/command.json`). It may
//! come twice, late and out of order; its id is the caller's and stays the
//! same. [`parse`] reads one with a typed refusal for every way in which it can
//! be wrong, and never loses the reply address of a command that it refuses.

mod evidence;
mod parse;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use evidence::{AttemptId, Ended, Evidence, Settle};
pub use parse::{Unreadable, parse};

use crate::event::{Ending, Owner, Timeouts};
use crate::id::{
    CommandId, Incarnation, Kind, Namespace, NodeId, PackageHash, QueueName, SignalName, TimerId,
    WorkflowId, WorkflowType,
};
use crate::labels::{AttributeChanges, Attributes};
use crate::payload::Payload;
use crate::plan::{PlanSpec, StoredPlan};
use crate::time::Timestamp;

/// One command to one workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The caller's name for it; a repeat carries the same.
    pub id: CommandId,
    /// The namespace; `default` where absent.
    #[serde(default)]
    pub namespace: Namespace,
    /// The workflow.
    pub workflow: WorkflowId,
    /// Which life of the workflow; the present one where absent (costs a read).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
    /// When the caller made it, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_at: Option<Timestamp>,
    /// Wait until the history has reached this sequence number, at most 60 seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_seq: Option<u64>,
    /// The logical queue that the answer goes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<QueueName>,
    /// What to do.
    pub command: Verb,
}

/// What a command does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Begin the workflow.
    Start(Box<Start>),
    /// Append events of the user's engine, with what they cause.
    Append(Box<Append>),
    /// Take authority over a driven workflow.
    Claim(Claim),
    /// Reserve an attempt of a driven workflow and dispatch it.
    Prepare(Box<Prepare>),
    /// Say that an attempt is in a worker's hands.
    Receipt(Evidence),
    /// Say that a worker is alive.
    Heartbeat(Evidence),
    /// Say how an attempt ended.
    Settle(Box<Settle>),
    /// Deliver a named payload.
    Signal(Signal),
    /// Hand over nothing new.
    Pause(Barrier),
    /// Hand over again.
    Resume(Resume),
    /// End the run as soon as nothing is unsettled.
    Cancel(Barrier),
    /// Go on with a run after its end.
    Reopen(Reopen),
    /// Delete the workflow, which has ended.
    Delete(Delete),
    /// Forbid to delete it: a legal hold.
    Hold(Barrier),
    /// Lift the hold.
    Release(Resume),
}

impl Command {
    /// A command without any condition: to the present incarnation, issued at
    /// no known time, answered to nobody but a direct caller.
    #[must_use]
    pub fn new(id: CommandId, namespace: Namespace, workflow: WorkflowId, command: Verb) -> Self {
        Self {
            id,
            namespace,
            workflow,
            incarnation: None,
            issued_at: None,
            after_seq: None,
            reply_to: None,
            command,
        }
    }
}

impl Verb {
    /// The name, as metrics and spans use it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Start(_) => "start",
            Self::Append(_) => "append",
            Self::Claim(_) => "claim",
            Self::Prepare(_) => "prepare",
            Self::Receipt(_) => "receipt",
            Self::Heartbeat(_) => "heartbeat",
            Self::Settle(_) => "settle",
            Self::Signal(_) => "signal",
            Self::Pause(_) => "pause",
            Self::Resume(_) => "resume",
            Self::Cancel(_) => "cancel",
            Self::Reopen(_) => "reopen",
            Self::Delete(_) => "delete",
            Self::Hold(_) => "hold",
            Self::Release(_) => "release",
        }
    }
}

/// Begin a workflow: planned with `plan` or `stored_plan`, driven without.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Start {
    /// The type; the plan's name, or `workflow`, where absent.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub workflow_type: Option<WorkflowType>,
    /// The plan itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanSpec>,
    /// A plan that was uploaded before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_plan: Option<StoredPlan>,
    /// The workflow's input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Payload>,
    /// When the run is ended as timed out, milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Attempts that may be live at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_concurrency: Option<u32>,
    /// Attempts that the run may ever have.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub attempts_max: Option<u64>,
    /// The package whose code it runs: its dispatches say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<PackageHash>,
    /// What people call it; lists find it by a part of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub display_name: Option<String>,
    /// The workflow that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<WorkflowId>,
    /// Search attributes, at most 32.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: Attributes,
}

/// Events of the user's engine, and what they cause, together or not at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Append {
    /// The head that the caller decided on.
    pub expected_seq: u64,
    /// The owner, if anybody has authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// Up to 100 events; none only checks the head.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub events: Vec<NewEvent>,
    /// Up to 100 attempts to prepare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub prepare: Vec<Intent>,
    /// Up to 100 timers to arm or to cancel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub timers: Vec<TimerChange>,
    /// Up to 32 search attributes to set or, where null, to take away.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: AttributeChanges,
    /// End the run with this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close: Option<Close>,
    /// End the run, and begin another one of the same history; `prepare` and
    /// `timers` are then the new one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continue_as_new: Option<Box<ContinueAsNew>>,
}

/// One event of the user's engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEvent {
    /// The user's name for this kind of event.
    pub kind: Kind,
    /// Its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
}

/// A timer to arm, or, without `fire_at`, to cancel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimerChange {
    /// Which timer; arming again replaces it.
    pub timer: TimerId,
    /// When it fires, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fire_at: Option<Timestamp>,
    /// Cancel this arming alone: a newer one stays, and that is no error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arming: Option<Arming>,
}

/// One arming of a timer: the same timer armed again is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arming {
    /// When it fires, milliseconds since 1970.
    pub fire_at: Timestamp,
    /// The sequence number of the start of its run.
    pub start_seq: u64,
}

/// The end of a driven run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Close {
    /// How it ended.
    pub ending: Ending,
    /// Its result, or its failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Payload>,
}

/// The next run of a driven workflow. What is left out is as in the run that
/// ends, but for the deadline: without one there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ContinueAsNew {
    /// The result of the run that ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Payload>,
    /// The type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub workflow_type: Option<WorkflowType>,
    /// The next run's input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Payload>,
    /// When the next run is ended as timed out, milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Attempts that may be live at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_concurrency: Option<u32>,
    /// Attempts that the next run may ever have.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub attempts_max: Option<u64>,
    /// The package whose code it runs: its dispatches say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<PackageHash>,
}

/// Take authority. Never replaces an owner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The owner to be.
    pub owner: Owner,
}

/// Reserve an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prepare {
    /// The owner, if anybody has authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The attempt.
    pub intent: Intent,
}

/// An attempt of a driven workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Intent {
    /// The activity.
    pub node: NodeId,
    /// Which activation of it, from 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub activation: u32,
    /// Which attempt of the activation, from 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub attempt: u32,
    /// The task queue.
    #[serde(default)]
    pub queue: QueueName,
    /// What kind of work.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The worker's input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Payload>,
    /// Hand it over no sooner, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// The time-outs.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Whether a repetition may do harm.
    #[serde(default)]
    pub mutating: bool,
}

fn one() -> u32 {
    1
}

/// Deliver a named payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// The name.
    pub name: SignalName,
    /// The content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
}

/// Delete. Nobody finds the workflow any more; its items go an hour later, and
/// its id may be started again at once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delete {}

/// Pause, cancel or hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Barrier {
    /// Why, for people; at most 1024 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub reason: Option<String>,
}

/// Go on after the end. Timers that the end took away are armed again, at
/// their original times; attempts that it withdrew stay withdrawn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reopen {
    /// Why, for people; at most 1024 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub reason: Option<String>,
    /// A new deadline, milliseconds since 1970; the run's own where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

/// Resume, or release.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {}
