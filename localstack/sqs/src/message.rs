//! Messages, as callers hand them in and get them back.
//!
//! What it is: the types of the native API around a message, from send to
//! delete. They promise to carry everything SQS tells about a message (which
//! of it goes over the wire is decided by what the request asks for).
//! Deliberately plain data: nothing here knows queues, JSON or time.
//! Building them can't fail; the engine checks them when it is called.
//! Next: [`crate::Engine::send`], [`crate::Engine::receive`].

use crate::error::SqsError;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The value of a message attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeValue {
    /// A text, for the types `String` and `Number`.
    Text(String),
    /// Bytes, for the type `Binary`.
    Binary(Vec<u8>),
}

/// A message attribute: its type (`String`, `Number` or `Binary`, with an
/// optional label after a dot) and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageAttribute {
    /// The type, for instance `String` or `Number.int`.
    pub data_type: String,
    /// The value.
    pub value: AttributeValue,
}

/// Message attributes by name, in the order in which SQS digests them.
pub type MessageAttributes = BTreeMap<String, MessageAttribute>;

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutgoingMessage {
    /// The body: 1 byte to 1 MiB together with the attributes.
    pub body: String,
    /// Attributes of the user's own, at most ten.
    pub attributes: MessageAttributes,
    /// `AWSTraceHeader`, which does not count to the size.
    pub trace_header: Option<String>,
    /// Delay of this message, 0 to 900 seconds; standard queues alone.
    pub delay_s: Option<u32>,
    /// The group: required on FIFO queues, a mere label on standard queues.
    pub group_id: Option<String>,
    /// The deduplication id; FIFO queues alone.
    pub deduplication_id: Option<String>,
}

impl OutgoingMessage {
    /// A message with nothing but a body.
    pub fn new(body: impl Into<String>) -> Self {
        Self { body: body.into(), ..Self::default() }
    }

    /// The same with a group and a deduplication id, as FIFO queues want it.
    pub fn in_group(
        mut self,
        group_id: impl Into<String>,
        deduplication_id: impl Into<String>,
    ) -> Self {
        self.group_id = Some(group_id.into());
        self.deduplication_id = Some(deduplication_id.into());
        self
    }
}

/// What SQS answers to a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The message's id; for a duplicate, the id of the first one.
    pub message_id: String,
    /// MD5 of the body as it was sent, in hex.
    pub md5_of_body: String,
    /// MD5 of the attributes as they were sent, if there were any.
    pub md5_of_attributes: Option<String>,
    /// MD5 of the system attributes, if there were any.
    pub md5_of_system_attributes: Option<String>,
    /// The place in the queue; FIFO queues alone.
    pub sequence_number: Option<String>,
}

/// How to receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receive {
    /// At most this many messages, 1 to 10.
    pub max_messages: u32,
    /// How long to wait for the first message, 0 to 20 seconds; `None`: as the queue says.
    pub wait_s: Option<u32>,
    /// How long the messages stay invisible, 0 to 43,200 seconds; `None`: as the queue says.
    pub visibility_s: Option<u32>,
}

impl Default for Receive {
    /// One message, with the queue's own wait and visibility.
    fn default() -> Self {
        Self { max_messages: 1, wait_s: None, visibility_s: None }
    }
}

/// A message handed to a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// The id that the send answered.
    pub message_id: String,
    /// The key to delete this message or to change its visibility.
    pub receipt_handle: String,
    /// The body.
    pub body: Arc<str>,
    /// MD5 of the body, in hex.
    pub md5_of_body: Arc<str>,
    /// The user's attributes.
    pub attributes: Arc<MessageAttributes>,
    /// When it was sent, in milliseconds; kept when it moves to a dead-letter queue.
    pub sent_ms: u64,
    /// When it was first received.
    pub first_received_ms: u64,
    /// How often it was received, this time included.
    pub receive_count: u32,
    /// Its group.
    pub group_id: Option<Arc<str>>,
    /// Its deduplication id; FIFO queues alone.
    pub deduplication_id: Option<Arc<str>>,
    /// Its place in the queue; FIFO queues alone.
    pub sequence_number: Option<String>,
    /// The trace header it was sent with.
    pub trace_header: Option<Arc<str>>,
    /// The ARN of the queue that gave it up; dead-letter queues alone.
    pub dead_letter_source: Option<Arc<str>>,
}

/// One receipt of a batch whose visibility is to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibilityChange {
    /// The handle that the receive gave.
    pub receipt_handle: String,
    /// Seconds from now, 0 to 43,200; 0 makes the message visible at once.
    pub visibility_s: u32,
}

/// An entry of a batch: an id of the caller's, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<T> {
    /// Distinct in the batch: letters, digits, `-` and `_`, at most 80.
    pub id: String,
    /// What the entry is about.
    pub item: T,
}

impl<T> Entry<T> {
    /// An entry with this id.
    pub fn new(id: impl Into<String>, item: T) -> Self {
        Self { id: id.into(), item }
    }
}

/// How the entries of a batch fared, each for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchOutcome<T> {
    /// Entries that were done, in order.
    pub successful: Vec<Entry<T>>,
    /// Entries that were refused, in order. All refusals are the sender's fault.
    pub failed: Vec<Entry<SqsError>>,
}
