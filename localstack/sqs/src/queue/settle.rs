//! What becomes of a message that was handed out, and of one that is too old.
//!
//! What it is: deletion, change of visibility, time-out and retention. It
//! promises that a handle acts on its own receive alone: an old one never
//! deletes or hides a message that someone else has received since. Time-outs
//! deliberately happen when somebody looks, not at the moment itself; nobody
//! can tell the difference. It fails with the errors of `DeleteMessage` and
//! `ChangeMessageVisibility`. Next: `engine/acknowledge.rs`.

use super::{Backlog, Phase, Queue};
use crate::error::{ErrorKind, SqsError, invalid_value};
use crate::id::Receipt;
use crate::limits;

impl Queue {
    /// Deletes the message of a handle.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidParameterValue`]: on a FIFO queue, the receive has
    /// timed out; the message will come again.
    pub(crate) fn delete(&mut self, handle: &str, now_ms: u64) -> Result<(), SqsError> {
        let receipt = self.receipt(handle)?;
        let Some(message) = self.messages.get(&receipt.place) else {
            return Ok(());
        };
        let latest = u64::from(message.receives_here) == receipt.receive;
        match (&self.backlog, message.phase) {
            (Backlog::Fifo(_), Phase::InFlight { .. }) if latest => {}
            (Backlog::Fifo(_), _) => {
                return Err(invalid_value(
                    handle,
                    "ReceiptHandle",
                    "The receipt handle has expired.",
                ));
            }
            (Backlog::Standard(_), _) if latest => {}
            (Backlog::Standard(_), _) => return Ok(()),
        }
        self.remove(receipt.place, now_ms);
        Ok(())
    }

    /// Lets the message of a handle be visible again `visibility_s` from now.
    ///
    /// # Errors
    /// [`ErrorKind::MessageNotInflight`]: the receive has timed out.
    /// [`ErrorKind::InvalidParameterValue`]: the message is gone or was
    /// received again, or would be in flight for more than twelve hours.
    pub(crate) fn change_visibility(
        &mut self,
        handle: &str,
        visibility_s: u32,
        now_ms: u64,
    ) -> Result<(), SqsError> {
        let receipt = self.receipt(handle)?;
        let current = self
            .messages
            .get_mut(&receipt.place)
            .filter(|message| u64::from(message.receives_here) == receipt.receive);
        let Some(message) = current else {
            return Err(invalid_value(
                handle,
                "ReceiptHandle",
                "Message does not exist or is not available for visibility timeout change.",
            ));
        };
        let Phase::InFlight { until_ms, received_ms } = message.phase else {
            return Err(
                ErrorKind::MessageNotInflight.because("The specified message isn't in flight.")
            );
        };
        let new_until_ms = now_ms + u64::from(visibility_s) * 1_000;
        if new_until_ms > received_ms + u64::from(limits::VISIBILITY_S_MAX) * 1_000 {
            return Err(invalid_value(
                visibility_s,
                "VisibilityTimeout",
                "Total VisibilityTimeout for the message is beyond the limit [43200 seconds].",
            ));
        }
        if visibility_s == 0 {
            self.put_back(receipt.place, now_ms, now_ms);
        } else {
            message.phase = Phase::InFlight { until_ms: new_until_ms, received_ms };
            self.in_flight.remove(&(until_ms, receipt.place));
            self.in_flight.insert((new_until_ms, receipt.place));
        }
        Ok(())
    }

    /// Drops what is too old, and takes back what timed out.
    pub(super) fn let_time_pass(&mut self, now_ms: u64) {
        let retention_ms = self.retention_ms();
        while let Some(&(from_ms, place)) = self.by_age.first() {
            if from_ms + retention_ms > now_ms {
                break;
            }
            self.remove(place, now_ms);
        }
        while let Some(&(until_ms, place)) = self.in_flight.first() {
            if until_ms > now_ms {
                break;
            }
            self.put_back(place, until_ms, now_ms);
        }
        if let Backlog::Fifo(fifo) = &mut self.backlog {
            let view = fifo.view(now_ms);
            fifo.groups.settle(view);
        }
    }

    fn receipt(&self, handle: &str) -> Result<Receipt, SqsError> {
        let receipt = Receipt::read(handle)?;
        if receipt.queue == self.instance {
            return Ok(receipt);
        }
        Err(ErrorKind::ReceiptHandleIsInvalid
            .because(format!("The receipt handle \"{handle}\" is not valid for this queue.")))
    }
}
