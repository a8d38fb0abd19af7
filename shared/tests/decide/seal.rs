//! What a decision becomes: the commit, its alarm, and batches of commands.

use everlog::commit::Alarm;
use everlog::decide::{Draft, Look, Needs, Refused, decide};
use everlog::event::Note;
use everlog::id::CommandHash;
use everlog::limits;
use everlog::state::State;
use everlog::time::{Tick, Timestamp};
use serde_json::json;

use crate::support::{HOUR, Log, MINUTE, T0, attempt, command, index, succeeded, writer};

#[test]
fn a_commit_names_the_commands_that_it_answers_and_no_others() {
    let mut log = Log::tasks(&["a"]);
    let pause = json!({"pause": {}});
    log.tell_as("p", pause.clone()).committed();
    let answers = &log.commits.last().unwrap().answers;
    assert_eq!(answers, &[CommandHash::from(&command("p", &pause).id)]);
    log.look(Look::Alarm).unwrap();
    assert!(log.commits.last().unwrap().answers.is_empty());
}

#[test]
fn the_first_alarm_is_the_earliest_due_minute_and_goes_to_the_card_first() {
    let log = Log::tasks(&["a"]);
    let tick = T0.plus_ms(15 * MINUTE).tick();
    assert_eq!(log.state.alarm, Some(tick));
    assert_eq!(log.commits[0].alarm, Some(Alarm::At(tick)));
}

#[test]
fn the_first_commit_records_the_alarm_that_its_card_was_made_with() {
    let mut made_with = State::default();
    made_with.alarm = Some(T0.tick());
    let mut draft = Draft::new(&made_with, T0);
    let log = Log::new();
    decide(&mut draft, &log.context(), &command("s", &json!({"start": {}}))).unwrap();
    let sealed = draft.seal(writer(1), false);
    assert!(!sealed.card_first);
    let mut folded = State::default();
    folded.apply(1, &sealed.commit).unwrap();
    assert_eq!(folded, sealed.state, "who loads the log knows it too");
    assert_eq!(folded.alarm, Some(T0.tick()));
}

#[test]
fn a_commit_that_needs_no_earlier_alarm_says_nothing_about_it() {
    let mut log = Log::tasks(&["a", "b:a"]);
    log.wait(MINUTE);
    log.succeed("a");
    assert_eq!(log.commits.last().unwrap().alarm, None);
    assert_eq!(log.state.alarm, Some(T0.plus_ms(15 * MINUTE).tick()), "early, never late");
}

#[test]
fn a_commit_that_needs_an_earlier_alarm_moves_it_to_exactly_there() {
    let mut log = Log::driven();
    let mut arm = |ms: u64| {
        let head = log.state.head;
        let timers = json!([{"timer": format!("t{ms}"), "fire_at": T0.0 + ms}]);
        log.tell(json!({"append": {"expected_seq": head, "timers": timers}})).committed();
        log.commits.last().unwrap().alarm
    };
    assert_eq!(arm(2 * HOUR), Some(Alarm::At(T0.plus_ms(2 * HOUR).tick())));
    assert_eq!(arm(3 * HOUR), None);
    assert_eq!(arm(2 * HOUR + 59_999), None, "the same minute");
    assert_eq!(arm(2 * HOUR - 1), Some(Alarm::At(T0.plus_ms(2 * HOUR - 1).tick())));
}

#[test]
fn a_driven_run_without_anything_outstanding_keeps_its_alarm_for_the_next_step() {
    let mut log = Log::driven();
    log.prepare("a", 1).committed();
    let alarm = log.state.alarm;
    log.succeed("a");
    assert_eq!((log.state.earliest_due(), log.state.alarm), (None, alarm));
    log.prepare("b", 1).committed();
    assert_eq!(log.commits.last().unwrap().alarm, None, "no card write for a step");
}

#[test]
fn the_end_takes_the_alarm_away() {
    let mut log = Log::tasks(&["a"]);
    log.succeed("a");
    assert_eq!(log.commits.last().unwrap().alarm, Some(Alarm::Never));
}

#[test]
fn a_look_moves_the_alarm_later_to_exactly_the_next_due_time() {
    let mut log = Log::tasks(&["a"]);
    log.receipt("a", 1, "w").committed();
    log.wait(15 * MINUTE);
    log.look(Look::Alarm).unwrap();
    let due = T0.plus_ms(24 * HOUR).tick();
    assert_eq!(log.commits.last().unwrap().alarm, Some(Alarm::At(due)));
}

