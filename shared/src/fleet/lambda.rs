//! The shape of Lambda's events and answers, for all five functions.

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsMessage};
use serde_json::{Value, json};

use super::{Fleet, Function, GiveBack, Message};
use crate::answer::InvalidInput;
use crate::telemetry::Count;
use crate::telemetry::trace::TRACEPARENT;
use crate::time::Timestamp;

/// Why an invocation as a whole failed; Lambda repeats it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvocationError {
    /// The event has a shape that nobody sends.
    #[error(transparent)]
    Unreadable(#[from] InvalidInput),
    /// The work was given back.
    #[error(transparent)]
    GivenBack(#[from] super::GiveBack),
}

impl InvocationError {
    /// The `errorType` that a direct caller sees: `Unreadable` must be
    /// corrected, `GivenBack` be sent again.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "Unreadable",
            Self::GivenBack(_) => "GivenBack",
        }
    }
}

impl Fleet {
    /// Serves one invocation: an SQS batch, a schedule event (`timer-sweep`
    /// alone), or a command, which is answered.
    ///
    /// # Errors
    /// [`InvocationError`]. A batch fails message by message, never as a whole,
    /// unless a message has no id to be reported by.
    pub async fn invoke(&self, function: Function, event: Value) -> Result<Value, InvocationError> {
        if let Some(records) = event.get("Records").and_then(Value::as_array) {
            let messages = records.iter().map(|record| self.message(record));
            let messages = messages.collect::<Result<Vec<Message>, InvalidInput>>()?;
            return Ok(Box::pin(self.batch(function, messages)).await);
        }
        let scheduled = event.get("source").and_then(Value::as_str);
        if function == Function::TimerSweep {
            if matches!(scheduled, Some("aws.events" | "aws.scheduler")) {
                return Ok(json!({ "woken": self.sweep().await? }));
            }
            let limit = "an SQS batch or a schedule event";
            return Err(InvalidInput::new("event", limit, event).into());
        }
        if function == Function::OutboxDispatch {
            return Err(InvalidInput::new("event", "an SQS batch", event).into());
        }
        let answer = Box::pin(self.direct(function, &event.to_string())).await?;
        serde_json::to_value(answer)
            .map_err(|error| InvalidInput::new("answer", "JSON", error).into())
    }

    async fn batch(&self, function: Function, messages: Vec<Message>) -> Value {
        let order: Vec<(String, Option<String>)> =
            messages.iter().map(|m| (m.id.clone(), m.group.clone())).collect();
        let handles: Vec<Message> =
            messages.iter().map(|m| Message { body: String::new(), ..m.clone() }).collect();
        self.arrived(function, &messages);
        let failed = match function {
            Function::Append | Function::Prepare | Function::Settle => {
                self.commands(function, messages).await
            }
            Function::TimerSweep => self.wakes(messages).await,
            Function::OutboxDispatch => self.left_overs(messages).await,
        };
        let mut response = SqsBatchResponse::default();
        let all = with_rest_of_groups(&order, &failed);
        self.tally.given_back(GiveBack::AfterFailure.name(), all.len() - failed.len());
        for id in all {
            if let Some(message) = handles.iter().find(|m| m.id == id) {
                self.make_visible_soon(message).await;
            }
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = id;
            response.batch_item_failures.push(failure);
        }
        serde_json::to_value(response).unwrap_or_default()
    }

    /// Counts what the transport knows of a batch. The age of a wake says
    /// nothing, since it was sent to come later; the look says how late it is.
    fn arrived(&self, function: Function, messages: &[Message]) {
        let again = messages.iter().filter(|message| message.receive_count > 1);
        self.tally.add(Count::Redelivered, again.count());
        let oldest = messages.iter().filter_map(|message| message.sent_at).min();
        if let Some(oldest) = oldest.filter(|_| function != Function::TimerSweep) {
            self.tally.waited(self.clock.now().since(oldest));
        }
    }

    fn message(&self, record: &Value) -> Result<Message, InvalidInput> {
        let message: SqsMessage = serde_json::from_value(record.clone())
            .map_err(|e| InvalidInput::new("Records", "SQS messages", e))?;
        let attribute = |name: &str| message.attributes.get(name).cloned();
        let time = |name: &str| attribute(name).and_then(|t| t.parse().ok()).map(Timestamp);
        let physical = message.event_source_arn.as_deref().and_then(|arn| arn.rsplit(':').next());
        let queue = physical.and_then(|name| self.relay.queues().named(name));
        Ok(Message {
            id: message
                .message_id
                .filter(|id| !id.is_empty())
                .ok_or_else(|| InvalidInput::new("Records.messageId", "an id", "none"))?,
            body: message.body.unwrap_or_default(),
            receipt_handle: message.receipt_handle.unwrap_or_default(),
            queue: queue.unwrap_or_default().to_owned(),
            // A standard queue may have groups too, but no order to keep.
            group: message
                .attributes
                .get("MessageGroupId")
                .filter(|_| physical.is_some_and(|name| name.ends_with(".fifo")))
                .cloned(),
            receive_count: attribute("ApproximateReceiveCount")
                .and_then(|t| t.parse().ok())
                .unwrap_or(1),
            sent_at: time("SentTimestamp"),
            first_received_at: time("ApproximateFirstReceiveTimestamp"),
            traceparent: message
                .message_attributes
                .get(TRACEPARENT)
                .and_then(|attribute| attribute.string_value.clone()),
        })
    }
}

/// After the first failure of a FIFO group the rest of that group failed too.
fn with_rest_of_groups(order: &[(String, Option<String>)], failed: &[String]) -> Vec<String> {
    let mut broken: Vec<&String> = Vec::new();
    let mut all = Vec::new();
    for (id, group) in order {
        let in_broken = group.as_ref().is_some_and(|group| broken.contains(&group));
        if in_broken || failed.contains(id) {
            broken.extend(group.as_ref());
            all.push(id.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_group_fails_with_its_first_failure_and_other_groups_do_not() {
        let order = [("1", "a"), ("2", "b"), ("3", "a"), ("4", "b"), ("5", "a")];
        let order: Vec<_> = order.iter().map(|(id, g)| ((*id).into(), Some((*g).into()))).collect();
        assert_eq!(with_rest_of_groups(&order, &["3".into()]), ["3", "5"]);
        let standard: Vec<_> =
            order.iter().map(|(id, _): &(String, Option<String>)| (id.clone(), None)).collect();
        assert_eq!(with_rest_of_groups(&standard, &["3".into()]), ["3"]);
    }
}
