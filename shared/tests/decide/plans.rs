//! Plans: what runs, what is skipped, what is blocked, and when a run ends.

use everlog::decide::Look;
use everlog::event::{Ending, Event};
use everlog::limits;
use everlog::state::Phase;
use serde_json::{Value, json};

use crate::support::{HOUR, Log, MINUTE, failed, succeeded};

/// Tasks without retries.
fn plan(tasks: &Value) -> Log {
    Log::planned(json!({"tasks": tasks, "defaults": {"retry": {"max_attempts": 1}}}))
}

fn many(count: usize) -> Vec<Value> {
    (0..count).map(|at| json!({"id": format!("t{at}")})).collect()
}

#[test]
fn a_task_runs_when_the_last_that_it_waits_for_has_succeeded() {
    let mut log = Log::tasks(&["a", "b", "c:a,b"]);
    log.succeed("a");
    assert_eq!(log.phases(), "saw");
    log.succeed("b");
    assert_eq!(log.phases(), "ssa");
}

#[test]
fn after_a_failure_success_tasks_are_blocked_and_failure_and_always_tasks_run() {
    let mut log = plan(&json!([
        {"id": "a"},
        {"id": "ok", "after": ["a"]},
        {"id": "handler", "after": ["a"], "when": "failure"},
        {"id": "cleanup", "after": ["a"], "when": "always"},
    ]));
    log.fail("a");
    assert_eq!(log.phases(), "fbaa");
    log.succeed("handler");
    log.succeed("cleanup");
    assert_eq!(log.state.ending(), Some(Ending::Failed), "a handler does not undo a failure");
}

#[test]
fn after_a_success_failure_tasks_are_skipped_and_always_tasks_run() {
    let mut log = plan(&json!([
        {"id": "a"},
        {"id": "handler", "after": ["a"], "when": "failure"},
        {"id": "cleanup", "after": ["a"], "when": "always"},
    ]));
    log.succeed("a");
    assert_eq!(log.phase("handler"), Phase::Skipped);
    assert_eq!(log.phase("cleanup"), Phase::Active);
    log.succeed("cleanup");
    assert_eq!(log.state.ending(), Some(Ending::Completed));
}

#[test]
fn a_failure_task_waits_for_all_before_it_though_one_has_failed() {
    let mut log = plan(&json!([
        {"id": "a"}, {"id": "b"}, {"id": "handler", "after": ["a", "b"], "when": "failure"},
    ]));
    log.fail("a");
    assert_eq!(log.phase("handler"), Phase::Waiting);
    log.succeed("b");
    assert_eq!(log.phase("handler"), Phase::Active);
}

#[test]
fn an_allowed_failure_counts_as_a_success_for_what_follows_and_for_the_run() {
    let mut log = plan(&json!([
        {"id": "a", "allow_failure": true},
        {"id": "ok", "after": ["a"]},
        {"id": "handler", "after": ["a"], "when": "failure"},
    ]));
    log.fail("a");
    assert_eq!(log.phase("ok"), Phase::Active);
    assert_eq!(log.phase("handler"), Phase::Skipped);
    log.succeed("ok");
    assert_eq!(log.state.ending(), Some(Ending::Completed));
}

#[test]
fn blocked_spreads_as_a_failure_and_skipped_as_no_failure() {
    let mut failing = plan(&json!([
        {"id": "a"},
        {"id": "b", "after": ["a"]},
        {"id": "c", "after": ["b"]},
        {"id": "handler", "after": ["c"], "when": "failure"},
    ]));
    failing.fail("a");
    assert_eq!(failing.phases(), "fbba", "the handler of a blocked task runs");

    let mut skipping = plan(&json!([
        {"id": "a"},
        {"id": "handler", "after": ["a"], "when": "failure"},
        {"id": "handlers-handler", "after": ["handler"], "when": "failure"},
        {"id": "after-handler", "after": ["handler"]},
    ]));
    skipping.succeed("a");
    assert_eq!(skipping.phases(), "sssa");
    assert_eq!(skipping.phase("handlers-handler"), Phase::Skipped);
    assert_eq!(skipping.phase("after-handler"), Phase::Active, "skipped is no failure");
}

