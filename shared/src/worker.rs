//! Workers in Rust: take dispatches from a task queue, run a handler, say how
//! it ended. Resident, or as a Lambda function.
//!
//! One handler serves both: an async function from a [`Task`] and a
//! [`Context`] to an [`Output`] or a [`Failure`].
//!
//! ```
//! use everlog::worker::{Context, Failure, Output, Task};
//!
//! async fn charge(task: Task, context: Context) -> Result<Output, Failure> {
//!     let cents: u64 = task.input()?;
//!     // The key makes a second performance harmless: it never changes.
//!     let key = context.idempotency_key().to_string();
//!     tokio::select! {
//!         receipt = pay(cents, key) => Output::json(&receipt?),
//!         _ = context.cancelled() => Err(Failure::Cancelled),
//!     }
//! }
//!
//! async fn pay(cents: u64, key: String) -> Result<String, Failure> {
//!     if cents == 0 {
//!         return Err(Failure::new("nothing-to-pay", "0 cents"));
//!     }
//!     Ok(key)
//! }
//! ```
//!
//! ```text
//!  task queue ──▶ receipt, if asked ──▶ handler ──▶ settle queue ──▶ delete
//!                     │ refused            │ ▲ heartbeats
//!                     ▼                    │ ▼
//!                   delete             the function `settle`
//! ```
//!
//! It promises:
//! - a dispatch that asks for a receipt does not begin before the fleet said
//!   *proceed*; one that is refused is dropped without running;
//! - a message is deleted only once the queue `settle` has accepted its
//!   outcome, so what dies in between is performed again;
//! - a handler that panics ends its own attempt, as failed of kind `panicked`;
//! - when time is short, on Lambda or after a stop signal, what has no receipt
//!   is given back to its queue. What has one can't be taken up by another
//!   worker, so it ends as failed of kind `out-of-time`, and the task's retry
//!   policy decides. It is never `lost`: that costs no retry, and a task that
//!   is too long would come again for ever.
//!
//! It deliberately never promises that work is performed once: it is performed
//! at least once and recorded once. Use [`Context::idempotency_key`] towards
//! the world. It also keeps nothing on disk and knows no plans.
//!
//! Trouble is waited out: a receipt, a heartbeat or a settle without an answer
//! is repeated with jitter, and a message that can't be served now becomes
//! visible again.
//!
//! [`resident`](Worker::serve) and [`lambda`](Worker::invoke) are the two ways
//! in, `attempt` is the heart, `voice` what is said to the fleet.

mod attempt;
mod claim;
mod deadline;
mod lambda;
mod queue;
mod resident;
mod task;
mod underway;
mod voice;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::client::Client;
use crate::config::SETTLE;
use crate::id::{Kind, OwnerId};
use crate::journal::Journal;
use crate::relay::Relay;
use crate::time::Clock;

pub use attempt::Fate;
pub use deadline::Deadline;
pub use lambda::EventError;
pub use queue::{TaskQueue, configure};
pub use task::{Context, Failure, Interrupt, Output, Task};
pub use voice::command;

use underway::Underway;

/// Without a receipt a worker is silent this long, and between two signs of
/// life of a task without `heartbeat_ms`.
pub const SILENCE: Duration = Duration::from_secs(20);
/// How long a cancelled handler may still take.
const CANCEL_GRACE: Duration = Duration::from_secs(5);
/// Time before a deadline that is kept for saying how things stand.
const RESERVE: Duration = Duration::from_secs(3);
/// How long a settle is repeated before the message is left for later.
const SETTLE_PATIENCE: Duration = Duration::from_secs(600);

type Answer = Pin<Box<dyn Future<Output = Result<Output, Failure>> + Send>>;
type Handler = dyn Fn(Task, Context) -> Answer + Send + Sync;

