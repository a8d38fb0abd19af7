//! The event store as a library, for authors of workflow engines: histories on
//! DynamoDB, without the functions and beside them.
//!
//! [`open`] gives two halves. A [`Reader`] reads; it can be handed to anybody,
//! since holding it is not enough to write:
//!
//! ```compile_fail
//! # async fn f(reader: everlog::store::Reader, id: everlog::id::CommandId,
//! #     of: everlog::store::Address, append: everlog::command::Append) {
//! reader.append(id, &of, append).await; // no such method: only a `Recorder` writes
//! # }
//! ```
//!
//! ```
//! # async fn f(recorder: everlog::store::Recorder, id: everlog::id::CommandId,
//! #     of: everlog::store::Address, append: everlog::command::Append) {
//! recorder.append(id, &of, append).await;
//! # }
//! ```
//!
//! A [`Recorder`] writes, and there is one to each store that is opened. At run
//! time the log's own condition decides, however many processes have one: an
//! append is stored if the head is the expected one, and the owner, if the
//! workflow has one, is the caller.
//!
//! It promises that an append is stored whole or not at all; that a loser of a
//! race learns the true head and what came in between; and that an append whose
//! answer was lost is settled by reading, never proposed again at a newer head:
//! call it again under the same id.
//!
//! It deliberately owns nothing: no lease, no shard, no background task. The
//! functions of a fleet (or [`everlog functions`]) fire its timers and hand its
//! attempts over; without them both stand in the log and wait.
//!
//! It fails by [`WriteError`] and [`JournalError`](crate::journal::JournalError).
//!
//! [`everlog functions`]: https://docs.rs/everlog-local

mod read;
mod write;

use crate::client::Client;
use crate::fleet::Fleet;
use crate::id::{Namespace, WorkflowId};

pub use read::{ArmedTimer, Reader, Summary};
pub use write::{Recorded, Recorder, WriteError};

/// Which workflow: its present incarnation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// Its namespace.
    pub namespace: Namespace,
    /// The workflow.
    pub workflow: WorkflowId,
}

impl Address {
    /// Names a workflow of a namespace.
    #[must_use]
    pub fn new(namespace: Namespace, workflow: WorkflowId) -> Self {
        Self { namespace, workflow }
    }
}

/// Opens a store on a table: `fleet` is the way to it, an instance of the
/// functions that is in this process.
#[must_use]
pub fn open(fleet: Fleet) -> (Reader, Recorder) {
    (Reader::new(fleet.journal().clone()), Recorder::new(Client::here(fleet)))
}
