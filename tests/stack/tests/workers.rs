//! The example workers in Python and TypeScript on the deployed fleet: receipts
//! by direct invocation, outcomes through the queue `settle`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use everlog::config::SETTLE;
use everlog::event::{Ending, Event, Outcome};
use everlog_stack_tests::{Stack, turn};
use everlog_testing::proof;
use everlog_worker_tests::{Worker, toolchain};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(240);

#[tokio::test(flavor = "multi_thread")]
async fn the_python_worker_carries_an_order_through_the_deployed_fleet() {
    carry(toolchain::python(Path::new(env!("CARGO_TARGET_TMPDIR")))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_typescript_worker_carries_an_order_through_the_deployed_fleet() {
    carry(toolchain::typescript(Path::new(env!("CARGO_TARGET_TMPDIR")))).await;
}

fn order() -> Value {
    json!({ "name": "order", "tasks": [
        { "id": "price", "type": "price", "input": { "items": [
            { "sku": "K-7", "cents": 1250, "count": 2 }, { "sku": "T-1", "cents": 99, "count": 1 },
        ] } },
        { "id": "charge", "after": ["price"], "type": "charge", "outputs_of": ["price"],
          "input": { "outage": 1 }, "retry": { "max_attempts": 3, "initial_ms": 50 } },
        { "id": "labels", "after": ["charge"], "type": "render",
          "input": { "pages": 15, "page_ms": 100 },
          "timeouts": { "start_to_close_ms": 60_000, "heartbeat_ms": 3_000 } },
        { "id": "engrave", "after": ["labels"], "type": "engrave", "allow_failure": true,
          "retry": { "max_attempts": 1 } },
    ] })
}

async fn carry(command: Command) {
    let _turn = turn().await;
    let stack = Stack::connect().await;
    let url = |queue: &str| stack.deployed.queues.url(queue).expect("a queue").to_owned();
    let environment = [
        ("EVERLOG_TASK_QUEUE_URL", url("default")),
        ("EVERLOG_SETTLE_QUEUE_URL", url(SETTLE)),
        ("EVERLOG_SETTLE_FUNCTION", stack.deployed.function_name("settle")),
    ];
    let worker = Worker::start(command, &environment);
    let workflow = Stack::fresh("order");
    stack.start(&workflow, &order()).await;
    let (key, loaded) = stack.ended(&workflow, LIMIT).await;
    assert_eq!(loaded.state.ending(), Some(Ending::Completed));
    let plan = loaded.state.plan().expect("a plan").clone();
    let commits = proof::commits(&stack.fleet, &key).await;
    let facts = proof::history(&commits, &plan);
    assert_eq!(facts.attempts, 5, "one attempt a task, and one more of the charge");
    let events = commits.iter().flat_map(|(_, commit)| &commit.events);
    let taken = events.clone().filter(|event| matches!(event, Event::Receipt(..))).count();
    assert!(taken >= 1, "the task with time-outs has a receipt");
    let kinds: Vec<String> = events
        .filter_map(|event| match event {
            Event::Settled(_, _, Outcome::Failed(failure), _) => Some(failure.kind.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, ["gateway", "unknown-type"]);
    assert!(worker.end().await.success(), "it ends when it is told to");
}
