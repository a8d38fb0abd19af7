//! The card: what must be found across workflows, and the alarm.
//!
//! Invariant, after every single write:
//! `card.alarm_at ≤ state.alarm ≤ the earliest due time of anything outstanding`.
//!
//! Every write here is conditional on the incarnation, nothing but a start
//! creates a card, `alarm_rev` never goes back, and an alarm moves later only
//! if `alarm_rev` is still the one that was read before the commit that allows
//! it. So each write may be repeated, come late, or be lost: the worst of it is
//! a needless look (`tests/model` proves it).

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure};

use super::faults::{Fault, TRIES, back_off, retried};
use super::items::{
    self, ALARM_AT, ALARM_REV, ALARM_SHARD, AS_OF, ATTRIBUTES, CLOSED_AT, DISPLAY_NAME,
    INCARNATION, Item, LIST_AT, LIST_KEY, PARENT, PK, QUARANTINE, QUARANTINE_MIN, SK, STARTED_AT,
    STATUS, TYPE, UPDATED_AT,
};
use super::keys::{self, CARD, LogKey};
use super::{Journal, JournalError, Purpose};
use crate::id::{Incarnation, WorkflowType};
use crate::labels::Labels;
use crate::state::State;
use crate::time::{Tick, Timestamp};

/// A card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Which life of the workflow it is of.
    pub incarnation: Incarnation,
    /// The minute in which somebody must look; `None` is never.
    pub alarm_at: Option<Tick>,
    /// Grows with every earlier alarm.
    pub alarm_rev: u64,
    /// What lists say.
    pub status: String,
    /// The commit that the status is of.
    pub as_of: u64,
    /// Why the log can't be served, if it can't.
    pub quarantine: Option<String>,
    /// Minutes of the last wait, if it can't.
    pub quarantine_min: u64,
}

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
        })
    }
}

/// What became of a card that was to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// It is new.
    Created,
    /// There was one.
    Exists(Card),
}

fn read(item: &Item) -> Result<Card, JournalError> {
    let missing = |name: &str| JournalError::Damaged(format!("card without {name}"));
    Ok(Card {
        incarnation: items::read_number(item, INCARNATION)
            .map(Incarnation)
            .ok_or_else(|| missing(INCARNATION))?,
        alarm_at: items::read_number(item, ALARM_AT).map(Tick),
        alarm_rev: items::read_number(item, ALARM_REV).ok_or_else(|| missing(ALARM_REV))?,
        status: items::read_text(item, STATUS).ok_or_else(|| missing(STATUS))?.to_owned(),
        as_of: items::read_number(item, AS_OF).unwrap_or(0),
        quarantine: items::read_text(item, QUARANTINE).map(str::to_owned),
        quarantine_min: items::read_number(item, QUARANTINE_MIN).unwrap_or(0),
    })
}

impl Journal {
    /// Reads a card, consistently. Half a read unit to one.
    ///
    /// # Errors
    /// Any of a read.
    pub async fn card(&self, partition: &str) -> Result<Option<Card>, JournalError> {
        let item = self.get(partition, CARD, Purpose::CardRead).await?;
        item.as_ref().map(read).transpose()
    }

    /// Creates the card of a workflow that has none, in no list, with an alarm.
    /// Two write units: the card and its entry in the alarm index.
    ///
    /// # Errors
    /// As a write; nothing depends on whether it landed, since a start that
    /// comes again finds and keeps it.
    pub async fn open_card(&self, key: &LogKey, alarm: Tick) -> Result<Opened, JournalError> {
        let partition = key.partition();
        let item = Item::from([
            (ALARM_SHARD.to_owned(), items::number(u64::from(keys::alarm_shard(&partition)))),
            (PK.to_owned(), items::text(partition)),
            (SK.to_owned(), items::text(CARD)),
            (INCARNATION.to_owned(), items::number(key.incarnation.0)),
            (STATUS.to_owned(), items::text("starting")),
            (AS_OF.to_owned(), items::number(0)),
            (ALARM_AT.to_owned(), items::number(alarm.0)),
            (ALARM_REV.to_owned(), items::number(0)),
        ]);
        match retried(|| self.put_if_absent(item.clone(), Purpose::CardWrite)).await? {
            None => Ok(Opened::Created),
            Some(Some(found)) => read(&found).map(Opened::Exists),
            Some(None) => match self.card(&key.partition()).await? {
                Some(card) => Ok(Opened::Exists(card)),
                None => {
                    Err(JournalError::Unavailable("a card stands there and can't be read".into()))
                }
            },
        }
    }

