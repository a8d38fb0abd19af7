//! Sending, one message or a batch.
//!
//! What it is: `SendMessage` and `SendMessageBatch`. It promises that checks
//! and digests happen outside the lock, and that an answered message is in the
//! queue. It deliberately never throttles. Entries of a batch fail alone,
//! except for what AWS holds against the whole batch (its size; on a FIFO
//! queue, absent group or deduplication ids). Next: `queue/accept.rs`.

use super::{Engine, batch};
use crate::admission;
use crate::error::{ErrorKind, SqsError};
use crate::limits;
use crate::message::{BatchOutcome, Entry, OutgoingMessage, Sent};

impl Engine {
    /// Sends a message.
    ///
    /// # Errors
    /// [`ErrorKind::QueueDoesNotExist`], [`ErrorKind::InvalidMessageContents`],
    /// [`ErrorKind::InvalidParameterValue`], [`ErrorKind::MissingParameter`]:
    /// the message was not accepted, and never will be as it is.
    pub async fn send(&self, queue_url: &str, message: OutgoingMessage) -> Result<Sent, SqsError> {
        let admitted = admission::admit(message)?;
        self.on_queue(queue_url, |queue, counters, now_ms| queue.accept(admitted, counters, now_ms))
    }

    /// Sends up to ten messages, in order; each is accepted or refused for itself.
    ///
    /// # Errors
    /// As [`Engine::send`], and the errors of a batch as a whole
    /// ([`ErrorKind::BatchRequestTooLong`] above 1 MiB together): nothing was sent.
    pub async fn send_batch(
        &self,
        queue_url: &str,
        entries: Vec<Entry<OutgoingMessage>>,
    ) -> Result<BatchOutcome<Sent>, SqsError> {
        let readable = |entry: Entry<OutgoingMessage>| Entry { id: entry.id, item: Ok(entry.item) };
        self.send_readable(queue_url, entries.into_iter().map(readable).collect()).await
    }

    /// The same for entries of which some could not even be read.
    pub(crate) async fn send_readable(
        &self,
        queue_url: &str,
        entries: Vec<Entry<Result<OutgoingMessage, SqsError>>>,
    ) -> Result<BatchOutcome<Sent>, SqsError> {
        batch::check(&entries, "SendMessageBatchRequestEntry")?;
        let messages = || entries.iter().filter_map(|entry| entry.item.as_ref().ok());
        let bytes: usize = messages().map(admission::size_bytes).sum();
        if bytes > limits::MESSAGE_BYTES_MAX {
            return Err(ErrorKind::BatchRequestTooLong.because(format!(
                "Batch requests cannot be longer than {} bytes. You have sent {bytes} bytes.",
                limits::MESSAGE_BYTES_MAX
            )));
        }
        self.on_queue(queue_url, |queue, _, _| queue.check_batch(messages()))?;
        let admitted: Vec<_> = entries
            .into_iter()
            .map(|entry| Entry { id: entry.id, item: entry.item.and_then(admission::admit) })
            .collect();
        self.on_queue(queue_url, |queue, counters, now_ms| {
            Ok(batch::each(admitted, |admitted| queue.accept(admitted?, counters, now_ms)))
        })
    }
}
