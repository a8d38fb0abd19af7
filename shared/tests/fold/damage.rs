//! Bytes that nobody wrote: they never panic, and never pass for an empty log.

use everlog::commit::{Commit, DecodeError, SCHEMA_READ_MAX, decode, encode};
use everlog::decide::{Context, Draft, Look, look};
use everlog::plan::Plan;
use everlog::state::State;
use serde_json::json;

use super::plans;
use crate::support::random::Rng;
use crate::support::{HOUR, Log, MINUTE, intent, writer};

const FLIPS: u64 = 10_000;

/// A state, the commit that comes next, and both encoded.
struct Step {
    before: State,
    number: u64,
    commit: Commit,
    commit_bytes: Vec<u8>,
    state_bytes: Vec<u8>,
}

/// Commits of planned and driven histories, each with the state under it.
fn steps() -> Vec<Step> {
    let mut logs = vec![driven()];
    for seed in 0..4 {
        let mut log = Log::planned(plans::random(&mut Rng::new(seed)));
        for round in 0..6 {
            let name = log.state.attempts.keys().next().map(|t| log.state.node_id(t).to_string());
            match name {
                Some(name) if round % 2 == 0 => log.fail(&name),
                Some(name) => log.succeed(&name),
                None => log.wait(HOUR),
            }
            log.look(Look::Alarm);
            if log.state.open() {
                log.signal("red");
            }
        }
        logs.push(log);
    }
    logs.into_iter().flat_map(|log| replay(&log)).collect()
}

fn driven() -> Log {
    let mut log = Log::owned();
    let timers = json!([{"timer": "t", "fire_at": log.now.0 + MINUTE}]);
    let append = json!({
        "expected_seq": 2, "owner": crate::support::owner(1), "timers": timers,
        "events": [{"kind": "x", "payload": {"deep": [1, 2]}}], "prepare": [intent("a", 1)],
    });
    log.tell(json!({ "append": append })).committed();
    log.receipt("a", 1, "w1").committed();
    log.tell(json!({"pause": {"reason": "r"}})).committed();
    log.fail("a");
    log.wait(MINUTE);
    log.look(Look::Alarm);
    log.tell(json!({"resume": {}})).committed();
    log.tell(json!({"cancel": {}})).committed();
    log
}

fn replay(log: &Log) -> Vec<Step> {
    let mut state = State::default();
    let mut steps = Vec::new();
    for (number, commit) in (1..).zip(&log.commits) {
        if let (1, Some(plan)) = (number, log.state.plan()) {
            state.provide_plan(plan.clone());
        }
        steps.push(Step {
            number,
            commit: commit.clone(),
            commit_bytes: encode(SCHEMA_READ_MAX, commit),
            state_bytes: encode(SCHEMA_READ_MAX, &state),
            before: state.clone(),
        });
        state.apply(number, commit).unwrap();
    }
    steps
}

fn flip(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + rng.below(3) {
        let at = rng.index(bytes.len());
        bytes[at] ^= 1 << rng.below(8);
    }
    bytes
}

/// What a reader does next with a state that it holds.
fn use_it(state: &State) {
    let _ = state.earliest_due();
    let now = state.time.plus_ms(HOUR);
    let mut draft = Draft::new(state, now);
    let context = Context { now, ..Context::default() };
    if look(&mut draft, &context, Look::Alarm).is_ok() {
        let _ = draft.seal(writer(9), true);
    }
}

