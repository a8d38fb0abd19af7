//! Settle: outcomes, repeats, and who may say them.

use everlog::Rejection;
use everlog::decide::{Look, Needs};
use everlog::event::{Ending, Event, Outcome, Target};
use everlog::state::Phase;
use serde_json::{Value, json};

use crate::support::{Log, MINUTE, attempt, failed, key_of, succeeded};

fn by(worker: &str, outcome: Value) -> Value {
    json!({"settle": {"attempt": attempt("a", 1), "worker": worker, "outcome": outcome}})
}

#[test]
fn a_success_finishes_the_task_and_prepares_what_follows_in_the_same_commit() {
    let mut log = Log::tasks(&["a", "b:a"]);
    log.settle("a", 1, json!({"succeeded": {"output": {"n": 1}}})).committed();
    assert_eq!(log.phases(), "sa");
    let [Event::Settled(Target::Planned(0), 1, Outcome::Succeeded(Some(output)), None), next] =
        log.events()
    else {
        panic!("{:?}", log.events())
    };
    assert_eq!(output.to_json(), Some(json!({"n": 1})));
    assert!(matches!(next, Event::Prepared(Target::Planned(1), 1, None, None)));
}

#[test]
fn a_settle_without_a_receipt_carries_it() {
    let mut log = Log::tasks(&["a"]);
    log.tell(by("w1", succeeded())).committed();
    assert_eq!(log.state.ending(), Some(Ending::Completed));
}

#[test]
fn a_failure_without_a_retry_left_fails_the_task_and_the_run() {
    let mut log = Log::tasks(&["a"]);
    log.settle("a", 1, failed("broken")).committed();
    assert_eq!(log.phase("a"), Phase::Failed);
    assert_eq!(log.state.ending(), Some(Ending::Failed));
}

#[test]
fn a_settle_of_another_worker_than_the_one_of_the_receipt_is_refused() {
    let mut log = Log::tasks(&["a"]);
    log.receipt("a", 1, "w1").committed();
    assert_eq!(log.tell(by("w2", succeeded())).conflict(), "worker w1 has the attempt");
    assert!(log.is_live("a"));
    log.tell(by("w1", succeeded())).committed();
}

#[test]
fn that_a_worker_is_lost_may_be_said_by_another() {
    let mut log = Log::tasks(&["a"]);
    log.receipt("a", 1, "w1").committed();
    log.tell(by("watcher", json!({"lost": {}}))).committed();
    assert_eq!(log.live("a").n, 2);
}

#[test]
fn the_same_outcome_again_changes_nothing_after_reading_what_was_said() {
    let mut log = Log::tasks(&["a", "b:a"]);
    let settle = json!({"settle": {"attempt": attempt("a", 1), "outcome": succeeded()}});
    log.tell_as("s", settle.clone()).committed();
    assert_eq!(log.tell_bare("s", settle.clone()), Err(Needs::Commit(2)));
    assert_eq!(log.tell_as("s", settle.clone()).unchanged().repeat_of, Some(2));
    log.succeed("b");
    assert_eq!(log.tell_as("s", settle).unchanged().repeat_of, Some(2), "after the end, too");
}

#[test]
fn an_outcome_that_differs_from_the_one_on_record_is_a_conflict() {
    let others = [
        failed("broken"),
        json!({"cancelled": {}}),
        json!({"lost": {}}),
        json!({"succeeded": {"output": 2}}),
        json!({"succeeded": {}}),
    ];
    for other in others {
        let mut log = Log::tasks(&["a", "b:a"]);
        log.settle("a", 1, json!({"succeeded": {"output": 1}})).committed();
        assert_eq!(log.settle("a", 1, other.clone()).conflict(), "the attempt ended otherwise");
    }
}

#[test]
fn repeats_find_the_outcome_of_each_attempt_of_a_retried_task() {
    let retry = json!({"max_attempts": 3, "initial_ms": 0});
    let mut log = Log::planned(json!({"tasks": [{"id": "a", "retry": retry}]}));
    log.settle("a", 1, failed("one")).committed();
    log.settle("a", 2, failed("two")).committed();
    log.settle("a", 3, succeeded()).committed();
    for (n, said) in [(1, failed("one")), (2, failed("two")), (3, succeeded())] {
        let repeat = log.settle("a", n, said).unchanged();
        assert_eq!(repeat.repeat_of, Some(u64::from(n) + 1));
        assert_eq!(log.settle("a", n, failed("other")).conflict(), "the attempt ended otherwise");
    }
}

