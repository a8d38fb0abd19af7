//! The dispatches that a worker is at, or was a moment ago.
//!
//! A dispatch may come twice. Across processes the receipt tells; within one
//! this does, without a write. It is a courtesy: after five minutes, or in
//! another process, the same attempt may be performed again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::id::DispatchKey;

/// How long a finished attempt is remembered: longer than its settle needs, and
/// than a second copy stays hidden.
const REMEMBER: Duration = Duration::from_secs(300);
/// Finished attempts that are remembered at most: a few megabytes.
const REMEMBERED_MAX: usize = 50_000;

/// Attempts by key.
#[derive(Debug, Clone, Default)]
pub(super) struct Underway(Arc<Mutex<Attempts>>);

#[derive(Debug, Default)]
struct Attempts {
    /// Whether it finished.
    known: HashMap<DispatchKey, bool>,
    /// Finished ones, the oldest first.
    finished: VecDeque<(Instant, DispatchKey)>,
}

/// Whether an attempt may begin.
pub(super) enum Turn {
    /// Nobody here is at it.
    Ours(Ours),
    /// It is running here.
    Running,
    /// It ended here a moment ago.
    Finished,
}

/// An attempt that is running; forgotten when dropped, unless it finished.
pub(super) struct Ours {
    underway: Underway,
    key: DispatchKey,
    finished: bool,
}

impl Underway {
    /// Asks for an attempt.
    pub(super) fn begin(&self, key: DispatchKey) -> Turn {
        let ours = || Turn::Ours(Ours { underway: self.clone(), key, finished: false });
        let Ok(mut attempts) = self.0.lock() else { return ours() };
        attempts.forget();
        match attempts.known.get(&key) {
            Some(false) => return Turn::Running,
            Some(true) => return Turn::Finished,
            None => {}
        }
        attempts.known.insert(key, false);
        ours()
    }
}

impl Attempts {
    /// Forgets what finished long ago; each is looked at once.
    fn forget(&mut self) {
        while let Some(&(at, key)) = self.finished.front() {
            if at.elapsed() < REMEMBER && self.finished.len() <= REMEMBERED_MAX {
                return;
            }
            self.finished.pop_front();
            self.known.remove(&key);
        }
    }
}

impl Ours {
    /// It ended, and its message is done.
    pub(super) fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        let Ok(mut attempts) = self.underway.0.lock() else { return };
        match self.finished {
            true => {
                attempts.known.insert(self.key, true);
                attempts.finished.push_back((Instant::now(), self.key));
            }
            false => {
                attempts.known.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(underway: &Underway) -> Option<Ours> {
        match underway.begin(DispatchKey([1; 16])) {
            Turn::Ours(ours) => Some(ours),
            Turn::Running | Turn::Finished => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_begins_once_and_again_only_if_it_did_not_finish_or_is_long_over() {
        let underway = Underway::default();
        let first = ours(&underway).unwrap();
        assert!(matches!(underway.begin(DispatchKey([1; 16])), Turn::Running));
        drop(first);
        ours(&underway).unwrap().finish();
        assert!(matches!(underway.begin(DispatchKey([1; 16])), Turn::Finished));
        tokio::time::advance(REMEMBER).await;
        assert!(ours(&underway).is_some());
    }
}