#[test]
fn a_commit_with_flipped_bits_is_damage_or_folds_or_does_not_but_never_panics() {
    let (steps, mut rng) = (steps(), Rng::new(1));
    let (mut damaged, mut refused) = (0, 0);
    for _ in 0..FLIPS {
        let step = rng.pick(&steps);
        let bytes = flip(&step.commit_bytes, &mut rng);
        match decode::<Commit>(&bytes, SCHEMA_READ_MAX) {
            Err(_) => damaged += 1,
            Ok(commit) => {
                let mut state = step.before.clone();
                match state.apply(step.number, &commit) {
                    Ok(()) => use_it(&state),
                    Err(error) => {
                        assert_eq!(error.commit, step.number);
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(damaged > FLIPS / 10 && refused > FLIPS / 100, "{damaged} damaged, {refused} refused");
}

#[test]
fn a_checkpoint_with_flipped_bits_is_damage_or_goes_on_or_does_not_but_never_panics() {
    let (steps, mut rng) = (steps(), Rng::new(2));
    let (mut damaged, mut refused) = (0, 0);
    for _ in 0..FLIPS {
        let step = rng.pick(&steps);
        let bytes = flip(&step.state_bytes, &mut rng);
        let Ok(mut state) = decode::<State>(&bytes, SCHEMA_READ_MAX) else {
            damaged += 1;
            continue;
        };
        // As the journal does with a checkpoint.
        let plan = step.before.plan();
        let fits = plan.map_or(state.nodes.is_empty(), |plan| state.fits(plan));
        if !fits && step.number > 1 {
            damaged += 1;
            continue;
        }
        if let Some(plan) = plan {
            state.provide_plan(plan.clone());
        }
        use_it(&state);
        match state.apply(step.number, &step.commit) {
            Ok(()) => use_it(&state),
            Err(_) => refused += 1,
        }
    }
    assert!(damaged > FLIPS / 10 && refused > FLIPS / 100, "{damaged} damaged, {refused} refused");
}

#[test]
fn every_truncated_frame_is_damage() {
    for step in steps() {
        for end in 0..step.commit_bytes.len() {
            let cut = decode::<Commit>(&step.commit_bytes[..end], SCHEMA_READ_MAX);
            assert!(matches!(cut, Err(DecodeError::Damaged(_))), "{end}");
        }
        for end in 0..step.state_bytes.len() {
            let cut = decode::<State>(&step.state_bytes[..end], SCHEMA_READ_MAX);
            assert!(matches!(cut, Err(DecodeError::Damaged(_))), "{end}");
        }
    }
}

#[test]
fn a_frame_with_anything_after_its_end_is_damage() {
    for step in steps() {
        let mut longer = step.commit_bytes.clone();
        longer.push(0);
        let read = decode::<Commit>(&longer, SCHEMA_READ_MAX);
        assert_eq!(read, Err(DecodeError::Damaged("bytes after the end".into())));
    }
}

#[test]
fn random_bytes_are_damage_with_and_without_the_head_of_a_frame() {
    let mut rng = Rng::new(3);
    for round in 0..FLIPS {
        let length = rng.index(200);
        let mut bytes: Vec<u8> =
            (0..length).map(|_| u8::try_from(rng.below(256)).unwrap()).collect();
        if round % 2 == 0 {
            bytes.splice(0..0, encode(SCHEMA_READ_MAX, &0_u8)[..3].to_vec());
        }
        assert!(decode::<Commit>(&bytes, SCHEMA_READ_MAX).is_err());
        assert!(decode::<State>(&bytes, SCHEMA_READ_MAX).is_err());
        assert!(Plan::from_bytes(&bytes).is_err());
    }
}

#[test]
fn a_stored_plan_with_flipped_bits_is_damage_or_a_plan_but_never_panics() {
    let mut rng = Rng::new(4);
    for seed in 0..20 {
        let spec = crate::support::spec(plans::random(&mut Rng::new(seed)));
        let bytes = everlog::plan::compile(&spec).unwrap().to_bytes();
        for _ in 0..FLIPS / 20 {
            let _ = Plan::from_bytes(&flip(&bytes, &mut rng));
        }
    }
}

#[test]
fn a_commit_out_of_its_place_does_not_fold() {
    for step in steps() {
        let mut other = step.commit.clone();
        other.first_seq += 1;
        assert!(step.before.clone().apply(step.number, &other).is_err(), "a gap in the sequence");
        assert!(step.before.clone().apply(step.number + 1, &step.commit).is_err(), "a gap");
        let mut twice = step.before.clone();
        twice.apply(step.number, &step.commit).unwrap();
        assert!(twice.apply(step.number, &step.commit).is_err(), "twice");
        if step.number > 1 {
            let mut early = step.commit.clone();
            early.time = step.before.time.minus_ms(1);
            assert!(step.before.clone().apply(step.number, &early).is_err(), "back in time");
        }
    }
}

#[test]
fn a_note_beyond_the_last_event_does_not_fold() {
    let log = Log::driven();
    let mut commit = log.commits[0].clone();
    let note = everlog::event::Note::Looked;
    commit.notes.push(everlog::commit::PlacedNote { after: 2, note });
    assert!(State::default().apply(1, &commit).is_err());
}
