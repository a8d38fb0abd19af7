//! Cuts a list of messages into batches that SQS takes.

use super::Outgoing;
use crate::limits::{SQS_BATCH_BYTES_MAX, SQS_BATCH_ENTRIES_MAX};
use crate::telemetry::trace::TRACEPARENT_BYTES;

/// Batches of at most 10 messages and 1 MiB of bodies and traces, in order.
pub(super) fn split(messages: Vec<Outgoing>) -> Vec<Vec<Outgoing>> {
    let mut batches: Vec<Vec<Outgoing>> = Vec::new();
    let mut bytes = 0;
    for message in messages {
        let size = message.body.len() + TRACEPARENT_BYTES;
        match batches.last_mut() {
            Some(batch)
                if batch.len() < SQS_BATCH_ENTRIES_MAX && bytes + size <= SQS_BATCH_BYTES_MAX =>
            {
                bytes += size;
                batch.push(message);
            }
            _ => {
                bytes = size;
                batches.push(vec![message]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(size: usize) -> Outgoing {
        Outgoing { body: "x".repeat(size), group: String::new(), dedup: String::new(), delay_s: 0 }
    }

    #[test]
    fn batches_hold_at_most_ten_entries_and_a_mebibyte() {
        let sizes = |messages| -> Vec<usize> { split(messages).iter().map(Vec::len).collect() };
        assert_eq!(sizes((0..21).map(|_| message(1)).collect()), [10, 10, 1]);
        assert_eq!(
            sizes((0..5).map(|_| message(SQS_BATCH_BYTES_MAX / 2 - TRACEPARENT_BYTES)).collect()),
            [2, 2, 1]
        );
        assert_eq!(sizes(vec![message(SQS_BATCH_BYTES_MAX), message(1)]), [1, 1]);
        assert!(split(Vec::new()).is_empty());
    }
}
