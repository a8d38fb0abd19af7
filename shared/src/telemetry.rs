//! What an invocation came to, in numbers; and the names of its spans.
//!
//! A [`Tally`] is handed to one invocation: the journal counts its puts, the
//! ways in count what they serve. Whatever is a different thing to do for a
//! person (committed, conflict, fenced, throttled, unknown) is never folded
//! together. [`emf`] writes the numbers as CloudWatch reads them, `trace`
//! carries traces from queue to queue. `docs/metrics.md` says what each means.
//!
//! It promises that each number is counted in the one place where the thing
//! happens, and that a fleet without a tally counts nothing and keeps nothing.
//!
//! It deliberately has no global registry: tests run many fleets in a process.
//! It prints nothing; the functions do, once an invocation.
//!
//! It can't fail.

pub mod emf;
pub(crate) mod trace;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub use trace::{TRACEPARENT, adopt};

/// What is counted, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Count {
    /// Commits that are in the log.
    Committed,
    /// Commands that were no news.
    Unchanged,
    /// Puts that lost to another writer's commit.
    Conflict,
    /// Answers of DynamoDB that it is too much.
    Throttled,
    /// Puts of a commit that went unanswered at least once.
    UnknownAtFirst,
    /// Puts of a commit that stayed unanswered.
    Unknown,
    /// Messages received more than once.
    Redelivered,
    /// Messages moved to the dead-letter queue.
    DeadLettered,
    /// Messages of a workflow whose log does not fold.
    Quarantined,
}

impl Count {
    /// All of them, in order.
    pub const ALL: [Self; 9] = [
        Self::Committed,
        Self::Unchanged,
        Self::Conflict,
        Self::Throttled,
        Self::UnknownAtFirst,
        Self::Unknown,
        Self::Redelivered,
        Self::DeadLettered,
        Self::Quarantined,
    ];

    /// The name of the metric.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Committed => "Committed",
            Self::Unchanged => "Unchanged",
            Self::Conflict => "Conflict",
            Self::Throttled => "Throttled",
            Self::UnknownAtFirst => "UnknownAtFirst",
            Self::Unknown => "Unknown",
            Self::Redelivered => "Redelivered",
            Self::DeadLettered => "DeadLettered",
            Self::Quarantined => "Quarantined",
        }
    }
}

/// The numbers of one invocation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Numbers {
    counts: [u64; Count::ALL.len()],
    /// Refusals by their kind.
    pub rejected: BTreeMap<&'static str, u64>,
    /// What was given back, by its reason.
    pub given_back: BTreeMap<&'static str, u64>,
    /// From the arrival of each command to its answer, milliseconds.
    pub command_ms: Vec<u64>,
    /// The longest that anything served here had been waiting, milliseconds.
    pub oldest_ms: Option<u64>,
    /// What the sweep found, if one ran.
    pub swept: Option<Swept>,
    /// Write units that DynamoDB charged.
    pub write_units: f64,
    /// Read units that DynamoDB charged.
    pub read_units: f64,
}

/// What a sweep found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// How overdue the oldest alarm was, milliseconds; 0 where none was due.
    pub lag_ms: u64,
    /// Workflows that it woke.
    pub woken: u64,
}

impl Numbers {
    /// How often this happened.
    #[must_use]
    pub fn of(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }
}

/// Counts for one invocation; clones count together. The default counts nothing.
#[derive(Debug, Clone, Default)]
pub struct Tally(Option<Arc<Mutex<Numbers>>>);

impl Tally {
    /// A tally that counts, from nought.
    #[must_use]
    pub fn counting() -> Self {
        Self(Some(Arc::default()))
    }

    /// What was counted so far; nought for one that does not count.
    #[must_use]
    pub fn numbers(&self) -> Numbers {
        let numbers = self.0.as_ref().map(|n| n.lock().unwrap_or_else(PoisonError::into_inner));
        numbers.map(|n| n.clone()).unwrap_or_default()
    }

    /// It happened `times` times.
    pub fn add(&self, count: Count, times: usize) {
        self.change(|n| n.counts[count as usize] += times as u64);
    }

    /// A command was refused.
    pub fn rejected(&self, kind: &'static str) {
        self.change(|n| *n.rejected.entry(kind).or_default() += 1);
    }

    /// So many were given back for this reason.
    pub fn given_back(&self, reason: &'static str, times: usize) {
        if times > 0 {
            self.change(|n| *n.given_back.entry(reason).or_default() += times as u64);
        }
    }

    /// A command was answered after so many milliseconds.
    pub fn answered_after(&self, ms: u64) {
        self.change(|n| n.command_ms.push(ms));
    }

    /// Something had been waiting for so many milliseconds.
    pub fn waited(&self, ms: u64) {
        self.change(|n| n.oldest_ms = n.oldest_ms.max(Some(ms)));
    }

    /// A page of a sweep: its oldest alarm was so overdue, and all were woken.
    pub fn swept(&self, lag_ms: u64, woken: usize) {
        self.change(|n| {
            let swept = n.swept.get_or_insert_default();
            swept.lag_ms = swept.lag_ms.max(lag_ms);
            swept.woken += woken as u64;
        });
    }

    fn change(&self, change: impl FnOnce(&mut Numbers)) {
        if let Some(numbers) = &self.0 {
            change(&mut numbers.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}
