//! A workflow in memory: commands and looks in, commits and states out.
//!
//! [`Log`] does what the fleet does, without I/O: it decides on a draft, seals
//! it, encodes the commit, and folds what it decodes into a second state. After
//! every commit it checks what must hold after every commit, so each test of a
//! decision is a test of the fold as well. It hands a decision what it needs
//! from the log, as the fleet would.

#![allow(dead_code, reason = "each test target uses a part of it")]

pub mod checks;
mod message;
pub mod random;

pub use message::*;

use std::sync::Arc;

use everlog::Rejection;
use everlog::command::Command;
use everlog::commit::{self, Commit, SCHEMA_READ_MAX};
use everlog::decide::{Context, Decided, Draft, Look, Needs, Refused, decide, look};
use everlog::event::{Event, Note, Target};
use everlog::id::CommandHash;
use everlog::plan::{Plan, compile};
use everlog::state::{Attempt, Phase, State};
use everlog::time::Timestamp;
use serde_json::{Value, json};

/// When every test begins; the start of a minute.
pub const T0: Timestamp = Timestamp(1_800_000_000_000);
pub const SECOND: u64 = 1_000;
pub const MINUTE: u64 = 60 * SECOND;
pub const HOUR: u64 = 60 * MINUTE;
pub const DAY: u64 = 24 * HOUR;

pub const PARTITION: &str = "default#w";
pub const LIFE: u64 = 7;

/// A log with the state that it leads to.
#[derive(Clone)]
pub struct Log {
    pub state: State,
    pub commits: Vec<Commit>,
    pub now: Timestamp,
    /// When the next command was sent; at once where absent.
    pub sent: Option<Timestamp>,
    /// How long what has ended is kept; for ever where absent.
    pub retention_ms: Option<u64>,
    folded: State,
    plan: Option<Arc<Plan>>,
    commands: u64,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    Committed(Decided),
    Unchanged(Decided),
    Rejected(Rejection),
}

impl Told {
    #[track_caller]
    pub fn committed(self) -> Decided {
        let Self::Committed(decided) = self else { panic!("not committed, but {self:?}") };
        decided
    }

    #[track_caller]
    pub fn unchanged(self) -> Decided {
        let Self::Unchanged(decided) = self else { panic!("not unchanged, but {self:?}") };
        decided
    }

    #[track_caller]
    pub fn rejected(self) -> Rejection {
        let Self::Rejected(rejection) = self else { panic!("not rejected, but {self:?}") };
        rejection
    }

    #[track_caller]
    pub fn conflict(self) -> String {
        let Rejection::Conflict { what } = self.rejected() else { panic!("not a conflict") };
        what
    }

    #[track_caller]
    pub fn wrong_state(self) -> String {
        let Rejection::WrongState { state } = self.rejected() else { panic!("no wrong state") };
        state
    }
}

impl Log {
    /// No commit yet.
    pub fn new() -> Self {
        Self {
            state: State::default(),
            folded: State::default(),
            commits: Vec::new(),
            now: T0,
            sent: Some(T0),
            retention_ms: None,
            plan: None,
            commands: 0,
        }
    }

    /// A workflow with this plan, started.
    #[track_caller]
    pub fn planned(plan: Value) -> Self {
        let mut log = Self::new();
        log.tell(json!({"start": {"plan": plan}})).committed();
        log
    }

    /// Tasks without retries, the names of those that each comes after behind a colon.
    #[track_caller]
    pub fn tasks(tasks: &[&str]) -> Self {
        Self::planned(
            json!({"tasks": task_list(tasks), "defaults": {"retry": {"max_attempts": 1}}}),
        )
    }

    /// A driven workflow, started.
    #[track_caller]
    pub fn driven() -> Self {
        let mut log = Self::new();
        log.tell(json!({"start": {}})).committed();
        log
    }

    /// A driven workflow with an owner.
    #[track_caller]
    pub fn owned() -> Self {
        let mut log = Self::driven();
        log.tell(json!({"claim": {"owner": owner(1)}})).committed();
        log
    }

