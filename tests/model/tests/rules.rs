//! Each rule is needed: without it, the checker finds a schedule that breaks a property.

use everlog_model::check::counterexample;
use everlog_model::properties::*;
use everlog_model::{Rules, Scenario, scenarios};

fn breaks(scenario: Scenario, rules: Rules, property: &'static str) {
    let name = scenario.name;
    let found = counterexample(scenario, rules, property);
    assert!(found.is_some(), "{name} keeps \"{property}\" without the rule");
}

macro_rules! needed {
    ($($rule:ident: $scenario:ident breaks $property:ident;)*) => {
        $(#[test]
        fn $rule() {
            breaks(scenarios::$scenario(), Rules { $rule: false, ..Rules::ALL }, $property);
        })*
    };
}

needed! {
    put_if_absent: alarm breaks ONE_COMMIT_PER_NUMBER;
    unknown_is_put_again: alarm breaks ANSWERED_IS_APPLIED;
    fresh_writer: give_up breaks ANSWERED_IS_APPLIED;
    recognise_repeats: relay_without_alarm breaks APPLIED_ONCE;
    look_back_over_incarnations: start breaks APPLIED_ONCE;
    card_first: alarm breaks ALARM;
    bump: alarm breaks ALARM;
    bump_checks_alarm: alarm breaks ALARM;
    card_step_after_lost_put: alarm breaks ALARM;
    raise_checks_rev: alarm breaks ALARM;
    rev_read_before_put: alarm breaks ALARM;
    sweep_always_commits: alarm breaks ALARM;
    repair_commits: start breaks ALARM;
    card_fenced: start breaks NO_FOREIGN_CARD;
    rev_survives_start: succession breaks REV_GROWS;
    as_of_compared: pause breaks STATUS_GROWS;
    redo_leaves_alarm: reopen breaks ALARM;
    sweep_shows_status: direct breaks SETTLES;
    relay_before_done: relay_without_alarm breaks SETTLES;
    relay_repeats: relay_without_alarm breaks SETTLES;
    look_resends: relay breaks SETTLES;
}

/// Each of the two fences is enough for the alarm; without both, a sweep of one incarnation silences the next.
#[test]
fn neither_fence_nor_growing_rev() {
    let rules = Rules { card_fenced: false, rev_survives_start: false, ..Rules::ALL };
    breaks(scenarios::succession(), rules, ALARM);
}

/// The alarm alone does not repair the card of a close or delete whose process died: a sweep may take the alarm away
/// on the strength of a commit before that one. It takes the message that comes again, or the wake.
#[test]
fn repeat_or_wake() {
    breaks(scenarios::direct_without_wake(), Rules::ALL, SETTLES);
}
