//! One list of tests for every SQS that Everlog may run on.
//!
//! **What it is.** What a fleet asks of its queues, as seen through the SDK.
//! The list runs, test by test, on the embedded queues, on LocalStack, and on
//! any server that `EVERLOG_SQS_ENDPOINT` names (taken for ministack).
//!
//! **What it promises.** Nothing is skipped: an engine that does not start fails
//! its tests and says what is missing. Where engines differ, the test declares
//! what AWS does and what which engine does instead (`Fact`), and fails when
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
//! **Where to go next.** `list.rs` has the tests, [`page`] the page. Where a list
//! runs, and what a test of it is, says `tests/engines`.

mod bench;
mod list;
pub mod page;
mod queue;

use std::process::ExitCode;

use everlog_engine_tests::case::trial;
use everlog_engine_tests::fact::{Engine, Seen};
use everlog_engine_tests::place::Place;
use libtest_mimic::{Arguments, Trial};

pub use bench::Bench;
pub use list::list;

/// One test of the list, for any engine.
pub type Case = everlog_engine_tests::Case<Bench>;

/// Every place. `EVERLOG_SQS_ENDPOINT` names a server that runs already.
fn places() -> Vec<Place> {
    let mut places = vec![Place::embedded()];
    if cfg!(feature = "engines") {
        places.push(Place::loopback());
        places.push(Place::script("localstack", Engine::LocalStack, "localstack.sh"));
    }
    places.extend(Place::given("EVERLOG_SQS_ENDPOINT"));
    places
}

/// Runs the list on every place, as a test program.
#[must_use]
pub fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Most of them wait most of the time.
    arguments.test_threads.get_or_insert(12);
    // Servers run until these are gone.
    let all = places();
    let mut trials: Vec<Trial> = Vec::new();
    for place in &all {
        trials.extend(list().into_iter().map(|case| {
            let place = place.clone();
            trial(place.name, case, move |_| {
                let (runtime, endpoint, clock) = place.open()?;
                let seen = Seen::on(place.engine);
                let bench = Bench::new(&endpoint, clock, seen.clone());
                Ok((runtime, bench, seen))
            })
        }));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
