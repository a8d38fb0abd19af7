//! Requests, as `aws-sdk-sqs` writes them.
//!
//! What it is: the JSON shapes of the operations served, and how they become
//! native ones. It promises to name a required field that is absent. Fields
//! that have no effect here (`ReceiveRequestAttemptId`, `tags`,
//! `QueueOwnerAWSAccountId`) are deliberately not read. It fails with
//! [`ErrorKind::MissingParameter`] or [`ErrorKind::InvalidParameterValue`].
//! Next: `wire/answer.rs`.

use super::select::Selection;
use crate::error::{ErrorKind, SqsError, invalid_value};
use crate::limits;
use crate::message::{
    AttributeValue, Entry, MessageAttribute, MessageAttributes, OutgoingMessage, VisibilityChange,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A `SendMessage`, or an entry of a `SendMessageBatch`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SendMessage {
    pub queue_url: Option<String>,
    pub id: Option<String>,
    message_body: Option<String>,
    delay_seconds: Option<i64>,
    message_attributes: Option<BTreeMap<String, Attribute>>,
    message_system_attributes: Option<BTreeMap<String, Attribute>>,
    message_deduplication_id: Option<String>,
    message_group_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Attribute {
    data_type: Option<String>,
    string_value: Option<String>,
    binary_value: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", bound = "T: Deserialize<'de>")]
pub(super) struct Batch<T> {
    pub queue_url: Option<String>,
    entries: Option<Vec<T>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ReceiveMessage {
    pub queue_url: Option<String>,
    attribute_names: Option<Vec<String>>,
    message_system_attribute_names: Option<Vec<String>>,
    message_attribute_names: Option<Vec<String>>,
    pub max_number_of_messages: Option<i64>,
    pub visibility_timeout: Option<i64>,
    pub wait_time_seconds: Option<i64>,
}

/// A `DeleteMessage`, or an entry of a `DeleteMessageBatch`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct DeleteMessage {
    pub queue_url: Option<String>,
    pub id: Option<String>,
    pub receipt_handle: Option<String>,
}

/// A `ChangeMessageVisibility`, or an entry of a `ChangeMessageVisibilityBatch`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ChangeMessageVisibility {
    pub queue_url: Option<String>,
    pub id: Option<String>,
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct QueueName {
    pub queue_name: Option<String>,
    pub attributes: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct QueueUrl {
    pub queue_url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct GetQueueAttributes {
    pub queue_url: Option<String>,
    pub attribute_names: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SetQueueAttributes {
    pub queue_url: Option<String>,
    pub attributes: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListQueues {
    pub queue_name_prefix: Option<String>,
    pub next_token: Option<String>,
    max_results: Option<i64>,
}

impl SendMessage {
    pub(super) fn outgoing(self) -> Result<OutgoingMessage, SqsError> {
        let attributes = self.message_attributes.unwrap_or_default();
        let attributes: Result<MessageAttributes, SqsError> = attributes
            .into_iter()
            .map(|(name, attribute)| Ok((name.clone(), attribute.native(&name)?)))
            .collect();
        Ok(OutgoingMessage {
            body: self.message_body.unwrap_or_default(),
            attributes: attributes?,
            trace_header: trace_header(self.message_system_attributes.unwrap_or_default())?,
            delay_s: self.delay_seconds.map(seconds),
            group_id: self.message_group_id,
            deduplication_id: self.message_deduplication_id,
        })
    }
}

impl Attribute {
    fn native(self, name: &str) -> Result<MessageAttribute, SqsError> {
        let refuse = |reason: &str| {
            ErrorKind::InvalidParameterValue
                .because(format!("Message (user) attribute '{name}' {reason}."))
        };
        let data_type = self.data_type.ok_or_else(|| refuse("must contain a DataType"))?;
        let value = match (self.string_value, self.binary_value) {
            (Some(text), None) => AttributeValue::Text(text),
            (None, Some(encoded)) => AttributeValue::Binary(
                BASE64
                    .decode(encoded)
                    .map_err(|_| refuse("has a BinaryValue that is no base64"))?,
            ),
            (None, None) => return Err(refuse("must contain a non-empty value")),
            (Some(_), Some(_)) => return Err(refuse("has multiple values")),
        };
        Ok(MessageAttribute { data_type, value })
    }
}

impl ReceiveMessage {
    pub(super) fn selection(&self) -> Result<Selection, SqsError> {
        let system = [&self.attribute_names, &self.message_system_attribute_names];
        Selection::of(
            system.into_iter().flatten().flatten(),
            self.message_attribute_names.clone().unwrap_or_default(),
        )
    }
}

impl ChangeMessageVisibility {
    pub(super) fn change(self) -> Result<VisibilityChange, SqsError> {
        Ok(VisibilityChange {
            receipt_handle: wanted(self.receipt_handle, "ReceiptHandle")?,
            visibility_s: seconds(wanted(self.visibility_timeout, "VisibilityTimeout")?),
        })
    }
}

impl ListQueues {
    /// The page size, if one was asked for.
    pub(super) fn page_size(&self) -> Result<Option<usize>, SqsError> {
        let Some(asked) = self.max_results else {
            return Ok(None);
        };
        let size = usize::try_from(asked)
            .ok()
            .filter(|size| (1..=limits::LISTED_QUEUES_MAX).contains(size));
        size.map(Some).ok_or_else(|| {
            invalid_value(asked, "MaxResults", "Must be an integer between 1 and 1000.")
        })
    }
}

impl<T> Batch<T> {
    /// The entries, each made native.
    pub(super) fn entries<R>(
        self,
        native: impl Fn(T) -> Result<(Option<String>, R), SqsError>,
    ) -> Result<Vec<Entry<R>>, SqsError> {
        let entries = self.entries.unwrap_or_default().into_iter();
        entries
            .map(|entry| {
                let (id, item) = native(entry)?;
                Ok(Entry { id: wanted(id, "Id")?, item })
            })
            .collect()
    }
}

/// A required field.
pub(super) fn wanted<T>(field: Option<T>, name: &str) -> Result<T, SqsError> {
    field.ok_or_else(|| {
        ErrorKind::MissingParameter
            .because(format!("The request must contain the parameter {name}."))
    })
}

/// Seconds as they were written; what does not fit is beyond every limit, and refused by it.
pub(super) fn seconds(written: i64) -> u32 {
    u32::try_from(written).unwrap_or(u32::MAX)
}

fn trace_header(attributes: BTreeMap<String, Attribute>) -> Result<Option<String>, SqsError> {
    let mut header = None;
    for (name, attribute) in attributes {
        match (name.as_str(), attribute.data_type.as_deref(), attribute.string_value) {
            ("AWSTraceHeader", Some("String"), Some(text)) if !text.is_empty() => {
                header = Some(text);
            }
            ("AWSTraceHeader", ..) => {
                return Err(ErrorKind::InvalidParameterValue.because(
                    "Message (system) attribute 'AWSTraceHeader' must contain a non-empty value of type 'String'.",
                ));
            }
            _ => {
                return Err(ErrorKind::InvalidParameterValue
                    .because(format!("Message system attribute name '{name}' is invalid.")));
            }
        }
    }
    Ok(header)
}
