//! Faults that were found in the flow of work, each by its name.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod found;

use std::sync::Arc;
use std::time::Duration;

use everlog::fleet::Function;
use everlog_local::transport::Handler;
use everlog_local::{mapping, stack};
use everlog_testing::world::command;
use everlog_testing::{World, worker};
use found::*;
use serde_json::{Value, json};

async fn outage(throttle: bool) {
    let world = World::new().await;
    let until = world.backend.clock().now().plus_ms(600_000 + 30_000);
    let from = world.backend.clock().now().plus_ms(30_000);
    let inner = world.direct();
    let clock = world.backend.clock().clone();
    let h: Handler = Arc::new(move |call| {
        let now = clock.now();
        if call.target.starts_with("DynamoDB") && now >= from && now < until {
            return Box::pin(async move {
                if throttle {
                    Ok(everlog_local::backend::Answer { status: 400, headers: vec![], body: br#"{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"x"}"#.to_vec() })
                } else {
                    Err(everlog_local::transport::NoAnswer)
                }
            });
        }
        inner(call)
    });
    let fleet = world.instance(h).await;
    let m = mapping::start(&fleet, world.backend.sqs());
    let w = worker::start(&world.observer, world.backend.sqs(), 4);
    let tasks: Vec<Value> = (0..40).map(|i| json!({"id": format!("slow{i}"), "after": if i < 4 { json!([]) } else { json!([format!("slow{}", i - 4)]) }})).collect();
    ask(&fleet, &command("c-start", "w", "start", json!({"plan": {"tasks": tasks}}))).await;
    let s = closes(&world, 20_000).await;
    drop((m, w));
    let (_, l) = world.load("w").await;
    println!(
        "outage throttle={throttle}: {s} s {} attempts {}",
        l.state.status(),
        l.state.consumed
    );
    assert!(s < 20_000);
}
#[tokio::test(start_paused = true)]
async fn a_decision_cut_short_goes_on_although_a_claim_comes_between() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let plan = json!({ "plan": { "tasks": [ {"id":"a"}, {"id":"b","after":["a"]} ] } });
    ask(&fleet, &command("c-start", "w", "start", plan)).await;
    let d = dispatches(&world).await;
    let dying = world.instance(dies(world.direct(), 1, true)).await;
    let body = settle(&d[0], json!({"succeeded": {"output": big(250_000)}})).to_string();
    let t = tokio::spawn(async move { dying.direct(Function::Settle, &body).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    t.abort();
    let (_, l) = world.load("w").await;
    println!(
        "after death: commit {} continues {:?} attempts {}",
        l.state.commit,
        l.state.continues,
        l.state.attempts.len()
    );
    let fresh = world.instance(world.direct()).await;
    let r = ask(
        &fresh,
        &command(
            "c-claim",
            "w",
            "claim",
            json!({"owner": {"owner":"o","instance":"i","generation":1,"token":"t"}}),
        ),
    )
    .await;
    println!("claim: {r:?}");
    let m = mapping::start(&fresh, world.backend.sqs());
    tokio::time::sleep(Duration::from_secs(3 * 86_400)).await;
    drop(m);
    let (_, l) = world.load("w").await;
    let (_, c) = world.card("w").await.unwrap();
    println!(
        "3 days later: {} commit {} continues {:?} attempts {} unfinished {} alarm {:?} due {:?} card {:?}",
        l.state.status(),
        l.state.commit,
        l.state.continues,
        l.state.attempts.len(),
        l.state.nodes.unfinished(),
        l.state.alarm,
        l.state.earliest_due(),
        c.alarm_at
    );
    assert!(l.state.attempts.len() == 1, "b is never prepared: stuck for ever");
}

#[tokio::test(start_paused = true)]
async fn a_decision_cut_short_goes_on_although_a_receipt_comes_between() {
    let world = World::new().await;
    let tasks: Vec<Value> = (0..150).map(|i| json!({"id": format!("t{i:03}")})).collect();
    let dying = world.instance(dies(world.direct(), 2, false)).await; // before the continue's put
    let body = command("c-start", "w", "start", json!({"plan": {"tasks": tasks}})).to_string();
    let t = tokio::spawn(async move { dying.direct(Function::Append, &body).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    t.abort();
    let d = dispatches(&world).await;
    println!("dispatched {}", d.len());
    let fresh = world.instance(world.direct()).await;
    let r = json!({ "id": "r", "workflow": "w", "command": { "receipt": {
        "attempt": { "node": d[0].node, "activation": 1, "attempt": 1, "dispatch_key": d[0].dispatch_key }, "worker": "me" } } });
    println!("{:?}", fresh.direct(Function::Settle, &r.to_string()).await.map(|a| a.reply));
    let m = mapping::start(&fresh, world.backend.sqs());
    tokio::time::sleep(Duration::from_secs(840)).await;
    drop(m);
    let (_, l) = world.load("w").await;
    println!(
        "14 min later: continues {:?} attempts {} of 150",
        l.state.continues,
        l.state.attempts.len()
    );
    assert_eq!(l.state.attempts.len(), 150);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_sleeps_end_at_once() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let m = mapping::start(&fleet, world.backend.sqs());
    let tasks: Vec<Value> =
        (0..1000).map(|i| json!({"id": format!("t{i:04}"), "sleep_ms": 10_000})).collect();
    ask(&fleet, &command("c-start", "w", "start", json!({"plan": {"tasks": tasks}}))).await;
    let s = closes(&world, 7200).await;
    drop(m);
    assert!(s < 15, "1000 sleeps of 10 s took {s} s");
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_task_was_cancelled_by_its_worker_has_not_completed() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    ask(
        &fleet,
        &command(
            "c-start",
            "w",
            "start",
            json!({"plan": {"tasks": [{"id":"a"},{"id":"b","after":["a"]}]}}),
        ),
    )
    .await;
    let d = dispatches(&world).await;
    let r =
        fleet.direct(Function::Settle, &settle(&d[0], json!({"cancelled": {}})).to_string()).await;
    println!("{:?}", r.map(|a| a.reply));
    let (_, l) = world.load("w").await;
    assert_ne!(
        l.state.status(),
        "completed",
        "a was cancelled, b never ran: {:?}",
        l.state.nodes.phase(1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_sleep_just_over_fifteen_minutes_is_on_time() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let m = mapping::start(&fleet, world.backend.sqs());
    let w = worker::start(&world.observer, world.backend.sqs(), 1);
    tokio::time::sleep(Duration::from_secs(38)).await; // sweep at :20, start at :58
    ask(
        &fleet,
        &command(
            "c-start",
            "w",
            "start",
            json!({"plan": {"tasks": [{"id":"a"},{"id":"z","sleep_ms": 925_000}]}}),
        ),
    )
    .await;
    let s = closes(&world, 7200).await;
    drop((m, w));
    println!("sleep took {s}");
    assert!(s <= 928, "a sleep of 925 s took {s} s");
}

#[tokio::test(start_paused = true)]
async fn direct_calls_do_not_multiply_the_dispatches_that_wait() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let m = mapping::start(&fleet, world.backend.sqs());
    let tasks: Vec<Value> = (0..50).map(|i| json!({"id": format!("t{i}")})).collect();
    ask(&fleet, &command("c-start", "w", "start", json!({"plan": {"tasks": tasks}}))).await;
    for n in 0..5 {
        ask(&fleet, &command(&format!("s{n}"), "w", "signal", json!({"name":"x"}))).await;
    }
    tokio::time::sleep(Duration::from_secs(90)).await;
    drop(m);
    let n = world.depth(&stack::queue_url("default")).await;
    assert_eq!(n, 50, "50 dispatches that wait for a worker are {n} messages");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_after_the_deadline_does_not_change_why_the_run_ends() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let m = mapping::start(&fleet, world.backend.sqs());
    ask(
        &fleet,
        &command(
            "c-start",
            "w",
            "start",
            json!({"plan": {"deadline_ms": 60_000, "tasks": [{"id":"a"}]}}),
        ),
    )
    .await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    println!("{:?}", world.load("w").await.1.state.cancel);
    println!("{:?}", ask(&fleet, &command("c-c", "w", "cancel", json!({}))).await);
    let d = dispatches(&world).await;
    let _ =
        fleet.direct(Function::Settle, &settle(&d[0], json!({"cancelled": {}})).to_string()).await;
    drop(m);
    assert_eq!(world.load("w").await.1.state.status(), "timed_out");
}

#[tokio::test(start_paused = true)]
async fn ten_minutes_of_throttles_cost_nothing_but_time() {
    outage(true).await;
}
#[tokio::test(start_paused = true)]
async fn ten_minutes_without_dynamodb_cost_nothing_but_time() {
    outage(false).await;
}

/// The settle function's clock is 90 s off DynamoDB's for ten minutes: given back, then fine?
#[tokio::test(start_paused = true)]
async fn an_instance_whose_clock_is_off_commits_nothing() {
    use everlog_local::transport;
    let world = World::new().await;
    let clock = everlog::time::Clock::tokio(everlog_testing::world::EPOCH.plus_ms(90_000));
    let http = transport::client(world.direct(), world.backend.clock().clone());
    let off =
        stack::fleet(http, "http://aws.local", clock, world.observer.relay().queues().clone());
    let m = mapping::start(&off, world.backend.sqs());
    let w = worker::start(&world.observer, world.backend.sqs(), 1);
    world
        .send(
            Function::Append,
            &command("c", "w", "start", json!({"plan": {"tasks": [{"id":"a"}]}})),
            "c",
        )
        .await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    println!("while off: {:?}", world.card("w").await.map(|(_, c)| c.as_of));
    drop(m);
    let good = world.instance(world.direct()).await;
    let m = mapping::start(&good, world.backend.sqs());
    let s = closes(&world, 2000).await;
    drop((m, w));
    println!("closed {s} s after");
    assert!(s < 200);
}
