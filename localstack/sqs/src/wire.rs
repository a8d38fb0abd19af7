//! The AWS JSON 1.0 protocol of SQS.
//!
//! What it is: from an `x-amz-target` and a body to a status, a body and
//! headers. It promises the field names, codes and headers that `aws-sdk-sqs`
//! 1.x reads and writes, `x-amzn-query-error` included. It deliberately knows
//! no HTTP: a connector or a server passes target and body in and the answer
//! out; signatures are not looked at. It never fails: an error is an answer
//! with its status. Next: `wire/request.rs`, `wire/answer.rs`.

mod answer;
mod request;
mod select;

use crate::engine::Engine;
use crate::error::{ErrorKind, SqsError};
use crate::limits;
use crate::message::Receive;
use request::wanted;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Status, body and headers of an answer.
pub type Answer = (u16, Vec<u8>, Vec<(String, String)>);

const TARGET_PREFIX: &str = "AmazonSQS.";

impl Engine {
    /// Answers a request in the AWS JSON 1.0 protocol.
    ///
    /// `target` is the value of the header `x-amz-target`, for instance
    /// `AmazonSQS.SendMessage`. Every request gets an answer; errors have
    /// status 400 or above, `__type` and `message` in the body, and the header
    /// `x-amzn-query-error`. A `ReceiveMessage` may take up to 20 seconds.
    pub async fn call(&self, target: &str, body: &[u8]) -> Answer {
        let operation = target.strip_prefix(TARGET_PREFIX).unwrap_or(target);
        let answered = match self.message_operation(operation, body).await {
            None => self.queue_operation(operation, body).await,
            answered => answered,
        };
        match answered {
            Some(Ok(body)) => (200, body, headers(None)),
            Some(Err(error)) => refusal(&error),
            None => refusal(
                &ErrorKind::InvalidAction
                    .because(format!("The action {operation} is not valid for this endpoint.")),
            ),
        }
    }

    async fn message_operation(
        &self,
        operation: &str,
        body: &[u8],
    ) -> Option<Result<Vec<u8>, SqsError>> {
        Some(match operation {
            "SendMessage" => self.send_message(body).await,
            "SendMessageBatch" => self.send_message_batch(body).await,
            "ReceiveMessage" => self.receive_message(body).await,
            "DeleteMessage" => self.delete_message(body).await,
            "DeleteMessageBatch" => self.delete_message_batch(body).await,
            "ChangeMessageVisibility" => self.change_message_visibility(body).await,
            "ChangeMessageVisibilityBatch" => self.change_message_visibility_batch(body).await,
            _ => return None,
        })
    }

    async fn queue_operation(
        &self,
        operation: &str,
        body: &[u8],
    ) -> Option<Result<Vec<u8>, SqsError>> {
        Some(match operation {
            "GetQueueUrl" => self.find_queue(body).await,
            "GetQueueAttributes" => self.get_queue_attributes(body).await,
            "SetQueueAttributes" => self.set_queue_attributes(body).await,
            "CreateQueue" => self.make_queue(body).await,
            "DeleteQueue" => self.remove_queue(body).await,
            "ListQueues" => self.list_queues_by_page(body).await,
            "PurgeQueue" => self.purge_queue(body).await,
            _ => return None,
        })
    }

    async fn send_message(&self, body: &[u8]) -> Result<Vec<u8>, SqsError> {
        let mut request: request::SendMessage = read(body)?;
        let url = wanted(request.queue_url.take(), "QueueUrl")?;
        let sent = self.send(&url, request.outgoing()?).await?;
        written(&answer::SendMessage::from(sent))
    }

    async fn send_message_batch(&self, body: &[u8]) -> Result<Vec<u8>, SqsError> {
        let mut request: request::Batch<request::SendMessage> = read(body)?;
        let url = wanted(request.queue_url.take(), "QueueUrl")?;
        let entries = request.entries(|mut entry| Ok((entry.id.take(), entry.outgoing())))?;
        let outcome = self.send_readable(&url, entries).await?;
        written(&answer::Batch::of(outcome, |id, sent| answer::SentEntry {
            id,
            sent: answer::SendMessage::from(sent),
        }))
    }

    async fn receive_message(&self, body: &[u8]) -> Result<Vec<u8>, SqsError> {
        let request: request::ReceiveMessage = read(body)?;
        let selection = request.selection()?;
        let url = wanted(request.queue_url, "QueueUrl")?;
        let receive = Receive {
            max_messages: request
                .max_number_of_messages
                .map_or(1, |number| u32::try_from(number).unwrap_or(0)),
            wait_s: request.wait_time_seconds.map(request::seconds),
            visibility_s: request.visibility_timeout.map(request::seconds),
        };
        let messages = self.receive(&url, receive).await?;
        written(&answer::ReceiveMessage::of(messages, &selection))
    }

    async fn delete_message(&self, body: &[u8]) -> Result<Vec<u8>, SqsError> {
        let request: request::DeleteMessage = read(body)?;
        let url = wanted(request.queue_url, "QueueUrl")?;
        self.delete(&url, &wanted(request.receipt_handle, "ReceiptHandle")?).await?;
        written(&answer::Nothing {})
    }

