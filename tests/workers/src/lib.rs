//! The workers of `examples/workers` as a user starts them: processes with an
//! environment, on an embedded fleet and its loopback port.
//!
//! [`Embedded`] is the fleet, [`toolchain`] installs an example, [`Worker`] is
//! its process. It promises that a process ends with its test, and that what a
//! test sees is what the log holds. It deliberately looks into no worker: what
//! one does shows in the log and in the queues alone.
//!
//! It fails with what is missing on the machine, or with the log that did not
//! become what a test waits for.

mod embedded;
pub mod toolchain;
mod worker;

use std::path::{Path, PathBuf};

pub use embedded::Embedded;
pub use worker::Worker;

/// A path inside this repository.
#[must_use]
pub fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
