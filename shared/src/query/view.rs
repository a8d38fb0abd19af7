//! One workflow as `everlog show` and programs see it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::id::{DispatchKey, Incarnation, NodeId, WorkflowId, WorkflowType};
use crate::journal::LogKey;
use crate::labels::Attributes;
use crate::state::{Attempt, Stage, State};
use crate::time::Timestamp;

/// A workflow's state, folded from its log.
#[derive(Debug, Clone, Serialize)]
pub struct WorkflowView {
    /// Its partition, `<namespace>#<workflow>`.
    pub workflow: String,
    /// Its life.
    pub incarnation: Incarnation,
    /// One word.
    pub status: &'static str,
    /// Its type.
    #[serde(rename = "type")]
    pub workflow_type: Option<WorkflowType>,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The workflow that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<WorkflowId>,
    /// Its search attributes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: Attributes,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub closed_at: Option<Timestamp>,
    /// When it is deleted, if nobody reopens or holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// It is not to be deleted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub legal_hold: bool,
    /// The last sequence number.
    pub head: u64,
    /// The number of the last commit.
    pub commit: u64,
    /// Attempts ever.
    pub attempts_ever: u64,
    /// Tasks by phase.
    pub nodes: Vec<NodeView>,
    /// Unsettled attempts.
    pub attempts: Vec<AttemptView>,
}

/// One task of the plan.
#[derive(Debug, Clone, Serialize)]
pub struct NodeView {
    /// Its name.
    pub node: NodeId,
    /// Where it stands.
    pub phase: &'static str,
    /// Attempts that were tried again.
    pub retried: usize,
}

/// One unsettled attempt.
#[derive(Debug, Clone, Serialize)]
pub struct AttemptView {
    /// The task or activity.
    pub node: NodeId,
    /// Which attempt.
    pub attempt: u32,
    /// Its key.
    pub dispatch_key: DispatchKey,
    /// Where it stands.
    pub stage: &'static str,
    /// The worker that has it.
    pub worker: Option<String>,
    /// When somebody looks at it.
    pub due: Option<Timestamp>,
}

impl WorkflowView {
    /// The view of a state.
    #[must_use]
    pub fn new(key: &LogKey, state: &State) -> Self {
        let nodes = state.plan().into_iter().flat_map(|plan| {
            (0_u32..).zip(&plan.nodes).map(|(at, node)| NodeView {
                node: node.id.clone(),
                phase: state.nodes.phase(at).word(),
                // The last one of a finished node stands there as well.
                retried: match (state.nodes.retried(at).len(), state.nodes.phase(at).finished()) {
                    (settled, true) => settled.saturating_sub(1),
                    (settled, false) => settled,
                },
            })
        });
        let attempts = state.attempts.iter().map(|(target, attempt)| AttemptView {
            node: state.node_id(target),
            attempt: attempt.n,
            dispatch_key: state.dispatch_key(&key.partition(), key.incarnation, target, attempt.n),
            stage: stage(attempt),
            worker: worker(attempt),
            due: state.attempt_due(target, attempt),
        });
        let run = state.run.as_ref();
        let labels = state.labels.as_deref().cloned().unwrap_or_default();
        Self {
            workflow: key.partition(),
            incarnation: key.incarnation,
            status: state.status(),
            workflow_type: run.map(|run| run.workflow_type.clone()),
            display_name: labels.display_name,
            parent: labels.parent,
            attributes: labels.attributes,
            started_at: run.map(|run| run.started_at),
            closed_at: state.ending().map(|_| state.closed_at),
            expires_at: state.expires_at,
            legal_hold: state.legal_hold.is_some(),
            head: state.head,
            commit: state.commit,
            attempts_ever: state.consumed,
            nodes: nodes.collect(),
            attempts: attempts.collect(),
        }
    }
}

fn stage(attempt: &Attempt) -> &'static str {
    match attempt.stage {
        Stage::Staged { .. } => "staged",
        Stage::Sent { .. } => "sent",
        Stage::Taken { .. } => "taken",
    }
}

fn worker(attempt: &Attempt) -> Option<String> {
    match &attempt.stage {
        Stage::Taken { worker, .. } => Some(worker.to_string()),
        Stage::Staged { .. } | Stage::Sent { .. } => None,
    }
}
