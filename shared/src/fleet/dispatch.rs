//! What a worker is told: a dispatch, with its payloads read from the log.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::commit::Commit;
use crate::event::{Event, Outcome, Target};
use crate::id::NodeId;
use crate::journal::{Journal, JournalError, LogKey};
use crate::limits;
use crate::message::Dispatch;
use crate::payload::Payload;
use crate::plan::Task;
use crate::state::attempt::DrivenAttempt;
use crate::state::{Attempt, Stage, State};

/// Commits that were read for one relay, the one just made among them.
#[derive(Debug, Default)]
pub(super) struct Known(pub BTreeMap<u64, Arc<Commit>>);

impl Known {
    async fn commit(
        &mut self,
        journal: &Journal,
        key: &LogKey,
        number: u64,
    ) -> Result<Arc<Commit>, JournalError> {
        if let Some(known) = self.0.get(&number) {
            return Ok(known.clone());
        }
        let read = Arc::new(journal.commit(key, number).await?);
        self.0.insert(number, read.clone());
        Ok(read)
    }
}

/// The dispatch of an unsettled attempt, whole: payloads included.
///
/// Reads the commits that hold what the worker is given, half a read unit to
/// one each.
///
/// # Errors
/// As reads.
pub async fn build(
    journal: &Journal,
    key: &LogKey,
    state: &State,
    target: &Target,
    attempt: &Attempt,
) -> Result<Dispatch, JournalError> {
    dispatch(journal, key, state, target, attempt, &mut Known::default()).await
}

pub(super) async fn dispatch(
    journal: &Journal,
    key: &LogKey,
    state: &State,
    target: &Target,
    attempt: &Attempt,
    known: &mut Known,
) -> Result<Dispatch, JournalError> {
    let damaged = || JournalError::Damaged("an attempt without its work".into());
    match target {
        Target::Planned(at) => {
            let plan = state.plan().ok_or_else(damaged)?;
            let task = plan.task(*at).ok_or_else(damaged)?;
            let mut outputs = BTreeMap::new();
            for &from in &task.outputs_of {
                let output = output_of(journal, key, state, from, known).await?;
                outputs.insert(plan.node(from).id.clone(), output);
            }
            Ok(planned(key, state, target, attempt, task, outputs))
        }
        Target::Driven(node, activation) => {
            let work = attempt.driven.as_deref().ok_or_else(damaged)?;
            let commit = known.commit(journal, key, attempt.born).await?;
            let input = commit.events.iter().find_map(|event| match event {
                Event::Prepared(t, n, _, Some(work)) if t == target && *n == attempt.n => {
                    Some(work.input.clone())
                }
                _ => None,
            });
            Ok(driven(key, state, target, attempt, (node, *activation), work, input.flatten()))
        }
    }
}

/// The output that a node left behind, if it succeeded with one.
async fn output_of(
    journal: &Journal,
    key: &LogKey,
    state: &State,
    node: u32,
    known: &mut Known,
) -> Result<Option<Payload>, JournalError> {
    let number = state.nodes.commit(node);
    if number == 0 || state.nodes.phase(node) != crate::state::Phase::Succeeded {
        return Ok(None);
    }
    let commit = known.commit(journal, key, number).await?;
    Ok(commit.events.iter().find_map(|event| match event {
        Event::Settled(Target::Planned(at), _, Outcome::Succeeded(output), _) if *at == node => {
            output.clone()
        }
        _ => None,
    }))
}

fn handovers(attempt: &Attempt) -> u32 {
    match attempt.stage {
        Stage::Sent { count, .. } => count,
        Stage::Staged { .. } | Stage::Taken { .. } => 1,
    }
}

fn planned(
    key: &LogKey,
    state: &State,
    target: &Target,
    attempt: &Attempt,
    task: &Task,
    outputs: BTreeMap<NodeId, Option<Payload>>,
) -> Dispatch {
    Dispatch {
        dispatch_key: state.dispatch_key(&key.partition(), key.incarnation, target, attempt.n),
        namespace: key.namespace.clone(),
        workflow: key.workflow.clone(),
        incarnation: key.incarnation,
        node: state.node_id(target),
        activation: 1,
        attempt: attempt.n,
        handover: handovers(attempt),
        kind: task.kind.clone(),
        package: state.run.as_ref().and_then(|run| run.package),
        command: task.command.clone(),
        input: task.input.clone(),
        outputs,
        claim: false,
        timeouts: task.timeouts.clone(),
        cancelled: state.cancel.is_some(),
    }
}

fn driven(
    key: &LogKey,
    state: &State,
    target: &Target,
    attempt: &Attempt,
    (node, activation): (&NodeId, u32),
    work: &DrivenAttempt,
    input: Option<Payload>,
) -> Dispatch {
    Dispatch {
        dispatch_key: state.dispatch_key(&key.partition(), key.incarnation, target, attempt.n),
        namespace: key.namespace.clone(),
        workflow: key.workflow.clone(),
        incarnation: key.incarnation,
        node: node.clone(),
        activation,
        attempt: attempt.n,
        handover: handovers(attempt),
        kind: work.kind.clone(),
        package: state.run.as_ref().and_then(|run| run.package),
        command: None,
        input,
        outputs: BTreeMap::new(),
        claim: false,
        timeouts: work.timeouts.clone(),
        cancelled: state.cancel.is_some(),
    }
}

/// The message body: large payloads are left in the log, for the worker to claim.
pub(super) fn body(mut dispatch: Dispatch) -> String {
    let text = |dispatch: &Dispatch| serde_json::to_string(dispatch).unwrap_or_default();
    let whole = text(&dispatch);
    if whole.len() <= limits::DISPATCH_BYTES_MAX {
        return whole;
    }
    dispatch.claim = true;
    dispatch.input = None;
    dispatch.outputs.clear();
    text(&dispatch)
}
