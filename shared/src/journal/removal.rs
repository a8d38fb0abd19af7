//! The removal of a deleted life: what is left of it, and when it goes.
//!
//! ```text
//! planned ──▶ (the commit *deleted*) ──an hour──▶ removing ──▶ removed ──30 days──▶ the card, too
//! ```
//!
//! A removal is an item of its own, with an alarm of its own: a new life may have
//! the card by then. It is planned before the commit, so that no deleted life is
//! left lying. Of the items the checkpoint goes first, then the first commit,
//! then the others, and *deleted* last: whoever reads meanwhile finds damage or
//! *deleted*, never a shorter log.
//!
//! Why an hour: a state may be put upon, or be brought up to date by what came
//! since, for 15 minutes after it was known to be the latest. So nobody puts
//! into the hole.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{ConditionCheck, Delete, ReturnConsumedCapacity, TransactWriteItem};
use futures::StreamExt;

use super::faults::{Fault, retried};
use super::items::{self, ALARM_AT, ALARM_SHARD, INCARNATION, Item, PK, SK, STATUS};
use super::keys::{self, CARD, COMMIT_MAX, LogKey};
use super::search::Range;
use super::{Journal, JournalError, Purpose};
use crate::plan::StoredPlan;
use crate::time::Tick;

/// Deletes that are under way at once.
const AT_ONCE: usize = 8;

/// How far a removal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalStage {
    /// Its life may not even be deleted yet.
    Planned,
    /// It is; its items go.
    Removing,
    /// They are gone; its card follows.
    Removed,
}

/// A removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removal {
    /// The minute from which on its next step may be done.
    pub due: Tick,
    /// How far it is.
    pub stage: RemovalStage,
}

impl RemovalStage {
    const ALL: [Self; 3] = [Self::Planned, Self::Removing, Self::Removed];

    fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Removing => "removing",
            Self::Removed => "removed",
        }
    }
}

impl Journal {
    /// Plans the removal of a life that is about to be deleted, unless it is
    /// planned already. Two write units.
    ///
    /// # Errors
    /// As a write: don't delete then.
    pub async fn plan_removal(&self, key: &LogKey, due: Tick) -> Result<(), JournalError> {
        let item = Item::from([
            (PK.to_owned(), items::text(key.partition())),
            (SK.to_owned(), items::text(key.removal())),
            (STATUS.to_owned(), items::text(RemovalStage::Planned.name())),
            (ALARM_AT.to_owned(), items::number(due.0)),
            (ALARM_SHARD.to_owned(), self.shard_of(key)),
        ]);
        retried(|| self.put_if_absent(item.clone(), Purpose::Removal)).await.map(drop)
    }

    /// The removal of a life, if there is one. One read unit.
    ///
    /// # Errors
    /// As reads.
    pub async fn removal(&self, key: &LogKey) -> Result<Option<Removal>, JournalError> {
        let item = self.get(&key.partition(), &key.removal(), Purpose::CardRead).await?;
        let Some(item) = item else { return Ok(None) };
        let damaged = |what: &str| JournalError::Damaged(format!("a removal without {what}"));
        let named = items::read_text(&item, STATUS);
        let stage = RemovalStage::ALL.into_iter().find(|stage| Some(stage.name()) == named);
        let due = items::read_number(&item, ALARM_AT).map(Tick);
        Ok(Some(Removal {
            due: due.ok_or_else(|| damaged("a time"))?,
            stage: stage.ok_or_else(|| damaged("a stage"))?,
        }))
    }

    /// Moves a removal from stage to stage, or to another time. Two to three
    /// write units. Whoever else did it is no matter.
    ///
    /// # Errors
    /// As a write.
    pub async fn move_removal(
        &self,
        key: &LogKey,
        from: RemovalStage,
        to: Removal,
    ) -> Result<(), JournalError> {
        let update = self
            .update_item(&key.partition(), &key.removal())
            .update_expression(format!("SET #status = :to, {ALARM_AT} = :due"))
            .condition_expression("#status = :from")
            .expression_attribute_names("#status", STATUS)
            .expression_attribute_values(":from", items::text(from.name()))
            .expression_attribute_values(":to", items::text(to.stage.name()))
            .expression_attribute_values(":due", items::number(to.due.0));
        self.landed(update).await.map(drop)
    }

    /// Ends a removal of that stage.
    ///
    /// # Errors
    /// As a write.
    pub async fn end_removal(&self, key: &LogKey, stage: RemovalStage) -> Result<(), JournalError> {
        let delete = self
            .delete(&key.partition(), &key.removal())
            .condition_expression("#status = :stage")
            .expression_attribute_names("#status", STATUS)
            .expression_attribute_values(":stage", items::text(stage.name()));
        self.send_delete(delete).await
    }

    /// Removes the chunks of a deleted life's plan, each only while the card is
    /// still that life's: a new life may have the same plan. Four write units a
    /// started KiB.
    ///
    /// # Errors
    /// As a write.
    pub async fn remove_plan(&self, key: &LogKey, stored: &StoredPlan) -> Result<(), JournalError> {
        for at in 0..stored.chunks {
            self.remove_chunk(key, &keys::chunk(&stored.upload, at)).await?;
        }
        Ok(())
    }