/// A worker: a handler, and its ways to the fleet. Clones share what they are at.
#[derive(Clone)]
pub struct Worker {
    name: OwnerId,
    handler: Arc<Handler>,
    client: Client,
    relay: Relay,
    journal: Option<Journal>,
    clock: Clock,
    receipts: Receipts,
    settle_by_call: bool,
    cancel_grace: Duration,
    reserve: Duration,
    underway: Underway,
}

/// Which dispatches get a receipt before they run.
#[derive(Clone)]
enum Receipts {
    /// Those of tasks with a time-out.
    Asked,
    /// Those too of types that may run longer than [`SILENCE`].
    Long(Arc<dyn Fn(&Kind) -> bool + Send + Sync>),
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The relay of a worker has no queue `settle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a worker needs the URL of the queue `settle`")]
pub struct NoSettleQueue;

impl Worker {
    /// A worker named `name` in receipts; see [`unique_name`]. `client` carries
    /// receipts and heartbeats, `relay` outcomes, to its queue `settle`.
    ///
    /// The handler must not block its thread: heartbeats and other tasks share
    /// it. Use `tokio::task::spawn_blocking` for that.
    ///
    /// # Errors
    /// [`NoSettleQueue`].
    pub fn new<H, F>(
        name: OwnerId,
        client: Client,
        relay: Relay,
        handler: H,
    ) -> Result<Self, NoSettleQueue>
    where
        H: Fn(Task, Context) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Output, Failure>> + Send + 'static,
    {
        relay.queues().url(SETTLE).ok_or(NoSettleQueue)?;
        let handler = move |task, context| -> Answer { Box::pin(handler(task, context)) };
        Ok(Self {
            name,
            handler: Arc::new(handler),
            client,
            relay,
            journal: None,
            clock: Clock::System,
            receipts: Receipts::Asked,
            settle_by_call: false,
            cancel_grace: CANCEL_GRACE,
            reserve: RESERVE,
            underway: Underway::default(),
        })
    }

    /// With the right to read the table, inputs too large for a message are
    /// read from the log: a load of the workflow for each such dispatch.
    /// Without it such a dispatch fails, as kind `not-carried`.
    #[must_use]
    pub fn with_journal(self, journal: Journal) -> Self {
        Self { journal: Some(journal), ..self }
    }

    /// The clock by which Lambda's deadlines are read; the system's by default.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Types that may run longer than 20 seconds get a receipt before they run.
    /// Without that they get one once they have run that long, and until then
    /// a second worker may have begun as well.
    #[must_use]
    pub fn with_long_types(self, is_long: impl Fn(&Kind) -> bool + Send + Sync + 'static) -> Self {
        Self { receipts: Receipts::Long(Arc::new(is_long)), ..self }
    }

    /// Attempts with a receipt are settled by a direct call, and through the
    /// queue only if there is no answer. For queues that die with the process.
    #[must_use]
    pub fn with_settle_by_call(self) -> Self {
        Self { settle_by_call: true, ..self }
    }

    /// How long a handler that was cancelled may still take to end by itself;
    /// 5 seconds by default. Then it is dropped.
    #[must_use]
    pub fn with_cancel_grace(self, cancel_grace: Duration) -> Self {
        Self { cancel_grace, ..self }
    }

    /// Time before Lambda's deadline that handlers don't get; 3 seconds by
    /// default, and never more than half of what there is.
    #[must_use]
    pub fn with_reserve(self, reserve: Duration) -> Self {
        Self { reserve, ..self }
    }
}

/// A worker's name: `prefix`, shortened and cleaned where ids don't allow it,
/// and eight random digits. Take one for each process, not one for each task:
/// a receipt that comes again from the same process is no second worker's.
#[must_use]
pub fn unique_name(prefix: &str) -> OwnerId {
    let chance: u32 = rand::random();
    let name = format!("{}-{chance:08x}", task::cleaned(prefix, 200));
    match OwnerId::new(name) {
        Ok(name) => name,
        Err(impossible) => unreachable!("cleaned text is an id: {impossible}"),
    }
}
