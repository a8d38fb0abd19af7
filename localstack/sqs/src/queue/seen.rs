//! Deduplication of sends to a FIFO queue.
//!
//! What it is: the ids that were sent in the last five minutes, and what was
//! answered. It promises that a second send within five minutes of the first
//! finds it, whether its message still exists or not. A duplicate deliberately
//! does not prolong the memory. It can't fail. Next: `queue/accept.rs`.

use crate::limits;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A deduplication id, within its group if the queue's scope says so.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SeenKey {
    pub group_id: Option<Arc<str>>,
    pub deduplication_id: Arc<str>,
}

/// The message that was accepted first.
#[derive(Debug, Clone)]
pub(crate) struct Original {
    pub message_id: String,
    pub place: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Seen {
    originals: HashMap<SeenKey, Original>,
    by_age: VecDeque<(u64, SeenKey)>,
}

impl Seen {
    pub(crate) fn find(&mut self, key: &SeenKey, now_ms: u64) -> Option<&Original> {
        while let Some((sent_ms, oldest)) = self.by_age.front() {
            if sent_ms + limits::DEDUPLICATION_MS > now_ms {
                break;
            }
            self.originals.remove(oldest);
            self.by_age.pop_front();
        }
        self.originals.get(key)
    }

    pub(crate) fn remember(&mut self, key: SeenKey, original: Original, now_ms: u64) {
        self.by_age.push_back((now_ms, key.clone()));
        self.originals.insert(key, original);
    }
}
