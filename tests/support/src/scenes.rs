//! Whole runs that several tests play with other plans.

use std::sync::Arc;
use std::time::Duration;

use everlog::answer::Reply;
use everlog::fleet::Function;
use everlog::id::DispatchKey;
use everlog::plan::{PlanRef, PlanSpec, compile};
use everlog_local::mapping;
use serde_json::json;

use crate::network::{self, Weather};
use crate::world::command;
use crate::{World, proof, worker};

/// 10 % lost, 10 % doubled, and up to 20 seconds on the way, so out of order.
pub const STORM: Weather = Weather { lost: 10, doubled: 10, late_ms: 20_000 };

/// The content of a start command for a plan, uploaded if it is large.
///
/// # Panics
/// If the plan is none.
pub async fn start_of(world: &World, spec: &PlanSpec) -> serde_json::Value {
    let plan = Arc::new(compile(spec).expect("a plan"));
    let stored = world.observer.journal().put_plan("default#w", DispatchKey([7; 16]), &plan).await;
    match stored.expect("chunks") {
        PlanRef::Stored(stored) => json!({ "stored_plan": stored }),
        PlanRef::Inline(_) => json!({ "plan": spec }),
    }
}

/// Carries a plan through a storm, and proves its history.
///
/// # Panics
/// With what is wrong.
pub async fn through_the_storm(name: &str, spec: &PlanSpec, seed: u64) {
    let world = World::new().await;
    network::make_limbo(&world.backend).await;
    let handler = network::between(world.direct(), &world.backend, STORM, seed);
    let fleet = world.instance(handler.clone()).await;
    let mapping = mapping::start(&fleet, world.backend.sqs());
    let workers = worker::start(&world.instance(handler).await, world.backend.sqs(), 8);
    let start = command("c-start", "w", "start", start_of(&world, spec).await);
    // Nobody answers for the client: it sends its start until the workflow is there.
    while world.card("w").await.is_none_or(|(_, card)| card.as_of == 0) {
        let chance = world.backend.clock().now().0.to_string();
        world.send(Function::Append, &start, &chance).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let mut hours = 0;
    loop {
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let (_, loaded) = world.load("w").await;
        if loaded.state.ending().is_some() {
            break;
        }
        hours += 1;
        let unfinished = loaded.state.nodes.unfinished();
        assert!(hours < 24 * 14, "{name}: {unfinished} tasks not done after two weeks");
    }
    // Latecomers come in, and find that it is over.
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    drop((mapping, workers));
    let (key, loaded) = proof::at_rest(&world, "w").await;
    let plan = loaded.state.plan().expect("a plan").clone();
    let facts = proof::history(&proof::commits(&world.observer, &key).await, &plan);
    facts.all_succeeded(&plan);
    println!(
        "{name}: seed {seed}, {} tasks, {} attempts, {} commits, {hours} virtual hours",
        plan.nodes.len(),
        facts.attempts,
        loaded.state.commit
    );
    assert_eq!(facts.attempts, plan.nodes.len(), "a lost message costs no attempt");
}

/// Write and read units a task of a plan that warm functions carry through.
///
/// # Panics
/// If it does not complete within a virtual minute.
pub async fn units_a_task(spec: &PlanSpec) -> (f64, f64) {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let mapping = mapping::start(&fleet, world.backend.sqs());
    let workers = worker::start(&world.observer, world.backend.sqs(), 16);
    let start = command("c-start", "w", "start", json!({ "plan": spec })).to_string();
    let answer = fleet.direct(Function::Append, &start).await.expect("an answer");
    assert_eq!(answer.reply, Reply::Committed);
    for _ in 0..600 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if world.load("w").await.1.state.ending().is_some() {
            break;
        }
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    drop((mapping, workers));
    let (_, loaded) = world.load("w").await;
    assert_eq!(loaded.state.status(), "completed");
    let meter = fleet.journal().meter();
    let tasks = loaded.state.nodes.len() as f64;
    (meter.write_units() / tasks, meter.read_units() / tasks)
}
