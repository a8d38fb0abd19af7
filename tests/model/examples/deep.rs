//! Larger worlds than the tests have time for: `cargo run --release -p everlog-model --example deep [name]`.
//!
//! Takes some minutes and up to ten gigabytes; run it when the protocol changes.

use everlog_model::check::exhaust;
use everlog_model::{Few, Scenario, scenarios};

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for scenario in deep().into_iter().filter(|scenario| scenario.name.contains(&wanted)) {
        exhaust(scenario);
    }
}

fn deep() -> Vec<Scenario> {
    let mut twice = scenarios::alarm();
    twice.name = "deep alarm: a sweep that looks twice";
    twice.processes[3].looks = 2;
    let mut start = scenarios::start();
    start.name = "deep start: a sweep that looks twice";
    start.processes[3].looks = 2;
    let mut steps = scenarios::steps();
    (steps.name, steps.now_max) = ("deep steps: looks come due", 6);
    vec![
        twice,
        start,
        steps,
        Scenario {
            name: "deep alarm in time: one unanswered",
            unanswered: 1,
            ..scenarios::alarm_in_time()
        },
        Scenario { name: "deep warm: two unanswered", unanswered: 2, ..scenarios::alarm_warm() },
        Scenario { name: "deep close: two unanswered", unanswered: 2, ..scenarios::close() },
        Scenario { name: "deep reopen: two unanswered", unanswered: 2, ..scenarios::reopen() },
        Scenario { name: "deep direct: two unanswered", unanswered: 2, ..scenarios::direct() },
        Scenario {
            name: "deep succession: two unanswered",
            unanswered: 2,
            ..scenarios::succession()
        },
        Scenario { name: "deep relay: comes again", again: Few::of(&[0]), ..scenarios::relay() },
    ]
}