    /// Time goes on.
    pub fn wait(&mut self, ms: u64) {
        self.now = self.now.plus_ms(ms);
    }

    /// Gives a command of a new id.
    #[track_caller]
    pub fn tell(&mut self, verb: Value) -> Told {
        self.commands += 1;
        self.tell_as(&format!("c{}", self.commands), verb)
    }

    /// Gives a command of this id, with what it needs from the log.
    #[track_caller]
    pub fn tell_as(&mut self, id: &str, verb: Value) -> Told {
        let command = command(id, &verb);
        let mut context = self.context_of(&command);
        loop {
            match self.try_command(&context, &command) {
                Ok(told) => return told,
                Err(Needs::Commit(n)) => {
                    assert!(context.found.commit.is_none(), "asks for a commit twice");
                    let found = self.commits[index(n) - 1].clone();
                    context.found.commit = Some((n, Arc::new(found)));
                }
                Err(Needs::Search) => {
                    assert!(context.found.repeat.is_none(), "searches twice");
                    context.found.repeat = Some(self.find(&command));
                }
                Err(Needs::Sequence(seq)) => {
                    let (expected, found) = (seq - 1, self.state.head);
                    let events = Vec::new();
                    let conflict = Rejection::SequenceConflict { expected, found, events };
                    return Told::Rejected(conflict);
                }
            }
        }
    }

    /// Gives a command without looking anything up for it.
    #[track_caller]
    pub fn tell_bare(&mut self, id: &str, verb: Value) -> Result<Told, Needs> {
        let command = command(id, &verb);
        let context = self.context_of(&command);
        self.try_command(&context, &command)
    }

    #[track_caller]
    fn try_command(&mut self, context: &Context, command: &Command) -> Result<Told, Needs> {
        let mut draft = Draft::new(&self.state, self.now).keeping(self.retention_ms);
        let before = draft.clone();
        match decide(&mut draft, context, command) {
            Ok(decided) if draft.is_empty() => Ok(Told::Unchanged(decided)),
            Ok(decided) => {
                self.commit(draft, false);
                Ok(Told::Committed(decided))
            }
            Err(refused) => {
                assert_eq!(draft.size(), before.size(), "a refusal emits nothing");
                assert_eq!(draft.state(), before.state(), "a refusal changes nothing");
                match refused {
                    Refused::Rejected(rejection) => Ok(Told::Rejected(*rejection)),
                    Refused::Needs(needs) => Err(needs),
                    Refused::Damaged(error) => panic!("{error}"),
                }
            }
        }
    }

    /// Looks; the commit, if one was made.
    #[track_caller]
    pub fn look(&mut self, mode: Look) -> Option<Commit> {
        let mut draft = Draft::new(&self.state, self.now).keeping(self.retention_ms);
        look(&mut draft, &self.context(), mode).expect("a look that folds");
        if draft.is_empty() {
            return None;
        }
        self.commit(draft, mode == Look::Alarm);
        self.commits.last().cloned()
    }

    /// Goes on with what a decision left over, as the fleet does at once.
    #[track_caller]
    pub fn go_on(&mut self) -> usize {
        let before = self.commits.len();
        while self.state.continues.is_some() {
            assert!(self.look(Look::Wake).is_some(), "what continues makes a commit");
        }
        self.commits.len() - before
    }

    #[track_caller]
    pub fn commit(&mut self, draft: Draft, look: bool) {
        let n = self.commits.len() as u64 + 1;
        let sealed = draft.seal(writer(n), look);
        assert_eq!(sealed.number, n, "commits are numbered without gaps");
        let bytes = commit::encode(SCHEMA_READ_MAX, &sealed.commit);
        let read: Commit = commit::decode(&bytes, SCHEMA_READ_MAX).expect("a commit");
        assert_eq!(read, sealed.commit, "decoding gives what was encoded");
        if let Some(plan) = &self.plan
            && self.folded.run.is_none()
        {
            self.folded.provide_plan(plan.clone());
        }
        self.folded.apply(n, &read).expect("a commit that folds");
        checks::after_commit(&self.state, &sealed, &self.folded);
        self.state = sealed.state;
        self.commits.push(read);
    }

