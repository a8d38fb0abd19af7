//! The rules for runs: how one begins, ends, is continued, and goes on.
//!
//! Runs of one history are numbered from 1, and each says where the one before
//! it began: two roots, a fork or a gap does not fold.

use super::{At, Folded};
use crate::event::{Ending, Started, TimerKey};
use crate::plan::{Plan, PlanRef};
use crate::state::nodes::Ended;
use crate::state::{Life, Nodes, Run, Settled, State};
use crate::time::Timestamp;

impl State {
    pub(super) fn fold_started(&mut self, started: &Started, at: At) -> Folded {
        let before = match self.life {
            Life::Nothing | Life::Unborn => None,
            Life::Continued => self.run.as_ref(),
            _ => return Err(format!("a start while {}", self.status())),
        };
        let follows = before.map(|run| (run.number + 1, Some(run.start())));
        if (started.run, started.previous) != follows.unwrap_or((1, None)) {
            return Err(format!("run {} does not follow the one before it", started.run));
        }
        if let Some(PlanRef::Inline(bytes)) = &started.plan {
            let plan = Plan::from_bytes(bytes).map_err(|e| e.to_string())?;
            self.provide_plan(std::sync::Arc::new(plan));
        }
        match (&started.plan, &self.plan) {
            (Some(_), Some(plan)) => self.nodes = Nodes::begin(plan),
            (Some(_), None) => return Err("its plan is missing".into()),
            (None, _) => {
                self.plan = None;
                self.signals.clear();
            }
        }
        if started.labels.is_some() {
            self.labels.clone_from(&started.labels);
        }
        self.life = Life::Open;
        self.card_commit = at.commit;
        self.run = Some(Run {
            workflow_type: started.workflow_type.clone(),
            number: started.run,
            plan: started.plan.clone(),
            deadline: started.deadline,
            concurrency: started.concurrency,
            attempts_max: started.attempts_max,
            command: started.command,
            commit: at.commit,
            started_at: at.time,
            seq: Some(self.head),
            previous: started.previous,
            package: started.package,
        });
        Ok(())
    }

    pub(super) fn fold_closed(&mut self, ending: Ending, at: At) -> Folded {
        self.life = Life::Closed(ending);
        self.end_run(at);
        Ok(())
    }

    /// Another run follows; of this one only its place in the log is left.
    pub(super) fn fold_continued(&mut self, at: At) -> Folded {
        self.life = Life::Continued;
        self.end_run(at);
        self.settled.clear();
        self.held = None;
        self.consumed = 0;
        self.nodes = Nodes::default();
        Ok(())
    }

    /// The run goes on. What its end withdrew stays withdrawn.
    pub(super) fn fold_reopened(&mut self, deadline: Option<Timestamp>, at: At) -> Folded {
        let (Some(run), None) = (&mut self.run, &self.plan) else {
            return Err("a planned run is not reopened".into());
        };
        if deadline.is_some() {
            run.deadline = deadline;
        }
        self.life = Life::Open;
        self.cancel = None;
        self.paused = None;
        self.closed_at = Timestamp::default();
        self.expires_at = None;
        self.card_commit = at.commit;
        Ok(())
    }

    fn end_run(&mut self, at: At) {
        self.closed_at = at.time;
        self.card_commit = at.commit;
        for (target, _) in std::mem::take(&mut self.attempts) {
            if self.plan.is_none() {
                let withdrawn = Settled { kind: Ended::Withdrawn, commit: at.commit };
                self.settled.entry(target).or_default().push(withdrawn);
            }
        }
        self.hold_timers();
        self.listening.clear();
        self.signals.clear();
    }

    /// Takes all timers away; a reopening may arm those of driven runs again.
    pub(super) fn hold_timers(&mut self) {
        let timers = std::mem::take(&mut self.timers);
        let named = timers.into_iter().filter(|(key, _)| matches!(key, TimerKey::Named(_)));
        let held: Vec<_> = named.collect();
        if !held.is_empty() {
            self.held.get_or_insert_default().extend(held);
        }
    }

    /// What happens to a timer after its hold replaces it.
    pub(super) fn forget_held(&mut self, timer: &TimerKey) {
        if let Some(held) = &mut self.held {
            held.remove(timer);
            if held.is_empty() {
                self.held = None;
            }
        }
    }
}
