//! All interleavings of the writes of a few real processes, without a model.
//!
//! Reads pass straight through: a process runs until it waits with a write.
//! What is chosen is which process begins, which write is released and with
//! which fate, who dies, which late write arrives, and whether a minute passes.

use std::collections::BTreeSet;

use everlog::time::Tick;
use everlog_testing::rng::Rng;
use serde_json::Value;

use crate::drain::drain;
use crate::gate::{self, Fate, Process};
use crate::judge::Judge;
use crate::request::Kind;
use crate::rig::{Job, Rig, on_virtual_time};
use crate::schedules::{Odometer, Ran};

/// A few processes, and how much may go wrong.
#[derive(Debug, Clone, Default)]
pub struct Play {
    /// Served before anything else; the workflow is then as old as `minutes`.
    pub setup: Vec<Value>,
    /// Instead of a setup: a start that dies after its card, and the sweep that abandons it.
    pub abandoned: bool,
    /// Minutes that pass after the setup.
    pub minutes: u64,
    /// What the processes do.
    pub jobs: Vec<Job>,
    /// Writes that may go wrong.
    pub faults: u8,
    /// Minutes that may pass in between.
    pub passes: u8,
}

/// Something that can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Begin(usize),
    Write(usize, Fate),
    Die(usize),
    Arrive(usize),
    Pass,
}

/// Digests of tables that need no second look.
#[derive(Debug, Default)]
struct Seen {
    /// They keep the alarm invariant.
    kept: BTreeSet<String>,
    /// Ends that were followed until all was quiet.
    ends: BTreeSet<String>,
}

struct Stage<'a> {
    rig: &'a Rig,
    play: &'a Play,
    workflow: String,
    /// The minute of the beginning.
    base: Tick,
    judge: Judge,
    seen: &'a mut Seen,
    processes: Vec<Option<Process>>,
    begun: Vec<bool>,
    flying: Vec<everlog_local::transport::Call>,
    /// The last move sent a write late.
    just_late: bool,
    faults: u8,
    passes: u8,
    trace: Vec<String>,
    writes: usize,
}

