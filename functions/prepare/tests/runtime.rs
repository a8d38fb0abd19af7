//! The binary `prepare` on the Lambda Runtime API, with a table and queues.

use everlog::fleet::Function as Name;
use everlog_runtime_tests::{Function, Outcome, Record, Stack, batch, command, with};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_prepare");
const NONE: [&str; 0] = [];

/// The driven workflows `w-0` to `w-9`, just started, and the function.
async fn fleet() -> (Stack, Function) {
    let stack = Stack::start().await;
    for n in 0..10 {
        let start = command("start", &format!("w-{n}"), json!({ "start": {} }));
        stack.setup(Name::Append, &start).await;
    }
    let prepare = Function::start(BINARY, &stack).await;
    (stack, prepare)
}

fn prepare(workflow: &str, node: &str) -> Value {
    let verb = json!({ "prepare": { "intent": { "node": node, "type": "bill", "input": [1] } } });
    command(&format!("prepare-{node}"), workflow, verb)
}

/// A message of the workflow's own group.
fn message(id: &str, workflow: &str, body: impl ToString) -> Record {
    Record::new(id, body).in_group(format!("default#{workflow}"))
}

#[tokio::test]
async fn a_good_fifo_batch_reserves_and_dispatches_and_is_not_reported() {
    let (stack, mut function) = fleet().await;
    let served = function
        .serve(batch(
            "prepare",
            [
                message("m-1", "w-1", prepare("w-1", "a")),
                message("m-2", "w-2", prepare("w-2", "a")),
                message("m-3", "w-1", prepare("w-1", "b")),
            ],
        ))
        .await;
    assert_eq!(served, NONE);
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared", "attempt_prepared"]);
    assert_eq!(stack.last_commit("w-1").await, 2, "both in one commit");
    assert_eq!(stack.history("w-2").await, ["started", "attempt_prepared"]);
    let dispatches = stack.bodies("default").await;
    assert_eq!(dispatches.len(), 3);
    assert!(dispatches.iter().all(|d| d["type"] == "bill" && d["input"] == json!([1])));
}

#[tokio::test]
async fn a_message_that_is_not_json_is_kept_with_the_reason_and_its_nine_neighbours_are_served() {
    let (stack, mut function) = fleet().await;
    let messages = (0..10).map(|n| {
        let workflow = format!("w-{n}");
        let body = if n == 3 { "]".to_owned() } else { prepare(&workflow, "a").to_string() };
        message(&format!("m-{n}"), &workflow, body)
    });
    assert_eq!(function.serve(batch("prepare", messages)).await, NONE);
    for n in 0..10 {
        let prepared = stack.history(&format!("w-{n}")).await.len() == 2;
        assert_eq!(prepared, n != 3, "w-{n}");
    }
    let letters = stack.bodies("dead-letter").await;
    assert_eq!(letters.len(), 1);
    assert_eq!((&letters[0]["queue"], &letters[0]["body"]), (&json!("prepare"), &json!("]")));
}

#[tokio::test]
async fn a_reservation_that_is_refused_is_answered_and_not_reported() {
    let (stack, mut function) = fleet().await;
    let missing = with(prepare("nobody", "a"), "reply_to", "answers");
    let other = message("m-2", "w-1", prepare("w-1", "a"));
    let served = function.serve(batch("prepare", [message("m-1", "nobody", missing), other])).await;
    assert_eq!(served, NONE);
    let answers = stack.bodies("answers").await;
    assert_eq!(answers[0]["rejection"]["kind"], "not_found");
    assert!(stack.bodies("dead-letter").await.is_empty());
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared"]);
}

