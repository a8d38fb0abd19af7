//! The examples in Python and TypeScript, installed, checked and run: each
//! carries an order to its end on an embedded fleet.
//!
//! Needs python3, node and npm, and installs from their registries. The
//! example in Rust has the same test beside it.

use std::path::Path;

use everlog_worker_tests::{carry, toolchain};

fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_worker_carries_an_order_to_its_end() {
    carry(toolchain::python(folder())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_typescript_worker_carries_an_order_to_its_end() {
    carry(toolchain::typescript(folder())).await;
}
