//! Liveness, as a closure: from here, does a fair run discharge everything?
//!
//! What it is: from every reachable state, the surviving processes are run in a fixed fair order until nothing is left to do;
//! then nothing may be outstanding and the card must agree with the log.
//! It promises, checked in *every* reachable state, that no reachable state is a trap: whatever went wrong before, a good end stays reachable,
//! so it is reached for certain by any schedule that is fair to every finite sequence of steps.
//! It deliberately does not use stateright's `eventually`, which is unsound on graphs with cycles and joins.
//! It fails by returning false: a livelock (too many steps) or a quiet state that is not good.
//! Where next: [`crate::properties`].
//!
//! A write in flight counts as lost here; that it may still arrive is an action of the explored graph, after which the closure is taken again.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::fold::fold;
use crate::process::{At, Next};
use crate::protocol::{Protocol, State};
use crate::scenario::Orphaned;
use crate::vocabulary::{Action, Few, ItemKind, NEVER, Outcome, ProcessId, Status};

/// A fair run longer than this is a livelock: no scenario needs a quarter of it.
const STEPS_MAX: usize = 400;

impl Protocol {
    /// Whether a fair run of the surviving processes from `state` discharges everything.
    pub fn settles(&self, state: &State) -> bool {
        let mut state = self.left_alone(state);
        let mut passed = Vec::new();
        for _ in 0..STEPS_MAX {
            let print = BuildHasherDefault::<DefaultHasher>::default().hash_one(&state);
            let mut settled = self.settled.lock().expect("no checker thread has panicked");
            passed.push(print);
            if settled.contains(&print) {
                settled.extend(passed);
                return true;
            }
            if let Some(action) = self.fair_action(&state).or_else(|| self.wake(&mut state)) {
                self.step(&mut state, &action);
            } else if self.is_settled(&state) {
                settled.extend(passed);
                return true;
            } else {
                return false;
            }
        }
        false
    }

    /// The state without what may still go wrong: late writes are lost, every write is answered, sweeps look whenever an alarm is due.
    fn left_alone(&self, state: &State) -> State {
        let mut state = state.clone();
        state.in_flight.clear();
        state.unanswered = 0;
        for (process, role) in state.processes.iter_mut().zip(&self.scenario.processes) {
            process.looks = 0;
            let replaced = self.scenario.orphaned == Orphaned::Redelivered && role.looks == 0;
            if replaced && process.at == At::Dead {
                process.at = At::Idle;
            }
        }
        state
    }

    /// A sweep's look, alarm or not, once for all commands that died with their direct invocation.
    fn wake(&self, state: &mut State) -> Option<Action> {
        let woken = self.scenario.orphaned == Orphaned::Woken && !state.pending.is_empty();
        if !woken || state.store.card.is_none() {
            return None;
        }
        state.pending = Few::NONE;
        self.idle_sweep(state).map(Action::Look)
    }

    fn idle_sweep(&self, state: &State) -> Option<ProcessId> {
        let roles = self.scenario.processes.iter().zip(&state.processes);
        let sweeps = (0..).zip(roles).filter(|(_, (role, _))| role.looks > 0);
        sweeps.filter(|(_, (_, here))| here.at == At::Idle).map(|(process, _)| process).next()
    }

    /// The next step of the fair run; none if all is quiet.
    pub fn fair_action(&self, state: &State) -> Option<Action> {
        let processes = || (0..).zip(&state.processes).zip(&self.scenario.processes);
        for ((process, here), _) in processes() {
            match self.next_of(&here.at) {
                None => {}
                Some(Next::ReadCard) => return Some(Action::ReadCard(process)),
                Some(Next::Load) => return Some(Action::Load(process)),
                Some(Next::Send(item)) => return Some(Action::Send(process, item)),
                Some(Next::Done) => return Some(Action::Done(process)),
                Some(Next::Write(write)) => {
                    return Some(Action::Write(process, write, Outcome::Answered));
                }
            }
        }
        for ((process, here), role) in processes() {
            if let (At::Idle, Some(command)) = (here.at, role.takes.and(state.pending).first()) {
                return Some(Action::Take(process, command));
            }
        }
        if let Some(item) = state.queue.first() {
            return Some(Action::Work { item, again: false });
        }
        let alarm_at = state.store.card.map_or(NEVER, |card| card.alarm_at);
        let sweep = self.idle_sweep(state)?;
        match alarm_at {
            NEVER => None,
            due if due <= state.now => Some(Action::Look(sweep)),
            _ => Some(Action::Advance),
        }
    }

    /// Whether a quiet state is a good one.
    fn is_settled(&self, state: &State) -> bool {
        // A command that is left has no living process, see `Orphaned`.
        let swept = self.scenario.processes.iter().any(|role| role.looks > 0);
        let Some(card) = state.store.card else { return true };
        let folded = fold(&self.scenario.items, state.store.log(card.incarnation));
        let left = folded.outstanding();
        if !swept {
            // Without an alarm: the dispatches at least, by redelivery alone.
            let dispatch = |&id: &u8| self.scenario.items[usize::from(id)] == ItemKind::Dispatch;
            return !left.iter().any(|id| dispatch(&id));
        }
        let shown = card.status == folded.status && card.status != Status::Starting;
        left.is_empty() && card.alarm_at == NEVER && shown
    }
}
