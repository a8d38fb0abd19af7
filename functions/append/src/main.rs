//! The function `append`: starts, steers and appends to workflows.
//!
//! Invoked by the FIFO queue `append`, whose groups are workflows, with
//! `ReportBatchItemFailures`; or directly with one command (`start`, `append`,
//! `claim`, `signal`, `pause`, `resume`, `cancel`), which it answers.
//!
//! It promises that a message is done only when its facts are in the log, its
//! dispatches are accepted by their queues and its answer is sent; and that the
//! commands of one workflow take effect in the order of their group.
//!
//! It deliberately takes no evidence of workers and reserves no attempts of its
//! own accord: those commands belong to `settle` and `prepare`, and are refused.
//!
//! It fails message by message. Trouble (DynamoDB or SQS out of reach, throttled,
//! contended) gives a message back: it is made visible again soon, and reported
//! in `batchItemFailures` with the rest of its FIFO group. A panic fails the
//! messages of its workflow alone. What can't be read is answered, moved to the
//! dead-letter queue with the reason, and done.
//!
//! Next: `everlog::fleet::batch`, and `tests/runtime.rs`, which runs the binary.

use everlog::fleet::Function;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), everlog_runtime::Error> {
    everlog_runtime::run(Function::Append).await
}
