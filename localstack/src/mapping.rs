//! Event source mappings and the schedule: what Lambda's service does for the
//! functions, done in process.
//!
//! A mapping receives up to ten messages, invokes the function with an SQS
//! event, and deletes what it did not report failed. Pollers of a FIFO queue
//! never hold two batches of one group: the queue sees to that.

use std::time::Duration;

use everlog::fleet::{Fleet, Function};
use everlog::telemetry::TRACEPARENT;
use everlog_sqs::{AttributeValue, Engine, Entry, Receive, ReceivedMessage};
use serde_json::{Value, json};

use crate::stack;

/// Pollers of each function's queue.
const POLLERS: usize = 2;

/// Invokes the five functions by their queues, and the sweep every minute,
/// until the set is dropped.
#[must_use]
pub fn start(fleet: &Fleet, sqs: &Engine) -> tokio::task::JoinSet<()> {
    let mut tasks = tokio::task::JoinSet::new();
    for function in Function::ALL {
        for _ in 0..POLLERS {
            tasks.spawn(poll(fleet.clone(), sqs.clone(), function));
        }
    }
    let fleet = fleet.clone();
    tasks.spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(60)).await;
            let event = json!({ "source": "aws.events", "detail-type": "Scheduled Event" });
            if let Err(error) = fleet.invoke(Function::TimerSweep, event).await {
                tracing::warn!(%error, "sweep failed");
            }
        }
    });
    tasks
}

async fn poll(fleet: Fleet, sqs: Engine, function: Function) {
    let url = stack::queue_url(function.queue());
    let receive = Receive { max_messages: 10, wait_s: Some(20), ..Receive::default() };
    loop {
        match sqs.receive(&url, receive).await {
            Ok(messages) if messages.is_empty() => {}
            Ok(messages) => deliver(&fleet, &sqs, function, &url, messages).await,
            Err(error) => {
                tracing::error!(%error, url, "receive failed");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// One invocation: a batch in, its failures left in the queue.
pub async fn deliver(
    fleet: &Fleet,
    sqs: &Engine,
    function: Function,
    url: &str,
    messages: Vec<ReceivedMessage>,
) {
    let event = event(function, &messages);
    let answer = match fleet.invoke(function, event).await {
        Ok(answer) => answer,
        Err(error) => {
            tracing::error!(%error, function = function.name(), "invocation failed");
            return;
        }
    };
    let failed = failures(&answer);
    let done = messages.iter().filter(|m| !failed.contains(&m.message_id.as_str()));
    let entries: Vec<Entry<String>> = done
        .enumerate()
        .map(|(at, m)| Entry { id: at.to_string(), item: m.receipt_handle.clone() })
        .collect();
    if entries.is_empty() {
        return;
    }
    if let Err(error) = sqs.delete_batch(url, entries).await {
        tracing::error!(%error, url, "delete failed");
    }
}

pub(crate) fn failures(answer: &Value) -> Vec<&str> {
    let items = answer["batchItemFailures"].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item["itemIdentifier"].as_str()).collect()
}

fn event(function: Function, messages: &[ReceivedMessage]) -> Value {
    let arn = format!("arn:aws:sqs:us-east-1:000000000000:{}", stack::physical(function.queue()));
    let records: Vec<Value> = messages.iter().map(|message| record(message, &arn)).collect();
    json!({ "Records": records })
}

fn record(message: &ReceivedMessage, arn: &str) -> Value {
    let mut attributes = json!({
        "ApproximateReceiveCount": message.receive_count.to_string(),
        "SentTimestamp": message.sent_ms.to_string(),
        "ApproximateFirstReceiveTimestamp": message.first_received_ms.to_string(),
        "SenderId": "local",
    });
    if let Some(group) = &message.group_id {
        attributes["MessageGroupId"] = json!(&**group);
    }
    if let Some(dedup) = &message.deduplication_id {
        attributes["MessageDeduplicationId"] = json!(&**dedup);
    }
    // Of the user's own attributes the functions read this one.
    let trace = message.attributes.get(TRACEPARENT).map(|attribute| &attribute.value);
    let traces = match trace {
        Some(AttributeValue::Text(text)) => {
            json!({ TRACEPARENT: { "dataType": "String", "stringValue": text } })
        }
        Some(AttributeValue::Binary(_)) | None => json!({}),
    };
    json!({
        "messageId": message.message_id,
        "receiptHandle": message.receipt_handle,
        "body": &*message.body,
        "attributes": attributes,
        "messageAttributes": traces,
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": "us-east-1",
    })
}
