//! The five functions in this process, invoked by real queues: for stacks that
//! have DynamoDB and SQS and no Lambda.
//!
//! It does what an event source mapping does: receives up to ten messages,
//! invokes the function with an SQS event, and deletes what was not reported
//! failed; once a minute it invokes the sweep. It promises no more than Lambda
//! does: a batch may come twice. It deliberately keeps nothing and scales by
//! its pollers alone.
//!
//! A queue that does not answer is asked again, after a while that grows.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName};
use everlog::fleet::{Fleet, Function};
use everlog::said;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::deployed::Deployed;
use crate::mapping::failures;

/// An invocation ends after this, as Lambda's do.
const INVOCATION_MS: u64 = 30_000;
/// Seconds for which a receive waits for messages. A stop waits for it: what a
/// receive that was given up takes along would hold up its group.
const WAIT_S: i32 = 5;
/// Seconds for which a batch is hidden: six times the longest invocation.
const HIDDEN_S: i32 = 180;
/// Longest wait after a receive that failed, seconds.
const PAUSE_S_MAX: u64 = 20;

/// Serves as `fleet` until `stopped` says so; then what is under way is finished.
pub async fn serve(
    fleet: Fleet,
    deployed: Deployed,
    pollers: usize,
    stopped: watch::Receiver<bool>,
) {
    let mut tasks = JoinSet::new();
    for function in Function::ALL {
        // The pollers of one function share its instance, as they share its log.
        for _ in 0..pollers {
            tasks.spawn(poll(fleet.clone(), deployed.clone(), function, stopped.clone()));
        }
    }
    tasks.spawn(sweep(fleet, stopped));
    while tasks.join_next().await.is_some() {}
}

async fn sweep(fleet: Fleet, mut stopped: watch::Receiver<bool>) {
    let mut minutes = tokio::time::interval(Duration::from_secs(60));
    loop {
        tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => return,
            _ = minutes.tick() => {}
        }
        let event = json!({ "source": "aws.scheduler", "detail-type": "Scheduled Event" });
        let fleet = fleet.until(fleet.journal().clock().now().plus_ms(INVOCATION_MS));
        if let Err(error) = fleet.invoke(Function::TimerSweep, event).await {
            tracing::error!(%error, "the sweep failed");
        }
    }
}

async fn poll(
    fleet: Fleet,
    deployed: Deployed,
    function: Function,
    mut stopped: watch::Receiver<bool>,
) {
    let Some(url) = deployed.queues.url(function.queue()) else {
        tracing::error!(queue = function.queue(), "no such queue in EVERLOG_QUEUES");
        return;
    };
    let mut pause_s = 0;
    while !*stopped.borrow() {
        let receive = deployed
            .sqs
            .receive_message()
            .queue_url(url)
            .max_number_of_messages(10)
            .wait_time_seconds(WAIT_S)
            .visibility_timeout(HIDDEN_S)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .message_attribute_names("All");
        match receive.send().await {
            Ok(answer) => {
                pause_s = 0;
                if let Some(messages) = answer.messages.filter(|m| !m.is_empty()) {
                    deliver(&fleet, &deployed, function, url, &messages).await;
                }
            }
            Err(error) => {
                pause_s = (2 * pause_s + 1).min(PAUSE_S_MAX);
                tracing::warn!(error = said(&error), url, "receive failed");
                let told = stopped.wait_for(|stopped| *stopped);
                drop(tokio::time::timeout(Duration::from_secs(pause_s), told).await);
            }
        }
    }
}

async fn deliver(
    fleet: &Fleet,
    deployed: &Deployed,
    function: Function,
    url: &str,
    messages: &[Message],
) {
    let arn =
        format!("arn:aws:sqs:local:000000000000:{}", url.rsplit('/').next().unwrap_or_default());
    let records: Vec<Value> = messages.iter().map(|message| record(message, &arn)).collect();
    let fleet = fleet.until(fleet.journal().clock().now().plus_ms(INVOCATION_MS));
    let answer = match fleet.invoke(function, json!({ "Records": records })).await {
        Ok(answer) => answer,
        Err(error) => {
            tracing::error!(%error, function = function.name(), "the invocation failed");
            return;
        }
    };
    let failed = failures(&answer);
    let done = messages
        .iter()
        .filter(|m| m.message_id().is_some_and(|id| !failed.contains(&id)))
        .enumerate()
        .filter_map(|(at, m)| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(at.to_string());
            entry.set_receipt_handle(m.receipt_handle.clone()).build().ok()
        });
    let done: Vec<_> = done.collect();
    if done.is_empty() {
        return;
    }
    let deleted = deployed.sqs.delete_message_batch().queue_url(url).set_entries(Some(done));
    if let Err(error) = deleted.send().await {
        tracing::warn!(error = said(&error), url, "the batch comes again");
    }
}

fn record(message: &Message, arn: &str) -> Value {
    let attributes: HashMap<&str, &str> = message
        .attributes()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let own: HashMap<&str, Value> = message
        .message_attributes()
        .into_iter()
        .flatten()
        .map(|(name, value)| {
            let value =
                json!({ "dataType": value.data_type(), "stringValue": value.string_value() });
            (name.as_str(), value)
        })
        .collect();
    json!({
        "messageId": message.message_id(),
        "receiptHandle": message.receipt_handle(),
        "body": message.body(),
        "attributes": attributes,
        "messageAttributes": own,
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
    })
}