#[test]
fn one_failure_closes_a_whole_branch_without_an_event_for_each() {
    let chain: Vec<Value> = (0..500)
        .map(|at| match at {
            0 => json!({"id": "t0"}),
            _ => json!({"id": format!("t{at}"), "after": [format!("t{}", at - 1)]}),
        })
        .collect();
    let mut log = plan(&json!(chain));
    log.fail("t0");
    assert!(matches!(log.events(), [Event::Settled(..), Event::Closed(Ending::Failed, None)]));
    assert_eq!(log.state.nodes.unfinished(), 0);
}

#[test]
fn a_diamond_joins_once() {
    let mut log = Log::tasks(&["a", "l:a", "r:a", "j:l,r"]);
    log.succeed("a");
    log.fail("l");
    assert_eq!(log.phases(), "sfaw", "the other side goes on");
    log.succeed("r");
    assert_eq!(log.phases(), "sfsb");
    assert_eq!(log.state.ending(), Some(Ending::Failed));
}

#[test]
fn the_cap_on_live_attempts_holds_and_every_settle_lets_the_next_run() {
    let mut log = Log::planned(json!({"tasks": many(7), "max_concurrency": 3}));
    for at in 0..7 {
        assert!(log.state.attempts.len() <= 3);
        log.settle(&format!("t{at}"), 1, succeeded()).committed();
    }
    assert_eq!(log.state.ending(), Some(Ending::Completed));
}

#[test]
fn the_cap_on_live_attempts_does_not_hold_up_waits() {
    let mut log = Log::planned(json!({
        "tasks": [{"id": "a"}, {"id": "b"}, {"id": "s", "sleep_ms": MINUTE}],
        "max_concurrency": 1,
    }));
    assert_eq!(log.phases(), "awa");
    log.wait(MINUTE);
    log.look(Look::Wake).unwrap();
    assert_eq!(log.phases(), "aws");
}

#[test]
fn a_fan_out_of_a_thousand_is_cut_into_commits_of_a_hundred() {
    let mut log = Log::planned(json!({ "tasks": many(1_000) }));
    assert_eq!(log.state.attempts.len(), limits::COMMIT_DISPATCHES_MAX);
    assert!(log.commits[0].continues);
    assert_eq!(log.state.earliest_due(), Some(log.now), "what is left is due at once");
    assert_eq!(log.go_on(), 9);
    assert_eq!(log.state.attempts.len(), 1_000);
    let says: Vec<bool> = log.commits.iter().map(|c| c.continues).collect();
    assert_eq!(says, [vec![true; 9], vec![false]].concat());
}

#[test]
fn a_fan_out_of_exactly_a_hundred_is_one_commit_and_101_are_two() {
    let log = Log::planned(json!({ "tasks": many(100) }));
    assert!(!log.commits[0].continues);
    let mut log = Log::planned(json!({ "tasks": many(101) }));
    assert!(log.commits[0].continues);
    assert_eq!(log.go_on(), 1);
}

#[test]
fn what_is_left_over_survives_commits_of_other_commands_in_between() {
    let others = [
        json!({"receipt": {"attempt": crate::support::attempt("t0", 1), "worker": "w"}}),
        json!({"heartbeat": {"attempt": crate::support::attempt("t0", 1), "worker": "w"}}),
        json!({"claim": {"owner": crate::support::owner(1)}}),
    ];
    for other in others {
        let mut log = Log::planned(json!({ "tasks": many(250) }));
        log.tell(other.clone()).committed();
        assert!(log.state.continues.is_some(), "after {other}");
        log.go_on();
        assert_eq!(log.state.attempts.len(), 250);
    }
}

#[test]
fn what_is_left_over_under_pause_waits_for_the_resume() {
    let mut log = Log::planned(json!({ "tasks": many(250) }));
    log.tell(json!({"pause": {}})).committed();
    assert_eq!(log.go_on(), 1, "one commit notes that there is nothing to go on with");
    assert_eq!((log.look(Look::Wake), log.state.attempts.len()), (None, 100));
    log.tell(json!({"resume": {}})).committed();
    log.go_on();
    assert_eq!(log.state.attempts.len(), 250);
}

#[test]
fn what_is_left_over_is_gone_with_a_cancel() {
    let mut log = Log::planned(json!({ "tasks": many(250) }));
    log.tell(json!({"cancel": {}})).committed();
    assert_eq!((log.state.continues, log.state.attempts.len()), (None, 100));
    assert_eq!(log.state.nodes.unfinished(), 100);
}

