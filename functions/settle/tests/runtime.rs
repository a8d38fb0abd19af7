//! The binary `settle` on the Lambda Runtime API, with a table and queues.

use everlog::fleet::Function as Name;
use everlog_runtime_tests::{Function, Outcome, Record, Stack, batch, command, plan_of, with};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_settle");
const NONE: [&str; 0] = [];

/// The planned workflows `w-0` to `w-9` of two tasks, their first dispatches
/// (in that order), and the function.
async fn fleet() -> (Stack, Vec<Value>, Function) {
    let stack = Stack::start().await;
    let mut dispatches = Vec::new();
    for n in 0..10 {
        let start = command("start", &format!("w-{n}"), plan_of(&["first", "second"]));
        stack.setup(Name::Append, &start).await;
        dispatches.extend(stack.bodies("default").await);
    }
    assert_eq!(dispatches.len(), 10);
    let settle = Function::start(BINARY, &stack).await;
    (stack, dispatches, settle)
}

fn attempt(dispatch: &Value) -> Value {
    json!({ "node": dispatch["node"], "attempt": dispatch["attempt"],
        "dispatch_key": dispatch["dispatch_key"] })
}

fn receipt(dispatch: &Value) -> Value {
    let verb = json!({ "receipt": { "attempt": attempt(dispatch), "worker": "bee" } });
    evidence(dispatch, "receipt", verb)
}

fn settle(dispatch: &Value) -> Value {
    let outcome = json!({ "succeeded": { "output": "honey" } });
    let verb = json!({ "settle": { "attempt": attempt(dispatch), "outcome": outcome } });
    evidence(dispatch, "settle", verb)
}

fn evidence(dispatch: &Value, what: &str, verb: Value) -> Value {
    command(&format!("{what}-{}", text(dispatch, "node")), text(dispatch, "workflow"), verb)
}

/// A message of the workflow's own group.
fn message(id: &str, body: &Value) -> Record {
    Record::new(id, body).in_group(format!("default#{}", text(body, "workflow")))
}

fn text<'a>(message: &'a Value, field: &str) -> &'a str {
    message[field].as_str().expect("a text")
}

#[tokio::test]
async fn a_good_fifo_batch_settles_and_dispatches_what_became_ready_and_is_not_reported() {
    let (stack, dispatches, mut function) = fleet().await;
    let served = function
        .serve(batch(
            "settle",
            [
                message("m-1", &receipt(&dispatches[1])),
                message("m-2", &receipt(&dispatches[2])),
                message("m-3", &settle(&dispatches[1])),
            ],
        ))
        .await;
    assert_eq!(served, NONE);
    let settled =
        ["started", "attempt_prepared", "attempt_taken", "attempt_settled", "attempt_prepared"];
    assert_eq!(stack.history("w-1").await, settled);
    assert_eq!(stack.last_commit("w-1").await, 2, "all in one commit");
    assert_eq!(stack.history("w-2").await, settled[..3]);
    let next = stack.bodies("default").await;
    assert_eq!(next.len(), 1);
    assert_eq!((&next[0]["workflow"], &next[0]["node"]), (&json!("w-1"), &json!("second")));
}

#[tokio::test]
async fn a_message_that_is_not_json_is_kept_with_the_reason_and_its_nine_neighbours_are_served() {
    let (stack, dispatches, mut function) = fleet().await;
    let messages = dispatches.iter().enumerate().map(|(n, dispatch)| {
        let good = message(&format!("m-{n}"), &settle(dispatch));
        if n == 9 { Record { body: "\u{1F41D}".into(), ..good } } else { good }
    });
    assert_eq!(function.serve(batch("settle", messages)).await, NONE);
    for n in 0..10 {
        let settled = stack.history(&format!("w-{n}")).await.len() == 4;
        assert_eq!(settled, n != 9, "w-{n}");
    }
    let letters = stack.bodies("dead-letter").await;
    assert_eq!(letters.len(), 1);
    assert_eq!(
        (&letters[0]["queue"], &letters[0]["message_id"]),
        (&json!("settle"), &json!("m-9"))
    );
    assert_eq!(letters[0]["body"], "\u{1F41D}");
}

