//! What follows a failed attempt of a planned task.

use everlog::decide::Look;
use everlog::event::{Ending, Event, Note, Outcome, Timeout};
use everlog::state::{Phase, Stage};
use everlog::time::Timestamp;
use serde_json::{Value, json};

use crate::support::{Log, MINUTE, SECOND, failed, succeeded};

fn one(retry: Value) -> Log {
    Log::planned(json!({"tasks": [{"id": "a", "retry": retry}]}))
}

fn steady(max_attempts: u32) -> Value {
    json!({"max_attempts": max_attempts, "initial_ms": 0, "jitter": 0.0})
}

fn not_before(log: &Log) -> Timestamp {
    match log.live("a").stage {
        Stage::Staged { not_before } => not_before,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_failure_reserves_the_next_attempt_for_later_in_the_same_commit() {
    let mut log = one(json!({"initial_ms": 1_000, "jitter": 0.0}));
    log.wait(7);
    log.fail("a");
    let retry_at = log.now.plus_ms(SECOND);
    assert!(matches!(log.events(), [Event::Settled(_, 1, _, Some(at))] if *at == retry_at));
    assert_eq!((log.live("a").n, not_before(&log)), (2, retry_at));
    assert_eq!((log.state.consumed, log.phase("a")), (2, Phase::Active));
    assert_eq!(log.state.earliest_due(), Some(retry_at));
}

#[test]
fn back_off_doubles_up_to_its_maximum() {
    let mut log = one(json!({
        "max_attempts": 6, "initial_ms": 1_000, "max_ms": 5_000, "jitter": 0.0,
    }));
    let mut delays = Vec::new();
    for n in 1..6 {
        log.settle("a", n, failed("broken")).committed();
        delays.push(not_before(&log).since(log.now));
        log.wait(5 * SECOND);
        log.look(Look::Wake).unwrap();
    }
    assert_eq!(delays, [1_000, 2_000, 4_000, 5_000, 5_000]);
}

#[test]
fn jitter_takes_away_at_most_its_part_and_differs_between_tasks() {
    let tasks: Vec<Value> = (0..50).map(|at| json!({"id": format!("t{at}")})).collect();
    let retry = json!({"initial_ms": 10_000, "max_ms": 10_000, "jitter": 0.5});
    let mut log = Log::planned(json!({"tasks": tasks, "defaults": {"retry": retry}}));
    let mut delays = Vec::new();
    for at in 0..50 {
        let name = format!("t{at}");
        log.fail(&name);
        let Stage::Staged { not_before } = log.live(&name).stage else { panic!("not staged") };
        delays.push(not_before.since(log.now));
    }
    assert!(delays.iter().all(|ms| (5_000..=10_000).contains(ms)), "{delays:?}");
    delays.sort_unstable();
    delays.dedup();
    assert!(delays.len() > 40, "spread, not in step");
}

#[test]
fn a_retry_that_waits_for_nothing_goes_out_with_the_commit_of_the_failure() {
    let mut log = one(steady(2));
    log.fail("a");
    assert!(matches!(log.notes()[..], [Note::HandedOver(at)] if *at == log.now));
    assert!(matches!(log.live("a").stage, Stage::Sent { commit: 2, count: 1, .. }));
}

#[test]
fn the_last_attempt_of_the_policy_is_the_last() {
    let mut log = one(steady(3));
    log.fail("a");
    log.fail("a");
    assert!(log.is_live("a"));
    log.fail("a");
    assert_eq!((log.phase("a"), log.state.ending()), (Phase::Failed, Some(Ending::Failed)));
    assert_eq!(log.state.consumed, 3);
}

#[test]
fn a_policy_of_one_attempt_never_retries() {
    let mut log = one(steady(1));
    log.fail("a");
    assert_eq!(log.phase("a"), Phase::Failed);
}

#[test]
fn a_non_retryable_kind_is_final_and_another_is_not() {
    let mut retry = steady(3);
    retry["non_retryable"] = json!(["bad-input"]);
    let mut log = one(retry);
    log.settle("a", 1, failed("flaky")).committed();
    assert_eq!(log.live("a").n, 2);
    log.settle("a", 2, failed("bad-input")).committed();
    assert_eq!(log.phase("a"), Phase::Failed);
}

#[test]
fn a_lost_worker_costs_no_retry_and_no_wait() {
    let mut log = one(steady(2));
    for n in 1..=5 {
        log.settle("a", n, json!({"lost": {}})).committed();
        assert_eq!(log.live("a").n, n + 1);
        assert!(matches!(log.live("a").stage, Stage::Sent { .. }));
    }
    log.settle("a", 6, failed("broken")).committed();
    assert_eq!(log.live("a").n, 7, "the first failure that counts");
    log.settle("a", 7, failed("broken")).committed();
    assert_eq!(log.phase("a"), Phase::Failed);
}

#[test]
fn a_time_out_is_retried_like_a_failure() {
    let mut log = Log::planned(json!({"tasks": [
        {"id": "a", "timeouts": {"schedule_to_start_ms": MINUTE}, "retry": steady(2)},
    ]}));
    log.wait(MINUTE);
    log.look(Look::Wake).unwrap();
    let timed_out = Outcome::TimedOut(Timeout::ScheduleToStart);
    assert!(
        matches!(log.events(), [Event::Settled(_, 1, outcome, Some(_))] if *outcome == timed_out)
    );
    assert_eq!(log.live("a").n, 2);
    log.wait(MINUTE);
    log.look(Look::Wake).unwrap();
    assert_eq!(log.phase("a"), Phase::Failed);
}

#[test]
fn cancelled_and_succeeded_are_never_retried() {
    for outcome in [succeeded(), json!({"cancelled": {}})] {
        let mut log = one(steady(5));
        log.settle("a", 1, outcome).committed();
        assert!(!log.is_live("a"));
    }
}

#[test]
fn after_a_cancel_nothing_is_retried() {
    for outcome in [failed("broken"), json!({"lost": {}})] {
        let mut log = one(steady(5));
        log.tell(json!({"cancel": {}})).committed();
        log.settle("a", 1, outcome).committed();
        assert!(!log.is_live("a"));
        assert_eq!(log.state.ending(), Some(Ending::Cancelled));
    }
}

#[test]
fn a_retry_under_pause_is_reserved_and_held() {
    let mut log = one(steady(2));
    log.tell(json!({"pause": {}})).committed();
    log.fail("a");
    assert!(matches!(log.live("a").stage, Stage::Staged { .. }));
    assert!(log.notes().is_empty());
    assert_eq!(log.state.earliest_due(), None, "what is held is not due");
}

#[test]
fn a_retry_then_a_success_completes_the_run() {
    let mut log = one(steady(2));
    log.fail("a");
    log.succeed("a");
    assert_eq!(log.state.ending(), Some(Ending::Completed));
}

#[test]
fn a_retry_never_exceeds_what_the_run_may_have() {
    let mut log = Log::planned(json!({
        "tasks": [{"id": "a", "retry": steady(10)}], "attempts_max": 2,
    }));
    log.fail("a");
    log.settle("a", 2, json!({"lost": {}})).committed();
    assert_eq!((log.phase("a"), log.state.ending()), (Phase::Failed, Some(Ending::Failed)));
}
