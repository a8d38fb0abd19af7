//! The relay: the only place that knows SQS.
//!
//! It sends batches within the limits of SQS, looks at each entry's result,
//! tries what was refused or throttled again, and says what is left. It does
//! not know what it sends, and it promises nothing about a message once its
//! queue has accepted it: messages are hints, the log is the truth.

mod batch;

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Builder};
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};

use crate::config::Queues;
use crate::limits::SQS_BATCH_BYTES_MAX;
use crate::telemetry::trace::{self, TRACEPARENT, TRACEPARENT_BYTES};

/// Tries of one entry.
const TRIES: u32 = 3;
/// One try of one request, in milliseconds.
const ATTEMPT_MS: u64 = 3_000;

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Its body.
    pub body: String,
    /// Its FIFO group; ignored by standard queues.
    pub group: String,
    /// Its deduplication id; ignored by standard queues.
    pub dedup: String,
    /// Whole seconds before it can be received; at most 900; not for FIFO.
    pub delay_s: u32,
}

/// Sends to queues by logical name.
#[derive(Debug, Clone)]
pub struct Relay {
    sqs: aws_sdk_sqs::Client,
    queues: Queues,
}

/// Sets up a client for the relay: retries are its own, time-outs explicit.
#[must_use]
pub fn configure(base: Builder) -> aws_sdk_sqs::Client {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_millis(1_000))
        .operation_attempt_timeout(Duration::from_millis(ATTEMPT_MS))
        .operation_timeout(Duration::from_millis(ATTEMPT_MS))
        .build();
    let config = base
        .behavior_version(BehaviorVersion::v2026_01_12())
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts)
        .build();
    aws_sdk_sqs::Client::from_conf(config)
}

impl Relay {
    /// A relay to these queues.
    #[must_use]
    pub fn new(sqs: aws_sdk_sqs::Client, queues: Queues) -> Self {
        Self { sqs, queues }
    }

    /// The queues it knows.
    #[must_use]
    pub fn queues(&self) -> &Queues {
        &self.queues
    }

    /// Sends all of `messages` to a queue; returns those that it did not
    /// accept after three tries. An unknown queue accepts none.
    ///
    /// The present trace goes along, as the attribute `traceparent`, where it fits.
    ///
    /// Costs one SQS request a batch of up to 10 entries and 1 MiB.
    #[tracing::instrument(
        level = "debug",
        name = "relay",
        skip_all,
        fields(otel.kind = "producer", queue = queue, messages = messages.len(), left)
    )]
    pub async fn send(&self, queue: &str, messages: Vec<Outgoing>) -> Vec<Outgoing> {
        let Some(url) = self.queues.url(queue) else {
            tracing::error!(queue, "no such queue in EVERLOG_QUEUES");
            return messages;
        };
        let fifo = url.ends_with(".fifo");
        let mut left = Vec::new();
        for batch in batch::split(messages) {
            left.extend(self.send_batch(url, fifo, batch).await);
        }
        tracing::Span::current().record("left", left.len());
        left
    }

    async fn send_batch(&self, url: &str, fifo: bool, mut batch: Vec<Outgoing>) -> Vec<Outgoing> {
        let trace = trace::traceparent();
        for attempt in 1..=TRIES {
            let entries: Vec<_> = batch
                .iter()
                .enumerate()
                .filter_map(|(at, m)| entry(at, m, fifo, trace.as_deref()))
                .collect();
            let sent = self
                .sqs
                .send_message_batch()
                .queue_url(url)
                .set_entries(Some(entries))
                .send()
                .await;
            match sent {
                Ok(answer) => {
                    let accepted: Vec<usize> =
                        answer.successful().iter().filter_map(|e| e.id().parse().ok()).collect();
                    for failed in answer.failed() {
                        tracing::warn!(
                            url,
                            code = failed.code(),
                            fault = failed.sender_fault(),
                            "entry refused"
                        );
                    }
                    batch = batch
                        .into_iter()
                        .enumerate()
                        .filter(|(at, _)| !accepted.contains(at))
                        .map(|(_, message)| message)
                        .collect();
                }
                Err(error) => {
                    let error = crate::said(&error);
                    tracing::warn!(url, error, "batch not sent");
                }
            }
            if batch.is_empty() {
                break;
            }
            if attempt < TRIES {
                let wait_ms = rand::random_range(0..=50_u64 << attempt);
                tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            }
        }
        batch
    }

    /// Makes a message of a queue visible again after `seconds`. Best effort:
    /// otherwise it comes back when its visibility ends.
    pub async fn give_back(&self, queue: &str, receipt_handle: &str, seconds: i32) {
        let Some(url) = self.queues.url(queue) else { return };
        let sent = self
            .sqs
            .change_message_visibility()
            .queue_url(url)
            .receipt_handle(receipt_handle)
            .visibility_timeout(seconds)
            .send()
            .await;
        if let Err(error) = sent {
            let error = crate::said(&error);
            tracing::debug!(queue, error, "visibility not changed");
        }
    }
}

fn entry(
    at: usize,
    message: &Outgoing,
    fifo: bool,
    trace: Option<&str>,
) -> Option<SendMessageBatchRequestEntry> {
    let fits = message.body.len() + TRACEPARENT_BYTES <= SQS_BATCH_BYTES_MAX;
    let attribute = |trace: &str| {
        let value = MessageAttributeValue::builder().data_type("String").string_value(trace);
        Some(HashMap::from([(TRACEPARENT.to_owned(), value.build().ok()?)]))
    };
    let entry = SendMessageBatchRequestEntry::builder()
        .id(at.to_string())
        .message_body(&message.body)
        .set_message_attributes(trace.filter(|_| fits).and_then(attribute));
    let entry = if fifo {
        entry.message_group_id(&message.group).message_deduplication_id(&message.dedup)
    } else if message.delay_s > 0 {
        entry.delay_seconds(i32::try_from(message.delay_s).unwrap_or(900).min(900))
    } else {
        entry
    };
    entry.build().ok()
}