    /// Removes checkpoint and commits of a deleted life. A write unit a started
    /// KiB of each; done again, it goes on where it was.
    ///
    /// # Errors
    /// As a write.
    pub async fn remove_log(&self, key: &LogKey) -> Result<(), JournalError> {
        let partition = key.partition();
        self.remove(&partition, &key.checkpoint()).await?;
        self.remove(&partition, &key.import()).await?;
        let Some(last) = self.last_commit(key).await? else { return Ok(()) };
        self.remove(&partition, &key.commit(1)).await?;
        let rest = futures::stream::iter(2..last)
            .map(|number| {
                let (partition, sort_key) = (partition.clone(), key.commit(number));
                async move { self.remove(&partition, &sort_key).await }
            })
            .buffer_unordered(AT_ONCE);
        let ended: Vec<Result<(), JournalError>> = rest.collect().await;
        ended.into_iter().collect::<Result<(), _>>()?;
        self.remove(&partition, &key.commit(last)).await
    }

    /// Removes the card of a deleted life, if it is still that life's; then what
    /// imports and lives before it left.
    ///
    /// # Errors
    /// As a write.
    pub async fn remove_card(&self, key: &LogKey) -> Result<(), JournalError> {
        let partition = key.partition();
        let delete = self
            .delete(&partition, CARD)
            .condition_expression(format!("{INCARNATION} = :inc AND #status = :gone"))
            .expression_attribute_names("#status", STATUS)
            .expression_attribute_values(":inc", items::number(key.incarnation.0))
            .expression_attribute_values(":gone", items::text(super::card::GONE));
        self.send_delete(delete).await?;
        for sort_key in self.left_of_lives_up_to(key).await? {
            self.remove(&partition, &sort_key).await?;
        }
        Ok(())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the journal is where transactions belong; each of its actions sets a condition"
    )]
    async fn remove_chunk(&self, key: &LogKey, sort_key: &str) -> Result<(), JournalError> {
        let unfinished =
            |error: &dyn std::fmt::Display| JournalError::Unavailable(error.to_string());
        let delete = Delete::builder()
            .table_name(&self.table)
            .key(PK, items::text(key.partition()))
            .key(SK, items::text(sort_key))
            .condition_expression("attribute_exists(#pk)")
            .expression_attribute_names("#pk", PK)
            .build()
            .map_err(|error| unfinished(&error))?;
        let still_its = ConditionCheck::builder()
            .table_name(&self.table)
            .key(PK, items::text(key.partition()))
            .key(SK, items::text(CARD))
            .condition_expression("#inc = :inc")
            .expression_attribute_names("#inc", INCARNATION)
            .expression_attribute_values(":inc", items::number(key.incarnation.0))
            .build()
            .map_err(|error| unfinished(&error))?;
        let transaction = self
            .db
            .transact_write_items()
            .transact_items(TransactWriteItem::builder().delete(delete).build())
            .transact_items(TransactWriteItem::builder().condition_check(still_its).build())
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        retried(async || match transaction.clone().send().await {
            Ok(answer) => {
                for consumed in answer.consumed_capacity() {
                    self.meter.record(Purpose::Removal, Some(consumed));
                }
                Ok(())
            }
            Err(error) => match cancelled(&error) {
                Some(Cancelled::Refused) => Ok(()),
                Some(Cancelled::Conflict) => Err(Fault::Throttled),
                None => Err(self.fault(&error)),
            },
        })
        .await
    }

    /// The number of the last commit that is left.
    async fn last_commit(&self, key: &LogKey) -> Result<Option<u64>, JournalError> {
        let range = Range { from: COMMIT_MAX, ascending: false, most: Some(1) };
        let (found, _) = self.query_commits(key, range, None, Purpose::Search).await?;
        let number = |item: &Item| items::read_text(item, SK).and_then(keys::commit_number);
        Ok(found.first().and_then(number))
    }

    /// Sort keys of what no card names: of this life and of those before it.
    async fn left_of_lives_up_to(&self, key: &LogKey) -> Result<Vec<String>, JournalError> {
        let mut left = Vec::new();
        for (low, high) in key.lives_up_to() {
            let items = self.query_between(&key.partition(), &low, &high).await?;
            left.extend(
                items.iter().filter_map(|item| items::read_text(item, SK)?.to_owned().into()),
            );
        }
        Ok(left)
    }
}

/// Why a transaction did nothing.
enum Cancelled {
    /// A condition did not hold: it is gone, or not ours to remove.
    Refused,
    /// Another write was in the way: again.
    Conflict,
}

fn cancelled<R>(error: &SdkError<TransactWriteItemsError, R>) -> Option<Cancelled> {
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) =
        error.as_service_error()
    else {
        return None;
    };
    let reasons = cancelled.cancellation_reasons();
    let mut codes = reasons.iter().filter_map(|reason| reason.code());
    match codes.any(|code| code == "ConditionalCheckFailed") {
        true => Some(Cancelled::Refused),
        false => Some(Cancelled::Conflict),
    }
}
