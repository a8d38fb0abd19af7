//! Pause, resume, cancel and the deadline: barriers stop effects, never evidence.

use everlog::Rejection;
use everlog::answer::Directive;
use everlog::decide::{Draft, Look, decide};
use everlog::event::{Ending, Event, Note};
use everlog::state::{Phase, Stage};
use serde_json::{Value, json};

use crate::support::{HOUR, Log, MINUTE, SECOND, T0, command, intent, succeeded};

fn pause() -> Value {
    json!({"pause": {"reason": "lunch"}})
}

fn resume() -> Value {
    json!({"resume": {}})
}

fn cancel() -> Value {
    json!({"cancel": {"reason": "changed plans"}})
}

fn retrying() -> Log {
    let retry = json!({"max_attempts": 3, "initial_ms": 1_000, "jitter": 0.0});
    Log::planned(json!({"tasks": [{"id": "a", "retry": retry}, {"id": "b"}]}))
}

fn with_deadline(ms: u64, plan: Value) -> Log {
    let mut log = Log::new();
    log.tell(json!({"start": {"plan": plan, "deadline": T0.0 + ms}})).committed();
    log
}

#[test]
fn pause_holds_what_is_staged_and_a_look_does_not_release_it() {
    let mut log = retrying();
    log.fail("a");
    log.tell(pause()).committed();
    assert_eq!(log.state.status(), "paused");
    log.wait(SECOND);
    assert_eq!(log.look(Look::Wake), None);
    log.look(Look::Alarm).unwrap();
    assert!(matches!(log.live("a").stage, Stage::Staged { .. }));
}

#[test]
fn under_pause_what_was_sent_goes_out_again() {
    let mut log = retrying();
    log.fail("a");
    log.tell(pause()).committed();
    log.wait(15 * MINUTE);
    log.look(Look::Wake).unwrap();
    assert!(matches!(log.live("b").stage, Stage::Sent { count: 2, .. }));
    assert!(matches!(log.live("a").stage, Stage::Staged { .. }));
}

#[test]
fn under_pause_what_is_in_flight_settles_and_what_follows_waits() {
    let mut log = Log::tasks(&["a", "b:a"]);
    log.tell(pause()).committed();
    log.succeed("a");
    assert_eq!(log.phases(), "sw");
    log.tell(resume()).committed();
    assert_eq!(log.phases(), "sa");
}

#[test]
fn under_pause_the_last_settle_does_not_close_and_the_resume_does() {
    let mut log = Log::tasks(&["a"]);
    log.tell(pause()).committed();
    log.succeed("a");
    assert!(log.state.open());
    log.tell(resume()).committed();
    assert_eq!(log.state.ending(), Some(Ending::Completed));
}

#[test]
fn under_pause_timers_fire_and_nothing_starts() {
    let mut log = Log::planned(json!({"tasks": [
        {"id": "s", "sleep_ms": MINUTE}, {"id": "a", "after": ["s"]},
    ]}));
    log.tell(pause()).committed();
    log.wait(MINUTE);
    log.look(Look::Wake).unwrap();
    assert_eq!(log.phases(), "sw");
    log.tell(resume()).committed();
    assert_eq!(log.phases(), "sa");
}

#[test]
fn resume_releases_what_is_due_at_once_and_not_what_is_not() {
    let mut log = retrying();
    log.fail("a");
    log.tell(pause()).committed();
    let mut early = log.clone();
    early.tell(resume()).committed();
    assert!(matches!(early.live("a").stage, Stage::Staged { .. }), "its second is not over");
    log.wait(SECOND);
    log.tell(resume()).committed();
    assert!(matches!(log.notes()[..], [Note::HandedOver(_)]));
    assert!(matches!(log.live("a").stage, Stage::Sent { commit: 4, .. }));
    assert_eq!(log.state.status(), "running");
}

#[test]
fn pause_again_and_resume_of_what_runs_change_nothing() {
    let mut log = Log::tasks(&["a"]);
    assert_eq!(log.tell(resume()).unchanged().repeat_of, Some(1));
    log.tell(pause()).committed();
    assert_eq!(log.tell(pause()).unchanged().repeat_of, Some(2));
    log.tell(resume()).committed();
    assert_eq!(log.tell(resume()).unchanged().repeat_of, Some(3));
}

