//! One list of tests for every SQS that Everlog may run on.
//!
//! **What it is.** What a fleet asks of its queues, as seen through the SDK.
//! The list runs, test by test, on the embedded queues, on LocalStack, and on
//! any server that `EVERLOG_SQS_ENDPOINT` names (taken for ministack).
//!
//! **What it promises.** Nothing is skipped: an engine that does not start fails
//! its tests and says what is missing. Where engines differ, the test declares
//! what AWS does and what which engine does instead ([`Fact`]), and fails when
//! an engine stops doing so. `docs/engines-sqs.md` is written from these
//! declarations ([`page`]).
//!
//! **What it deliberately does not do.** It never talks to AWS: what AWS does
//! stands here as it is documented. It measures no speed. What can't be seen in
//! a few seconds of real time (five minutes of deduplication, retention, the
//! limits of messages in flight) is in the tests of `everlog-sqs` alone, where
//! time is turned by hand.
//!
//! **How it fails.** A test fails with all facts that did not hold.
//!
//! **Where to go next.** `list.rs` has the tests, `place.rs` where they run,
//! [`page`] the page.

mod bench;
mod case;
mod fact;
mod list;
pub mod page;
mod place;
mod queue;
mod server;

use std::process::ExitCode;

pub use bench::Bench;
pub use case::Case;
pub use fact::{Engine, Except, Fact, Seen};
use libtest_mimic::{Arguments, Trial};
pub use list::list;

/// Runs the list on every place that is there, as a test program.
#[must_use]
pub fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Most of them wait most of the time.
    arguments.test_threads.get_or_insert(12);
    let trials: Vec<Trial> = place::places()
        .into_iter()
        .flat_map(|place| list().into_iter().map(move |case| case::trial(&place, case)))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
