//! Where a process stands, and what it does next.
//!
//! What it is: the program of every function (take, read, decide, card step, put, relay, card, done) and of the sweep, one read or write a step.
//! It promises that everything a process knows is in [`At`]; whatever is not needed any more is set to a fixed value, so that equal futures are equal states.
//! It deliberately decides nothing about time, loss or order: that is [`crate::protocol`]'s.
//! It fails by going back to the read that its refused write calls for; it never retries a refused write unchanged.
//! Where next: [`crate::decide`] for what follows a load.

use crate::protocol::{Protocol, State};
use crate::store::Breach;
use crate::vocabulary::{
    Action, CommandId, Commit, Few, Incarnation, ItemId, Number, Outcome, ProcessId, Reply, Status,
    Tick, Verb, Write,
};

/// What a process works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// A command message.
    Command(CommandId),
    /// A sweep's look.
    Look,
}

/// What was read from the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seen {
    /// The incarnation that is worked on.
    pub incarnation: Incarnation,
    /// `alarm_rev`, if it was read and is needed.
    pub rev: Option<u8>,
    /// `alarm_at`, if it is needed.
    pub alarm_at: Tick,
    /// `as_of`, if it is needed.
    pub as_of: Number,
}

/// A decision on its way into the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Work {
    /// What it is for.
    pub task: Task,
    /// What was read.
    pub seen: Seen,
    /// The number it is put at.
    pub number: Number,
    /// The commit.
    pub commit: Commit,
    /// A status that a sweep found missing on the card.
    pub show: Option<(Status, Number)>,
}

/// What is left to do after the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct After {
    /// What it is for.
    pub task: Task,
    /// The incarnation.
    pub incarnation: Incarnation,
    /// The `alarm_rev` on which the alarm may be raised.
    pub rev: Option<u8>,
    /// To lower the alarm (only if the rule *card first* is left out).
    pub lower: Option<Tick>,
    /// To hand over.
    pub send: Few,
    /// To show on the card.
    pub show: Option<(Status, Number)>,
    /// To raise the alarm to.
    pub raise: Option<Tick>,
    /// Whether the answer claims a commit.
    pub claims: bool,
    /// Whether the message is done already (only if the rule *relay before done* is left out).
    pub done: bool,
}

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// It waits for a message.
    Idle,
    /// It has stopped for ever.
    Dead,
    /// A starter about to read the card again.
    Card(CommandId),
    /// About to read the log and decide.
    Load {
        /// What for.
        task: Task,
        /// What was read before.
        seen: Seen,
        /// Whether a put was lost just before (only if the rule *card step after a lost put* is left out).
        lost: bool,
    },
    /// About to write the card of a new incarnation.
    Create {
        /// The start.
        command: CommandId,
        /// The incarnation that has ended.
        over: Option<Incarnation>,
        /// When somebody must look.
        alarm: Tick,
    },
    /// A warm sweep about to read `alarm_rev`.
    Rev(Work),
    /// About to move the alarm down.
    Lower(Work),
    /// About to count `alarm_rev` up, because the alarm is early enough.
    Bump(Work),
    /// About to put.
    Put(Work),
    /// The commit is in, or none was needed.
    After(After),
}

impl After {
    /// Nothing to do but to answer.
    pub fn answer(task: Task, incarnation: Incarnation, claims: bool) -> After {
        After {
            task,
            incarnation,
            rev: None,
            lower: None,
            send: Few::NONE,
            show: None,
            raise: None,
            claims,
            done: false,
        }
    }
}

/// What a process does next, if it is not idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It reads the card.
    ReadCard,
    /// It reads the log.
    Load,
    /// It writes.
    Write(Write),
    /// It hands an item over.
    Send(ItemId),
    /// It deletes its message.
    Done,
}

impl Protocol {
    /// What the process does next; none if it is idle or dead.
    pub fn next_of(&self, at: &At) -> Option<Next> {
        Some(match *at {
            At::Idle | At::Dead => return None,
            At::Card(_) | At::Rev(_) => Next::ReadCard,
            At::Load { .. } => Next::Load,
            At::Create { over, alarm, .. } => Next::Write(Write::Create { over, alarm }),
            At::Lower(Work { seen, commit, .. }) => {
                Next::Write(Write::Lower { incarnation: seen.incarnation, to: commit.alarm? })
            }
            At::Bump(Work { seen, commit, .. }) => {
                Next::Write(Write::Bump { incarnation: seen.incarnation, to: commit.alarm? })
            }
            At::Put(Work { seen, number, commit, .. }) => {
                Next::Write(Write::Put { incarnation: seen.incarnation, number, commit })
            }
            At::After(after) => self.next_after(&after),
        })
    }

    fn next_after(&self, after: &After) -> Next {
        let incarnation = after.incarnation;
        let early = !self.rules.relay_before_done && !after.done && after.task != Task::Look;
        if let Some(to) = after.lower {
            Next::Write(Write::Lower { incarnation, to })
        } else if early {
            Next::Done
        } else if let Some(item) = after.send.first() {
            Next::Send(item)
        } else if let Some((status, as_of)) = after.show {
            Next::Write(Write::Show { incarnation, status, as_of })
        } else if let (Some(to), Some(rev)) = (after.raise, after.rev) {
            Next::Write(Write::Raise { incarnation, rev, to })
        } else if after.raise.is_some() {
            Next::ReadCard
        } else {
            Next::Done
        }
    }