    /// Gives the card of a dead incarnation to a new one. False if another did.
    ///
    /// # Errors
    /// As a write.
    pub async fn take_over_card(
        &self,
        from: Incarnation,
        to: &LogKey,
        alarm: Tick,
    ) -> Result<bool, JournalError> {
        let update = self
            .update_card(&to.partition())
            .update_expression(format!(
                "SET {INCARNATION} = :to, #status = :starting, {AS_OF} = :zero, {ALARM_AT} = :alarm, \
                 {ALARM_SHARD} = :shard REMOVE {LIST_KEY}, {LIST_AT}, {CLOSED_AT}, {UPDATED_AT}, {DISPLAY_NAME}, #parent, #attributes, \
                 {QUARANTINE}, {QUARANTINE_MIN} \
                 ADD {ALARM_REV} :one"
            ))
            .condition_expression(format!("{INCARNATION} = :from"))
            .expression_attribute_names("#status", STATUS)
            .expression_attribute_names("#parent", PARENT)
            .expression_attribute_names("#attributes", ATTRIBUTES)
            .expression_attribute_values(":from", items::number(from.0))
            .expression_attribute_values(":to", items::number(to.incarnation.0))
            .expression_attribute_values(":starting", items::text("starting"))
            .expression_attribute_values(":zero", items::number(0))
            .expression_attribute_values(":one", items::number(1))
            .expression_attribute_values(":alarm", items::number(alarm.0))
            .expression_attribute_values(":shard", self.shard_of(to));
        match self.send_update(update).await? {
            Updated::Landed => Ok(true),
            // An answer may have been lost: it may be ours already.
            Updated::Refused(Some(card)) => Ok(card.incarnation == to.incarnation),
            Updated::Refused(None) => Ok(false),
        }
    }

    /// The card step before a commit that needs an earlier alarm: `alarm_at`
    /// down to `tick`, `alarm_rev` + 1; if the card is earlier already,
    /// `alarm_rev` + 1 alone. Two to three write units.
    ///
    /// # Errors
    /// [`JournalError::OtherIncarnation`], or as a write: don't commit then.
    pub async fn lower_alarm(&self, key: &LogKey, tick: Tick) -> Result<(), JournalError> {
        for attempt in 1..=TRIES {
            let lower = self
                .update_card(&key.partition())
                .update_expression(format!(
                    "SET {ALARM_AT} = :tick, {ALARM_SHARD} = :shard ADD {ALARM_REV} :one"
                ))
                .condition_expression(format!(
                    "{INCARNATION} = :inc AND (attribute_not_exists({ALARM_AT}) OR {ALARM_AT} > :tick)"
                ))
                .expression_attribute_values(":inc", items::number(key.incarnation.0))
                .expression_attribute_values(":tick", items::number(tick.0))
                .expression_attribute_values(":one", items::number(1))
                .expression_attribute_values(":shard", self.shard_of(key));
            match self.send_update(lower).await? {
                Updated::Landed => return Ok(()),
                Updated::Refused(card) => self.same_incarnation(key, card)?,
            }
            let bump = self
                .update_card(&key.partition())
                .update_expression(format!("ADD {ALARM_REV} :one"))
                .condition_expression(format!("{INCARNATION} = :inc AND {ALARM_AT} <= :tick"))
                .expression_attribute_values(":inc", items::number(key.incarnation.0))
                .expression_attribute_values(":tick", items::number(tick.0))
                .expression_attribute_values(":one", items::number(1));
            match self.send_update(bump).await? {
                Updated::Landed => return Ok(()),
                Updated::Refused(card) => self.same_incarnation(key, card)?,
            }
            back_off(attempt).await;
        }
        Err(JournalError::Throttled)
    }

