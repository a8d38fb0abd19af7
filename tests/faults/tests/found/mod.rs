//! What the tests of found faults share.

#![allow(dead_code, clippy::unwrap_used, reason = "each file of tests uses some of it")]

use std::sync::Arc;
use std::time::Duration;

use everlog::answer::Reply;
use everlog::fleet::{Fleet, Function, Message};
use everlog_local::stack;
use everlog_local::transport::Handler;
use everlog_testing::World;
use serde_json::{Value, json};

pub async fn ask(fleet: &Fleet, body: &Value) -> Reply {
    fleet.direct(Function::Append, &body.to_string()).await.expect("an answer").reply
}
pub fn message(id: &str, body: &Value) -> Message {
    Message { id: id.into(), body: body.to_string(), receive_count: 1, ..Message::default() }
}
/// Dies right after (or before) its `nth` put of a commit.
pub fn dies(inner: Handler, nth: usize, after: bool) -> Handler {
    let seen = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    Arc::new(move |call| {
        let text = String::from_utf8_lossy(&call.body).into_owned();
        let commit = call.target.ends_with(".PutItem") && text.contains("\"c#");
        if !commit {
            return inner(call);
        }
        if seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1 != nth {
            return inner(call);
        }
        let inner = inner.clone();
        Box::pin(async move {
            if after {
                let _ = inner(call).await;
            }
            std::future::pending().await
        })
    })
}
pub async fn dispatches(world: &World) -> Vec<everlog::message::Dispatch> {
    let url = stack::queue_url("default");
    let receive =
        everlog_sqs::Receive { max_messages: 10, wait_s: Some(0), visibility_s: Some(43_200) };
    let mut all = Vec::new();
    loop {
        let m = world.backend.sqs().receive(&url, receive).await.unwrap();
        if m.is_empty() {
            return all;
        }
        for m in m {
            all.push(serde_json::from_str(&m.body).unwrap());
            world.backend.sqs().delete(&url, &m.receipt_handle).await.unwrap();
        }
    }
}
pub fn settle(d: &everlog::message::Dispatch, outcome: Value) -> Value {
    json!({ "id": format!("s-{}", d.node), "workflow": d.workflow, "command": { "settle": {
        "attempt": { "node": d.node, "activation": 1, "attempt": d.attempt, "dispatch_key": d.dispatch_key },
        "outcome": outcome } } })
}
pub fn big(bytes: usize) -> Value {
    json!("x".repeat(bytes))
}

pub async fn closes(world: &World, limit_s: u64) -> u64 {
    for s in 0..limit_s {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if world.load("w").await.1.state.ending().is_some() {
            return s + 1;
        }
    }
    limit_s
}
