//! Runs of one history: continue as new, and reopen.

use everlog::Rejection;
use everlog::event::{Ending, Event, RunStart, TimerKey};
use everlog::id::{DispatchKey, Incarnation, PackageHash, TimerId};
use everlog::state::{Life, State};
use serde_json::{Value, json};

use crate::support::random::Rng;
use crate::support::{HOUR, LIFE, Log, MINUTE, PARTITION, T0, attempt, intent, node, owner};

fn append(log: &Log, rest: Value) -> Value {
    let mut append = rest;
    append["expected_seq"] = log.state.head.into();
    json!({ "append": append })
}

fn named(name: &str) -> TimerKey {
    TimerKey::Named(TimerId::new(name).unwrap())
}

fn key(run: u32, name: &str, n: u32) -> DispatchKey {
    DispatchKey::derive(PARTITION, Incarnation(LIFE), run, &node(name), 1, n)
}

fn continued(log: &mut Log, next: Value) {
    let continues = append(log, json!({ "continue_as_new": next }));
    log.tell(continues).committed();
}

fn close(log: &mut Log, ending: &str) {
    let closes = append(log, json!({ "close": { "ending": ending } }));
    log.tell(closes).committed();
}

#[test]
fn a_continued_run_ends_and_the_next_one_begins_in_the_same_commit_and_history() {
    let mut log = Log::driven();
    continued(&mut log, json!({ "result": "enough", "input": 2 }));
    let [Event::ContinuedAsNew(Some(_)), Event::Started(started)] = log.events() else {
        panic!("{:?}", log.events());
    };
    assert_eq!((started.run, started.previous), (2, Some(RunStart { commit: 1, seq: 1 })));
    assert_eq!((log.state.head, log.state.life), (3, Life::Open));
    let run = log.state.run.as_ref().unwrap();
    assert_eq!(run.start(), RunStart { commit: 2, seq: 3 });
    continued(&mut log, json!({}));
    let run = log.state.run.as_ref().unwrap();
    assert_eq!((run.number, run.previous), (3, Some(RunStart { commit: 2, seq: 3 })));
}

#[test]
fn a_second_run_that_reuses_ordinals_dispatches_all_of_them_under_other_keys() {
    let mut log = Log::driven();
    let both = json!([intent("a", 1), intent("b", 1)]);
    let first = append(&log, json!({ "prepare": both }));
    let first = log.tell(first).committed().dispatch_keys;
    log.succeed("a");
    let again = append(&log, json!({ "continue_as_new": {}, "prepare": both }));
    let second = log.tell(again).committed().dispatch_keys;
    assert_eq!(first, [key(1, "a", 1), key(1, "b", 1)]);
    assert_eq!(second, [key(2, "a", 1), key(2, "b", 1)]);
    assert_eq!(log.state.untaken_of(log.state.commit).count(), 2);
}

#[test]
fn what_belongs_to_an_earlier_run_is_refused_and_changes_nothing() {
    let mut log = Log::driven();
    let prepares = append(&log, json!({ "prepare": [intent("a", 1)] }));
    log.tell(prepares).committed();
    let again = append(&log, json!({ "continue_as_new": {}, "prepare": [intent("a", 1)] }));
    log.tell(again).committed();
    let head = log.state.head;
    let late = json!({ "settle": { "attempt": attempt("a", 1), "outcome": { "succeeded": {} } } });
    assert_eq!(log.tell(late).rejected().kind(), "conflict");
    assert_eq!(log.state.head, head);
    assert!(log.is_live("a"), "the second run's attempt waits for its own worker");
}

#[test]
fn timers_and_attempts_end_with_their_run_and_those_beside_the_continuation_are_the_next_ones() {
    let mut log = Log::driven();
    let armed = json!({
        "prepare": [intent("a", 1)], "timers": [{ "timer": "old", "fire_at": T0.0 + HOUR }],
    });
    let armed = append(&log, armed);
    log.tell(armed).committed();
    let next = json!({
        "continue_as_new": {}, "timers": [{ "timer": "new", "fire_at": T0.0 + 2 * HOUR }],
    });
    let next = append(&log, next);
    log.tell(next).committed();
    assert_eq!(log.state.timers.keys().collect::<Vec<_>>(), [&named("new")]);
    assert!(log.state.attempts.is_empty());
    assert_eq!(log.state.consumed, 0, "a run's attempts are its own");
    close(&mut log, "failed");
    log.tell(json!({ "reopen": {} })).committed();
    assert_eq!(log.state.timers.keys().collect::<Vec<_>>(), [&named("new")], "never the old run's");
}