impl Stage<'_> {
    fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        for (at, process) in self.processes.iter().enumerate() {
            if !self.begun[at] {
                moves.push(Move::Begin(at));
            }
            if process.as_ref().is_none_or(|process| process.kind().is_none()) {
                continue;
            }
            moves.push(Move::Write(at, Fate::Answered));
            if self.faults > 0 {
                moves.push(Move::Write(at, Fate::AnswerLost));
                moves.push(Move::Write(at, Fate::Late));
                moves.push(Move::Die(at));
            }
        }
        // To arrive at once is the same as a lost answer.
        if !self.just_late || moves.is_empty() {
            moves.extend((0..self.flying.len()).map(Move::Arrive));
        }
        if self.passes > 0 && !moves.is_empty() {
            moves.push(Move::Pass);
        }
        moves
    }

    async fn step(&mut self, step: Move) -> Result<(), String> {
        let kind = match step {
            Move::Write(at, _) | Move::Die(at) => {
                self.processes[at].as_ref().and_then(|process| process.kind().cloned())
            }
            _ => None,
        };
        self.trace.push(format!("{step:?} {kind:?}"));
        self.rig.pass(3).await;
        self.just_late = matches!(step, Move::Write(_, Fate::Late));
        match step {
            Move::Begin(at) => {
                self.begun[at] = true;
                let job = self.job(at);
                self.processes[at] = Some(self.rig.start(&self.workflow, &job));
                self.read_on(at).await;
                Ok(())
            }
            Move::Pass => {
                self.passes -= 1;
                self.rig.pass(60_000).await;
                Ok(())
            }
            Move::Die(at) => {
                self.faults -= 1;
                self.stop(at).await;
                Ok(())
            }
            Move::Arrive(at) => {
                let call = self.flying.remove(at);
                self.arrive(call).await
            }
            Move::Write(at, fate) => self.write(at, fate).await,
        }
    }

    fn job(&self, at: usize) -> Job {
        match &self.play.jobs[at] {
            Job::Command(body) => Job::Command(of(body, &self.workflow)),
            Job::Look => Job::Look,
        }
    }

    async fn write(&mut self, at: usize, fate: Fate) -> Result<(), String> {
        self.faults -= u8::from(fate != Fate::Answered);
        let store = self.rig.store.clone();
        let process = self.processes[at].as_mut().ok_or("nobody writes")?;
        let kind = process.kind().cloned().ok_or("nothing waits")?;
        if kind == Kind::Unknown {
            return Err("an update that the protocol does not know".into());
        }
        let names = process.names();
        let (answer, late) = process.release(&store, fate).await;
        self.flying.extend(late);
        if let Some(answer) = answer {
            self.writes += 1;
            self.judge(&kind, names, gate::landed(&answer)?).await?;
        }
        self.read_on(at).await;
        Ok(())
    }

    async fn arrive(&mut self, call: everlog_local::transport::Call) -> Result<(), String> {
        let kind = crate::request::kind(&call).ok_or("only writes are late")?;
        let names = crate::request::names(&call);
        let answer = gate::serve(&self.rig.store, call).await;
        self.writes += 1;
        self.judge(&kind, names, gate::landed(&answer)?).await
    }

    /// A write that was refused changed nothing.
    async fn judge(&mut self, kind: &Kind, names: Option<u64>, landed: bool) -> Result<(), String> {
        if !landed {
            return Ok(());
        }
        self.judge.foreign(kind, names)?;
        self.look().await
    }

    async fn read_on(&mut self, at: usize) {
        let store = self.rig.store.clone();
        let Some(process) = self.processes[at].as_mut() else { return };
        process.settle().await;
        while process.kind().is_some_and(|kind| !kind.writes()) {
            process.release(&store, Fate::Answered).await;
            process.settle().await;
        }
    }

    async fn stop(&mut self, at: usize) {
        if let Some(process) = self.processes[at].take() {
            process.stop().await;
        }
    }

    async fn look(&mut self) -> Result<(), String> {
        let kept = (self.base, &mut self.seen.kept);
        self.judge.look(self.rig, &self.workflow, kept).await
    }

    /// What was left arrives; every command comes again; then all must be quiet.
    /// Ends that come to the same are followed once.
    async fn end(&mut self) -> Result<(), String> {
        while let Some(call) = self.flying.pop() {
            self.trace.push("Arrive at the end".into());
            self.arrive(call).await?;
        }
        let bodies: Vec<Value> = self
            .play
            .jobs
            .iter()
            .filter_map(|job| match job {
                Job::Command(body) => Some(of(body, &self.workflow)),
                Job::Look => None,
            })
            .collect();
        let now = self.rig.clock().now().tick();
        let digest = format!("{} {}", now.0 - self.base.0, self.judge.digest(self.base));
        if self.seen.ends.insert(digest) {
            drain(self.rig, &self.workflow, &bodies).await?;
        }
        self.look().await?;
        for body in &bodies {
            let id = body["id"].as_str().unwrap_or_default();
            let times = self.judge.answered(id);
            if times > 1 {
                return Err(format!("command {id} is in the log {times} times"));
            }
        }
        Ok(())
    }
}

fn of(body: &Value, workflow: &str) -> Value {
    let mut body = body.clone();
    body["workflow"] = workflow.into();
    body
}

/// A start that dies once its card is there, and a sweep.
async fn abandon(rig: &Rig, workflow: &str, job: &Job) {
    let Job::Command(body) = job else { panic!("not a start") };
    let mut starter = rig.start(workflow, &Job::Command(of(body, workflow)));
    starter.settle().await;
    starter.release(&rig.world.direct(), Fate::Answered).await;
    starter.stop().await;
    rig.pass(2 * 60_000).await;
    assert!(rig.perform(workflow, &Job::Look).await, "the sweep is served");
}

