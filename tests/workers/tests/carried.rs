//! Each example carries the same workflows to their ends: a retry, a receipt,
//! heartbeats, a failure of no known type, a cancel, dispatches that come twice,
//! a message that is none, and a stop in the middle of a task.
//!
//! Needs python3, node and npm, and installs from their registries.

use std::path::Path;
use std::process::Command;

use everlog::event::Note;
use everlog_worker_tests::{Embedded, Worker, toolchain};
use serde_json::{Value, json};

fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_worker_carries_an_order_to_its_end() {
    let worker = || toolchain::python(folder());
    carry(worker()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_typescript_worker_carries_an_order_to_its_end() {
    let worker = || toolchain::typescript(folder());
    carry(worker()).await;
}

fn order() -> Value {
    json!({ "plan": { "tasks": [
        { "id": "price", "type": "price", "input": { "items": [
            { "sku": "K-7", "cents": 1250, "count": 2 }, { "sku": "T-1", "cents": 99, "count": 1 },
        ] } },
        { "id": "charge", "after": ["price"], "type": "charge", "outputs_of": ["price"],
          "input": { "outage": 1 }, "retry": { "max_attempts": 3, "initial_ms": 50 } },
        { "id": "labels", "after": ["charge"], "type": "render",
          "input": { "pages": 15, "page_ms": 100 },
          "timeouts": { "start_to_close_ms": 60_000, "heartbeat_ms": 600 } },
        { "id": "engrave", "after": ["labels"], "type": "engrave", "allow_failure": true },
        { "id": "proofs", "after": ["engrave"], "type": "render",
          "input": { "pages": 10_000, "page_ms": 100 }, "timeouts": { "heartbeat_ms": 600 } },
    ] } })
}

async fn carry(command: Command) {
    let fleet = Embedded::start().await;
    fleet.tell("order-17", "start", order()).await;
    assert_eq!(fleet.double_dispatches().await, 1, "the first task waits for a worker");
    let worker = Worker::start(command, &fleet.environment());

    let taken = |node: &'static str| {
        move |event: &Value| event["event"] == "attempt_taken" && event["node"] == node
    };
    fleet.until("order-17", taken("proofs")).await;
    fleet.tell("order-17", "cancel", json!({ "reason": "customer called" })).await;
    let history = fleet.until("order-17", |event| event["event"] == "closed").await;
    settled_as_it_should(&history);
    let labels = beats(&fleet, "order-17").await;
    assert!(labels >= 3, "{labels} heartbeats in a second and a half, each 200 ms");
    fleet.until_undone(0).await;

    // What is no dispatch stays for the redrive policy, and holds nothing up.
    fleet.dispatch("not a dispatch").await;
    stopped_in_the_middle(&fleet, worker).await;
}

fn settled_as_it_should(history: &[Value]) {
    let settled: Vec<&Value> =
        history.iter().filter(|event| event["event"] == "attempt_settled").collect();
    let of = |node: &str, attempt: u64| {
        let own = |e: &&&Value| e["node"] == node && e["attempt"] == attempt;
        let mut found = settled.iter().filter(own);
        let event = found.next().unwrap_or_else(|| panic!("{node} {attempt}: {history:#?}"));
        assert!(found.next().is_none(), "{node} {attempt} is settled once");
        (*event).clone()
    };
    assert_eq!(of("price", 1)["output"], json!({ "cents": 2599 }));
    assert_eq!(of("charge", 1)["failure"]["kind"], "gateway");
    assert_eq!(of("charge", 1)["failure"]["details"], json!({ "status": 502 }));
    let charged = of("charge", 2);
    assert_eq!(charged["outcome"], "succeeded");
    assert_eq!(charged["output"]["cents"], 2599);
    assert_eq!(of("labels", 1)["output"], json!({ "pages": 15 }));
    assert_eq!(of("engrave", 1)["failure"]["kind"], "unknown-type");
    assert_eq!(of("proofs", 1)["outcome"], "cancelled");
    assert_eq!(settled.len(), 6);
    let last = history.last().expect("it has events");
    assert_eq!(last["ending"], "cancelled", "{last}");
    let receipts = history.iter().filter(|event| event["event"] == "attempt_taken");
    assert_eq!(receipts.count(), 2, "one for each task with time-outs");
}

async fn beats(fleet: &Embedded, workflow: &str) -> usize {
    let commits = fleet.commits(workflow).await;
    let notes = commits.iter().flat_map(|(_, commit)| &commit.notes);
    notes.filter(|note| matches!(note, Note::Heartbeat(..))).count()
}

/// A worker that is told to end finishes what it has, and takes nothing more.
async fn stopped_in_the_middle(fleet: &Embedded, worker: Worker) {
    let tasks = json!([
        { "id": "labels", "type": "render", "input": { "pages": 10, "page_ms": 100 } },
        { "id": "price", "after": ["labels"], "type": "price", "input": { "items": [] } },
    ]);
    fleet.tell("order-18", "start", json!({ "plan": { "tasks": tasks } })).await;
    fleet.until("order-18", |event| event["event"] == "attempt_taken").await;
    assert!(worker.end().await.success(), "a worker that was told to end has not failed");
    let history = fleet.until("order-18", |event| event["event"] == "attempt_settled").await;
    let settled = history.iter().find(|event| event["event"] == "attempt_settled");
    assert_eq!(settled.expect("it is there")["output"], json!({ "pages": 10 }));
    // The next task waits for another worker, beside what is no dispatch.
    fleet.until_undone(2).await;
    let more = history.iter().filter(|event| event["event"] == "closed").count();
    assert_eq!(more, 0);
}
