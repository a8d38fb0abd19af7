//! Two of everything on one workflow at once: two sweeps, two dispatchers, two
//! settlers, in 1,000 seeded schedules on a virtual clock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use everlog::command::{Ended, Settle, Verb};
use everlog::fleet::{Fleet, Function, Message};
use everlog::message::{Dispatch, LeftOver, Wake};
use everlog::worker::command as about;
use everlog_local::stack;
use everlog_local::transport::Handler;
use everlog_sqs::Receive;
use everlog_testing::world::command;
use everlog_testing::{Rng, World, proof};
use serde_json::json;

const SCHEDULES: u64 = 1_000;

/// Each call of an instance takes its time, as the seed says.
fn slow(inner: Handler, seed: u64) -> Handler {
    let rng = Arc::new(Mutex::new(Rng::new(seed)));
    Arc::new(move |call| {
        let (before_ms, after_ms) = match rng.lock() {
            Ok(mut rng) => (rng.below(20), rng.below(20)),
            Err(_) => (0, 0),
        };
        let inner = inner.clone();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(before_ms)).await;
            let answer = inner(call).await;
            tokio::time::sleep(Duration::from_millis(after_ms)).await;
            answer
        })
    })
}

fn message(at: usize, body: String) -> Message {
    Message { id: format!("m{at}"), body, receive_count: 1, ..Message::default() }
}

fn plan() -> serde_json::Value {
    json!({ "plan": { "tasks": [
        { "id": "a" }, { "id": "b" }, { "id": "c" },
        { "id": "nap", "sleep_ms": 1000 },
        { "id": "tail", "after": ["a", "b", "c", "nap"] },
    ] } })
}

async fn dispatches(world: &World) -> Vec<Dispatch> {
    let url = stack::queue_url("default");
    let receive = Receive { max_messages: 10, wait_s: Some(0), visibility_s: Some(3_600) };
    let mut found: Vec<Dispatch> = Vec::new();
    loop {
        let messages = world.backend.sqs().receive(&url, receive).await.expect("a queue");
        if messages.is_empty() {
            return found;
        }
        for message in messages {
            let dispatch: Dispatch = serde_json::from_str(&message.body).expect("a dispatch");
            if found.iter().all(|d| d.dispatch_key != dispatch.dispatch_key) {
                found.push(dispatch);
            }
        }
    }
}

fn settle(dispatch: &Dispatch) -> String {
    let outcome = Ended::Succeeded { output: None };
    let settle = Settle { attempt: dispatch.attempt_id(), worker: None, outcome };
    let command = about(dispatch, Verb::Settle(Box::new(settle))).expect("an id");
    serde_json::to_string(&command).expect("JSON")
}

/// Settlers, sweeps and dispatchers of two instances, all at once.
async fn all_at_once(world: &World, fleets: &[Fleet; 2], rng: &mut Rng) {
    let work = dispatches(world).await;
    let (key, loaded) = world.load("w").await;
    let wake = Wake {
        namespace: key.namespace.clone(),
        workflow: key.workflow.clone(),
        incarnation: None,
        relay: rng.percent(30),
        remove: false,
        command: None,
    };
    let left_over = LeftOver {
        namespace: key.namespace.clone(),
        workflow: key.workflow.clone(),
        incarnation: key.incarnation,
        commit: 1 + rng.below(loaded.state.commit),
    };
    let mut tasks = tokio::task::JoinSet::new();
    for fleet in fleets {
        // Each settler gets its own mix of the same outcomes.
        let mut mine: Vec<&Dispatch> = work.iter().filter(|_| rng.percent(75)).collect();
        if rng.percent(50) {
            mine.reverse();
        }
        let batch: Vec<Message> =
            mine.iter().enumerate().map(|(at, d)| message(at, settle(d))).collect();
        let (settler, sweeper, dispatcher) = (fleet.clone(), fleet.clone(), fleet.clone());
        tasks.spawn(async move { drop(settler.commands(Function::Settle, batch).await) });
        let wake = message(90, serde_json::to_string(&wake).expect("JSON"));
        tasks.spawn(async move { drop(sweeper.wakes(vec![wake]).await) });
        let left = message(91, serde_json::to_string(&left_over).expect("JSON"));
        tasks.spawn(async move { drop(dispatcher.left_overs(vec![left]).await) });
    }
    while let Some(joined) = tasks.join_next().await {
        joined.expect("no panic");
    }
}

async fn schedule(seed: u64) {
    let mut rng = Rng::new(seed);
    let world = World::new().await;
    let fleets = [
        world.instance(slow(world.direct(), seed * 2)).await,
        world.instance(slow(world.direct(), seed * 2 + 1)).await,
    ];
    let start = command("c-start", "w", "start", plan());
    let starts = [0, 1].map(|at| message(at, start.to_string()));
    let (one, two) = tokio::join!(
        fleets[0].commands(Function::Append, vec![starts[0].clone()]),
        fleets[1].commands(Function::Append, vec![starts[1].clone()]),
    );
    assert!(one.is_empty() || two.is_empty(), "seed {seed}: one of two starts at least is served");
    for round in 0..200 {
        all_at_once(&world, &fleets, &mut rng).await;
        if let Some(what) = proof::alarm(&world, "w").await {
            panic!("seed {seed}: {what}");
        }
        let (_, loaded) = world.load("w").await;
        if loaded.state.ending().is_some() {
            break;
        }
        assert!(round < 199, "seed {seed}: not closed: {:#?}", loaded.state);
        // Now and then long enough for the alarm to ring.
        let pass_ms = if rng.percent(20) { 61_000 } else { rng.below(1_500) };
        tokio::time::sleep(Duration::from_millis(pass_ms)).await;
    }
    let (key, loaded) = world.load("w").await;
    let plan = loaded.state.plan().expect("a plan").clone();
    let facts = proof::history(&proof::commits(&world.observer, &key).await, &plan);
    facts.all_succeeded(&plan);
    assert_eq!(facts.attempts, 4, "seed {seed}: each attempt was prepared once");
}

fn schedules(from: u64) {
    for seed in from..from + SCHEDULES / 2 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(schedule(seed));
    }
}

#[test]
fn two_of_everything_make_one_history_first_500_schedules() {
    schedules(1);
}

#[test]
fn two_of_everything_make_one_history_second_500_schedules() {
    schedules(1 + SCHEDULES / 2);
}
