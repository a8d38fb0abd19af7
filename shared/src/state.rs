//! The fold: what the log of one incarnation amounts to.
//!
//! [`State`] is one value that answers every question that must be true
//! together: authority, barriers, attempts, timers, signals, the plan's
//! progress, and when somebody must look again. [`State::apply`] adds a commit;
//! it does no I/O, reads no clock, and applies only what the commit says. What
//! it derives (which nodes are ready, which can't run any more) is frozen per
//! schema, since an older log must fold to the same value for ever.
//!
//! The state is live work. Of finished work it keeps a status and the number
//! of the commit to read; payloads stay in the commits that brought them. So a
//! workflow of 10,000 tasks stays far below one item.
//!
//! It fails by [`FoldError`] alone: the log contradicts itself. Nothing is
//! guessed then; the workflow is marked and left to an operator.
//!
//! Go on with `fold` for the rules by event, [`nodes`] for the plan's
//! progress, [`attempt`] for the life of an attempt.

pub mod attempt;
mod due;
mod fold;
mod memory;
pub mod nodes;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use minicbor::{Decode, Encode};

pub use attempt::{Attempt, Stage};
pub use fold::{At, FoldError, content_hash};
pub use memory::Memory;
pub use nodes::{Nodes, Phase};

use crate::event::{Ending, Owner, RunStart, Target, TimerKey};
use crate::id::{
    CommandHash, DispatchKey, Incarnation, NodeId, PackageHash, SignalName, WorkflowType,
};
use crate::labels::Labels;
use crate::plan::{Plan, PlanRef};
use crate::time::{Tick, Timestamp};

/// Whether an incarnation takes commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum Life {
    /// No commit yet.
    #[default]
    #[n(0)]
    Nothing,
    /// Something came for it before its start.
    #[n(1)]
    Unborn,
    /// Started and not ended.
    #[n(2)]
    Open,
    /// Ended; takes notes, never events.
    #[n(3)]
    Closed(#[n(0)] Ending),
    /// The start that made its card never came.
    #[n(4)]
    Abandoned,
    /// Deleted; nothing follows.
    #[n(5)]
    Deleted,
    /// Its run was continued, and the next one has not begun: never between two
    /// commits of this code.
    #[n(6)]
    Continued,
}

/// What the start said.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Run {
    /// The workflow's type.
    #[n(0)]
    pub workflow_type: WorkflowType,
    /// Which run of the chain.
    #[n(1)]
    pub number: u32,
    /// Where the plan is.
    #[n(2)]
    pub plan: Option<PlanRef>,
    /// When it is ended as timed out.
    #[n(3)]
    pub deadline: Option<Timestamp>,
    /// Attempts that may be live at once.
    #[n(4)]
    pub concurrency: Option<u32>,
    /// Attempts that it may ever have.
    #[n(5)]
    pub attempts_max: u64,
    /// The command that started it.
    #[n(6)]
    pub command: CommandHash,
    /// The commit of the start.
    #[n(7)]
    pub commit: u64,
    /// When it started.
    #[n(8)]
    pub started_at: Timestamp,
    /// The sequence number of its start; absent in checkpoints of before there
    /// were several runs.
    #[n(9)]
    pub seq: Option<u64>,
    /// Where the run before it began.
    #[n(10)]
    pub previous: Option<RunStart>,
    /// The package that it is pinned to.
    #[n(11)]
    pub package: Option<PackageHash>,
}

impl Run {
    /// Where it began.
    #[must_use]
    pub fn start(&self) -> RunStart {
        RunStart { commit: self.commit, seq: self.seq.unwrap_or(1) }
    }
}

/// A barrier: who asked is in the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Barrier {
    /// The commit that raised it.
    #[n(0)]
    pub commit: u64,
    /// The deadline raised it, nobody asked.
    #[n(1)]
    pub deadline: bool,
}

/// A signal that nobody has taken yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Buffered {
    /// Its sequence number.
    #[n(0)]
    pub seq: u64,
    /// The commit that holds its payload.
    #[n(1)]
    pub commit: u64,
}

/// A settled attempt: its status, and the commit to read for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Settled {
    /// How it ended.
    #[n(0)]
    pub kind: nodes::Ended,
    /// Where to read it.
    #[n(1)]
    pub commit: u64,
}

