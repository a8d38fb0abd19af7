//! The binary `append` on the Lambda Runtime API, with a table and queues.

use everlog_runtime_tests::{Function, Outcome, Record, Stack, batch, command, plan_of, with};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_append");
const NONE: [&str; 0] = [];

async fn fleet() -> (Stack, Function) {
    let stack = Stack::start().await;
    let append = Function::start(BINARY, &stack).await;
    (stack, append)
}

fn start(workflow: &str) -> Value {
    command(&format!("start-{workflow}"), workflow, plan_of(&["first", "second"]))
}

fn signal(id: &str, workflow: &str) -> Value {
    command(id, workflow, json!({ "signal": { "name": "poke" } }))
}

/// A message of the workflow's own group.
fn message(id: &str, workflow: &str, body: impl ToString) -> Record {
    Record::new(id, body).in_group(format!("default#{workflow}"))
}

#[tokio::test]
async fn a_good_fifo_batch_is_committed_dispatched_answered_and_not_reported() {
    let (stack, mut append) = fleet().await;
    let served = append
        .serve(batch(
            "append",
            [
                message("m-1", "w-1", with(start("w-1"), "reply_to", "answers")),
                message("m-2", "w-2", start("w-2")),
                message("m-3", "w-1", signal("s-1", "w-1")),
            ],
        ))
        .await;
    assert_eq!(served, NONE);
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared", "signalled"]);
    assert_eq!(stack.history("w-2").await, ["started", "attempt_prepared"]);
    let dispatches = stack.bodies("default").await;
    assert_eq!(dispatches.len(), 2);
    assert!(dispatches.iter().all(|d| d["node"] == "first" && d["attempt"] == 1));
    let answers = stack.bodies("answers").await;
    assert_eq!(answers.len(), 1);
    assert_eq!(
        (&answers[0]["command"], &answers[0]["outcome"]),
        (&json!("start-w-1"), &json!("committed"))
    );
}

#[tokio::test]
async fn a_message_that_is_not_json_is_kept_with_the_reason_and_its_nine_neighbours_are_served() {
    let (stack, mut append) = fleet().await;
    let bad = r#"{"id": "start-w-5", "#;
    let messages = (0..10).map(|n| {
        let workflow = format!("w-{n}");
        let body = if n == 5 { bad.to_owned() } else { start(&workflow).to_string() };
        message(&format!("m-{n}"), &workflow, body)
    });
    assert_eq!(append.serve(batch("append", messages)).await, NONE);
    for n in 0..10 {
        let events = stack.history(&format!("w-{n}")).await;
        assert_eq!(events.is_empty(), n == 5, "w-{n}: {events:?}");
    }
    let letters = stack.bodies("dead-letter").await;
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0]["queue"], "append");
    assert_eq!(letters[0]["message_id"], "m-5");
    assert_eq!(letters[0]["body"], bad);
    assert!(letters[0]["reason"].as_str().is_some_and(|r| r.contains("well-formed JSON")));
}

#[tokio::test]
async fn a_command_that_is_refused_unread_is_answered_and_its_group_goes_on() {
    let (stack, mut append) = fleet().await;
    let unknown = command("c-1", "w-1", json!({ "explode": {} }));
    let served = append
        .serve(batch(
            "append",
            [
                message("m-1", "w-1", with(unknown, "reply_to", "answers")),
                message("m-2", "w-1", start("w-1")),
            ],
        ))
        .await;
    assert_eq!(served, NONE);
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared"]);
    let answers = stack.bodies("answers").await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["command"], "c-1");
    assert_eq!(answers[0]["rejection"]["kind"], "invalid_input");
    assert_eq!(stack.bodies("dead-letter").await.len(), 1);
}

#[tokio::test]
async fn a_bad_message_that_cannot_be_kept_is_reported_and_its_neighbour_is_served() {
    let (stack, mut append) = fleet().await;
    stack.remove_queue("dead-letter").await;
    let messages = [message("m-1", "w-1", "no"), message("m-2", "w-2", start("w-2"))];
    assert_eq!(append.serve(batch("append", messages)).await, ["m-1"]);
    assert_eq!(stack.history("w-2").await, ["started", "attempt_prepared"]);
}

