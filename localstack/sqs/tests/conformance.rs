//! The conformance list: what SQS does, as tests of the engine.
//!
//! What it is: one test for each behaviour that Everlog relies on, grouped by
//! subject. It promises no real sleeps: time is paused and turned by hand or
//! by tokio. It deliberately asserts answers and later receives, never inner
//! state. Start with `setup.rs` for the vocabulary.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "conformance/batches.rs"]
mod batches;
#[path = "conformance/contents.rs"]
mod contents;
#[path = "conformance/dead_letters.rs"]
mod dead_letters;
#[path = "conformance/deduplication.rs"]
mod deduplication;
#[path = "conformance/delays.rs"]
mod delays;
#[path = "conformance/groups.rs"]
mod groups;
#[path = "conformance/handles.rs"]
mod handles;
#[path = "conformance/in_flight.rs"]
mod in_flight;
#[path = "conformance/long_polls.rs"]
mod long_polls;
#[path = "conformance/protocol.rs"]
mod protocol;
#[path = "conformance/queues.rs"]
mod queues;
#[path = "conformance/refusals.rs"]
mod refusals;
#[path = "conformance/retention.rs"]
mod retention;
#[path = "conformance/scale.rs"]
mod scale;
#[path = "conformance/setup.rs"]
mod setup;
#[path = "conformance/visibility.rs"]
mod visibility;