#[test]
fn the_next_run_is_as_the_one_before_but_for_what_is_said() {
    let mut log = Log::new();
    let start = json!({ "type": "poll", "max_concurrency": 3, "attempts_max": 9,
                        "deadline": T0.0 + HOUR });
    log.tell(json!({ "start": start })).committed();
    continued(&mut log, json!({}));
    let run = log.state.run.clone().unwrap();
    assert_eq!(
        (run.workflow_type.as_str(), run.concurrency, run.attempts_max),
        ("poll", Some(3), 9)
    );
    assert_eq!(run.deadline, None, "a deadline is a time, not a duration");
    let other = json!({ "type": "poll-2", "max_concurrency": 4, "attempts_max": 10,
                        "deadline": T0.0 + 2 * HOUR });
    continued(&mut log, other);
    let run = log.state.run.clone().unwrap();
    assert_eq!((run.workflow_type.as_str(), run.concurrency), ("poll-2", Some(4)));
    assert_eq!((run.attempts_max, run.deadline), (10, Some(T0.plus_ms(2 * HOUR))));
}

#[test]
fn a_run_stays_pinned_to_its_package_until_the_next_one_names_another() {
    let mut log = Log::new();
    let (one, two) = (PackageHash([1; 32]), PackageHash([2; 32]));
    log.tell(json!({ "start": { "package": one } })).committed();
    let package = |log: &Log| log.state.run.as_ref().unwrap().package;
    assert_eq!(package(&log), Some(one));
    continued(&mut log, json!({}));
    assert_eq!(package(&log), Some(one));
    continued(&mut log, json!({ "package": two }));
    assert_eq!(package(&log), Some(two));
}

#[test]
fn an_owner_and_a_pause_outlast_a_run() {
    let mut log = Log::owned();
    log.tell(json!({ "pause": {} })).committed();
    let stale = append(&log, json!({ "continue_as_new": {} }));
    assert_eq!(log.tell(stale).rejected(), Rejection::Fenced { generation: 1 });
    let next = append(&log, json!({ "owner": owner(1), "continue_as_new": {} }));
    log.tell(next).committed();
    assert_eq!(log.state.status(), "paused");
    let work = json!({ "owner": owner(1), "prepare": [intent("a", 1)] });
    let work = append(&log, work);
    assert_eq!(log.tell(work).rejected(), Rejection::Paused);
}

#[test]
fn what_is_planned_ended_or_being_cancelled_is_not_continued() {
    let mut log = Log::tasks(&["a"]);
    let next = append(&log, json!({ "continue_as_new": {} }));
    assert!(log.tell(next).wrong_state().contains("planned"));
    let mut log = Log::driven();
    let prepares = append(&log, json!({ "prepare": [intent("a", 1)] }));
    log.tell(prepares).committed();
    log.tell(json!({ "cancel": {} })).committed();
    let next = append(&log, json!({ "continue_as_new": {} }));
    assert_eq!(log.tell(next).rejected(), Rejection::Cancelled);
    close(&mut log, "cancelled");
    let next = append(&log, json!({ "continue_as_new": {} }));
    assert_eq!(log.tell(next).wrong_state(), "cancelled");
    let mut log = Log::driven();
    let late = append(&log, json!({ "continue_as_new": { "deadline": T0.0 } }));
    assert_eq!(log.tell(late).rejected().kind(), "invalid_input");
}

#[test]
fn a_start_that_comes_again_after_the_continuation_is_no_news() {
    let mut log = Log::new();
    log.tell_as("begin", json!({ "start": {} })).committed();
    continued(&mut log, json!({}));
    log.tell_as("begin", json!({ "start": {} })).unchanged();
    log.tell_as("other", json!({ "start": {} })).conflict();
}

