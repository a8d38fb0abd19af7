//! Faults that were found with the real binary, each by its name.

use everlog::fleet::Function as Name;
use everlog_runtime_tests::{Function, Record, Stack, batch, command, plan_of, with};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_append");
const NONE: [&str; 0] = [];

async fn fleet() -> (Stack, Function) {
    let stack = Stack::start().await;
    let append = Function::start(BINARY, &stack).await;
    (stack, append)
}

fn signal(id: &str) -> Value {
    command(id, "w-1", json!({ "signal": { "name": "poke" } }))
}

fn message(id: &str, body: impl ToString) -> Record {
    Record::new(id, body).in_group("default#w-1")
}

#[tokio::test]
async fn a_start_runs_its_own_plan_and_not_that_of_a_refused_start_before_it() {
    let (stack, mut append) = fleet().await;
    let mut late = command("a", "w-1", plan_of(&["wrong"]));
    late["command"]["start"]["deadline"] = json!(5);
    let right = command("b", "w-1", plan_of(&["right"]));
    let batch =
        batch("append", [message("m-0", signal("s")), message("m-1", late), message("m-2", right)]);
    assert_eq!(append.serve(batch).await, NONE);
    assert_eq!(stack.bodies("default").await[0]["node"], "right");
}

#[tokio::test]
async fn a_signal_is_not_refused_for_the_plan_of_the_start_behind_it() {
    let (stack, mut append) = fleet().await;
    let zero = "00000000000000000000000000000000";
    let stored = json!({ "upload": zero, "hash": zero, "chunks": 1 });
    let start = command("a", "w-1", json!({ "start": { "stored_plan": stored } }));
    append.serve(batch("append", [message("m-0", signal("s")), message("m-1", start)])).await;
    assert_eq!(stack.history("w-1").await, ["signalled"]);
}

#[tokio::test]
async fn a_bad_message_whose_letter_exceeds_a_mebibyte_does_not_block_its_group() {
    let (_stack, mut append) = fleet().await;
    let bad = message("m-0", "\"".repeat(600_000));
    assert_eq!(append.serve(batch("append", [bad, message("m-1", signal("s"))])).await, NONE);
}

#[tokio::test]
async fn a_sequence_conflict_with_large_events_is_answered() {
    let (stack, mut append) = fleet().await;
    stack.setup(Name::Append, &command("start", "w-1", json!({ "start": {} }))).await;
    for n in 1..=5_u32 {
        let event = json!({ "kind": "k", "payload": "x".repeat(250_000) });
        let event = json!({ "append": { "expected_seq": n, "events": [event] } });
        stack.setup(Name::Append, &command(&format!("e-{n}"), "w-1", event)).await;
    }
    let late = json!({ "append": { "expected_seq": 1, "events": [{ "kind": "k" }] } });
    let late = message("m-0", with(command("late", "w-1", late), "reply_to", "answers"));
    assert_eq!(append.serve(batch("append", [late])).await, NONE);
    assert_eq!(stack.bodies("answers").await.len(), 1);
}

#[tokio::test]
async fn a_message_whose_answer_is_not_accepted_is_visible_again_soon() {
    let (stack, mut append) = fleet().await;
    stack.send("append", "default#w-1", "s", &with(signal("s"), "reply_to", "answers")).await;
    let received = stack.receive("append").await.remove(0);
    let handle = Some(received.receipt_handle.clone());
    let record = Record { receipt_handle: handle, ..message("m-0", &received.body) };
    let url = stack.queue_url("answers").to_owned();
    stack.outage(move |_, body| body.contains(&url));
    assert_eq!(append.serve(batch("append", [record])).await, ["m-0"]);
    assert_eq!(stack.receive_within("append", 20).await.len(), 1);
}

#[tokio::test]
async fn a_large_number_in_a_payload_is_kept_as_it_is() {
    let (stack, mut append) = fleet().await;
    let start = r#"{"id":"s","workflow":"w-1","command":{"start":{"plan":{"tasks":[
        {"id":"a","input":12345678901234567890123}]}}}}"#;
    append.serve(batch("append", [message("m-0", start)])).await;
    let dispatch = stack.receive("default").await.remove(0);
    assert!(dispatch.body.contains("12345678901234567890123"), "{}", dispatch.body);
}
