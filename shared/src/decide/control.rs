//! Signal, pause, resume and cancel.

use super::append::require_open;
use super::{Context, Decided, Draft, Needs, Refused, advance};
use crate::answer::Rejection;
use crate::command::{Barrier, Signal};
use crate::event::{Ending, Event, Note, WaitEnd};
use crate::id::{CommandHash, SignalName};
use crate::limits;
use crate::plan::Work;
use crate::state::{Life, State};

/// Whether the command was answered before, as far as this batch, memory and
/// log tell.
pub(super) fn repeated(
    draft: &Draft,
    context: &Context,
    hash: CommandHash,
) -> Result<Option<u64>, Refused> {
    let state = draft.state();
    if draft.answers(hash) {
        return Ok(Some(draft.at().commit));
    }
    if let Some(commit) = state.memory.find(hash) {
        return Ok(Some(commit));
    }
    match context.found.repeat {
        Some(found) => Ok(found),
        None if state.memory.may_have_forgotten(context.sent) => Err(Refused::Needs(Needs::Search)),
        None => Ok(None),
    }
}

pub(super) fn signal(
    draft: &mut Draft,
    context: &Context,
    hash: CommandHash,
    signal: &Signal,
) -> Result<Decided, Refused> {
    if let Some(commit) = repeated(draft, context, hash)? {
        return Ok(Decided::repeat(commit));
    }
    let state = draft.state();
    match state.life {
        Life::Nothing => draft.note(Note::Opened)?,
        Life::Unborn => {}
        _ => require_open(state)?,
    }
    let taken_at_once = listener(draft.state(), &signal.name).is_some();
    let buffered: usize = draft.state().signals.values().map(std::collections::VecDeque::len).sum();
    if buffered >= limits::SIGNALS_BUFFERED_MAX && !taken_at_once {
        let what = "the number of signals that wait".into();
        let limit = limits::SIGNALS_BUFFERED_MAX as u64;
        return Err(Rejection::Exhausted { what, limit }.into());
    }
    draft.emit(Event::Signalled(signal.name.clone(), signal.payload.clone()))?;
    if let Some(node) = listener(draft.state(), &signal.name) {
        let front = draft.state().signals.get(&signal.name).and_then(|b| b.front()).map(|s| s.seq);
        if let Some(seq) = front {
            draft.emit(Event::WaitEnded(node, WaitEnd::Signal(seq)))?;
        }
    }
    advance::advance(draft)?;
    Ok(Decided::default())
}

fn listener(state: &State, name: &SignalName) -> Option<u32> {
    let plan = state.plan()?;
    let waits_for = |at: &u32| matches!(&plan.node(*at).work, Work::Signal(n, _) if n == name);
    state.listening.keys().copied().find(waits_for)
}

pub(super) fn pause(
    draft: &mut Draft,
    context: &Context,
    hash: CommandHash,
    barrier: &Barrier,
) -> Result<Decided, Refused> {
    if let Some(commit) = repeated(draft, context, hash)? {
        return Ok(Decided::repeat(commit));
    }
    let state = draft.state();
    require_open(state)?;
    match (state.cancel, state.paused) {
        (Some(_), _) => Err(Rejection::Cancelled.into()),
        (None, Some(paused)) => Ok(Decided::repeat(paused.commit)),
        (None, None) => {
            draft.emit(Event::Paused(barrier.reason.clone()))?;
            Ok(Decided::default())
        }
    }
}

pub(super) fn resume(
    draft: &mut Draft,
    context: &Context,
    hash: CommandHash,
) -> Result<Decided, Refused> {
    if let Some(commit) = repeated(draft, context, hash)? {
        return Ok(Decided::repeat(commit));
    }
    let state = draft.state();
    require_open(state)?;
    if state.paused.is_none() {
        return Ok(Decided::repeat(state.card_commit));
    }
    draft.emit(Event::Resumed)?;
    draft.note(Note::HandedOver(context.now.max(draft.time())))?;
    advance::advance(draft)?;
    Ok(Decided::default())
}

pub(super) fn cancel(
    draft: &mut Draft,
    _context: &Context,
    barrier: &Barrier,
) -> Result<Decided, Refused> {
    let state = draft.state();
    match (state.life, state.cancel) {
        (Life::Closed(Ending::Cancelled), _) => return Ok(Decided::repeat(state.card_commit)),
        (Life::Open, Some(cancel)) => {
            return Ok(Decided::repeat(cancel.commit));
        }
        _ => require_open(state)?,
    }
    draft.emit(Event::CancelRequested(barrier.reason.clone()))?;
    if draft.state().paused.is_some() {
        draft.emit(Event::Resumed)?;
    }
    advance::advance(draft)?;
    Ok(Decided::default())
}
