//! The plainest worker: it knows the wire format alone. It takes dispatches in
//! batches, calls each done, and leaves what it can't settle for another time.

use std::time::Duration;

use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, SendMessageBatchRequestEntry};
use everlog::config::SETTLE;
use everlog::fleet::group_id;
use everlog::id::{Namespace, WorkflowId};
use everlog::journal::keys;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::Stack;

/// Starts `count` workers on a task queue; they end when the set is dropped.
#[must_use]
pub fn start(stack: &Stack, queue: &str, count: usize) -> JoinSet<()> {
    let mut workers = JoinSet::new();
    for _ in 0..count {
        workers.spawn(work(stack.clone(), queue.to_owned()));
    }
    workers
}

async fn work(stack: Stack, queue: String) {
    let url = stack.deployed.queues.url(&queue).unwrap_or_else(|| panic!("no queue {queue}"));
    loop {
        let receive = stack.deployed.sqs.receive_message().queue_url(url);
        let receive =
            receive.max_number_of_messages(10).wait_time_seconds(2).visibility_timeout(10);
        let Ok(received) = receive.send().await else {
            tokio::time::sleep(Duration::from_millis(200)).await;
            continue;
        };
        let messages = received.messages.unwrap_or_default();
        let dispatches: Vec<Value> = messages
            .iter()
            .map(|m| serde_json::from_str(m.body().unwrap_or_default()).expect("a dispatch"))
            .collect();
        if dispatches.is_empty() || !settle(&stack, &dispatches).await {
            continue;
        }
        let entries = messages.iter().enumerate().map(|(at, message)| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(at.to_string());
            let entry = entry.set_receipt_handle(message.receipt_handle.clone());
            entry.build().expect("an entry")
        });
        let delete = stack.deployed.sqs.delete_message_batch().queue_url(url);
        // Not deleted, they come again: the settles are repeats then.
        drop(delete.set_entries(Some(entries.collect())).send().await);
    }
}

/// Whether the queue took all settles.
async fn settle(stack: &Stack, dispatches: &[Value]) -> bool {
    let entries = dispatches.iter().enumerate().map(|(at, dispatch)| {
        let command = command(dispatch);
        let text = |name: &str| dispatch[name].as_str().expect("a text").to_owned();
        let workflow = WorkflowId::new(text("workflow")).expect("an id");
        let namespace = Namespace::new(text("namespace")).expect("an id");
        SendMessageBatchRequestEntry::builder()
            .id(at.to_string())
            .message_body(command.to_string())
            .message_group_id(group_id(&keys::partition(&namespace, &workflow)))
            .message_deduplication_id(command["id"].as_str().expect("an id"))
            .build()
            .expect("an entry")
    });
    let url = stack.deployed.queues.url(SETTLE).expect("a queue");
    let send = stack.deployed.sqs.send_message_batch().queue_url(url);
    let sent = send.set_entries(Some(entries.collect())).send().await;
    sent.is_ok_and(|answer| answer.failed().is_empty())
}

fn command(dispatch: &Value) -> Value {
    let key = dispatch["dispatch_key"].as_str().expect("a key");
    json!({
        "id": format!("{key}-settle"),
        "namespace": dispatch["namespace"],
        "workflow": dispatch["workflow"],
        "incarnation": dispatch["incarnation"],
        "command": { "settle": {
            "attempt": {
                "node": dispatch["node"],
                "activation": dispatch["activation"],
                "attempt": dispatch["attempt"],
                "dispatch_key": key,
            },
            "outcome": { "succeeded": { "output": { "done": dispatch["node"] } } },
        } },
    })
}
