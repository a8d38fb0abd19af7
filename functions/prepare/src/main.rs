//! The function `prepare`: reserves attempts of driven workflows.
//!
//! Invoked by the FIFO queue `prepare`, whose groups are workflows, with
//! `ReportBatchItemFailures`; or directly with one `prepare` command, which it
//! answers with the dispatch key.
//!
//! It promises that an attempt is reserved at most once however often it is
//! asked for, that all admission checks and the reservation are one commit, and
//! that the message is done only when the task queue has accepted the dispatch.
//!
//! It deliberately decides nothing about what to run next: that is the user's
//! engine (or the plan, in `settle`).
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
    everlog_runtime::run(Function::Prepare).await
}
