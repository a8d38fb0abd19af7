//! Every bound of Everlog, in one place; units come last in each name.
//!
//! A bound that a message breaks is answered with [`crate::Rejection::InvalidInput`],
//! which repeats the bound. Numbers that come from AWS say so.

/// Bytes of a text id.
pub const ID_BYTES_MAX: usize = 256;
/// Bytes of one input, output, event or signal payload.
pub const PAYLOAD_BYTES_MAX: usize = 256 * 1024;
/// Events of one append command.
pub const APPEND_EVENTS_MAX: usize = 100;
/// Dispatches that one commit may add; what is left goes on in the next commit.
pub const COMMIT_DISPATCHES_MAX: usize = 100;
/// Encoded bytes at which a commit takes no further command.
pub const COMMIT_BYTES_SOFT_MAX: usize = 200 * 1024;
/// Encoded bytes of one commit; leaves room for keys below DynamoDB's 400 KiB an item.
pub const COMMIT_BYTES_MAX: usize = 380 * 1024;
/// Encoded bytes of the events of one commit; the rest is for what is around them.
pub const COMMIT_EVENT_BYTES_MAX: usize = 370 * 1024;
/// Nodes of a plan.
pub const PLAN_NODES_MAX: usize = 10_000;
/// Edges of a plan.
pub const PLAN_EDGES_MAX: usize = 100_000;
/// Encoded bytes up to which a plan travels in the start event instead of chunks.
pub const PLAN_INLINE_BYTES_MAX: usize = 1_024;
/// Encoded, uncompressed bytes of a plan.
pub const PLAN_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Bytes of one chunk item.
pub const CHUNK_BYTES_MAX: usize = 350 * 1024;
/// Milliseconds since 1970 above which a time is taken for a mistake (year 3000).
pub const TIME_MS_MAX: u64 = 32_503_680_000_000;
/// Milliseconds of any duration that a caller gives (ten years).
pub const DURATION_MS_MAX: u64 = 10 * 365 * 24 * 3_600_000;
/// Attempts of one node that a retry policy may ask for.
pub const ATTEMPTS_MAX: u32 = 1_000;
/// Lifetime attempts of a driven workflow, and the least of a planned one.
pub const LIFETIME_ATTEMPTS_DEFAULT: u64 = 1_000;
/// Live named timers of one workflow.
pub const TIMERS_MAX: usize = 10_000;
/// Signals of one workflow that wait for somebody to take them.
pub const SIGNALS_BUFFERED_MAX: usize = 10_000;
/// Search attributes of one workflow.
pub const ATTRIBUTES_MAX: usize = 32;
/// Bytes of the name of a search attribute.
pub const ATTRIBUTE_NAME_BYTES_MAX: usize = 64;
/// Bytes of the text of a search attribute.
pub const ATTRIBUTE_BYTES_MAX: usize = 256;
/// Bytes of names and values of all search attributes of one workflow; a number counts 8.
pub const LABELS_BYTES_MAX: usize = 2_048;
/// Bytes of a display name.
pub const DISPLAY_NAME_BYTES_MAX: usize = 256;
/// Command ids that the state remembers.
pub const COMMANDS_REMEMBERED: usize = 512;
/// Events that a sequence conflict brings along.
pub const CONFLICT_EVENTS_MAX: usize = 100;
/// Bytes of those events as JSON; the answer must fit a message.
pub const CONFLICT_BYTES_MAX: usize = 200 * 1024;
/// How long a command waits for `after_seq`, in milliseconds.
pub const AFTER_SEQ_WAIT_MS: u64 = 60_000;
/// First look at a dispatch without a sign of life, in milliseconds.
pub const LOOK_FIRST_MS: u64 = 15 * 60_000;
/// Longest interval between looks, in milliseconds.
pub const LOOK_MS_MAX: u64 = 12 * 3_600_000;
/// Start-to-close time-out where none is given, in milliseconds.
pub const START_TO_CLOSE_DEFAULT_MS: u64 = 24 * 3_600_000;
/// The longest delay that SQS takes for one message, in milliseconds (AWS quota).
pub const SQS_DELAY_MS_MAX: u64 = 900_000;
/// Entries of one SQS batch (AWS quota).
pub const SQS_BATCH_ENTRIES_MAX: usize = 10;
/// Bytes of one SQS batch, bodies and attributes (AWS quota since 2025).
pub const SQS_BATCH_BYTES_MAX: usize = 1_048_576;
/// Bytes of a dispatch above which its payload is claimed, not carried.
pub const DISPATCH_BYTES_MAX: usize = 200 * 1024;
/// An id that is never started is gone after this, in milliseconds (15 days).
pub const UNBORN_MS_MAX: u64 = 15 * 24 * 3_600_000;
/// Age of the last confirmation above which a cached state is refreshed first.
pub const CACHE_FRESH_MS: u64 = 2_000;
/// Age above which a cached state is never used for a put.
pub const CACHE_MS_MAX: u64 = 15 * 60_000;
/// Milliseconds from a deletion to the removal of the items: four times as long as
/// a state may be brought up to date or put upon.
pub const REMOVE_AFTER_MS: u64 = 4 * CACHE_MS_MAX;
/// Milliseconds for which the card of a deleted workflow stays after that.
pub const TOMBSTONE_MS: u64 = 30 * 24 * 3_600_000;
/// Longest retention, days.
pub const RETENTION_DAYS_MAX: u64 = 3_650;
/// Distance between our clock and DynamoDB's above which nothing is committed.
pub const CLOCK_SKEW_MS_MAX: u64 = 60_000;
