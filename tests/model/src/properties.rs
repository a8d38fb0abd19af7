//! What must hold in every reachable state.
//!
//! What it is: the properties that the checker evaluates, each with a name that tests refer to.
//! It promises to judge stored facts only (logs, card, answers given), never what a process believes.
//! It deliberately has no `eventually`: see [`crate::liveness`].
//! It fails by a counterexample: the shortest schedule of actions that leads to a state where the property is false.
//! Where next: [`crate::check`] to run them.

use stateright::Property;

use crate::fold::{Folded, fold};
use crate::process::At;
use crate::protocol::{Protocol, State};
use crate::store::Breach;
use crate::vocabulary::{NEVER, Status};

/// `card.alarm_at` ≤ `state.alarm` ≤ the earliest due time of anything outstanding, in the live incarnation.
pub const ALARM: &str = "card.alarm_at <= state.alarm <= earliest due";
/// Commits are numbered without gaps, and none replaces another.
pub const ONE_COMMIT_PER_NUMBER: &str = "exactly one commit per number, without gaps";
/// No command is in the logs twice, in however many incarnations.
pub const APPLIED_ONCE: &str = "each command is applied at most once";
/// A command answered with success is in the log.
pub const ANSWERED_IS_APPLIED: &str = "an answered command is in the log";
/// No process of one incarnation writes the card of another.
pub const NO_FOREIGN_CARD: &str = "a card is written by its own incarnation only";
/// `alarm_rev` never goes back.
pub const REV_GROWS: &str = "alarm_rev never goes back";
/// An earlier status never lands over a later one.
pub const STATUS_GROWS: &str = "a late status never lands over a later one";
/// A fair run from here discharges everything and leaves the card in agreement with the log.
pub const SETTLES: &str = "a fair run discharges everything";

/// Reached in some state: the newest incarnation is closed, nothing is outstanding, its card has no alarm.
pub const CLOSED_AT_REST: &str = "reached: closed and at rest";
/// Reached in some state: the second incarnation lives.
pub const SECOND_LIFE: &str = "reached: a second incarnation";
/// Reached in some state: a sweep has abandoned a card without a log.
pub const ABANDONED: &str = "reached: abandoned";
/// Reached in some state: every command is done, nobody is dead or busy, nothing is outstanding.
pub const ALL_DISCHARGED: &str = "reached: all done and discharged";

/// All properties: eight that must always hold, and four that show that the states are not empty of events.
pub fn properties() -> Vec<Property<Protocol>> {
    vec![
        Property::always(ALARM, alarm_holds),
        Property::always(ONE_COMMIT_PER_NUMBER, |_, state: &State| {
            !matches!(state.store.breach, Some(Breach::Gap | Breach::Replaced))
        }),
        Property::always(APPLIED_ONCE, |_, state| applied_once(state)),
        Property::always(ANSWERED_IS_APPLIED, |_, state: &State| {
            state.store.breach != Some(Breach::AnsweredWithoutCommit)
        }),
        Property::always(NO_FOREIGN_CARD, |_, state: &State| {
            state.store.breach != Some(Breach::ForeignCard)
        }),
        Property::always(REV_GROWS, |_, state: &State| {
            state.store.breach != Some(Breach::RevWentBack)
        }),
        Property::always(STATUS_GROWS, |_, state: &State| {
            state.store.breach != Some(Breach::StatusWentBack)
        }),
        Property::always(SETTLES, |protocol: &Protocol, state: &State| protocol.settles(state)),
        Property::sometimes(CLOSED_AT_REST, is_closed_at_rest),
        Property::sometimes(SECOND_LIFE, |protocol, state| {
            newest(protocol, state)
                .is_some_and(|(place, folded)| place == 1 && folded.status.is_live())
        }),
        Property::sometimes(ABANDONED, |protocol, state| {
            newest(protocol, state).is_some_and(|(_, folded)| folded.status == Status::Abandoned)
        }),
        Property::sometimes(ALL_DISCHARGED, all_discharged),
    ]
}

/// The alarm invariant, for the newest incarnation that has a log and has not ended.
fn alarm_holds(protocol: &Protocol, state: &State) -> bool {
    let Some((newest, folded)) = newest(protocol, state) else { return true };
    if !folded.status.is_live() {
        return true;
    }
    let card = state.store.card.filter(|card| usize::from(card.incarnation) == newest + 1);
    card.is_some_and(|card| card.alarm_at <= folded.alarm && folded.alarm <= folded.earliest())
}

fn applied_once(state: &State) -> bool {
    let mut seen = [false; 8];
    let commits = state.store.logs.iter().flatten();
    commits
        .filter_map(|commit| commit.command)
        .all(|id| !std::mem::replace(&mut seen[usize::from(id)], true))
}

/// The newest incarnation, folded, if it has a log.
fn newest(protocol: &Protocol, state: &State) -> Option<(usize, Folded)> {
    let newest = state.store.logs.iter().rposition(|log| !log.is_empty())?;
    Some((newest, fold(&protocol.scenario.items, &state.store.logs[newest])))
}

fn is_closed_at_rest(protocol: &Protocol, state: &State) -> bool {
    let card = state
        .store
        .card
        .is_some_and(|card| card.alarm_at == NEVER && card.status == Status::Closed);
    card && newest(protocol, state).is_some_and(|(_, folded)| folded.earliest() == NEVER)
}

fn all_discharged(protocol: &Protocol, state: &State) -> bool {
    let idle = state.processes.iter().all(|process| process.at == At::Idle);
    idle && state.pending.is_empty()
        && newest(protocol, state).is_some_and(|(_, folded)| folded.earliest() == NEVER)
}
