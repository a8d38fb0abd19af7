//! A task queue of SQS: receive, keep hidden, delete.
//!
//! Here and in `relay` alone SQS is known. What fails is logged, and waits:
//! SQS itself makes a message visible again that nobody has deleted.

use std::time::Duration;

use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Builder};
use aws_sdk_sqs::types::Message;

use crate::said;
use crate::telemetry::TRACEPARENT;

/// Seconds that a receive waits for messages: the longest that SQS takes.
const WAIT_S_MAX: i32 = 20;
/// One try of one request, in milliseconds; longer than a receive waits.
const ATTEMPT_MS: u64 = 30_000;
/// Tries of a delete and of a change of visibility.
const TRIES: u32 = 3;

/// Sets up a client for [`TaskQueue`]: `base` brings address, credentials and
/// transport. Its time-outs leave a long poll its time; it repeats nothing by
/// itself.
#[must_use]
pub fn configure(base: Builder) -> aws_sdk_sqs::Client {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_millis(2_000))
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

/// A queue of dispatches.
#[derive(Debug, Clone)]
pub struct TaskQueue {
    sqs: aws_sdk_sqs::Client,
    url: String,
    hidden_s: i32,
    wait_s: i32,
}

impl TaskQueue {
    /// The queue at `url`; `sqs` should come from [`configure`].
    #[must_use]
    pub fn new(sqs: aws_sdk_sqs::Client, url: impl Into<String>) -> Self {
        Self { sqs, url: url.into(), hidden_s: 60, wait_s: WAIT_S_MAX }
    }

    /// How long a message stays hidden after its last sign of life, in seconds:
    /// 60 by default, from 3 to 43,200. A process that dies gives its messages
    /// back after that.
    #[must_use]
    pub fn with_visibility_s(self, hidden_s: u32) -> Self {
        Self { hidden_s: i32::try_from(hidden_s).unwrap_or(43_200).clamp(3, 43_200), ..self }
    }

    /// How long a receive waits for messages, in seconds: 20 by default, from 1
    /// to 20. An empty queue costs a request each time, and a worker that is
    /// told to stop waits for the one that is under way.
    #[must_use]
    pub fn with_wait_s(self, wait_s: u32) -> Self {
        let wait_s = i32::try_from(wait_s).unwrap_or(WAIT_S_MAX).clamp(1, WAIT_S_MAX);
        Self { wait_s, ..self }
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The last part of its address, for letters.
    pub(super) fn name(&self) -> &str {
        self.url.rsplit('/').next().unwrap_or_default()
    }

    /// Waits for up to `most` messages, at most 10.
    pub(super) async fn receive(&self, most: usize) -> Result<Vec<Message>, String> {
        let most = i32::try_from(most).unwrap_or(10).clamp(1, 10);
        let receive = self.sqs.receive_message().queue_url(&self.url).max_number_of_messages(most);
        let receive = receive.message_attribute_names(TRACEPARENT);
        let receive = receive.wait_time_seconds(self.wait_s).visibility_timeout(self.hidden_s);
        match receive.send().await {
            Ok(answer) => Ok(answer.messages.unwrap_or_default()),
            Err(error) => Err(said(&error)),
        }
    }

    /// Keeps a message hidden; never returns.
    pub(super) async fn keep_hidden(&self, handle: &str) {
        let every = Duration::from_secs(u64::try_from(self.hidden_s).unwrap_or(3)) / 3;
        loop {
            tokio::time::sleep(every).await;
            self.hide(handle, self.hidden_s).await;
        }
    }

    /// Makes a message visible after a while, rounded up to seconds.
    pub(super) async fn hide_for(&self, handle: &str, after: Duration) {
        let seconds = after.as_millis().div_ceil(1_000).min(43_200);
        self.hide(handle, i32::try_from(seconds).unwrap_or(43_200)).await;
    }

    /// Makes a message visible after `seconds`.
    pub(super) async fn hide(&self, handle: &str, seconds: i32) {
        let request = || {
            let change = self.sqs.change_message_visibility().queue_url(&self.url);
            let sent = change.receipt_handle(handle).visibility_timeout(seconds).send();
            async { sent.await.map(drop).map_err(|e| said(&e)) }
        };
        self.insist("visibility not changed", request).await;
    }

    /// Deletes a message.
    pub(super) async fn delete(&self, handle: &str) {
        let request = || {
            let delete = self.sqs.delete_message().queue_url(&self.url);
            let sent = delete.receipt_handle(handle).send();
            async { sent.await.map(drop).map_err(|e| said(&e)) }
        };
        self.insist("not deleted, it comes again", request).await;
    }

    async fn insist<F>(&self, otherwise: &'static str, request: impl Fn() -> F)
    where
        F: Future<Output = Result<(), String>>,
    {
        for attempt in 1..=TRIES {
            match request().await {
                Ok(()) => return,
                Err(error) if attempt == TRIES => {
                    tracing::warn!(url = self.url, error, "{otherwise}");
                }
                Err(_) => {
                    let wait_ms = rand::random_range(0..=50_u64 << attempt);
                    tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                }
            }
        }
    }
}