#[test]
fn a_reopened_run_goes_on_with_its_timers_at_their_original_times() {
    for how in ["completed", "failed", "cancelled", "timed_out", "asked to cancel"] {
        let mut log = Log::driven();
        let timers = json!([
            { "timer": "soon", "fire_at": T0.0 + MINUTE },
            { "timer": "later", "fire_at": T0.0 + HOUR },
        ]);
        let armed = append(&log, json!({ "timers": timers }));
        log.tell(armed).committed();
        match how {
            "asked to cancel" => drop(log.tell(json!({ "cancel": {} })).committed()),
            ending => close(&mut log, ending),
        }
        assert!(log.state.timers.is_empty() && log.state.earliest_due().is_none(), "{how}");
        log.wait(10 * MINUTE);
        log.tell(json!({ "reopen": { "reason": "too early" } })).committed();
        assert_eq!(log.state.status(), "running", "{how}");
        let armed: Vec<_> = log.state.timers.iter().map(|(k, at)| (k.clone(), *at)).collect();
        let wanted = [(named("later"), T0.plus_ms(HOUR)), (named("soon"), T0.plus_ms(MINUTE))];
        assert_eq!(armed, wanted, "{how}");
        assert_eq!(log.state.held, None, "{how}");
    }
}

#[test]
fn a_timer_that_was_cancelled_or_had_fired_before_the_end_stays_so() {
    let mut log = Log::driven();
    let timers = json!([
        { "timer": "a", "fire_at": T0.0 + MINUTE }, { "timer": "b", "fire_at": T0.0 + HOUR },
    ]);
    let armed = append(&log, json!({ "timers": timers }));
    log.tell(armed).committed();
    log.wait(2 * MINUTE);
    log.look(everlog::decide::Look::Alarm);
    let cancels = append(&log, json!({ "timers": [{ "timer": "b" }] }));
    log.tell(cancels).committed();
    close(&mut log, "failed");
    log.tell(json!({ "reopen": {} })).committed();
    assert!(log.state.timers.is_empty());
}

#[test]
fn what_the_end_withdrew_stays_withdrawn_and_the_next_attempt_has_a_key_of_its_own() {
    let mut log = Log::driven();
    let prepares = append(&log, json!({ "prepare": [intent("a", 1)] }));
    log.tell(prepares).committed();
    close(&mut log, "failed");
    assert_eq!(log.settle("a", 1, json!({ "succeeded": {} })).wrong_state(), "failed");
    let same = json!({ "prepare": { "intent": intent("a", 1) } });
    assert_eq!(log.tell(same).wrong_state(), "failed");
    log.tell(json!({ "reopen": {} })).committed();
    assert!(log.settle("a", 1, json!({ "succeeded": {} })).wrong_state().contains("withdrawn"));
    let same = append(&log, json!({ "prepare": [intent("a", 1)] }));
    assert!(log.tell(same).conflict().contains("prepare the next one"));
    let again = append(&log, json!({ "prepare": [intent("a", 2)] }));
    assert_eq!(log.tell(again).committed().dispatch_keys, [key(1, "a", 2)]);
    log.succeed("a");
}

#[test]
fn a_reopening_needs_a_driven_run_that_has_ended() {
    let mut log = Log::driven();
    log.tell(json!({ "reopen": {} })).unchanged();
    let mut log = Log::tasks(&["a"]);
    log.succeed("a");
    assert!(log.tell(json!({ "reopen": {} })).wrong_state().contains("planned"));
    let mut log = Log::new();
    assert_eq!(log.tell(json!({ "reopen": {} })).rejected().kind(), "not_found");
    log.signal("early").committed();
    assert_eq!(log.tell(json!({ "reopen": {} })).rejected().kind(), "not_found");
}

#[test]
fn a_run_whose_deadline_has_passed_is_reopened_with_a_later_one_alone() {
    let mut log = Log::new();
    log.tell(json!({ "start": { "deadline": T0.0 + MINUTE } })).committed();
    close(&mut log, "failed");
    log.wait(HOUR);
    let deadline = T0.plus_ms(MINUTE);
    assert_eq!(log.tell(json!({ "reopen": {} })).rejected(), Rejection::Expired { deadline });
    let past = json!({ "reopen": { "deadline": T0.0 } });
    assert_eq!(log.tell(past).rejected().kind(), "invalid_input");
    log.tell(json!({ "reopen": { "deadline": T0.0 + 2 * HOUR } })).committed();
    assert_eq!(log.state.run.as_ref().unwrap().deadline, Some(T0.plus_ms(2 * HOUR)));
    log.wait(HOUR);
    log.look(everlog::decide::Look::Alarm);
    assert_eq!(log.state.ending(), Some(Ending::TimedOut));
}