    async fn delete_message_batch(&self, body: &[u8]) -> Result<Vec<u8>, SqsError> {
        let mut request: request::Batch<request::DeleteMessage> = read(body)?;
        let url = wanted(request.queue_url.take(), "QueueUrl")?;
        let entries = request
            .entries(|entry| Ok((entry.id, wanted(entry.receipt_handle, "ReceiptHandle")?)))?;
        let outcome = self.delete_batch(&url, entries).await?;
        written(&answer::Batch::of(outcome, |id, ()| answer::DoneEntry { id }))
    }

    async fn change_message_visibility(&self, body: &[u8]) -> Result<Vec<u8>, SqsError> {
        let mut request: request::ChangeMessageVisibility = read(body)?;
        let url = wanted(request.queue_url.take(), "QueueUrl")?;
        let change = request.change()?;
        self.change_visibility(&url, &change.receipt_handle, change.visibility_s).await?;
        written(&answer::Nothing {})
    }

    async fn change_message_visibility_batch(&self, body: &[u8]) -> Result<Vec<u8>, SqsError> {
        let mut request: request::Batch<request::ChangeMessageVisibility> = read(body)?;
        let url = wanted(request.queue_url.take(), "QueueUrl")?;
        let entries = request.entries(|mut entry| Ok((entry.id.take(), entry.change()?)))?;
        let outcome = self.change_visibility_batch(&url, entries).await?;
        written(&answer::Batch::of(outcome, |id, ()| answer::DoneEntry { id }))
    }

    async fn find_queue(&self, body: &[u8]) -> Result<Vec<u8>, SqsError> {
        let request: request::QueueName = read(body)?;
        let queue_url = self.get_queue_url(&wanted(request.queue_name, "QueueName")?).await?;
        written(&answer::QueueUrl { queue_url })
    }

    async fn get_queue_attributes(&self, body: &[u8]) -> Result<Vec<u8>, SqsError> {
        let request: request::GetQueueAttributes = read(body)?;
        let url = wanted(request.queue_url, "QueueUrl")?;
        let all = self.attributes(&url).await?;
        let names = request.attribute_names.unwrap_or_default();
        written(&answer::QueueAttributes { attributes: select::queue_attributes(all, &names)? })
    }

    async fn set_queue_attributes(&self, body: &[u8]) -> Result<Vec<u8>, SqsError> {
        let request: request::SetQueueAttributes = read(body)?;
        let url = wanted(request.queue_url, "QueueUrl")?;
        self.set_attributes(&url, &wanted(request.attributes, "Attributes")?).await?;
        written(&answer::Nothing {})
    }

    async fn make_queue(&self, body: &[u8]) -> Result<Vec<u8>, SqsError> {
        let request: request::QueueName = read(body)?;
        let name = wanted(request.queue_name, "QueueName")?;
        let attributes = request.attributes.unwrap_or_default();
        written(&answer::QueueUrl { queue_url: self.create_queue(&name, &attributes).await? })
    }

    async fn remove_queue(&self, body: &[u8]) -> Result<Vec<u8>, SqsError> {
        let request: request::QueueUrl = read(body)?;
        self.delete_queue(&wanted(request.queue_url, "QueueUrl")?).await?;
        written(&answer::Nothing {})
    }

    async fn purge_queue(&self, body: &[u8]) -> Result<Vec<u8>, SqsError> {
        let request: request::QueueUrl = read(body)?;
        self.purge(&wanted(request.queue_url, "QueueUrl")?).await?;
        written(&answer::Nothing {})
    }

    async fn list_queues_by_page(&self, body: &[u8]) -> Result<Vec<u8>, SqsError> {
        let request: request::ListQueues = read(body)?;
        let page = request.page_size()?;
        let mut urls = self.list_queues(request.queue_name_prefix.as_deref().unwrap_or("")).await;
        if let Some(token) = &request.next_token {
            urls.retain(|url| url > token);
        }
        let more = urls.len() > page.unwrap_or(limits::LISTED_QUEUES_MAX);
        urls.truncate(page.unwrap_or(limits::LISTED_QUEUES_MAX));
        // AWS pages only if asked for a page size.
        let next_token = if more && page.is_some() { urls.last().cloned() } else { None };
        written(&answer::ListQueues { queue_urls: urls, next_token })
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, SqsError> {
    serde_json::from_slice(body)
        .map_err(|error| ErrorKind::MalformedRequest.because(error.to_string()))
}

fn written(answer: &impl Serialize) -> Result<Vec<u8>, SqsError> {
    serde_json::to_vec(answer)
        .map_err(|error| ErrorKind::MalformedRequest.because(error.to_string()))
}

fn refusal(error: &SqsError) -> Answer {
    let body = answer::Refusal { shape: error.kind.shape(), message: &error.message };
    let body = serde_json::to_vec(&body).unwrap_or_default();
    (error.kind.status(), body, headers(Some(error.kind)))
}

fn headers(refused: Option<ErrorKind>) -> Vec<(String, String)> {
    let mut headers = vec![("content-type".to_owned(), "application/x-amz-json-1.0".to_owned())];
    if let Some(kind) = refused {
        headers.push(("x-amzn-query-error".to_owned(), format!("{};Sender", kind.code())));
    }
    headers
}
