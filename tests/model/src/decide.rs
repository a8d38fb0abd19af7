//! The decisions: what follows a read.
//!
//! What it is: `decide(state, command, now)` of the design, for commands and for a look.
//! It promises to look only at what the process has just read (log, card values in [`Seen`], the receiver's log) and at the clock.
//! It deliberately writes nothing.
//! It fails by an answer without a commit (refused, repeated, nothing to do).
//! Where next: [`crate::process`] carries the decision into the log.

use crate::fold::{Folded, fold};
use crate::process::{After, At, Seen, Task, Work};
use crate::protocol::{Protocol, State};
use crate::vocabulary::{
    Command, CommandId, Commit, Due, Few, ItemKind, NEVER, ProcessId, Status, Tick, Verb, Writer,
};

impl Protocol {
    /// What was asked for.
    pub fn verb(&self, command: CommandId) -> Verb {
        self.command(command).verb
    }

    fn command(&self, command: CommandId) -> &Command {
        &self.scenario.commands[usize::from(command)]
    }

    /// The items of a set that go through a queue.
    pub fn sendable(&self, items: Few) -> Few {
        let timer = |&id: &u8| self.scenario.items[usize::from(id)] != ItemKind::Timer;
        items.iter().filter(timer).fold(Few::NONE, Few::with)
    }

    /// Whether a command's first read is the card's.
    fn reads_card(&self, command: CommandId) -> bool {
        let Command { verb, incarnation, .. } = self.command(command);
        incarnation.is_none() || matches!(verb, Verb::Start | Verb::Close | Verb::Delete)
    }

    /// A process receives a command, or reads the card again for it.
    pub fn begin(&self, state: &State, process: ProcessId, command: CommandId) -> At {
        let task = Task::Command(command);
        let named = self.command(command).incarnation;
        if let (Some(incarnation), false) = (named, self.reads_card(command)) {
            let seen = Seen { incarnation, rev: None, alarm_at: NEVER, as_of: 0 };
            return self.decide(state, process, task, seen, false);
        }
        if state.store.card.is_some() {
            At::Load { task, seen: self.seen(state, task), lost: false }
        } else if self.verb(command) == Verb::Start {
            At::Create { command, over: None, alarm: self.first_alarm(state, command) }
        } else {
            At::After(After::answer(task, 1, false))
        }
    }

    /// What the task needs of the card as it is now.
    pub fn seen(&self, state: &State, task: Task) -> Seen {
        let Some(card) = state.store.card else {
            return Seen { incarnation: 1, rev: None, alarm_at: NEVER, as_of: 0 };
        };
        let mut seen = Seen { incarnation: card.incarnation, rev: None, alarm_at: NEVER, as_of: 0 };
        match task {
            Task::Look => {
                seen.as_of = card.as_of;
                if self.rules.rev_read_before_put && !self.scenario.warm_sweeps {
                    seen.rev = Some(card.alarm_rev);
                }
            }
            Task::Command(command) => {
                let Command { verb, incarnation, .. } = *self.command(command);
                if verb == Verb::Start {
                    seen.alarm_at = card.alarm_at;
                    return seen;
                }
                seen.incarnation = incarnation.unwrap_or(card.incarnation);
                if matches!(verb, Verb::Close | Verb::Delete)
                    && seen.incarnation == card.incarnation
                {
                    seen.rev = Some(card.alarm_rev);
                }
            }
        }
        seen
    }

    /// What follows a read of the log of `seen.incarnation`.
    pub fn decide(
        &self,
        state: &State,
        process: ProcessId,
        task: Task,
        seen: Seen,
        lost: bool,
    ) -> At {
        match task {
            Task::Look => self.decide_look(state, process, seen),
            Task::Command(command) => self.decide_command(state, process, command, seen, lost),
        }
    }

    fn decide_command(
        &self,
        state: &State,
        process: ProcessId,
        command: CommandId,
        seen: Seen,
        lost: bool,
    ) -> At {
        let task = Task::Command(command);
        let log = state.store.log(seen.incarnation);
        let folded = fold(&self.scenario.items, log);
        if self.rules.recognise_repeats && folded.commands.has(command) {
            return self.repeat(command, seen, log, &folded);
        }
        if self.rules.look_back_over_incarnations && self.command(command).incarnation.is_none() {
            let has = |k| fold(&self.scenario.items, state.store.log(k)).commands.has(command);
            if (1..seen.incarnation).any(has) {
                return At::After(After::answer(task, seen.incarnation, true));
            }
        }
        if self.verb(command) == Verb::Start && folded.status.has_ended() {
            let alarm = self.first_alarm(state, command);
            return At::Create { command, over: Some(seen.incarnation), alarm };
        }
        let writer = self.writer(state, process);
        let Some(commit) = self.commit_for(command, &folded, seen, state.now, writer) else {
            return At::After(After::answer(task, seen.incarnation, false));
        };
        let covered = if self.verb(command) == Verb::Start { seen.alarm_at } else { folded.alarm };
        let number = log.len() as u8 + 1;
        let mut work = Work { task, seen, number, commit, show: None };
        work.seen.alarm_at = NEVER;
        let earlier = commit.alarm.is_some_and(|alarm| alarm < covered);
        if earlier && self.rules.card_first && !lost { At::Lower(work) } else { At::Put(work) }
    }

