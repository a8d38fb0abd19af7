//! Deletes: each under a condition, and repeatable.

use aws_sdk_dynamodb::operation::delete_item::builders::DeleteItemFluentBuilder;
use aws_sdk_dynamodb::types::ReturnConsumedCapacity;

use super::faults::{Fault, retried};
use super::items::{self, PK, SK};
use super::{Journal, JournalError, Purpose};

impl Journal {
    /// Removes an item, or finds that it is gone. A write unit a started KiB.
    ///
    /// # Errors
    /// As a write that may be repeated.
    pub(super) async fn remove(&self, partition: &str, sort_key: &str) -> Result<(), JournalError> {
        let delete = self
            .delete(partition, sort_key)
            .condition_expression("attribute_exists(#pk)")
            .expression_attribute_names("#pk", PK);
        self.send_delete(delete).await
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the journal is where deletes belong; each sets a condition"
    )]
    pub(super) fn delete(&self, partition: &str, sort_key: &str) -> DeleteItemFluentBuilder {
        self.db
            .delete_item()
            .table_name(&self.table)
            .key(PK, items::text(partition))
            .key(SK, items::text(sort_key))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
    }

    /// Sends a delete. That its condition does not hold means that there is
    /// nothing to do.
    pub(super) async fn send_delete(
        &self,
        delete: DeleteItemFluentBuilder,
    ) -> Result<(), JournalError> {
        debug_assert!(delete.get_condition_expression().is_some(), "a write without a condition");
        retried(async || match delete.clone().send().await {
            Ok(answer) => {
                self.meter.record(Purpose::Removal, answer.consumed_capacity());
                Ok(())
            }
            Err(error) => match self.fault(&error) {
                Fault::Condition => {
                    self.meter.refused(Purpose::Removal);
                    Ok(())
                }
                other => Err(other),
            },
        })
        .await
    }
}
