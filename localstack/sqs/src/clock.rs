//! The engine's clock.
//!
//! What it is: wall time derived from the tokio clock of the runtime in which
//! the engine was made. It promises that a runtime with paused time turns the
//! engine's time too, and that a sleep until a given millisecond never wakes
//! before it. It deliberately never reads the system clock: the caller says
//! what time it is once, in [`crate::Config::epoch_ms`]. It can't fail. Next:
//! [`crate::Engine::receive`], the only call that sleeps.

use std::time::Duration;
use tokio::time::Instant;

/// Milliseconds since the Unix epoch, counted from a fixed start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    epoch_ms: u64,
}

impl Clock {
    pub(crate) fn starting_at(epoch_ms: u64) -> Self {
        Self { start: Instant::now(), epoch_ms }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        let elapsed_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.epoch_ms.saturating_add(elapsed_ms)
    }

    pub(crate) async fn sleep_until_ms(&self, at_ms: u64) {
        let offset = Duration::from_millis(at_ms.saturating_sub(self.epoch_ms));
        tokio::time::sleep_until(self.start + offset).await;
    }
}
