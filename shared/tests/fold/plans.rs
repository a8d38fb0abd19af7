//! Random plans.

use serde_json::{Value, json};

use crate::support::random::Rng;
use crate::support::{HOUR, MINUTE};

pub const SIGNALS: [&str; 3] = ["red", "green", "blue"];

/// A plan of up to 30 nodes, of every kind of node, trigger and bound.
pub fn random(rng: &mut Rng) -> Value {
    let count = 1 + rng.index(30);
    let mut tasks: Vec<Value> = Vec::new();
    for at in 0..count {
        let mut task = json!({"id": format!("n{at}")});
        let mut after: Vec<String> = Vec::new();
        for _ in 0..rng.below(4) {
            if at > 0 {
                after.push(format!("n{}", rng.index(at)));
            }
        }
        after.sort();
        after.dedup();
        if !after.is_empty() {
            task["after"] = json!(after);
            task["when"] = json!(rng.pick(&["success", "success", "failure", "always"]));
        }
        task["allow_failure"] = json!(rng.chance(15));
        match rng.below(10) {
            0 | 1 => task["sleep_ms"] = json!(*rng.pick(&[0, 0, 1_500, MINUTE, HOUR])),
            2 | 3 => {
                task["signal"] = json!(rng.pick(&SIGNALS));
                if rng.chance(50) {
                    task["signal_timeout_ms"] = json!(1 + rng.below(HOUR));
                }
            }
            _ => work(rng, &mut task),
        }
        tasks.push(task);
    }
    let mut plan = json!({ "tasks": tasks });
    if rng.chance(30) {
        plan["max_concurrency"] = json!(1 + rng.below(4));
    }
    if rng.chance(20) {
        plan["attempts_max"] = json!(1 + rng.below(40));
    }
    if rng.chance(15) {
        plan["deadline_ms"] = json!(1 + rng.below(3 * HOUR));
    }
    plan
}

fn work(rng: &mut Rng, task: &mut Value) {
    task["retry"] = json!({
        "max_attempts": 1 + rng.below(4),
        "initial_ms": rng.pick(&[0, 0, 100, 5_000, 2 * MINUTE]),
        "max_ms": 5 * MINUTE,
        "non_retryable": if rng.chance(30) { json!(["fatal"]) } else { json!([]) },
    });
    let mut timeouts = json!({});
    for name in ["schedule_to_start_ms", "start_to_close_ms", "heartbeat_ms"] {
        if rng.chance(30) {
            timeouts[name] = json!(1 + rng.below(HOUR));
        }
    }
    task["timeouts"] = timeouts;
}
