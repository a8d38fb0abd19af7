//! The two indexes: cards by alarm, and cards by namespace, status and start.
//!
//! An index lags behind the table. For alarms that only delays a look; lists
//! say so in their type.

use aws_sdk_dynamodb::types::ReturnConsumedCapacity;

use super::faults::retried;
use super::items::{
    self, ALARM_AT, ALARM_INDEX, ALARM_SHARD, Item, LIST_AT, LIST_INDEX, LIST_KEY, PK, STARTED_AT,
    STATUS, TYPE,
};
use super::keys::{self, LIST_SHARDS};
use super::{Journal, JournalError, Purpose};
use crate::id::{Namespace, WorkflowId};
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
    /// When it started.
    pub started_at: Timestamp,
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
}

/// One page of an index.
#[derive(Debug, Clone)]
pub struct ListPage<T> {
    /// What it holds.
    pub items: Vec<T>,
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
    ) -> Result<ListPage<Due>, JournalError> {
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
        let (found, next) = self.query_index(query).await?;
        let items = found.iter().filter_map(|item| match workflow_of(item) {
            Ok((namespace, workflow)) => {
                let alarm_at = items::read_number(item, ALARM_AT).map_or(until, Tick);
                Some(Due { namespace, workflow, alarm_at })
            }
            Err(error) => {
                tracing::error!(%error, shard, "a poisoned card is skipped");
                None
            }
        });
        Ok(ListPage { items: items.collect(), next })
    }

    /// All workflows of a namespace with that status, newest first, `limit` a
    /// shard at most.
    ///
    /// # Errors
    /// As reads.
    pub async fn list(
        &self,
        namespace: &Namespace,
        status: &str,
        limit: usize,
    ) -> Result<Vec<Listed>, JournalError> {
        let mut all = Vec::new();
        for shard in 0..LIST_SHARDS {
            let mut start = None;
            let before = all.len();
            loop {
                let query = self
                    .db
                    .query()
                    .index_name(LIST_INDEX)
                    .scan_index_forward(false)
                    .key_condition_expression("#list = :list")
                    .expression_attribute_names("#list", LIST_KEY)
                    .expression_attribute_values(
                        ":list",
                        items::text(keys::list_shard(namespace, status, shard)),
                    )
                    .set_exclusive_start_key(start);
                let (found, next) = self.query_index(query).await?;
                all.extend(found.iter().filter_map(listed));
                start = next;
                if start.is_none() || all.len() - before >= limit {
                    break;
                }
            }
        }
        all.sort_by(|a: &Listed, b| (b.started_at, &a.workflow).cmp(&(a.started_at, &b.workflow)));
        all.truncate(limit);
        Ok(all)
    }

    async fn query_index(
        &self,
        query: aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder,
    ) -> Result<(Vec<Item>, Option<Item>), JournalError> {
        let query =
            query.table_name(&self.table).return_consumed_capacity(ReturnConsumedCapacity::Total);
        let page = retried(async || query.clone().send().await.map_err(|e| self.fault(&e))).await?;
        self.meter.record(Purpose::List, page.consumed_capacity());
        Ok((page.items.unwrap_or_default(), page.last_evaluated_key))
    }
}

fn listed(item: &Item) -> Option<Listed> {
    let (namespace, workflow) = workflow_of(item).ok()?;
    debug_assert!(item.contains_key(LIST_AT));
    Some(Listed {
        namespace,
        workflow,
        status: items::read_text(item, STATUS)?.to_owned(),
        workflow_type: items::read_text(item, TYPE)?.to_owned(),
        started_at: Timestamp(items::read_number(item, STARTED_AT)?),
    })
}
