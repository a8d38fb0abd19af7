//! When a worker must be done: known from the beginning on Lambda, known only
//! once somebody stops it where it is resident.
//!
//! Handlers end at the deadline; saying how they ended has the reserve after it.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// When handlers must be done. Clones follow the same deadline.
#[derive(Debug, Clone)]
pub struct Deadline {
    at: watch::Receiver<Option<Instant>>,
    reserve: Duration,
    /// Half of what there was at first, if that was known.
    half: Option<Duration>,
}

impl Deadline {
    /// None, for ever.
    #[must_use]
    pub fn never() -> Self {
        Self { at: watch::channel(None).1, reserve: Duration::ZERO, half: None }
    }

    /// At a given time; what must be said afterwards has `reserve`.
    pub(super) fn at(at: Instant, reserve: Duration) -> Self {
        let half = at.saturating_duration_since(Instant::now()) / 2;
        Self { at: watch::channel(Some(at)).1, reserve, half: Some(half) }
    }

    /// None so far; the sender sets it.
    pub(super) fn open(reserve: Duration) -> (watch::Sender<Option<Instant>>, Self) {
        let (set, at) = watch::channel(None);
        (set, Self { at, reserve, half: None })
    }

    /// The time, if it is known.
    pub(super) fn time(&self) -> Option<Instant> {
        *self.at.borrow()
    }

    /// Waits until the last word must be said: the deadline and its reserve
    /// are over.
    pub(super) async fn last_word(&self) {
        self.reached().await;
        tokio::time::sleep(self.reserve).await;
    }

    /// Waits until it is known.
    pub(super) async fn known(&self) {
        let mut at = self.at.clone();
        if at.wait_for(Option::is_some).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether it is over.
    pub(super) fn is_over(&self) -> bool {
        self.time().is_some_and(|at| at <= Instant::now())
    }

    /// Half of the time that an invocation has; `None` where nothing bounds it.
    pub(super) fn half(&self) -> Option<Duration> {
        self.half
    }

    /// Whether less than half of an invocation is left.
    pub(super) fn is_late(&self) -> bool {
        let left = self.time().map(|at| at.saturating_duration_since(Instant::now()));
        self.half.zip(left).is_some_and(|(half, left)| left < half)
    }

    /// Waits for it.
    pub(super) async fn reached(&self) {
        let mut at = self.at.clone();
        loop {
            let now = *at.borrow_and_update();
            match now {
                Some(time) => tokio::select! {
                    () = tokio::time::sleep_until(time) => return,
                    Ok(()) = at.changed() => {}
                },
                None => {
                    if at.changed().await.is_err() {
                        std::future::pending::<()>().await;
                    }
                }
            }
        }
    }
}
