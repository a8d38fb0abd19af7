//! The messages that the fleet sends: dispatches to workers, wakes and
//! left-over commits to itself. Schemas: `docs/schemas/`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::AttemptId;
use crate::event::Timeouts;
use crate::id::{
    CommandId, DispatchKey, Incarnation, Kind, Namespace, NodeId, PackageHash, WorkflowId,
};
use crate::payload::Payload;

/// Bytes of a dead letter; SQS takes 1 MiB.
const LETTER_BYTES_MAX: usize = 1_000_000;

/// Work for a worker. It may come more than once: use the key for idempotency,
/// and say how it ended with `settle`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dispatch {
    /// Identifies the attempt for ever.
    pub dispatch_key: DispatchKey,
    /// The namespace, to be repeated in every answer.
    pub namespace: Namespace,
    /// The workflow, to be repeated in every answer.
    pub workflow: WorkflowId,
    /// Its life, to be repeated in every answer.
    pub incarnation: Incarnation,
    /// The task or activity.
    pub node: NodeId,
    /// Which activation of it.
    pub activation: u32,
    /// Which attempt.
    pub attempt: u32,
    /// How often this attempt was handed over, this time included.
    pub handover: u32,
    /// What kind of work.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The package that its run is pinned to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<PackageHash>,
    /// The command to run, for workers that run commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// The input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Payload>,
    /// Outputs of earlier tasks that the plan asks for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<NodeId, Option<Payload>>,
    /// Input and outputs were too large to carry: read them from the log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claim: bool,
    /// The time-outs that the fleet applies.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// The run is to end: don't begin, settle as cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
}

impl Dispatch {
    /// The attempt that it is of, as receipts, heartbeats and settles name it.
    #[must_use]
    pub fn attempt_id(&self) -> AttemptId {
        AttemptId {
            node: self.node.clone(),
            activation: self.activation,
            attempt: self.attempt,
            dispatch_key: self.dispatch_key,
        }
    }
}

/// Look at this workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wake {
    /// The namespace.
    pub namespace: Namespace,
    /// The workflow.
    pub workflow: WorkflowId,
    /// Its life; the present one where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
    /// Hand over again whatever nobody has taken up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relay: bool,
    /// Remove what is left of that life, which was deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remove: bool,
    /// Hand over again what the commit of this command dispatched and nobody
    /// has taken up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandId>,
}

/// Hand over what is untaken of this commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeftOver {
    /// The namespace.
    pub namespace: Namespace,
    /// The workflow.
    pub workflow: WorkflowId,
    /// Its life.
    pub incarnation: Incarnation,
    /// The commit.
    pub commit: u64,
}

/// What was given up, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetter {
    /// The queue that it was in.
    pub queue: String,
    /// Its message id there.
    pub message_id: String,
    /// Why.
    pub reason: String,
    /// What it said.
    pub body: String,
    /// Whether only the beginning of that fits: it can't be sent again then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl DeadLetter {
    /// The message body. Escaped, what it said may outgrow what a queue takes:
    /// then it is cut, and its beginning must do.
    #[must_use]
    pub fn into_body(mut self) -> String {
        loop {
            let body = serde_json::to_string(&self).unwrap_or_default();
            if body.len() <= LETTER_BYTES_MAX {
                return body;
            }
            let keep = self.body.len() / 2;
            let keep = (0..=keep).rev().find(|at| self.body.is_char_boundary(*at)).unwrap_or(0);
            self.body.truncate(keep);
            self.cut = true;
        }
    }
}
