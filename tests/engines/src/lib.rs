//! One list of tests for every DynamoDB that Everlog may run on.
//!
//! **What it is.** What the journal asks of a DynamoDB, as a list that runs,
//! test by test, on the embedded engine and on those of other people.
//!
//! **What it promises.** Nothing is skipped: an engine that does not start fails
//! its tests and says what is missing. Where engines differ, the test declares
//! what AWS does and what which engine does instead ([`Fact`]), and fails when
//! an engine stops doing so. `docs/engines.md` is written from these
//! declarations.
//!
//! **What it deliberately does not do.** It never talks to AWS: what AWS does
//! stands here as it is documented. It measures no speed.
//!
//! **How it fails.** A case fails with the facts that did not hold, all of them.
//!
//! **Where to go next.** [`journal`] holds the list, [`paper`] the page. [`place`],
//! [`fact`] and [`mod@case`] say where a list runs and what a test of it is: the list
//! of queues in `tests/queues` stands on them too.

pub mod case;
pub mod fact;
pub mod journal;
pub mod paper;
pub mod place;
mod proxy;
mod script;

pub use case::Case;
pub use fact::{Engine, Except, Fact, Seen};
