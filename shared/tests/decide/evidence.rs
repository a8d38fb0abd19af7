//! Receipt and heartbeat: which worker has an attempt, and whether it lives.

use everlog::answer::Directive;
use everlog::event::Note;
use everlog::state::Stage;
use serde_json::json;

use crate::support::{HOUR, Log, MINUTE, attempt, key_of, succeeded};

fn watched() -> Log {
    Log::planned(json!({"tasks": [
        {"id": "a", "timeouts": {"heartbeat_ms": MINUTE}, "retry": {"max_attempts": 1}},
    ]}))
}

#[test]
fn the_first_receipt_puts_the_attempt_into_the_workers_hands() {
    let mut log = Log::tasks(&["a"]);
    log.wait(5);
    let decided = log.receipt("a", 1, "w1").committed();
    assert_eq!(decided.directive, Some(Directive::Proceed));
    let Stage::Taken { worker, since, beat_at, commit } = &log.live("a").stage else {
        panic!("not taken")
    };
    assert_eq!((worker.as_str(), *since, *beat_at, *commit), ("w1", log.now, log.now, 2));
}

#[test]
fn the_same_workers_receipt_again_is_no_news() {
    let mut log = Log::tasks(&["a"]);
    log.receipt("a", 1, "w1").committed();
    let again = log.receipt("a", 1, "w1").unchanged();
    assert_eq!((again.directive, again.repeat_of), (Some(Directive::Proceed), Some(2)));
}

#[test]
fn a_second_workers_receipt_is_refused() {
    let mut log = Log::tasks(&["a"]);
    log.receipt("a", 1, "w1").committed();
    assert_eq!(log.receipt("a", 1, "w2").conflict(), "worker w1 has the attempt");
}

#[test]
fn a_receipt_after_the_outcome_is_refused() {
    let mut log = Log::tasks(&["a", "b:a"]);
    log.receipt("a", 1, "w1").committed();
    log.succeed("a");
    assert_eq!(log.receipt("a", 1, "w2").conflict(), "the attempt is settled");
}

#[test]
fn a_receipt_of_a_task_or_attempt_that_is_not_is_not_found() {
    let mut log = Log::tasks(&["a", "b:a"]);
    assert_eq!(log.receipt("no", 1, "w1").rejected().kind(), "not_found");
    assert_eq!(log.receipt("b", 1, "w1").rejected().kind(), "not_found", "not prepared yet");
    assert_eq!(log.receipt("a", 2, "w1").rejected().kind(), "not_found", "not prepared yet");
    let mut second = attempt("a", 1);
    second["activation"] = 2.into();
    let receipt = json!({"receipt": {"attempt": second, "worker": "w1"}});
    assert_eq!(log.tell(receipt).rejected().kind(), "not_found", "a task is activated once");
}

#[test]
fn a_receipt_under_the_key_of_another_attempt_is_a_conflict() {
    let mut log = Log::tasks(&["a", "b"]);
    let mut wrong = attempt("a", 1);
    wrong["dispatch_key"] = json!(key_of("b", 1, 1));
    let receipt = json!({"receipt": {"attempt": wrong, "worker": "w1"}});
    assert_eq!(log.tell(receipt).conflict(), "the dispatch key is not of this attempt");
}

#[test]
fn evidence_lands_under_pause_and_under_cancel_which_it_is_told() {
    let mut log = Log::tasks(&["a", "b"]);
    log.tell(json!({"pause": {}})).committed();
    assert_eq!(log.receipt("a", 1, "w1").committed().directive, Some(Directive::Proceed));
    log.tell(json!({"cancel": {}})).committed();
    assert_eq!(log.receipt("b", 1, "w1").committed().directive, Some(Directive::Cancel));
    assert_eq!(log.beat("a", 1, "w1").unchanged().directive, Some(Directive::Cancel));
}

#[test]
fn the_receipt_begins_the_time_to_close_of_24_hours() {
    let mut log = Log::tasks(&["a"]);
    log.wait(MINUTE);
    log.receipt("a", 1, "w1").committed();
    assert_eq!(log.state.earliest_due(), Some(log.now.plus_ms(24 * HOUR)));
}

#[test]
fn a_watched_heartbeat_moves_the_deadline_and_adds_no_event() {
    let mut log = watched();
    log.receipt("a", 1, "w1").committed();
    let head = log.state.head;
    log.wait(30_000);
    let decided = log.beat("a", 1, "w1").committed();
    assert_eq!(decided.directive, Some(Directive::Proceed));
    assert!(matches!(log.notes()[..], [Note::Heartbeat(_, 1)]));
    assert_eq!(log.state.head, head, "no part of the history");
    assert_eq!(log.state.earliest_due(), Some(log.now.plus_ms(MINUTE)));
}

#[test]
fn an_unwatched_heartbeat_is_answered_and_writes_nothing() {
    let mut log = Log::tasks(&["a"]);
    log.receipt("a", 1, "w1").committed();
    let decided = log.beat("a", 1, "w1").unchanged();
    assert_eq!(decided.directive, Some(Directive::Proceed));
}

#[test]
fn a_heartbeat_without_a_receipt_is_one() {
    let mut log = watched();
    log.beat("a", 1, "w1").committed();
    assert!(matches!(&log.live("a").stage, Stage::Taken { worker, .. } if worker.as_str() == "w1"));
}

#[test]
fn a_heartbeat_of_another_worker_is_told_to_stop_and_moves_nothing() {
    let mut log = watched();
    log.receipt("a", 1, "w1").committed();
    log.wait(1_000);
    let due = log.state.earliest_due();
    assert_eq!(log.beat("a", 1, "w2").unchanged().directive, Some(Directive::Stop));
    assert_eq!(log.state.earliest_due(), due);
}

#[test]
fn a_heartbeat_of_a_settled_attempt_is_told_to_stop_also_after_the_end() {
    let mut log = Log::tasks(&["a", "b:a"]);
    log.receipt("a", 1, "w1").committed();
    log.succeed("a");
    assert_eq!(log.beat("a", 1, "w1").unchanged().directive, Some(Directive::Stop));
    log.succeed("b");
    assert!(log.state.ending().is_some());
    assert_eq!(log.beat("a", 1, "w1").unchanged().directive, Some(Directive::Stop));
}

#[test]
fn a_heartbeat_of_an_attempt_that_the_end_dropped_is_told_to_stop() {
    let mut log = Log::driven();
    log.prepare("a", 1).committed();
    log.receipt("a", 1, "w1").committed();
    let head = log.state.head;
    let close = json!({"append": {"expected_seq": head, "close": {"ending": "failed"}}});
    log.tell(close).committed();
    assert_eq!(log.beat("a", 1, "w1").unchanged().directive, Some(Directive::Stop));
}

#[test]
fn a_heartbeat_of_what_never_was_is_not_found() {
    let mut log = Log::tasks(&["a"]);
    assert_eq!(log.beat("a", 2, "w1").rejected().kind(), "not_found");
    assert_eq!(log.beat("no", 1, "w1").rejected().kind(), "not_found");
    log.settle("a", 1, succeeded()).committed();
    assert_eq!(log.beat("no", 1, "w1").rejected().kind(), "not_found");
}
