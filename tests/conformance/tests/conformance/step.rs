//! One read or write on both sides.

use everlog_model::process::{After, At, Next, Task};
use everlog_model::{Action, Outcome, Reply, Verb, Write};

use crate::gate::{self, Fate};
use crate::lockstep::{Flying, Lockstep};
use crate::request::Kind;

impl Lockstep<'_> {
    /// The first read of a command: the card, or the log of the incarnation that it names.
    pub async fn take(&mut self, process: usize, command: u8) -> Result<(), String> {
        self.spawn(process, command);
        let starts = self.protocol.verb(command) == Verb::Start;
        if starts && matches!(self.at(process), At::Load { .. }) {
            // A start reads the card by trying to make it.
            self.read_one(process, &Kind::Create).await?;
        }
        self.follow(process).await
    }

    /// Releases one request that must not change anything.
    pub async fn read_one(&mut self, process: usize, kind: &Kind) -> Result<(), String> {
        let store = self.rig.store.clone();
        let real = self.real(process)?;
        real.settle().await;
        if real.kind() != Some(kind) {
            return Err(format!("{kind:?} was to come, not {:?}", real.kind()));
        }
        let (answer, _) = real.release(&store, Fate::Answered).await;
        let changed = kind.writes() && gate::landed(&answer.ok_or("no answer")?)?;
        if changed { Err(format!("{kind:?} was to read, and changed something")) } else { Ok(()) }
    }

    /// Lets the real process read until it writes or has finished.
    async fn read_on(&mut self, process: usize) -> Result<(), String> {
        let store = self.rig.store.clone();
        let real = self.real(process)?;
        real.settle().await;
        while real.kind().is_some_and(|kind| !kind.writes()) {
            real.release(&store, Fate::Answered).await;
            real.settle().await;
        }
        Ok(())
    }

    /// Brings the real process to where the model's stands.
    pub async fn follow(&mut self, process: usize) -> Result<(), String> {
        self.normalise(process);
        if let At::Card(_) = self.at(process) {
            self.card_again(process).await?;
        }
        self.normalise(process);
        self.real(process)?.settle().await;
        if matches!(self.at(process), At::Load { .. }) {
            return self.agree(process);
        }
        self.read_on(process).await?;
        self.close_reads_rev_late(process);
        self.repairs(process).await?;
        self.agree(process)
    }

    /// A starter whose card or put was refused reads again.
    async fn card_again(&mut self, process: usize) -> Result<(), String> {
        let At::Card(command) = self.at(process) else { return Ok(()) };
        let id = u8::try_from(process).map_err(|e| e.to_string())?;
        self.real(process)?.settle().await;
        if std::mem::take(&mut self.lost_put[process]) {
            self.read_on(process).await?;
            if self.real(process)?.finished() == Some(false) {
                // Given back, because it is abandoned: the message comes again.
                self.stop(process).await;
                self.spawn(process, command);
                self.real(process)?.settle().await;
            }
        }
        if self.real(process)?.kind() == Some(&Kind::Create) {
            self.read_one(process, &Kind::Create).await?;
            self.real(process)?.settle().await;
        }
        self.protocol.step(&mut self.state, &Action::ReadCard(id));
        if self.real(process)?.kind() != Some(&Kind::LogRead) {
            // It has read the log, too: another start has won, or its own came twice.
            self.protocol.step(&mut self.state, &Action::Load(id));
        }
        Ok(())
    }

    /// A close reads `alarm_rev` after its load.
    fn close_reads_rev_late(&mut self, process: usize) {
        let card = self.state.store.card;
        if let At::Put(work) = &mut self.state.processes[process].at
            && let Task::Command(command) = work.task
            && self.protocol.verb(command) == Verb::Close
        {
            let own = card.filter(|card| card.incarnation == work.seen.incarnation);
            work.seen.rev = own.map(|card| card.alarm_rev);
        }
    }

    /// The real process repairs the status where the model's writes nothing.
    async fn repairs(&mut self, process: usize) -> Result<(), String> {
        let quiet = match self.protocol.next_of(&self.at(process)) {
            None | Some(Next::Done) => true,
            Some(_) => false,
        };
        let Some(Kind::Show { status, as_of, alarm: false }) = self.real(process)?.kind().cloned()
        else {
            return Ok(());
        };
        if !quiet {
            return Ok(());
        }
        let card = self.state.store.card.ok_or("no card")?;
        let status = crate::compare::status(&status)?;
        let as_of = u8::try_from(as_of).map_err(|e| e.to_string())?;
        let show = Write::Show { incarnation: card.incarnation, status, as_of };
        let model = self.land(&[show]);
        let real = self.release(process, Fate::Answered, vec![show]).await?;
        if real != Some(model) {
            return Err(format!("{show:?}: landed {real:?}, in the model {model}"));
        }
        self.real(process)?.settle().await;
        Ok(())
    }

    /// Whether both sides are about to do the same.
    fn agree(&mut self, process: usize) -> Result<(), String> {
        let next = self.protocol.next_of(&self.at(process));
        let real = self.processes[process].as_ref();
        let (kind, finished) = (
            real.and_then(|process| process.kind().cloned()),
            real.and_then(|process| process.finished()),
        );
        let same = match (next, &kind) {
            (None | Some(Next::Done), None) => finished == Some(true),
            (Some(Next::Load), Some(Kind::LogRead)) => true,
            (Some(Next::Write(write)), Some(kind)) => self.meaning(process, write, kind).is_some(),
            _ => false,
        };
        if same {
            return Ok(());
        }
        Err(format!("process {process} is to do {next:?}, and does {kind:?} {finished:?}"))
    }

    /// What the real write is to the model, if it is what the model is about to write.
    fn meaning(&self, process: usize, write: Write, kind: &Kind) -> Option<Vec<Write>> {
        let raise = match self.at(process) {
            At::After(After { raise: Some(to), rev: Some(rev), incarnation, .. }) => {
                Some(Write::Raise { incarnation, rev, to })
            }
            _ => None,
        };
        match (write, kind) {
            (Write::Create { over: None, .. }, Kind::Create)
            | (Write::Create { over: Some(_), .. }, Kind::TakeOver)
            | (Write::Lower { .. }, Kind::Lower)
            | (Write::Bump { .. }, Kind::Bump)
            | (Write::Raise { .. }, Kind::Raise) => Some(vec![write]),
            (
                Write::Put { incarnation, number, .. },
                Kind::Put { incarnation: real, number: n },
            ) => {
                let known = self.subject.incarnations.get(usize::from(incarnation) - 1);
                let same = known.is_some_and(|known| known.0 == *real) && u64::from(number) == *n;
                same.then(|| vec![write])
            }
            (Write::Show { .. }, Kind::Raise) => raise.map(|raise| vec![raise]),
            (Write::Show { status, as_of, .. }, Kind::Show { status: word, as_of: n, alarm }) => {
                let same = crate::compare::status(word) == Ok(status) && u64::from(as_of) == *n;
                match (same, alarm) {
                    (true, false) => Some(vec![write]),
                    (true, true) => raise.map(|raise| vec![write, raise]),
                    (false, _) => None,
                }
            }
            _ => None,
        }
    }

    /// Releases the real write; whether it landed, if that is known.
    async fn release(
        &mut self,
        process: usize,
        fate: Fate,
        writes: Vec<Write>,
    ) -> Result<Option<bool>, String> {
        let store = self.rig.store.clone();
        let (answer, late) = self.real(process)?.release(&store, fate).await;
        self.writes += usize::from(late.is_none());
        if let Some(call) = late {
            self.flying.push(Flying { writes, call });
        }
        answer.map(|answer| gate::landed(&answer)).transpose()
    }

    /// A write, on both sides.
    pub async fn write(&mut self, process: usize, write: Write, fate: Fate) -> Result<(), String> {
        let kind = self.real(process)?.kind().cloned();
        let kind = kind.ok_or_else(|| format!("process {process} writes nothing"))?;
        let writes = self.meaning(process, write, &kind);
        let writes = writes.ok_or_else(|| format!("{write:?} was to come, not {kind:?}"))?;
        let planned = writes == [write];
        let real = self.release(process, fate, writes.clone()).await?;
        let model = if planned {
            self.write_as_planned(process, write, fate)
        } else {
            self.write_otherwise(process, &writes, fate)
        };
        if real.is_some_and(|real| real != model) {
            return Err(format!("{writes:?}: landed {real:?}, in the model {model}"));
        }
        if real == Some(true) {
            // Before anything else happens on either side.
            crate::compare::both(self).await?;
        }
        self.follow(process).await
    }

    fn write_as_planned(&mut self, process: usize, write: Write, fate: Fate) -> bool {
        let reply = self.state.store.clone().land(&self.protocol.rules, &write);
        let outcome = match fate {
            Fate::Answered => Outcome::Answered,
            Fate::AnswerLost => Outcome::AnswerLost,
            Fate::Late => Outcome::Late,
        };
        let id = u8::try_from(process).unwrap_or(u8::MAX);
        self.protocol.step(&mut self.state, &Action::Write(id, write, outcome));
        self.state.in_flight.clear();
        self.lost_put[process] = matches!(write, Write::Put { .. });
        reply == Reply::Landed
    }

    /// Status and alarm in one write, or the alarm before the status.
    fn write_otherwise(&mut self, process: usize, writes: &[Write], fate: Fate) -> bool {
        let landed = fate != Fate::Late && self.land(writes);
        if fate != Fate::Answered {
            self.state.unanswered -= 1;
            return landed;
        }
        if let At::After(mut after) = self.at(process) {
            (after.raise, after.rev) = (None, None);
            if landed && writes.len() == 2 {
                after.show = None;
            }
            self.state.processes[process].at = self.protocol.rest(after);
        }
        landed
    }
}
