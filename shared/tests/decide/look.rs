//! Looks: what is due is done, exactly when it is due, whoever looks.

use everlog::decide::Look;
use everlog::event::{Event, Note, Outcome, Timeout, TimerKey, WaitEnd};
use everlog::id::TimerId;
use everlog::limits;
use everlog::state::{Life, Phase, Stage};
use serde_json::{Value, json};

use crate::support::{HOUR, Log, MINUTE, SECOND, T0};

/// A driven workflow with a timer of this many milliseconds.
fn timer(ms: u64) -> Log {
    let mut log = Log::driven();
    let timers = json!([{"timer": "t", "fire_at": T0.0 + ms}]);
    log.tell(json!({"append": {"expected_seq": 1, "timers": timers}})).committed();
    log
}

fn task(timeouts: Value) -> Log {
    let retry = json!({"max_attempts": 1});
    Log::planned(json!({"tasks": [{"id": "a", "timeouts": timeouts, "retry": retry}]}))
}

fn timed_out(log: &Log) -> Option<Timeout> {
    match log.events() {
        [Event::Settled(_, _, Outcome::TimedOut(timeout), _), ..] => Some(*timeout),
        _ => None,
    }
}

#[test]
fn a_wake_with_nothing_due_emits_nothing() {
    let mut log = timer(MINUTE);
    assert_eq!(log.look(Look::Wake), None);
    assert_eq!(Log::tasks(&["a"]).look(Look::Wake), None);
    assert_eq!(Log::new().look(Look::Wake), None);
}

#[test]
fn an_alarm_with_nothing_due_says_that_it_looked_and_moves_the_alarm() {
    let mut log = timer(MINUTE);
    log.tell(json!({"append": {"expected_seq": 2, "timers": [{"timer": "t"}]}})).committed();
    let alarm = log.state.alarm;
    assert_eq!(alarm, Some(T0.plus_ms(MINUTE).tick()), "only a look moves it later");
    let commit = log.look(Look::Alarm).unwrap();
    assert!(matches!(log.notes()[..], [Note::Looked]));
    assert!(commit.events.is_empty());
    assert_eq!(log.state.alarm, None);
}

#[test]
fn a_timer_fires_exactly_when_it_is_due_and_once() {
    let mut log = timer(MINUTE);
    log.wait(MINUTE - 1);
    assert_eq!(log.look(Look::Wake), None);
    log.wait(1);
    log.look(Look::Wake).unwrap();
    let t = TimerKey::Named(TimerId::new("t").unwrap());
    assert_eq!(log.events(), [Event::TimerFired(t)]);
    assert_eq!(log.look(Look::Wake), None);
}

#[test]
fn timers_fire_in_the_order_of_their_due_times() {
    let mut log = Log::driven();
    let timers = json!([
        {"timer": "a", "fire_at": T0.0 + 3}, {"timer": "b", "fire_at": T0.0 + 1},
        {"timer": "c", "fire_at": T0.0 + 2}, {"timer": "d", "fire_at": T0.0 + 4},
    ]);
    log.tell(json!({"append": {"expected_seq": 1, "timers": timers}})).committed();
    log.wait(3);
    log.look(Look::Wake).unwrap();
    let fired = |e: &Event| match e {
        Event::TimerFired(TimerKey::Named(timer)) => timer.to_string(),
        other => panic!("{other:?}"),
    };
    let fired: Vec<String> = log.events().iter().map(fired).collect();
    assert_eq!(fired, ["b", "c", "a"]);
    assert_eq!(log.state.timers.len(), 1);
}

#[test]
fn a_sleep_lets_its_successor_run_in_the_commit_in_which_it_fires() {
    let mut log = Log::planned(json!({"tasks": [
        {"id": "s", "sleep_ms": 5 * SECOND}, {"id": "a", "after": ["s"]},
    ]}));
    assert_eq!(log.state.earliest_due(), Some(T0.plus_ms(5 * SECOND)));
    log.wait(5 * SECOND);
    log.look(Look::Wake).unwrap();
    assert_eq!(log.phases(), "sa");
}

