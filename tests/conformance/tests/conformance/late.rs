//! Late writes, one schedule at a time: those of the model's `tests/late.rs`.

use std::collections::VecDeque;

use everlog_model::{Action, Outcome, Status, Write};

use crate::casts;
use crate::lockstep::{Choice, Lockstep};
use crate::schedules::scripted;

/// A line of a script.
enum Line {
    /// So many steps of a process, all answered.
    Run(u8, usize),
    /// A process runs to the first such write, which stays under way.
    Late(u8, fn(&Write) -> bool),
    /// This action.
    Act(Action),
    /// What is under way arrives.
    Arrive,
    /// This holds in the model, and so, since they are the same, on the table.
    Check(fn(&Lockstep<'_>) -> bool),
}

fn own(both: &Lockstep<'_>, process: u8) -> Choice {
    let mine = |choice: &Choice| match choice {
        Choice::Act(
            Action::Take(by, _)
            | Action::Look(by)
            | Action::Load(by)
            | Action::Done(by)
            | Action::Write(by, _, Outcome::Answered),
        ) => *by == process,
        _ => false,
    };
    both.offered().into_iter().find(mine).expect("it has something to do")
}

fn late(both: &Lockstep<'_>, process: u8, wanted: fn(&Write) -> bool) -> Option<Choice> {
    both.offered().into_iter().find(|choice| match choice {
        Choice::Act(Action::Write(by, write, Outcome::Late)) => *by == process && wanted(write),
        _ => false,
    })
}

/// What the script says next.
fn next(lines: &mut VecDeque<Line>, both: &Lockstep<'_>) -> Option<Choice> {
    loop {
        match lines.pop_front()? {
            Line::Run(_, 0) => {}
            Line::Run(process, steps) => {
                lines.push_front(Line::Run(process, steps - 1));
                return Some(own(both, process));
            }
            Line::Late(process, wanted) => {
                if let Some(choice) = late(both, process, wanted) {
                    return Some(choice);
                }
                lines.push_front(Line::Late(process, wanted));
                return Some(own(both, process));
            }
            Line::Act(action) => return Some(Choice::Act(action)),
            Line::Arrive => return Some(Choice::Arrive(0)),
            Line::Check(holds) => assert!(holds(both), "{:#?}", both.state.store),
        }
    }
}

fn is_put(write: &Write) -> bool {
    matches!(write, Write::Put { .. })
}

#[test]
fn a_put_of_the_dead_lands_under_the_alarm_that_its_card_step_left() {
    let mut lines = VecDeque::from([
        Line::Run(2, 4),
        Line::Check(|both| both.state.store.card.is_some_and(|card| card.alarm_at == 9)),
        Line::Late(1, is_put),
        Line::Act(Action::Crash(1)),
        Line::Arrive,
        Line::Check(|both| both.state.store.card.is_some_and(|card| card.alarm_at == 7)),
        Line::Check(|both| both.state.store.log(1).len() == 4),
    ]);
    scripted(&casts::alarm(), |both| next(&mut lines, both));
    assert!(lines.is_empty(), "the script was played");
}

#[test]
fn a_put_of_the_dead_is_refused_once_a_sweep_has_taken_its_number() {
    let mut lines = VecDeque::from([
        Line::Late(0, is_put),
        Line::Act(Action::Crash(0)),
        Line::Run(3, 4),
        Line::Arrive,
        Line::Check(|both| both.state.store.log(1).len() == 3),
    ]);
    scripted(&casts::alarm(), |both| next(&mut lines, both));
    assert!(lines.is_empty(), "the script was played");
}

#[test]
fn a_late_pause_never_lands_on_a_resume() {
    let mut lines = VecDeque::from([
        Line::Late(0, |write| matches!(write, Write::Show { .. })),
        Line::Act(Action::Crash(0)),
        Line::Act(Action::Take(1, 1)),
        Line::Run(1, 3),
        Line::Arrive,
        Line::Check(|both| {
            let card = both.state.store.card;
            card.is_some_and(|card| (card.status, card.as_of) == (Status::Running, 3))
        }),
    ]);
    scripted(&casts::pause(), |both| next(&mut lines, both));
    assert!(lines.is_empty(), "the script was played");
}
