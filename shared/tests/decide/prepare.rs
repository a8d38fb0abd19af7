//! Prepare: the order of the checks of the ledger, repeats, caps.

use everlog::Rejection;
use everlog::event::{Ending, Event};
use everlog::state::Stage;
use serde_json::{Value, json};

use crate::support::{Log, MINUTE, T0, failed, intent, key_of, owner, succeeded};

fn prepare(intent: &Value) -> Value {
    json!({"prepare": {"intent": intent}})
}

fn driven_with(start: Value) -> Log {
    let mut log = Log::new();
    log.tell(json!({ "start": start })).committed();
    log
}

#[test]
fn a_prepare_reserves_the_attempt_and_hands_it_over_in_one_commit() {
    let mut log = Log::driven();
    let decided = log.prepare("a", 1).committed();
    assert_eq!(decided.dispatch_keys, [key_of("a", 1, 1)]);
    assert!(matches!(log.live("a").stage, Stage::Sent { commit: 2, count: 1, .. }));
    assert_eq!((log.state.consumed, log.state.attempts.len()), (1, 1));
}

#[test]
fn activations_of_one_node_are_attempts_of_their_own() {
    let mut log = Log::driven();
    let mut second = intent("a", 1);
    second["activation"] = 2.into();
    log.prepare("a", 1).committed();
    let decided = log.tell(prepare(&second)).committed();
    assert_eq!(decided.dispatch_keys, [key_of("a", 2, 1)]);
    assert_eq!(log.state.attempts.len(), 2);
}

#[test]
fn a_later_attempt_is_held_until_then_and_a_past_one_goes_at_once() {
    let mut log = Log::driven();
    let mut later = intent("a", 1);
    later["not_before"] = (T0.0 + MINUTE).into();
    log.tell(prepare(&later)).committed();
    assert_eq!(log.live("a").stage, Stage::Staged { not_before: T0.plus_ms(MINUTE) });
    let mut now = intent("b", 1);
    now["not_before"] = T0.0.into();
    log.tell(prepare(&now)).committed();
    assert!(matches!(log.live("b").stage, Stage::Sent { .. }));
}

#[test]
fn the_owner_is_checked_before_the_same_key_is_found() {
    let mut log = Log::owned();
    log.prepare("a", 1).committed();
    let fenced = log.tell(prepare(&intent("a", 1))).rejected();
    assert_eq!(fenced, Rejection::Fenced { generation: 1 });
    let other = json!({"prepare": {"owner": owner(2), "intent": intent("a", 1)}});
    assert_eq!(log.tell(other).rejected(), Rejection::Fenced { generation: 1 });
    log.prepare("a", 1).unchanged();
}

#[test]
fn the_same_content_again_gives_the_same_key_and_changes_nothing() {
    let mut log = Log::driven();
    let first = log.prepare("a", 1).committed();
    let again = log.prepare("a", 1).unchanged();
    assert_eq!(again.dispatch_keys, first.dispatch_keys);
    assert_eq!(again.repeat_of, Some(2), "its dispatch may go out again");
    let mut later = intent("a", 1);
    later["not_before"] = (T0.0 + MINUTE).into();
    let again = log.tell(prepare(&later)).unchanged();
    assert_eq!(again.dispatch_keys, first.dispatch_keys, "times are no content");
}

#[test]
fn other_content_under_the_same_key_is_a_conflict() {
    let changes = [
        ("queue", json!("other")),
        ("type", json!("other")),
        ("input", json!(1)),
        ("input", json!(null)),
        ("mutating", json!(true)),
        ("timeouts", json!({"start_to_close_ms": 5})),
        ("timeouts", json!({"schedule_to_start_ms": 5})),
        ("timeouts", json!({"heartbeat_ms": 5})),
    ];
    for (field, value) in changes {
        let mut log = Log::driven();
        let mut first = intent("a", 1);
        if value.is_null() {
            first["input"] = json!(7);
        }
        log.tell(prepare(&first)).committed();
        let mut other = first.clone();
        if value.is_null() {
            other.as_object_mut().unwrap().remove(field);
        } else {
            other[field] = value;
        }
        let what = log.tell(prepare(&other)).conflict();
        assert_eq!(what, "the attempt was prepared with other content", "{field}");
    }
}

#[test]
fn a_repeat_learns_its_key_under_pause_and_cancel_and_after_the_end() {
    let mut log = Log::driven();
    let first = log.prepare("a", 1).committed();
    log.tell(json!({"pause": {}})).committed();
    assert_eq!(log.prepare("a", 1).unchanged().dispatch_keys, first.dispatch_keys);
    log.tell(json!({"cancel": {}})).committed();
    assert_eq!(log.prepare("a", 1).unchanged().dispatch_keys, first.dispatch_keys);
    log.succeed("a");
    assert_eq!(log.state.ending(), Some(Ending::Cancelled));
    assert_eq!(log.prepare("a", 1).unchanged().dispatch_keys, first.dispatch_keys);
}

#[test]
fn a_new_attempt_is_refused_under_pause_and_under_cancel_and_after_the_end() {
    let mut log = Log::driven();
    log.prepare("a", 1).committed();
    log.tell(json!({"pause": {}})).committed();
    let paused = log.prepare("b", 1).rejected();
    assert_eq!((paused.clone(), paused.retryable()), (Rejection::Paused, true));
    log.tell(json!({"cancel": {}})).committed();
    let cancelled = log.prepare("b", 1).rejected();
    assert_eq!((cancelled.clone(), cancelled.retryable()), (Rejection::Cancelled, false));
    log.succeed("a");
    assert_eq!(log.prepare("b", 1).wrong_state(), "cancelled");
}

