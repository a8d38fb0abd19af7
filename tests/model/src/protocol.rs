//! The protocol as a state machine that a checker can walk.
//!
//! What it is: a scenario and a set of rules, as a [`stateright::Model`].
//!
//! ```text
//!            Take / Look            Load              card step             Put                      Done
//!   message ────────────▶ read card ────▶ decide ─────────────▶ Lower/Bump ────▶ Send, Show, Raise ─────▶ idle
//!                             ▲             ▲                                │
//!                             │ start       └───────── put lost ◀────────────┤
//!                             └───────────────────────────────────────────────┘
//!   anywhere: Crash.  Every write: Answered, AnswerLost (again), Late (again; Arrive at any time, or never).
//! ```
//!
//! It promises that every action is one read or one write of one process, or one event of the world.
//! It deliberately has no fairness: that is [`crate::liveness`]'s.
//! It fails (panics) only on actions that were not offered; [`Protocol::replay`] checks that first.
//! Where next: [`crate::properties`] for what must hold.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use stateright::{Model, Property};

use crate::process::{At, Task};
use crate::properties::properties;
use crate::rules::Rules;
use crate::scenario::Scenario;
use crate::store::Store;
use crate::vocabulary::{
    Action, Card, Commit, Few, ItemKind, NEVER, Outcome, ProcessId, Reply, Status, Tick, Verb,
    Write, Writer,
};

/// A process: where it stands and what it may still do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    /// Where it stands.
    pub at: At,
    /// How many looks it may still begin.
    pub looks: u8,
    /// How often it has given up.
    pub life: u8,
}

/// The whole world at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The time.
    pub now: Tick,
    /// Logs and card.
    pub store: Store,
    /// The processes.
    pub processes: Vec<Process>,
    /// Late writes, ordered.
    pub in_flight: Vec<Write>,
    /// How many more writes may go unanswered.
    pub unanswered: u8,
    /// Commands that are not done.
    pub pending: Few,
    /// Items of which the queue holds a message.
    pub queue: Few,
    /// Messages that the receiver's log shows.
    pub shown: Few,
}

/// A scenario under a set of rules.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// The small world.
    pub scenario: Scenario,
    /// The rules that are followed in it.
    pub rules: Rules,
    /// States from which everything is known to settle (see [`crate::liveness`]).
    pub(crate) settled: Arc<Mutex<HashSet<u64>>>,
}

impl Protocol {
    /// A scenario under a set of rules.
    pub fn new(scenario: Scenario, rules: Rules) -> Protocol {
        Protocol { scenario, rules, settled: Arc::default() }
    }

    /// The actions that are possible in `state`.
    pub fn offered(&self, state: &State) -> Vec<Action> {
        let mut actions = Vec::new();
        self.actions(state, &mut actions);
        actions
    }

    /// The state that a schedule leads to.
    ///
    /// # Errors
    /// The position of the first action that is not possible.
    pub fn replay(&self, schedule: &[Action]) -> Result<State, usize> {
        let mut state = self.first_state();
        for (position, action) in schedule.iter().enumerate() {
            if !self.offered(&state).contains(action) {
                return Err(position);
            }
            self.step(&mut state, action);
        }
        Ok(state)
    }

    /// The state in which the exploration begins.
    pub fn first_state(&self) -> State {
        let scenario = &self.scenario;
        State {
            now: scenario.now,
            store: self.first_store(),
            processes: scenario
                .processes
                .iter()
                .map(|role| Process { at: At::Idle, looks: role.looks, life: 0 })
                .collect(),
            in_flight: Vec::new(),
            unanswered: scenario.unanswered,
            pending: scenario.sent,
            queue: Few::NONE,
            shown: Few::NONE,
        }
    }

    /// A begun workflow: commit 1 and one commit for each timer after the first, all by nobody.
    fn first_store(&self) -> Store {
        let Some(begun) = &self.scenario.begun else { return Store::default() };
        let alarm = begun.dues.iter().copied().min().unwrap_or(NEVER);
        let nobody = Commit::empty(Writer { process: u8::MAX, life: 0 });
        let add = |(id, &due): (u8, &Tick)| Commit { adds: Few::of(&[id]), due, ..nobody };
        let mut log: Vec<Commit> = (0..).zip(&begun.dues).map(add).collect();
        if log.is_empty() {
            log.push(nobody);
        }
        log[0].status = Some(Status::Running);
        log[0].alarm = Some(alarm);
        let card = Card {
            incarnation: 1,
            alarm_at: alarm,
            alarm_rev: 0,
            status: Status::Running,
            as_of: 1,
        };
        Store { logs: vec![log], card: Some(card), breach: None }
    }