#[test]
fn what_is_due_beyond_a_hundred_goes_on_at_once() {
    let tasks: Vec<Value> =
        (0..250).map(|at| json!({"id": format!("s{at}"), "sleep_ms": MINUTE})).collect();
    let mut log = Log::planned(json!({ "tasks": tasks }));
    log.wait(MINUTE);
    log.look(Look::Wake).unwrap();
    assert_eq!(log.state.timers.len(), 150, "one commit takes a hundred");
    assert!(log.state.continues.is_some(), "and the next is owed at once");
    assert_eq!(log.go_on(), 2);
    assert!(log.state.ending().is_some());
}

#[test]
fn a_wait_for_a_signal_fails_exactly_at_its_time_out() {
    let mut log = Log::planned(json!({"tasks": [
        {"id": "x", "signal": "go", "signal_timeout_ms": MINUTE}, {"id": "a", "after": ["x"]},
    ]}));
    log.wait(MINUTE - 1);
    assert_eq!(log.look(Look::Wake), None);
    log.wait(1);
    log.look(Look::Wake).unwrap();
    assert!(matches!(log.events()[0], Event::WaitEnded(0, WaitEnd::TimedOut)));
    assert_eq!((log.phase("x"), log.phase("a")), (Phase::Failed, Phase::Blocked));
}

#[test]
fn a_dispatch_that_nobody_takes_up_goes_out_again_after_15_minutes_doubling_to_12_hours() {
    let mut log = Log::tasks(&["a"]);
    let mut intervals = Vec::new();
    for count in 2..=9 {
        let due = log.state.earliest_due().unwrap();
        intervals.push(due.since(log.now) / MINUTE);
        log.now = due.minus_ms(1);
        assert_eq!(log.look(Look::Wake), None, "not a millisecond early");
        log.wait(1);
        log.look(Look::Wake).unwrap();
        assert!(matches!(log.notes()[..], [Note::HandedOver(_)]));
        let commit = log.commits.len() as u64;
        let Stage::Sent { commit: by, count: handed, since, .. } = log.live("a").stage else {
            panic!("not sent")
        };
        assert_eq!((by, handed, since), (commit, count, T0));
        assert_eq!(log.state.untaken_of(commit).count(), 1);
    }
    assert_eq!(intervals, [15, 30, 60, 120, 240, 480, 720, 720]);
    assert_eq!(log.live("a").n, 1, "silence costs no attempt");
}

#[test]
fn what_a_worker_has_is_not_handed_over_again() {
    let mut log = Log::tasks(&["a"]);
    log.receipt("a", 1, "w1").committed();
    log.wait(12 * HOUR);
    assert_eq!(log.look(Look::Wake), None);
}

#[test]
fn a_look_hands_over_only_what_is_due() {
    let mut log = Log::tasks(&["a"]);
    log.tell(json!({"pause": {}})).committed();
    log.tell(json!({"resume": {}})).committed();
    log.wait(15 * MINUTE - 1);
    assert_eq!(log.look(Look::Wake), None);
}

#[test]
fn without_a_receipt_only_schedule_to_start_counts() {
    let mut log = task(json!({"schedule_to_start_ms": 20 * MINUTE, "start_to_close_ms": 1}));
    log.wait(15 * MINUTE);
    log.look(Look::Wake).unwrap();
    assert!(matches!(log.live("a").stage, Stage::Sent { count: 2, .. }));
    log.wait(5 * MINUTE - 1);
    assert_eq!(log.look(Look::Wake), None, "counted from the first hand-over");
    log.wait(1);
    log.look(Look::Wake).unwrap();
    assert_eq!(timed_out(&log), Some(Timeout::ScheduleToStart));
}

#[test]
fn after_the_receipt_start_to_close_counts() {
    let mut log = task(json!({"schedule_to_start_ms": MINUTE, "start_to_close_ms": 2 * MINUTE}));
    log.wait(30 * SECOND);
    log.receipt("a", 1, "w1").committed();
    log.wait(2 * MINUTE - 1);
    assert_eq!(log.look(Look::Wake), None);
    log.wait(1);
    log.look(Look::Wake).unwrap();
    assert_eq!(timed_out(&log), Some(Timeout::StartToClose));
}

