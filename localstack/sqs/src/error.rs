//! What a call to the engine can be refused with.
//!
//! What it is: one error type, a kind for each error code of SQS and the text
//! that AWS sends with it. It promises the codes and the statuses of the AWS
//! JSON protocol, so that the SDK's typed errors appear. It deliberately has
//! no kind for throttling, lost answers or access control: the engine never
//! produces them, a fault-injecting client in front of it does. Every error
//! leaves the queues as they were. Next: `wire.rs` puts it into an answer.

use thiserror::Error;

/// A refused call: nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct SqsError {
    /// Which of SQS's errors it is; decide by this.
    pub kind: ErrorKind,
    /// AWS's text, for people.
    pub message: String,
}

/// The errors of SQS that the engine knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// No queue has that name or address.
    QueueDoesNotExist,
    /// A queue of that name exists with other attributes.
    QueueNameExists,
    /// A queue of that name was deleted less than a minute ago.
    QueueDeletedRecently,
    /// The queue URL is not one of this engine's form.
    InvalidAddress,
    /// An attribute that does not exist, or not for this type of queue.
    InvalidAttributeName,
    /// A queue attribute out of its range.
    InvalidAttributeValue,
    /// A parameter out of its range, or an expired handle of a FIFO queue.
    InvalidParameterValue,
    /// A required parameter is absent.
    MissingParameter,
    /// The body has a character that SQS does not carry.
    InvalidMessageContents,
    /// The receipt handle was not made by this queue.
    ReceiptHandleIsInvalid,
    /// The message is not in flight, so its visibility can't be changed.
    MessageNotInflight,
    /// Too many messages in flight: delete some first.
    OverLimit,
    /// The queue was purged less than a minute ago.
    PurgeQueueInProgress,
    /// A batch without entries.
    EmptyBatchRequest,
    /// A batch of more than ten entries.
    TooManyEntriesInBatchRequest,
    /// Two entries of a batch have the same id.
    BatchEntryIdsNotDistinct,
    /// An entry's id has the wrong characters or length.
    InvalidBatchEntryId,
    /// The entries of a batch are too long together.
    BatchRequestTooLong,
    /// An operation that the engine does not serve.
    InvalidAction,
    /// The request's JSON can't be read.
    MalformedRequest,
}

impl ErrorKind {
    /// The code that the SDK shows, for instance `AWS.SimpleQueueService.NonExistentQueue`.
    pub fn code(self) -> &'static str {
        self.names().1
    }

    /// The shape of the JSON protocol, for instance `com.amazonaws.sqs#QueueDoesNotExist`.
    pub fn shape(self) -> String {
        let namespace = match self {
            Self::InvalidParameterValue
            | Self::MissingParameter
            | Self::InvalidAction
            | Self::MalformedRequest => "com.amazon.coral.service",
            _ => "com.amazonaws.sqs",
        };
        format!("{namespace}#{}", self.names().0)
    }

    /// The HTTP status.
    pub fn status(self) -> u16 {
        self.names().2
    }

    /// Shape, code and status, as the service's model has them.
    #[rustfmt::skip]
    fn names(self) -> (&'static str, &'static str, u16) {
        match self {
            Self::QueueDoesNotExist => ("QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", 400),
            Self::QueueNameExists => ("QueueNameExists", "QueueAlreadyExists", 400),
            Self::QueueDeletedRecently => ("QueueDeletedRecently", "AWS.SimpleQueueService.QueueDeletedRecently", 400),
            Self::InvalidAddress => ("InvalidAddress", "InvalidAddress", 404),
            Self::InvalidAttributeName => ("InvalidAttributeName", "InvalidAttributeName", 400),
            Self::InvalidAttributeValue => ("InvalidAttributeValue", "InvalidAttributeValue", 400),
            Self::InvalidParameterValue => ("InvalidParameterValueException", "InvalidParameterValue", 400),
            Self::MissingParameter => ("MissingRequiredParameterException", "MissingParameter", 400),
            Self::InvalidMessageContents => ("InvalidMessageContents", "InvalidMessageContents", 400),
            Self::ReceiptHandleIsInvalid => ("ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404),
            Self::MessageNotInflight => ("MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight", 400),
            Self::OverLimit => ("OverLimit", "OverLimit", 403),
            Self::PurgeQueueInProgress => ("PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress", 403),
            Self::EmptyBatchRequest => ("EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest", 400),
            Self::TooManyEntriesInBatchRequest => ("TooManyEntriesInBatchRequest", "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", 400),
            Self::BatchEntryIdsNotDistinct => ("BatchEntryIdsNotDistinct", "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", 400),
            Self::InvalidBatchEntryId => ("InvalidBatchEntryId", "AWS.SimpleQueueService.InvalidBatchEntryId", 400),
            Self::BatchRequestTooLong => ("BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong", 400),
            Self::InvalidAction => ("UnknownOperationException", "InvalidAction", 400),
            Self::MalformedRequest => ("SerializationException", "MalformedInput", 400),
        }
    }

    /// This error with a text.
    pub(crate) fn because(self, message: impl Into<String>) -> SqsError {
        SqsError { kind: self, message: message.into() }
    }
}

/// "Value … for parameter … is invalid", in AWS's words.
pub(crate) fn invalid_value(
    value: impl std::fmt::Display,
    parameter: &str,
    reason: &str,
) -> SqsError {
    ErrorKind::InvalidParameterValue
        .because(format!("Value {value} for parameter {parameter} is invalid. Reason: {reason}"))
}
