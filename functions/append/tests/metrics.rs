//! What the binary `append` writes to its log for CloudWatch.

use everlog_runtime_tests::{Function, Outcome, Record, Stack, batch, command, plan_of, with};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_append");

fn start(workflow: &str) -> Value {
    command(&format!("start-{workflow}"), workflow, plan_of(&["first", "second"]))
}

/// A message of the workflow's own group.
fn message(id: &str, workflow: &str, body: impl ToString) -> Record {
    Record::new(id, body).in_group(format!("default#{workflow}"))
}

#[tokio::test]
async fn each_invocation_that_came_to_something_writes_one_line() {
    let stack = Stack::start().await;
    let mut environment = stack.environment();
    environment.push(("EVERLOG_FLEET".into(), "prod".into()));
    let mut append = Function::start_in(BINARY, environment).await;
    append
        .serve(batch(
            "append",
            [message("m-1", "w-1", start("w-1")), message("m-2", "w-2", start("w-2"))],
        ))
        .await;
    append.serve(batch("append", [message("m-1", "w-1", start("w-1")).again(2, 5_000)])).await;
    append.answer(command("s-1", "w-1", json!({ "signal": { "name": "poke" } }))).await;
    let lines = append.metrics().await;
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines.iter().all(|line| line["Fleet"] == "prod" && line["Function"] == "append"));
    let of = |line: usize, name: &str| lines[line][name].as_u64();
    assert_eq!(of(0, "Committed"), Some(2));
    assert!(lines[0]["WriteUnits"].as_f64().is_some_and(|units| units >= 4.0), "{}", lines[0]);
    assert_eq!(lines[0]["CommandMs"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        (of(1, "Redelivered"), of(1, "Unchanged"), of(1, "Committed")),
        (Some(1), Some(1), None)
    );
    assert!(of(1, "OldestOutstandingMs").is_some_and(|ms| ms >= 5_000), "{}", lines[1]);
    assert_eq!((of(2, "Committed"), of(2, "OldestOutstandingMs")), (Some(1), None));
}

#[tokio::test]
async fn an_invocation_that_comes_to_nothing_writes_no_line_and_the_fleet_is_the_table() {
    let stack = Stack::start().await;
    let mut append = Function::start(BINARY, &stack).await;
    let unreadable = append.invoke(json!({ "Records": [{ "body": "no id" }] })).await;
    assert!(matches!(unreadable, Outcome::Failed { .. }));
    append.serve(batch("append", [message("m-1", "w-1", start("w-1"))])).await;
    let lines = append.metrics().await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["Fleet"], "everlog-test");
}

#[tokio::test]
async fn a_bad_batch_writes_a_line_for_each_kind_of_refusal() {
    let stack = Stack::start().await;
    let mut append = Function::start(BINARY, &stack).await;
    let nowhere = command("c-1", "w-9", json!({ "pause": {} }));
    let messages = [
        message("m-1", "w-1", "no JSON"),
        message("m-2", "w-9", with(nowhere, "reply_to", "answers")),
    ];
    append.serve(batch("append", messages)).await;
    let lines = append.metrics().await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    let said = |line: &Value| (line["Kind"].clone(), line["Rejected"].clone());
    assert_eq!(said(&lines[0]), (json!("invalid_input"), json!(1)));
    assert_eq!(said(&lines[1]), (json!("not_found"), json!(1)));
    assert_eq!((&lines[0]["DeadLettered"], &lines[1]["DeadLettered"]), (&json!(1), &Value::Null));
}

#[tokio::test]
async fn an_outage_is_written_as_what_was_given_back_and_why() {
    let stack = Stack::start().await;
    let mut append = Function::start(BINARY, &stack).await;
    append.serve(batch("append", [message("m-1", "w-1", start("w-1"))])).await;
    stack.outage(|target, _| target.ends_with(".PutItem"));
    let signal = command("s-1", "w-1", json!({ "signal": { "name": "poke" } }));
    let served = append.serve(batch("append", [message("m-2", "w-1", &signal)])).await;
    assert_eq!(served, ["m-2"]);
    let outcome = append.invoke(signal).await;
    assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
    let lines = append.metrics().await;
    for line in &lines[1..] {
        assert_eq!((&line["GivenBack"], &line["Reason"]), (&json!(1), &json!("unknown")), "{line}");
        assert_eq!((&line["UnknownAtFirst"], &line["Unknown"]), (&json!(1), &json!(1)), "{line}");
    }
    assert_eq!(lines.len(), 3);
}
