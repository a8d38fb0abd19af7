//! Random histories: whatever comes in whatever order, the fold leads to the
//! state of the draft, repeats commit nothing, and enough settles end a run.
//!
//! What must hold after each commit stands in `support::checks`. A failure
//! prints its seed; `EVERLOG_SEED=<seed>` repeats that history alone, and
//! `EVERLOG_HISTORIES=<count>` runs more of them.

use std::collections::BTreeSet;

use everlog::decide::{Draft, Look, Refused, decide};
use everlog::event::{Event, Target, WaitEnd};
use everlog::plan::Work;
use everlog::state::Stage;
use serde_json::{Value, json};

use super::plans::{self, SIGNALS};
use crate::support::random::Rng;
use crate::support::{HOUR, Log, MINUTE, Told, command, intent, key_of, owner};

const HISTORIES: u64 = 400;
const STEPS: u64 = 80;

/// Prints the seed if the test fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with EVERLOG_SEED={}", self.0);
        }
    }
}

fn seeds() -> Vec<u64> {
    match std::env::var("EVERLOG_SEED") {
        Ok(seed) => vec![seed.parse().expect("EVERLOG_SEED is a number")],
        Err(_) => {
            let count = std::env::var("EVERLOG_HISTORIES");
            let count = count.map_or(HISTORIES, |n| n.parse().expect("a number"));
            (0..count).collect()
        }
    }
}

/// A history in the making, and the commands that made it.
struct History {
    log: Log,
    rng: Rng,
    told: Vec<(String, Value)>,
}

#[test]
fn any_history_of_a_plan_folds_to_what_was_decided_and_can_be_brought_to_its_end() {
    let mut seen = BTreeSet::new();
    for seed in seeds() {
        let _printed = Seed(seed);
        let mut history = History::new(seed);
        let start = json!({"start": {"plan": plans::random(&mut history.rng)}});
        for _ in 0..history.rng.below(3) {
            let signal = history.signal();
            history.tell(signal);
        }
        history.tell(start);
        for _ in 0..STEPS {
            history.step(History::planned_command);
        }
        history.finish();
        seen.extend(history.seen());
    }
    let rare = ["Appended", "TimerCancelled"];
    check_seen(&seen, &rare);
}

#[test]
fn any_history_of_an_engine_folds_to_what_was_decided_and_can_be_brought_to_its_end() {
    let mut seen = BTreeSet::new();
    for seed in seeds() {
        let _printed = Seed(seed);
        let mut history = History::new(seed);
        let mut start = json!({});
        if history.rng.chance(40) {
            start["max_concurrency"] = json!(1 + history.rng.below(4));
        }
        if history.rng.chance(20) {
            start["attempts_max"] = json!(1 + history.rng.below(20));
        }
        if history.rng.chance(10) {
            start["deadline"] = json!(history.log.now.0 + 1 + history.rng.below(HOUR));
        }
        history.tell(json!({ "start": start }));
        for _ in 0..STEPS {
            history.step(History::driven_command);
        }
        history.finish();
        seen.extend(history.seen());
    }
    check_seen(&seen, &["Listening", "WaitEnded", "Closed(Failed"]);
}

/// Every kind of event and ending came up, but those that can't.
fn check_seen(seen: &BTreeSet<String>, never: &[&str]) {
    if seeds().len() < 100 {
        return; // too few to meet them all
    }
    let all = [
        "Started",
        "Appended",
        "Claimed",
        "Prepared",
        "Receipt",
        "Settled",
        "TimerArmed",
        "TimerFired",
        "TimerCancelled",
        "Signalled",
        "Listening",
        "WaitEnded",
        "Paused",
        "Resumed",
        "CancelRequested",
        "DeadlineReached",
        "Closed(Completed",
        "Closed(Failed",
        "Closed(Cancelled",
        "Closed(TimedOut",
    ];
    let missing = all.iter().filter(|kind| !never.contains(kind) && !seen.contains(**kind));
    assert_eq!(missing.count(), 0, "only {seen:?} came up");
}

impl History {
    fn new(seed: u64) -> Self {
        Self { log: Log::new(), rng: Rng::new(seed), told: Vec::new() }
    }

    /// Gives a new command, and remembers it if it committed something.
    fn tell(&mut self, verb: Value) {
        let id = format!("h{}", self.told.len() * 1_000 + self.log.commits.len());
        self.log.sent = Some(self.log.now);
        if let Told::Committed(_) = self.log.tell_as(&id, verb.clone()) {
            self.told.push((id, verb));
        }
    }

