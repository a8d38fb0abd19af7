//! Signals: buffered, taken in order, and never taken twice.

use everlog::Rejection;
use everlog::commit::Commit;
use everlog::decide::{Draft, Look, Needs, decide};
use everlog::event::{Ending, Event, Note, WaitEnd};
use everlog::limits;
use everlog::state::{Life, Phase};
use everlog::time::Timestamp;
use serde_json::{Value, json};

use crate::support::{DAY, Log, MINUTE, T0, command};

fn waits() -> Log {
    Log::planned(json!({"tasks": [
        {"id": "first", "signal": "go"},
        {"id": "second", "signal": "go", "after": ["first"]},
        {"id": "work", "after": ["second"]},
    ]}))
}

fn go() -> Value {
    json!({"signal": {"name": "go", "payload": 1}})
}

/// Which signal ended which wait in the last commit.
fn taken(log: &Log) -> Vec<(u32, u64)> {
    let end = |e: &Event| match e {
        Event::WaitEnded(node, WaitEnd::Signal(seq)) => Some((*node, *seq)),
        _ => None,
    };
    log.events().iter().filter_map(end).collect()
}

#[test]
fn a_signal_ends_the_wait_of_who_listens() {
    let mut log = waits();
    assert_eq!(log.phases(), "aww");
    log.tell(go()).committed();
    assert_eq!(log.phases(), "saw");
    assert_eq!(taken(&log), [(0, 3)]);
    assert!(log.state.signals.is_empty());
}

#[test]
fn a_signal_of_another_name_is_kept_and_ends_nothing() {
    let mut log = waits();
    log.signal("stop").committed();
    assert_eq!(log.phases(), "aww");
    assert_eq!(log.state.signals.len(), 1);
}

#[test]
fn signals_that_came_before_the_wait_are_taken_in_their_order() {
    let mut log = Log::planned(json!({"tasks": [
        {"id": "a", "retry": {"max_attempts": 1}},
        {"id": "x", "signal": "go", "after": ["a"]},
        {"id": "y", "signal": "go", "after": ["x"]},
        {"id": "z", "signal": "go", "after": ["y"]},
    ]}));
    log.tell(go()).committed();
    let first = log.state.head;
    log.tell(go()).committed();
    let second = log.state.head;
    log.succeed("a");
    assert_eq!(taken(&log), [(1, first), (2, second)], "both, one after the other");
    assert_eq!(log.phases(), "sssa");
}

#[test]
fn of_two_that_listen_the_first_of_the_plan_takes_one_signal() {
    let mut log =
        Log::planned(json!({"tasks": [{"id": "x", "signal": "go"}, {"id": "y", "signal": "go"}]}));
    log.tell(go()).committed();
    assert_eq!(log.phases(), "sa");
    log.tell(go()).committed();
    assert_eq!(log.state.ending(), Some(Ending::Completed));
}

#[test]
fn a_repeat_is_known_by_its_command_and_changes_nothing() {
    let mut log = waits();
    log.tell_as("g", go()).committed();
    assert_eq!(log.tell_as("g", go()).unchanged().repeat_of, Some(2));
    assert_eq!(log.phases(), "saw");
    log.tell_as("other", go()).committed();
    assert_eq!(log.phases(), "ssa");
}

#[test]
fn a_repeat_in_the_batch_of_the_first_changes_nothing() {
    let log = waits();
    let mut draft = Draft::new(&log.state, log.now);
    let signal = command("g", &go());
    decide(&mut draft, &log.context(), &signal).unwrap();
    let size = draft.size();
    let again = decide(&mut draft, &log.context(), &signal).unwrap();
    assert!(again.repeat_of.is_some());
    assert_eq!(draft.size(), size, "one delivery, one signal");
}

#[test]
fn the_last_512_commands_are_remembered_and_older_ones_are_searched_for() {
    let mut log = waits();
    let noise = json!({"signal": {"name": "noise"}});
    log.tell_as("g0", noise.clone()).committed();
    for at in 1..limits::COMMANDS_REMEMBERED {
        log.wait(MINUTE);
        log.sent = Some(log.now);
        log.tell_as(&format!("g{at}"), noise.clone()).committed();
    }
    log.sent = None;
    let known = log.tell_bare("g0", noise.clone()).unwrap();
    assert_eq!(known.unchanged().repeat_of, Some(2), "without a search");
    log.tell_as("g512", noise.clone()).committed();
    assert_eq!(log.tell_bare("g0", noise.clone()), Err(Needs::Search), "forgotten now");
    assert_eq!(log.tell_as("g0", noise.clone()).unchanged().repeat_of, Some(2), "and found");
    let size = log.commits.len();
    log.tell_as("new", noise).committed();
    assert_eq!(log.commits.len(), size + 1, "searched for and not found");
}

