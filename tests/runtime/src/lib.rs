//! The five functions as Lambda runs them: their real binaries, on loopback.
//!
//! What it is: a server of the Lambda Runtime API ([`Function`] starts a binary
//! as child process against it), an endpoint that speaks DynamoDB and SQS
//! ([`Stack`]), a collector of traces ([`Collector`]), and recorded events
//! ([`event`], [`batch`]).
//!
//! It promises that a test sees what AWS would see (the answers of the process)
//! and what users would see (the table and the queues), and that no process
//! outlives its test. Requests can be made to fail, by [`Stack::outage`].
//!
//! It deliberately has no event source mapping of its own: each test makes its
//! batch, so that it can say what is in it. It measures nothing but the time
//! from exec to the first poll.
//!
//! It fails loudly: a function that ends or is silent for a minute fails the
//! test, and what the function logged is printed with it.
//!
//! ```text
//!   test ──invoke──▶ Runtime API ◀──next, response, error── binary
//!     │                                                        │
//!     └──set up, look──▶ endpoint: DynamoDB and SQS ◀──────────┘
//! ```
//!
//! Next: the tests, `functions/*/tests`, and `tests/cold_start.rs` here.

mod collector;
mod dynamodb;
mod endpoint;
mod events;
mod function;
mod runtime_api;
mod stack;
mod write;

pub use collector::{Collector, Span};
pub use events::{Record, batch, event};
pub use function::Function;
pub use runtime_api::Outcome;
pub use stack::Stack;
pub use write::{command, plan_of, with};