    fn step(&mut self, next: fn(&mut Self) -> Value) {
        match self.rng.below(20) {
            0..=2 => {
                let scale = 1 << self.rng.below(25);
                self.log.wait(self.rng.below(scale));
            }
            3 | 4 => {
                let mode = *self.rng.pick(&[Look::Wake, Look::Alarm]);
                self.log.look(mode);
            }
            5 => self.look_when_due(),
            6 | 7 => self.repeat(),
            8 | 9 => self.batch(next),
            10 => self.one_commit_more(),
            _ => {
                let verb = next(self);
                self.tell(verb);
            }
        }
        // An instance whose clock is a little behind.
        if self.rng.chance(5) {
            self.log.now = self.log.now.minus_ms(self.rng.below(MINUTE));
        }
    }

    fn look_when_due(&mut self) {
        if let Some(due) = self.log.state.earliest_due() {
            self.log.now = self.log.now.max(due);
            assert!(self.log.look(Look::Wake).is_some(), "what is due makes a commit");
        }
    }

    fn one_commit_more(&mut self) {
        if self.log.state.continues.is_some() {
            self.log.look(Look::Wake);
        }
    }

    /// A command that committed before comes again, however much later.
    fn repeat(&mut self) {
        if self.told.is_empty() {
            return;
        }
        let (id, verb) = self.rng.pick(&self.told).clone();
        self.log.sent = None;
        let told = self.log.tell_as(&id, verb.clone());
        let heartbeat = verb.get("heartbeat").is_some();
        let committed = matches!(told, Told::Committed(_));
        assert!(heartbeat || !committed, "a repeat committed: {verb}");
    }

    /// Several commands on one draft; what asks for the commit in the making waits.
    fn batch(&mut self, next: fn(&mut Self) -> Value) {
        let mut draft = Draft::new(&self.log.state, self.log.now);
        self.log.sent = Some(self.log.now);
        for at in 0..1 + self.rng.below(5) {
            let verb = next(self);
            let id = format!("b{}-{at}", self.log.commits.len());
            let command = command(&id, &verb);
            let before = draft.clone();
            let repeats = 1 + u64::from(self.rng.chance(20));
            for _ in 0..repeats {
                match decide(&mut draft, &self.log.context(), &command) {
                    Ok(_) => {}
                    Err(Refused::Damaged(error)) => panic!("{error}"),
                    Err(_) if repeats == 1 => assert_eq!(draft.state(), before.state()),
                    Err(_) => {}
                }
            }
        }
        if !draft.is_empty() {
            self.log.commit(draft, false);
        }
    }

    fn signal(&mut self) -> Value {
        json!({"signal": {"name": self.rng.pick(&SIGNALS), "payload": self.rng.below(9)}})
    }

    /// An attempt to speak of: mostly a live one, sometimes any other.
    fn attempt(&mut self) -> Value {
        let live: Vec<(String, u32, u32)> = self
            .log
            .state
            .attempts
            .iter()
            .map(|(target, a)| {
                let activation = match target {
                    Target::Planned(_) => 1,
                    Target::Driven(_, activation) => *activation,
                };
                (self.log.state.node_id(target).to_string(), activation, a.n)
            })
            .collect();
        let (name, activation, n) = if live.is_empty() || self.rng.chance(10) {
            let n = 1 + u32::try_from(self.rng.below(3)).expect("small");
            (format!("n{}", self.rng.below(30)), 1, n)
        } else {
            self.rng.pick(&live).clone()
        };
        let key = if self.rng.chance(2) { key_of("x", 1, 1) } else { key_of(&name, activation, n) };
        json!({"node": name, "activation": activation, "attempt": n, "dispatch_key": key})
    }

    fn evidence(&mut self) -> Value {
        let worker = *self.rng.pick(&["w1", "w1", "w2"]);
        json!({"attempt": self.attempt(), "worker": worker})
    }

    fn settle(&mut self) -> Value {
        let outcome = match self.rng.below(10) {
            0..=4 => json!({"succeeded": {"output": self.rng.below(5)}}),
            5..=7 => json!({"failed": {"kind": self.rng.pick(&["flaky", "fatal"])}}),
            8 => json!({"lost": {}}),
            _ => json!({"cancelled": {}}),
        };
        let mut settle = json!({"attempt": self.attempt(), "outcome": outcome});
        if self.rng.chance(30) {
            settle["worker"] = json!(self.rng.pick(&["w1", "w2"]));
        }
        json!({ "settle": settle })
    }

