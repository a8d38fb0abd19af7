//! The progress of a plan: a phase for each node, and what follows from them.
//!
//! Stored are phases, the commits to read, and the failed attempts of retried
//! nodes. Derived are how many parents each node still waits for, and the set
//! of ready nodes. A node whose last parent finishes either becomes ready or is
//! finished itself without running, which may finish others: one settled task
//! may close a whole branch, and no event lists its nodes.

use std::collections::{BTreeMap, BTreeSet};

use minicbor::{Decode, Encode};

use super::Settled;
use crate::event::Outcome;
use crate::plan::{Plan, Trigger};

/// Where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// It waits for others, or is ready.
    Waiting = 0,
    /// It has an unsettled attempt, an armed timer, or listens.
    Active = 1,
    /// It did its work.
    Succeeded = 2,
    /// Its last attempt failed.
    Failed = 3,
    /// It need not run: what it was there for did not happen.
    Skipped = 4,
    /// It can't run: something before it failed.
    Blocked = 5,
    /// It was cancelled.
    Cancelled = 6,
}

impl Phase {
    /// Whether nothing more happens to the node.
    #[must_use]
    pub fn finished(self) -> bool {
        !matches!(self, Self::Waiting | Self::Active)
    }

    /// One word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Active => "active",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        [
            Self::Waiting,
            Self::Active,
            Self::Succeeded,
            Self::Failed,
            Self::Skipped,
            Self::Blocked,
            Self::Cancelled,
        ]
        .get(usize::from(byte))
        .copied()
    }
}

/// How an attempt ended, without what it said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Ended {
    /// It did its work.
    #[n(0)]
    Succeeded,
    /// It did not.
    #[n(1)]
    Failed,
    /// It was told to stop.
    #[n(2)]
    Cancelled,
    /// Nobody heard of it in time.
    #[n(3)]
    TimedOut,
    /// Its worker is gone.
    #[n(4)]
    Lost,
    /// Its run ended before it did.
    #[n(5)]
    Withdrawn,
}

impl From<&Outcome> for Ended {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Succeeded(_) => Self::Succeeded,
            Outcome::Failed(_) => Self::Failed,
            Outcome::Cancelled => Self::Cancelled,
            Outcome::TimedOut(_) => Self::TimedOut,
            Outcome::Lost => Self::Lost,
        }
    }
}

/// The progress of a plan.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct Nodes {
    #[cbor(n(0), with = "minicbor::bytes")]
    phases: Vec<u8>,
    #[n(1)]
    commits: Vec<u64>,
    #[n(2)]
    retried: BTreeMap<u32, Vec<Settled>>,
    #[cbor(skip)]
    open_parents: Vec<u32>,
    #[cbor(skip)]
    ready: BTreeSet<u32>,
    #[cbor(skip)]
    unfinished: usize,
}

impl Nodes {
    /// All waiting, at the start of a plan.
    #[must_use]
    pub fn begin(plan: &Plan) -> Self {
        let count = plan.nodes.len();
        let mut nodes = Self {
            phases: vec![Phase::Waiting as u8; count],
            commits: vec![0; count],
            ..Self::default()
        };
        nodes.derive(plan);
        nodes
    }

    /// Whether the stored parts fit a plan of so many nodes.
    #[must_use]
    pub fn fits(&self, count: usize) -> bool {
        self.phases.len() == count
            && self.commits.len() == count
            && self.phases.iter().all(|b| Phase::from_byte(*b).is_some())
    }

    /// Computes what is derived from what is stored.
    pub(super) fn derive(&mut self, plan: &Plan) {
        if !self.fits(plan.nodes.len()) {
            return;
        }
        let open: Vec<bool> =
            (0_u32..).zip(&self.phases).map(|(at, _)| !self.phase(at).finished()).collect();
        let still_open = |node: &crate::plan::Node| {
            let count = node.parents.iter().filter(|p| open[**p as usize]).count();
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        self.open_parents = plan.nodes.iter().map(still_open).collect();
        self.unfinished = open.iter().filter(|open| **open).count();
        self.ready = (0_u32..)
            .zip(&self.open_parents)
            .filter(|(at, open)| **open == 0 && self.phase(*at) == Phase::Waiting)
            .map(|(at, _)| at)
            .collect();
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.phases.len()
    }

    /// Whether there is no plan.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.phases.is_empty()
    }

