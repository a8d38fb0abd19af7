//! What workers say: receipts, heartbeats and outcomes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::one;
use crate::event::Failure;
use crate::id::{DispatchKey, NodeId, OwnerId};
use crate::payload::Payload;

/// Which attempt a worker speaks of, as its dispatch said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptId {
    /// The task or activity.
    pub node: NodeId,
    /// Which activation of it.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub activation: u32,
    /// Which attempt.
    #[schemars(range(min = 1))]
    pub attempt: u32,
    /// The key; must be the one that these are the parts of.
    pub dispatch_key: DispatchKey,
}

/// A worker's sign of life.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The attempt.
    pub attempt: AttemptId,
    /// The worker.
    pub worker: OwnerId,
}

/// A worker's last word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// The attempt.
    pub attempt: AttemptId,
    /// The worker, if it sent no receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<OwnerId>,
    /// How it ended.
    pub outcome: Ended,
}

/// How an attempt ended, in a worker's words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ended {
    /// It did its work.
    Succeeded {
        /// What came of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
    },
    /// It did not.
    Failed(Failure),
    /// It stopped because it was told to.
    Cancelled {},
    /// Its worker is known to be gone (said by whoever watches workers).
    Lost {},
}
