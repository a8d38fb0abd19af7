//! A look: what is due is done, whoever looks and why.

use super::{Context, Draft, Refused, advance, attempt};
use crate::event::{Event, Note, Outcome, Target, TimerKey, WaitEnd};
use crate::state::{Life, State};
use crate::time::Timestamp;

/// Timers and time-outs that one commit takes; the rest is due at once again.
const LOOK_ITEMS_MAX: usize = 100;

/// What a look is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The alarm rang: it may move, so a commit is owed even if nothing is due.
    Alarm,
    /// A wake came: only what is due is done.
    Wake,
}

/// Does what is due at `context.now`.
///
/// # Errors
/// [`Refused::Damaged`] alone.
pub fn look(draft: &mut Draft, context: &Context, look: Look) -> Result<(), Refused> {
    let now = context.now;
    match draft.state().life {
        Life::Open => look_at_open(draft, context)?,
        Life::Nothing if look == Look::Alarm => draft.note(Note::Abandoned)?,
        Life::Unborn if draft.state().earliest_due().is_some_and(|due| due <= now) => {
            draft.note(Note::Abandoned)?;
        }
        Life::Closed(_) if draft.state().earliest_due().is_some_and(|due| due <= now) => {
            draft.note(Note::Deleted)?;
        }
        Life::Nothing
        | Life::Unborn
        | Life::Continued
        | Life::Closed(_)
        | Life::Abandoned
        | Life::Deleted => {}
    }
    let left_over = draft.state().open() && draft.state().continues.is_some();
    if draft.is_empty() && (look == Look::Alarm || left_over) {
        draft.note(Note::Looked)?;
    }
    Ok(())
}

fn look_at_open(draft: &mut Draft, context: &Context) -> Result<(), Refused> {
    let now = context.now;
    let deadline = draft.state().run.as_ref().and_then(|run| run.deadline);
    if deadline.is_some_and(|d| d <= now) && draft.state().cancel.is_none() {
        draft.emit(Event::DeadlineReached)?;
        if draft.state().paused.is_some() {
            draft.emit(Event::Resumed)?;
        }
    }
    for timer in due_timers(draft.state(), now) {
        draft.emit(Event::TimerFired(timer))?;
    }
    for node in due_waits(draft.state(), now) {
        draft.emit(Event::WaitEnded(node, WaitEnd::TimedOut))?;
    }
    for (target, timeout) in due_attempts(draft.state(), now) {
        attempt::end_attempt(draft, context, &target, Outcome::TimedOut(timeout))?;
    }
    if hand_over_due(draft.state(), now) {
        draft.note(Note::HandedOver(now.max(draft.time())))?;
    }
    if draft.is_empty() && draft.state().continues.is_none() && draft.state().cancel.is_none() {
        return Ok(());
    }
    advance::advance(draft)?;
    if more_due(draft.state(), now) {
        draft.continues(true);
    }
    Ok(())
}

/// Whether something is due that this commit had no room for.
fn more_due(state: &State, now: Timestamp) -> bool {
    !due_timers(state, now).is_empty()
        || !due_waits(state, now).is_empty()
        || !due_attempts(state, now).is_empty()
}

fn due_timers(state: &State, now: Timestamp) -> Vec<TimerKey> {
    let mut due: Vec<(Timestamp, &TimerKey)> =
        state.timers.iter().filter(|(_, at)| **at <= now).map(|(key, at)| (*at, key)).collect();
    due.sort_unstable();
    due.into_iter().take(LOOK_ITEMS_MAX).map(|(_, key)| key.clone()).collect()
}

fn due_waits(state: &State, now: Timestamp) -> Vec<u32> {
    let due = |until: &Option<Timestamp>| until.is_some_and(|until| until <= now);
    let waits = state.listening.iter().filter(|(_, until)| due(until)).map(|(node, _)| *node);
    waits.take(LOOK_ITEMS_MAX).collect()
}

fn due_attempts(state: &State, now: Timestamp) -> Vec<(Target, crate::event::Timeout)> {
    let timed_out = state.attempts.iter().filter_map(|(target, attempt)| {
        let (at, timeout) = attempt.timeout_at(&state.timeouts(target))?;
        (at <= now).then(|| (target.clone(), timeout))
    });
    timed_out.take(LOOK_ITEMS_MAX).collect()
}

/// Whether a dispatch is due that may go out.
fn hand_over_due(state: &State, now: Timestamp) -> bool {
    state.attempts.values().any(|attempt| {
        let mut stage = attempt.stage.clone();
        let staged = matches!(stage, crate::state::Stage::Staged { .. });
        !(staged && state.paused.is_some()) && stage.hand_over(0, now)
    })
}
