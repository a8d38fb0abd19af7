//! What cards show to lists.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;

use super::card::GONE;
use super::items::{
    self, ALARM_AT, ALARM_REV, ALARM_SHARD, AS_OF, ATTRIBUTES, CLOSED_AT, DISPLAY_NAME,
    INCARNATION, LIST_AT, LIST_KEY, PARENT, QUARANTINE, QUARANTINE_MIN, STARTED_AT, STATUS, TYPE,
    UPDATED_AT,
};
use super::keys::{self, LogKey};
use super::{Journal, JournalError};
use crate::id::WorkflowType;
use crate::labels::Labels;
use crate::state::State;
use crate::time::{Tick, Timestamp};

/// What a card shows to lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardLook {
    /// One word.
    pub status: &'static str,
    /// Type of the workflow.
    pub workflow_type: WorkflowType,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended, if it has.
    pub closed_at: Option<Timestamp>,
    /// Recorded time of the last commit.
    pub updated_at: Timestamp,
    /// What it is found by beside its id.
    pub labels: Labels,
    /// The commit that this is of.
    pub as_of: u64,
    /// The minute in which somebody must look, if it has ended.
    pub alarm: Option<Tick>,
}

impl CardLook {
    /// What the card of a state shows; `None` before its start.
    #[must_use]
    pub fn of(state: &State) -> Option<Self> {
        let run = state.run.as_ref()?;
        Some(Self {
            status: state.status(),
            workflow_type: run.workflow_type.clone(),
            started_at: run.started_at,
            closed_at: state.ending().map(|_| state.closed_at),
            updated_at: state.time,
            labels: state.labels.as_deref().cloned().unwrap_or_default(),
            as_of: state.card_commit,
            alarm: state.alarm.filter(|_| state.ending().is_some()),
        })
    }
}

impl Journal {
    /// Shows `look` in the lists, unless the card shows a later commit. With
    /// `rev` also moves the alarm to that of the look, or away, if `alarm_rev` is
    /// still that. False if the condition did not hold.
    ///
    /// Two write units at a start, four at a close: the card, its entry in the
    /// list that it leaves and in the one that it joins, and its alarm.
    ///
    /// # Errors
    /// As a write; a look at the workflow repairs it.
    pub async fn show(
        &self,
        key: &LogKey,
        look: &CardLook,
        rev: Option<u64>,
    ) -> Result<bool, JournalError> {
        let (mut update, mut set, mut remove) = self.shown(key, look);
        let mut condition = format!("{INCARNATION} = :inc AND {AS_OF} < :{AS_OF}");
        if let Some(rev) = rev {
            match look.alarm {
                None => remove.extend([ALARM_AT.to_owned(), ALARM_SHARD.to_owned()]),
                Some(tick) => {
                    set.extend([
                        format!("{ALARM_AT} = :{ALARM_AT}"),
                        format!("{ALARM_SHARD} = :{ALARM_SHARD}"),
                    ]);
                    update = update
                        .expression_attribute_values(format!(":{ALARM_AT}"), items::number(tick.0))
                        .expression_attribute_values(format!(":{ALARM_SHARD}"), self.shard_of(key));
                }
            }
            condition.push_str(&format!(" AND {ALARM_REV} = :rev"));
            update = update.expression_attribute_values(":rev", items::number(rev));
        }
        let mut expression = format!("SET {}", set.join(", "));
        if !remove.is_empty() {
            expression.push_str(&format!(" REMOVE {}", remove.join(", ")));
        }
        let update = update
            .update_expression(expression)
            .condition_expression(condition)
            .expression_attribute_values(":inc", items::number(key.incarnation.0));
        self.landed(update).await
    }

    /// Shows that the life was deleted: in no list, without an alarm. False if the
    /// card is another life's, or absent.
    ///
    /// Two to four write units.
    ///
    /// # Errors
    /// As a write; a removal repairs it.
    pub async fn bury(&self, key: &LogKey, at: Timestamp) -> Result<bool, JournalError> {
        let gone = [
            LIST_KEY,
            LIST_AT,
            ALARM_AT,
            ALARM_SHARD,
            QUARANTINE,
            QUARANTINE_MIN,
            TYPE,
            STARTED_AT,
            CLOSED_AT,
            DISPLAY_NAME,
        ];
        let update = self
            .update_card(&key.partition())
            .update_expression(format!(
                "SET #status = :gone, {UPDATED_AT} = :at REMOVE {}, #parent, #attributes",
                gone.join(", ")
            ))
            .condition_expression(format!("{INCARNATION} = :inc"))
            .expression_attribute_names("#status", STATUS)
            .expression_attribute_names("#parent", PARENT)
            .expression_attribute_names("#attributes", ATTRIBUTES)
            .expression_attribute_values(":gone", items::text(GONE))
            .expression_attribute_values(":at", items::number(at.0))
            .expression_attribute_values(":inc", items::number(key.incarnation.0));
        self.landed(update).await
    }

    /// An update of the card that shows `look`: what it sets and what it removes.
    pub(super) fn shown(
        &self,
        key: &LogKey,
        look: &CardLook,
    ) -> (UpdateItemFluentBuilder, Vec<String>, Vec<String>) {
        let partition = key.partition();
        let labels = &look.labels;
        let shown = [
            (STATUS, Some(items::text(look.status))),
            (AS_OF, Some(items::number(look.as_of))),
            (TYPE, Some(items::text(look.workflow_type.as_str()))),
            (STARTED_AT, Some(items::number(look.started_at.0))),
            (UPDATED_AT, Some(items::number(look.updated_at.0))),
            (CLOSED_AT, look.closed_at.map(|at| items::number(at.0))),
            (DISPLAY_NAME, labels.display_name.as_deref().map(items::text)),
            (PARENT, labels.parent.as_ref().map(|parent| items::text(parent.as_str()))),
            (ATTRIBUTES, items::attributes(&labels.attributes)),
            (LIST_KEY, Some(items::text(keys::list_key(&key.namespace, look.status, &partition)))),
            (LIST_AT, Some(items::text(keys::list_at(look.started_at, &key.workflow)))),
        ];
        let mut update = self.update_card(&partition);
        let (mut set, mut remove) = (Vec::new(), Vec::new());
        for (name, value) in shown {
            update = update.expression_attribute_names(format!("#{name}"), name);
            match value {
                Some(value) => {
                    update = update.expression_attribute_values(format!(":{name}"), value);
                    set.push(format!("#{name} = :{name}"));
                }
                None => remove.push(format!("#{name}")),
            }
        }
        (update, set, remove)
    }
}