#[test]
fn only_what_may_be_older_than_the_memory_is_searched_for() {
    let mut log = waits();
    let noise = json!({"signal": {"name": "noise"}});
    for at in 0..=limits::COMMANDS_REMEMBERED {
        log.sent = Some(log.now);
        log.tell_as(&format!("g{at}"), noise.clone()).committed();
        log.wait(1);
    }
    // The forgotten one is of T0; two minutes are allowed for clocks that disagree.
    let searched = |log: &mut Log, sent: Option<Timestamp>| {
        log.sent = sent;
        log.clone().tell_bare("new", noise.clone()).is_err()
    };
    assert!(searched(&mut log, None), "unknown counts as old");
    assert!(searched(&mut log, Some(T0)));
    assert!(searched(&mut log, Some(T0.plus_ms(2 * MINUTE))));
    assert!(!searched(&mut log, Some(T0.plus_ms(2 * MINUTE + 1))));
}

#[test]
fn a_signal_for_what_is_not_started_opens_it_unborn_and_waits_for_the_start() {
    let mut log = Log::new();
    log.tell_as("g", go()).committed();
    assert_eq!((log.state.life, log.state.status()), (Life::Unborn, "unborn"));
    assert!(matches!(log.notes()[..], [Note::Opened]));
    assert_eq!(log.state.earliest_due(), Some(T0.plus_ms(15 * DAY)));
    log.tell_as("g", go()).unchanged();
    log.tell(go()).committed();
    assert!(log.notes().is_empty(), "opened once");

    let plan = json!({"tasks": [{"id": "x", "signal": "go"}, {"id": "w", "after": ["x"]}]});
    log.tell(json!({"start": {"plan": plan}})).committed();
    assert_eq!((log.phases().as_str(), taken(&log)), ("sa", vec![(0, 1)]));
    assert_eq!(log.state.signals.values().map(std::collections::VecDeque::len).sum::<usize>(), 1);
    assert_eq!(log.tell_as("g", go()).unchanged().repeat_of, Some(1), "known after the start");
}

#[test]
fn an_unborn_workflow_is_abandoned_15_days_later_and_not_before() {
    let mut log = Log::new();
    log.tell(go()).committed();
    log.wait(15 * DAY - 1);
    assert_eq!(log.look(Look::Wake), None);
    log.wait(1);
    let Commit { notes, .. } = log.look(Look::Wake).unwrap();
    assert_eq!(notes[0].note, Note::Abandoned);
    assert_eq!((log.state.life, log.state.earliest_due()), (Life::Abandoned, None));
    assert_eq!(log.tell(go()).rejected().kind(), "not_found");
}

#[test]
fn a_driven_workflow_records_signals_and_buffers_none() {
    let mut log = Log::driven();
    log.tell(go()).committed();
    assert!(matches!(log.events(), [Event::Signalled(_, Some(_))]));
    assert!(log.state.signals.is_empty());

    let mut unborn = Log::new();
    unborn.tell(go()).committed();
    unborn.tell(json!({"start": {}})).committed();
    assert!(unborn.state.signals.is_empty(), "the engine reads them in the history");
}

#[test]
fn a_closed_workflow_takes_no_signal() {
    let mut log = Log::driven();
    log.tell(json!({"cancel": {}})).committed();
    assert_eq!(log.tell(go()).wrong_state(), "cancelled");
}

#[test]
fn under_pause_a_signal_ends_the_wait_but_nothing_starts() {
    let mut log = Log::planned(json!({"tasks": [
        {"id": "x", "signal": "go"}, {"id": "w", "after": ["x"]},
    ]}));
    log.tell(json!({"pause": {}})).committed();
    log.tell(go()).committed();
    assert_eq!(log.phases(), "sw");
    log.tell(json!({"resume": {}})).committed();
    assert_eq!(log.phases(), "sa");
}

#[test]
fn a_full_buffer_refuses_what_would_wait_and_not_what_is_waited_for() {
    let mut log = waits();
    let noise = command("n", &json!({"signal": {"name": "noise"}}));
    let mut draft = Draft::new(&log.state, log.now);
    for at in 0..limits::SIGNALS_BUFFERED_MAX {
        let id = everlog::id::CommandId::new(format!("n{at}")).unwrap();
        let signal = everlog::command::Command { id, ..noise.clone() };
        decide(&mut draft, &log.context(), &signal).unwrap();
    }
    log.commit(draft, false);
    let refused = log.signal("noise").rejected();
    assert!(matches!(refused, Rejection::Exhausted { limit: 10_000, .. }), "{refused:?}");
    log.tell(go()).committed();
    assert_eq!(log.phase("first"), Phase::Succeeded);
}
