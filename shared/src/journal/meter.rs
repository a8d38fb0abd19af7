//! What DynamoDB says it charged, by purpose. Exact, since it adds up the
//! consumed capacity of each answer; a write whose condition failed is charged
//! without saying so and counted apart.

use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::types::ConsumedCapacity;

/// What a request was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Purpose {
    /// Putting a commit.
    Commit,
    /// Writing a card.
    CardWrite,
    /// Writing a checkpoint.
    Checkpoint,
    /// Writing chunks.
    ChunkWrite,
    /// Removing what was deleted.
    Removal,
    /// Reading a log, cold or warm.
    Load,
    /// Reading a card.
    CardRead,
    /// Reading chunks.
    ChunkRead,
    /// Looking something up in a log.
    Search,
    /// Reading an index.
    List,
}

impl Purpose {
    /// All of them, in order.
    pub const ALL: [Self; 10] = [
        Self::Commit,
        Self::CardWrite,
        Self::Checkpoint,
        Self::ChunkWrite,
        Self::Removal,
        Self::Load,
        Self::CardRead,
        Self::ChunkRead,
        Self::Search,
        Self::List,
    ];

    /// Whether it is charged in write units.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(
            self,
            Self::Commit | Self::CardWrite | Self::Checkpoint | Self::ChunkWrite | Self::Removal
        )
    }
}

/// Requests and the units they consumed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Units {
    /// Requests that were answered.
    pub requests: u64,
    /// Read or write units.
    pub units: f64,
    /// Writes whose condition failed.
    pub refused: u64,
}

#[derive(Debug, Default)]
struct Counter {
    requests: AtomicU64,
    half_units: AtomicU64,
    refused: AtomicU64,
}

/// Counts what a journal consumes.
#[derive(Debug, Default)]
pub struct Meter {
    counters: [Counter; Purpose::ALL.len()],
}

impl Meter {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "units are small multiples of one half"
    )]
    pub(super) fn record(&self, purpose: Purpose, consumed: Option<&ConsumedCapacity>) {
        let units = consumed.and_then(ConsumedCapacity::capacity_units).unwrap_or(0.0);
        let counter = &self.counters[purpose as usize];
        counter.requests.fetch_add(1, Ordering::Relaxed);
        counter.half_units.fetch_add((units * 2.0).round() as u64, Ordering::Relaxed);
    }

    pub(super) fn refused(&self, purpose: Purpose) {
        let counter = &self.counters[purpose as usize];
        counter.requests.fetch_add(1, Ordering::Relaxed);
        counter.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// What was consumed for a purpose so far.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub fn of(&self, purpose: Purpose) -> Units {
        let counter = &self.counters[purpose as usize];
        Units {
            requests: counter.requests.load(Ordering::Relaxed),
            units: counter.half_units.load(Ordering::Relaxed) as f64 / 2.0,
            refused: counter.refused.load(Ordering::Relaxed),
        }
    }

    /// All write units so far.
    #[must_use]
    pub fn write_units(&self) -> f64 {
        Purpose::ALL.iter().filter(|p| p.writes()).map(|p| self.of(*p).units).sum()
    }

    /// All read units so far.
    #[must_use]
    pub fn read_units(&self) -> f64 {
        Purpose::ALL.iter().filter(|p| !p.writes()).map(|p| self.of(*p).units).sum()
    }
}
