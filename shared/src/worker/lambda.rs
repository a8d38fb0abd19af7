//! A worker as a Lambda function behind a task queue: an SQS event in, the
//! failures of its batch out.
//!
//! The event source mapping must report batch item failures, and its queue
//! needs a visibility of six times the function's time-out, as AWS asks.
//! Everything that an invocation begins ends within it: handlers have the
//! deadline less the reserve. Nothing runs after the answer.
//!
//! The messages of a batch run side by side. In a FIFO task queue each attempt
//! is a group of its own, so one failure holds up nothing else.

use std::time::Duration;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsMessage};
use futures::StreamExt;
use serde_json::Value;
use tokio::time::Instant;

use super::attempt::Received;
use super::{Deadline, Fate, TaskQueue, Worker};
use crate::telemetry::TRACEPARENT;
use crate::time::Timestamp;

/// How long an invocation waits for a message to become visible again.
const GIVE_BACK_PATIENCE: Duration = Duration::from_millis(500);

/// The event is none of SQS, or a message of it has no id to be reported by:
/// the invocation fails as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an SQS event: {0}")]
pub struct EventError(String);

impl Worker {
    /// Serves one invocation that ends at `deadline`, milliseconds since 1970;
    /// `concurrency` handlers run at once.
    ///
    /// With `queue`, what is given back becomes visible at once, which costs a
    /// request each and needs `sqs:ChangeMessageVisibility`; without it, when
    /// its visibility ends.
    ///
    /// # Errors
    /// [`EventError`].
    pub async fn invoke(
        &self,
        event: Value,
        deadline: Timestamp,
        concurrency: usize,
        queue: Option<&TaskQueue>,
    ) -> Result<Value, EventError> {
        let messages = messages(event)?;
        let left = Duration::from_millis(deadline.since(self.clock.now()));
        let reserve = self.reserve.min(left / 2);
        let deadline = Deadline::at(Instant::now() + (left - reserve), reserve * 2 / 3);
        let served = futures::stream::iter(messages)
            .map(|message| self.serve_one(message, &deadline, queue))
            .buffer_unordered(concurrency.max(1));
        let mut response = SqsBatchResponse::default();
        let failed: Vec<String> = served.filter_map(std::future::ready).collect().await;
        for id in failed {
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = id;
            response.batch_item_failures.push(failure);
        }
        serde_json::to_value(response).map_err(|error| EventError(error.to_string()))
    }

    /// Serves one message; its id, if it must come again.
    async fn serve_one(
        &self,
        message: SqsMessage,
        deadline: &Deadline,
        queue: Option<&TaskQueue>,
    ) -> Option<String> {
        let id = message.message_id.unwrap_or_default();
        let body = message.body.unwrap_or_default();
        let arn = message.event_source_arn.unwrap_or_default();
        let trace = message.message_attributes.get(TRACEPARENT);
        let received = Received {
            queue: arn.rsplit(':').next().unwrap_or_default(),
            id: &id,
            body: &body,
            traceparent: trace.and_then(|value| value.string_value.as_deref()),
        };
        match (self.take(received, deadline).await, queue) {
            (Fate::Done, _) => return None,
            (Fate::Again(after), Some(queue)) => {
                let handle = message.receipt_handle.unwrap_or_default();
                let hidden = queue.hide_for(&handle, after);
                // Best effort: the answer must leave in time.
                let _ = tokio::time::timeout(GIVE_BACK_PATIENCE, hidden).await;
            }
            (Fate::Again(_), None) | (Fate::Leave, _) => {}
        }
        Some(id)
    }
}

fn messages(mut event: Value) -> Result<Vec<SqsMessage>, EventError> {
    let records = event.get_mut("Records").map(Value::take);
    let records = records.ok_or_else(|| EventError("it has no Records".to_owned()))?;
    let messages: Vec<SqsMessage> =
        serde_json::from_value(records).map_err(|error| EventError(error.to_string()))?;
    match messages.iter().all(|m| m.message_id.as_deref().is_some_and(|id| !id.is_empty())) {
        true => Ok(messages),
        false => Err(EventError("a message has no id".to_owned())),
    }
}
