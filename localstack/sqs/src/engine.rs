//! All queues of an engine, behind one lock.
//!
//! What it is: the handle that callers clone, the state behind it, and the way
//! from a queue URL to a queue. It promises that each call sees and leaves all
//! queues consistent, a move to a dead-letter queue included, because there is
//! one lock, never held across an await. It deliberately has no lock per
//! queue: a call holds it for microseconds. It fails with
//! [`ErrorKind::InvalidAddress`] or [`ErrorKind::QueueDoesNotExist`]; what
//! else can go wrong stands with each call. Next: `engine/administration.rs`,
//! `engine/send.rs`, `engine/receive.rs`, `engine/acknowledge.rs`.

mod acknowledge;
mod administration;
mod batch;
mod receive;
mod send;

use crate::clock::Clock;
use crate::config::Config;
use crate::error::{ErrorKind, SqsError};
use crate::queue::{Counters, Queue};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The account of every queue.
const ACCOUNT: &str = "000000000000";

/// Queues in memory. Clones share them.
#[derive(Debug, Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    config: Config,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    queues: BTreeMap<String, Queue>,
    /// When queues that are gone were deleted.
    deleted: BTreeMap<String, u64>,
    counters: Counters,
}

impl Engine {
    /// An engine without queues.
    ///
    /// Make it inside the tokio runtime whose clock it is to follow: under
    /// paused time the engine's time is the runtime's.
    pub fn new(config: Config) -> Self {
        let clock = Clock::starting_at(config.epoch_ms);
        Self { shared: Arc::new(Shared { clock, config, state: Mutex::default() }) }
    }

    /// The engine's time, in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> u64 {
        self.shared.clock.now_ms()
    }

    fn config(&self) -> &Config {
        &self.shared.config
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().expect("a call panicked, so the queues can't be trusted")
    }

    fn arn_prefix(&self) -> String {
        format!("arn:aws:sqs:{}:{ACCOUNT}:", self.config().region)
    }

    fn url(&self, name: &str) -> String {
        format!("{}/{ACCOUNT}/{name}", self.config().base_url)
    }

    /// Acts on one queue, at one moment.
    fn on_queue<R>(
        &self,
        queue_url: &str,
        act: impl FnOnce(&mut Queue, &mut Counters, u64) -> Result<R, SqsError>,
    ) -> Result<R, SqsError> {
        let name = name_in(queue_url)?;
        let mut state = self.state();
        let now_ms = self.now_ms();
        let State { queues, counters, .. } = &mut *state;
        let queue = queues.get_mut(name).ok_or_else(no_such_queue)?;
        queue.attend(now_ms, |queue| act(queue, counters, now_ms))
    }
}

/// The queue's name in its URL: what follows the account. Scheme and host are not compared.
fn name_in(queue_url: &str) -> Result<&str, SqsError> {
    let path = queue_url.split_once("://").map_or(queue_url, |(_, rest)| rest);
    path.split_once('/')
        .and_then(|(_, path)| path.strip_prefix(ACCOUNT)?.strip_prefix('/'))
        .filter(|name| !name.is_empty() && !name.contains('/'))
        .ok_or_else(|| {
            ErrorKind::InvalidAddress
                .because(format!("The address {queue_url} is not valid for this endpoint."))
        })
}

fn no_such_queue() -> SqsError {
    ErrorKind::QueueDoesNotExist.because("The specified queue does not exist.")
}