    pub fn context(&self) -> Context {
        Context {
            partition: PARTITION.into(),
            incarnation: LIFE,
            now: self.now,
            sent: self.sent,
            ..Context::default()
        }
    }

    fn context_of(&mut self, command: &Command) -> Context {
        let mut context = self.context();
        if let everlog::command::Verb::Start(start) = &command.command
            && let Some(spec) = &start.plan
            && self.state.run.is_none()
        {
            let plan = Arc::new(compile(spec).expect("a plan"));
            self.plan = Some(plan.clone());
            context.plan = Some((reference(&plan), plan));
        }
        context
    }

    fn find(&self, command: &Command) -> Option<u64> {
        let hash = CommandHash::from(&command.id);
        let found = self.commits.iter().rposition(|commit| commit.answers.contains(&hash));
        found.map(|at| at as u64 + 1)
    }

    /// The events of the last commit.
    pub fn events(&self) -> &[Event] {
        self.commits.last().map_or(&[], |commit| &commit.events)
    }

    /// The notes of the last commit.
    pub fn notes(&self) -> Vec<&Note> {
        self.commits.last().map_or(Vec::new(), |c| c.notes.iter().map(|p| &p.note).collect())
    }

    /// The target of a task, or of activation 1 of an activity.
    pub fn target(&self, name: &str) -> Target {
        let id = node(name);
        match self.state.plan() {
            Some(plan) => Target::Planned(plan.position(&id).expect("a task of the plan")),
            None => Target::Driven(id, 1),
        }
    }

    pub fn phase(&self, name: &str) -> Phase {
        match self.target(name) {
            Target::Planned(at) => self.state.nodes.phase(at),
            Target::Driven(..) => panic!("only a planned task has a phase"),
        }
    }

    /// The phases of all tasks, one letter each.
    pub fn phases(&self) -> String {
        let count = u32::try_from(self.state.nodes.len()).expect("few nodes");
        (0..count).map(|at| &self.state.nodes.phase(at).word()[..1]).collect()
    }

    /// The unsettled attempt of a task or activity.
    #[track_caller]
    pub fn live(&self, name: &str) -> &Attempt {
        let target = self.target(name);
        self.state.attempts.get(&target).unwrap_or_else(|| panic!("{name} has no live attempt"))
    }

    pub fn is_live(&self, name: &str) -> bool {
        self.state.attempts.contains_key(&self.target(name))
    }

    #[track_caller]
    pub fn settle(&mut self, name: &str, n: u32, outcome: Value) -> Told {
        self.tell(json!({"settle": {"attempt": attempt(name, n), "outcome": outcome}}))
    }

    /// Settles the live attempt of a task.
    #[track_caller]
    pub fn succeed(&mut self, name: &str) {
        let n = self.live(name).n;
        self.settle(name, n, succeeded()).committed();
    }

    /// Settles the live attempt of a task.
    #[track_caller]
    pub fn fail(&mut self, name: &str) {
        let n = self.live(name).n;
        self.settle(name, n, failed("broken")).committed();
    }

    #[track_caller]
    pub fn receipt(&mut self, name: &str, n: u32, worker: &str) -> Told {
        self.tell(json!({"receipt": {"attempt": attempt(name, n), "worker": worker}}))
    }

    #[track_caller]
    pub fn beat(&mut self, name: &str, n: u32, worker: &str) -> Told {
        self.tell(json!({"heartbeat": {"attempt": attempt(name, n), "worker": worker}}))
    }

    /// Prepares attempt `n` of activation 1, as owner 1 if there is one.
    #[track_caller]
    pub fn prepare(&mut self, name: &str, n: u32) -> Told {
        let mut prepare = json!({"intent": intent(name, n)});
        if self.state.owner.is_some() {
            prepare["owner"] = owner(1);
        }
        self.tell(json!({"prepare": prepare}))
    }

    #[track_caller]
    pub fn signal(&mut self, name: &str) -> Told {
        self.tell(json!({"signal": {"name": name}}))
    }
}
