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
    INCARNATION, Item, LIST_AT, LIST_KEY, PARENT, PK, QUARANTINE, QUARANTINE_MIN, SK, STATUS,
    UPDATED_AT,
};
use super::keys::{self, CARD, LogKey};
use super::{Journal, JournalError, Purpose};
use crate::id::Incarnation;
use crate::time::{Tick, Timestamp};

/// The status of a card whose life was deleted.
pub(super) const GONE: &str = "deleted";

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
    /// Recorded time of the last commit that it shows.
    pub updated_at: Option<Timestamp>,
}

impl Card {
    /// Whether its life was deleted: its log, or what is left of it, is nobody's
    /// to read. A new life may begin.
    #[must_use]
    pub fn gone(&self) -> bool {
        self.status == GONE
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
        updated_at: items::read_number(item, UPDATED_AT).map(Timestamp),
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

    pub(super) fn shard_of(&self, key: &LogKey) -> aws_sdk_dynamodb::types::AttributeValue {
        items::number(u64::from(keys::alarm_shard(&key.partition())))
    }

    pub(super) fn update_card(&self, partition: &str) -> UpdateItemFluentBuilder {
        self.update_item(partition, CARD)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the journal is where updates belong; each sets a condition"
    )]
    pub(super) fn update_item(&self, partition: &str, sort_key: &str) -> UpdateItemFluentBuilder {
        self.db
            .update_item()
            .table_name(&self.table)
            .key(PK, items::text(partition))
            .key(SK, items::text(sort_key))
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
            Some(item) => {
                let card = item.filter(|item| items::read_text(item, SK) == Some(CARD));
                Ok(Updated::Refused(card.as_ref().map(read).transpose()?))
            }
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
