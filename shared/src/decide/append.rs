//! Append and claim: the commands of a user's own engine.

use super::{Context, Decided, Draft, Needs, Refused, advance, attempt, runs};
use crate::answer::Rejection;
use crate::command::{Append, Arming, TimerChange};
use crate::event::{Event, Owner, TimerKey};
use crate::labels::AttributeChanges;
use crate::limits;
use crate::state::State;
use crate::time::Timestamp;

pub(super) fn append(
    draft: &mut Draft,
    context: &Context,
    append: &Append,
) -> Result<Decided, Refused> {
    let state = draft.state();
    let expected = append.expected_seq;
    if state.head != expected {
        if state.head > expected {
            return Err(Refused::Needs(Needs::Sequence(expected + 1)));
        }
        let found = state.head;
        return Err(Rejection::SequenceConflict { expected, found, events: Vec::new() }.into());
    }
    require_driven(state)?;
    require_owner(state, append.owner.as_ref())?;
    // What refuses half-way leaves nothing behind.
    let mut trial = draft.clone();
    let decided = store(&mut trial, context, append)?;
    *draft = trial;
    Ok(decided)
}

fn store(draft: &mut Draft, context: &Context, append: &Append) -> Result<Decided, Refused> {
    for event in &append.events {
        draft.emit(Event::Appended(event.kind.clone(), event.payload.clone()))?;
    }
    change_attributes(draft, &append.attributes)?;
    if let Some(next) = &append.continue_as_new {
        runs::continue_as_new(draft, context, next)?;
    }
    room_for_timers(draft.state(), append)?;
    let mut decided = Decided::default();
    for (at, intent) in append.prepare.iter().enumerate() {
        let field = format!("command.append.prepare[{at}]");
        let one = attempt::prepare(draft, context, append.owner.as_ref(), intent, &field)?;
        decided.dispatch_keys.extend(one.dispatch_keys);
    }
    for change in &append.timers {
        change_timer(draft, change)?;
    }
    if let Some(close) = &append.close {
        draft.emit(Event::Closed(close.ending, close.result.clone()))?;
    }
    advance::advance(draft)?;
    Ok(decided)
}

fn change_attributes(draft: &mut Draft, changes: &AttributeChanges) -> Result<(), Refused> {
    let mut labels = draft.state().labels.as_deref().cloned().unwrap_or_default();
    let changes = labels.differing(changes);
    if changes.is_empty() {
        return Ok(());
    }
    labels.change(&changes);
    labels.fit()?;
    draft.emit(Event::AttributesChanged(changes))?;
    Ok(())
}

fn room_for_timers(state: &State, append: &Append) -> Result<(), Rejection> {
    let armed = append.timers.iter().filter(|change| {
        let timer = TimerKey::Named(change.timer.clone());
        change.fire_at.is_some() && !state.timers.contains_key(&timer)
    });
    if state.timers.len() + armed.count() <= limits::TIMERS_MAX {
        return Ok(());
    }
    let limit = limits::TIMERS_MAX as u64;
    Err(Rejection::Exhausted { what: "the number of armed timers".into(), limit })
}

pub(super) fn claim(draft: &mut Draft, owner: &Owner) -> Result<Decided, Refused> {
    let state = draft.state();
    require_open(state)?;
    match &state.owner {
        Some(present) if present == owner => Ok(Decided::repeat(0)),
        Some(present) => Err(Rejection::Fenced { generation: present.generation }.into()),
        None => {
            draft.emit(Event::Claimed(owner.clone()))?;
            Ok(Decided::default())
        }
    }
}

/// The run is open and no plan drives it.
pub(super) fn require_driven(state: &State) -> Result<(), Rejection> {
    require_open(state)?;
    match state.plan() {
        None => Ok(()),
        Some(_) => Err(Rejection::WrongState { state: "planned; its plan alone drives it".into() }),
    }
}

/// The run is open.
pub(super) fn require_open(state: &State) -> Result<(), Rejection> {
    if state.open() {
        return Ok(());
    }
    Err(match &state.run {
        Some(_) => Rejection::WrongState { state: state.status().into() },
        None => Rejection::NotFound { what: "workflow".into(), id: "of this id".into() },
    })
}

/// Nobody has authority, or the caller does: equality of all four parts.
pub(super) fn require_owner(state: &State, owner: Option<&Owner>) -> Result<(), Rejection> {
    match (&state.owner, owner) {
        (None, None) => Ok(()),
        (Some(present), Some(owner)) if present == owner => Ok(()),
        (Some(present), _) => Err(Rejection::Fenced { generation: present.generation }),
        (None, Some(_)) => Err(Rejection::Fenced { generation: 0 }),
    }
}

fn change_timer(draft: &mut Draft, change: &TimerChange) -> Result<(), Refused> {
    let timer = TimerKey::Named(change.timer.clone());
    match change.fire_at {
        Some(fire_at) => draft.emit(Event::TimerArmed(timer, fire_at))?,
        None => {
            let state = draft.state();
            let start_seq = state.run.as_ref().map(|run| run.start().seq);
            let meant = |fire_at: &Timestamp| {
                let is = |a: &Arming| a.fire_at == *fire_at && Some(a.start_seq) == start_seq;
                change.arming.as_ref().is_none_or(is)
            };
            if state.timers.get(&timer).is_some_and(meant) {
                draft.emit(Event::TimerCancelled(timer))?;
            }
        }
    }
    Ok(())
}