    /// The command is in the log: relay what is untaken of its commit and show the status again.
    fn repeat(&self, command: CommandId, seen: Seen, log: &[Commit], folded: &Folded) -> At {
        let mut after = After::answer(Task::Command(command), seen.incarnation, true);
        let own = log.iter().filter(|commit| commit.command == Some(command));
        let adds = own.fold(Few::NONE, |adds, commit| adds.or(commit.adds));
        if self.rules.relay_repeats {
            after.send = self.sendable(adds.and(folded.outstanding()));
        }
        match self.verb(command) {
            Verb::Add | Verb::Settle(_) => {}
            verb => {
                after.show = Some((folded.status, folded.status_as_of));
                if verb == Verb::Close && !self.rules.redo_leaves_alarm {
                    after.raise = Some(folded.alarm);
                    after.rev = seen.rev;
                }
            }
        }
        At::After(after)
    }

    /// The commit that answers a command; none if it is refused or changes nothing.
    fn commit_for(
        &self,
        id: CommandId,
        folded: &Folded,
        seen: Seen,
        now: Tick,
        writer: Writer,
    ) -> Option<Commit> {
        let command = self.command(id);
        let due = if command.adds.is_empty() { NEVER } else { due_at(command.due, now) };
        let mut commit =
            Commit { command: Some(id), adds: command.adds, due, ..Commit::empty(writer) };
        let open = matches!(folded.status, Status::Running | Status::Paused);
        commit.alarm = (due < folded.alarm).then_some(due);
        match command.verb {
            Verb::Start if folded.status == Status::Starting => {
                commit.status = Some(Status::Running);
                commit.alarm = Some(seen.alarm_at.min(due));
            }
            Verb::Add if open => {}
            Verb::Settle(item) if open && folded.outstanding().has(item) => {
                commit.discharged = Few::of(&[item]);
            }
            Verb::Pause if folded.status == Status::Running => commit.status = Some(Status::Paused),
            Verb::Resume if folded.status == Status::Paused => {
                commit.status = Some(Status::Running)
            }
            Verb::Reopen if folded.status == Status::Closed => {
                commit.status = Some(Status::Running)
            }
            Verb::Close if open => {
                commit.status = Some(Status::Closed);
                commit.alarm = Some(due.min(self.earliest_message(folded)));
            }
            Verb::Delete if folded.status.is_live() => {
                commit.status = Some(Status::Deleted);
                commit.alarm = Some(NEVER);
            }
            _ => return None,
        }
        Some(commit)
    }

    fn earliest_message(&self, folded: &Folded) -> Tick {
        let messages = folded.dues.iter().zip(&self.scenario.items);
        messages
            .filter(|&(_, &kind)| kind == ItemKind::Message)
            .map(|(&due, _)| due)
            .min()
            .unwrap_or(NEVER)
    }

    /// When somebody must look at a new incarnation.
    fn first_alarm(&self, state: &State, command: CommandId) -> Tick {
        let Command { adds, due, .. } = *self.command(command);
        let due = if adds.is_empty() { NEVER } else { due_at(due, state.now) };
        due.min(state.now + self.scenario.start_wait)
    }

    fn writer(&self, state: &State, process: ProcessId) -> Writer {
        let life = state.processes[usize::from(process)].life;
        Writer { process, life: if self.rules.fresh_writer { life } else { 0 } }
    }

    /// A sweep has read the log: abandon, tidy up, or do what is due and commit the next due time.
    fn decide_look(&self, state: &State, process: ProcessId, seen: Seen) -> At {
        let log = state.store.log(seen.incarnation);
        let folded = fold(&self.scenario.items, log);
        let behind = self.rules.sweep_shows_status && seen.as_of < folded.status_as_of;
        let show = behind.then_some((folded.status, folded.status_as_of));
        let mut after = After::answer(Task::Look, seen.incarnation, false);
        (after.rev, after.show, after.raise) = (seen.rev, show, Some(folded.alarm));
        let commit = match folded.status {
            Status::Starting => Commit {
                status: Some(Status::Abandoned),
                alarm: Some(NEVER),
                ..Commit::empty(self.writer(state, process))
            },
            status if status.has_ended() => return At::After(after),
            _ => self.note(state, process, &folded),
        };
        let busy = !commit.discharged.is_empty() || !commit.looked.is_empty();
        let moved = busy || commit.alarm != Some(folded.alarm);
        if folded.status == Status::Starting && !self.rules.repair_commits {
            after.show = Some((Status::Abandoned, 1));
            after.raise = Some(NEVER);
            return At::After(after);
        }
        if !moved && !self.rules.sweep_always_commits {
            return At::After(after);
        }
        let seen = Seen { as_of: 0, ..seen };
        let work = Work { task: Task::Look, seen, number: log.len() as u8 + 1, commit, show };
        if self.scenario.warm_sweeps && seen.rev.is_none() { At::Rev(work) } else { At::Put(work) }
    }

    /// The note of a look: what is due is discharged or sent again, the rest gives the alarm.
    fn note(&self, state: &State, process: ProcessId, folded: &Folded) -> Commit {
        let mut commit = Commit::empty(self.writer(state, process));
        let mut next = folded.dues;
        for (id, kind) in (0..).zip(&self.scenario.items) {
            let due = &mut next[usize::from(id)];
            if *due > state.now {
                continue;
            }
            let shown = *kind == ItemKind::Message && state.shown.has(id);
            if *kind == ItemKind::Timer || shown {
                commit.discharged = commit.discharged.with(id);
                *due = NEVER;
            } else {
                commit.looked = commit.looked.with(id);
                commit.look = state.now + self.scenario.look_interval;
                *due = commit.look;
            }
        }
        commit.alarm = next.iter().copied().min();
        commit
    }
}

fn due_at(due: Due, now: Tick) -> Tick {
    match due {
        Due::At(tick) => tick,
        Due::After(ticks) => now + ticks,
    }
}
