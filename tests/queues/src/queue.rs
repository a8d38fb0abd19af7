//! A queue of a test, and what tests do with it.
//!
//! What must succeed panics if it does not. What may be refused hands back the
//! code of the refusal, as the SDK shows it.

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::operation::send_message::SendMessageOutput;
use aws_sdk_sqs::operation::send_message::builders::SendMessageFluentBuilder;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName, QueueAttributeName};

/// A queue.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    pub(crate) sqs: Client,
    pub(crate) name: String,
    pub(crate) url: String,
}

/// The answer, or the code of the refusal.
pub(crate) fn answered<T, E>(result: Result<T, SdkError<E>>) -> Result<T, String>
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    result.map_err(|error| match error.as_service_error().and_then(|e| e.code()) {
        Some(code) => code.to_owned(),
        None => DisplayErrorContext(&error).to_string(),
    })
}

/// "accepted", or the code of the refusal.
pub(crate) fn code<T>(result: Result<T, String>) -> String {
    result.map_or_else(|code| code, |_| "accepted".to_owned())
}

/// The bodies of messages.
pub(crate) fn bodies(messages: &[Message]) -> Vec<&str> {
    messages.iter().filter_map(Message::body).collect()
}

/// A system attribute of a message.
pub(crate) fn system(message: &Message, name: MessageSystemAttributeName) -> Option<&str> {
    message.attributes()?.get(&name).map(String::as_str)
}

/// How often a message was received.
pub(crate) fn receives(message: &Message) -> &str {
    system(message, MessageSystemAttributeName::ApproximateReceiveCount).unwrap_or("?")
}

/// The handle of a receive.
pub(crate) fn handle(message: &Message) -> &str {
    message.receipt_handle().expect("a handle")
}

impl Queue {
    /// Makes one.
    pub(crate) async fn create(
        sqs: &Client,
        name: &str,
        attributes: &[(&str, &str)],
    ) -> Result<Self, String> {
        let mut all: HashMap<QueueAttributeName, String> = attributes
            .iter()
            .map(|(name, value)| (QueueAttributeName::from(*name), (*value).to_owned()))
            .collect();
        if name.ends_with(".fifo") {
            all.insert(QueueAttributeName::FifoQueue, "true".into());
        }
        let all = (!all.is_empty()).then_some(all);
        let made = sqs.create_queue().queue_name(name).set_attributes(all).send().await;
        let url = answered(made)?.queue_url.expect("a URL");
        Ok(Self { sqs: sqs.clone(), name: name.to_owned(), url })
    }

    /// A message that is made by `with`.
    pub(crate) async fn try_send(
        &self,
        body: impl Into<String>,
        with: impl FnOnce(SendMessageFluentBuilder) -> SendMessageFluentBuilder,
    ) -> Result<SendMessageOutput, String> {
        let message = self.sqs.send_message().queue_url(&self.url).message_body(body);
        answered(with(message).send().await)
    }

    /// Sends to a standard queue; the message's id.
    pub(crate) async fn send(&self, body: &str) -> String {
        let sent = self.try_send(body, |m| m).await.expect("accepted");
        sent.message_id.expect("an id")
    }

    /// Sends to a FIFO queue; the body is the deduplication id.
    pub(crate) async fn send_in(&self, group: &str, body: &str) -> String {
        let sent =
            self.try_send(body, |m| m.message_group_id(group).message_deduplication_id(body));
        sent.await.expect("accepted").message_id.expect("an id")
    }

    /// Receives, with everything that there is to know of a message.
    pub(crate) async fn try_receive(
        &self,
        max: i32,
        wait_s: i32,
        visibility_s: i32,
    ) -> Result<Vec<Message>, String> {
        let receive = self
            .sqs
            .receive_message()
            .queue_url(&self.url)
            .max_number_of_messages(max)
            .wait_time_seconds(wait_s)
            .visibility_timeout(visibility_s)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .message_attribute_names("All");
        Ok(answered(receive.send().await)?.messages.unwrap_or_default())
    }

    /// A short poll for up to ten messages.
    pub(crate) async fn poll(&self, visibility_s: i32) -> Vec<Message> {
        self.try_receive(10, 0, visibility_s).await.expect("an answer")
    }

    /// A short poll for one message, which must be there, and alone if `max` is more.
    pub(crate) async fn poll_one(&self, visibility_s: i32) -> Message {
        let mut messages = self.poll(visibility_s).await;
        assert_eq!(messages.len(), 1, "one message was expected: {:?}", bodies(&messages));
        messages.remove(0)
    }

    /// A poll that waits up to 10 seconds for one message.
    pub(crate) async fn next(&self, visibility_s: i32) -> Message {
        let mut messages = self.try_receive(1, 10, visibility_s).await.expect("an answer");
        assert_eq!(messages.len(), 1, "nothing came in 10 seconds");
        messages.remove(0)
    }

    /// Deletes by a handle.
    pub(crate) async fn try_delete(&self, handle: &str) -> Result<(), String> {
        let delete = self.sqs.delete_message().queue_url(&self.url).receipt_handle(handle);
        answered(delete.send().await).map(drop)
    }

    /// Deletes what was received.
    pub(crate) async fn delete(&self, message: &Message) {
        self.try_delete(handle(message)).await.expect("deleted");
    }

    /// Changes a visibility.
    pub(crate) async fn change(&self, handle: &str, seconds: i32) -> Result<(), String> {
        let change = self.sqs.change_message_visibility().queue_url(&self.url);
        let change = change.receipt_handle(handle).visibility_timeout(seconds);
        answered(change.send().await).map(drop)
    }

    /// An attribute of the queue.
    pub(crate) async fn attribute(&self, name: QueueAttributeName) -> Option<String> {
        let asked = self.sqs.get_queue_attributes().queue_url(&self.url);
        let asked = asked.attribute_names(QueueAttributeName::All).send().await;
        answered(asked).expect("attributes").attributes?.remove(&name)
    }

    /// Sets attributes.
    pub(crate) async fn set(&self, attributes: &[(&str, &str)]) -> Result<(), String> {
        let mut set = self.sqs.set_queue_attributes().queue_url(&self.url);
        for (name, value) in attributes {
            set = set.attributes(QueueAttributeName::from(*name), *value);
        }
        answered(set.send().await).map(drop)
    }

    /// What the queue counts: visible, delayed, in flight.
    pub(crate) async fn counts(&self) -> [String; 3] {
        let names = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
        ];
        let mut counts = [const { String::new() }; 3];
        for (count, name) in counts.iter_mut().zip(names) {
            *count = self.attribute(name).await.unwrap_or_default();
        }
        counts
    }
}
