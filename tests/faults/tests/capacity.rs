//! What things cost, exactly, as the engine counts it. Prints the table.

use std::time::Duration;

use everlog::answer::Reply;
use everlog::fleet::{Fleet, Function};
use everlog::journal::{Meter, Purpose};
use everlog_local::{mapping, plan_file};
use everlog_testing::plans::layers;
use everlog_testing::scenes::units_a_task;
use everlog_testing::world::command;
use everlog_testing::{World, worker};
use serde_json::{Value, json};

/// Units since the last look, by purpose.
#[derive(Default)]
struct Since(Vec<f64>);

impl Since {
    fn look(&mut self, meter: &Meter) -> Vec<(Purpose, f64)> {
        let now: Vec<f64> = Purpose::ALL.iter().map(|p| meter.of(*p).units).collect();
        let before = std::mem::replace(&mut self.0, now.clone());
        let difference = now.iter().enumerate().map(|(at, n)| n - before.get(at).unwrap_or(&0.0));
        Purpose::ALL.into_iter().zip(difference).filter(|(_, units)| *units > 0.0).collect()
    }
}

fn sum(units: &[(Purpose, f64)], writes: bool) -> f64 {
    units.iter().filter(|(p, _)| p.writes() == writes).map(|(_, u)| u).sum()
}

fn of(units: &[(Purpose, f64)], purpose: Purpose) -> f64 {
    units.iter().filter(|(p, _)| *p == purpose).map(|(_, u)| u).sum()
}

async fn ask(fleet: &Fleet, id: &str, verb: &str, content: Value) -> Reply {
    let body = command(id, "w", verb, content).to_string();
    let answer = fleet.direct(Function::Append, &body).await.expect("an answer");
    answer.reply
}

#[tokio::test(start_paused = true)]
async fn appending_a_small_event_warm_costs_one_write_unit_and_no_read() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    assert_eq!(ask(&fleet, "c-0", "start", json!({})).await, Reply::Committed);
    let mut since = Since::default();
    since.look(fleet.journal().meter());
    for n in 1..=50_u64 {
        let event = json!({ "kind": "step", "payload": { "n": n } });
        let append = json!({ "expected_seq": n, "events": [event] });
        assert_eq!(ask(&fleet, &format!("c-{n}"), "append", append).await, Reply::Committed);
        let units = since.look(fleet.journal().meter());
        let commit = units.iter().filter(|(p, _)| *p != Purpose::Checkpoint).collect::<Vec<_>>();
        assert_eq!(commit, [&(Purpose::Commit, 1.0)], "append {n}");
    }
}

/// 100 sequential steps, by the whole fleet: its functions share a warm instance.
#[tokio::test(start_paused = true)]
async fn a_sequential_planned_step_costs_at_most_1_2_write_units() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let tasks: Vec<Value> = (0..102)
        .map(|n| match n {
            0 => json!({ "id": "step-0" }),
            101 => json!({ "id": "slow-last", "after": ["step-100"] }),
            n => json!({ "id": format!("step-{n}"), "after": [format!("step-{}", n - 1)] }),
        })
        .collect();
    let mapping = mapping::start(&fleet, world.backend.sqs());
    let mut since = Since::default();
    let plan = json!({ "plan": { "tasks": tasks } });
    assert_eq!(ask(&fleet, "c-start", "start", plan).await, Reply::Committed);
    let start = since.look(fleet.journal().meter());
    let workers = worker::start(&world.observer, world.backend.sqs(), 1);
    // The first step is the start's, the last one closes: 100 lie between.
    let settled = |n: u32| {
        let world = world.clone();
        async move {
            loop {
                let (_, loaded) = world.load("w").await;
                if loaded.state.nodes.phase(n).finished() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    };
    settled(100).await;
    let steps = since.look(fleet.journal().meter());
    settled(101).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let close = since.look(fleet.journal().meter());
    tokio::time::sleep(Duration::from_secs(1_800)).await;
    let looks = since.look(fleet.journal().meter());
    drop((mapping, workers));
    println!(
        "start          {} write units, {} read units  {start:?}",
        sum(&start, true),
        sum(&start, false)
    );
    println!(
        "100 steps      {} write units, {} read units  {steps:?}",
        sum(&steps, true),
        sum(&steps, false)
    );
    println!(
        "close          {} write units, {} read units  {close:?}",
        sum(&close, true),
        sum(&close, false)
    );
    println!(
        "looks after    {} write units, {} read units  {looks:?}",
        sum(&looks, true),
        sum(&looks, false)
    );
    let commits = of(&steps, Purpose::Commit);
    // Beside the steps: the receipt of the slow last one.
    assert!((100.0..=102.0).contains(&commits), "one commit a step: {commits}");
    assert!(sum(&steps, true) / 100.0 <= 1.2, "{steps:?}");
    assert!(sum(&steps, false) / 100.0 <= 1.0, "{steps:?}");
    let ends = sum(&start, true) + sum(&close, true)
        - of(&start, Purpose::ChunkWrite)
        - of(&close, Purpose::Checkpoint);
    assert!(ends <= 10.0, "start and close: {ends}");
}

/// The same with an instance that knows nothing, for each step.
#[tokio::test(start_paused = true)]
async fn a_cold_step_costs_at_most_two_read_units() {
    let world = World::new().await;
    let tasks: Vec<Value> = (0..40)
        .map(|n| match n {
            0 => json!({ "id": "s0" }),
            n => json!({ "id": format!("s{n}"), "after": [format!("s{}", n - 1)] }),
        })
        .collect();
    let first = world.instance(world.direct()).await;
    ask(&first, "c-start", "start", json!({ "plan": { "tasks": tasks } })).await;
    for step in 0..39 {
        let (key, loaded) = world.load("w").await;
        let (target, live) = loaded.state.attempts.iter().next().expect("one live attempt");
        let dispatch = everlog::fleet::build_dispatch(
            world.observer.journal(),
            &key,
            &loaded.state,
            target,
            live,
        );
        let dispatch = dispatch.await.expect("a dispatch");
        let outcome = everlog::command::Ended::Succeeded { output: None };
        let settle =
            everlog::command::Settle { attempt: dispatch.attempt_id(), worker: None, outcome };
        let verb = everlog::command::Verb::Settle(Box::new(settle));
        let body = everlog::worker::command(&dispatch, verb).expect("an id");
        let cold = world.instance(world.direct()).await;
        let answer =
            cold.direct(Function::Settle, &serde_json::to_string(&body).expect("JSON")).await;
        assert_eq!(answer.expect("an answer").reply, Reply::Committed);
        let meter = cold.journal().meter();
        let state = everlog::journal::state_bytes(&loaded.state);
        println!("step {step}: {} read units, state of {state} bytes", meter.read_units());
        assert!(meter.read_units() <= 2.0, "step {step}: {:?}", meter.of(Purpose::Load));
        assert!(meter.of(Purpose::Load).requests <= 2, "two round trips before the put");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fan_out_of_a_thousand_costs_at_most_1_5_write_units_a_task() {
    let text = layers(&[1, 1_000, 1], 0.0).to_string();
    let spec = plan_file::parse("fan-out", &text).expect("a plan");
    let (writes, reads) = units_a_task(&spec).await;
    println!("fan-out of 1,000: {writes:.3} write units, {reads:.3} read units a task");
    assert!(writes <= 1.5, "{writes}");
}