#[test]
fn a_missed_heartbeat_times_out_and_a_heartbeat_in_time_does_not() {
    let mut log = task(json!({"heartbeat_ms": MINUTE, "start_to_close_ms": HOUR}));
    log.receipt("a", 1, "w1").committed();
    log.wait(MINUTE - 1);
    log.beat("a", 1, "w1").committed();
    log.wait(MINUTE - 1);
    assert_eq!(log.look(Look::Wake), None);
    log.wait(1);
    log.look(Look::Wake).unwrap();
    assert_eq!(timed_out(&log), Some(Timeout::Heartbeat));
}

#[test]
fn heartbeats_do_not_prolong_start_to_close() {
    let mut log = task(json!({"heartbeat_ms": MINUTE, "start_to_close_ms": 90 * SECOND}));
    log.receipt("a", 1, "w1").committed();
    log.wait(50 * SECOND);
    log.beat("a", 1, "w1").committed();
    log.wait(40 * SECOND);
    log.look(Look::Wake).unwrap();
    assert_eq!(timed_out(&log), Some(Timeout::StartToClose));
}

#[test]
fn a_driven_attempt_times_out_by_its_own_time_outs() {
    let mut log = Log::driven();
    let mut intent = crate::support::intent("a", 1);
    intent["timeouts"] = json!({"schedule_to_start_ms": MINUTE});
    log.tell(json!({"prepare": {"intent": intent}})).committed();
    log.wait(MINUTE);
    log.look(Look::Wake).unwrap();
    assert_eq!(timed_out(&log), Some(Timeout::ScheduleToStart));
    assert!(log.state.open() && log.state.attempts.is_empty());
}

#[test]
fn an_alarm_without_a_log_abandons_it_and_a_start_after_that_is_refused() {
    let mut log = Log::new();
    log.look(Look::Alarm).unwrap();
    assert!(matches!(log.notes()[..], [Note::Abandoned]));
    assert_eq!(log.state.life, Life::Abandoned);
    assert_eq!(log.tell(json!({"start": {}})).rejected().kind(), "conflict");
}

#[test]
fn a_look_at_what_has_ended_writes_nothing_or_that_it_looked() {
    let mut log = Log::tasks(&["a"]);
    log.succeed("a");
    log.wait(HOUR);
    assert_eq!(log.look(Look::Wake), None);
    log.look(Look::Alarm).unwrap();
    assert!(matches!(log.notes()[..], [Note::Looked]));
    assert_eq!(log.state.alarm, None);
}

#[test]
fn due_is_judged_by_the_functions_clock_though_the_recorded_time_is_ahead() {
    let mut log = timer(MINUTE);
    log.wait(50 * SECOND);
    log.tell(json!({"append": {"expected_seq": 2, "events": [{"kind": "x"}]}})).committed();
    // Another instance, whose clock is 10 seconds behind.
    log.now = log.now.minus_ms(10 * SECOND);
    assert_eq!(log.look(Look::Wake), None);
    log.look(Look::Alarm).unwrap();
    let time = log.commits.last().unwrap().time;
    assert_eq!(time, T0.plus_ms(50 * SECOND), "recorded time does not go back");
}

#[test]
fn a_hundred_time_outs_and_their_retries_stay_below_the_bound_of_a_commit() {
    let tasks: Vec<Value> = (0..150).map(|at| json!({"id": format!("t{at}")})).collect();
    let defaults = json!({
        "timeouts": {"schedule_to_start_ms": MINUTE},
        "retry": {"max_attempts": 2, "initial_ms": 0},
    });
    let mut log = Log::planned(json!({"tasks": tasks, "defaults": defaults}));
    log.go_on();
    assert_eq!(log.state.attempts.len(), 150);
    log.wait(MINUTE);
    log.look(Look::Wake).unwrap();
    assert_eq!(log.events().len(), limits::COMMIT_DISPATCHES_MAX);
    log.go_on();
    assert!(log.state.attempts.values().all(|a| a.n == 2));
}
