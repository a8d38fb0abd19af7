//! The rules of the fold, one a kind of event or note.
//!
//! A rule checks that the event fits the state that it lands on: a log that
//! contradicts itself is [`FoldError`], never a guess. Decisions go through the
//! same rules, so a decision that could not be folded can't be committed.

mod attempts;
mod runs;

use super::{Barrier, Buffered, Life, Phase, Stage, State};
use crate::commit::{Commit, PlacedNote};
use crate::event::{DrivenWork, Event, Note, TimerKey};
use crate::id::hash16;
use crate::labels::AttributeChanges;
use crate::time::Timestamp;

/// The log contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("commit {commit} does not fold: {reason}")]
pub struct FoldError {
    /// Which commit.
    pub commit: u64,
    /// What is wrong.
    pub reason: String,
}

/// Where in the log an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// The number of its commit.
    pub commit: u64,
    /// The recorded time of its commit.
    pub time: Timestamp,
}

type Folded = Result<(), String>;

impl State {
    /// Adds commit number `n`.
    ///
    /// # Errors
    /// [`FoldError`]: it does not fit the state; the state is then unusable.
    pub fn apply(&mut self, n: u64, commit: &Commit) -> Result<(), FoldError> {
        let damaged = |reason: String| FoldError { commit: n, reason };
        let first = if commit.events.is_empty() { self.head } else { self.head + 1 };
        if n != self.commit + 1 || commit.first_seq != first || commit.time < self.time {
            let reason = format!("does not follow commit {} at head {}", self.commit, self.head);
            return Err(damaged(reason));
        }
        let at = At { commit: n, time: commit.time };
        let mut notes = commit.notes.iter().peekable();
        for position in 0..=commit.events.len() {
            while let Some(placed) = notes.next_if(|p| p.after as usize == position) {
                self.fold_note(&placed.note, at).map_err(damaged)?;
            }
            if let Some(event) = commit.events.get(position) {
                self.fold_event(event, at).map_err(damaged)?;
            }
        }
        if notes.next().is_some() {
            return Err(damaged("a note out of its place".into()));
        }
        self.seal(n, commit);
        Ok(())
    }

    /// What a commit changes beside its events and notes.
    pub fn seal(&mut self, n: u64, commit: &Commit) {
        self.commit = n;
        self.time = commit.time;
        self.writer = Some(commit.writer);
        self.continues = commit.continues.then_some(commit.time);
        self.checkpoint = self.checkpoint.max(commit.checkpoint);
        if let Some(alarm) = commit.alarm {
            self.alarm = alarm.tick();
        }
        // Commands that content identifies need no memory; see `Memory`.
        let remembered = |e: &Event| {
            use Event::{Paused, Reopened, Resumed, Signalled};
            matches!(e, Signalled(..) | Paused(_) | Resumed | Reopened(..))
        };
        let noted = |p: &PlacedNote| matches!(p.note, Note::HoldPlaced(_) | Note::HoldLifted);
        if commit.events.iter().any(remembered) || commit.notes.iter().any(noted) {
            for command in &commit.answers {
                self.memory.add(*command, n, commit.time);
            }
        }
    }

    /// Adds one event and gives it the next sequence number.
    ///
    /// # Errors
    /// Says what does not fit.
    pub fn fold_event(&mut self, event: &Event, at: At) -> Folded {
        let signal_first = matches!(event, Event::Signalled(..)) && self.life == Life::Unborn;
        let start = matches!(event, Event::Started(_));
        let reopened = matches!(event, Event::Reopened(..)) && self.ending().is_some();
        if !(self.open() || start || signal_first || reopened) {
            return Err(format!("an event while {}", self.status()));
        }
        self.head += 1;
        match event {
            Event::Started(started) => self.fold_started(started, at),
            Event::Appended(..) => Ok(()),
            Event::Claimed(owner) => {
                self.owner = Some(owner.clone());
                Ok(())
            }
            Event::Prepared(target, n, not_before, work) => {
                self.fold_prepared(target, *n, *not_before, work.as_deref(), at)
            }
            Event::Receipt(target, n, worker) => self.fold_receipt(target, *n, worker, at),
            Event::Settled(target, n, outcome, retry_at) => {
                self.fold_settled(target, *n, outcome, *retry_at, at)
            }
            Event::TimerArmed(timer, fire_at) => {
                if let TimerKey::Node(node) = timer {
                    self.begin_node(*node)?;
                }
                self.timers.insert(timer.clone(), *fire_at);
                self.forget_held(timer);
                Ok(())
            }
            Event::TimerFired(timer) => {
                self.timers.remove(timer).ok_or("a timer fired that was not armed")?;
                match timer {
                    TimerKey::Node(node) => self.finish_node(*node, Phase::Succeeded, at),
                    TimerKey::Named(_) => Ok(()),
                }
            }
            Event::TimerCancelled(timer) => {
                self.timers.remove(timer);
                self.forget_held(timer);
                Ok(())
            }
            Event::Signalled(name, _) => {
                let signal = Buffered { seq: self.head, commit: at.commit };
                if self.run.as_ref().is_none_or(|run| run.plan.is_some()) {
                    self.signals.entry(name.clone()).or_default().push_back(signal);
                }
                Ok(())
            }
            Event::Listening(node, until) => {
                self.begin_node(*node)?;
                self.listening.insert(*node, *until);
                Ok(())
            }
            Event::WaitEnded(node, end) => self.fold_wait_ended(*node, end, at),
            Event::Paused(_) => {
                self.fold_pause(Some(Barrier { commit: at.commit, deadline: false }), at)
            }
            Event::Resumed => self.fold_pause(None, at),
            Event::CancelRequested(_) => self.fold_cancel(false, at),
            Event::DeadlineReached => self.fold_cancel(true, at),
            Event::Closed(ending, _) => self.fold_closed(*ending, at),
            Event::ContinuedAsNew(_) => self.fold_continued(at),
            Event::Reopened(_, deadline) => self.fold_reopened(*deadline, at),
            Event::AttributesChanged(changes) => self.fold_attributes(changes, at),
        }
    }