/// What a log amounts to.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct State {
    /// Number of the last commit, 0 for none.
    #[n(0)]
    pub commit: u64,
    /// Sequence number of the last event, 0 for none.
    #[n(1)]
    pub head: u64,
    /// Recorded time of the last commit.
    #[n(2)]
    pub time: Timestamp,
    /// Whether it takes commands.
    #[n(3)]
    pub life: Life,
    /// What the start said; absent before it.
    #[n(4)]
    pub run: Option<Run>,
    /// Who has authority.
    #[n(5)]
    pub owner: Option<Owner>,
    /// Nothing new is handed over.
    #[n(6)]
    pub paused: Option<Barrier>,
    /// The run is to end.
    #[n(7)]
    pub cancel: Option<Barrier>,
    /// Attempts ever.
    #[n(8)]
    pub consumed: u64,
    /// Progress of the plan.
    #[n(9)]
    pub nodes: Nodes,
    /// Unsettled attempts.
    #[n(10)]
    pub attempts: BTreeMap<Target, Attempt>,
    /// Settled attempts of driven activations, by their number less one.
    #[n(11)]
    pub settled: BTreeMap<Target, Vec<Settled>>,
    /// Armed timers.
    #[n(12)]
    pub timers: BTreeMap<TimerKey, Timestamp>,
    /// Nodes that wait for a signal, and until when.
    #[n(13)]
    pub listening: BTreeMap<u32, Option<Timestamp>>,
    /// Signals that nobody has taken yet.
    #[n(14)]
    pub signals: BTreeMap<SignalName, VecDeque<Buffered>>,
    /// Commands that content can't identify.
    #[n(15)]
    pub memory: Memory,
    /// A decision was cut short then and goes on at once.
    #[n(16)]
    pub continues: Option<Timestamp>,
    /// The minute in which somebody must look, at the latest.
    #[n(17)]
    pub alarm: Option<Tick>,
    /// The last checkpoint that a writer knew.
    #[n(18)]
    pub checkpoint: u64,
    /// The last commit that changed what the card shows.
    #[n(19)]
    pub card_commit: u64,
    /// The writer of the last commit.
    #[n(20)]
    pub writer: Option<crate::id::WriterId>,
    /// When the run ended.
    #[n(21)]
    pub closed_at: Timestamp,
    /// Timers of the run that its cancel or its end took away; a reopening arms
    /// them again.
    #[n(22)]
    pub held: Option<BTreeMap<TimerKey, Timestamp>>,
    /// What it is found by beside its id; absent if by nothing.
    #[n(23)]
    pub labels: Option<Box<Labels>>,
    /// The commit that forbade to delete it, until it is lifted.
    #[n(24)]
    pub legal_hold: Option<u64>,
    /// When it is deleted, if nobody reopens or holds it.
    #[n(25)]
    pub expires_at: Option<Timestamp>,
    /// The plan, found by its reference.
    #[cbor(skip)]
    plan: Option<Arc<Plan>>,
}

impl State {
    /// The plan, if the run has one.
    #[must_use]
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        self.plan.as_ref()
    }

    /// Hands in the plan that a start refers to, before that start is folded,
    /// or after a checkpoint was decoded.
    pub fn provide_plan(&mut self, plan: Arc<Plan>) {
        self.nodes.derive(&plan);
        self.plan = Some(plan);
    }

    /// Whether everything that a stored state says of nodes fits `plan`.
    #[must_use]
    pub fn fits(&self, plan: &Plan) -> bool {
        let inside = |at: &u32| (*at as usize) < plan.nodes.len();
        let attempt = |target: &Target| match target {
            Target::Planned(at) => inside(at) && plan.task(*at).is_some(),
            Target::Driven(..) => false,
        };
        let timer = |key: &TimerKey| match key {
            TimerKey::Node(at) => inside(at),
            TimerKey::Named(_) => true,
        };
        self.nodes.fits(plan.nodes.len())
            && self.attempts.keys().all(attempt)
            && self.timers.keys().all(timer)
            && self.listening.keys().all(inside)
    }

    /// Whether it takes new work.
    #[must_use]
    pub fn open(&self) -> bool {
        self.life == Life::Open
    }

    /// How it ended, if it did.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        match self.life {
            Life::Closed(ending) => Some(ending),
            _ => None,
        }
    }

    /// One word for people and for the card.
    #[must_use]
    pub fn status(&self) -> &'static str {
        match self.life {
            Life::Nothing => "starting",
            Life::Unborn => "unborn",
            Life::Open if self.cancel.is_some_and(|c| !c.deadline) => "cancelling",
            Life::Open if self.paused.is_some() => "paused",
            Life::Open => "running",
            Life::Closed(Ending::Completed) => "completed",
            Life::Closed(Ending::Failed) => "failed",
            Life::Closed(Ending::Cancelled) => "cancelled",
            Life::Closed(Ending::TimedOut) => "timed_out",
            Life::Abandoned => "abandoned",
            Life::Deleted => "deleted",
            Life::Continued => "continued_as_new",
        }
    }

    /// The attempts whose last hand-over is this commit and that nobody has taken up.
    pub fn untaken_of(&self, commit: u64) -> impl Iterator<Item = (&Target, &Attempt)> {
        self.attempts
            .iter()
            .filter(move |(_, a)| matches!(a.stage, Stage::Sent { commit: by, .. } if by == commit))
    }

    /// The name of an attempt's node.
    ///
    /// # Panics
    /// If a planned target lies outside the plan; the fold refuses such logs.
    #[must_use]
    pub fn node_id(&self, target: &Target) -> NodeId {
        match target {
            Target::Planned(at) => match &self.plan {
                Some(plan) => plan.node(*at).id.clone(),
                None => unreachable!("a planned target without a plan does not fold"),
            },
            Target::Driven(node, _) => node.clone(),
        }
    }

    /// The key of attempt `n` of `target`.
    #[must_use]
    pub fn dispatch_key(
        &self,
        partition: &str,
        incarnation: Incarnation,
        target: &Target,
        n: u32,
    ) -> DispatchKey {
        let run = self.run.as_ref().map_or(1, |run| run.number);
        let activation = match target {
            Target::Planned(_) => 1,
            Target::Driven(_, activation) => *activation,
        };
        let node = self.node_id(target);
        DispatchKey::derive(partition, incarnation, run, &node, activation, n)
    }
}
