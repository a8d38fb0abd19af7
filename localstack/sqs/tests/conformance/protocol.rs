//! The AWS JSON protocol: names, codes, headers and filters.

use crate::setup::*;
use everlog_sqs::Engine;
use serde_json::{Value, json};

async fn queue(engine: &Engine, name: &str, attributes: Value) -> String {
    let body = json!({ "QueueName": name, "Attributes": attributes });
    answer(engine, "CreateQueue", body).await["QueueUrl"].as_str().unwrap().to_owned()
}

async fn receive(engine: &Engine, url: &str, asked: Value) -> Value {
    let mut body = json!({ "QueueUrl": url, "MaxNumberOfMessages": 10, "VisibilityTimeout": 0 });
    body.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
    answer(engine, "ReceiveMessage", body).await
}

#[tokio::test(start_paused = true)]
async fn message_goes_round_through_the_protocol() {
    let engine = engine();
    let url = queue(&engine, "work", json!({})).await;
    let sent = answer(
        &engine,
        "SendMessage",
        json!({
            "QueueUrl": url,
            "MessageBody": "msg",
            "MessageAttributes": {
                "Hello": { "DataType": "String", "StringValue": "There" },
                "Bytes": { "DataType": "Binary", "BinaryValue": "AP8=" },
            },
            "MessageSystemAttributes": {
                "AWSTraceHeader": { "DataType": "String", "StringValue": "Root=1" },
            },
        }),
    )
    .await;
    assert_eq!(sent["MD5OfMessageBody"], "6e2baaf3b97dbeef01c0043275f9a0e7");
    assert!(sent["MD5OfMessageSystemAttributes"].is_string());
    assert!(sent.get("SequenceNumber").is_none());
    let asked = json!({ "MessageAttributeNames": ["All"], "MessageSystemAttributeNames": ["All"] });
    let received = receive(&engine, &url, asked).await;
    let message = &received["Messages"][0];
    assert_eq!(message["MessageId"], sent["MessageId"]);
    assert_eq!(message["Body"], "msg");
    assert_eq!(message["MD5OfBody"], sent["MD5OfMessageBody"]);
    assert_eq!(message["MD5OfMessageAttributes"], sent["MD5OfMessageAttributes"]);
    assert_eq!(
        message["MessageAttributes"],
        json!({ "Hello": { "DataType": "String", "StringValue": "There" },
                "Bytes": { "DataType": "Binary", "BinaryValue": "AP8=" } })
    );
    assert_eq!(
        message["Attributes"],
        json!({ "SenderId": "AIDAEVERLOGEMBEDDED00",
                "SentTimestamp": EPOCH_MS.to_string(),
                "ApproximateReceiveCount": "1",
                "ApproximateFirstReceiveTimestamp": EPOCH_MS.to_string(),
                "AWSTraceHeader": "Root=1" })
    );
    let body = json!({ "QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"] });
    assert_eq!(answer(&engine, "DeleteMessage", body).await, json!({}));
    assert_eq!(receive(&engine, &url, json!({})).await, json!({}));
}

#[tokio::test(start_paused = true)]
async fn attributes_are_shown_only_if_asked_for() {
    let engine = engine();
    let url = queue(&engine, "work", json!({})).await;
    let attribute = |value: &str| json!({ "DataType": "String", "StringValue": value });
    let body = json!({
        "QueueUrl": url, "MessageBody": "msg",
        "MessageAttributes": { "Hello": attribute("There"), "General": attribute("Kenobi"), "Help.Me": attribute("Me") },
    });
    answer(&engine, "SendMessage", body).await;
    let shown = receive(&engine, &url, json!({})).await["Messages"][0].clone();
    for absent in ["Attributes", "MessageAttributes", "MD5OfMessageAttributes"] {
        assert!(shown.get(absent).is_none(), "{absent}");
    }
    // Digests as AWS was seen to answer them.
    for (names, shown_names, digest) in [
        (json!([".*"]), vec!["General", "Hello", "Help.Me"], "4c360f3fdafd970e05fae2f149d997f5"),
        (json!(["Hello", "General"]), vec!["General", "Hello"], "fca026605781cb4126a1e9044df24232"),
        (json!(["Hello", "Absent"]), vec!["Hello"], "a311262e065454b75da111d535b8dacd"),
        (json!(["Hel.*"]), vec!["Hello", "Help.Me"], "83fee93c1bcd8b9a5a923ffacdc636c7"),
    ] {
        let asked = json!({ "MessageAttributeNames": names });
        let shown = receive(&engine, &url, asked).await["Messages"][0].clone();
        let found: Vec<_> = shown["MessageAttributes"].as_object().unwrap().keys().collect();
        assert_eq!(found, shown_names);
        assert_eq!(shown["MD5OfMessageAttributes"], digest);
    }
    let asked = json!({ "MessageAttributeNames": ["Absent"] });
    let shown = receive(&engine, &url, asked).await["Messages"][0].clone();
    assert!(shown.get("MD5OfMessageAttributes").is_none());
}

