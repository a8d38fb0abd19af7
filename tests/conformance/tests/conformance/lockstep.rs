//! One schedule, on both sides at once: what is offered, and each choice.

use everlog::id::Incarnation;
use everlog_local::transport::Call;
use everlog_model::process::{At, Task};
use everlog_model::{Action, Outcome, Protocol, Rules, State, Write};
use everlog_testing::rng::Rng;

use crate::casts::Cast;
use crate::compare;
use crate::gate::{self, Fate, Process};
use crate::request::Kind;
use crate::rig::{Job, Rig};

/// One thing that a schedule may choose to happen.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// An action of the model.
    Act(Action),
    /// The late write at this place arrives.
    Arrive(usize),
}

/// A request under way, and what it is to the model: all of it lands, or nothing.
#[derive(Debug)]
pub struct Flying {
    pub writes: Vec<Write>,
    pub call: Call,
}

/// The workflow of a schedule on the real table.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Its id.
    pub workflow: String,
    /// The minute that is the model's time 0.
    pub base: u64,
    /// The incarnations, in the order in which the card showed them.
    pub incarnations: Vec<Incarnation>,
}

/// Both sides of a schedule.
pub struct Lockstep<'a> {
    pub rig: &'a Rig,
    pub cast: &'a Cast,
    pub protocol: Protocol,
    pub state: State,
    pub subject: Subject,
    pub processes: Vec<Option<Process>>,
    /// The `as_of` that each process's look read.
    pub looked: Vec<u8>,
    /// Whether the last write of each process was a put.
    pub lost_put: Vec<bool>,
    pub flying: Vec<Flying>,
    /// What was done so far.
    pub trace: Vec<String>,
    /// Writes released so far.
    pub writes: usize,
}

impl<'a> Lockstep<'a> {
    /// Both sides at the beginning of the scenario.
    pub async fn begin(rig: &'a Rig, cast: &'a Cast, workflow: &str) -> Result<Self, String> {
        rig.to_half_past().await;
        let base = rig.clock().now().tick().0;
        for mut body in cast.setup() {
            body["workflow"] = workflow.into();
            assert!(rig.perform(workflow, &Job::Command(body)).await, "the setup is served");
        }
        rig.pass(5 * 60_000).await;
        let protocol = Protocol::new(cast.scenario.clone(), Rules::ALL);
        let state = protocol.first_state();
        let count = state.processes.len();
        let subject = Subject { workflow: workflow.into(), base, incarnations: Vec::new() };
        let mut both = Lockstep {
            rig,
            cast,
            protocol,
            state,
            subject,
            processes: (0..count).map(|_| None).collect(),
            looked: vec![0; count],
            lost_put: vec![false; count],
            flying: Vec::new(),
            trace: Vec::new(),
            writes: 0,
        };
        // The real card was made with the alarm of its start, a minute after it.
        if let Some((_, card)) = rig.world.card(workflow).await {
            let alarm = both.subject.tick(card.alarm_at);
            let store = &mut both.state.store;
            store.card.as_mut().expect("begun").alarm_at = alarm;
            store.logs[0][0].alarm = Some(alarm);
        }
        compare::both(&mut both).await?;
        Ok(both)
    }

    /// What can happen now.
    pub fn offered(&self) -> Vec<Choice> {
        let rung = self.state.store.card.is_some_and(|card| card.alarm_at <= self.state.now);
        let actions = self.protocol.offered(&self.state).into_iter();
        let possible = actions.filter(|action| match action {
            Action::Look(_) => rung,
            _ => true,
        });
        let arrivals = (0..self.flying.len()).map(Choice::Arrive);
        possible.map(Choice::Act).chain(arrivals).collect()
    }

    /// Lets `choice` happen on both sides, and compares them.
    ///
    /// # Errors
    /// Where they part, or what is broken.
    pub async fn step(&mut self, choice: &Choice) -> Result<(), String> {
        self.trace.push(format!("{choice:?}"));
        // Some milliseconds, so that what is due at once is due.
        self.rig.pass(3).await;
        match choice {
            Choice::Act(action) => self.act(action).await?,
            Choice::Arrive(place) => {
                let late = self.flying.remove(*place);
                self.arrive(late).await?;
            }
        }
        for process in 0..self.processes.len() {
            self.normalise(process);
        }
        Ok(())
    }

