//! Writes that arrive late, as schedules: what the exhaustive tests cover, told one at a time.
//!
//! A conformance test replays the same actions on the real code.

use everlog_model::fold::fold;
use everlog_model::scenarios::{alarm, pause};
use everlog_model::{Action, Outcome, Protocol, Rules, State, Write};

/// Runs a process to the write that `wanted` accepts, and sends that one late.
fn send_late(
    protocol: &Protocol,
    state: &mut State,
    process: u8,
    wanted: fn(&Write) -> bool,
) -> Write {
    loop {
        let next = protocol.offered(state).into_iter().find_map(|action| match action {
            Action::Write(by, write, Outcome::Late) if by == process && wanted(&write) => {
                Some((action, Some(write)))
            }
            _ => None,
        });
        let (action, sent) = next.unwrap_or_else(|| (own_step(protocol, state, process), None));
        protocol.step(state, &action);
        if let Some(write) = sent {
            return write;
        }
    }
}

/// The next step of a process, answered.
fn own_step(protocol: &Protocol, state: &State, process: u8) -> Action {
    let own = |action: &Action| match *action {
        Action::Take(by, _) | Action::Look(by) | Action::ReadCard(by) | Action::Load(by) => {
            by == process
        }
        Action::Send(by, _) | Action::Done(by) => by == process,
        Action::Write(by, _, outcome) => by == process && outcome == Outcome::Answered,
        _ => false,
    };
    let mut offered = protocol.offered(state).into_iter();
    offered.find(own).unwrap_or_else(|| panic!("process {process} has nothing to do: {state:?}"))
}

fn run(protocol: &Protocol, state: &mut State, process: u8, steps: usize) {
    for _ in 0..steps {
        let action = own_step(protocol, state, process);
        protocol.step(state, &action);
    }
}

fn is_put(write: &Write) -> bool {
    matches!(write, Write::Put { .. })
}

#[test]
fn a_put_of_the_dead_lands_under_the_alarm_that_its_card_step_left() {
    let protocol = Protocol::new(alarm(), Rules::ALL);
    let mut state = protocol.first_state();
    // A sweep first, so that the alarm is at 9 and the committer of 7 needs the card step.
    run(&protocol, &mut state, 2, 4);
    assert_eq!(state.store.card.map(|card| card.alarm_at), Some(9));
    let put = send_late(&protocol, &mut state, 1, is_put);
    protocol.step(&mut state, &Action::Crash(1));
    protocol.step(&mut state, &Action::Arrive(put));
    let folded = fold(&protocol.scenario.items, state.store.log(1));
    assert_eq!((folded.alarm, state.store.card.map(|card| card.alarm_at)), (7, Some(7)));
    assert!(protocol.settles(&state));
}

#[test]
fn a_put_of_the_dead_is_refused_once_a_sweep_has_taken_its_number() {
    let protocol = Protocol::new(alarm(), Rules::ALL);
    let mut state = protocol.first_state();
    let put = send_late(&protocol, &mut state, 0, is_put);
    protocol.step(&mut state, &Action::Crash(0));
    run(&protocol, &mut state, 3, 4);
    assert!(!protocol.offered(&state).contains(&Action::Arrive(put)), "it can't land any more");
    assert!(!fold(&protocol.scenario.items, state.store.log(1)).commands.has(0));
}

#[test]
fn a_late_pause_never_lands_on_a_resume() {
    let protocol = Protocol::new(pause(), Rules::ALL);
    let mut state = protocol.first_state();
    let late = send_late(&protocol, &mut state, 0, |write| matches!(write, Write::Show { .. }));
    protocol.step(&mut state, &Action::Crash(0));
    protocol.step(&mut state, &Action::Take(1, 1));
    run(&protocol, &mut state, 1, 3);
    let card = state.store.card;
    assert_eq!(card.map(|card| card.as_of), Some(3));
    state.store.land(&protocol.rules, &late);
    assert_eq!(state.store.card, card);
}

#[test]
fn a_schedule_is_replayed_only_if_each_action_is_offered() {
    let protocol = Protocol::new(alarm(), Rules::ALL);
    assert!(protocol.replay(&[Action::Take(0, 0), Action::Crash(0)]).is_ok());
    assert_eq!(protocol.replay(&[Action::Crash(0), Action::Take(0, 0)]), Err(1));
}