#[tokio::test(start_paused = true)]
async fn system_attributes_are_shown_by_name_in_the_old_field_too() {
    let engine = engine();
    let url = queue(&engine, "work.fifo", json!({ "FifoQueue": "true" })).await;
    let body = json!({ "QueueUrl": url, "MessageBody": "a",
                       "MessageGroupId": "g", "MessageDeduplicationId": "d" });
    let sent = answer(&engine, "SendMessage", body).await;
    let asked = json!({ "AttributeNames": ["MessageGroupId", "SequenceNumber"],
                        "MessageSystemAttributeNames": ["MessageDeduplicationId"] });
    let shown = receive(&engine, &url, asked).await["Messages"][0]["Attributes"].clone();
    assert_eq!(
        shown,
        json!({ "MessageGroupId": "g", "MessageDeduplicationId": "d",
                "SequenceNumber": sent["SequenceNumber"] })
    );
    let body = json!({ "QueueUrl": url, "AttributeNames": ["Unknown"] });
    let (_, _, code) = request(&engine, "ReceiveMessage", body).await;
    assert_eq!(code.as_deref(), Some("InvalidAttributeName;Sender"));
}

#[tokio::test(start_paused = true)]
async fn dead_letter_source_is_shown() {
    let engine = engine();
    let dead = queue(&engine, "dead", json!({})).await;
    let policy = r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":"1"}"#;
    let url = queue(&engine, "work", json!({ "RedrivePolicy": policy })).await;
    send(&engine, &url, "a").await;
    receive(&engine, &url, json!({})).await;
    receive(&engine, &url, json!({})).await;
    let asked = json!({ "MessageSystemAttributeNames": ["DeadLetterQueueSourceArn"] });
    assert_eq!(
        receive(&engine, &dead, asked).await["Messages"][0]["Attributes"],
        json!({ "DeadLetterQueueSourceArn": "arn:aws:sqs:us-east-1:000000000000:work" })
    );
}