    fn planned_command(&mut self) -> Value {
        match self.rng.below(40) {
            0..=14 => self.settle(),
            15..=21 => json!({"receipt": self.evidence()}),
            22..=26 => json!({"heartbeat": self.evidence()}),
            27..=31 => self.signal(),
            32 | 33 => json!({"pause": {}}),
            34..=37 => json!({"resume": {}}),
            38 if self.rng.chance(20) => json!({"cancel": {}}),
            38 => json!({"start": {}}),
            _ => json!({"claim": {"owner": owner(1 + self.rng.below(2))}}),
        }
    }

    fn driven_command(&mut self) -> Value {
        match self.rng.below(40) {
            0..=9 => self.append(),
            10..=15 => {
                let mut prepare = json!({"intent": self.intent()});
                self.owned(&mut prepare);
                json!({ "prepare": prepare })
            }
            _ => self.planned_command(),
        }
    }

    fn owned(&mut self, body: &mut Value) {
        if self.log.state.owner.is_some() != self.rng.chance(5) {
            body["owner"] = owner(1);
        }
    }

    fn intent(&mut self) -> Value {
        let name = format!("n{}", self.rng.below(6));
        let mut intent = intent(&name, 1 + u32::try_from(self.rng.below(3)).expect("small"));
        if self.rng.chance(30) {
            intent["not_before"] = json!(self.log.now.0 + self.rng.below(HOUR));
        }
        if self.rng.chance(30) {
            intent["timeouts"] = json!({"schedule_to_start_ms": 1 + self.rng.below(HOUR)});
        }
        intent
    }

    fn append(&mut self) -> Value {
        let behind = u64::from(self.rng.chance(10));
        let mut append = json!({"expected_seq": self.log.state.head.saturating_sub(behind)});
        self.owned(&mut append);
        let kinds = 0..self.rng.below(3);
        append["events"] = kinds.map(|at| json!({"kind": format!("k{at}")})).collect();
        if self.rng.chance(30) {
            append["prepare"] = json!([self.intent(), self.intent()]);
        }
        if self.rng.chance(40) {
            let timer = format!("t{}", self.rng.below(4));
            append["timers"] = match self.rng.chance(70) {
                true => json!([{"timer": timer, "fire_at": self.log.now.0 + self.rng.below(HOUR)}]),
                false => json!([{ "timer": timer }]),
            };
        }
        if self.rng.chance(2) {
            append["close"] = json!({"ending": "completed", "result": 1});
        }
        json!({ "append": append })
    }

    /// Looks and settles until the run has ended, which it must.
    fn finish(&mut self) {
        self.check_signals();
        self.tell(json!({"resume": {}}));
        if self.log.state.plan().is_none() {
            self.tell(json!({"cancel": {}}));
        }
        for _ in 0..500 {
            self.log.go_on();
            if self.log.state.ending().is_some() {
                return;
            }
            let listens = self.log.state.listening.keys().next().copied();
            if !self.log.state.attempts.is_empty() && self.rng.chance(80) {
                let settle = self.settle();
                self.tell(settle);
            } else if let Some(node) = listens {
                let plan = self.log.state.plan().cloned().expect("a plan");
                let Work::Signal(name, _) = &plan.node(node).work else { panic!("no wait") };
                self.tell(json!({"signal": {"name": name}}));
            } else {
                self.look_when_due();
            }
        }
        panic!("still open: {:?}", self.log.state);
    }

    /// The kinds of its events, and its ending.
    fn seen(&self) -> impl Iterator<Item = String> {
        let name = |event: &Event| {
            let text = format!("{event:?}");
            let until = if text.starts_with("Closed") { ',' } else { '(' };
            text.split(until).next().unwrap_or_default().to_owned()
        };
        self.log.commits.iter().flat_map(|commit| &commit.events).map(name)
    }

    /// Every signal was taken once, or waits.
    fn check_signals(&self) {
        let state = &self.log.state;
        if state.plan().is_none() || !state.open() {
            return;
        }
        let events = || self.log.commits.iter().flat_map(|c| &c.events);
        let came = events().filter(|e| matches!(e, Event::Signalled(..))).count();
        let taken =
            events().filter(|e| matches!(e, Event::WaitEnded(_, WaitEnd::Signal(_)))).count();
        let waiting: usize = state.signals.values().map(std::collections::VecDeque::len).sum();
        assert_eq!(came, taken + waiting, "no signal is lost or taken twice");
        let staged = state.attempts.values().filter(|a| matches!(a.stage, Stage::Staged { .. }));
        assert!(state.cancel.is_none() || staged.count() == 0);
    }
}
