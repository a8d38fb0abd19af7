//! The limits of Amazon SQS, as numbers with their units.
//!
//! What it is: every quota the engine enforces, once.
//! It promises the values AWS documents (developer guide, "Amazon SQS quotas").
//! It deliberately does not hold throughput quotas: the engine never throttles.
//! It can't fail. Next: [`crate::Config`] makes the two largest adjustable, so
//! that a test can reach them.

/// Largest message, and largest batch: body and attributes together.
pub const MESSAGE_BYTES_MAX: usize = 1_048_576;
/// Smallest value of the queue attribute `MaximumMessageSize`.
pub const MESSAGE_BYTES_LIMIT_MIN: usize = 1_024;
/// Messages of one queue that may be in flight at a time.
pub const IN_FLIGHT_MAX: usize = 120_000;
/// Messages from the front of a FIFO queue among which free groups are looked for.
pub const FIFO_WINDOW: usize = 120_000;
/// Entries of a batch, and messages of a receive.
pub const BATCH_ENTRIES_MAX: usize = 10;
/// Characters of a batch entry's id.
pub const BATCH_ENTRY_ID_CHARS_MAX: usize = 80;
/// Characters of a queue's name, `.fifo` included.
pub const QUEUE_NAME_CHARS_MAX: usize = 80;
/// Characters of a message group id or deduplication id.
pub const FIFO_ID_CHARS_MAX: usize = 128;
/// User attributes of a message.
pub const MESSAGE_ATTRIBUTES_MAX: usize = 10;
/// Characters of the name, and of the type, of a message attribute.
pub const ATTRIBUTE_NAME_CHARS_MAX: usize = 256;
/// Longest visibility time-out, from the receive on.
pub const VISIBILITY_S_MAX: u32 = 43_200;
/// Longest delay of a message.
pub const DELAY_S_MAX: u32 = 900;
/// Longest wait of a receive.
pub const WAIT_S_MAX: u32 = 20;
/// Shortest retention of a message.
pub const RETENTION_S_MIN: u32 = 60;
/// Longest retention of a message.
pub const RETENTION_S_MAX: u32 = 1_209_600;
/// Receives before a message may be moved to a dead-letter queue.
pub const RECEIVE_COUNT_MAX: u32 = 1_000;
/// How long a FIFO queue remembers a deduplication id.
pub const DEDUPLICATION_MS: u64 = 300_000;
/// A purge this soon after the last one is refused.
pub const PURGE_INTERVAL_MS: u64 = 60_000;
/// A queue can't be created this soon after one of the same name was deleted.
pub const RECREATE_INTERVAL_MS: u64 = 60_000;
/// Queues of one page of a listing.
pub const LISTED_QUEUES_MAX: usize = 1_000;
