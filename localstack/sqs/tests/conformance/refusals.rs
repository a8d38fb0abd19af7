//! Refusals in the AWS JSON protocol: codes, statuses, headers.

use crate::setup::*;
use everlog_sqs::Engine;
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn absent_queue_answers_as_aws() {
    let engine = engine();
    let body = json!({ "QueueName": "absent" });
    let body = serde_json::to_vec(&body).unwrap();
    let (status, body, headers) = engine.call("AmazonSQS.GetQueueUrl", &body).await;
    assert_eq!(status, 400);
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        body,
        json!({ "__type": "com.amazonaws.sqs#QueueDoesNotExist",
                "message": "The specified queue does not exist." })
    );
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert!(
        headers.contains(&header(
            "x-amzn-query-error",
            "AWS.SimpleQueueService.NonExistentQueue;Sender"
        ))
    );
    assert!(headers.contains(&header("content-type", "application/x-amz-json-1.0")));
}

/// A request, and the status and code it must be refused with.
type Case = (&'static str, Value, u16, &'static str);

async fn check(engine: &Engine, cases: Vec<Case>) {
    for (operation, body, status, code) in cases {
        let shown = format!("{operation} {body}");
        let (found_status, answer, found) = request(engine, operation, body).await;
        assert_eq!(found, Some(format!("{code};Sender")), "{shown}");
        assert_eq!(found_status, status, "{shown}");
        assert!(answer["__type"].as_str().unwrap().contains('#'), "{shown}");
        assert!(answer["message"].is_string(), "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn refused_messages_carry_awss_codes_and_statuses() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let send = |body: &str| json!({ "QueueUrl": url, "MessageBody": body });
    let delayed = json!({ "QueueUrl": url, "MessageBody": "a", "DelaySeconds": -1 });
    let receive = |field: &str, value: i64| json!({ "QueueUrl": url, field: value });
    let invalid = "InvalidParameterValue";
    let cases = vec![
        ("SendMessage", json!({ "QueueUrl": url }), 400, "MissingParameter"),
        ("SendMessage", json!({ "MessageBody": "a" }), 400, "MissingParameter"),
        ("SendMessage", send("\u{1}"), 400, "InvalidMessageContents"),
        ("SendMessage", delayed, 400, invalid),
        ("ReceiveMessage", receive("MaxNumberOfMessages", 0), 400, invalid),
        ("ReceiveMessage", receive("MaxNumberOfMessages", 11), 400, invalid),
        ("ReceiveMessage", receive("WaitTimeSeconds", -1), 400, invalid),
        ("ReceiveMessage", receive("VisibilityTimeout", 43_201), 400, invalid),
        (
            "DeleteMessage",
            json!({ "QueueUrl": url, "ReceiptHandle": "x" }),
            404,
            "ReceiptHandleIsInvalid",
        ),
    ];
    check(&engine, cases).await;
}

#[tokio::test(start_paused = true)]
async fn refused_batches_carry_awss_codes() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let batch = |ids: &[&str]| {
        let entry = |id: &&str| json!({ "Id": id, "MessageBody": "x" });
        let entries: Vec<Value> = ids.iter().map(entry).collect();
        json!({ "QueueUrl": url, "Entries": entries })
    };
    let eleven = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
    let long = json!({ "QueueUrl": url, "Entries": [
        { "Id": "a", "MessageBody": "x".repeat(1_048_577) } ] });
    let no_id = json!({ "QueueUrl": url, "Entries": [{ "MessageBody": "x" }] });
    let operation = "SendMessageBatch";
    let cases = vec![
        (operation, batch(&[]), 400, "AWS.SimpleQueueService.EmptyBatchRequest"),
        (operation, batch(&eleven), 400, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"),
        (operation, batch(&["a", "a"]), 400, "AWS.SimpleQueueService.BatchEntryIdsNotDistinct"),
        (operation, batch(&["a", "b c"]), 400, "AWS.SimpleQueueService.InvalidBatchEntryId"),
        (operation, long, 400, "AWS.SimpleQueueService.BatchRequestTooLong"),
        (operation, no_id, 400, "MissingParameter"),
    ];
    check(&engine, cases).await;
}

#[tokio::test(start_paused = true)]
async fn refused_calls_about_queues_carry_awss_codes() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let create = |name: &str, delay_s: &str| json!({ "QueueName": name, "Attributes": { "DelaySeconds": delay_s } });
    let get = json!({ "QueueUrl": url, "AttributeNames": ["Nothing"] });
    let set = json!({ "QueueUrl": url, "Attributes": { "DelaySeconds": "x" } });
    let by_name = json!({ "QueueUrl": "work", "MessageBody": "a" });
    let cases = vec![
        ("CreateQueue", create("work", "3"), 400, "QueueAlreadyExists"),
        ("CreateQueue", create("a b", "3"), 400, "InvalidParameterValue"),
        ("GetQueueAttributes", get, 400, "InvalidAttributeName"),
        ("SetQueueAttributes", set, 400, "InvalidAttributeValue"),
        ("SetQueueAttributes", json!({ "QueueUrl": url }), 400, "MissingParameter"),
        ("ListQueues", json!({ "MaxResults": 1_001 }), 400, "InvalidParameterValue"),
        ("SendMessage", by_name, 404, "InvalidAddress"),
        ("StartMessageMoveTask", json!({}), 400, "InvalidAction"),
    ];
    check(&engine, cases).await;
}

#[tokio::test(start_paused = true)]
async fn visibility_codes_are_awss() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let handle = poll_one(&engine, &url, 5).await.receipt_handle;
    let body = json!({ "QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": 5 });
    assert_eq!(answer(&engine, "ChangeMessageVisibility", body.clone()).await, json!({}));
    advance_s(5).await;
    let (status, _, code) = request(&engine, "ChangeMessageVisibility", body).await;
    assert_eq!(status, 400);
    assert_eq!(code.as_deref(), Some("AWS.SimpleQueueService.MessageNotInflight;Sender"));
    let purge = json!({ "QueueUrl": url });
    answer(&engine, "PurgeQueue", purge.clone()).await;
    let (status, _, code) = request(&engine, "PurgeQueue", purge).await;
    assert_eq!(status, 403);
    assert_eq!(code.as_deref(), Some("AWS.SimpleQueueService.PurgeQueueInProgress;Sender"));
}

#[tokio::test(start_paused = true)]
async fn body_that_is_no_json_is_refused() {
    let engine = engine();
    for body in [&b"{"[..], b"[]", b"\xff", b"{\"QueueUrl\":5}"] {
        let (status, _, _) = engine.call("AmazonSQS.SendMessage", body).await;
        assert_eq!(status, 400);
    }
}
