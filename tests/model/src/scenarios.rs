//! The small worlds that the tests explore.
//!
//! What it is: one function a scenario, each with what it is meant to show.
//! It promises that together they hold two of everything (committers, sweeps, starters, closers), one deleter, and late writes, lost answers and crashes in nearly each.
//! It deliberately stays small: a debug build explores them all within a minute; `examples/deep.rs` explores larger ones.
//! It cannot fail.
//! Where next: `tests/exhaustive.rs` for the sizes, `tests/rules.rs` for what each scenario refutes.
//!
//! The time is 5 in all of them when the exploration begins.

use crate::scenario::{Begun, Orphaned, Role, Scenario};
use crate::vocabulary::{Command, Due, Few, ItemKind, Tick, Verb};

/// Two committers (3: due at once; 7: earlier than what is left) and two sweeps
/// on a workflow with timers due at 2 and 9; one write unanswered.
pub fn alarm() -> Scenario {
    Scenario {
        items: timers(4),
        commands: vec![
            on(1, adding(Verb::Add, 2, Due::At(3))),
            on(1, adding(Verb::Add, 3, Due::At(7))),
        ],
        sent: Few::of(&[0, 1]),
        processes: vec![function(&[0]), function(&[1]), sweep(1), for_ever(sweep(1))],
        begun: begun(&[2, 9]),
        ..world("alarm")
    }
}

/// As [`alarm`], with two unanswered writes and processes that never die.
pub fn alarm_two_unanswered() -> Scenario {
    let scenario = alarm();
    let processes = scenario.processes.into_iter().map(for_ever).collect();
    Scenario { unanswered: 2, processes, name: "alarm, two unanswered", ..scenario }
}

/// As [`alarm`], while time goes on and another timer comes due; the store always answers.
pub fn alarm_in_time() -> Scenario {
    Scenario { now_max: 6, unanswered: 0, begun: begun(&[2, 6]), name: "alarm, in time", ..alarm() }
}

/// As [`alarm`], by sweeps that hold the log already and read `alarm_rev` just before their put.
pub fn alarm_warm() -> Scenario {
    Scenario { warm_sweeps: true, name: "alarm, warm sweeps", ..alarm() }
}

/// Functions that run out of time at a put and turn to another command, while the first put is still under way.
pub fn give_up() -> Scenario {
    let hasty = Role { give_ups: 1, ..function(&[0, 1]) };
    Scenario {
        items: timers(3),
        commands: vec![
            on(1, adding(Verb::Add, 1, Due::At(3))),
            on(1, adding(Verb::Add, 2, Due::At(7))),
        ],
        sent: Few::of(&[0, 1]),
        processes: vec![hasty, for_ever(function(&[0, 1])), for_ever(sweep(1))],
        begun: begun(&[9]),
        ..world("give up")
    }
}

/// Two starters (the second with a timer due at once), a deleter whose command comes again, a sweep that finds cards without logs.
pub fn start() -> Scenario {
    Scenario {
        items: timers(2),
        commands: vec![
            adding(Verb::Start, 0, Due::At(7)),
            adding(Verb::Start, 1, Due::At(5)),
            plain(Verb::Delete),
        ],
        sent: Few::of(&[0, 1, 2]),
        again: Few::of(&[2]),
        processes: vec![function(&[0]), function(&[1]), function(&[2]), for_ever(sweep(1))],
        ..world("start")
    }
}

/// A start and a delete as direct invocations, which nobody repeats: two sweeps and a wake repair what the dead leave.
pub fn direct() -> Scenario {
    Scenario {
        items: timers(1),
        commands: vec![adding(Verb::Start, 0, Due::At(5)), plain(Verb::Delete)],
        sent: Few::of(&[0, 1]),
        orphaned: Orphaned::Woken,
        processes: vec![function(&[0]), function(&[1]), sweep(1), for_ever(sweep(1))],
        ..world("direct")
    }
}

/// As [`direct`], without the wake: what the alarm alone can't repair.
pub fn direct_without_wake() -> Scenario {
    Scenario { orphaned: Orphaned::Forgotten, name: "direct without the wake", ..direct() }
}

/// One incarnation after another: start, an event that needs an earlier alarm, delete, start; a sweep in between.
pub fn succession() -> Scenario {
    Scenario {
        items: timers(3),
        commands: vec![
            adding(Verb::Start, 0, Due::At(8)),
            on(1, adding(Verb::Add, 1, Due::At(3))),
            on(1, plain(Verb::Delete)),
            adding(Verb::Start, 2, Due::At(9)),
        ],
        sent: Few::of(&[0, 1, 2, 3]),
        processes: vec![
            for_ever(function(&[0, 3])),
            function(&[1]),
            function(&[2]),
            for_ever(sweep(1)),
        ],
        ..world("succession")
    }
}

