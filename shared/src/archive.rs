//! Archives of workflows: a history as JSON lines, and back into a table.
//!
//! ```text
//! {"export":1,"namespace":"default","workflow":"w","incarnation":…,"commits":2,"head":3}
//! {"chunk":"x#…#0000","frame":"…"}                        of a stored plan, if it has one
//! {"commit":1,"frame":"…","events":[{"seq":1,"event":"started",…}]}
//! {"commit":2,"frame":"…","events":[…]}
//! {"end":"<SHA-256 of all lines before>"}
//! ```
//!
//! A frame is what stands in the table, in base64; it is what counts. The events
//! beside it are for people and for `jq`.
//!
//! It promises that an archive that was cut, changed or put together from two is
//! refused before anything is written; that a history that was imported is equal
//! byte for byte; and that no reader ever sees a part of it: commits are written
//! under an incarnation that no card names, and one conditional write of the card
//! makes them the workflow. An import that dies before that write leaves items
//! that nobody reads; the same import again begins anew, under another one.
//!
//! Only what has ended is imported: what is open has workers, timers and queues
//! elsewhere, and would live twice. A driven run may be reopened afterwards.
//!
//! It fails by [`ArchiveError`].

mod file;
mod import;

use std::io::Write;

use sha2::{Digest, Sha256};

use crate::id::{Namespace, WorkflowId};
use crate::journal::{Journal, JournalError, Loaded, LogKey};
use crate::plan::PlanRef;
use crate::query::events_of;

pub use file::{Archive, read};
pub use import::{Imported, import};

use file::{ChunkLine, CommitLine, EndLine, HeaderLine};

/// The version of the format that is written, and the newest that is read.
pub const FORMAT: u32 = 1;
/// Commits that one request reads.
const PAGE: usize = 500;

/// Why there is no archive, or nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file is no archive, or not as it was written.
    #[error("line {line}: {what}")]
    Invalid {
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// Its history does not fold, or a newer version wrote it.
    #[error("the archive does not fold: {0}")]
    DoesNotFold(#[source] JournalError),
    /// Its workflow has not ended.
    #[error("the workflow of the archive is {0}; only what has ended is imported")]
    NotEnded(&'static str),
    /// There is a workflow of this id.
    #[error("there is a workflow {workflow} in namespace {namespace}")]
    Exists {
        /// The namespace.
        namespace: Namespace,
        /// The id.
        workflow: WorkflowId,
    },
    /// The life before was begun a moment ago: try again in so many seconds.
    #[error("the life before is too young; again in {0} seconds")]
    TooYoung(u64),
    /// It took longer than a day: what was written first may be gone.
    #[error("it took {0} seconds, expected at most 86400")]
    TooSlow(u64),
    /// The file can't be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The table can't.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Writes lines and remembers what they were.
struct Lines<W> {
    out: W,
    hash: Sha256,
}

impl<W: Write> Lines<W> {
    fn write(&mut self, line: &impl serde::Serialize) -> Result<(), ArchiveError> {
        let mut text = serde_json::to_string(line).map_err(std::io::Error::other)?;
        text.push('\n');
        self.hash.update(text.as_bytes());
        self.out.write_all(text.as_bytes())?;
        Ok(())
    }
}

/// Writes the log of a workflow, up to the state that was loaded.
///
/// Costs a read unit a started 4 KiB of commits and chunks.
///
/// # Errors
/// [`ArchiveError::Journal`] and [`ArchiveError::Io`]; what was written then has
/// no end, and is refused by an import.
pub async fn export<W: Write>(
    journal: &Journal,
    key: &LogKey,
    loaded: &Loaded,
    out: W,
) -> Result<(), ArchiveError> {
    let mut lines = Lines { out, hash: Sha256::new() };
    let last = loaded.state.commit;
    lines.write(&HeaderLine {
        export: FORMAT,
        namespace: key.namespace.clone(),
        workflow: key.workflow.clone(),
        incarnation: key.incarnation,
        commits: last,
        head: loaded.state.head,
    })?;
    let run = loaded.state.run.as_ref();
    if let Some(PlanRef::Stored(stored)) = run.and_then(|run| run.plan.as_ref()) {
        for (chunk, frame) in journal.plan_chunks(&key.partition(), stored).await? {
            lines.write(&ChunkLine { chunk, frame: file::text(&frame) })?;
        }
    }
    let plan = loaded.state.plan().map(|plan| &**plan);
    let mut next = 1;
    while next <= last {
        for (number, frame, commit) in journal.frames(key, next, PAGE).await? {
            if number != next {
                let why = format!("commit {next} is missing");
                return Err(JournalError::Damaged(why).into());
            }
            if number > last {
                break;
            }
            let one = [(number, commit)];
            let events = events_of(&one, plan);
            lines.write(&CommitLine { commit: number, frame: file::text(&frame), events })?;
            next += 1;
        }
    }
    let end = hex(&lines.hash.clone().finalize());
    lines.write(&EndLine { end })?;
    lines.out.flush()?;
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