    async fn act(&mut self, action: &Action) -> Result<(), String> {
        match *action {
            Action::Write(process, write, outcome) => {
                self.write(usize::from(process), write, fate_of(outcome)).await
            }
            Action::Take(process, command) => {
                self.protocol.step(&mut self.state, action);
                let process = usize::from(process);
                self.take(process, command).await
            }
            Action::Look(process) => {
                let process_at = usize::from(process);
                self.looked[process_at] = self.state.store.card.map_or(0, |card| card.as_of);
                self.protocol.step(&mut self.state, action);
                let look = self.rig.start(&self.subject.workflow, &Job::Look);
                self.processes[process_at] = Some(look);
                self.read_one(process_at, &Kind::CardRead).await?;
                self.follow(process_at).await
            }
            Action::Load(process) => {
                self.protocol.step(&mut self.state, action);
                self.follow(usize::from(process)).await
            }
            Action::Crash(process) | Action::GiveUp(process) => {
                self.protocol.step(&mut self.state, action);
                self.stop(usize::from(process)).await;
                Ok(())
            }
            Action::Done(process) => {
                self.protocol.step(&mut self.state, action);
                let finished = self.real(usize::from(process))?.finished();
                self.stop(usize::from(process)).await;
                if finished == Some(true) { Ok(()) } else { Err("it is not done".into()) }
            }
            Action::Advance => {
                self.protocol.step(&mut self.state, action);
                self.rig.pass(60_000).await;
                Ok(())
            }
            Action::Redeliver(_) => {
                self.protocol.step(&mut self.state, action);
                Ok(())
            }
            ref other => Err(format!("{other:?} is not for this test")),
        }
    }

    /// The real process.
    pub fn real(&mut self, process: usize) -> Result<&mut Process, String> {
        self.processes[process].as_mut().ok_or_else(|| format!("process {process} is not there"))
    }

    /// Starts the real process that serves `command`.
    pub fn spawn(&mut self, process: usize, command: u8) {
        let mut body = self.cast.command(command);
        body["workflow"] = self.subject.workflow.as_str().into();
        if let Some(named) = self.cast.scenario.commands[usize::from(command)].incarnation {
            body["incarnation"] = self.subject.incarnations[usize::from(named) - 1].0.into();
        }
        let started = self.rig.start(&self.subject.workflow, &Job::Command(body));
        self.processes[process] = Some(started);
    }

    /// Stops the real process, if there is one.
    pub async fn stop(&mut self, process: usize) {
        if let Some(process) = self.processes[process].take() {
            process.stop().await;
        }
    }

    async fn arrive(&mut self, late: Flying) -> Result<(), String> {
        let answer = gate::serve(&self.rig.store, late.call).await;
        self.writes += 1;
        let real = gate::landed(&answer)?;
        let model = self.land(&late.writes);
        if real != model {
            return Err(format!("late {:?}: landed {real}, in the model {model}", late.writes));
        }
        if real { compare::both(self).await } else { Ok(()) }
    }

    /// Carries writes of the model out, all or none; whether they landed.
    pub fn land(&mut self, writes: &[Write]) -> bool {
        let before = self.state.store.clone();
        let replies = writes.iter().map(|w| self.state.store.land(&self.protocol.rules, w));
        let landed = replies.fold(true, |all, reply| all & (reply == everlog_model::Reply::Landed));
        if !landed {
            self.state.store = before;
        }
        landed
    }

    /// Lets everything that is still under way arrive.
    pub async fn land_the_late(&mut self) -> Result<(), String> {
        while let Some(late) = self.flying.pop() {
            self.trace.push("Arrive at the end".into());
            self.arrive(late).await?;
        }
        Ok(())
    }

    /// Where the model's process stands.
    pub fn at(&self, process: usize) -> At {
        self.state.processes[process].at
    }

    /// Takes from the model what the real code rightly leaves out (see the introduction).
    pub fn normalise(&mut self, process: usize) {
        let abandoned = everlog_model::Status::Abandoned;
        let looked = self.looked[process];
        let at = match self.at(process) {
            At::Load { task: Task::Look, mut seen, lost } => {
                seen.as_of = looked;
                At::Load { task: Task::Look, seen, lost }
            }
            At::After(mut after) => {
                if let Some((status, as_of)) = after.show {
                    let log = self.state.store.log(after.incarnation);
                    let by = as_of.checked_sub(1).and_then(|at| log.get(usize::from(at)));
                    let own = match after.task {
                        Task::Look => true,
                        Task::Command(id) => by.is_some_and(|commit| commit.command == Some(id)),
                    };
                    if !own || status == abandoned {
                        after.show = None;
                    }
                }
                self.protocol.rest(after)
            }
            at => at,
        };
        self.state.processes[process].at = at;
    }

    /// One of what can happen: crashes and repeats seldom, so that most schedules get far.
    pub fn choose(&self, rng: &mut Rng) -> Option<Choice> {
        let offered = self.offered();
        let rare = |choice: &Choice| {
            matches!(
                choice,
                Choice::Act(Action::Crash(_) | Action::Redeliver(_) | Action::GiveUp(_))
            )
        };
        let (seldom, often): (Vec<Choice>, Vec<Choice>) = offered.into_iter().partition(rare);
        let from =
            if often.is_empty() || (!seldom.is_empty() && rng.percent(8)) { seldom } else { often };
        (!from.is_empty()).then(|| from[gate::pick(rng, from.len())].clone())
    }
}

fn fate_of(outcome: Outcome) -> Fate {
    match outcome {
        Outcome::Answered => Fate::Answered,
        Outcome::AnswerLost => Fate::AnswerLost,
        Outcome::Late => Fate::Late,
    }
}