    /// Offers what `process` can do in `state`.
    pub fn offer(&self, state: &State, process: ProcessId, actions: &mut Vec<Action>) {
        let role = &self.scenario.processes[usize::from(process)];
        let here = &state.processes[usize::from(process)];
        match self.next_of(&here.at) {
            None if here.at == At::Dead => return,
            None => {
                actions
                    .extend(role.takes.and(state.pending).iter().map(|c| Action::Take(process, c)));
                if here.looks > 0 && state.store.card.is_some() {
                    actions.push(Action::Look(process));
                }
                let more = role.takes.and(state.pending.or(self.scenario.again));
                if more.is_empty() && here.looks == 0 {
                    return; // whether it is dead makes no difference any more
                }
            }
            Some(Next::ReadCard) => actions.push(Action::ReadCard(process)),
            Some(Next::Load) => actions.push(Action::Load(process)),
            Some(Next::Send(item)) => actions.push(Action::Send(process, item)),
            Some(Next::Done) => actions.push(Action::Done(process)),
            Some(Next::Write(write)) => {
                actions.push(Action::Write(process, write, Outcome::Answered));
                if state.unanswered > 0 {
                    actions.push(Action::Write(process, write, Outcome::AnswerLost));
                    actions.push(Action::Write(process, write, Outcome::Late));
                }
            }
        }
        if matches!(here.at, At::Put(_)) && here.life < role.give_ups {
            actions.push(Action::GiveUp(process));
        }
        if role.mortal {
            actions.push(Action::Crash(process));
        }
    }

    /// What the process does once `write` was answered with `reply`.
    pub fn replied(&self, state: &State, process: ProcessId, reply: Reply) -> At {
        let card = state.store.card;
        match state.processes[usize::from(process)].at {
            At::Create { command, .. } if reply == Reply::Landed => {
                // The log of a new incarnation is empty: decide without reading it.
                let seen = self.seen(state, Task::Command(command));
                self.decide(state, process, Task::Command(command), seen, false)
            }
            At::Create { command, .. } => At::Card(command),
            At::Lower(work) | At::Bump(work) if reply == Reply::Landed => {
                At::Put(with_rev(work, card))
            }
            At::Lower(work) if is_of(card, &work) && self.rules.bump => At::Bump(work),
            At::Lower(work) if is_of(card, &work) => At::Put(work),
            At::Bump(work) if is_of(card, &work) => At::Lower(work),
            At::Lower(work) | At::Bump(work) => {
                At::Load { task: work.task, seen: work.seen, lost: false }
            }
            At::Put(work) if reply != Reply::Refused => At::After(self.after_put(&work)),
            At::Put(work) => match work.task {
                Task::Command(command) if self.verb(command) == Verb::Start => At::Card(command),
                task => {
                    let lost = !self.rules.card_step_after_lost_put;
                    At::Load { task, seen: work.seen, lost }
                }
            },
            At::After(after) => self.continued(after),
            at => at,
        }
    }

    /// The write of `after` that came first is done.
    fn continued(&self, mut after: After) -> At {
        if after.lower.take().is_none() && after.show.take().is_none() {
            after.raise = None;
            after.rev = None;
        }
        self.rest(after)
    }

    /// A sweep that has nothing left to do is idle again; a command's process still has to delete the message.
    pub fn rest(&self, mut after: After) -> At {
        if after.raise.is_none() {
            after.rev = None;
        }
        let idle = after.send.is_empty()
            && after.show.is_none()
            && after.raise.is_none()
            && after.lower.is_none();
        if idle && (after.done || after.task == Task::Look) { At::Idle } else { At::After(after) }
    }

    /// What is left to do once `work` is in.
    pub fn after_put(&self, work: &Work) -> After {
        let commit = &work.commit;
        let raises = match work.task {
            Task::Look => true,
            Task::Command(command) => matches!(self.verb(command), Verb::Close | Verb::Delete),
        };
        let can_raise = work.seen.rev.is_some() || !self.rules.rev_read_before_put;
        let raise = if raises && can_raise { commit.alarm } else { None };
        let lower = if self.rules.card_first || raises { None } else { commit.alarm };
        After {
            task: work.task,
            incarnation: work.seen.incarnation,
            rev: if self.rules.rev_read_before_put && raises { work.seen.rev } else { None },
            lower,
            send: self.sendable(commit.adds).or(commit.looked),
            show: commit.status.map(|status| (status, work.number)).or(work.show),
            raise,
            claims: true,
            done: false,
        }
    }

    /// Deletes the message of a process that has answered.
    pub fn done(&self, state: &mut State, process: ProcessId) {
        let At::After(mut after) = state.processes[usize::from(process)].at else { return };
        if let Task::Command(command) = after.task {
            state.pending = state.pending.without(command);
            let is_in =
                |log: &Vec<Commit>| log.iter().any(|commit| commit.command == Some(command));
            if after.claims && !state.store.logs.iter().any(is_in) {
                state.store.note(Breach::AnsweredWithoutCommit);
            }
        }
        after.done = true;
        state.processes[usize::from(process)].at = self.rest(after);
    }
}

/// A process may build on the `alarm_rev` that its own card step left: it was read before the put.
fn with_rev(mut work: Work, card: Option<crate::vocabulary::Card>) -> Work {
    if work.seen.rev.is_some() {
        work.seen.rev = card.map(|card| card.alarm_rev);
    }
    work
}

fn is_of(card: Option<crate::vocabulary::Card>, work: &Work) -> bool {
    card.is_some_and(|card| card.incarnation == work.seen.incarnation)
}
