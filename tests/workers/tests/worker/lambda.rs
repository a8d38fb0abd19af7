//! A worker as a Lambda function: batches, failures, deadlines.

use everlog::worker::{Context, Output, Task};
use everlog_sqs::ReceivedMessage;
use serde_json::{Value, json};

use crate::scene::{Done, Scene, is_settle, losing, pass};

fn event(messages: &[ReceivedMessage]) -> Value {
    let record = |message: &ReceivedMessage| {
        json!({
            "messageId": message.message_id,
            "receiptHandle": message.receipt_handle,
            "body": &*message.body,
            "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:everlog-default",
        })
    };
    json!({ "Records": messages.iter().map(record).collect::<Vec<_>>() })
}

fn failed(answer: &Value) -> Vec<&str> {
    let failures = answer["batchItemFailures"].as_array().expect("a list");
    failures.iter().map(|f| f["itemIdentifier"].as_str().expect("an id")).collect()
}

/// Runs for as long as its input says, in seconds.
async fn sleeps(task: Task, _: Context) -> Done {
    pass(task.input()?).await;
    Ok(Output::NONE)
}

/// Performs a batch in an invocation of `seconds`; what was reported failed,
/// by node, and how long it took.
async fn invoke(
    scene: &Scene,
    worker: &everlog::worker::Worker,
    seconds: u64,
) -> (Vec<String>, u64) {
    let batch = scene.receive().await;
    let begun = tokio::time::Instant::now();
    let end = scene.world.backend.clock().now().plus_ms(1_000 * seconds);
    let queue = scene.queue(&scene.direct);
    let answer = worker.invoke(event(&batch), end, 10, Some(&queue)).await.expect("an answer");
    let failed = failed(&answer);
    let of = |m: &&ReceivedMessage| failed.contains(&m.message_id.as_str());
    let mut nodes: Vec<String> =
        batch.iter().filter(of).map(|m| Scene::dispatch(m).node.to_string()).collect();
    nodes.sort();
    (nodes, begun.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn what_ends_in_time_is_settled_and_what_has_a_receipt_ends_out_of_time() {
    let scene = Scene::new().await;
    scene
        .start(json!([
            { "id": "short", "input": 5 },
            { "id": "long", "input": 3_600 },
            { "id": "watched", "input": 3_600, "timeouts": { "start_to_close_ms": 7_200_000 } },
        ]))
        .await;
    let worker = scene.worker("w-1", &scene.direct, sleeps).await;
    let (failed, seconds) = invoke(&scene, &worker, 60).await;
    assert!(seconds < 60, "it answers before its deadline: {seconds}");
    assert!(seconds >= 57, "handlers have all but the reserve: {seconds}");
    // `long` ran past 20 seconds, and had a receipt from then on.
    assert_eq!(failed, Vec::<String>::new());
    pass(5).await;
    let mut outcomes = scene.outcomes().await;
    outcomes.sort();
    assert_eq!(outcomes, ["failed: out-of-time", "failed: out-of-time", "succeeded"]);
}

#[tokio::test(start_paused = true)]
async fn what_did_not_begin_early_enough_is_given_back_and_comes_at_once() {
    let scene = Scene::new().await;
    let tasks: Vec<_> = (0..3).map(|n| json!({ "id": format!("t{n}"), "input": 12 })).collect();
    scene.start(json!(tasks)).await;
    let worker = scene.worker("w-1", &scene.direct, sleeps).await;
    let batch = scene.receive().await;
    let end = scene.world.backend.clock().now().plus_ms(33_000);
    let queue = scene.queue(&scene.direct);
    // One at a time: two fit into 30 seconds, the third is cut off after 6.
    let answer = worker.invoke(event(&batch), end, 1, Some(&queue)).await.unwrap();
    assert_eq!(failed(&answer), [batch[2].message_id.as_str()]);
    assert_eq!(scene.receive().await.len(), 1, "visible at once");
    pass(5).await;
    assert_eq!(scene.outcomes().await, ["succeeded", "succeeded"]);
}

#[tokio::test(start_paused = true)]
async fn what_asks_for_a_receipt_does_not_begin_in_the_second_half_of_an_invocation() {
    let scene = Scene::new().await;
    let timeouts = json!({ "start_to_close_ms": 600_000 });
    let task = |n: u32| json!({ "id": format!("t{n}"), "input": 20, "timeouts": timeouts });
    scene.start(json!([task(0), task(1)])).await;
    let worker = scene.worker("w-1", &scene.direct, sleeps).await;
    let batch = scene.receive().await;
    let end = scene.world.backend.clock().now().plus_ms(33_000);
    let answer = worker.invoke(event(&batch), end, 1, None).await.unwrap();
    assert_eq!(failed(&answer), [batch[1].message_id.as_str()]);
    assert_eq!(scene.events("attempt_taken").await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_no_queue_takes_before_the_deadline_is_reported_failed() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a", "input": 1 }])).await;
    let (handler, _) = losing(&scene.direct, is_settle);
    let worker = scene.worker("w-1", &handler, sleeps).await;
    let (failed, seconds) = invoke(&scene, &worker, 30).await;
    assert_eq!(failed, ["a"]);
    assert!(seconds < 30, "{seconds}");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_is_over_begins_nothing() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a", "input": 0 }])).await;
    let worker = scene.worker("w-1", &scene.direct, async |_, _| panic!("it must not run")).await;
    let (failed, _) = invoke(&scene, &worker, 0).await;
    assert_eq!(failed, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_bad_message_is_set_aside_and_its_neighbour_is_served() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a", "input": 0 }])).await;
    let worker = scene.worker("w-1", &scene.direct, sleeps).await;
    let mut bad = event(&scene.receive().await);
    bad["Records"].as_array_mut().unwrap().insert(0, json!({ "messageId": "bad", "body": "{" }));
    let end = scene.world.backend.clock().now().plus_ms(30_000);
    let answer = worker.invoke(bad, end, 10, None).await.unwrap();
    assert!(failed(&answer).is_empty(), "{answer}");
    assert_eq!(scene.ending(10).await, "completed");
}

#[tokio::test(start_paused = true)]
async fn a_message_without_an_id_fails_the_invocation() {
    let scene = Scene::new().await;
    let worker = scene.worker("w-1", &scene.direct, sleeps).await;
    let end = scene.world.backend.clock().now().plus_ms(30_000);
    for event in [json!({ "Records": [{ "body": "{}" }] }), json!({ "detail": 1 })] {
        assert!(worker.invoke(event, end, 10, None).await.is_err());
    }
}