#[test]
fn an_alarm_is_a_minute_rounded_down() {
    assert_eq!(Timestamp(119_999).tick(), Tick(1));
    let mut log = Log::driven();
    let timers = json!([{"timer": "t", "fire_at": T0.0 + MINUTE + 59_999}]);
    log.tell(json!({"append": {"expected_seq": 1, "timers": timers}})).committed();
    assert_eq!(log.state.alarm.unwrap().start(), T0.plus_ms(MINUTE));
}

#[test]
fn recorded_time_is_clamped_to_the_commit_before() {
    let mut log = Log::driven();
    log.now = T0.minus_ms(30_000);
    let events = json!([{"kind": "x"}]);
    log.tell(json!({"append": {"expected_seq": 1, "events": events}})).committed();
    assert_eq!(log.commits.last().unwrap().time, T0);
}

#[test]
fn commands_of_one_batch_are_decided_one_after_another_as_one_commit() {
    let mut log = Log::tasks(&["a", "b", "c:a,b"]);
    let mut draft = Draft::new(&log.state, log.now);
    for name in ["a", "b"] {
        let settle = json!({"settle": {"attempt": attempt(name, 1), "outcome": succeeded()}});
        decide(&mut draft, &log.context(), &command(name, &settle)).unwrap();
    }
    log.commit(draft, false);
    assert_eq!((log.phases().as_str(), log.commits.len()), ("ssa", 2));
    assert_eq!(log.commits[1].answers.len(), 2);
}

#[test]
fn a_refused_command_leaves_its_neighbours_of_the_batch_as_they_are() {
    let mut log = Log::tasks(&["a", "b"]);
    let mut draft = Draft::new(&log.state, log.now);
    let settle = |name: &str| {
        let settle = json!({"settle": {"attempt": attempt(name, 1), "outcome": succeeded()}});
        command(name, &settle)
    };
    decide(&mut draft, &log.context(), &settle("a")).unwrap();
    let refused = decide(&mut draft, &log.context(), &settle("no"));
    assert!(matches!(refused, Err(Refused::Rejected(_))));
    decide(&mut draft, &log.context(), &settle("b")).unwrap();
    log.commit(draft, false);
    assert!(log.state.ending().is_some());
    assert_eq!(log.commits[1].answers.len(), 2);
}

#[test]
fn a_settle_repeated_in_its_batch_is_decided_after_its_commit() {
    let log = Log::tasks(&["a", "b"]);
    let mut draft = Draft::new(&log.state, log.now);
    let settle = json!({"settle": {"attempt": attempt("a", 1), "outcome": succeeded()}});
    let settle = command("s", &settle);
    decide(&mut draft, &log.context(), &settle).unwrap();
    let again = decide(&mut draft, &log.context(), &settle);
    assert_eq!(again, Err(Refused::Needs(Needs::Commit(2))), "which is in the making");
}

#[test]
fn a_draft_is_full_at_a_hundred_dispatches_or_at_the_soft_bound_of_bytes() {
    let log = Log::driven();
    let mut draft = Draft::new(&log.state, log.now);
    let head = log.state.head;
    for at in 0..limits::COMMIT_DISPATCHES_MAX {
        assert!(!draft.full());
        let prepare = json!({"prepare": {"intent": crate::support::intent(&format!("a{at}"), 1)}});
        decide(&mut draft, &log.context(), &command(&format!("p{at}"), &prepare)).unwrap();
    }
    assert!(draft.full());

    let mut draft = Draft::new(&log.state, log.now);
    let payload = "x".repeat(limits::COMMIT_BYTES_SOFT_MAX - 100);
    for (at, full) in [(0, false), (1, true)] {
        let events = json!([{"kind": "x", "payload": payload}]);
        let append = json!({"append": {"expected_seq": head + at, "events": events}});
        decide(&mut draft, &log.context(), &command(&format!("a{at}"), &append)).unwrap();
        assert_eq!(draft.full(), full);
        assert!(draft.bytes() > index(at + 1) * payload.len());
    }
}

#[test]
fn a_note_stands_where_it_was_emitted_between_the_events() {
    let retry = json!({"max_attempts": 2, "initial_ms": 0});
    let tasks = json!([{"id": "a", "retry": retry}, {"id": "b", "after": ["a"]}]);
    let mut log = Log::planned(json!({ "tasks": tasks }));
    log.fail("a");
    let placed = &log.commits.last().unwrap().notes[0];
    assert!(matches!(placed.note, Note::HandedOver(_)));
    assert_eq!(placed.after, 1);
}
