//! A commit in the making, beside the state that it will lead to.

use crate::commit::{Alarm, Commit, PlacedNote};
use crate::event::{Event, Note};
use crate::id::{CommandHash, WriterId};
use crate::limits;
use crate::state::{At, FoldError, Life, State};
use crate::time::Timestamp;

/// A commit in the making.
#[derive(Debug, Clone)]
pub struct Draft {
    state: State,
    first_seq: u64,
    now: Timestamp,
    events: Vec<Event>,
    notes: Vec<PlacedNote>,
    answers: Vec<CommandHash>,
    dispatches: usize,
    bytes: usize,
    continues: bool,
    retention_ms: Option<u64>,
}

/// A finished decision: the commit to put, and the state that it leads to.
#[derive(Debug, Clone)]
pub struct Sealed {
    /// Its number.
    pub number: u64,
    /// The commit.
    pub commit: Commit,
    /// The state after it.
    pub state: State,
    /// The card must be moved to this minute before the put.
    pub card_first: bool,
}

impl Draft {
    /// A draft on top of `state`. `now` is the function's clock; the recorded
    /// time is never before the last commit's.
    #[must_use]
    pub fn new(state: &State, now: Timestamp) -> Self {
        Self {
            state: state.clone(),
            first_seq: state.head,
            now: now.max(state.time),
            events: Vec::new(),
            notes: Vec::new(),
            answers: Vec::new(),
            dispatches: 0,
            bytes: 0,
            // What is left over stays so until `advance` has been there.
            continues: state.continues.is_some(),
            retention_ms: None,
        }
    }

    /// The same draft: if it ends the run, the workflow is deleted so long
    /// after, milliseconds. For ever without.
    #[must_use]
    pub fn keeping(self, retention_ms: Option<u64>) -> Self {
        Self { retention_ms, ..self }
    }

    /// The state as it will be.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Hands in the plan of a start.
    pub(super) fn provide_plan(&mut self, plan: std::sync::Arc<crate::plan::Plan>) {
        self.state.provide_plan(plan);
    }

    /// The recorded time.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        self.now
    }

    /// Where in the log the draft's facts will stand.
    #[must_use]
    pub fn at(&self) -> At {
        At { commit: self.state.commit + 1, time: self.now }
    }

    /// Adds an event.
    ///
    /// # Errors
    /// [`FoldError`]: it does not fit; the draft is then unusable.
    pub fn emit(&mut self, event: Event) -> Result<(), FoldError> {
        let at = self.at();
        self.state
            .fold_event(&event, at)
            .map_err(|reason| FoldError { commit: at.commit, reason })?;
        self.bytes += minicbor::to_vec(&event).map_or(0, |bytes| bytes.len());
        let dispatch = matches!(event, Event::Prepared(..) | Event::Settled(.., Some(_)));
        self.dispatches += usize::from(dispatch);
        self.events.push(event);
        Ok(())
    }

    /// Adds a note.
    ///
    /// # Errors
    /// [`FoldError`]: it does not fit; the draft is then unusable.
    pub fn note(&mut self, note: Note) -> Result<(), FoldError> {
        let at = self.at();
        self.state
            .fold_note(&note, at)
            .map_err(|reason| FoldError { commit: at.commit, reason })?;
        let after = u32::try_from(self.events.len()).unwrap_or(u32::MAX);
        self.notes.push(PlacedNote { after, note });
        Ok(())
    }

    /// Events and notes so far.
    #[must_use]
    pub fn size(&self) -> usize {
        self.events.len() + self.notes.len()
    }

    /// Whether nothing was emitted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.size() == 0
    }

    /// Encoded bytes of the events so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the commit takes no further dispatch.
    #[must_use]
    pub fn full(&self) -> bool {
        self.dispatches >= limits::COMMIT_DISPATCHES_MAX
            || self.bytes >= limits::COMMIT_BYTES_SOFT_MAX
    }

    /// Whether the commit answers this command already.
    pub(super) fn answers(&self, command: CommandHash) -> bool {
        self.answers.contains(&command)
    }

    /// The commit answers this command.
    pub fn answered(&mut self, command: CommandHash) {
        self.answers.push(command);
    }

    /// What is left goes on in the next commit.
    pub fn continues(&mut self, left_over: bool) {
        self.continues = left_over;
    }

    /// Finishes the commit. `look` lets the alarm move later, to exactly the
    /// next due time; otherwise it only moves earlier, or away when the run
    /// ends (DESIGN 4).
    #[must_use]
    pub fn seal(mut self, writer: WriterId, look: bool) -> Sealed {
        if let Some(retention_ms) = self.retention_ms
            && self.events.iter().any(|event| matches!(event, Event::Closed(..)))
            && self.state.ending().is_some()
        {
            // It fits whatever has ended.
            self.note(Note::Expires(self.now.plus_ms(retention_ms))).ok();
        }
        let number = self.state.commit + 1;
        let mut commit = Commit {
            writer,
            time: self.now,
            first_seq: self.first_seq + u64::from(!self.events.is_empty()),
            events: self.events,
            notes: self.notes,
            answers: self.answers,
            checkpoint: self.state.checkpoint,
            continues: self.continues && self.state.open(),
            alarm: None,
        };
        let mut state = self.state;
        let before = state.alarm;
        state.seal(number, &commit);
        let due = state.earliest_due().map(Timestamp::tick);
        let earlier = match (due, before) {
            (Some(due), Some(before)) => due < before,
            (Some(_), None) => true,
            (None, _) => false,
        };
        let over = matches!(state.life, Life::Closed(_) | Life::Abandoned | Life::Deleted);
        let later = (look || over) && due != before;
        if earlier || later {
            state.alarm = due;
        }
        // Commit 1 also records the alarm that its card was made with.
        if earlier || later || number == 1 {
            commit.alarm = Some(Alarm::from(state.alarm));
        }
        Sealed { number, commit, state, card_first: earlier }
    }
}