    /// Nodes that have not finished.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// Where a node stands.
    #[must_use]
    pub fn phase(&self, at: u32) -> Phase {
        Phase::from_byte(self.phases[at as usize]).unwrap_or(Phase::Waiting)
    }

    /// The commit that finished a node, 0 if it has not finished by one.
    #[must_use]
    pub fn commit(&self, at: u32) -> u64 {
        self.commits[at as usize]
    }

    /// The attempts of a node that were tried again, oldest first.
    #[must_use]
    pub fn retried(&self, at: u32) -> &[Settled] {
        self.retried.get(&at).map_or(&[], Vec::as_slice)
    }

    /// The nodes that can run now, lowest position first.
    pub fn ready(&self) -> impl Iterator<Item = u32> {
        self.ready.iter().copied()
    }

    /// Whether a node can run now.
    #[must_use]
    pub fn is_ready(&self, at: u32) -> bool {
        self.ready.contains(&at)
    }

    /// The node runs.
    pub(super) fn activate(&mut self, at: u32) {
        self.ready.remove(&at);
        self.phases[at as usize] = Phase::Active as u8;
    }

    /// An attempt failed and is tried again.
    pub(super) fn retry(&mut self, at: u32, settled: Settled) {
        self.retried.entry(at).or_default().push(settled);
    }

    /// The node is finished; so may be others after it.
    pub(super) fn finish(&mut self, plan: &Plan, at: u32, phase: Phase, commit: u64) {
        let mut todo = vec![(at, phase)];
        while let Some((at, phase)) = todo.pop() {
            self.ready.remove(&at);
            self.phases[at as usize] = phase as u8;
            self.commits[at as usize] = commit;
            self.unfinished -= 1;
            for &child in plan.children(at) {
                let open = &mut self.open_parents[child as usize];
                *open -= 1;
                if *open > 0 || self.phase(child) != Phase::Waiting {
                    continue;
                }
                match self.verdict(plan, child) {
                    Phase::Waiting => {
                        self.ready.insert(child);
                    }
                    finished => todo.push((child, finished)),
                }
            }
        }
    }

    /// Everything that never began is cancelled.
    pub(super) fn cancel_waiting(&mut self, plan: &Plan, commit: u64) {
        for at in 0..self.phases.len() {
            if self.phases[at] == Phase::Waiting as u8 {
                self.phases[at] = Phase::Cancelled as u8;
                self.commits[at] = commit;
            }
        }
        self.derive(plan);
    }

    /// What becomes of a node whose parents have all finished.
    fn verdict(&self, plan: &Plan, at: u32) -> Phase {
        let node = plan.node(at);
        let failed = node.parents.iter().any(|p| self.failed(plan, *p));
        match node.trigger {
            Trigger::Success if failed => Phase::Blocked,
            Trigger::Failure if !failed => Phase::Skipped,
            Trigger::Success | Trigger::Failure | Trigger::Always => Phase::Waiting,
        }
    }

    /// Whether a node's end counts as a failure for what comes after it.
    #[must_use]
    pub fn failed(&self, plan: &Plan, at: u32) -> bool {
        match self.phase(at) {
            Phase::Failed => !plan.node(at).allow_failure,
            Phase::Blocked | Phase::Cancelled => true,
            Phase::Waiting | Phase::Active | Phase::Succeeded | Phase::Skipped => false,
        }
    }

    /// Whether a failure stands that nothing collected.
    #[must_use]
    pub fn any_failed(&self, plan: &Plan) -> bool {
        let own = |at| matches!(self.phase(at), Phase::Failed | Phase::Cancelled);
        (0_u32..).zip(&plan.nodes).any(|(at, _)| own(at) && self.failed(plan, at))
    }
}
