//! When a queue gives a message up, and to whom.
//!
//! What it is: the `RedrivePolicy` of a queue, read and checked. It promises a
//! receive count of 1 to 1,000 (a number or a text, as AWS takes both) and a
//! target in the form of an ARN of this engine; that the target exists and is
//! of the same type is checked when the attribute is set. It deliberately does
//! not enforce `RedriveAllowPolicy`. It fails with
//! [`ErrorKind::InvalidParameterValue`](crate::ErrorKind::InvalidParameterValue).
//! Next: `engine/receive.rs`, which moves.

use crate::error::{SqsError, invalid_value};
use crate::limits;
use serde::Deserialize;
use serde_json::Value;

/// A readable redrive policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RedrivePolicy {
    /// The name of the dead-letter queue.
    pub target: String,
    /// A receive beyond this many moves the message instead.
    pub receives_max: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    dead_letter_target_arn: Option<String>,
    max_receive_count: Option<Value>,
}

impl RedrivePolicy {
    /// Reads the attribute's text; `arn_prefix` is the ARN of a queue of this engine without its name.
    pub(crate) fn read(text: &str, arn_prefix: &str) -> Result<Self, SqsError> {
        let refuse = |reason: &str| invalid_value(text, "RedrivePolicy", reason);
        let written: Written = serde_json::from_str(text)
            .map_err(|_| refuse("Redrive policy is not a valid JSON map."))?;
        let arn = written.dead_letter_target_arn.ok_or_else(|| {
            refuse("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
        })?;
        let count = written.max_receive_count.ok_or_else(|| {
            refuse("Redrive policy does not contain mandatory attribute: maxReceiveCount.")
        })?;
        let target = arn
            .strip_prefix(arn_prefix)
            .filter(|name| !name.is_empty() && !name.contains(':'))
            .ok_or_else(|| refuse("Invalid value for deadLetterTargetArn."))?;
        let shown = match count {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let number: Option<u32> = shown.parse().ok();
        let receives_max =
            number.filter(|number| (1..=limits::RECEIVE_COUNT_MAX).contains(number)).ok_or_else(|| {
                refuse(&format!(
                    "Invalid value for maxReceiveCount: {shown}, valid values are from 1 to 1000 both inclusive."
                ))
            })?;
        Ok(Self { target: target.to_owned(), receives_max })
    }
}