#[test]
fn the_barrier_is_named_before_the_number_of_the_attempt() {
    let mut log = Log::driven();
    log.tell(json!({"pause": {}})).committed();
    assert_eq!(log.prepare("a", 9).rejected(), Rejection::Paused);
}

#[test]
fn a_planned_workflow_takes_no_prepare() {
    let mut log = Log::tasks(&["a"]);
    assert_eq!(log.prepare("a", 1).wrong_state(), "planned; its plan alone drives it");
}

#[test]
fn the_first_attempt_has_number_1() {
    let mut log = Log::driven();
    let Rejection::InvalidInput(invalid) = log.prepare("a", 2).rejected() else {
        panic!("not invalid input")
    };
    assert_eq!(invalid.field, "command.prepare.intent.attempt");
    assert_eq!(invalid.limit, "the first attempt, 1");
    assert_eq!(invalid.value, "2");
}

#[test]
fn the_next_attempt_follows_a_failure_by_one() {
    let mut log = Log::driven();
    log.prepare("a", 1).committed();
    log.fail("a");
    assert_eq!(log.prepare("a", 3).rejected().kind(), "conflict");
    assert_eq!(log.prepare("a", 2).committed().dispatch_keys, [key_of("a", 1, 2)]);
}

#[test]
fn beside_an_unsettled_attempt_there_is_no_next_one() {
    let mut log = Log::driven();
    log.prepare("a", 1).committed();
    assert_eq!(log.prepare("a", 2).wrong_state(), "waiting for attempt 1 to settle");
    assert_eq!(log.prepare("a", 3).rejected().kind(), "conflict");
}

#[test]
fn a_lost_or_timed_out_attempt_may_be_followed_and_a_succeeded_or_cancelled_one_not() {
    let mut log = Log::driven();
    log.prepare("a", 1).committed();
    log.settle("a", 1, json!({"lost": {}})).committed();
    log.prepare("a", 2).committed();
    log.settle("a", 2, succeeded()).committed();
    assert_eq!(log.prepare("a", 3).wrong_state(), "succeeded before");

    log.prepare("b", 1).committed();
    log.settle("b", 1, json!({"cancelled": {}})).committed();
    assert_eq!(log.prepare("b", 2).wrong_state(), "cancelled before");

    let mut watched = intent("c", 1);
    watched["timeouts"] = json!({"schedule_to_start_ms": MINUTE});
    log.tell(prepare(&watched)).committed();
    log.wait(MINUTE);
    log.look(everlog::decide::Look::Wake).unwrap();
    log.prepare("c", 2).committed();
}

#[test]
fn the_deadline_refuses_exactly_when_it_is_reached_by_our_clock() {
    let mut log = driven_with(json!({"deadline": T0.0 + MINUTE}));
    log.wait(MINUTE - 1);
    log.prepare("a", 1).committed();
    log.wait(1);
    let expired = log.prepare("b", 1).rejected();
    assert_eq!(expired, Rejection::Expired { deadline: T0.plus_ms(MINUTE) });
    assert!(!expired.retryable());
}

#[test]
fn the_cap_on_attempts_counts_settled_ones_and_is_final() {
    let mut log = driven_with(json!({"attempts_max": 2}));
    log.prepare("a", 1).committed();
    log.settle("a", 1, failed("x")).committed();
    log.prepare("a", 2).committed();
    log.settle("a", 2, failed("x")).committed();
    let Rejection::Exhausted { limit, .. } = log.prepare("a", 3).rejected() else {
        panic!("not exhausted")
    };
    assert_eq!(limit, 2);
    log.prepare("a", 2).unchanged();
}

#[test]
fn the_cap_on_live_attempts_is_busy_until_one_settles() {
    let mut log = driven_with(json!({"max_concurrency": 1}));
    log.prepare("a", 1).committed();
    let busy = log.prepare("b", 1).rejected();
    assert!(matches!(busy, Rejection::Busy { limit: 1, .. }));
    assert!(busy.retryable());
    log.succeed("a");
    log.prepare("b", 1).committed();
}

#[test]
fn expired_is_said_before_exhausted_and_exhausted_before_busy() {
    let caps = json!({"deadline": T0.0 + MINUTE, "attempts_max": 1, "max_concurrency": 1});
    let mut log = driven_with(caps);
    log.prepare("a", 1).committed();
    assert_eq!(log.prepare("b", 1).rejected().kind(), "exhausted");
    log.wait(MINUTE);
    assert_eq!(log.prepare("b", 1).rejected().kind(), "expired");
}

#[test]
fn the_event_carries_what_a_worker_needs() {
    let mut log = Log::driven();
    let mut full = intent("a", 1);
    full["input"] = json!({"deep": [1, 2]});
    full["queue"] = json!("gpu");
    full["mutating"] = json!(true);
    log.tell(prepare(&full)).committed();
    let [Event::Prepared(_, 1, None, Some(work))] = log.events() else { panic!("no prepare") };
    assert_eq!(work.queue.as_str(), "gpu");
    assert_eq!(work.input.as_ref().unwrap().to_json(), Some(json!({"deep": [1, 2]})));
    assert!(work.mutating);
}
