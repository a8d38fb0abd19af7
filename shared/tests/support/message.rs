//! What callers and workers write, and the ids in it.

use everlog::command::{Command, parse};
use everlog::id::{DispatchKey, Incarnation, NodeId, WriterId};
use everlog::plan::{Plan, PlanRef, PlanSpec, StoredPlan};
use serde_json::{Value, json};

use super::{LIFE, PARTITION};

/// The command as its message would be read.
#[track_caller]
pub fn command(id: &str, verb: &Value) -> Command {
    let body = json!({"id": id, "workflow": "w", "command": verb}).to_string();
    parse(&body).unwrap_or_else(|unreadable| panic!("{}", unreadable.invalid))
}

/// Where the journal would put a plan: small ones in the start, others in chunks.
pub fn reference(plan: &Plan) -> PlanRef {
    let bytes = plan.to_bytes();
    if bytes.len() <= everlog::limits::PLAN_INLINE_BYTES_MAX {
        return PlanRef::Inline(bytes);
    }
    let (upload, hash) = (DispatchKey([9; 16]), Plan::hash(&bytes));
    PlanRef::Stored(StoredPlan { upload, hash, chunks: 1 })
}

pub fn spec(plan: Value) -> PlanSpec {
    serde_json::from_value(plan).expect("a plan")
}

/// `"c:a,b"` is task c after a and b.
pub fn task_list(tasks: &[&str]) -> Value {
    let task = |text: &&str| match text.split_once(':') {
        Some((id, after)) => json!({"id": id, "after": after.split(',').collect::<Vec<_>>()}),
        None => json!({"id": text}),
    };
    tasks.iter().map(task).collect()
}

pub fn node(name: &str) -> NodeId {
    NodeId::new(name).expect("an id")
}

pub fn key_of(name: &str, activation: u32, n: u32) -> DispatchKey {
    DispatchKey::derive(PARTITION, Incarnation(LIFE), 1, &node(name), activation, n)
}

pub fn attempt(name: &str, n: u32) -> Value {
    json!({"node": name, "attempt": n, "dispatch_key": key_of(name, 1, n)})
}

pub fn intent(name: &str, n: u32) -> Value {
    json!({"node": name, "attempt": n, "type": "work"})
}

pub fn owner(generation: u64) -> Value {
    let token = format!("t{generation}");
    json!({"owner": "engine", "instance": "i1", "generation": generation, "token": token})
}

pub fn succeeded() -> Value {
    json!({"succeeded": {}})
}

pub fn failed(kind: &str) -> Value {
    json!({"failed": {"kind": kind}})
}

pub fn writer(n: u64) -> WriterId {
    WriterId(u128::from(n).to_be_bytes())
}

pub fn index(n: u64) -> usize {
    usize::try_from(n).expect("a small number")
}