#[tokio::test]
async fn a_command_that_waits_is_reported_with_the_rest_of_its_group_and_other_groups_are_served() {
    let (stack, mut append) = fleet().await;
    let served = append
        .serve(batch(
            "append",
            [
                message("m-1", "w-1", start("w-1")),
                message("m-2", "w-1", with(signal("s-1", "w-1"), "after_seq", 99)),
                message("m-3", "w-2", start("w-2")),
                message("m-4", "w-1", signal("s-2", "w-1")),
                message("m-5", "w-2", signal("s-3", "w-2")),
            ],
        ))
        .await;
    assert_eq!(served, ["m-2", "m-4"]);
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared"]);
    assert_eq!(stack.history("w-2").await, ["started", "attempt_prepared", "signalled"]);
}

#[tokio::test]
async fn a_command_that_has_waited_a_minute_is_answered_and_its_group_moves_on() {
    let (stack, mut append) = fleet().await;
    let waits = with(with(signal("s-1", "w-1"), "after_seq", 99), "reply_to", "answers");
    let served = append
        .serve(batch(
            "append",
            [
                message("m-1", "w-1", start("w-1")),
                message("m-2", "w-1", waits).again(7, 61_000),
                message("m-3", "w-1", signal("s-2", "w-1")),
            ],
        ))
        .await;
    assert_eq!(served, NONE);
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared", "signalled"]);
    let answers = stack.bodies("answers").await;
    assert_eq!(answers[0]["rejection"]["kind"], "not_reached");
    assert_eq!(answers[0]["retryable"], true);
}

#[tokio::test]
async fn a_workflow_that_dynamodb_fails_for_is_reported_whole_and_others_are_served() {
    let (stack, mut append) = fleet().await;
    stack.outage_of("w-1");
    let served = append
        .serve(batch(
            "append",
            [
                message("m-1", "w-1", start("w-1")),
                message("m-2", "w-2", start("w-2")),
                message("m-3", "w-1", signal("s-1", "w-1")),
            ],
        ))
        .await;
    stack.end_outage();
    assert_eq!(served, ["m-1", "m-3"]);
    assert_eq!(stack.history("w-1").await, NONE);
    assert_eq!(stack.history("w-2").await, ["started", "attempt_prepared"]);
    assert!(
        stack.bodies("dead-letter").await.is_empty(),
        "trouble is never held against a message"
    );
}

#[tokio::test]
async fn in_a_standard_queue_only_the_failed_message_is_reported() {
    let (stack, mut append) = fleet().await;
    stack.outage_of("w-2");
    let messages = ["w-1", "w-2", "w-3"].map(|w| Record::new(format!("of-{w}"), start(w)));
    assert_eq!(append.serve(batch("append", messages)).await, ["of-w-2"]);
    stack.end_outage();
    assert_eq!(stack.history("w-3").await, ["started", "attempt_prepared"]);
}

#[tokio::test]
async fn a_message_that_was_given_back_is_visible_again_soon_and_then_served() {
    let (stack, mut append) = fleet().await;
    stack.send("append", "default#w-1", "start", &start("w-1")).await;
    let received = stack.receive("append").await.remove(0);
    assert!(stack.receive("append").await.is_empty(), "invisible for a quarter of an hour");
    let record = |receipt_handle: &str, count| {
        let record = message("m-1", "w-1", start("w-1")).again(count, 0);
        Record { receipt_handle: Some(receipt_handle.to_owned()), ..record }
    };
    stack.outage_of("w-1");
    let batch_of = |record| batch("append", [record]);
    assert_eq!(append.serve(batch_of(record(&received.receipt_handle, 1))).await, ["m-1"]);
    stack.end_outage();
    let again = stack.receive_within("append", 20).await.remove(0);
    assert_eq!((&again.message_id, again.receive_count), (&received.message_id, 2));
    assert_eq!(append.serve(batch_of(record(&again.receipt_handle, 2))).await, NONE);
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared"]);
}

