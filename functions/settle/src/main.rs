//! The function `settle`: takes evidence of workers, and goes on.
//!
//! Invoked by the FIFO queue `settle`, whose groups are workflows, with
//! `ReportBatchItemFailures`; or directly with one command (`receipt`,
//! `heartbeat`, `settle`), which it answers, for workers that may only start
//! once their receipt is accepted.
//!
//! It promises that an attempt is settled once, that a repeat of the same
//! outcome is no news and another outcome a conflict, and that in a planned
//! workflow what became ready is prepared in the same commit and dispatched
//! before the message is done.
//!
//! It deliberately believes no worker whose dispatch key is not of the attempt
//! it speaks of.
//!
//! It fails message by message. Trouble (DynamoDB or SQS out of reach, throttled,
//! contended) gives a message back: it is made visible again soon, and reported
//! in `batchItemFailures` with the rest of its FIFO group. A panic fails the
//! messages of its workflow alone. What can't be read is answered, moved to the
//! dead-letter queue with the reason, and done.
//!
//! Next: `everlog::decide`, and `tests/runtime.rs`, which runs the binary.

use everlog::fleet::Function;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), everlog_runtime::Error> {
    everlog_runtime::run(Function::Settle).await
}
