//! The two indexes: cards by alarm, and cards by namespace, status and start.
//!
//! An index lags behind the table. For alarms that only delays a look; lists
//! say so in their type.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::ReturnConsumedCapacity;

use super::faults::retried;
use super::items::{
    self, ALARM_AT, ALARM_INDEX, ALARM_SHARD, CLOSED_AT, DISPLAY_NAME, Item, LIST_AT, LIST_INDEX,
    LIST_KEY, PARENT, PK, SK, STARTED_AT, STATUS, TYPE, UPDATED_AT,
};
use super::keys;
use super::{Journal, JournalError, Purpose};
use crate::id::{Incarnation, Namespace, WorkflowId};
use crate::labels::Attributes;
use crate::time::{Tick, Timestamp};

/// A workflow in a list, as of the index: it may have changed since.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Listed {
    /// Its namespace.
    pub namespace: Namespace,
    /// The workflow.
    pub workflow: WorkflowId,
    /// Its status, as of the index.
    pub status: String,
    /// Its type.
    pub workflow_type: String,
    /// When its last run started.
    pub started_at: Timestamp,
    /// When it ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// When its last commit was recorded, as far as the card knows: it is written
    /// where status or labels change. An [exact](crate::query::list::exactly)
    /// read has the last commit of any kind.
    pub updated_at: Timestamp,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The workflow that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<WorkflowId>,
    /// Its search attributes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: Attributes,
}

/// A shard of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListShard {
    /// Of this namespace.
    pub namespace: Namespace,
    /// Of this status.
    pub status: String,
    /// Which one, `0..`[`LIST_SHARDS`](super::keys::LIST_SHARDS).
    pub shard: u16,
}

/// Some of a shard of a list.
#[derive(Debug, Clone, Default)]
pub struct ShardPage {
    /// The workflows.
    pub items: Vec<Listed>,
    /// Where to read on, if there is more.
    pub next: Option<Item>,
    /// Read units that it cost.
    pub units: f64,
}

/// A workflow that must be looked at, as of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Its namespace.
    pub namespace: Namespace,
    /// The workflow.
    pub workflow: WorkflowId,
    /// The minute from which on it must be.
    pub alarm_at: Tick,
    /// What must be done is to remove this life of it, which was deleted.
    pub removes: Option<Incarnation>,
}

/// One page of the alarm index.
#[derive(Debug, Clone)]
pub struct DuePage {
    /// What it holds.
    pub items: Vec<Due>,
    /// Where the next page begins, if there is one.
    pub next: Option<Item>,
}

fn workflow_of(item: &Item) -> Result<(Namespace, WorkflowId), JournalError> {
    let damaged = || JournalError::Damaged("a card with a foreign key".into());
    let (namespace, workflow) =
        items::read_text(item, PK).and_then(|pk| pk.split_once('#')).ok_or_else(damaged)?;
    let namespace = Namespace::new(namespace).map_err(|_| damaged())?;
    Ok((namespace, WorkflowId::new(workflow).map_err(|_| damaged())?))
}

impl Journal {
    /// One page of the workflows of an alarm shard that must be looked at by
    /// `until`, earliest first. Half a read unit a started 4 KiB.
    ///
    /// # Errors
    /// As reads.
    pub async fn due_cards(
        &self,
        shard: u16,
        until: Tick,
        start: Option<Item>,
    ) -> Result<DuePage, JournalError> {
        let query = self
            .db
            .query()
            .index_name(ALARM_INDEX)
            .key_condition_expression("#shard = :shard AND #at <= :until")
            .expression_attribute_names("#shard", ALARM_SHARD)
            .expression_attribute_names("#at", ALARM_AT)
            .expression_attribute_values(":shard", items::number(u64::from(shard)))
            .expression_attribute_values(":until", items::number(until.0))
            .set_exclusive_start_key(start);
        let (found, next, _) = self.query_index(query).await?;
        let items = found.iter().filter_map(|item| match workflow_of(item) {
            Ok((namespace, workflow)) => {
                let alarm_at = items::read_number(item, ALARM_AT).map_or(until, Tick);
                let removes = items::read_text(item, SK).and_then(keys::removes);
                Some(Due { namespace, workflow, alarm_at, removes })
            }
            Err(error) => {
                tracing::error!(%error, shard, "a poisoned card is skipped");
                None
            }
        });
        Ok(DuePage { items: items.collect(), next })
    }

    /// Some of a shard of a list that started within `range`, both ends
    /// included. Half a read unit a started 4 KiB.
    ///
    /// # Errors
    /// As reads.
    pub async fn list_shard(
        &self,
        which: &ListShard,
        range: (Timestamp, Timestamp),
        descending: bool,
        most: usize,
        start: Option<Item>,
    ) -> Result<ShardPage, JournalError> {
        let ListShard { namespace, status, shard } = which;
        // No id has a character behind `~`.
        let (low, high) = (format!("{:014}#", range.0.0), format!("{:014}#~", range.1.0));
        if low > high {
            return Ok(ShardPage::default());
        }
        let query = self
            .db
            .query()
            .index_name(LIST_INDEX)
            .scan_index_forward(!descending)
            .key_condition_expression("#list = :list AND #at BETWEEN :low AND :high")
            .expression_attribute_names("#list", LIST_KEY)
            .expression_attribute_names("#at", LIST_AT)
            .expression_attribute_values(
                ":list",
                items::text(keys::list_shard(namespace, status, *shard)),
            )
            .expression_attribute_values(":low", items::text(low))
            .expression_attribute_values(":high", items::text(high))
            .set_limit(Some(i32::try_from(most).unwrap_or(i32::MAX)))
            .set_exclusive_start_key(start);
        let (found, next, units) = self.query_index(query).await?;
        Ok(ShardPage { items: found.iter().filter_map(listed).collect(), next, units })
    }

    async fn query_index(
        &self,
        query: aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder,
    ) -> Result<(Vec<Item>, Option<Item>, f64), JournalError> {
        let query =
            query.table_name(&self.table).return_consumed_capacity(ReturnConsumedCapacity::Total);
        let page = retried(async || query.clone().send().await.map_err(|e| self.fault(&e))).await?;
        self.meter.record(Purpose::List, page.consumed_capacity());
        let units = page.consumed_capacity().and_then(|c| c.capacity_units()).unwrap_or(0.0);
        Ok((page.items.unwrap_or_default(), page.last_evaluated_key, units))
    }
}

/// A card as lists show it; a poisoned one is said and left out.
fn listed(item: &Item) -> Option<Listed> {
    let listed = read_listed(item);
    if listed.is_none() {
        tracing::error!(pk = items::read_text(item, PK), "a poisoned card is left out of a list");
    }
    listed
}

fn read_listed(item: &Item) -> Option<Listed> {
    let (namespace, workflow) = workflow_of(item).ok()?;
    let started_at = Timestamp(items::read_number(item, STARTED_AT)?);
    let closed_at = items::read_number(item, CLOSED_AT).map(Timestamp);
    // Absent on cards of before it was kept.
    let updated_at = items::read_number(item, UPDATED_AT).map(Timestamp);
    let parent = items::read_text(item, PARENT).map(WorkflowId::new).transpose().ok()?;
    Some(Listed {
        namespace,
        workflow,
        status: items::read_text(item, STATUS)?.to_owned(),
        workflow_type: items::read_text(item, TYPE)?.to_owned(),
        started_at,
        closed_at,
        updated_at: updated_at.or(closed_at).unwrap_or(started_at),
        display_name: items::read_text(item, DISPLAY_NAME).map(str::to_owned),
        parent,
        attributes: items::read_attributes(item)?,
    })
}
