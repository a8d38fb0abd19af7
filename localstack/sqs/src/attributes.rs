//! The attributes of a queue.
//!
//! What it is: the settings of a queue, read from the name-and-text map of the
//! API and written back to it. It promises that a setting in force is in its
//! range and fits the queue's type. Attributes without effect here (`Policy`,
//! the `Kms…` ones, `RedriveAllowPolicy`, `FifoThroughputLimit`) it
//! deliberately only keeps. It fails as `SetQueueAttributes` does, and then
//! changes nothing. Next: `engine/administration.rs`.

use crate::error::{ErrorKind, SqsError};
use crate::limits;
use crate::redrive::RedrivePolicy;
use std::collections::BTreeMap;

/// Attributes that are only kept.
const OPAQUE: [&str; 5] = [
    "Policy",
    "KmsMasterKeyId",
    "KmsDataKeyReusePeriodSeconds",
    "SqsManagedSseEnabled",
    "RedriveAllowPolicy",
];
const FIFO_ONLY: [&str; 4] =
    ["FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"];
/// Attributes that can be asked for, but not set.
pub(crate) const COMPUTED: [&str; 6] = [
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesDelayed",
    "ApproximateNumberOfMessagesNotVisible",
    "CreatedTimestamp",
    "LastModifiedTimestamp",
    "QueueArn",
];
const NUMBERS: [&str; 5] = [
    "DelaySeconds",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "VisibilityTimeout",
];

/// Whether an attribute of this name exists.
pub(crate) fn is_known(name: &str) -> bool {
    COMPUTED.contains(&name)
        || NUMBERS.contains(&name)
        || FIFO_ONLY.contains(&name)
        || OPAQUE.contains(&name)
        || name == "RedrivePolicy"
}

/// What a FIFO queue has more than a standard queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FifoSettings {
    pub by_content: bool,
    /// Deduplication ids count within a group instead of the queue.
    pub per_group: bool,
    throughput_limit: String,
}

/// The settings in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub delay_s: u32,
    pub message_bytes_max: usize,
    pub retention_s: u32,
    pub wait_s: u32,
    pub visibility_s: u32,
    pub redrive: Option<RedrivePolicy>,
    pub fifo: Option<FifoSettings>,
    /// Texts as they were set: the opaque attributes and the redrive policy.
    kept: BTreeMap<String, String>,
}

impl Settings {
    /// AWS's defaults.
    pub(crate) fn new(fifo: bool) -> Self {
        let fifo = fifo.then(|| FifoSettings {
            by_content: false,
            per_group: false,
            throughput_limit: "perQueue".to_owned(),
        });
        Self {
            delay_s: 0,
            message_bytes_max: limits::MESSAGE_BYTES_MAX,
            retention_s: 345_600,
            wait_s: 0,
            visibility_s: 30,
            redrive: None,
            fifo,
            kept: BTreeMap::from([("SqsManagedSseEnabled".to_owned(), "true".to_owned())]),
        }
    }

    /// The settings after `changes`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidAttributeName`], [`ErrorKind::InvalidAttributeValue`],
    /// [`ErrorKind::InvalidParameterValue`] for a redrive policy.
    pub(crate) fn changed(
        &self,
        changes: &BTreeMap<String, String>,
        arn_prefix: &str,
    ) -> Result<Self, SqsError> {
        let mut settings = self.clone();
        for (name, value) in changes {
            settings.change(name, value, arn_prefix)?;
        }
        Ok(settings)
    }

