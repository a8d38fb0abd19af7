//! Answers, as `aws-sdk-sqs` reads them.
//!
//! What it is: the JSON shapes of what the operations answer. It promises the
//! MD5 sums that the SDK verifies: of the body, and of those attributes that
//! are shown. Absent fields are deliberately left out instead of null. It
//! can't fail. Next: `engine.rs`.

use super::select::Selection;
use crate::digest;
use crate::error::SqsError;
use crate::message::{AttributeValue, BatchOutcome, MessageAttribute, ReceivedMessage, Sent};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(super) struct Nothing {}

#[derive(Serialize)]
pub(super) struct Refusal<'a> {
    #[serde(rename = "__type")]
    pub shape: String,
    pub message: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct QueueUrl {
    pub queue_url: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListQueues {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queue_urls: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_token: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct QueueAttributes {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SendMessage {
    message_id: String,
    #[serde(rename = "MD5OfMessageBody")]
    md5_of_message_body: String,
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    md5_of_message_attributes: Option<String>,
    #[serde(rename = "MD5OfMessageSystemAttributes", skip_serializing_if = "Option::is_none")]
    md5_of_message_system_attributes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence_number: Option<String>,
}

impl From<Sent> for SendMessage {
    fn from(sent: Sent) -> Self {
        Self {
            message_id: sent.message_id,
            md5_of_message_body: sent.md5_of_body,
            md5_of_message_attributes: sent.md5_of_attributes,
            md5_of_message_system_attributes: sent.md5_of_system_attributes,
            sequence_number: sent.sequence_number,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SentEntry {
    pub id: String,
    #[serde(flatten)]
    pub sent: SendMessage,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct DoneEntry {
    pub id: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Batch<T> {
    successful: Vec<T>,
    failed: Vec<FailedEntry>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct FailedEntry {
    id: String,
    sender_fault: bool,
    code: &'static str,
    message: String,
}

impl<T> Batch<T> {
    pub(super) fn of<R>(outcome: BatchOutcome<R>, done: impl Fn(String, R) -> T) -> Self {
        let failed = |id: String, error: SqsError| FailedEntry {
            id,
            sender_fault: true,
            code: error.kind.code(),
            message: error.message,
        };
        Self {
            successful: outcome.successful.into_iter().map(|e| done(e.id, e.item)).collect(),
            failed: outcome.failed.into_iter().map(|e| failed(e.id, e.item)).collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ReceiveMessage {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Message {
    message_id: String,
    receipt_handle: String,
    #[serde(rename = "MD5OfBody")]
    md5_of_body: std::sync::Arc<str>,
    body: std::sync::Arc<str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<&'static str, String>,
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    md5_of_message_attributes: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    message_attributes: BTreeMap<String, Attribute>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Attribute {
    data_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    string_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary_value: Option<String>,
}

impl From<MessageAttribute> for Attribute {
    fn from(attribute: MessageAttribute) -> Self {
        let (string_value, binary_value) = match attribute.value {
            AttributeValue::Text(text) => (Some(text), None),
            AttributeValue::Binary(bytes) => (None, Some(BASE64.encode(bytes))),
        };
        Self { data_type: attribute.data_type, string_value, binary_value }
    }
}

impl ReceiveMessage {
    pub(super) fn of(messages: Vec<ReceivedMessage>, selection: &Selection) -> Self {
        let shown = |message: ReceivedMessage| {
            let attributes = selection.system(&message);
            let user = selection.user(&message);
            Message {
                message_id: message.message_id,
                receipt_handle: message.receipt_handle,
                md5_of_body: message.md5_of_body,
                body: message.body,
                attributes,
                md5_of_message_attributes: digest::md5_of_attributes(&user),
                message_attributes: user.into_iter().map(|(name, a)| (name, a.into())).collect(),
            }
        };
        Self { messages: messages.into_iter().map(shown).collect() }
    }
}
