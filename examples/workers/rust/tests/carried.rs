//! The worker as a process, on an embedded fleet.

use std::process::Command;

use everlog_worker_tests::carry;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rust_worker_carries_an_order_to_its_end() {
    carry(Command::new(env!("CARGO_BIN_EXE_everlog-worker-example"))).await;
}