#[tokio::test]
async fn a_direct_command_is_answered_and_a_refusal_is_an_answer_too() {
    let (stack, mut append) = fleet().await;
    let answer = append.answer(start("w-1")).await;
    assert_eq!(answer["outcome"], "committed");
    assert_eq!((&answer["workflow"], &answer["head"]), (&json!("w-1"), &json!(2)));
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared"]);

    let answer = append.answer(start("w-1")).await;
    assert_eq!(answer["outcome"], "unchanged");
    let answer = append.answer(command("other", "w-1", plan_of(&["first"]))).await;
    assert_eq!(answer["rejection"]["kind"], "conflict");
    let settle = json!({ "receipt": { "worker": "w", "attempt":
        { "node": "first", "attempt": 1, "dispatch_key": "00000000000000000000000000000000" } } });
    let answer = append.answer(command("r", "w-1", settle)).await;
    assert_eq!(answer["rejection"]["kind"], "invalid_input");
    let answer = append.answer(json!("no command")).await;
    assert_eq!(answer["rejection"]["kind"], "invalid_input");
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared"]);
}

#[tokio::test]
async fn a_direct_command_in_an_outage_is_given_back_and_may_be_sent_again() {
    let (stack, mut append) = fleet().await;
    stack.outage_of("w-1");
    let outcome = append.invoke(start("w-1")).await;
    assert!(matches!(&outcome, Outcome::Failed { kind, .. } if kind == "GivenBack"), "{outcome:?}");
    stack.end_outage();
    assert_eq!(append.answer(start("w-1")).await["outcome"], "committed");
}

#[tokio::test]
async fn a_message_without_an_id_fails_the_invocation_before_anything_is_written() {
    let (stack, mut append) = fleet().await;
    let good =
        batch("append", [message("m-1", "w-1", start("w-1")), message("m-2", "w-2", start("w-2"))]);
    let mut bad = good.clone();
    bad["Records"][1].as_object_mut().unwrap().remove("messageId");
    let outcome = append.invoke(bad).await;
    let expected = |o: &Outcome| {
        matches!(o, Outcome::Failed { kind, message }
        if kind == "Unreadable" && message.contains("messageId"))
    };
    assert!(expected(&outcome), "{outcome:?}");
    assert_eq!(stack.history("w-1").await, NONE);
    assert_eq!(append.serve(good).await, NONE, "the process goes on");
    assert_eq!(stack.history("w-1").await, ["started", "attempt_prepared"]);
}

#[tokio::test]
async fn one_address_for_both_services_is_honoured() {
    let stack = Stack::start().await;
    let mut environment = stack.environment_without_addresses();
    environment.push(("AWS_ENDPOINT_URL".into(), stack.url().into()));
    let mut append = Function::start_in(BINARY, environment).await;
    assert_eq!(append.answer(start("w-1")).await["outcome"], "committed");
    assert_eq!(stack.bodies("default").await.len(), 1);
}

#[tokio::test]
async fn the_address_of_a_service_wins_over_that_of_both() {
    let stack = Stack::start().await;
    let mut environment = stack.environment();
    environment.push(("AWS_ENDPOINT_URL".into(), "http://127.0.0.1:1".into()));
    let mut append = Function::start_in(BINARY, environment).await;
    assert_eq!(append.answer(start("w-1")).await["outcome"], "committed");
    assert_eq!(stack.bodies("default").await.len(), 1);
}

#[tokio::test]
async fn a_missing_variable_ends_the_process_and_is_named() {
    let stack = Stack::start().await;
    for missing in ["EVERLOG_TABLE", "EVERLOG_QUEUES", "AWS_REGION"] {
        let mut environment = stack.environment();
        environment.retain(|(name, _)| name != missing);
        let (status, said) = Function::start_in(BINARY, environment).await.end().await;
        assert!(!status.success(), "without {missing}: {status}");
        assert!(said.contains(missing), "without {missing}: {said}");
    }
}
