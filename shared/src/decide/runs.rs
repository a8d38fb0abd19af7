//! The runs of a driven workflow: continue as new, and reopen.

use super::control::repeated;
use super::{Context, Decided, Draft, Refused};
use crate::answer::{InvalidInput, Rejection};
use crate::command::{ContinueAsNew, Reopen};
use crate::event::{Event, Started};
use crate::id::CommandHash;
use crate::state::Run;
use crate::time::Timestamp;

/// Ends the run and begins the next one. The history, the owner, a pause and
/// the commands that were answered stay; attempts and timers go.
pub(super) fn continue_as_new(
    draft: &mut Draft,
    context: &Context,
    next: &ContinueAsNew,
) -> Result<(), Refused> {
    let state = draft.state();
    if state.cancel.is_some() {
        return Err(Rejection::Cancelled.into());
    }
    let Some(run) = &state.run else {
        return Err(Rejection::WrongState { state: state.status().into() }.into());
    };
    later_than_now(context, "command.append.continue_as_new.deadline", next.deadline)?;
    let started = following(run, next);
    draft.emit(Event::ContinuedAsNew(next.result.clone()))?;
    draft.emit(Event::Started(Box::new(started)))?;
    Ok(())
}

fn following(run: &Run, next: &ContinueAsNew) -> Started {
    Started {
        workflow_type: next.workflow_type.clone().unwrap_or_else(|| run.workflow_type.clone()),
        run: run.number + 1,
        plan: None,
        input: next.input.clone(),
        deadline: next.deadline,
        concurrency: next.max_concurrency.or(run.concurrency),
        attempts_max: next.attempts_max.unwrap_or(run.attempts_max),
        // A start that comes again is known by the command of the first run.
        command: run.command,
        previous: Some(run.start()),
        package: next.package.or(run.package),
        labels: None,
    }
}

pub(super) fn reopen(
    draft: &mut Draft,
    context: &Context,
    hash: CommandHash,
    reopen: &Reopen,
) -> Result<Decided, Refused> {
    if let Some(commit) = repeated(draft, context, hash)? {
        return Ok(Decided::repeat(commit));
    }
    let state = draft.state();
    let Some(run) = &state.run else {
        return Err(Rejection::NotFound { what: "workflow".into(), id: "of this id".into() }.into());
    };
    if state.plan().is_some() {
        let state = "planned; its plan alone drives it".into();
        return Err(Rejection::WrongState { state }.into());
    }
    if state.open() {
        // Nobody needs to do it, whoever did.
        return Ok(Decided::repeat(0));
    }
    if state.ending().is_none() {
        return Err(Rejection::WrongState { state: state.status().into() }.into());
    }
    later_than_now(context, "command.reopen.deadline", reopen.deadline)?;
    if let Some(deadline) = run.deadline.filter(|d| reopen.deadline.is_none() && *d <= context.now)
    {
        return Err(Rejection::Expired { deadline }.into());
    }
    let held = state.held.clone().unwrap_or_default();
    draft.emit(Event::Reopened(reopen.reason.clone(), reopen.deadline))?;
    for (timer, fire_at) in held {
        draft.emit(Event::TimerArmed(timer, fire_at))?;
    }
    Ok(Decided::default())
}

fn later_than_now(
    context: &Context,
    field: &str,
    deadline: Option<Timestamp>,
) -> Result<(), Rejection> {
    match deadline {
        Some(deadline) if deadline <= context.now => {
            let limit = format!("later than now, {}", context.now.0);
            Err(InvalidInput::new(field, limit, deadline.0).into())
        }
        _ => Ok(()),
    }
}
