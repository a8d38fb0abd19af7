//! How long it is kept: delete, legal hold, release.
//!
//! All three are notes: what has ended takes no events any more.

use super::control::repeated;
use super::{Context, Decided, Draft, Refused};
use crate::answer::Rejection;
use crate::command::Barrier;
use crate::event::Note;
use crate::id::CommandHash;
use crate::state::Life;

pub(super) fn delete(draft: &mut Draft) -> Result<Decided, Refused> {
    let state = draft.state();
    match state.life {
        Life::Closed(_) if state.legal_hold.is_some() => {
            Err(Rejection::WrongState { state: "under legal hold".into() }.into())
        }
        Life::Closed(_) => {
            draft.note(Note::Deleted)?;
            Ok(Decided::default())
        }
        Life::Deleted => Ok(Decided::repeat(state.card_commit)),
        _ => Err(Rejection::WrongState { state: state.status().into() }.into()),
    }
}

pub(super) fn hold(
    draft: &mut Draft,
    context: &Context,
    hash: CommandHash,
    barrier: &Barrier,
) -> Result<Decided, Refused> {
    if let Some(commit) = repeated(draft, context, hash)? {
        return Ok(Decided::repeat(commit));
    }
    require_started(draft)?;
    if let Some(commit) = draft.state().legal_hold {
        return Ok(Decided::repeat(commit));
    }
    draft.note(Note::HoldPlaced(barrier.reason.clone()))?;
    Ok(Decided::default())
}

pub(super) fn release(
    draft: &mut Draft,
    context: &Context,
    hash: CommandHash,
) -> Result<Decided, Refused> {
    if let Some(commit) = repeated(draft, context, hash)? {
        return Ok(Decided::repeat(commit));
    }
    require_started(draft)?;
    if draft.state().legal_hold.is_none() {
        return Ok(Decided::repeat(draft.state().commit));
    }
    draft.note(Note::HoldLifted)?;
    Ok(Decided::default())
}

/// A hold stands whether the run has ended or not.
fn require_started(draft: &Draft) -> Result<(), Rejection> {
    let state = draft.state();
    match state.life {
        Life::Open | Life::Closed(_) => Ok(()),
        _ => Err(Rejection::WrongState { state: state.status().into() }),
    }
}
