//! The rules for attempts and for the nodes of a plan.

use super::{At, Folded, content_hash};
use crate::event::{DrivenWork, Outcome, Target, TimerKey, WaitEnd};
use crate::id::OwnerId;
use crate::state::attempt::DrivenAttempt;
use crate::state::nodes::Ended;
use crate::state::{Attempt, Barrier, Phase, Settled, Stage, State};
use crate::time::Timestamp;

impl State {
    pub(super) fn fold_prepared(
        &mut self,
        target: &Target,
        n: u32,
        not_before: Option<Timestamp>,
        work: Option<&DrivenWork>,
        at: At,
    ) -> Folded {
        if self.attempts.contains_key(target) {
            return Err("an attempt beside an unsettled one".into());
        }
        if let Target::Planned(node) = target {
            self.begin_node(*node)?;
        } else if work.is_none() {
            return Err("a driven attempt without its work".into());
        }
        let stage = match not_before {
            Some(not_before) => Stage::Staged { not_before },
            None => Stage::sent(at.commit, at.time),
        };
        let driven = work.map(|work| {
            Box::new(DrivenAttempt {
                queue: work.queue.clone(),
                kind: work.kind.clone(),
                timeouts: work.timeouts.clone(),
                content: content_hash(work),
                mutating: work.mutating,
            })
        });
        let attempt = Attempt { n, born: at.commit, stage, driven };
        self.attempts.insert(target.clone(), attempt);
        self.consumed += 1;
        Ok(())
    }

    pub(super) fn fold_receipt(
        &mut self,
        target: &Target,
        n: u32,
        worker: &OwnerId,
        at: At,
    ) -> Folded {
        let attempt = self.attempts.get_mut(target).filter(|a| a.n == n);
        let attempt = attempt.ok_or("a receipt of no unsettled attempt")?;
        attempt.stage = Stage::Taken {
            worker: worker.clone(),
            since: at.time,
            beat_at: at.time,
            commit: at.commit,
        };
        Ok(())
    }

    pub(super) fn fold_settled(
        &mut self,
        target: &Target,
        n: u32,
        outcome: &Outcome,
        retry_at: Option<Timestamp>,
        at: At,
    ) -> Folded {
        let attempt = self.attempts.remove(target).filter(|a| a.n == n);
        let attempt = attempt.ok_or("an outcome of no unsettled attempt")?;
        let settled = Settled { kind: outcome.into(), commit: at.commit };
        match (target, retry_at) {
            (Target::Planned(node), Some(not_before)) => {
                self.nodes.retry(*node, settled);
                let stage = Stage::Staged { not_before };
                let next = Attempt { n: n + 1, born: at.commit, stage, driven: attempt.driven };
                self.attempts.insert(target.clone(), next);
                self.consumed += 1;
                Ok(())
            }
            (Target::Planned(node), None) => {
                let phase = match outcome {
                    Outcome::Succeeded(_) => Phase::Succeeded,
                    Outcome::Cancelled => Phase::Cancelled,
                    Outcome::Failed(_) | Outcome::TimedOut(_) | Outcome::Lost => Phase::Failed,
                };
                if n > 1 {
                    self.nodes.retry(*node, settled);
                }
                self.finish_node(*node, phase, at)
            }
            (Target::Driven(..), None) => {
                self.settled.entry(target.clone()).or_default().push(settled);
                Ok(())
            }
            (Target::Driven(..), Some(_)) => {
                Err("a driven attempt is not retried by itself".into())
            }
        }
    }

    pub(super) fn fold_wait_ended(&mut self, node: u32, end: &WaitEnd, at: At) -> Folded {
        if self.listening.remove(&node).is_none() {
            return Err("the end of a wait that nobody began".into());
        }
        let WaitEnd::Signal(seq) = end else {
            return self.finish_node(node, Phase::Failed, at);
        };
        let mut taken = false;
        for buffered in self.signals.values_mut() {
            taken |=
                buffered.front().is_some_and(|s| s.seq == *seq) && buffered.pop_front().is_some();
        }
        self.signals.retain(|_, buffered| !buffered.is_empty());
        if taken {
            self.finish_node(node, Phase::Succeeded, at)
        } else {
            Err("no such signal".into())
        }
    }

    /// What never began is cancelled; what was handed over stays until settled.
    pub(super) fn fold_cancel(&mut self, deadline: bool, at: At) -> Folded {
        self.cancel = Some(Barrier { commit: at.commit, deadline });
        self.card_commit = at.commit;
        let staged = |a: &Attempt| matches!(a.stage, Stage::Staged { .. });
        let withdrawn: Vec<Target> =
            self.attempts.iter().filter(|(_, a)| staged(a)).map(|(t, _)| t.clone()).collect();
        if let Some(plan) = &self.plan {
            self.nodes.cancel_waiting(plan, at.commit);
        }
        let timers = self.timers.keys().filter_map(|t| match t {
            TimerKey::Node(node) => Some(*node),
            TimerKey::Named(_) => None,
        });
        let waiting: Vec<u32> = timers.chain(self.listening.keys().copied()).collect();
        self.hold_timers();
        self.listening.clear();
        for target in withdrawn {
            self.attempts.remove(&target);
            let settled = Settled { kind: Ended::Cancelled, commit: at.commit };
            match target {
                Target::Planned(node) => {
                    self.nodes.retry(node, settled);
                    self.finish_node(node, Phase::Cancelled, at)?;
                }
                Target::Driven(..) => self.settled.entry(target).or_default().push(settled),
            }
        }
        waiting.into_iter().try_for_each(|node| self.finish_node(node, Phase::Cancelled, at))
    }

    pub(super) fn begin_node(&mut self, node: u32) -> Folded {
        if (node as usize) >= self.nodes.len() || !self.nodes.is_ready(node) {
            return Err(format!("node {node} is not ready"));
        }
        self.nodes.activate(node);
        Ok(())
    }

    pub(super) fn finish_node(&mut self, node: u32, phase: Phase, at: At) -> Folded {
        let Some(plan) = self.plan.clone() else {
            return Err("a node without a plan".into());
        };
        if (node as usize) >= self.nodes.len() || self.nodes.phase(node) != Phase::Active {
            return Err(format!("node {node} is not active"));
        }
        self.nodes.finish(&plan, node, phase, at.commit);
        Ok(())
    }
}
