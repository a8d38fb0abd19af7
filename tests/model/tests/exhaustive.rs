//! Every reachable state of every scenario keeps all properties; `-- --nocapture` prints the numbers of states.

use everlog_model::check::{Size, exhaust};
use everlog_model::properties::{ABANDONED, ALL_DISCHARGED, CLOSED_AT_REST, SECOND_LIFE};
use everlog_model::{Scenario, scenarios};

/// Exhausts the scenario and asserts that it was not empty of the events it is meant to show.
fn holds(scenario: Scenario, reached: &[&str]) {
    let size: Size = exhaust(scenario);
    for event in reached {
        assert!(size.reached.contains(event), "\"{event}\" never happens: {size:?}");
    }
}

#[test]
fn alarm_with_two_unanswered_writes() {
    holds(scenarios::alarm_two_unanswered(), &[]);
}

#[test]
fn alarm_while_time_goes_on() {
    holds(scenarios::alarm_in_time(), &[]);
}

#[test]
fn alarm_with_warm_sweeps() {
    holds(scenarios::alarm_warm(), &[]);
}

#[test]
fn give_up_while_a_put_is_under_way() {
    holds(scenarios::give_up(), &[]);
}

#[test]
fn start_delete_and_start_again() {
    holds(scenarios::start(), &[SECOND_LIFE, ABANDONED]);
}

#[test]
fn direct_start_and_delete() {
    holds(scenarios::direct(), &[ABANDONED]);
}

#[test]
fn succession_of_incarnations() {
    holds(scenarios::succession(), &[SECOND_LIFE, ABANDONED]);
}

#[test]
fn close_with_a_message_outstanding() {
    holds(scenarios::close(), &[]);
}

#[test]
fn close_comes_again_while_reopened() {
    holds(scenarios::reopen(), &[CLOSED_AT_REST]);
}

#[test]
fn pause_and_resume() {
    holds(scenarios::pause(), &[]);
}

#[test]
fn relay_over_a_lossy_queue() {
    holds(scenarios::relay(), &[ALL_DISCHARGED]);
}

#[test]
fn steps_one_after_another() {
    holds(scenarios::steps(), &[ALL_DISCHARGED]);
}

#[test]
fn relay_by_redelivery_alone() {
    holds(scenarios::relay_without_alarm(), &[ALL_DISCHARGED]);
}
