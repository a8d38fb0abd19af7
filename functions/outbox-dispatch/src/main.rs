//! The function `outbox-dispatch`: hands over what the others could not.
//!
//! Invoked by the standard queue `outbox` with `ReportBatchItemFailures`. Each
//! message names a commit; what nobody has taken up of its dispatches is sent.
//!
//! It promises that a message is done only when every untaken dispatch of its
//! commit was accepted by its queue. A dispatch that was sent before goes out
//! again under the same key: workers use it as idempotency key.
//!
//! It deliberately writes nothing to the log, and takes no commands: a direct
//! invocation is refused.
//!
//! It fails message by message: a commit whose log can't be read, or whose
//! queues accept nothing, is made visible again soon and reported in
//! `batchItemFailures`; a message that can't be read goes to the dead-letter
//! queue with the reason.
//!
//! Next: `everlog::fleet::after`, and `tests/runtime.rs`, which runs the binary.

use everlog::fleet::Function;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), everlog_runtime::Error> {
    everlog_runtime::run(Function::OutboxDispatch).await
}
