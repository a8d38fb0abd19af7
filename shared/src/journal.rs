//! The journal: the only place that knows DynamoDB.
//!
//! It promises that commit n + 1 of a log is written at most once and only on
//! top of commit n, that a conflict hands back the winner, and that an unknown
//! outcome is settled by putting the same commit again. It holds the card to
//! the rules of DESIGN 4 by conditions alone: every write here has one.
//!
//! It deliberately does not decide anything, keep states, or know queues; the
//! retries of the SDK are off, since only the journal knows which write may be
//! repeated.
//!
//! It fails by [`JournalError`]: each variant is a different thing to do for
//! the caller. Throttled, conflicting and unknown are never folded together.
//!
//! [`keys`] says where things are, `items` what they look like, `docs/table.md`
//! both for people. `log` loads and commits, [`card`] moves cards.

pub mod card;
mod checkpoint;
mod chunks;
mod client;
mod delete;
mod faults;
mod inspect;
mod items;
pub mod keys;
mod lists;
mod log;
mod meter;
mod packages;
mod quarantine;
mod removal;
mod restore;
mod search;
mod show;
mod table;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

pub use card::{Card, Opened};
pub use checkpoint::state_bytes;
pub use chunks::upload_id;
pub use client::{Skew, configure};
pub use faults::JournalError;
pub use inspect::{TableFinding, Weight};
pub use keys::LogKey;
pub use lists::{Due, DuePage, ListShard, Listed, ShardPage};
pub use log::{Loaded, Put};
pub use meter::{Meter, Purpose, Units};
pub use packages::{PACKAGE_BYTES_MAX, Package, PackageError, VERSIONS_MAX};
pub use removal::{Removal, RemovalStage};
pub use show::CardLook;
pub use table::{create_table, table_request};

use crate::commit::SCHEMA_READ_MAX;
use crate::plan::{Plan, StoredPlan};
use crate::telemetry::Tally;
use crate::time::Clock;

/// Which schemas an instance reads and writes. A new schema is first read by
/// every instance, then written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schemas {
    /// The newest that it understands.
    pub reads: u16,
    /// The one that it writes.
    pub writes: u16,
}

impl Default for Schemas {
    fn default() -> Self {
        Self { reads: SCHEMA_READ_MAX, writes: SCHEMA_READ_MAX }
    }
}

/// Plans that were read, by partition and place.
type Plans = HashMap<(String, StoredPlan), Arc<Plan>>;

/// Access to one table.
#[derive(Debug, Clone)]
pub struct Journal {
    db: aws_sdk_dynamodb::Client,
    table: String,
    clock: Clock,
    skew: Skew,
    meter: Arc<Meter>,
    tally: Tally,
    schemas: Schemas,
    plans: Arc<Mutex<Plans>>,
}

impl Journal {
    /// A journal on `table`. `db` must come from [`configure`], which also fills `skew`.
    #[must_use]
    pub fn new(
        db: aws_sdk_dynamodb::Client,
        table: impl Into<String>,
        clock: Clock,
        skew: Skew,
    ) -> Self {
        Self {
            db,
            table: table.into(),
            clock,
            skew,
            meter: Arc::default(),
            tally: Tally::default(),
            schemas: Schemas::default(),
            plans: Arc::default(),
        }
    }

    /// The same journal, as an instance of other schemas.
    #[must_use]
    pub fn with_schemas(mut self, schemas: Schemas) -> Self {
        self.schemas = schemas;
        self
    }

    /// The same journal, with what it comes to counted there.
    pub(crate) fn counted(mut self, tally: Tally) -> Self {
        self.tally = tally;
        self
    }

    /// What it has consumed.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Its clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}