#[tokio::test(start_paused = true)]
async fn batch_answers_each_entry() {
    let engine = engine();
    let url = queue(&engine, "work", json!({})).await;
    let body = json!({ "QueueUrl": url, "Entries": [
        { "Id": "a", "MessageBody": "one" },
        { "Id": "b", "MessageBody": "two\u{1}" },
        { "Id": "c", "MessageBody": "three",
          "MessageAttributes": { "x": { "DataType": "Binary", "BinaryValue": "no base64!" } } },
        { "Id": "d", "MessageBody": "four" },
    ] });
    let sent = answer(&engine, "SendMessageBatch", body).await;
    assert_eq!(sent["Successful"][0]["Id"], "a");
    assert_eq!(sent["Successful"][0]["MD5OfMessageBody"], "f97c5d29941bfb1b2fdab0874906ab82");
    assert!(sent["Successful"][0]["MessageId"].is_string());
    assert_eq!(sent["Successful"][1]["Id"], "d");
    let failed = sent["Failed"].as_array().unwrap();
    assert_eq!(failed.len(), 2);
    assert_eq!(failed[0]["Id"], "b");
    assert_eq!(failed[0]["SenderFault"], true);
    assert_eq!(failed[0]["Code"], "InvalidMessageContents");
    assert!(failed[0]["Message"].as_str().unwrap().starts_with("Invalid characters found."));
    assert_eq!(
        (&failed[1]["Id"], &failed[1]["Code"]),
        (&json!("c"), &json!("InvalidParameterValue"))
    );
    let received = receive(&engine, &url, json!({ "VisibilityTimeout": 30 })).await;
    let handle = |index: usize| received["Messages"][index]["ReceiptHandle"].clone();
    let body = json!({ "QueueUrl": url, "Entries": [
        { "Id": "a", "ReceiptHandle": handle(0), "VisibilityTimeout": 60 },
        { "Id": "b", "ReceiptHandle": "garbage", "VisibilityTimeout": 60 },
    ] });
    let changed = answer(&engine, "ChangeMessageVisibilityBatch", body).await;
    assert_eq!(changed["Successful"], json!([{ "Id": "a" }]));
    assert_eq!(changed["Failed"][0]["Code"], "ReceiptHandleIsInvalid");
    let body = json!({ "QueueUrl": url, "Entries": [
        { "Id": "a", "ReceiptHandle": handle(0) }, { "Id": "b", "ReceiptHandle": handle(1) },
    ] });
    let deleted = answer(&engine, "DeleteMessageBatch", body).await;
    assert_eq!(deleted, json!({ "Successful": [{ "Id": "a" }, { "Id": "b" }], "Failed": [] }));
}

#[tokio::test(start_paused = true)]
async fn queue_attributes_are_shown_if_asked_for() {
    let engine = engine();
    let url = queue(&engine, "work", json!({ "VisibilityTimeout": "7" })).await;
    let ask = |names: Value| json!({ "QueueUrl": url, "AttributeNames": names });
    let shown =
        answer(&engine, "GetQueueAttributes", ask(json!(["VisibilityTimeout", "Policy"]))).await;
    assert_eq!(shown, json!({ "Attributes": { "VisibilityTimeout": "7" } }));
    assert_eq!(answer(&engine, "GetQueueAttributes", ask(json!([]))).await, json!({}));
    let all = answer(&engine, "GetQueueAttributes", ask(json!(["All"]))).await;
    assert_eq!(all["Attributes"].as_object().unwrap().len(), 12);
    let body = json!({ "QueueUrl": url, "Attributes": { "VisibilityTimeout": "8" } });
    answer(&engine, "SetQueueAttributes", body).await;
    let shown = answer(&engine, "GetQueueAttributes", ask(json!(["VisibilityTimeout"]))).await;
    assert_eq!(shown["Attributes"]["VisibilityTimeout"], "8");
}

#[tokio::test(start_paused = true)]
async fn queues_are_listed_by_page() {
    let engine = engine();
    for name in ["a", "b", "c"] {
        queue(&engine, name, json!({})).await;
    }
    let all = answer(&engine, "ListQueues", json!({})).await;
    assert_eq!(all["QueueUrls"].as_array().unwrap().len(), 3);
    let first = answer(&engine, "ListQueues", json!({ "MaxResults": 2 })).await;
    assert_eq!(first["QueueUrls"].as_array().unwrap().len(), 2);
    let body = json!({ "MaxResults": 2, "NextToken": first["NextToken"] });
    let second = answer(&engine, "ListQueues", body).await;
    assert_eq!(second, json!({ "QueueUrls": [format!("{BASE_URL}/000000000000/c")] }));
    let url = format!("{BASE_URL}/000000000000/c");
    assert_eq!(answer(&engine, "DeleteQueue", json!({ "QueueUrl": url })).await, json!({}));
    assert_eq!(answer(&engine, "ListQueues", json!({ "QueueNamePrefix": "c" })).await, json!({}));
}

#[tokio::test(start_paused = true)]
async fn long_poll_through_the_protocol_waits() {
    let engine = engine();
    let url = queue(&engine, "work", json!({})).await;
    let body = json!({ "QueueUrl": url, "WaitTimeSeconds": 20 });
    assert_eq!(answer(&engine, "ReceiveMessage", body).await, json!({}));
    assert_eq!(engine.now_ms(), EPOCH_MS + 20_000);
}