#[tokio::test]
async fn evidence_with_the_key_of_another_attempt_is_answered_as_a_conflict_and_not_reported() {
    let (stack, dispatches, mut function) = fleet().await;
    let mut stale = with(settle(&dispatches[1]), "reply_to", "answers");
    stale["command"]["settle"]["attempt"]["dispatch_key"] = dispatches[2]["dispatch_key"].clone();
    assert_eq!(function.serve(batch("settle", [message("m-1", &stale)])).await, NONE);
    assert_eq!(stack.bodies("answers").await[0]["rejection"]["kind"], "conflict");
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared"]);
}

#[tokio::test]
async fn a_command_that_waits_is_reported_with_the_rest_of_its_group_and_other_groups_are_served() {
    let (stack, dispatches, mut function) = fleet().await;
    let served = function
        .serve(batch(
            "settle",
            [
                message("m-1", &with(receipt(&dispatches[1]), "after_seq", 3)),
                message("m-2", &settle(&dispatches[2])),
                message("m-3", &settle(&dispatches[1])),
            ],
        ))
        .await;
    assert_eq!(served, ["m-1", "m-3"]);
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared"]);
    assert_eq!(stack.history("w-2").await.len(), 4);
}

#[tokio::test]
async fn a_workflow_that_dynamodb_fails_for_is_reported_whole_and_others_are_served() {
    let (stack, dispatches, mut function) = fleet().await;
    stack.outage_of("w-1");
    let served = function
        .serve(batch(
            "settle",
            [
                message("m-1", &receipt(&dispatches[1])),
                message("m-2", &settle(&dispatches[2])),
                message("m-3", &settle(&dispatches[1])),
            ],
        ))
        .await;
    stack.end_outage();
    assert_eq!(served, ["m-1", "m-3"]);
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared"]);
    assert_eq!(stack.history("w-2").await.len(), 4);
}

#[tokio::test]
async fn an_outcome_that_comes_again_changes_nothing_and_hands_the_next_task_over_again() {
    let (stack, dispatches, mut function) = fleet().await;
    let settled = message("m-1", &settle(&dispatches[1]));
    assert_eq!(function.serve(batch("settle", [settled.clone()])).await, NONE);
    let first = stack.bodies("default").await;
    assert_eq!(function.serve(batch("settle", [settled.again(2, 1_000)])).await, NONE);
    let second = stack.bodies("default").await;
    assert_eq!(first, second, "the same dispatch under the same key");
    assert_eq!(stack.history("w-1").await.len(), 4);
}

#[tokio::test]
async fn a_direct_receipt_is_answered_with_what_to_do_and_the_last_settle_with_the_ending() {
    let (stack, dispatches, mut function) = fleet().await;
    let answer = function.answer(receipt(&dispatches[1])).await;
    assert_eq!(
        (&answer["outcome"], &answer["directive"]),
        (&json!("committed"), &json!("proceed"))
    );
    assert_eq!(function.answer(settle(&dispatches[1])).await["outcome"], "committed");
    let second = stack.bodies("default").await;
    let answer = function.answer(settle(&second[0])).await;
    assert_eq!((&answer["outcome"], &answer["ending"]), (&json!("committed"), &json!("completed")));
    assert_eq!(stack.card("w-1").await.map(|card| card.status), Some("completed".into()));
}

#[tokio::test]
async fn a_message_without_an_id_fails_the_invocation_before_anything_is_written() {
    let (stack, dispatches, mut function) = fleet().await;
    let bad = batch("settle", [message("", &settle(&dispatches[1]))]);
    let outcome = function.invoke(bad).await;
    let unreadable = matches!(&outcome, Outcome::Failed { kind, .. } if kind == "Unreadable");
    assert!(unreadable, "{outcome:?}");
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared"]);
}