#[test]
fn a_settle_after_a_time_out_is_too_late() {
    let mut log = Log::planned(json!({"tasks": [
        {"id": "a", "timeouts": {"schedule_to_start_ms": MINUTE}, "retry": {"max_attempts": 1}},
        {"id": "b"},
    ]}));
    log.wait(MINUTE);
    log.look(Look::Wake).unwrap();
    assert_eq!(log.phase("a"), Phase::Failed);
    assert_eq!(log.settle("a", 1, succeeded()).conflict(), "the attempt ended otherwise");
}

#[test]
fn a_key_that_is_not_of_the_named_attempt_is_a_conflict() {
    let mut log = Log::tasks(&["a", "b"]);
    for key in [key_of("b", 1, 1), key_of("a", 1, 2), key_of("a", 2, 1)] {
        let mut wrong = attempt("a", 1);
        wrong["dispatch_key"] = json!(key);
        let settle = json!({"settle": {"attempt": wrong, "outcome": succeeded()}});
        assert_eq!(log.tell(settle).conflict(), "the dispatch key is not of this attempt");
    }
    assert!(log.is_live("a"));
}

#[test]
fn an_attempt_of_no_task_or_not_yet_prepared_is_not_found() {
    let mut log = Log::tasks(&["a", "b:a"]);
    for (name, n) in [("no", 1), ("b", 1), ("a", 2)] {
        let refused = log.settle(name, n, succeeded()).rejected();
        let Rejection::NotFound { id, .. } = refused else { panic!("{refused:?}") };
        assert_eq!(id, name);
    }
}

#[test]
fn an_attempt_beyond_the_last_is_not_found_once_its_task_has_ended() {
    let mut log = Log::tasks(&["a", "b:a"]);
    log.succeed("a");
    assert_eq!(log.settle("a", 2, succeeded()).rejected().kind(), "not_found");
    assert_eq!(log.receipt("a", 2, "w").rejected().kind(), "not_found");
    log.succeed("b");
    assert_eq!(log.settle("a", 2, succeeded()).wrong_state(), "completed");
}

#[test]
fn what_was_skipped_or_never_ran_can_not_be_settled() {
    let mut log = Log::planned(json!({"tasks": [
        {"id": "a", "retry": {"max_attempts": 1}},
        {"id": "handler", "after": ["a"], "when": "failure"},
        {"id": "s", "sleep_ms": 60_000},
    ]}));
    log.succeed("a");
    assert_eq!(log.phase("handler"), Phase::Skipped);
    assert_eq!(log.settle("handler", 1, succeeded()).rejected().kind(), "not_found");
    assert_eq!(log.settle("s", 1, succeeded()).rejected().kind(), "not_found", "no worker's");
    log.wait(MINUTE);
    log.look(Look::Wake).unwrap();
    assert_eq!(log.settle("handler", 1, succeeded()).wrong_state(), "completed");
    assert_eq!(log.settle("s", 1, succeeded()).conflict(), "the attempt ended otherwise");
}

#[test]
fn a_task_that_cancels_itself_is_a_failure_of_the_run() {
    let mut log = Log::tasks(&["a", "b:a"]);
    log.settle("a", 1, json!({"cancelled": {}})).committed();
    assert_eq!(log.phases(), "cb", "what comes after it can't run");
    assert_eq!(log.state.ending(), Some(Ending::Failed));
}

#[test]
fn a_driven_settle_is_recorded_and_starts_nothing() {
    let mut log = Log::driven();
    log.prepare("a", 1).committed();
    log.settle("a", 1, failed("broken")).committed();
    assert!(matches!(log.events(), [Event::Settled(.., None)]));
    assert_eq!(log.state.settled[&log.target("a")].len(), 1);
    assert!(log.state.open() && log.state.attempts.is_empty());
    assert_eq!(log.settle("a", 1, failed("broken")).unchanged().repeat_of, Some(3));
    assert_eq!(log.settle("a", 1, succeeded()).conflict(), "the attempt ended otherwise");
}

#[test]
fn a_settle_frees_the_slot_for_the_next_in_the_same_commit() {
    let mut log = Log::planned(json!({
        "tasks": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "max_concurrency": 1,
    }));
    assert_eq!(log.phases(), "aww");
    log.succeed("a");
    assert_eq!(log.phases(), "saw");
}
