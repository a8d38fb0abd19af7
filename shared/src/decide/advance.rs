//! What follows: ready nodes run, and a run with nothing left to do ends.

use super::Draft;
use crate::event::{Ending, Event, Target, TimerKey, WaitEnd};
use crate::plan::{Plan, Work};
use crate::state::{FoldError, State};

/// Lets every ready node of the plan run that may, and closes the run if
/// nothing is left. What no longer fits the commit is left to the next one.
pub(super) fn advance(draft: &mut Draft) -> Result<(), FoldError> {
    let Some(plan) = draft.state().plan().cloned() else {
        return close_if_cancelled(draft);
    };
    if !draft.state().open() {
        return Ok(());
    }
    draft.continues(false);
    loop {
        let before = draft.size();
        run_ready(draft, &plan)?;
        if draft.size() == before {
            break;
        }
    }
    close_if_done(draft, &plan)
}

fn run_ready(draft: &mut Draft, plan: &Plan) -> Result<(), FoldError> {
    if draft.state().paused.is_some() || draft.state().cancel.is_some() {
        return Ok(());
    }
    let ready: Vec<u32> = draft.state().nodes.ready().collect();
    for at in ready {
        let work = &plan.node(at).work;
        if matches!(work, Work::Task(_)) && !may_prepare(draft.state()) {
            if plan.has_waits() {
                continue;
            }
            break;
        }
        if draft.full() {
            draft.continues(true);
            break;
        }
        match work {
            Work::Task(_) => draft.emit(Event::Prepared(Target::Planned(at), 1, None, None))?,
            Work::Sleep(ms) => {
                let timer = TimerKey::Node(at);
                draft.emit(Event::TimerArmed(timer.clone(), draft.time().plus_ms(*ms)))?;
                if *ms == 0 {
                    draft.emit(Event::TimerFired(timer))?;
                }
            }
            Work::Signal(name, timeout_ms) => {
                let until = timeout_ms.map(|ms| draft.time().plus_ms(ms));
                draft.emit(Event::Listening(at, until))?;
                let waiting =
                    draft.state().signals.get(name).and_then(|b| b.front()).map(|s| s.seq);
                if let Some(seq) = waiting {
                    draft.emit(Event::WaitEnded(at, WaitEnd::Signal(seq)))?;
                }
            }
        }
    }
    Ok(())
}

fn may_prepare(state: &State) -> bool {
    let Some(run) = &state.run else { return false };
    let live = u32::try_from(state.attempts.len()).unwrap_or(u32::MAX);
    run.concurrency.is_none_or(|cap| live < cap) && state.consumed < run.attempts_max
}

fn close_if_done(draft: &mut Draft, plan: &Plan) -> Result<(), FoldError> {
    let state = draft.state();
    let quiet = state.attempts.is_empty() && state.timers.is_empty() && state.listening.is_empty();
    if !quiet || state.paused.is_some() {
        return Ok(());
    }
    let exhausted = state.run.as_ref().is_some_and(|run| state.consumed >= run.attempts_max);
    let ending = match (state.cancel, state.nodes.unfinished()) {
        (Some(barrier), _) if barrier.deadline => Ending::TimedOut,
        (Some(_), _) => Ending::Cancelled,
        (None, 0) if !state.nodes.any_failed(plan) => Ending::Completed,
        (None, 0) => Ending::Failed,
        (None, _) if exhausted => Ending::Failed,
        (None, _) => return Ok(()),
    };
    draft.emit(Event::Closed(ending, None))
}

/// A driven run ends by itself only when it was asked to and nothing is unsettled.
fn close_if_cancelled(draft: &mut Draft) -> Result<(), FoldError> {
    let state = draft.state();
    match state.cancel {
        Some(barrier) if state.open() && state.attempts.is_empty() => {
            let ending = if barrier.deadline { Ending::TimedOut } else { Ending::Cancelled };
            draft.emit(Event::Closed(ending, None))
        }
        _ => Ok(()),
    }
}
