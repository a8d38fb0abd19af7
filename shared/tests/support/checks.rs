//! What must hold after every commit, whatever it did.

use everlog::commit::{self, SCHEMA_READ_MAX};
use everlog::decide::Sealed;
use everlog::event::{Event, Target};
use everlog::limits;
use everlog::state::{Phase, Stage, State};
use everlog::time::Timestamp;

/// Checks a commit against the state before it, and the state that its
/// encoding folds to.
#[track_caller]
pub fn after_commit(before: &State, sealed: &Sealed, folded: &State) {
    let (commit, state) = (&sealed.commit, &sealed.state);
    assert_eq!(folded, state, "the fold leads to the state of the draft");
    assert_eq!(state.head, before.head + commit.events.len() as u64, "no gap in the sequence");
    let first = before.head + u64::from(!commit.events.is_empty());
    assert_eq!(commit.first_seq, first, "the commit says where it begins");
    assert!(state.time >= before.time, "recorded time never goes back");
    let dispatch = |e: &&Event| matches!(e, Event::Prepared(..) | Event::Settled(.., Some(_)));
    let dispatches = commit.events.iter().filter(dispatch).count();
    assert!(dispatches <= limits::COMMIT_DISPATCHES_MAX, "{dispatches} dispatches");
    alarm(before, sealed);
    attempts(state);
    liveness(state);
    checkpoint(state);
}

/// `state.alarm` ≤ the earliest due time, and it moves later only by a look or
/// at the end.
#[track_caller]
fn alarm(before: &State, sealed: &Sealed) {
    let state = &sealed.state;
    if let Some(due) = state.earliest_due() {
        let alarm = state.alarm.expect("an alarm while something is outstanding");
        assert!(alarm.start() <= due, "the alarm {alarm:?} comes after {due:?}");
    }
    let earlier = match (state.alarm, before.alarm) {
        (Some(now), Some(before)) => now < before,
        (Some(_), None) => true,
        (None, _) => false,
    };
    assert_eq!(sealed.card_first, earlier, "the card goes first exactly if the alarm is earlier");
    if state.ending().is_some() {
        let due = state.earliest_due().map(Timestamp::tick);
        assert_eq!(state.alarm, due, "what has ended is looked at when it expires, or never");
    }
}

/// Nothing that may run is left lying, and an open plan waits for something.
#[track_caller]
fn liveness(state: &State) {
    let (Some(plan), Some(run)) = (state.plan(), &state.run) else { return };
    if !state.open() || state.paused.is_some() || state.continues.is_some() {
        return;
    }
    let full = run.concurrency.is_some_and(|cap| state.attempts.len() >= cap as usize);
    let task_may_run = !full && state.consumed < run.attempts_max;
    for at in state.nodes.ready() {
        let task = plan.task(at).is_some();
        assert!(task && !task_may_run, "node {at} is ready and may run");
    }
    let idle = state.attempts.is_empty() && state.timers.is_empty() && state.listening.is_empty();
    assert!(!idle, "an open plan waits for something");
}

/// Attempts, nodes, timers and waits agree with each other.
#[track_caller]
fn attempts(state: &State) {
    let settled: usize = state.settled.values().map(Vec::len).sum();
    match state.plan() {
        None => {
            if state.open() {
                let known = (state.attempts.len() + settled) as u64;
                assert_eq!(state.consumed, known, "consumed counts attempts ever");
            }
            for (target, attempt) in &state.attempts {
                let before = state.settled.get(target).map_or(0, Vec::len);
                assert_eq!(attempt.n as usize, before + 1, "attempts are numbered without gaps");
            }
        }
        Some(_) => planned_attempts(state),
    }
    if state.ending().is_some() {
        assert!(state.attempts.is_empty(), "a closed run has nothing unsettled");
        assert!(state.timers.is_empty() && state.listening.is_empty(), "nor anything armed");
        assert_eq!(state.continues, None, "nor anything left over");
    }
    if let Some(run) = &state.run {
        assert!(state.consumed <= run.attempts_max, "the cap on attempts holds");
        if let Some(cap) = run.concurrency {
            assert!(state.attempts.len() <= cap as usize, "the cap on live attempts holds");
        }
    }
}

#[track_caller]
fn planned_attempts(state: &State) {
    let count = u32::try_from(state.nodes.len()).expect("few nodes");
    for at in 0..count {
        let attempt = state.attempts.get(&Target::Planned(at));
        let waits = usize::from(state.timers.contains_key(&everlog::event::TimerKey::Node(at)))
            + usize::from(state.listening.contains_key(&at));
        let active = state.nodes.phase(at) == Phase::Active;
        let held = usize::from(attempt.is_some()) + waits;
        assert_eq!(held, usize::from(active), "node {at} has one thing outstanding iff active");
        if let Some(attempt) = attempt {
            let before = state.nodes.retried(at).len();
            assert_eq!(attempt.n as usize, before + 1, "attempts are numbered without gaps");
        }
        assert!(!state.nodes.phase(at).finished() || state.nodes.commit(at) > 0, "node {at}");
    }
    if state.cancel.is_some() {
        let staged = |s: &Stage| matches!(s, Stage::Staged { .. });
        assert!(!state.attempts.values().any(|a| staged(&a.stage)), "cancel withdraws");
        assert_eq!(state.nodes.ready().count(), 0, "nothing is ready after a cancel");
    }
}

/// A checkpoint gives the state back.
#[track_caller]
fn checkpoint(state: &State) {
    let bytes = commit::encode(SCHEMA_READ_MAX, state);
    let mut read: State = commit::decode(&bytes, SCHEMA_READ_MAX).expect("a state");
    if let Some(plan) = state.plan() {
        assert!(state.nodes.is_empty() || read.fits(plan), "it fits its plan");
        read.provide_plan(plan.clone());
    }
    assert_eq!(&read, state, "a checkpoint gives the state back");
}
