//! Whether a table is what Everlog needs, for operators.
//!
//! It compares what DynamoDB says of the table with the request that would
//! create it, and looks for what must not be there. It reads, and writes
//! nothing. It fails as reads do.

use aws_sdk_dynamodb::types::{
    ContinuousBackupsDescription, KeySchemaElement, PointInTimeRecoveryStatus, Projection,
    TableDescription, TableStatus, TimeToLiveStatus,
};

use super::{Journal, JournalError, table_request};
use crate::said;
use crate::time::Tick;

/// Minutes after which an alarm that nobody looked at says that nobody sweeps.
const OVERDUE_MIN: u64 = 3;

/// What is wrong with a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// The fleet works; somebody should know.
    Advice,
    /// The fleet does not work, or loses something.
    Fault,
}

/// One thing that is not as it should be, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFinding {
    /// How bad it is.
    pub weight: Weight,
    /// What is found, and what is expected.
    pub what: String,
    /// What to do.
    pub advice: String,
}

impl TableFinding {
    fn fault(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { weight: Weight::Fault, what: what.into(), advice: advice.into() }
    }

    fn advice(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { weight: Weight::Advice, what: what.into(), advice: advice.into() }
    }
}

impl Journal {
    /// What is not as it should be: keys, indexes, expiry, recovery, protection.
    ///
    /// Costs three requests of DynamoDB's control plane, no units.
    ///
    /// # Errors
    /// [`JournalError::Unavailable`]: DynamoDB does not answer, or not to us.
    pub async fn inspect_table(&self) -> Result<Vec<TableFinding>, JournalError> {
        let described = self.db.describe_table().table_name(&self.table).send().await;
        let table = match described {
            Ok(answer) => answer.table.unwrap_or_else(|| TableDescription::builder().build()),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(|e| e.is_resource_not_found_exception()) =>
            {
                let what = format!("there is no table {}", self.table);
                return Ok(vec![TableFinding::fault(what, "deploy infra/template.yaml")]);
            }
            Err(error) => {
                return Err(JournalError::Unavailable(said(&error)));
            }
        };
        let mut found = self.compare(&table);
        if table.deletion_protection_enabled != Some(true) {
            let advice = "deploy with DeletionProtection=true";
            found.push(TableFinding::advice("it can be deleted by one request", advice));
        }
        found.extend(self.expiry().await?);
        found.extend(self.recovery().await?);
        Ok(found)
    }

    fn compare(&self, table: &TableDescription) -> Vec<TableFinding> {
        let redeploy = "deploy infra/template.yaml; keys can only be changed by a new table";
        let mut found = Vec::new();
        if table.table_status != Some(TableStatus::Active) {
            let status = table.table_status.as_ref().map_or("unknown", TableStatus::as_str);
            found.push(TableFinding::fault(format!("its status is {status}"), "wait for ACTIVE"));
        }
        let request = table_request(&self.db, &self.table);
        let wanted = request.as_input();
        if !same_keys(wanted.get_key_schema().as_deref(), table.key_schema.as_deref()) {
            found.push(TableFinding::fault("its key is not pk, sk", redeploy));
        }
        for index in wanted.get_global_secondary_indexes().iter().flatten() {
            let name = index.index_name();
            let there =
                table.global_secondary_indexes().iter().find(|i| i.index_name() == Some(name));
            let Some(there) = there else {
                found.push(TableFinding::fault(
                    format!("index {name} is missing"),
                    "deploy infra/template.yaml",
                ));
                continue;
            };
            if there.index_status.as_ref().is_some_and(|s| s.as_str() != "ACTIVE") {
                found.push(TableFinding::fault(
                    format!("index {name} is not active"),
                    "wait for ACTIVE",
                ));
            }
            let same = same_keys(Some(index.key_schema()), Some(there.key_schema()))
                && same_projection(index.projection(), there.projection());
            if !same {
                let what = format!("index {name} has another key or projection");
                found.push(TableFinding::fault(
                    what,
                    "delete the index, then deploy infra/template.yaml",
                ));
            }
        }
        found
    }

    async fn expiry(&self) -> Result<Option<TableFinding>, JournalError> {
        let answer = self.db.describe_time_to_live().table_name(&self.table).send().await;
        let answer = answer.map_err(|e| JournalError::Unavailable(said(&e)))?;
        let status = answer.time_to_live_description.and_then(|d| d.time_to_live_status);
        let on = matches!(status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling));
        let what = "items expire (TTL): a hole in a log is a place for a stale owner's put";
        Ok(on.then(|| TableFinding::fault(what, "switch TTL off")))
    }

    async fn recovery(&self) -> Result<Option<TableFinding>, JournalError> {
        let answer = self.db.describe_continuous_backups().table_name(&self.table).send().await;
        let answer = answer.map_err(|e| JournalError::Unavailable(said(&e)))?;
        let backups = answer.continuous_backups_description;
        let recovery = backups
            .as_ref()
            .and_then(ContinuousBackupsDescription::point_in_time_recovery_description);
        let on = recovery.and_then(|r| r.point_in_time_recovery_status.as_ref());
        let off = on != Some(&PointInTimeRecoveryStatus::Enabled);
        let what = "it can't be restored to a point in time";
        Ok(off.then(|| TableFinding::advice(what, "deploy with PointInTimeRecovery=true")))
    }

    /// Workflows that somebody should have looked at three minutes ago or
    /// earlier; at most a page of each alarm shard. Half a read unit a shard.
    ///
    /// # Errors
    /// As reads.
    pub async fn overdue(&self) -> Result<usize, JournalError> {
        let until = Tick(self.clock.now().tick().0.saturating_sub(OVERDUE_MIN));
        let mut overdue = 0;
        for shard in 0..super::keys::ALARM_SHARDS {
            overdue += self.due_cards(shard, until, None).await?.items.len();
        }
        Ok(overdue)
    }

    /// How far our clock was off DynamoDB's at the last answer, milliseconds.
    #[must_use]
    pub fn skew_ms(&self) -> u64 {
        self.skew.ms()
    }
}

fn same_keys(wanted: Option<&[KeySchemaElement]>, found: Option<&[KeySchemaElement]>) -> bool {
    let key = |element: &KeySchemaElement| {
        (element.key_type().as_str().to_owned(), element.attribute_name().to_owned())
    };
    let sorted = |keys: &[KeySchemaElement]| {
        let mut keys: Vec<_> = keys.iter().map(key).collect();
        keys.sort();
        keys
    };
    wanted.map(sorted) == found.map(sorted)
}

/// A wider projection serves as well as the one that is wanted.
fn same_projection(wanted: Option<&Projection>, found: Option<&Projection>) -> bool {
    let kind = |projection: Option<&Projection>| {
        projection.and_then(|p| p.projection_type.as_ref()).map(|t| t.as_str().to_owned())
    };
    let attributes = |projection: Option<&Projection>| -> Vec<String> {
        projection.map(|p| p.non_key_attributes().to_vec()).unwrap_or_default()
    };
    if kind(found).as_deref() == Some("ALL") {
        return true;
    }
    let found_attributes = attributes(found);
    let all_there = attributes(wanted).iter().all(|name| found_attributes.contains(name));
    all_there && (kind(wanted) == kind(found) || kind(wanted).as_deref() == Some("KEYS_ONLY"))
}
