//! The plan as people write it.

use minicbor::{Decode, Encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RetryPolicy;
use crate::event::Timeouts;
use crate::id::{Kind, NodeId, QueueName, SignalName, WorkflowType};
use crate::payload::Payload;

/// A graph of tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanSpec {
    /// The workflow's type where the start names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<WorkflowType>,
    /// The tasks, at least one, at most 10000; at most 100000 edges.
    #[schemars(length(min = 1, max = 10000))]
    pub tasks: Vec<TaskSpec>,
    /// What a task takes that says nothing itself.
    #[serde(default)]
    pub defaults: Defaults,
    /// Attempts that may be live at once; no bound where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_concurrency: Option<u32>,
    /// Milliseconds from the start after which the run ends as timed out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub deadline_ms: Option<u64>,
    /// Attempts that the run may ever have; the larger of 1000 and four a task where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub attempts_max: Option<u64>,
}

/// What tasks share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    /// The task queue.
    pub queue: QueueName,
    /// The retry policy.
    pub retry: RetryPolicy,
    /// The time-outs.
    pub timeouts: Timeouts,
}

/// When a task runs, once all tasks that it comes after are finished.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum Trigger {
    /// All of them succeeded, or failed where that is allowed.
    #[default]
    #[n(0)]
    Success,
    /// At least one of them failed.
    #[n(1)]
    Failure,
    /// However they ended.
    #[n(2)]
    Always,
}

/// A command: a list of arguments, or a line for the shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CommandLine {
    /// For `sh -c`.
    Shell(String),
    /// The program and its arguments.
    Arguments(#[schemars(length(min = 1))] Vec<String>),
}

/// One task: work for a worker, or a wait (`sleep_ms` or `signal`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskSpec {
    /// Its name, unique in the plan.
    pub id: NodeId,
    /// The tasks that it comes after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<NodeId>,
    /// When it runs.
    #[serde(default)]
    pub when: Trigger,
    /// Its failure does not fail the run, nor skip what comes after it.
    #[serde(default)]
    pub allow_failure: bool,
    /// What kind of work; `command` where there is a command, else `task`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The command to run, for workers that run commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// The worker's input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Payload>,
    /// Tasks before this one whose outputs the worker is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs_of: Vec<NodeId>,
    /// The task queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueName>,
    /// The retry policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
    /// The time-outs of each attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<Timeouts>,
    /// Wait so many milliseconds instead of working.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep_ms: Option<u64>,
    /// Wait for a signal of this name instead of working.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<SignalName>,
    /// Milliseconds after which the wait for a signal has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal_timeout_ms: Option<u64>,
}
