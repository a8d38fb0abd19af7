//! Running the checker and reporting.
//!
//! What it is: breadth-first exploration of a [`Protocol`] until it is exhausted, or until a property is broken.
//! It promises that [`exhaust`] has visited every reachable state (told apart by 64-bit fingerprints), and that a schedule returned by [`counterexample`] can be replayed and is shortened: needless actions are left out as far as one pass finds them.
//! It deliberately has one thread: results and counts are the same on every run.
//! It fails by a panic that prints the schedule.
//! Where next: the tests.

use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model};

use crate::protocol::Protocol;
use crate::rules::Rules;
use crate::scenario::Scenario;
use crate::vocabulary::Action;

/// What an exhaustive check has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// Different states.
    pub states: usize,
    /// Steps between them.
    pub steps: usize,
    /// The longest shortest schedule.
    pub depth: usize,
    /// Which of the *reached* properties were met.
    pub reached: Vec<&'static str>,
}

/// Visits every reachable state of `scenario` under all rules.
///
/// # Panics
/// If any property is broken; the message is a schedule that breaks it.
pub fn exhaust(scenario: Scenario) -> Size {
    let protocol = Protocol::new(scenario, Rules::ALL);
    let begin = Instant::now();
    let checker =
        protocol.clone().checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let name = protocol.scenario.name;
    let mut reached = Vec::new();
    for property in protocol.properties() {
        let Some(path) = checker.discovery(property.name) else { continue };
        if property.expectation.discovery_is_failure() {
            let schedule = shortened(&protocol, property.name, path.into_actions());
            panic!("{name} breaks \"{}\":\n{}", property.name, listed(&schedule));
        }
        reached.push(property.name);
    }
    let (states, steps) = (checker.unique_state_count(), checker.state_count());
    let depth = checker.max_depth();
    println!(
        "{name}: {states} states, {steps} steps, depth {depth}, {:.1} s",
        begin.elapsed().as_secs_f32()
    );
    Size { states, steps, depth, reached }
}

/// A schedule under which `scenario` breaks `property`, or none if no schedule does.
pub fn counterexample(
    scenario: Scenario,
    rules: Rules,
    property: &'static str,
) -> Option<Vec<Action>> {
    let protocol = Protocol::new(scenario, rules);
    let begin = Instant::now();
    let wanted = HasDiscoveries::AnyOf([property].into());
    let checker = protocol.clone().checker().finish_when(wanted).spawn_bfs().join();
    let states = checker.unique_state_count();
    let (name, seconds) = (protocol.scenario.name, begin.elapsed().as_secs_f32());
    let Some(path) = checker.discovery(property) else {
        println!("{name} keeps \"{property}\": {states} states, {seconds:.1} s");
        return None;
    };
    let schedule = shortened(&protocol, property, path.into_actions());
    let steps = schedule.len();
    println!(
        "{name} breaks \"{property}\" in {steps} steps ({states} states, {seconds:.1} s):\n{}",
        listed(&schedule)
    );
    Some(schedule)
}

/// Leaves out, one at a time from the end, every action without which the property is still broken.
fn shortened(
    protocol: &Protocol,
    property: &'static str,
    mut schedule: Vec<Action>,
) -> Vec<Action> {
    let holds = protocol.property(property).condition;
    for position in (0..schedule.len()).rev() {
        let mut shorter = schedule.clone();
        shorter.remove(position);
        if protocol.replay(&shorter).is_ok_and(|state| !holds(protocol, &state)) {
            schedule = shorter;
        }
    }
    schedule
}

/// A schedule, one action a line.
pub fn listed(schedule: &[Action]) -> String {
    schedule.iter().map(|action| format!("  {action:?}\n")).collect()
}
