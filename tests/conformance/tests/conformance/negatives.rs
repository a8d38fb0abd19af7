//! The checks can fail: a store that forgets one rule is found out.
//!
//! [`found`] looks for a violation on the table, without any model;
//! [`parts`] for a place where the real code parts from the model.

use crate::casts::{self, Cast};
use crate::explore::{self, Move, Play};
use crate::mutations::{Without, without};
use crate::plays;
use crate::rig::{Rig, on_virtual_time};
use crate::schedules::{Ran, walk};

/// Some interleaving of `play` without `rule` is a violation that says `breaks`.
fn found(rule: Without, play: &Play, breaks: &str) {
    let result = on_virtual_time(async {
        let rig = Rig::new(|store| without(rule, store)).await;
        let (ran, result) = explore::every(&rig, play, 4_000).await;
        println!("without {rule:?}: {ran:?}");
        result
    });
    says(rule, result, breaks);
}

/// The same, for one interleaving.
fn found_in(rule: Without, play: &Play, moves: &[Move], breaks: &str) {
    let result = on_virtual_time(async {
        let rig = Rig::new(|store| without(rule, store)).await;
        explore::script(&rig, play, moves).await
    });
    says(rule, result, breaks);
}

fn says(rule: Without, result: Result<(), String>, breaks: &str) {
    let Err(why) = result else { panic!("nothing is found without {rule:?}") };
    println!("{why}");
    assert!(why.contains(breaks), "without {rule:?} it should break {breaks:?}:\n{why}");
}

/// Some seed of `cast` without `rule` parts from the model.
fn parts(rule: Without, cast: &Cast) {
    on_virtual_time(async {
        let rig = Rig::new(|store| without(rule, store)).await;
        let mut ran = Ran::default();
        for seed in 1..=200 {
            // A panic of the fold would be a find as well, but none is expected.
            if let Err(why) = walk(&rig, cast, seed, &mut ran).await {
                let last = why.lines().last().unwrap_or_default();
                println!("without {rule:?}, seed {seed}: {last}");
                return;
            }
        }
        panic!("nothing is found without {rule:?} in {ran:?}");
    });
}

#[test]
fn an_alarm_that_moves_whatever_alarm_rev_is_breaks_the_invariant() {
    found(Without::RevCompared, &plays::committer_and_sweep(0), "alarm: the card's");
}

#[test]
fn a_missing_bump_breaks_the_invariant() {
    found(Without::Bump, &plays::committer_and_sweep(0), "alarm: the card's");
}

#[test]
fn a_bump_that_does_not_ask_for_the_alarm_breaks_the_invariant() {
    found(Without::BumpChecksAlarm, &plays::committer_and_sweep(0), "alarm: the card's");
}

#[test]
fn a_commit_before_its_card_breaks_the_invariant() {
    found(Without::CardFirst, &plays::committer_and_sweep(0), "alarm: the card's");
}

#[test]
fn a_put_that_replaces_is_seen() {
    found(Without::PutIfAbsent, &plays::committer_and_sweep(0), "a commit was replaced");
}

#[test]
fn a_card_made_over_another_is_seen() {
    found(Without::CreateIfAbsent, &plays::two_starts(0), "has not ended");
}

#[test]
fn a_take_over_of_the_living_is_seen() {
    found(Without::TakeOverCompares, &plays::two_take_overs(0), "has not ended");
}

#[test]
fn a_status_over_a_later_one_is_seen() {
    found(Without::AsOf, &plays::pause_and_resume(0), "status: ");
}

#[test]
fn a_write_on_the_card_of_another_life_is_seen() {
    let play = plays::urgent_start_and_sweep(0);
    found_in(Without::Fence, &play, &plays::LATE_CARD_STEP, "foreign card");
}

#[test]
fn each_of_them_parts_from_the_model() {
    parts(Without::RevCompared, &casts::alarm());
    parts(Without::RevCompared, &casts::close());
    parts(Without::Bump, &casts::alarm());
    parts(Without::BumpChecksAlarm, &casts::alarm_two_unanswered());
    parts(Without::CardFirst, &casts::alarm());
    parts(Without::PutIfAbsent, &casts::alarm());
    parts(Without::AsOf, &casts::pause());
    parts(Without::CreateIfAbsent, &casts::start());
}
