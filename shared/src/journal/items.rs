//! What items look like: every attribute name of the table, and nothing else.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::id::AttributeName;
use crate::labels::{self, Attributes};

/// Partition key.
pub(super) const PK: &str = "pk";
/// Sort key.
pub(super) const SK: &str = "sk";
/// A frame: commit, checkpoint or chunk.
pub(super) const BODY: &str = "body";
/// Number of the commit that a checkpoint is of.
pub(super) const COMMIT: &str = "commit";
/// Which life of the workflow a card is of.
pub(super) const INCARNATION: &str = "incarnation";
/// Status of a card.
pub(super) const STATUS: &str = "status";
/// Number of the commit that a card's status is of.
pub(super) const AS_OF: &str = "as_of";
/// Type of the workflow.
pub(super) const TYPE: &str = "workflow_type";
/// When it started, milliseconds.
pub(super) const STARTED_AT: &str = "started_at";
/// What people call the workflow.
pub(super) const DISPLAY_NAME: &str = "display_name";
/// The workflow that it belongs to.
pub(super) const PARENT: &str = "parent";
/// Its search attributes, a map.
pub(super) const ATTRIBUTES: &str = "attributes";
/// Recorded time of the last commit that the card knows of, milliseconds.
pub(super) const UPDATED_AT: &str = "updated_at";
/// When it ended, milliseconds.
pub(super) const CLOSED_AT: &str = "closed_at";
/// Minute in which somebody must look.
pub(super) const ALARM_AT: &str = "alarm_at";
/// Partition of the alarm index; present exactly with `alarm_at`.
pub(super) const ALARM_SHARD: &str = "alarm_shard";
/// Grows with every earlier alarm.
pub(super) const ALARM_REV: &str = "alarm_rev";
/// Partition of the list index.
pub(super) const LIST_KEY: &str = "list_key";
/// Sort key of the list index: start time and workflow.
pub(super) const LIST_AT: &str = "list_at";
/// Why the log can't be served, for operators.
pub(super) const QUARANTINE: &str = "quarantine";

/// Minutes of the last wait of a card that is marked.
pub(super) const QUARANTINE_MIN: &str = "quarantine_min";

/// Content hash of the package that a type's route points at.
pub(super) const ROUTE: &str = "route";
/// When the route was set, milliseconds.
pub(super) const ROUTED_AT: &str = "routed_at";
/// Length of an archive.
pub(super) const BYTES: &str = "bytes";
/// Number of its chunks.
pub(super) const CHUNKS: &str = "chunks";
/// When it was deployed, milliseconds.
pub(super) const DEPLOYED_AT: &str = "deployed_at";
/// The upload that its chunks are of.
pub(super) const UPLOAD: &str = "upload";

/// The index of cards by alarm.
pub(super) const ALARM_INDEX: &str = "alarms";
/// The index of cards by namespace, status and start.
pub(super) const LIST_INDEX: &str = "lists";

pub(super) type Item = HashMap<String, AttributeValue>;

pub(super) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(super) fn number(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// Search attributes; no attribute of the item where there are none.
pub(super) fn attributes(attributes: &Attributes) -> Option<AttributeValue> {
    let value = |value: &labels::AttributeValue| match value {
        labels::AttributeValue::Flag(flag) => AttributeValue::Bool(*flag),
        labels::AttributeValue::Number(number) => AttributeValue::N(number.to_string()),
        labels::AttributeValue::Text(said) => text(said.as_str()),
    };
    let all = attributes.iter().map(|(name, of)| (name.to_string(), value(of)));
    (!attributes.is_empty()).then(|| AttributeValue::M(all.collect()))
}

/// Those of an item; `None` if they are no search attributes.
pub(super) fn read_attributes(item: &Item) -> Option<Attributes> {
    let value = |value: &AttributeValue| match value {
        AttributeValue::Bool(flag) => Some(labels::AttributeValue::Flag(*flag)),
        AttributeValue::N(number) => number.parse().ok().map(labels::AttributeValue::Number),
        AttributeValue::S(said) => Some(labels::AttributeValue::Text(said.clone())),
        _ => None,
    };
    let Some(map) = item.get(ATTRIBUTES) else { return Some(Attributes::new()) };
    let map = map.as_m().ok()?;
    map.iter()
        .map(|(name, of)| Some((AttributeName::new(name.as_str()).ok()?, value(of)?)))
        .collect()
}

pub(super) fn binary(value: Vec<u8>) -> AttributeValue {
    AttributeValue::B(Blob::new(value))
}

pub(super) fn read_text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

pub(super) fn read_number(item: &Item, name: &str) -> Option<u64> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

pub(super) fn read_binary<'a>(item: &'a Item, name: &str) -> Option<&'a [u8]> {
    item.get(name)?.as_b().ok().map(Blob::as_ref)
}
