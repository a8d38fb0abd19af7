//! All interleavings of a few real processes, and many of a few more.

use crate::explore::{holds, holds_by_seeds, script};
use crate::plays;
use crate::rig::{Rig, on_virtual_time};

#[test]
fn committer_against_sweep_with_one_fault() {
    holds("committer, sweep", &plays::committer_and_sweep(1), 4_000);
}

#[test]
fn committer_against_committer_with_one_fault() {
    holds("two committers", &plays::two_committers(1), 4_000);
}

#[test]
fn one_command_in_two_functions_with_one_fault() {
    holds("redelivered", &plays::redelivered(1), 4_000);
}

#[test]
fn pause_against_resume_with_one_fault() {
    holds("pause, resume", &plays::pause_and_resume(1), 4_000);
}

#[test]
fn pause_against_resume_with_two_faults_by_seeds() {
    holds_by_seeds("pause, resume", &plays::pause_and_resume(2), 300);
}

#[test]
fn close_against_sweep_with_one_fault() {
    holds("close, sweep", &plays::close_and_sweep(1), 4_000);
}

#[test]
fn close_against_committer_with_one_fault() {
    holds("close, committer", &plays::close_and_committer(1), 4_000);
}

#[test]
fn start_against_start() {
    holds("two starts", &plays::two_starts(0), 4_000);
}

#[test]
fn take_over_against_take_over() {
    holds("two take-overs", &plays::two_take_overs(0), 4_000);
}

#[test]
fn start_against_start_against_sweep_by_seeds() {
    let ran = holds_by_seeds("two starts, sweep", &plays::starts_and_sweep(2), 300);
    assert!(ran.second_lives > 0, "no schedule reaches the second life: {ran:?}");
}

#[test]
fn urgent_start_against_sweep_by_seeds() {
    holds_by_seeds("urgent start, sweep", &plays::urgent_start_and_sweep(2), 300);
}

#[test]
fn committers_and_sweeps_by_seeds() {
    holds_by_seeds("crowd", &plays::crowd(2), 300);
}

#[test]
fn a_card_step_of_the_life_before_is_refused() {
    on_virtual_time(async {
        let rig = Rig::new(|store| store).await;
        let play = plays::urgent_start_and_sweep(0);
        let kept = script(&rig, &play, &plays::LATE_CARD_STEP).await;
        assert_eq!(kept, Ok(()));
    });
}