#[test]
fn a_pause_that_comes_again_after_the_resume_does_not_pause_again() {
    let mut log = Log::tasks(&["a"]);
    log.tell_as("p", pause()).committed();
    log.tell_as("r", resume()).committed();
    assert_eq!(log.tell_as("p", pause()).unchanged().repeat_of, Some(2));
    assert_eq!(log.state.status(), "running");
    log.tell_as("p2", pause()).committed();
    assert_eq!(log.tell_as("r", resume()).unchanged().repeat_of, Some(3));
    assert_eq!(log.state.status(), "paused");
}

#[test]
fn a_pause_repeated_in_the_batch_of_its_resume_does_not_pause_again() {
    let log = Log::tasks(&["a"]);
    let mut draft = Draft::new(&log.state, log.now);
    for (id, verb) in [("p", pause()), ("r", resume()), ("p", pause())] {
        decide(&mut draft, &log.context(), &command(id, &verb)).unwrap();
    }
    assert_eq!(draft.state().status(), "running");
}

#[test]
fn a_pause_after_a_cancel_and_any_barrier_after_the_end_are_refused() {
    let mut log = Log::tasks(&["a"]);
    log.tell(cancel()).committed();
    assert_eq!(log.tell(pause()).rejected(), Rejection::Cancelled);
    log.succeed("a");
    assert_eq!(log.tell(pause()).wrong_state(), "cancelled");
    assert_eq!(log.tell(resume()).wrong_state(), "cancelled");
}

#[test]
fn cancel_of_a_run_with_nothing_unsettled_closes_it_in_the_same_commit() {
    let mut log = Log::driven();
    log.tell(cancel()).committed();
    assert!(matches!(
        log.events(),
        [Event::CancelRequested(Some(_)), Event::Closed(Ending::Cancelled, None)]
    ));
}

#[test]
fn cancel_withdraws_what_waits_and_what_is_staged_and_leaves_what_is_in_flight() {
    let retry = json!({"max_attempts": 2, "initial_ms": MINUTE, "jitter": 0.0});
    let mut log = Log::planned(json!({"tasks": [
        {"id": "staged", "retry": retry}, {"id": "sent"}, {"id": "taken"},
        {"id": "waiting", "after": ["sent"]}, {"id": "sleeps", "sleep_ms": HOUR},
        {"id": "listens", "signal": "go"},
    ]}));
    log.fail("staged");
    log.receipt("taken", 1, "w1").committed();
    log.tell(cancel()).committed();
    assert_eq!(log.phases(), "caaccc");
    assert_eq!(log.state.status(), "cancelling");
    assert_eq!(log.beat("taken", 1, "w1").unchanged().directive, Some(Directive::Cancel));
    log.settle("taken", 1, json!({"cancelled": {}})).committed();
    assert!(log.state.open(), "one is unsettled");
    log.settle("sent", 1, succeeded()).committed();
    assert_eq!(log.state.ending(), Some(Ending::Cancelled), "though it succeeded");
    assert_eq!(log.phases(), "cscccc");
}

#[test]
fn cancel_of_a_chain_leaves_a_state_that_its_checkpoint_gives_back() {
    // `Log` compares the two after every commit; a chain shows counts of open parents.
    let mut log = Log::tasks(&["a", "b:a", "c:b", "d:b,c"]);
    log.tell(cancel()).committed();
    assert_eq!(log.phases(), "accc");
    log.succeed("a");
    assert_eq!(log.state.ending(), Some(Ending::Cancelled));
}

#[test]
fn a_withdrawn_attempt_can_not_be_settled() {
    let mut log = retrying();
    log.fail("a");
    log.tell(cancel()).committed();
    assert_eq!(log.settle("a", 2, succeeded()).conflict(), "the attempt ended otherwise");
}

