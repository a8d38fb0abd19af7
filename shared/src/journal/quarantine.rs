//! A workflow whose log can't be folded: marked on its card, looked at ever
//! more seldom, until an operator has mended it.
//!
//! This is the one exception to the alarm invariant: the alarm moves later
//! without a commit, since no commit can be made.

use super::items::{
    self, ALARM_AT, ALARM_REV, ALARM_SHARD, INCARNATION, QUARANTINE, QUARANTINE_MIN,
};
use super::keys::LogKey;
use super::{Card, Journal, JournalError};
use crate::time::Timestamp;

/// Minutes until the first look at a log that could not be folded.
const FIRST_MIN: u64 = 15;
/// The longest wait between two looks.
const MIN_MAX: u64 = 24 * 60;

impl Journal {
    /// Marks the card with why, and moves its alarm: 15 minutes from `now`,
    /// doubling to a day. False if the card changed since it was read.
    ///
    /// # Errors
    /// As a card write.
    pub async fn quarantine(
        &self,
        key: &LogKey,
        card: &Card,
        why: &str,
        now: Timestamp,
    ) -> Result<bool, JournalError> {
        let minutes = (card.quarantine_min * 2).clamp(FIRST_MIN, MIN_MAX);
        let why: String = why.chars().take(500).collect();
        let update = self
            .update_card(&key.partition())
            .update_expression(format!(
                "SET {QUARANTINE} = :why, {QUARANTINE_MIN} = :minutes, {ALARM_AT} = :alarm, {ALARM_SHARD} = :shard"
            ))
            .condition_expression(format!("{INCARNATION} = :inc AND {ALARM_REV} = :rev"))
            .expression_attribute_values(":why", items::text(why))
            .expression_attribute_values(":minutes", items::number(minutes))
            .expression_attribute_values(":alarm", items::number(now.plus_ms(minutes * 60_000).tick().0))
            .expression_attribute_values(":shard", self.shard_of(key))
            .expression_attribute_values(":inc", items::number(key.incarnation.0))
            .expression_attribute_values(":rev", items::number(card.alarm_rev));
        self.landed(update).await
    }

    /// Takes the mark away, once the log folds again.
    ///
    /// # Errors
    /// As a card write.
    pub async fn release(&self, key: &LogKey) -> Result<bool, JournalError> {
        let update = self
            .update_card(&key.partition())
            .update_expression(format!("REMOVE {QUARANTINE}, {QUARANTINE_MIN}"))
            .condition_expression(format!(
                "{INCARNATION} = :inc AND attribute_exists({QUARANTINE})"
            ))
            .expression_attribute_values(":inc", items::number(key.incarnation.0));
        self.landed(update).await
    }
}