#[test]
fn a_full_commit_that_makes_more_ready_goes_on() {
    // The sleep of no time is passed in a commit that is full by then.
    let big = "x".repeat(limits::COMMIT_BYTES_SOFT_MAX);
    let mut log = plan(&json!([
        {"id": "a"}, {"id": "s", "sleep_ms": 0, "after": ["a"]}, {"id": "b", "after": ["s"]},
    ]));
    log.settle("a", 1, json!({"succeeded": {"output": big}})).committed();
    assert!(log.state.continues.is_some(), "nobody would ever come back to it");
    log.go_on();
    assert_eq!(log.phase("b"), Phase::Active);
}

#[test]
fn a_commit_that_becomes_full_after_making_more_ready_goes_on() {
    // The sleep passes first, then a hundred others fill the commit.
    let mut tasks = vec![json!({"id": "s", "sleep_ms": 0}), json!({"id": "b", "after": ["s"]})];
    tasks.extend(many(limits::COMMIT_DISPATCHES_MAX));
    let mut log = plan(&json!(tasks));
    assert!(log.commits[0].continues);
    log.go_on();
    assert_eq!(log.phase("b"), Phase::Active);
}

#[test]
fn thousands_of_waits_are_cut_to_what_fits_a_commit() {
    let waits: Vec<Value> = (0..10_000)
        .map(|at| match at {
            0 => json!({"id": "a"}),
            _ => json!({"id": format!("s{at}"), "sleep_ms": HOUR, "after": ["a"]}),
        })
        .collect();
    let mut log = plan(&json!(waits));
    let big = "x".repeat(limits::PAYLOAD_BYTES_MAX - 2);
    log.settle("a", 1, json!({"succeeded": {"output": big}})).committed();
    let bytes = |log: &Log| {
        let commit = log.commits.last().unwrap();
        everlog::commit::encode(1, commit).len()
    };
    assert!(bytes(&log) <= limits::COMMIT_BYTES_MAX, "{} bytes", bytes(&log));
    log.go_on();
    assert_eq!(log.state.timers.len(), 9_999);
}

#[test]
fn a_run_is_judged_by_the_latest_attempt_of_each_task() {
    let retry = json!({"max_attempts": 2, "initial_ms": 0});
    let mut log = Log::planned(json!({"tasks": [{"id": "a", "retry": retry}, {"id": "b"}]}));
    log.fail("a");
    log.succeed("b");
    log.succeed("a");
    assert_eq!(log.state.ending(), Some(Ending::Completed));
}

#[test]
fn a_run_ends_only_when_nothing_is_unsettled() {
    let mut log = Log::tasks(&["a", "b"]);
    log.fail("a");
    assert!(log.state.open(), "b is unsettled");
    log.succeed("b");
    assert_eq!(log.state.ending(), Some(Ending::Failed));
}

#[test]
fn a_run_that_may_have_no_more_attempts_fails_when_the_last_one_settles() {
    let mut log = Log::planned(json!({"tasks": many(3), "attempts_max": 2}));
    assert_eq!(log.phases(), "aaw");
    log.succeed("t0");
    assert!(log.state.open());
    log.succeed("t1");
    assert_eq!(log.state.ending(), Some(Ending::Failed));
    assert_eq!(log.phase("t2"), Phase::Waiting);
}

#[test]
fn exactly_as_many_attempts_as_a_run_may_have_complete_it() {
    let mut log = Log::planned(json!({"tasks": many(2), "attempts_max": 2}));
    log.succeed("t0");
    log.succeed("t1");
    assert_eq!(log.state.ending(), Some(Ending::Completed));
}

#[test]
fn a_closed_run_takes_no_more_of_anything() {
    let mut log = Log::tasks(&["a"]);
    log.succeed("a");
    let head = log.state.head;
    log.wait(HOUR);
    assert_eq!(log.look(Look::Wake), None);
    assert_eq!(log.settle("a", 1, failed("late")).conflict(), "the attempt ended otherwise");
    assert_eq!(log.receipt("a", 1, "w").conflict(), "the attempt is settled");
    assert_eq!(log.state.head, head);
}