    fn fold_attributes(&mut self, changes: &AttributeChanges, at: At) -> Folded {
        let mut labels = self.labels.take().unwrap_or_default();
        labels.change(changes);
        self.labels = Some(labels).filter(|labels| !labels.is_empty());
        self.card_commit = at.commit;
        Ok(())
    }

    fn fold_pause(&mut self, barrier: Option<Barrier>, at: At) -> Folded {
        self.paused = barrier;
        self.card_commit = at.commit;
        Ok(())
    }

    /// Adds one note.
    ///
    /// # Errors
    /// Says what does not fit.
    pub fn fold_note(&mut self, note: &Note, at: At) -> Folded {
        match note {
            Note::HandedOver(upto) => {
                if self.paused.is_some() {
                    return self.hand_over_again(*upto, at);
                }
                for attempt in self.attempts.values_mut() {
                    attempt.stage.hand_over(at.commit, *upto);
                }
                Ok(())
            }
            Note::Heartbeat(target, n) => {
                let attempt = self.attempts.get_mut(target).filter(|a| a.n == *n);
                match attempt.map(|a| &mut a.stage) {
                    Some(Stage::Taken { beat_at, .. }) => {
                        *beat_at = at.time;
                        Ok(())
                    }
                    _ => Err("a heartbeat of an attempt that nobody has".into()),
                }
            }
            Note::Looked => Ok(()),
            Note::Opened if self.life == Life::Nothing => {
                self.life = Life::Unborn;
                Ok(())
            }
            Note::Abandoned if matches!(self.life, Life::Nothing | Life::Unborn) => {
                self.life = Life::Abandoned;
                self.card_commit = at.commit;
                self.signals.clear();
                Ok(())
            }
            Note::Deleted => {
                self.life = Life::Deleted;
                self.card_commit = at.commit;
                Ok(())
            }
            Note::HoldPlaced(_) => {
                self.legal_hold = Some(at.commit);
                Ok(())
            }
            Note::HoldLifted => {
                self.legal_hold = None;
                Ok(())
            }
            Note::Expires(then) if self.ending().is_some() => {
                self.expires_at = Some(*then);
                Ok(())
            }
            Note::Opened | Note::Abandoned | Note::Expires(_) => {
                Err(format!("{note:?} while {}", self.status()))
            }
        }
    }

    /// Under pause only what was handed over before goes out again.
    fn hand_over_again(&mut self, upto: Timestamp, at: At) -> Folded {
        for attempt in self.attempts.values_mut() {
            if matches!(attempt.stage, Stage::Sent { .. }) {
                attempt.stage.hand_over(at.commit, upto);
            }
        }
        Ok(())
    }
}

/// What makes two intents for one key the same: all but times.
#[must_use]
pub fn content_hash(work: &DrivenWork) -> [u8; 16] {
    let times = work.timeouts.clone();
    let number = |ms: Option<u64>| {
        ms.map_or([0; 9], |ms| {
            let mut bytes = [1; 9];
            bytes[1..].copy_from_slice(&ms.to_be_bytes());
            bytes
        })
    };
    hash16(&[
        work.queue.as_str().as_bytes(),
        work.kind.as_str().as_bytes(),
        work.input.as_ref().map_or(&[][..], |p| p.bytes()),
        &[u8::from(work.input.is_some()), u8::from(work.mutating)],
        &number(times.schedule_to_start_ms),
        &number(times.start_to_close_ms),
        &number(times.heartbeat_ms),
    ])
}
