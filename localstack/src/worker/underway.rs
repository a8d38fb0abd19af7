//! The dispatches that the workers of this process are at, or were a moment ago.
//!
//! A dispatch may come twice. Across processes the receipt tells; within one
//! this does, without a write. It is a courtesy: after a minute, or in another
//! process, the same attempt may be performed again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use everlog::id::DispatchKey;
use tokio::time::Instant;

/// How long a finished attempt is remembered: longer than its settle needs.
const REMEMBER: Duration = Duration::from_secs(60);
/// Finished attempts that are remembered at most.
const REMEMBERED_MAX: usize = 10_000;

/// Attempts by key; finished ones with when.
#[derive(Debug, Clone, Default)]
pub struct Underway(Arc<Mutex<HashMap<DispatchKey, Option<Instant>>>>);

impl Underway {
    /// Whether nobody here is at this attempt, or was a moment ago.
    pub(super) fn begin(&self, key: DispatchKey) -> bool {
        let Ok(mut attempts) = self.0.lock() else { return true };
        match attempts.get(&key) {
            Some(None) => return false,
            Some(Some(finished)) if finished.elapsed() < REMEMBER => return false,
            _ => {}
        }
        if attempts.len() >= REMEMBERED_MAX {
            attempts.retain(|_, at| at.is_none_or(|finished| finished.elapsed() < REMEMBER));
        }
        attempts.insert(key, None);
        true
    }

    /// It ended, or did not begin after all.
    pub(super) fn end(&self, key: DispatchKey, done: bool) {
        let Ok(mut attempts) = self.0.lock() else { return };
        match done {
            true => attempts.insert(key, Some(Instant::now())),
            false => attempts.remove(&key),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_attempt_begins_once_and_again_only_if_it_did_not_begin_or_is_long_over() {
        let underway = Underway::default();
        let key = DispatchKey([1; 16]);
        assert!(underway.begin(key));
        assert!(!underway.begin(key));
        underway.end(key, false);
        assert!(underway.begin(key));
        underway.end(key, true);
        assert!(!underway.begin(key));
        tokio::time::advance(REMEMBER).await;
        assert!(underway.begin(key));
    }
}