#[test]
fn a_reopening_that_comes_again_does_not_reopen_what_has_ended_since() {
    let mut log = Log::driven();
    close(&mut log, "failed");
    log.tell_as("reopen-1", json!({ "reopen": {} })).committed();
    close(&mut log, "completed");
    log.tell_as("reopen-1", json!({ "reopen": {} })).unchanged();
    assert_eq!(log.state.ending(), Some(Ending::Completed));
    log.tell_as("reopen-2", json!({ "reopen": {} })).committed();
}

#[test]
fn two_roots_a_fork_and_a_gap_do_not_fold() {
    let mut log = Log::driven();
    continued(&mut log, json!({}));
    let (root, second) = (log.commits[0].clone(), log.commits[1].clone());
    let Event::Started(follower) = &second.events[1] else { panic!("{second:?}") };
    let wrong = |change: fn(&mut everlog::event::Started)| {
        let mut state = State::default();
        state.apply(1, &root).unwrap();
        let mut started = follower.clone();
        change(&mut started);
        let events = vec![second.events[0].clone(), Event::Started(started)];
        state.apply(2, &everlog::commit::Commit { events, ..second.clone() })
    };
    assert!(wrong(|_| {}).is_ok());
    assert!(wrong(|s| s.run = 3).is_err(), "a gap");
    assert!(wrong(|s| s.previous = Some(RunStart { commit: 1, seq: 2 })).is_err(), "a fork");
    assert!(wrong(|s| s.previous = None).is_err(), "two roots");
    let mut state = State::default();
    state.apply(1, &root).unwrap();
    let again = everlog::commit::Commit { events: vec![second.events[1].clone()], ..second };
    assert!(state.apply(2, &again).is_err(), "a start beside an open run");
}

/// What a user's engine may ask, some of it nonsense.
fn any_command(rng: &mut Rng, log: &Log) -> Value {
    let name = *rng.pick(&["a", "b"]);
    let (n, at) = (u32::try_from(1 + rng.below(3)).unwrap(), log.now.0 + rng.below(2 * HOUR));
    let run = log.state.run.as_ref().map_or(1, |run| run.number);
    let of = json!({ "node": name, "attempt": n, "dispatch_key": key(run, name, n) });
    match rng.below(12) {
        0 | 1 => append(log, json!({ "prepare": [intent(name, n)] })),
        2 => append(log, json!({ "timers": [{ "timer": name, "fire_at": at }] })),
        3 => append(log, json!({ "timers": [{ "timer": name }], "events": [{ "kind": "x" }] })),
        4 => append(log, json!({ "continue_as_new": {}, "prepare": [intent(name, n)] })),
        5 => append(log, json!({ "close": { "ending": "failed" } })),
        6 | 7 => json!({ "reopen": {} }),
        8 => json!({ "cancel": {} }),
        9 => json!({ "settle": { "attempt": of, "outcome": { "failed": { "kind": "x" } } } }),
        10 => json!({ "receipt": { "attempt": of, "worker": "w" } }),
        _ => rng.pick(&[json!({ "pause": {} }), json!({ "resume": {} })]).clone(),
    }
}

#[test]
fn whatever_an_engine_asks_the_chain_of_runs_holds() {
    let mut longest = 0;
    for seed in 0..300 {
        let (mut rng, mut log) = (Rng::new(seed), Log::driven());
        for _ in 0..60 {
            let command = any_command(&mut rng, &log);
            log.tell(command);
            log.wait(rng.below(10 * MINUTE));
            if rng.chance(20) {
                log.look(everlog::decide::Look::Alarm);
            }
        }
        let events = log.commits.iter().flat_map(|commit| &commit.events);
        let mut chain: Vec<RunStart> = Vec::new();
        for (seq, event) in (1..).zip(events) {
            let Event::Started(started) = event else { continue };
            assert_eq!(started.run as usize, chain.len() + 1, "seed {seed}");
            assert_eq!(started.previous, chain.last().copied(), "seed {seed}");
            let of = |c: &everlog::commit::Commit| c.first_seq <= seq && !c.events.is_empty();
            let commit = log.commits.iter().rposition(of).unwrap() as u64 + 1;
            chain.push(RunStart { commit, seq });
        }
        longest = longest.max(chain.len());
    }
    assert!(longest > 3, "the walks come to several runs");
}
