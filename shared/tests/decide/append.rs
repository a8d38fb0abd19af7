//! Append and claim: the user's own engine.

use everlog::Rejection;
use everlog::decide::Needs;
use everlog::event::{Ending, Event, TimerKey};
use everlog::id::TimerId;
use everlog::limits;
use serde_json::{Value, json};

use crate::support::{Log, MINUTE, T0, intent, owner};

fn append(expected: u64, rest: Value) -> Value {
    let mut append = rest;
    append["expected_seq"] = expected.into();
    json!({ "append": append })
}

fn events(kinds: &[&str]) -> Value {
    let all: Vec<Value> = kinds.iter().map(|kind| json!({"kind": kind})).collect();
    json!({ "events": all })
}

fn timer(name: &str) -> TimerKey {
    TimerKey::Named(TimerId::new(name).unwrap())
}

#[test]
fn an_append_at_the_head_stores_its_events_in_order() {
    let mut log = Log::driven();
    log.tell(append(1, events(&["x", "y"]))).committed();
    assert_eq!(log.state.head, 3);
    let kinds: Vec<String> = log
        .events()
        .iter()
        .map(|e| match e {
            Event::Appended(kind, None) => kind.to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["x", "y"]);
}

#[test]
fn an_append_behind_the_head_asks_for_what_came_in_between() {
    let mut log = Log::driven();
    log.tell(append(1, events(&["x", "y"]))).committed();
    let needs = log.tell_bare("late", append(1, events(&["z"])));
    assert_eq!(needs, Err(Needs::Sequence(2)), "the first sequence that the caller does not know");
    assert_eq!(log.state.head, 3);
}

#[test]
fn an_append_beyond_the_head_is_a_sequence_conflict_with_the_true_head() {
    let mut log = Log::driven();
    let conflict = log.tell(append(2, events(&["x"]))).rejected();
    let events = Vec::new();
    assert_eq!(conflict, Rejection::SequenceConflict { expected: 2, found: 1, events });
    assert!(!conflict.retryable());
}

#[test]
fn an_empty_append_checks_the_head_and_changes_nothing() {
    let mut log = Log::driven();
    log.tell(append(1, json!({}))).unchanged();
    assert_eq!(log.tell(append(2, json!({}))).rejected().kind(), "sequence_conflict");
    assert_eq!(log.tell_bare("e", append(0, json!({}))), Err(Needs::Sequence(1)));
    assert_eq!(log.commits.len(), 1);
}

#[test]
fn the_head_is_checked_before_the_owner_and_the_owner_before_anything_is_stored() {
    let mut log = Log::owned();
    let stale = append(9, json!({"owner": owner(2), "events": []}));
    assert_eq!(log.tell(stale).rejected().kind(), "sequence_conflict");
    for wrong in [json!(null), owner(2)] {
        let mut body = events(&["x"]);
        body["owner"] = wrong;
        let refused = log.tell(append(2, body)).rejected();
        assert_eq!(refused, Rejection::Fenced { generation: 1 });
    }
    let mut body = events(&["x"]);
    body["owner"] = owner(1);
    log.tell(append(2, body)).committed();
}

#[test]
fn an_owner_where_nobody_has_authority_is_fenced() {
    let mut log = Log::driven();
    let mut body = events(&["x"]);
    body["owner"] = owner(1);
    assert_eq!(log.tell(append(1, body)).rejected(), Rejection::Fenced { generation: 0 });
}

#[test]
fn a_planned_or_a_closed_workflow_takes_no_append() {
    let mut planned = Log::tasks(&["a"]);
    let head = planned.state.head;
    let state = planned.tell(append(head, events(&["x"]))).wrong_state();
    assert_eq!(state, "planned; its plan alone drives it");

    let mut closed = Log::driven();
    closed.tell(append(1, json!({"close": {"ending": "completed"}}))).committed();
    assert_eq!(closed.tell(append(2, events(&["x"]))).wrong_state(), "completed");
}

#[test]
fn events_attempts_timers_and_the_end_are_one_commit() {
    let mut log = Log::driven();
    let mut body = events(&["x"]);
    body["prepare"] = json!([intent("a", 1), intent("b", 1)]);
    body["timers"] = json!([{"timer": "t", "fire_at": T0.0 + MINUTE}]);
    let decided = log.tell(append(1, body)).committed();
    assert_eq!(log.commits.len(), 2);
    assert_eq!(log.state.head, 5);
    let keys = [crate::support::key_of("a", 1, 1), crate::support::key_of("b", 1, 1)];
    assert_eq!(decided.dispatch_keys, keys, "in the order of the command");
    assert_eq!(log.state.timers[&timer("t")], T0.plus_ms(MINUTE));

    let close = json!({"events": [{"kind": "y"}], "close": {"ending": "failed", "result": 1}});
    log.tell(append(5, close)).committed();
    assert_eq!(log.state.ending(), Some(Ending::Failed));
    assert!(matches!(log.events(), [Event::Appended(..), Event::Closed(Ending::Failed, Some(_))]));
}

#[test]
fn one_refused_attempt_refuses_the_whole_append() {
    let mut log = Log::driven();
    let mut body = events(&["x"]);
    body["prepare"] = json!([intent("a", 1), intent("b", 2)]);
    body["timers"] = json!([{"timer": "t", "fire_at": T0.0 + MINUTE}]);
    body["close"] = json!({"ending": "completed"});
    let Rejection::InvalidInput(invalid) = log.tell(append(1, body)).rejected() else {
        panic!("not invalid input")
    };
    assert_eq!(invalid.field, "command.append.prepare[1].attempt");
    assert_eq!((log.commits.len(), log.state.head), (1, 1));
}

#[test]
fn attempts_of_one_append_count_against_the_caps_together() {
    let mut log = Log::new();
    log.tell(json!({"start": {"max_concurrency": 2}})).committed();
    let three = json!({"prepare": [intent("a", 1), intent("b", 1), intent("c", 1)]});
    assert_eq!(log.tell(append(1, three)).rejected().kind(), "busy");
    let two = json!({"prepare": [intent("a", 1), intent("b", 1)]});
    log.tell(append(1, two)).committed();
    assert_eq!(log.state.attempts.len(), 2);
}

#[test]
fn arming_a_timer_again_replaces_it_and_cancelling_an_absent_one_is_no_event() {
    let mut log = Log::driven();
    let arm = |ms: u64| json!({"timers": [{"timer": "t", "fire_at": T0.0 + ms}]});
    log.tell(append(1, arm(MINUTE))).committed();
    log.tell(append(2, arm(2 * MINUTE))).committed();
    assert_eq!(log.state.timers.len(), 1);
    assert_eq!(log.state.timers[&timer("t")], T0.plus_ms(2 * MINUTE));
    let cancel = json!({"timers": [{"timer": "t"}]});
    log.tell(append(3, cancel.clone())).committed();
    assert!(log.state.timers.is_empty());
    log.tell(append(4, cancel)).unchanged();
}

#[test]
fn timers_above_their_bound_are_refused() {
    let mut log = Log::driven();
    let mut next = 0;
    let mut arm = |log: &mut Log, count: usize| {
        let timers: Vec<Value> = (0..count)
            .map(|at| json!({"timer": format!("t{}", next + at), "fire_at": T0.0 + MINUTE}))
            .collect();
        next += count;
        let head = log.state.head;
        log.tell(append(head, json!({ "timers": timers })))
    };
    for _ in 0..limits::TIMERS_MAX / 100 {
        arm(&mut log, 100).committed();
    }
    let Rejection::Exhausted { limit, .. } = arm(&mut log, 1).rejected() else { panic!("room") };
    assert_eq!(limit, limits::TIMERS_MAX as u64);
    let head = log.state.head;
    let again = json!({"timers": [{"timer": "t0", "fire_at": T0.0 + 2 * MINUTE}]});
    log.tell(append(head, again)).committed();
}

#[test]
fn closing_drops_what_is_unsettled_and_what_is_armed() {
    let mut log = Log::driven();
    let body =
        json!({"prepare": [intent("a", 1)], "timers": [{"timer": "t", "fire_at": T0.0 + 1}]});
    log.tell(append(1, body)).committed();
    log.tell(append(3, json!({"close": {"ending": "completed"}}))).committed();
    assert!(log.state.attempts.is_empty() && log.state.timers.is_empty());
    assert_eq!(log.settle("a", 1, crate::support::succeeded()).wrong_state(), "completed");
}

#[test]
fn a_claim_takes_what_nobody_has_and_an_equal_claim_is_no_news() {
    let mut log = Log::driven();
    log.tell(json!({"claim": {"owner": owner(1)}})).committed();
    log.tell(json!({"claim": {"owner": owner(1)}})).unchanged();
    assert_eq!(log.commits.len(), 2);
}

#[test]
fn a_claim_that_differs_in_any_part_is_fenced() {
    for part in ["owner", "instance", "generation", "token"] {
        let mut log = Log::owned();
        let mut other = owner(1);
        other[part] = if part == "generation" { json!(2) } else { json!("other") };
        let refused = log.tell(json!({"claim": {"owner": other}})).rejected();
        assert_eq!(refused, Rejection::Fenced { generation: 1 }, "{part}");
    }
}

#[test]
fn a_closed_run_refuses_a_claim_even_an_equal_one() {
    let mut log = Log::owned();
    log.tell(json!({"cancel": {}})).committed();
    let state = log.tell(json!({"claim": {"owner": owner(1)}})).wrong_state();
    assert_eq!(state, "cancelled");
}
