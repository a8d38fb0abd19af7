//! The function `timer-sweep`: finds due alarms, and looks at workflows.
//!
//! Invoked once a minute by a schedule (an EventBridge rule or the EventBridge
//! Scheduler), which wakes every workflow whose alarm is due; and by the
//! standard queue `wake` with `ReportBatchItemFailures`, whose messages each
//! make it look at one workflow.
//!
//! It promises that what is due is done (timers fired, attempts timed out,
//! dispatches handed over again), that an alarm moves later only on the
//! strength of a commit of its own, and that a sweep only lists and sends, so
//! that looking is spread over as many instances as there are.
//!
//! It deliberately takes no commands: a direct invocation with one is refused.
//!
//! It fails message by message: a wake that can't be served is made visible
//! again soon and reported in `batchItemFailures`, a panicking one alone; one
//! that can't be read goes to the dead-letter queue with the reason. A sweep
//! that fails fails its invocation; the next run of the schedule does the same.
//!
//! Next: `everlog::fleet::look` and `sweep`, and `tests/runtime.rs`, which runs
//! the binary.

use everlog::fleet::Function;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), everlog_runtime::Error> {
    everlog_runtime::run(Function::TimerSweep).await
}