#[tokio::test]
async fn a_command_that_waits_is_reported_with_the_rest_of_its_group_and_other_groups_are_served() {
    let (stack, mut function) = fleet().await;
    let served = function
        .serve(batch(
            "prepare",
            [
                message("m-1", "w-1", with(prepare("w-1", "a"), "after_seq", 2)),
                message("m-2", "w-2", with(prepare("w-2", "a"), "after_seq", 1)),
                message("m-3", "w-1", prepare("w-1", "b")),
            ],
        ))
        .await;
    assert_eq!(served, ["m-1", "m-3"]);
    assert_eq!(stack.history("w-1").await, ["started"]);
    assert_eq!(stack.history("w-2").await, ["started", "attempt_prepared"]);
}

#[tokio::test]
async fn a_workflow_that_dynamodb_fails_for_is_reported_whole_and_others_are_served() {
    let (stack, mut function) = fleet().await;
    stack.outage_of("w-1");
    let served = function
        .serve(batch(
            "prepare",
            [
                message("m-1", "w-1", prepare("w-1", "a")),
                message("m-2", "w-2", prepare("w-2", "a")),
                message("m-3", "w-1", prepare("w-1", "b")),
            ],
        ))
        .await;
    stack.end_outage();
    assert_eq!(served, ["m-1", "m-3"]);
    assert_eq!(stack.history("w-1").await, ["started"]);
    assert_eq!(stack.history("w-2").await, ["started", "attempt_prepared"]);
}

#[tokio::test]
async fn a_dispatch_that_its_queue_refuses_goes_by_the_outbox_queue() {
    let (stack, mut function) = fleet().await;
    let url = stack.queue_url("default").to_owned();
    stack.outage(move |_, body| body.contains(&url));
    let batch = batch("prepare", [message("m-1", "w-1", prepare("w-1", "a"))]);
    assert_eq!(function.serve(batch).await, NONE);
    stack.end_outage();
    assert!(stack.bodies("default").await.is_empty());
    let left_over = &stack.bodies("outbox").await[0];
    assert_eq!((&left_over["workflow"], &left_over["commit"]), (&json!("w-1"), &json!(2)));
}

#[tokio::test]
async fn a_dispatch_that_no_queue_takes_gives_the_message_back_and_goes_out_when_it_comes_again() {
    let (stack, mut function) = fleet().await;
    stack.outage(|target, _| target.starts_with("AmazonSQS"));
    let message = message("m-1", "w-1", prepare("w-1", "a"));
    assert_eq!(function.serve(batch("prepare", [message.clone()])).await, ["m-1"]);
    stack.end_outage();
    assert!(stack.bodies("default").await.is_empty());
    assert_eq!(function.serve(batch("prepare", [message.again(2, 5_000)])).await, NONE);
    assert_eq!(stack.bodies("default").await.len(), 1);
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared"], "reserved once");
}

#[tokio::test]
async fn a_direct_reservation_is_answered_with_its_key_and_a_repeat_with_the_same() {
    let (stack, mut function) = fleet().await;
    let answer = function.answer(prepare("w-1", "a")).await;
    assert_eq!(answer["outcome"], "committed");
    let keys = answer["dispatch_keys"].clone();
    assert_eq!(keys.as_array().map(Vec::len), Some(1));
    assert_eq!(stack.bodies("default").await[0]["dispatch_key"], keys[0]);
    let again = function.answer(prepare("w-1", "a")).await;
    assert_eq!((&again["outcome"], &again["dispatch_keys"]), (&json!("unchanged"), &keys));
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared"]);
}

#[tokio::test]
async fn a_message_without_an_id_fails_the_invocation_before_anything_is_written() {
    let (stack, mut function) = fleet().await;
    let mut bad = batch("prepare", [message("m-1", "w-1", prepare("w-1", "a"))]);
    bad["Records"][0]["messageId"] = json!(null);
    let outcome = function.invoke(bad).await;
    let unreadable = matches!(&outcome, Outcome::Failed { kind, .. } if kind == "Unreadable");
    assert!(unreadable, "{outcome:?}");
    assert_eq!(stack.history("w-1").await, ["started"]);
}
