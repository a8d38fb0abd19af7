//! Ranges of a history.
//!
//! A range begins anywhere, and its cost grows with what it returns. It is read
//! consistently, and never half: what does not decode is an error, never an
//! empty answer.

use crate::commit::Commit;
use crate::journal::{Journal, JournalError, Loaded, LogKey};
use crate::query::{HistoryEvent, events_of};
use crate::state::State;

/// Commits that one request reads at most.
const COMMITS_MAX: usize = 200;

/// Some of the events of a history, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventPage {
    /// The events.
    pub events: Vec<HistoryEvent>,
    /// Where to read on; `None` at the head.
    pub next: Option<u64>,
}

/// Up to `limit` events from sequence number `from` on, as of `loaded`. 0 and 1
/// are the beginning; past the head is empty.
///
/// Costs two or three reads to find the place (none at the beginning, 20 at most
/// in a log of 100,000 commits), and then a read unit a started 4 KiB of commits.
///
/// # Errors
/// As reads.
pub async fn events_from(
    journal: &Journal,
    key: &LogKey,
    loaded: &Loaded,
    from: u64,
    limit: usize,
) -> Result<EventPage, JournalError> {
    let (head, from) = (loaded.state.head, from.max(1));
    let mut page = EventPage::default();
    if from > head || limit == 0 {
        page.next = (from <= head).then_some(from);
        return Ok(page);
    }
    let mut number = match from {
        1 => 1,
        _ => journal.number_of(key, from, (loaded.state.commit, head)).await?,
    };
    let plan = loaded.state.plan().map(AsRef::as_ref);
    let (mut next, mut at_once) = (from, likely_commits(&loaded.state, limit));
    while page.events.len() < limit && next <= head {
        let most = (limit - page.events.len()).min(at_once);
        at_once = (2 * at_once).min(COMMITS_MAX);
        let commits: Vec<(u64, Commit)> = journal.some_commits(key, number, most).await?;
        let Some((last, _)) = commits.last() else {
            return Err(JournalError::Damaged(format!("commit {number} is missing")));
        };
        number = last + 1;
        let events = events_of(&commits, plan).into_iter();
        page.events.extend(events.filter(|event| event.seq >= from && event.seq <= head));
        page.events.truncate(limit);
        next = page.events.last().map_or(next, |event| event.seq + 1);
    }
    page.next = (next <= head).then_some(next);
    Ok(page)
}

/// How many commits hold so many events, if they are spread evenly, and one more.
pub(crate) fn likely_commits(state: &State, events: usize) -> usize {
    let each = (state.head / state.commit.max(1)).max(1);
    let commits = events.div_ceil(usize::try_from(each).unwrap_or(usize::MAX)) + 1;
    commits.min(COMMITS_MAX)
}
