//! The half that reads.

use super::Address;
use crate::event::{Ending, Event, TimerKey};
use crate::id::{Incarnation, TimerId, WorkflowType};
use crate::journal::{Journal, JournalError, Loaded, LogKey, keys};
use crate::labels::Labels;
use crate::payload::Payload;
use crate::query::{self, EventPage, HistoryEvent, RunCursor, RunPage, WorkflowView};
use crate::state::Life;
use crate::time::Timestamp;

/// Events that one request asks for, where all are read.
const PAGE: usize = 1_000;

/// Reads histories, consistently. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Reader {
    journal: Journal,
}

/// A workflow in a few words, folded from its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its life.
    pub incarnation: Incarnation,
    /// The last sequence number.
    pub head: u64,
    /// One word: `running`, `paused`, `cancelling`, `completed`, `failed`,
    /// `cancelled`, `timed_out`, or `unborn`.
    pub status: &'static str,
    /// Type of the last run.
    pub workflow_type: Option<WorkflowType>,
    /// The last run's number; 0 before the start.
    pub run: u32,
    /// When the last run started.
    pub started_at: Option<Timestamp>,
    /// When the last commit was recorded.
    pub updated_at: Timestamp,
    /// Display name, parent, and search attributes, folded over the whole history.
    pub labels: Labels,
    /// When and how the present lease of life ended, if it has: a reopened run
    /// has not.
    pub ended: Option<(Timestamp, Ending)>,
    /// Why it failed, in the words of the close; of a run whose present end is
    /// *failed*, and of no other.
    pub failure: Option<Payload>,
}

/// A timer that has not fired. The time and the run name this arming: the same
/// timer armed again, even to the same instant in a later run, is another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmedTimer {
    /// Which timer.
    pub timer: TimerId,
    /// When it fires.
    pub fire_at: Timestamp,
    /// The sequence number of the start of its run.
    pub start_seq: u64,
}

impl Reader {
    pub(super) fn new(journal: Journal) -> Self {
        Self { journal }
    }

    /// The journal, for lists and for what it has consumed.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The state of a workflow; `None` if there is none, or nothing of it yet.
    /// One unit for the card, and a cold load.
    ///
    /// # Errors
    /// As reads.
    pub async fn load(&self, of: &Address) -> Result<Option<(LogKey, Loaded)>, JournalError> {
        let partition = keys::partition(&of.namespace, &of.workflow);
        let card = self.journal.card(&partition).await?;
        let Some(card) = card.filter(|card| !card.gone()) else { return Ok(None) };
        let key = LogKey::new(of.namespace.clone(), of.workflow.clone(), card.incarnation);
        let loaded = self.journal.load(&key).await?;
        let there = loaded.state.head > 0 && loaded.state.life != Life::Deleted;
        Ok(there.then_some((key, loaded)))
    }

    /// The whole history; of a workflow that nobody knows, nothing.
    ///
    /// # Errors
    /// As reads; what does not decode is an error, never left out.
    pub async fn history(&self, of: &Address) -> Result<Vec<HistoryEvent>, JournalError> {
        let Some((key, loaded)) = self.load(of).await? else { return Ok(Vec::new()) };
        let (mut all, mut from) = (Vec::new(), Some(1));
        while let Some(seq) = from {
            let page = query::events_from(&self.journal, &key, &loaded, seq, PAGE).await?;
            all.extend(page.events);
            from = page.next;
        }
        Ok(all)
    }

    /// Up to `limit` events from `from` on; see [`query::events_from`].
    ///
    /// # Errors
    /// As reads.
    pub async fn range(
        &self,
        of: &Address,
        from: u64,
        limit: usize,
    ) -> Result<EventPage, JournalError> {
        match self.load(of).await? {
            Some((key, loaded)) => {
                query::events_from(&self.journal, &key, &loaded, from, limit).await
            }
            None => Ok(EventPage::default()),
        }
    }

    /// Its runs, the latest first; see [`query::runs`].
    ///
    /// # Errors
    /// As reads.
    pub async fn runs(
        &self,
        of: &Address,
        from: Option<RunCursor>,
        limit: usize,
    ) -> Result<RunPage, JournalError> {
        match self.load(of).await? {
            Some((key, loaded)) => query::runs(&self.journal, &key, &loaded, from, limit).await,
            None => Ok(RunPage::default()),
        }
    }

    /// It in a few words; `None` if nobody knows it. Costs a read more where it
    /// failed.
    ///
    /// # Errors
    /// As reads.
    pub async fn summary(&self, of: &Address) -> Result<Option<Summary>, JournalError> {
        let Some((key, loaded)) = self.load(of).await? else { return Ok(None) };
        let failure = self.failure(&key, &loaded).await?;
        let (state, run) = (&loaded.state, loaded.state.run.as_ref());
        Ok(Some(Summary {
            incarnation: key.incarnation,
            head: state.head,
            status: state.status(),
            workflow_type: run.map(|run| run.workflow_type.clone()),
            run: run.map_or(0, |run| run.number),
            started_at: run.map(|run| run.started_at),
            updated_at: state.time,
            labels: state.labels.as_deref().cloned().unwrap_or_default(),
            ended: state.ending().map(|ending| (state.closed_at, ending)),
            failure,
        }))
    }

    /// What the close said, if it said that the run failed.
    async fn failure(
        &self,
        key: &LogKey,
        loaded: &Loaded,
    ) -> Result<Option<Payload>, JournalError> {
        if loaded.state.ending() != Some(Ending::Failed) {
            return Ok(None);
        }
        // Nothing but notes follows the commit that closed.
        let commit = self.journal.commit(key, loaded.state.card_commit).await?;
        Ok(commit.events.into_iter().rev().find_map(|event| match event {
            Event::Closed(_, said) => said,
            _ => None,
        }))
    }

    /// It in detail: tasks and unsettled attempts.
    ///
    /// # Errors
    /// As reads.
    pub async fn view(&self, of: &Address) -> Result<Option<WorkflowView>, JournalError> {
        Ok(self.load(of).await?.map(|(key, loaded)| WorkflowView::new(&key, &loaded.state)))
    }

    /// Its timers that have not fired, the earliest first; those that are due at
    /// `until` alone, where it is given, that instant included.
    ///
    /// # Errors
    /// As reads.
    pub async fn timers(
        &self,
        of: &Address,
        until: Option<Timestamp>,
    ) -> Result<Vec<ArmedTimer>, JournalError> {
        let Some((_, Loaded { state, .. })) = self.load(of).await? else { return Ok(Vec::new()) };
        let start_seq = state.run.as_ref().map_or(0, |run| run.start().seq);
        let named = state.timers.iter().filter_map(|(key, fire_at)| match key {
            TimerKey::Named(timer) if until.is_none_or(|until| *fire_at <= until) => {
                Some(ArmedTimer { timer: timer.clone(), fire_at: *fire_at, start_seq })
            }
            _ => None,
        });
        let mut timers: Vec<ArmedTimer> = named.collect();
        timers.sort_by(|a, b| (a.fire_at, &a.timer).cmp(&(b.fire_at, &b.timer)));
        Ok(timers)
    }
}
