//! Which attributes an answer shows.
//!
//! What it is: the filters of `ReceiveMessage` and `GetQueueAttributes`. It
//! promises that nothing is shown that was not asked for. It deliberately
//! changes no message: the native API always shows all. It fails with
//! [`ErrorKind::InvalidAttributeName`] for a name that does not exist.
//! Next: `wire/answer.rs`.

use crate::attributes;
use crate::error::{ErrorKind, SqsError};
use crate::message::{MessageAttributes, ReceivedMessage};
use std::collections::{BTreeMap, BTreeSet};

/// The system attributes of a message.
const SYSTEM: [&str; 9] = [
    "SenderId",
    "SentTimestamp",
    "ApproximateReceiveCount",
    "ApproximateFirstReceiveTimestamp",
    "SequenceNumber",
    "MessageDeduplicationId",
    "MessageGroupId",
    "AWSTraceHeader",
    "DeadLetterQueueSourceArn",
];
const SENDER_ID: &str = "AIDAEVERLOGEMBEDDED00";

/// What a receive asks for.
pub(super) struct Selection {
    system: BTreeSet<&'static str>,
    user: Vec<String>,
}

impl Selection {
    pub(super) fn of<'a>(
        system: impl Iterator<Item = &'a String>,
        user: Vec<String>,
    ) -> Result<Self, SqsError> {
        let mut chosen = BTreeSet::new();
        for name in system {
            match SYSTEM.iter().find(|known| *known == name) {
                Some(known) => drop(chosen.insert(*known)),
                None if name == "All" => chosen.extend(SYSTEM),
                None => return Err(unknown(name)),
            }
        }
        Ok(Self { system: chosen, user })
    }

    /// The system attributes asked for that the message has.
    pub(super) fn system(&self, message: &ReceivedMessage) -> BTreeMap<&'static str, String> {
        let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
        let values = self.system.iter().filter_map(|name| {
            let value = match *name {
                "SenderId" => Some(SENDER_ID.to_owned()),
                "SentTimestamp" => Some(message.sent_ms.to_string()),
                "ApproximateReceiveCount" => Some(message.receive_count.to_string()),
                "ApproximateFirstReceiveTimestamp" => Some(message.first_received_ms.to_string()),
                "SequenceNumber" => message.sequence_number.clone(),
                "MessageDeduplicationId" => text(&message.deduplication_id),
                "MessageGroupId" => text(&message.group_id),
                "AWSTraceHeader" => text(&message.trace_header),
                _ => text(&message.dead_letter_source),
            };
            Some((*name, value?))
        });
        values.collect()
    }

    /// The user's attributes asked for: by name, by `prefix.*`, or all.
    pub(super) fn user(&self, message: &ReceivedMessage) -> MessageAttributes {
        let asked = |name: &str| {
            self.user.iter().any(|pattern| match pattern.strip_suffix(".*") {
                Some(prefix) => prefix.is_empty() || name.starts_with(prefix),
                None => pattern == "All" || pattern == name,
            })
        };
        let all = message.attributes.iter();
        all.filter(|(name, _)| asked(name))
            .map(|(name, attribute)| (name.clone(), attribute.clone()))
            .collect()
    }
}

/// The queue attributes asked for.
pub(super) fn queue_attributes(
    mut all: BTreeMap<String, String>,
    names: &[String],
) -> Result<BTreeMap<String, String>, SqsError> {
    if names.iter().any(|name| name == "All") {
        return Ok(all);
    }
    if let Some(name) = names.iter().find(|name| !attributes::is_known(name)) {
        return Err(unknown(name));
    }
    all.retain(|name, _| names.contains(name));
    Ok(all)
}

fn unknown(name: &str) -> SqsError {
    ErrorKind::InvalidAttributeName.because(format!("Unknown Attribute {name}."))
}
