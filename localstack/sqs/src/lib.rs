//! Amazon SQS in process and in memory.
//!
//! **What it is.** [`Engine`] holds queues. Programs call it directly
//! ([`Engine::send`], [`Engine::receive`] …) or in the AWS JSON protocol
//! ([`Engine::call`]), which is what an in-process HTTP client of the AWS SDK
//! and a loopback server put in front of it.
//!
//! **What it promises.** The semantics that AWS documents, and where AWS was
//! observed to differ from its documents, what was observed (the exceptions
//! are listed in this crate's `README.md`). Visibility, receive counts,
//! dead-letter queues, delays, retention, FIFO order, group locks and
//! deduplication, batches that fail entry by entry, long polls. Time is
//! tokio's: under paused time a test waits for nothing. A receive costs
//! O(log n) in the messages of the queue, whatever a single group holds.
//!
//! **What it deliberately does not do.** It stores nothing: a process that
//! ends loses its queues. It delivers every message exactly when it should,
//! while AWS may deliver twice, out of order or late: such faults belong in a
//! fault-injecting client in front. It has no access control, no encryption,
//! no throttles, no tags, no message-move tasks. It runs no task and no
//! thread: expiry happens when the next call looks.
//!
//! **How it fails.** Refusals are [`SqsError`] with AWS's codes and change
//! nothing. A panic inside would leave queues half changed, so after one
//! every call panics.
//!
//! **Where to go next.** `engine.rs` (what a call does), `queue.rs` (what a
//! queue holds), `fifo.rs` (groups), `wire.rs` (the protocol), and
//! `tests/conformance.rs`, the list of all behaviours.
//!
//! ```text
//!  call ──► wire ──┐
//!                  ▼
//!  native API ─► engine ──► admission (checks, digests; outside the lock)
//!                  │
//!                  ▼ one lock, never held across an await
//!                queue ──► standard: by the time of visibility
//!                      └─► fifo: groups, window, deduplication
//! ```

mod admission;
mod attributes;
mod clock;
mod config;
mod digest;
mod engine;
mod error;
mod fifo;
mod id;
pub mod limits;
mod message;
mod queue;
mod redrive;
mod wire;

pub use config::Config;
pub use engine::Engine;
pub use error::{ErrorKind, SqsError};
pub use message::{
    AttributeValue, BatchOutcome, Entry, MessageAttribute, MessageAttributes, OutgoingMessage,
    Receive, ReceivedMessage, Sent, VisibilityChange,
};
pub use wire::Answer;
