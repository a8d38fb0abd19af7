//! The small worlds of the explorer.

use everlog_testing::world::{EPOCH, command};
use serde_json::{Value, json};

use crate::explore::{Move, Play};
use crate::gate::Fate;
use crate::rig::Job;

fn plan(tasks: &[Value]) -> Value {
    let open = json!({ "id": "open", "signal": "never" });
    json!({ "plan": { "tasks": tasks.iter().cloned().chain([open]).collect::<Vec<Value>>() } })
}

fn start(id: &str, sleep_s: u64) -> Value {
    command(id, "", "start", plan(&[json!({ "id": "nap", "sleep_ms": sleep_s * 1_000 })]))
}

fn signal(id: &str, name: &str) -> Value {
    command(id, "", "signal", json!({ "name": name }))
}

fn bare(id: &str, verb: &str) -> Value {
    command(id, "", verb, json!({}))
}

/// A workflow with sleeps that end after 2 and 9 minutes, and sleeps of
/// `first` and `second` seconds that wait for signals.
fn begun(first: u64, second: u64) -> Vec<Value> {
    let waits = [("one", first), ("two", second)].into_iter().flat_map(|(name, sleep_s)| {
        [
            json!({ "id": format!("on-{name}"), "signal": name }),
            json!({
                "id": format!("nap-{name}"), "after": [format!("on-{name}")], "sleep_ms": sleep_s * 1_000,
            }),
        ]
    });
    let naps = [("nap2", 91), ("nap9", 511)];
    let naps = naps.into_iter().map(|(id, s)| json!({ "id": id, "sleep_ms": s * 1_000 }));
    let tasks: Vec<Value> = naps.chain(waits).collect();
    vec![command("begin", "", "start", plan(&tasks))]
}

/// A committer that needs an earlier alarm than what a sweep leaves, and that sweep.
pub fn committer_and_sweep(faults: u8) -> Play {
    let jobs = vec![Job::Command(signal("c1", "one")), Job::Look];
    Play { setup: begun(91, 31), minutes: 5, jobs, faults, ..Play::default() }
}

/// Two committers that each need an earlier alarm, after the sweep.
pub fn two_committers(faults: u8) -> Play {
    let jobs = vec![Job::Command(signal("c1", "one")), Job::Command(signal("c2", "two"))];
    Play { setup: begun(91, 31), minutes: 5, jobs, faults, ..Play::default() }
}

/// One command that reached two functions, and a sweep.
pub fn redelivered(faults: u8) -> Play {
    let one = Job::Command(signal("c1", "one"));
    Play { jobs: vec![one.clone(), one], faults, ..committer_and_sweep(0) }
}

/// Two committers and two sweeps.
pub fn crowd(faults: u8) -> Play {
    let mut play = two_committers(faults);
    play.jobs.extend([Job::Look, Job::Look]);
    play
}

/// Pause against resume; the status of either may be late.
pub fn pause_and_resume(faults: u8) -> Play {
    let jobs = vec![Job::Command(bare("pause", "pause")), Job::Command(bare("resume", "resume"))];
    Play { setup: begun(91, 31), jobs, faults, ..Play::default() }
}

/// A close against a sweep.
pub fn close_and_sweep(faults: u8) -> Play {
    let jobs = vec![Job::Command(bare("close", "cancel")), Job::Look];
    Play { setup: begun(91, 31), minutes: 5, jobs, faults, ..Play::default() }
}

/// A close against a committer that needs an earlier alarm.
pub fn close_and_committer(faults: u8) -> Play {
    let jobs = vec![Job::Command(bare("close", "cancel")), Job::Command(signal("c1", "one"))];
    Play { setup: begun(91, 31), minutes: 5, jobs, faults, ..Play::default() }
}

/// Two starts of one id.
pub fn two_starts(faults: u8) -> Play {
    let jobs = vec![Job::Command(start("s1", 600)), Job::Command(start("s2", 20))];
    Play { jobs, faults, ..Play::default() }
}

/// Two starts that both take over a card whose log has ended.
pub fn two_take_overs(faults: u8) -> Play {
    Play { abandoned: true, ..two_starts(faults) }
}

/// Two starts and a sweep, while the first alarm rings: abandoned, and the next life.
pub fn starts_and_sweep(faults: u8) -> Play {
    let mut play = two_starts(faults);
    play.jobs.push(Job::Look);
    play.passes = 2;
    play
}

/// A start whose timer is due before the first alarm, so that it moves the card first.
pub fn urgent_start_and_sweep(faults: u8) -> Play {
    let deadline = json!({ "deadline": EPOCH.0 + 4_000_000_000_u64 });
    let late = command("late", "", "start", deadline);
    Play {
        jobs: vec![Job::Command(start("s1", 10)), Job::Look, Job::Command(late)],
        faults,
        passes: 2,
        ..Play::default()
    }
}

const fn answered(process: usize) -> Move {
    Move::Write(process, Fate::Answered)
}

/// In [`urgent_start_and_sweep`]: the first start waits with its card step
/// while it is abandoned and the second takes the card over.
pub const LATE_CARD_STEP: [Move; 10] = [
    Move::Begin(0),
    answered(0),
    Move::Pass,
    Move::Begin(1),
    answered(1),
    answered(1),
    Move::Begin(2),
    answered(2),
    answered(2),
    answered(0),
];
