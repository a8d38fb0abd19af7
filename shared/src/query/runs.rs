//! The runs of a history.

use serde::Serialize;

use crate::event::{Event, RunStart, Started};
use crate::id::WorkflowType;
use crate::journal::{Journal, JournalError, Loaded, LogKey};
use crate::time::Timestamp;

/// One run of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunView {
    /// Its number, from 1.
    pub run: u32,
    /// The run that it continues.
    pub parent: Option<u32>,
    /// Its type.
    #[serde(rename = "type")]
    pub workflow_type: WorkflowType,
    /// One word; of the runs before the last one always `continued_as_new`.
    pub status: &'static str,
    /// When it started.
    pub started_at: Timestamp,
    /// The sequence number of its start: an event belongs to the last run whose
    /// start is not after it.
    pub start_seq: u64,
    /// When it ended; `None` while it is open.
    pub closed_at: Option<Timestamp>,
}

/// Some of the runs of a history, the latest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<RunView>,
    /// Where to read on; `None` after the first run.
    pub next: Option<RunCursor>,
}

/// A place in the chain: a run, and when the one after it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunCursor {
    start: RunStart,
    run: u32,
    closed_at: Timestamp,
}

/// Up to `limit` runs of a history, the latest first, from where an earlier page
/// ended. A history without a start has none.
///
/// Costs a read a run (one unit a started 4 KiB of the commit that began it),
/// and none for the last one.
///
/// # Errors
/// As reads; [`JournalError::Damaged`] where the chain is broken: a start that
/// is not where the next one says, or of another number.
pub async fn runs(
    journal: &Journal,
    key: &LogKey,
    loaded: &Loaded,
    from: Option<RunCursor>,
    limit: usize,
) -> Result<RunPage, JournalError> {
    let mut page = RunPage::default();
    let Some(run) = &loaded.state.run else { return Ok(page) };
    let before = |previous: Option<RunStart>, run: u32, closed_at| {
        previous.map(|start| RunCursor { start, run: run - 1, closed_at })
    };
    let mut next = match from {
        _ if limit == 0 => return Ok(page),
        Some(cursor) => Some(cursor),
        None => {
            page.runs.push(RunView {
                run: run.number,
                parent: run.previous.map(|_| run.number - 1),
                workflow_type: run.workflow_type.clone(),
                status: loaded.state.status(),
                started_at: run.started_at,
                start_seq: run.start().seq,
                closed_at: loaded.state.ending().map(|_| loaded.state.closed_at),
            });
            before(run.previous, run.number, run.started_at)
        }
    };
    while let Some(cursor) = next
        && page.runs.len() < limit
    {
        let (view, previous) = earlier(journal, key, cursor).await?;
        next = before(previous, view.run, view.started_at);
        page.runs.push(view);
    }
    page.next = next;
    Ok(page)
}

/// The run at a cursor, and where the one before it began. A run ends in the
/// commit that begins the next one.
async fn earlier(
    journal: &Journal,
    key: &LogKey,
    RunCursor { start, run: expected, closed_at }: RunCursor,
) -> Result<(RunView, Option<RunStart>), JournalError> {
    let broken = |why: String| JournalError::Damaged(format!("the chain of runs: {why}"));
    let commit = journal.commit(key, start.commit).await?;
    let at = start.seq.checked_sub(commit.first_seq).and_then(|at| usize::try_from(at).ok());
    let event = at.and_then(|at| commit.events.get(at));
    let Some(Event::Started(started)) = event else {
        return Err(broken(format!("no start at sequence {}", start.seq)));
    };
    let Started { run, previous, workflow_type, .. } = &**started;
    if *run != expected || previous.is_some() != (*run > 1) {
        return Err(broken(format!("run {run} at sequence {}", start.seq)));
    }
    let view = RunView {
        run: *run,
        parent: previous.map(|_| run - 1),
        workflow_type: workflow_type.clone(),
        status: "continued_as_new",
        started_at: commit.time,
        start_seq: start.seq,
        closed_at: Some(closed_at),
    };
    Ok((view, *previous))
}
