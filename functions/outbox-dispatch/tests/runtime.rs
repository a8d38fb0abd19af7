//! The binary `outbox-dispatch` on the Lambda Runtime API, with a table and queues.

use everlog::fleet::Function as Name;
use everlog_runtime_tests::{Function, Outcome, Record, Stack, batch, command, plan_of};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_outbox-dispatch");
const NONE: [&str; 0] = [];

/// `count` workflows from `w-0` on, their first dispatches (in that order),
/// which no worker has taken up, and the function.
async fn fleet(count: u32) -> (Stack, Vec<Value>, Function) {
    let stack = Stack::start().await;
    let mut dispatches = Vec::new();
    for n in 0..count {
        let start = command("start", &format!("w-{n}"), plan_of(&["only"]));
        stack.setup(Name::Append, &start).await;
        dispatches.extend(stack.bodies("default").await);
    }
    let outbox = Function::start(BINARY, &stack).await;
    (stack, dispatches, outbox)
}

/// What relay leaves over of the first commit of a dispatch's workflow.
fn left_over(dispatch: &Value) -> Value {
    json!({ "namespace": "default", "workflow": dispatch["workflow"],
        "incarnation": dispatch["incarnation"], "commit": 1 })
}

fn records(dispatches: &[Value]) -> impl Iterator<Item = Record> {
    let left_overs = dispatches.iter().map(left_over).enumerate();
    left_overs.map(|(n, left_over)| Record::new(format!("m-{n}"), left_over))
}

#[tokio::test]
async fn what_nobody_has_taken_up_goes_out_under_the_same_key_and_nothing_is_reported() {
    let (stack, dispatches, mut outbox) = fleet(2).await;
    assert_eq!(outbox.serve(batch("outbox", records(&dispatches))).await, NONE);
    assert_eq!(stack.bodies("default").await, dispatches);
    assert_eq!(stack.last_commit("w-0").await, 1, "it writes nothing");
}

#[tokio::test]
async fn what_a_worker_has_taken_up_is_not_sent_again() {
    let (stack, dispatches, mut outbox) = fleet(1).await;
    let attempt = json!({ "node": "only", "attempt": 1,
        "dispatch_key": dispatches[0]["dispatch_key"] });
    let receipt = json!({ "receipt": { "attempt": attempt, "worker": "bee" } });
    stack.setup(Name::Settle, &command("r", "w-0", receipt)).await;
    assert_eq!(outbox.serve(batch("outbox", records(&dispatches))).await, NONE);
    assert!(stack.bodies("default").await.is_empty());
}

#[tokio::test]
async fn a_message_that_is_not_json_is_kept_with_the_reason_and_its_nine_neighbours_are_served() {
    let (stack, dispatches, mut outbox) = fleet(10).await;
    let records = records(&dispatches).map(|record| match record.id.as_str() {
        "m-0" => Record { body: "none".into(), ..record },
        _ => record,
    });
    assert_eq!(outbox.serve(batch("outbox", records)).await, NONE);
    assert_eq!(stack.bodies("default").await, dispatches[1..]);
    let letters = stack.bodies("dead-letter").await;
    assert_eq!(letters.len(), 1);
    assert_eq!((&letters[0]["queue"], &letters[0]["body"]), (&json!("outbox"), &json!("none")));
}

#[tokio::test]
async fn a_commit_that_cannot_be_read_is_reported_alone() {
    let (stack, dispatches, mut outbox) = fleet(3).await;
    stack.outage_of("w-1");
    assert_eq!(outbox.serve(batch("outbox", records(&dispatches))).await, ["m-1"]);
    stack.end_outage();
    let sent = stack.bodies("default").await;
    assert_eq!(sent, [dispatches[0].clone(), dispatches[2].clone()]);
}

#[tokio::test]
async fn a_dispatch_that_its_queue_refuses_is_reported_and_goes_out_when_the_message_comes_again() {
    let (stack, dispatches, mut outbox) = fleet(1).await;
    let url = stack.queue_url("default").to_owned();
    stack.outage(move |_, body| body.contains(&url));
    assert_eq!(outbox.serve(batch("outbox", records(&dispatches))).await, ["m-0"]);
    stack.end_outage();
    assert!(stack.bodies("default").await.is_empty());
    assert!(stack.bodies("dead-letter").await.is_empty());
    assert_eq!(outbox.serve(batch("outbox", records(&dispatches))).await, NONE);
    assert_eq!(stack.bodies("default").await, dispatches);
}

#[tokio::test]
async fn a_direct_command_is_refused() {
    let (stack, _, mut outbox) = fleet(0).await;
    let outcome = outbox.invoke(command("c-1", "w-9", json!({ "start": {} }))).await;
    let unreadable = matches!(&outcome, Outcome::Failed { kind, .. } if kind == "Unreadable");
    assert!(unreadable, "{outcome:?}");
    assert_eq!(stack.history("w-9").await, NONE);
}

#[tokio::test]
async fn a_message_without_an_id_fails_the_invocation_before_anything_is_sent() {
    let (stack, dispatches, mut outbox) = fleet(2).await;
    let mut bad = batch("outbox", records(&dispatches));
    bad["Records"][1].as_object_mut().unwrap().remove("messageId");
    let outcome = outbox.invoke(bad).await;
    let unreadable = matches!(&outcome, Outcome::Failed { kind, .. } if kind == "Unreadable");
    assert!(unreadable, "{outcome:?}");
    assert!(stack.bodies("default").await.is_empty());
}
