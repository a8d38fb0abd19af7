//! The worker as a process, on an embedded fleet.
//!
//! One task runs at a time, so that of the doubled dispatch the second copy
//! comes when the first is done. Beside a running one it would be left hidden
//! for the minute that its queue hides it.

use std::process::Command;

use everlog_worker_tests::carry;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rust_worker_carries_an_order_to_its_end() {
    let mut worker = Command::new(env!("CARGO_BIN_EXE_everlog-worker-example"));
    worker.env("EVERLOG_CONCURRENCY", "1");
    carry(worker).await;
}
