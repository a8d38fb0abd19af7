//! Commands, as tests write them.

use serde_json::{Value, json};

/// A command to a workflow of the default namespace.
#[must_use]
pub fn command(id: &str, workflow: &str, verb: Value) -> Value {
    json!({ "id": id, "workflow": workflow, "command": verb })
}

/// The same with one more field (`reply_to`, `after_seq`).
#[must_use]
pub fn with(mut command: Value, field: &str, value: impl Into<Value>) -> Value {
    command[field] = value.into();
    command
}

/// A start with a plan: these tasks one after another.
#[must_use]
pub fn plan_of(tasks: &[&str]) -> Value {
    let task = |(at, id): (usize, &&str)| match at {
        0 => json!({ "id": id }),
        _ => json!({ "id": id, "after": [tasks[at - 1]] }),
    };
    let tasks: Vec<Value> = tasks.iter().enumerate().map(task).collect();
    json!({ "start": { "plan": { "tasks": tasks } } })
}