/// A close that leaves a message (with an earlier alarm) and comes again, against a committer and a sweep.
pub fn close() -> Scenario {
    Scenario {
        items: vec![ItemKind::Timer, ItemKind::Timer, ItemKind::Message],
        commands: vec![
            on(1, adding(Verb::Close, 2, Due::After(1))),
            on(1, adding(Verb::Add, 1, Due::At(7))),
        ],
        sent: Few::of(&[0, 1]),
        again: Few::of(&[0]),
        processes: vec![function(&[0]), function(&[1]), for_ever(sweep(2))],
        begun: begun(&[9]),
        ..world("close")
    }
}

/// Two closers of one close that comes again, while the workflow is opened again with an earlier alarm.
pub fn reopen() -> Scenario {
    Scenario {
        items: timers(2),
        commands: vec![on(1, plain(Verb::Close)), on(1, adding(Verb::Reopen, 1, Due::At(7)))],
        sent: Few::of(&[0, 1]),
        again: Few::of(&[0, 1]),
        processes: vec![function(&[0]), function(&[0]), function(&[1]), for_ever(sweep(1))],
        begun: begun(&[9]),
        ..world("reopen")
    }
}

/// Pause and resume, each by two functions and coming again; two unanswered writes, so that two status writes can be late.
pub fn pause() -> Scenario {
    Scenario {
        items: timers(1),
        commands: vec![on(1, plain(Verb::Pause)), on(1, plain(Verb::Resume))],
        sent: Few::of(&[0, 1]),
        again: Few::of(&[0, 1]),
        processes: vec![function(&[0, 1]), for_ever(function(&[0, 1])), for_ever(sweep(1))],
        begun: begun(&[9]),
        unanswered: 2,
        ..world("pause")
    }
}

/// A dispatch and its settle, over a queue that loses and doubles, by functions that die; one write unanswered.
pub fn relay() -> Scenario {
    Scenario {
        items: vec![ItemKind::Dispatch],
        commands: vec![on(1, adding(Verb::Add, 0, Due::After(1))), on(1, plain(Verb::Settle(0)))],
        sent: Few::of(&[0]),
        processes: vec![function(&[0, 1]), for_ever(function(&[0, 1])), for_ever(sweep(1))],
        lossy: true,
        now_max: 6,
        begun: begun(&[]),
        ..world("relay")
    }
}

/// Two steps, the second born in the settle of the first; the store always answers, the queue loses nothing but doubles.
pub fn steps() -> Scenario {
    Scenario {
        items: vec![ItemKind::Dispatch, ItemKind::Dispatch],
        commands: vec![
            on(1, adding(Verb::Add, 0, Due::After(1))),
            on(1, adding(Verb::Settle(0), 1, Due::After(1))),
            on(1, plain(Verb::Settle(1))),
        ],
        lossy: false,
        now_max: 5,
        processes: vec![function(&[0, 1, 2]), for_ever(function(&[0, 1, 2])), for_ever(sweep(1))],
        unanswered: 0,
        name: "steps",
        ..relay()
    }
}

/// As [`relay`], without any alarm: what redelivery alone must achieve, if the queue keeps what it accepted.
pub fn relay_without_alarm() -> Scenario {
    Scenario {
        again: Few::of(&[0]),
        processes: vec![function(&[0, 1]), for_ever(function(&[0, 1]))],
        lossy: false,
        now_max: 5,
        name: "relay without the alarm",
        ..relay()
    }
}

/// A function that may die.
fn function(takes: &[u8]) -> Role {
    Role { takes: Few::of(takes), looks: 0, give_ups: 0, mortal: true }
}

/// A sweep that may die.
fn sweep(looks: u8) -> Role {
    Role { takes: Few::NONE, looks, give_ups: 0, mortal: true }
}

fn for_ever(role: Role) -> Role {
    Role { mortal: false, ..role }
}

fn plain(verb: Verb) -> Command {
    Command { verb, adds: Few::NONE, due: Due::After(0), incarnation: None }
}

fn adding(verb: Verb, item: u8, due: Due) -> Command {
    Command { adds: Few::of(&[item]), due, ..plain(verb) }
}

fn on(incarnation: u8, command: Command) -> Command {
    Command { incarnation: Some(incarnation), ..command }
}

fn timers(count: usize) -> Vec<ItemKind> {
    vec![ItemKind::Timer; count]
}

fn begun(dues: &[Tick]) -> Option<Begun> {
    Some(Begun { dues: dues.to_vec() })
}

fn world(name: &'static str) -> Scenario {
    Scenario {
        name,
        items: Vec::new(),
        commands: Vec::new(),
        sent: Few::NONE,
        again: Few::NONE,
        orphaned: Orphaned::Redelivered,
        processes: Vec::new(),
        unanswered: 1,
        lossy: false,
        warm_sweeps: false,
        now: 5,
        now_max: 5,
        start_wait: 1,
        look_interval: 2,
        begun: None,
    }
}