async fn act<'a>(
    rig: &'a Rig,
    play: &'a Play,
    (ran, seen): (&mut Ran, &'a mut Seen),
    mut turn: impl FnMut(&[Move]) -> usize,
) -> Result<(), String> {
    let workflow = format!("x{}", ran.schedules);
    rig.to_half_past().await;
    let base = rig.clock().now().tick();
    for body in &play.setup {
        let job = Job::Command(of(body, &workflow));
        assert!(rig.perform(&workflow, &job).await, "the setup is served");
    }
    rig.pass(play.minutes * 60_000).await;
    if play.abandoned {
        abandon(rig, &workflow, &play.jobs[0]).await;
    }
    let count = play.jobs.len();
    let mut stage = Stage {
        rig,
        play,
        workflow,
        base,
        judge: Judge::default(),
        seen,
        processes: (0..count).map(|_| None).collect(),
        begun: vec![false; count],
        flying: Vec::new(),
        just_late: false,
        faults: play.faults,
        passes: play.passes,
        trace: Vec::new(),
        writes: 0,
    };
    let ended = play_on(&mut stage, &mut turn).await;
    for at in 0..count {
        stage.stop(at).await;
    }
    ran.schedules += 1;
    ran.writes += stage.writes;
    ran.choices += stage.trace.len();
    ran.second_lives += usize::from(stage.judge.second_life());
    ended.map_err(|why| format!("  {}\n{why}", stage.trace.join("\n  ")))
}

async fn play_on(
    stage: &mut Stage<'_>,
    turn: &mut impl FnMut(&[Move]) -> usize,
) -> Result<(), String> {
    stage.look().await?;
    loop {
        let moves = stage.moves();
        if moves.is_empty() {
            return stage.end().await;
        }
        stage.step(moves[turn(&moves)]).await?;
    }
}

/// Runs every interleaving, depth first; the first violation, if there is one.
pub async fn every(rig: &Rig, play: &Play, most: usize) -> (Ran, Result<(), String>) {
    let (mut ran, mut seen) = (Ran::default(), Seen::default());
    let mut odometer = Odometer::default();
    loop {
        let acted = act(rig, play, (&mut ran, &mut seen), |moves| odometer.turn(moves.len())).await;
        if acted.is_err() {
            return (ran, acted);
        }
        assert!(ran.schedules <= most, "more than {most} schedules");
        if !odometer.advance() {
            return (ran, Ok(()));
        }
    }
}

/// Every interleaving keeps every property.
///
/// # Panics
/// With the schedule, if one does not.
pub fn holds(name: &str, play: &Play, most: usize) {
    on_virtual_time(async {
        let rig = Rig::new(|store| store).await;
        let (ran, result) = every(&rig, play, most).await;
        println!("{name}: all interleavings, {ran:?}");
        if let Err(why) = result {
            panic!("{name}:\n{why}");
        }
    });
}

/// Runs one interleaving, by its moves; a violation, if there is one.
pub async fn script(rig: &Rig, play: &Play, moves: &[Move]) -> Result<(), String> {
    let mut moves = moves.iter();
    let choose = |offered: &[Move]| match moves.next() {
        Some(wanted) => offered.iter().position(|offer| offer == wanted).expect("it is offered"),
        None => 0,
    };
    act(rig, play, (&mut Ran::default(), &mut Seen::default()), choose).await
}

/// Runs `count` interleavings, each by its seed; the first violation, if there is one.
pub async fn seeds(rig: &Rig, play: &Play, count: u64) -> (Ran, Result<(), String>) {
    let (mut ran, mut seen) = (Ran::default(), Seen::default());
    for seed in 1..=count {
        let mut rng = Rng::new(seed);
        let acted =
            act(rig, play, (&mut ran, &mut seen), |moves| gate::pick(&mut rng, moves.len())).await;
        if let Err(why) = acted {
            return (ran, Err(format!("seed {seed}:\n{why}")));
        }
    }
    (ran, Ok(()))
}

/// `count` seeded interleavings keep every property.
///
/// # Panics
/// With the seed and the schedule, if one does not.
pub fn holds_by_seeds(name: &str, play: &Play, count: u64) -> Ran {
    on_virtual_time(async {
        let rig = Rig::new(|store| store).await;
        let (ran, result) = seeds(&rig, play, count).await;
        println!("{name}: seeds 1.., {ran:?}");
        if let Err(why) = result {
            panic!("{name}, {why}");
        }
        ran
    })
}