    fn same_incarnation(&self, key: &LogKey, card: Option<Card>) -> Result<(), JournalError> {
        match card {
            Some(card) if card.incarnation == key.incarnation => Ok(()),
            _ => Err(JournalError::OtherIncarnation),
        }
    }

    /// Moves the alarm to `tick` (or away) on the strength of a commit, if
    /// `alarm_rev` is still `rev`. False if it is not: the alarm stays where it
    /// is, early. Two to three write units.
    ///
    /// # Errors
    /// As a write; the alarm then stays early.
    pub async fn move_alarm(
        &self,
        key: &LogKey,
        tick: Option<Tick>,
        rev: u64,
    ) -> Result<bool, JournalError> {
        let update = self
            .update_card(&key.partition())
            .condition_expression(format!("{INCARNATION} = :inc AND {ALARM_REV} = :rev"))
            .expression_attribute_values(":inc", items::number(key.incarnation.0))
            .expression_attribute_values(":rev", items::number(rev));
        let update = match tick {
            Some(tick) => update
                .update_expression(format!("SET {ALARM_AT} = :tick, {ALARM_SHARD} = :shard"))
                .expression_attribute_values(":tick", items::number(tick.0))
                .expression_attribute_values(":shard", self.shard_of(key)),
            None => update.update_expression(format!("REMOVE {ALARM_AT}, {ALARM_SHARD}")),
        };
        Ok(matches!(self.send_update(update).await?, Updated::Landed))
    }

    /// Shows `look` in the lists, unless the card shows a later commit. With
    /// `rev` also takes the alarm away, if `alarm_rev` is still that. False if
    /// the condition did not hold.
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
        let (mut update, set, mut remove) = self.shown(key, look);
        let mut condition = format!("{INCARNATION} = :inc AND {AS_OF} < :{AS_OF}");
        if let Some(rev) = rev {
            remove.extend([ALARM_AT.to_owned(), ALARM_SHARD.to_owned()]);
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
        Ok(matches!(self.send_update(update).await?, Updated::Landed))
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

    pub(super) fn shard_of(&self, key: &LogKey) -> aws_sdk_dynamodb::types::AttributeValue {
        items::number(u64::from(keys::alarm_shard(&key.partition())))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the journal is where updates belong; each sets a condition"
    )]
    pub(super) fn update_card(&self, partition: &str) -> UpdateItemFluentBuilder {
        self.db
            .update_item()
            .table_name(&self.table)
            .key(PK, items::text(partition))
            .key(SK, items::text(CARD))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
    }

    /// Sends an update; whether its condition held.
    pub(super) async fn landed(
        &self,
        update: UpdateItemFluentBuilder,
    ) -> Result<bool, JournalError> {
        Ok(matches!(self.send_update(update).await?, Updated::Landed))
    }

    async fn send_update(&self, update: UpdateItemFluentBuilder) -> Result<Updated, JournalError> {
        debug_assert!(update.get_condition_expression().is_some(), "a write without a condition");
        let refused = retried(|| self.try_update(update.clone())).await?;
        match refused {
            None => Ok(Updated::Landed),
            Some(item) => Ok(Updated::Refused(item.as_ref().map(read).transpose()?)),
        }
    }

    /// One try: `None` if it landed, else what stands there (if the store says so).
    async fn try_update(
        &self,
        update: UpdateItemFluentBuilder,
    ) -> Result<Option<Option<Item>>, Fault> {
        let error = match update.send().await {
            Ok(answer) => {
                self.meter.record(Purpose::CardWrite, answer.consumed_capacity());
                return Ok(None);
            }
            Err(error) => error,
        };
        match (self.fault(&error), error.into_service_error()) {
            (Fault::Condition, UpdateItemError::ConditionalCheckFailedException(failed)) => {
                self.meter.refused(Purpose::CardWrite);
                Ok(Some(failed.item))
            }
            (fault, _) => Err(fault),
        }
    }
}

/// How a card write ended.
enum Updated {
    Landed,
    Refused(Option<Card>),
}
