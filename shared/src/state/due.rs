//! When somebody must look: the due times of what is outstanding.

use super::{Attempt, Life, Stage, State};
use crate::event::{Target, Timeouts};
use crate::time::Timestamp;

impl State {
    /// Time-outs of an attempt.
    #[must_use]
    pub fn timeouts(&self, target: &Target) -> Timeouts {
        match target {
            Target::Planned(at) => self
                .plan
                .as_ref()
                .and_then(|plan| plan.task(*at))
                .map(|task| task.timeouts.clone())
                .unwrap_or_default(),
            Target::Driven(..) => self
                .attempts
                .get(target)
                .and_then(|attempt| attempt.driven.as_ref())
                .map(|work| work.timeouts.clone())
                .unwrap_or_default(),
        }
    }

    /// When the attempt must be looked at, if ever.
    #[must_use]
    pub fn attempt_due(&self, target: &Target, attempt: &Attempt) -> Option<Timestamp> {
        if matches!(attempt.stage, Stage::Staged { .. }) && self.paused.is_some() {
            return None;
        }
        Some(attempt.due(&self.timeouts(target)))
    }

    /// The earliest due time of anything outstanding.
    #[must_use]
    pub fn earliest_due(&self) -> Option<Timestamp> {
        if matches!(self.life, Life::Unborn) {
            return Some(self.time.plus_ms(crate::limits::UNBORN_MS_MAX));
        }
        if self.ending().is_some() {
            return self.expires_at.filter(|_| self.legal_hold.is_none());
        }
        if self.life != Life::Open {
            return None;
        }
        let attempts = self.attempts.iter().filter_map(|(t, a)| self.attempt_due(t, a));
        let deadline = match self.cancel {
            Some(_) => None,
            None => self.run.as_ref().and_then(|run| run.deadline),
        };
        attempts
            .chain(self.timers.values().copied())
            .chain(self.listening.values().filter_map(|until| *until))
            .chain(self.continues)
            .chain(deadline)
            .min()
    }
}
