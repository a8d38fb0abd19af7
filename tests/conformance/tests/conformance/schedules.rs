//! Where schedules come from: seeds, all choices in turn, or a script.

use everlog_testing::rng::Rng;

use crate::casts::Cast;
use crate::drain::drain;
use crate::lockstep::{Choice, Lockstep};
use crate::rig::{Rig, on_virtual_time};

/// Choices after which a schedule is cut off, and drained.
const CHOICES_MAX: usize = 40;

/// What many schedules came to.
#[derive(Debug, Default)]
pub struct Ran {
    /// Schedules.
    pub schedules: usize,
    /// Writes that were released in them.
    pub writes: usize,
    /// Choices that were made in them.
    pub choices: usize,
    /// Schedules in which a second incarnation had a log.
    pub second_lives: usize,
}

/// One schedule; `choose` says what happens next.
///
/// # Errors
/// Where it went wrong, with the schedule up to there.
async fn run(
    rig: &Rig,
    cast: &Cast,
    workflow: &str,
    ran: &mut Ran,
    mut choose: impl FnMut(&Lockstep<'_>) -> Option<Choice>,
) -> Result<(), String> {
    let mut both = Lockstep::begin(rig, cast, workflow).await?;
    let ended = play(&mut both, &mut choose).await;
    for process in 0..both.processes.len() {
        both.stop(process).await;
    }
    ran.schedules += 1;
    ran.writes += both.writes;
    ran.choices += both.trace.len();
    ran.second_lives += usize::from(!both.state.store.log(2).is_empty());
    ended.map_err(|why| format!("{}:\n  {}\n{why}", cast.scenario.name, both.trace.join("\n  ")))
}

async fn play(
    both: &mut Lockstep<'_>,
    choose: &mut impl FnMut(&Lockstep<'_>) -> Option<Choice>,
) -> Result<(), String> {
    for _ in 0..CHOICES_MAX {
        let Some(choice) = choose(both) else { break };
        both.step(&choice).await?;
    }
    both.land_the_late().await?;
    let mut left = Vec::new();
    for command in both.state.pending.iter() {
        let mut body = both.cast.command(command);
        body["workflow"] = both.subject.workflow.as_str().into();
        left.push(body);
    }
    drain(both.rig, &both.subject.workflow, &left).await
}

/// `count` random walks from `seed` on; all in one world.
///
/// # Panics
/// With the seed, if the two sides part.
pub fn walks(cast: &Cast, seed: u64, count: u64) -> Ran {
    on_virtual_time(async {
        let rig = Rig::new(|store| store).await;
        let mut ran = Ran::default();
        for seed in seed..seed + count {
            if let Err(why) = walk(&rig, cast, seed, &mut ran).await {
                panic!("seed {seed}, {why}");
            }
        }
        println!("{}: seeds {seed}.., {ran:?}", cast.scenario.name);
        ran
    })
}

/// One random walk.
///
/// # Errors
/// Where the two sides part.
pub async fn walk(rig: &Rig, cast: &Cast, seed: u64, ran: &mut Ran) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    run(rig, cast, &format!("w{seed}"), ran, |both| both.choose(&mut rng)).await
}

/// Every schedule of `cast`, by replaying choices from the start; all in one world.
///
/// # Panics
/// With the choices, if the two sides part, or if there are more than `most`.
pub fn all(cast: &Cast, most: usize) -> Ran {
    on_virtual_time(async {
        let rig = Rig::new(|store| store).await;
        let mut ran = Ran::default();
        let mut odometer = Odometer::default();
        loop {
            let workflow = format!("w{}", ran.schedules);
            let result = run(&rig, cast, &workflow, &mut ran, |both| {
                let offered = both.offered();
                (!offered.is_empty()).then(|| offered[odometer.turn(offered.len())].clone())
            });
            if let Err(why) = result.await {
                panic!("choices {odometer:?}, {why}");
            }
            assert!(ran.schedules <= most, "more than {most} schedules");
            if !odometer.advance() {
                println!("{}: all schedules, {ran:?}", cast.scenario.name);
                return ran;
            }
        }
    })
}

/// One schedule, by a script.
///
/// # Panics
/// If the two sides part.
pub fn scripted(cast: &Cast, script: impl FnMut(&Lockstep<'_>) -> Option<Choice>) {
    on_virtual_time(async {
        let rig = Rig::new(|store| store).await;
        if let Err(why) = run(&rig, cast, "w", &mut Ran::default(), script).await {
            panic!("{why}");
        }
    });
}

/// All sequences of choices, depth first: each sequence is replayed from the start.
#[derive(Debug, Default)]
pub struct Odometer {
    digits: Vec<(usize, usize)>,
    at: usize,
}

impl Odometer {
    /// The next choice among `count`.
    pub fn turn(&mut self, count: usize) -> usize {
        if self.at == self.digits.len() {
            self.digits.push((0, count));
        }
        let (digit, known) = self.digits[self.at];
        assert_eq!(known, count, "a replay offers what it offered before");
        self.at += 1;
        digit
    }

    /// The next sequence; false after the last.
    pub fn advance(&mut self) -> bool {
        self.digits.truncate(self.at);
        self.at = 0;
        while let Some((digit, count)) = self.digits.pop() {
            if digit + 1 < count {
                self.digits.push((digit + 1, count));
                return true;
            }
        }
        false
    }
}