#[test]
fn cancel_again_succeeds_before_and_after_the_end() {
    let mut log = Log::tasks(&["a"]);
    log.tell(cancel()).committed();
    assert_eq!(log.tell(cancel()).unchanged().repeat_of, Some(2));
    log.succeed("a");
    assert_eq!(log.tell(cancel()).unchanged().repeat_of, Some(3));
    assert_eq!(log.commits.len(), 3);
}

#[test]
fn cancel_of_what_ended_otherwise_is_refused() {
    let mut log = Log::tasks(&["a"]);
    log.succeed("a");
    assert_eq!(log.tell(cancel()).wrong_state(), "completed");
}

#[test]
fn cancel_under_pause_lifts_it_and_closes_when_all_is_settled() {
    let mut log = Log::tasks(&["a", "b:a"]);
    log.tell(pause()).committed();
    log.tell(cancel()).committed();
    assert!(matches!(log.events(), [Event::CancelRequested(_), Event::Resumed]));
    assert_eq!((log.state.status(), log.phases().as_str()), ("cancelling", "ac"));
    log.succeed("a");
    assert_eq!(log.state.ending(), Some(Ending::Cancelled));
}

#[test]
fn cancel_of_a_driven_run_withdraws_what_is_staged_and_its_timers() {
    let mut log = Log::driven();
    let mut later = intent("a", 1);
    later["not_before"] = (T0.0 + HOUR).into();
    let timers = json!([{"timer": "t", "fire_at": T0.0 + HOUR}]);
    let body = json!({"expected_seq": 1, "prepare": [later, intent("b", 1)], "timers": timers});
    log.tell(json!({ "append": body })).committed();
    log.tell(cancel()).committed();
    assert!(log.state.timers.is_empty() && !log.is_live("a") && log.is_live("b"));
    assert_eq!(log.prepare("a", 1).unchanged().dispatch_keys.len(), 1, "its key is still known");
    log.succeed("b");
    assert_eq!(log.state.ending(), Some(Ending::Cancelled));
}

#[test]
fn the_deadline_acts_exactly_when_it_is_reached() {
    let mut log =
        with_deadline(MINUTE, json!({"tasks": [{"id": "a"}, {"id": "b", "after": ["a"]}]}));
    log.wait(MINUTE - 1);
    assert_eq!(log.look(Look::Wake), None);
    log.wait(1);
    log.look(Look::Wake).unwrap();
    assert!(matches!(log.events(), [Event::DeadlineReached]));
    assert_eq!((log.phases().as_str(), log.state.status()), ("ac", "running"));
    assert_eq!(log.receipt("a", 1, "w").committed().directive, Some(Directive::Cancel));
    log.succeed("a");
    assert_eq!(log.state.ending(), Some(Ending::TimedOut));
}

#[test]
fn the_deadline_of_a_run_with_nothing_unsettled_closes_it() {
    let mut log = with_deadline(MINUTE, json!({"tasks": [{"id": "x", "signal": "never"}]}));
    log.wait(MINUTE);
    log.look(Look::Alarm).unwrap();
    assert_eq!((log.state.ending(), log.phase("x")), (Some(Ending::TimedOut), Phase::Cancelled));
}

#[test]
fn the_deadline_ends_a_paused_run_too() {
    let mut log = with_deadline(MINUTE, json!({"tasks": [{"id": "x", "signal": "never"}]}));
    log.tell(pause()).committed();
    assert_eq!(log.state.earliest_due(), Some(T0.plus_ms(MINUTE)));
    log.wait(MINUTE);
    log.look(Look::Wake).unwrap();
    assert_eq!(log.state.ending(), Some(Ending::TimedOut));
}

#[test]
fn of_deadline_and_cancel_the_first_says_why_the_run_ends() {
    let plan = json!({"tasks": [{"id": "a"}]});
    let mut cancelled = with_deadline(MINUTE, plan.clone());
    cancelled.tell(cancel()).committed();
    cancelled.wait(MINUTE);
    assert_eq!(cancelled.look(Look::Wake), None);

    let mut reached = with_deadline(MINUTE, plan);
    reached.wait(MINUTE);
    reached.look(Look::Wake).unwrap();
    reached.tell(cancel()).unchanged();
    reached.succeed("a");
    assert_eq!(reached.state.ending(), Some(Ending::TimedOut));
}
