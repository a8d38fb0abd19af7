//! The small worlds of the model, as workflows that the real code can run.
//!
//! The model's tick is a minute, its time 5 is minute 5 after the start,
//! half past, and its timers are sleeps that come due a second past a minute.
//! A timer that a command adds is a sleep behind the wait for that command's
//! signal; one more wait, for a signal that never comes, keeps the run open.

use std::collections::BTreeMap;

use everlog_model::scenarios as small;
use everlog_model::{Command, Due, Few, ItemKind, Role, Scenario, Verb};
use everlog_testing::world::command;
use serde_json::{Value, json};

/// Where in its minute a schedule begins.
const HALF_MS: u64 = 30_000;
/// How far a sleep falls short of whole minutes, so that it ends a second past one.
const SHORT_MS: u64 = HALF_MS - 1_000;

/// A scenario of the model that the real code can run.
#[derive(Debug, Clone)]
pub struct Cast {
    /// The model's half.
    pub scenario: Scenario,
}

fn sleep_ms(ticks: u8) -> u64 {
    match u64::from(ticks) {
        0 => 1,
        ticks => ticks * 60_000 - SHORT_MS,
    }
}

impl Cast {
    /// The due times of the workflow that is there at the beginning.
    pub fn begun(&self) -> &[u8] {
        self.scenario.begun.as_ref().map_or(&[], |begun| &begun.dues)
    }

    /// The start of the workflow that is there at the beginning, and the
    /// signals that follow it, one commit each.
    pub fn setup(&self) -> Vec<Value> {
        let Some((&first, rest)) = self.begun().split_first() else { return Vec::new() };
        let mut tasks = vec![json!({ "id": "nap0", "sleep_ms": sleep_ms(first) })];
        let adders = self.scenario.commands.iter().filter(|c| c.verb == Verb::Add);
        let added: BTreeMap<u8, u8> =
            adders.filter_map(|c| Some((c.adds.first()?, after(c)))).collect();
        let later = (1..).zip(rest.iter().copied()).chain(added);
        for (item, ticks) in later {
            tasks.push(json!({ "id": format!("on{item}"), "signal": format!("s{item}") }));
            tasks.push(json!({
                "id": format!("nap{item}"), "after": [format!("on{item}")], "sleep_ms": sleep_ms(ticks),
            }));
        }
        let start = command("begin", "", "start", json!({ "plan": plan(tasks) }));
        let signal = |item| {
            command(&format!("begin{item}"), "", "signal", json!({ "name": format!("s{item}") }))
        };
        std::iter::once(start).chain((1..=rest.len()).map(signal)).collect()
    }

    /// Command `id`, as its sender makes it.
    pub fn command(&self, id: u8) -> Value {
        let Command { verb, adds, .. } = self.scenario.commands[usize::from(id)];
        let (name, content) = match (verb, adds.first()) {
            (Verb::Start, item) => {
                let ticks = after(&self.scenario.commands[usize::from(id)]);
                let nap = |item| json!({ "id": format!("nap{item}"), "sleep_ms": sleep_ms(ticks) });
                ("start", json!({ "plan": plan(item.map(nap).into_iter().collect()) }))
            }
            (Verb::Add, Some(item)) => ("signal", json!({ "name": format!("s{item}") })),
            (Verb::Pause, _) => ("pause", json!({})),
            (Verb::Resume, _) => ("resume", json!({})),
            (Verb::Close, _) => ("cancel", json!({})),
            (verb, _) => panic!("the code has no {verb:?}"),
        };
        command(&format!("c{id}"), "", name, content)
    }
}

fn after(command: &Command) -> u8 {
    match command.due {
        Due::After(ticks) => ticks,
        Due::At(_) => panic!("a real timer is a sleep"),
    }
}

fn plan(mut tasks: Vec<Value>) -> Value {
    tasks.push(json!({ "id": "open", "signal": "never" }));
    json!({ "tasks": tasks })
}

/// Counts fixed times from the time 5, in which all scenarios begin.
fn relative(mut scenario: Scenario) -> Cast {
    for command in &mut scenario.commands {
        if let Due::At(tick) = command.due {
            command.due = Due::After(tick.saturating_sub(5));
        }
    }
    Cast { scenario }
}

/// Two committers, one due at once and one in two minutes, and two sweeps.
pub fn alarm() -> Cast {
    relative(small::alarm())
}

/// The same, with two unanswered writes.
pub fn alarm_two_unanswered() -> Cast {
    relative(small::alarm_two_unanswered())
}

/// The same, while time goes on.
pub fn alarm_in_time() -> Cast {
    relative(small::alarm_in_time())
}

/// Functions that run out of time at a put and turn to another command.
pub fn give_up() -> Cast {
    relative(small::give_up())
}

/// Pause and resume, by two functions, coming again; two unanswered writes.
pub fn pause() -> Cast {
    relative(small::pause())
}

/// One committer that needs an earlier alarm, and one sweep; nothing goes wrong.
pub fn committer_and_sweep() -> Cast {
    let mut cast = alarm();
    let scenario = &mut cast.scenario;
    scenario.name = "committer and sweep";
    scenario.commands.truncate(1);
    scenario.commands[0].due = Due::After(2);
    scenario.sent = Few::of(&[0]);
    scenario.unanswered = 0;
    scenario.processes = vec![function(&[0]), sweep(1)];
    cast
}

/// A close that comes again, an event that needs an earlier alarm, and a sweep.
pub fn close() -> Cast {
    let mut cast = relative(small::close());
    let scenario = &mut cast.scenario;
    scenario.items = vec![ItemKind::Timer; 2];
    scenario.commands[0].adds = Few::NONE;
    scenario.commands[1].adds = Few::of(&[1]);
    cast
}

/// Two starters and two sweeps, while the first alarm rings: abandoned, and the second life.
pub fn start() -> Cast {
    let mut cast = relative(small::start());
    let scenario = &mut cast.scenario;
    scenario.commands.truncate(2);
    scenario.commands[0].due = Due::After(3);
    scenario.commands[1].due = Due::After(2);
    scenario.sent = Few::of(&[0, 1]);
    scenario.again = Few::of(&[0]);
    scenario.now_max = 7;
    let mortal = Role { mortal: true, ..function(&[0, 1]) };
    scenario.processes = vec![mortal, function(&[0, 1]), sweep(2), sweep(1)];
    cast
}

fn function(takes: &[u8]) -> Role {
    Role { takes: Few::of(takes), looks: 0, give_ups: 0, mortal: false }
}

fn sweep(looks: u8) -> Role {
    Role { takes: Few::NONE, looks, give_ups: 0, mortal: false }
}