    /// Carries one action out.
    ///
    /// # Panics
    /// If the action was not offered in this state.
    pub fn step(&self, state: &mut State, action: &Action) {
        match *action {
            Action::Take(process, command) => {
                self.stand(state, process, self.begin(state, process, command))
            }
            Action::Look(process) => {
                let seen = self.seen(state, Task::Look);
                let looks = &mut state.processes[usize::from(process)].looks;
                *looks = looks.saturating_sub(1);
                self.stand(state, process, At::Load { task: Task::Look, seen, lost: false });
            }
            Action::ReadCard(process) => self.read_card(state, process),
            Action::Load(process) => {
                let At::Load { task, seen, lost } = state.processes[usize::from(process)].at else {
                    panic!("process {process} is not about to load");
                };
                self.stand(state, process, self.decide(state, process, task, seen, lost));
            }
            Action::Write(process, write, outcome) => self.write(state, process, write, outcome),
            Action::Send(process, item) => self.send(state, process, item),
            Action::Done(process) => self.done(state, process),
            Action::Crash(process) => self.stand(state, process, At::Dead),
            Action::GiveUp(process) => {
                state.processes[usize::from(process)].life += 1;
                self.stand(state, process, At::Idle);
            }
            Action::Arrive(write) => {
                let place = state.in_flight.iter().position(|late| *late == write);
                state.in_flight.remove(place.expect("the write is in flight"));
                state.store.land(&self.rules, &write);
            }
            Action::Redeliver(command) => state.pending = state.pending.with(command),
            Action::Work { item, again } => self.work(state, item, again),
            Action::Lose(item) => state.queue = state.queue.without(item),
            Action::Advance => state.now += 1,
        }
        let State { store, in_flight, .. } = state;
        in_flight.retain(|write| !store.is_spent(&self.rules, write));
    }

    fn stand(&self, state: &mut State, process: ProcessId, at: At) {
        let at = if let At::After(after) = at { self.rest(after) } else { at };
        state.processes[usize::from(process)].at = at;
    }

    fn write(&self, state: &mut State, process: ProcessId, write: Write, outcome: Outcome) {
        match outcome {
            Outcome::Answered => {
                let reply = state.store.land(&self.rules, &write);
                let at = self.replied(state, process, reply);
                return self.stand(state, process, at);
            }
            Outcome::AnswerLost => {
                state.store.land(&self.rules, &write);
            }
            Outcome::Late => {
                state.in_flight.push(write);
                state.in_flight.sort_unstable();
            }
        }
        state.unanswered -= 1;
        if !self.rules.unknown_is_put_again && matches!(write, Write::Put { .. }) {
            let at = self.replied(state, process, Reply::Landed);
            self.stand(state, process, at);
        }
    }

    fn read_card(&self, state: &mut State, process: ProcessId) {
        let rev = state.store.card.map(|card| card.alarm_rev);
        let incarnation = state.store.card.map(|card| card.incarnation);
        let at = match state.processes[usize::from(process)].at {
            At::Card(command) => self.begin(state, process, command),
            At::Rev(mut work) if incarnation == Some(work.seen.incarnation) => {
                work.seen.rev = rev;
                At::Put(work)
            }
            At::Rev(_) => At::Idle,
            At::After(mut after) => {
                after.rev = rev;
                At::After(after)
            }
            at => panic!("process {process} is not about to read the card: {at:?}"),
        };
        self.stand(state, process, at);
    }

    fn send(&self, state: &mut State, process: ProcessId, item: u8) {
        let At::After(mut after) = state.processes[usize::from(process)].at else {
            panic!("process {process} has nothing to send");
        };
        after.send = after.send.without(item);
        if self.rules.look_resends || after.task != Task::Look {
            state.queue = state.queue.with(item);
        }
        self.stand(state, process, At::After(after));
    }

    /// A worker takes a dispatch up and sends its settle; a receiver takes a message into its log.
    fn work(&self, state: &mut State, item: u8, again: bool) {
        if !again {
            state.queue = state.queue.without(item);
        }
        if self.scenario.items[usize::from(item)] == ItemKind::Message {
            state.shown = state.shown.with(item);
        }
        for (id, command) in (0..).zip(&self.scenario.commands) {
            if command.verb == Verb::Settle(item) {
                state.pending = state.pending.with(id);
            }
        }
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.first_state()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for process in 0..state.processes.len() as u8 {
            self.offer(state, process, actions);
        }
        for (index, write) in state.in_flight.iter().enumerate() {
            if index == 0 || state.in_flight[index - 1] != *write {
                actions.push(Action::Arrive(*write));
            }
        }
        let done = self.scenario.again.iter().filter(|&command| !state.pending.has(command));
        actions.extend(done.map(Action::Redeliver));
        for item in state.queue.iter() {
            actions.push(Action::Work { item, again: false });
            actions.push(Action::Work { item, again: true });
            if self.scenario.lossy {
                actions.push(Action::Lose(item));
            }
        }
        if state.now < self.scenario.now_max {
            actions.push(Action::Advance);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        self.step(&mut state, &action);
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Protocol>> {
        properties()
    }
}
