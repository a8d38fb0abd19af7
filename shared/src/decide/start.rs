//! Start.

use super::{Context, Decided, Draft, Refused, advance};
use crate::answer::{InvalidInput, Rejection};
use crate::command::Start;
use crate::event::{Event, Started};
use crate::id::{CommandHash, WorkflowType};
use crate::labels::Labels;
use crate::limits;
use crate::state::Life;

pub(super) fn start(
    draft: &mut Draft,
    context: &Context,
    hash: CommandHash,
    start: &Start,
) -> Result<Decided, Refused> {
    let state = draft.state();
    match (&state.life, &state.run) {
        (Life::Nothing | Life::Unborn, _) => {}
        (_, Some(run)) if run.command == hash => return Ok(Decided::repeat(run.commit)),
        _ => {
            let what = format!("the workflow exists and is {}", state.status());
            return Err(Rejection::Conflict { what }.into());
        }
    }
    let started = started(context, hash, start)?;
    if let Some((_, plan)) = &context.plan {
        draft.provide_plan(plan.clone());
    }
    draft.emit(Event::Started(Box::new(started)))?;
    advance::advance(draft)?;
    Ok(Decided::default())
}

fn started(context: &Context, hash: CommandHash, start: &Start) -> Result<Started, Rejection> {
    let plan = context.plan.as_ref().map(|(_, plan)| plan.as_ref());
    let planned_deadline = plan.and_then(|p| p.deadline_ms).map(|ms| context.now.plus_ms(ms));
    let deadline = start.deadline.into_iter().chain(planned_deadline).min();
    if let Some(deadline) = deadline.filter(|d| *d <= context.now) {
        let limit = format!("later than now, {}", context.now.0);
        return Err(InvalidInput::new("command.start.deadline", limit, deadline.0).into());
    }
    let default = match plan {
        Some(plan) => limits::LIFETIME_ATTEMPTS_DEFAULT.max(4 * plan.nodes.len() as u64),
        None => limits::LIFETIME_ATTEMPTS_DEFAULT,
    };
    let concurrency = start.max_concurrency.into_iter().chain(plan.and_then(|p| p.max_concurrency));
    Ok(Started {
        workflow_type: workflow_type(start)?,
        run: 1,
        plan: context.plan.as_ref().map(|(reference, _)| reference.clone()),
        input: start.input.clone(),
        deadline,
        concurrency: concurrency.min(),
        attempts_max: start.attempts_max.or(plan.and_then(|p| p.attempts_max)).unwrap_or(default),
        command: hash,
        previous: None,
        package: start.package,
        labels: labels(start)?,
    })
}

fn labels(start: &Start) -> Result<Option<Box<Labels>>, Rejection> {
    let labels = Labels {
        display_name: start.display_name.clone(),
        parent: start.parent.clone(),
        attributes: start.attributes.clone(),
    };
    labels.fit()?;
    Ok(Some(Box::new(labels)).filter(|labels| !labels.is_empty()))
}

/// The type that a start names, or its plan, or `workflow`.
pub(crate) fn workflow_type(start: &Start) -> Result<WorkflowType, InvalidInput> {
    let named = start.workflow_type.as_ref().or(start.plan.as_ref().and_then(|p| p.name.as_ref()));
    match named {
        Some(name) => Ok(name.clone()),
        None => WorkflowType::new("workflow")
            .map_err(|e| InvalidInput::new("command.start.type", crate::id::TEXT_ID_RULE, e.found)),
    }
}
