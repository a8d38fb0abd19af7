//! Deleting received messages and changing their visibility.
//!
//! What it is: `DeleteMessage`, `ChangeMessageVisibility` and their batches.
//! It promises that a handle acts on its own receive alone. Deleting twice is
//! deliberately no error. It fails with
//! [`ErrorKind::ReceiptHandleIsInvalid`](crate::ErrorKind::ReceiptHandleIsInvalid)
//! for what this queue never handed out. Next: `queue/settle.rs`.

use super::{Engine, batch};
use crate::error::{SqsError, invalid_value};
use crate::limits;
use crate::message::{BatchOutcome, Entry, VisibilityChange};

impl Engine {
    /// Deletes the message of a receipt handle.
    ///
    /// On a standard queue a handle older than the last receive deletes
    /// nothing and still succeeds.
    ///
    /// # Errors
    /// [`ErrorKind::ReceiptHandleIsInvalid`](crate::ErrorKind::ReceiptHandleIsInvalid):
    /// not a handle of this queue.
    /// [`ErrorKind::InvalidParameterValue`](crate::ErrorKind::InvalidParameterValue):
    /// on a FIFO queue, the receive timed out and the message comes again.
    pub async fn delete(&self, queue_url: &str, receipt_handle: &str) -> Result<(), SqsError> {
        self.on_queue(queue_url, |queue, _, now_ms| queue.delete(receipt_handle, now_ms))
    }

    /// Deletes up to ten messages; each succeeds or fails as [`Engine::delete`].
    ///
    /// # Errors
    /// Those of a batch as a whole: nothing was deleted.
    pub async fn delete_batch(
        &self,
        queue_url: &str,
        entries: Vec<Entry<String>>,
    ) -> Result<BatchOutcome<()>, SqsError> {
        batch::check(&entries, "DeleteMessageBatchRequestEntry")?;
        self.on_queue(queue_url, |queue, _, now_ms| {
            Ok(batch::each(entries, |handle| queue.delete(&handle, now_ms)))
        })
    }

    /// Makes a message in flight visible again `visibility_s` seconds from now, 0 to 43,200.
    ///
    /// # Errors
    /// [`ErrorKind::MessageNotInflight`](crate::ErrorKind::MessageNotInflight):
    /// the receive timed out.
    /// [`ErrorKind::InvalidParameterValue`](crate::ErrorKind::InvalidParameterValue):
    /// the message is gone, was received again, or would be in flight for more
    /// than 12 hours.
    /// [`ErrorKind::ReceiptHandleIsInvalid`](crate::ErrorKind::ReceiptHandleIsInvalid).
    pub async fn change_visibility(
        &self,
        queue_url: &str,
        receipt_handle: &str,
        visibility_s: u32,
    ) -> Result<(), SqsError> {
        check(visibility_s)?;
        self.on_queue(queue_url, |queue, _, now_ms| {
            queue.change_visibility(receipt_handle, visibility_s, now_ms)
        })
    }

    /// Changes up to ten visibilities; each as [`Engine::change_visibility`].
    ///
    /// # Errors
    /// Those of a batch as a whole: nothing was changed.
    pub async fn change_visibility_batch(
        &self,
        queue_url: &str,
        entries: Vec<Entry<VisibilityChange>>,
    ) -> Result<BatchOutcome<()>, SqsError> {
        batch::check(&entries, "ChangeMessageVisibilityBatchRequestEntry")?;
        self.on_queue(queue_url, |queue, _, now_ms| {
            Ok(batch::each(entries, |change| {
                check(change.visibility_s)?;
                queue.change_visibility(&change.receipt_handle, change.visibility_s, now_ms)
            }))
        })
    }
}

fn check(visibility_s: u32) -> Result<(), SqsError> {
    if visibility_s <= limits::VISIBILITY_S_MAX {
        return Ok(());
    }
    Err(invalid_value(
        visibility_s,
        "VisibilityTimeout",
        "VisibilityTimeout must be an integer between 0 and 43200.",
    ))
}
