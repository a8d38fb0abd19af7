//! Plans: a graph of tasks that the fleet carries through by itself.
//!
//! A plan is immutable. It is written by people as a [`PlanSpec`] (JSON or
//! YAML, checked by [`compile`]) and stored as a [`Plan`]: nodes in the order
//! of the spec, edges as positions, children derived. A plan up to
//! `limits::PLAN_INLINE_BYTES_MAX` encoded travels in the start event; a
//! larger one is put as chunks before the start that names it.
//!
//! A node runs when every parent is finished and its [`Trigger`] agrees; it is
//! skipped when its trigger can't agree any more. What is ready is a question
//! to `state`, not to the plan.
//!
//! Go on with `spec` for the format and [`compile`] for the checks.

mod compile;
mod retry;
mod spec;

use std::collections::HashMap;

use minicbor::{Decode, Encode};

pub(crate) use compile::check_timeouts;
pub use compile::compile;
pub use retry::RetryPolicy;
pub use spec::{CommandLine, Defaults, PlanSpec, TaskSpec, Trigger};

use crate::commit::{self, DecodeError};
use crate::event::Timeouts;
use crate::id::{Kind, NodeId, QueueName, SignalName, hash16};
use crate::payload::Payload;

/// The newest plan schema that this code reads and the one that it writes.
pub const PLAN_SCHEMA: u16 = 1;

/// What a node does.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
#[cbor(flat)]
pub enum Work {
    /// A worker does it.
    #[n(0)]
    Task(#[n(0)] Box<Task>),
    /// Nothing happens for so many milliseconds.
    #[n(1)]
    Sleep(#[n(0)] u64),
    /// A signal of that name ends it, or so many milliseconds without one.
    #[n(2)]
    Signal(#[n(0)] SignalName, #[n(1)] Option<u64>),
}

/// Work for a worker.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Task {
    /// What kind of work.
    #[n(0)]
    pub kind: Kind,
    /// The task queue.
    #[n(1)]
    pub queue: QueueName,
    /// A command line, for workers that run commands.
    #[n(2)]
    pub command: Option<Vec<String>>,
    /// The worker's input.
    #[n(3)]
    pub input: Option<Payload>,
    /// Nodes whose outputs the worker is given.
    #[n(4)]
    pub outputs_of: Vec<u32>,
    /// When and how often it is tried again.
    #[n(5)]
    pub retry: RetryPolicy,
    /// Its time-outs.
    #[n(6)]
    pub timeouts: Timeouts,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Node {
    /// Its name, unique in the plan.
    #[n(0)]
    pub id: NodeId,
    /// Positions of the nodes that come before it, ascending.
    #[n(1)]
    pub parents: Vec<u32>,
    /// What it does.
    #[n(2)]
    pub work: Work,
    /// When it runs.
    #[n(3)]
    pub trigger: Trigger,
    /// Its failure does not fail the run.
    #[n(4)]
    pub allow_failure: bool,
}

/// A checked plan.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Plan {
    /// All nodes, in the order of the spec.
    #[n(0)]
    pub nodes: Vec<Node>,
    /// Attempts that may be live at once.
    #[n(1)]
    pub max_concurrency: Option<u32>,
    /// Milliseconds from the start to the deadline.
    #[n(2)]
    pub deadline_ms: Option<u64>,
    /// Attempts that the run may ever have.
    #[n(3)]
    pub attempts_max: Option<u64>,
    /// Whether some node waits instead of working, derived.
    #[cbor(skip)]
    has_waits: bool,
    /// Children of each node, derived.
    #[cbor(skip)]
    children: Vec<Vec<u32>>,
    /// Position of each name, derived.
    #[cbor(skip)]
    positions: HashMap<NodeId, u32>,
}

/// Where a started workflow has its plan.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum PlanRef {
    /// Here: the frame itself.
    #[n(0)]
    Inline(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
    /// In chunks of the workflow's partition.
    #[n(1)]
    Stored(#[n(0)] StoredPlan),
}

/// A plan in chunks.
#[derive(
    Debug,
    Clone,
    PartialEq,
    Hash,
    Eq,
    Encode,
    Decode,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct StoredPlan {
    /// Under which upload.
    #[n(0)]
    pub upload: crate::id::DispatchKey,
    /// Hash of the frame.
    #[n(1)]
    pub hash: crate::id::DispatchKey,
    /// How many chunks.
    #[n(2)]
    #[schemars(range(min = 1, max = 100))]
    pub chunks: u32,
}

impl Plan {
    fn derive(mut self) -> Result<Self, DecodeError> {
        let count = self.nodes.len();
        let mut children = vec![Vec::new(); count];
        let mut positions = HashMap::with_capacity(count);
        for (at, node) in (0_u32..).zip(&self.nodes) {
            positions.insert(node.id.clone(), at);
            for &parent in &node.parents {
                let damaged = || DecodeError::Damaged(format!("node {at} has parent {parent}"));
                children.get_mut(parent as usize).ok_or_else(damaged)?.push(at);
            }
        }
        self.has_waits = self.nodes.iter().any(|n| !matches!(n.work, Work::Task(_)));
        self.children = children;
        self.positions = positions;
        Ok(self)
    }

    /// The stored form: a frame of deflated CBOR.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let plain = commit::encode(PLAN_SCHEMA, self);
        miniz_oxide::deflate::compress_to_vec(&plain, 6)
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// [`DecodeError`]: damaged, larger than a plan may be, or newer than this code.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let max = crate::limits::PLAN_BYTES_MAX;
        let plain = miniz_oxide::inflate::decompress_to_vec_with_limit(bytes, max)
            .map_err(|e| DecodeError::Damaged(format!("plan: {e}")))?;
        let plan: Self = commit::decode(&plain, PLAN_SCHEMA)?;
        compile::check_stored(&plan)?;
        plan.derive()
    }

    /// The hash by which a start names the stored form.
    #[must_use]
    pub fn hash(bytes: &[u8]) -> crate::id::DispatchKey {
        crate::id::DispatchKey(hash16(&[b"plan", bytes]))
    }

    /// Positions of the nodes that come after `node`.
    #[must_use]
    pub fn children(&self, node: u32) -> &[u32] {
        &self.children[node as usize]
    }

    /// Whether some node waits instead of working.
    #[must_use]
    pub fn has_waits(&self) -> bool {
        self.has_waits
    }

    /// The node at a position.
    #[must_use]
    pub fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    /// The position of a name.
    #[must_use]
    pub fn position(&self, id: &NodeId) -> Option<u32> {
        self.positions.get(id).copied()
    }

    /// The worker's part of a node, if a worker does it.
    #[must_use]
    pub fn task(&self, at: u32) -> Option<&Task> {
        match &self.node(at).work {
            Work::Task(task) => Some(task),
            Work::Sleep(_) | Work::Signal(..) => None,
        }
    }
}
