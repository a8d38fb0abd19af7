//! The model's schedules on the real code: seeded walks, and all of the smallest.

use crate::casts;
use crate::schedules::{all, walks};

#[test]
fn committers_and_sweeps() {
    walks(&casts::alarm(), 1, 300);
}

#[test]
fn committers_and_sweeps_with_two_unanswered_writes() {
    walks(&casts::alarm_two_unanswered(), 1, 300);
}

#[test]
fn committers_and_sweeps_while_time_goes_on() {
    walks(&casts::alarm_in_time(), 1, 300);
}

#[test]
fn functions_that_give_up_at_a_put() {
    walks(&casts::give_up(), 1, 300);
}

#[test]
fn pause_against_resume() {
    walks(&casts::pause(), 1, 300);
}

#[test]
fn close_against_committer_and_sweep() {
    walks(&casts::close(), 1, 300);
}

#[test]
fn start_against_start_against_sweep() {
    let ran = walks(&casts::start(), 1, 300);
    assert!(ran.second_lives > 0, "no schedule reaches the second life: {ran:?}");
}

#[test]
fn every_schedule_of_a_committer_and_a_sweep() {
    all(&casts::committer_and_sweep(), 5_000);
}
