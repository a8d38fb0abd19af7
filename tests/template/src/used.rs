//! The code's side of the permissions: what each function asks of DynamoDB and
//! SQS, recorded while it asks.
//!
//! One world, five instances of the fleet, one a function, each behind a client
//! that takes notes. Queue events and the schedule invoke them (`rig`); the
//! scenes go wherever a function makes a request that it does not make
//! elsewhere: outage, damage, refusing queues, cards without a log. What is
//! recorded was sent by the SDK's own client, so nothing here lists requests.
//!
//! It promises that a request it does not know is not passed over: the recorder
//! panics. It can't promise that no path was missed; a permission that no scene
//! needs is then found superfluous, and that is the moment to look for the path.

mod beside;
mod rig;
mod scenes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde_json::Value;

use crate::Grant;

pub use beside::{caller, operator, worker};

/// Permissions by function.
pub type Used = BTreeMap<&'static str, BTreeSet<Grant>>;

/// What the five functions use. Recorded once a process, in some seconds.
///
/// # Panics
/// If a scene does not end as it should.
pub fn recorded() -> &'static Used {
    static USED: OnceLock<Used> = OnceLock::new();
    USED.get_or_init(|| in_paused_time(scenes::all()))
}

/// Runs something on a runtime of its own, whose clock is virtual.
fn in_paused_time<T>(what: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(what)
}

/// The permissions that a request needs.
///
/// # Panics
/// If it is not known here which one that is.
fn needs(target: &str, body: &[u8]) -> Vec<Grant> {
    let (service, operation) = target.rsplit_once('.').expect("a target");
    let request: Value = serde_json::from_slice(body).expect("JSON");
    if service.starts_with("DynamoDB") {
        if operation == "TransactWriteItems" {
            let actions = request["TransactItems"].as_array().expect("actions").iter();
            let names = actions.flat_map(|action| action.as_object().expect("an action").keys());
            return names.map(|name| in_transaction(name)).collect();
        }
        let known = ["GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "Scan"];
        assert!(known.contains(&operation), "which permission does {target} need?");
        let resource = match request["IndexName"].as_str() {
            Some(index) => format!("table/index/{index}"),
            None => "table".into(),
        };
        return vec![Grant::new(format!("dynamodb:{operation}"), resource)];
    }
    // A batch is the same action as one.
    let action = match operation {
        "SendMessage" | "SendMessageBatch" => "sqs:SendMessage",
        "ChangeMessageVisibility" | "ChangeMessageVisibilityBatch" => "sqs:ChangeMessageVisibility",
        "ReceiveMessage" => "sqs:ReceiveMessage",
        "DeleteMessage" | "DeleteMessageBatch" => "sqs:DeleteMessage",
        _ => panic!("which permission does {target} need?"),
    };
    let url = request["QueueUrl"].as_str().expect("a queue");
    vec![Grant::new(action, format!("queue {}", rig::logical(url)))]
}

/// The permission that one action of a transaction needs.
fn in_transaction(action: &str) -> Grant {
    let needs = match action {
        "ConditionCheck" => "ConditionCheckItem",
        "Delete" => "DeleteItem",
        "Put" => "PutItem",
        "Update" => "UpdateItem",
        _ => panic!("which permission does {action} need?"),
    };
    Grant::new(format!("dynamodb:{needs}"), "table")
}