    fn change(&mut self, name: &str, value: &str, arn_prefix: &str) -> Result<(), SqsError> {
        match name {
            "DelaySeconds" => self.delay_s = number(name, value, 0, limits::DELAY_S_MAX)?,
            "MessageRetentionPeriod" => {
                self.retention_s =
                    number(name, value, limits::RETENTION_S_MIN, limits::RETENTION_S_MAX)?;
            }
            "ReceiveMessageWaitTimeSeconds" => {
                self.wait_s = number(name, value, 0, limits::WAIT_S_MAX)?;
            }
            "VisibilityTimeout" => {
                self.visibility_s = number(name, value, 0, limits::VISIBILITY_S_MAX)?;
            }
            "MaximumMessageSize" => self.message_bytes_max = message_bytes_max(name, value)?,
            "RedrivePolicy" if value.is_empty() => {
                self.redrive = None;
                self.kept.remove(name);
            }
            "RedrivePolicy" => {
                self.redrive = Some(RedrivePolicy::read(value, arn_prefix)?);
                self.kept.insert(name.to_owned(), value.to_owned());
            }
            _ if OPAQUE.contains(&name) && value.is_empty() => {
                self.kept.remove(name);
            }
            _ if OPAQUE.contains(&name) => {
                self.kept.insert(name.to_owned(), value.to_owned());
            }
            _ => self.change_fifo(name, value)?,
        }
        Ok(())
    }

    fn change_fifo(&mut self, name: &str, value: &str) -> Result<(), SqsError> {
        let unknown =
            || ErrorKind::InvalidAttributeName.because(format!("Unknown Attribute {name}."));
        let Some(fifo) = &mut self.fifo else {
            return Err(match name {
                "DeduplicationScope" | "FifoThroughputLimit" => ErrorKind::InvalidAttributeName
                    .because(format!(
                        "You can specify the {name} only when FifoQueue is set to true."
                    )),
                _ => unknown(),
            });
        };
        match (name, value) {
            ("FifoQueue", "true") => {}
            ("FifoQueue", _) => {
                return Err(ErrorKind::InvalidAttributeValue.because(
                    "Invalid value for the parameter FifoQueue. \
                     Reason: Modifying queue type is not supported.",
                ));
            }
            ("ContentBasedDeduplication", "true" | "false") => fifo.by_content = value == "true",
            ("DeduplicationScope", "queue" | "messageGroup") => {
                fifo.per_group = value == "messageGroup";
            }
            ("FifoThroughputLimit", "perQueue" | "perMessageGroupId") => {
                fifo.throughput_limit = value.to_owned();
            }
            _ if FIFO_ONLY.contains(&name) => return Err(invalid(name)),
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// All that can be set, as the API writes it.
    pub(crate) fn written(&self) -> BTreeMap<String, String> {
        let mut written = self.kept.clone();
        let mut put = |name: &str, value: String| written.insert(name.to_owned(), value);
        put("DelaySeconds", self.delay_s.to_string());
        put("MaximumMessageSize", self.message_bytes_max.to_string());
        put("MessageRetentionPeriod", self.retention_s.to_string());
        put("ReceiveMessageWaitTimeSeconds", self.wait_s.to_string());
        put("VisibilityTimeout", self.visibility_s.to_string());
        if let Some(fifo) = &self.fifo {
            put("FifoQueue", "true".to_owned());
            put("ContentBasedDeduplication", fifo.by_content.to_string());
            let scope = if fifo.per_group { "messageGroup" } else { "queue" };
            put("DeduplicationScope", scope.to_owned());
            put("FifoThroughputLimit", fifo.throughput_limit.clone());
        }
        written
    }
}

fn invalid(name: &str) -> SqsError {
    ErrorKind::InvalidAttributeValue.because(format!("Invalid value for the parameter {name}."))
}

fn number(name: &str, value: &str, min: u32, max: u32) -> Result<u32, SqsError> {
    let number = value.parse().map_err(|_| invalid(name))?;
    if (min..=max).contains(&number) { Ok(number) } else { Err(invalid(name)) }
}

fn message_bytes_max(name: &str, value: &str) -> Result<usize, SqsError> {
    let number: usize = value.parse().map_err(|_| invalid(name))?;
    if (limits::MESSAGE_BYTES_LIMIT_MIN..=limits::MESSAGE_BYTES_MAX).contains(&number) {
        Ok(number)
    } else {
        Err(invalid(name))
    }
}
