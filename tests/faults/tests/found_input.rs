//! Faults that were found in what comes in, each by its name.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod found;

use std::sync::Arc;
use std::time::Duration;

use everlog::answer::Reply;
use everlog::event::Event;
use everlog::fleet::Function;
use everlog::journal::upload_id;
use everlog::plan::{PlanRef, compile};
use everlog_local::mapping;
use everlog_testing::world::command;
use everlog_testing::{World, proof};
use found::*;
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn two_large_signals_in_one_batch_both_get_in() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    ask(
        &fleet,
        &command("c-start", "w", "start", json!({"plan": {"tasks": [{"id":"s","signal":"go"}]}})),
    )
    .await;
    let batch = vec![
        message("1", &command("c1", "w", "signal", json!({"name":"x","payload": big(198_000)}))),
        message("2", &command("c2", "w", "signal", json!({"name":"x","payload": big(198_000)}))),
    ];
    for _ in 0..20 {
        let failed = fleet.commands(Function::Append, batch.clone()).await;
        if failed.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_secs(20)).await;
    }
    panic!("the same two messages were given back 20 times");
}

#[tokio::test(start_paused = true)]
async fn another_plan_under_the_id_of_a_start_that_died_meets_none_of_its_chunks() {
    let world = World::new().await;
    let plan = |salt: u32| {
        let tasks: Vec<Value> = (0..200u32)
            .map(|i| json!({"id": format!("t{}", (i + salt).wrapping_mul(2_654_435_761))}))
            .collect();
        command("start-w", "w", "start", json!({"plan": {"tasks": tasks}}))
    };
    let dying = world.instance(dies(world.direct(), 1, false)).await;
    let body = plan(1).to_string();
    let t = tokio::spawn(async move { dying.direct(Function::Append, &body).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    t.abort();
    let fresh = world.instance(world.direct()).await;
    println!(
        "{:?}",
        fresh.direct(Function::Append, &plan(1_000_000).to_string()).await.map(|a| a.reply)
    );
    let (key, _) = world.card("w").await.unwrap();
    let cold = world.instance(world.direct()).await;
    let loaded = cold.journal().load(&key).await.map(|l| l.state.commit);
    assert!(loaded.is_ok(), "{loaded:?}");
}

#[tokio::test(start_paused = true)]
async fn a_start_with_the_upload_of_another_workflow_writes_nothing_that_does_not_fold() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let tasks: Vec<Value> =
        (0..200u32).map(|i| json!({"id": format!("t{}", i.wrapping_mul(2_654_435_761))})).collect();
    let spec = serde_json::from_value(json!({"tasks": tasks})).unwrap();
    let plan = Arc::new(compile(&spec).unwrap());
    let id = everlog::id::CommandId::new("c").unwrap();
    let PlanRef::Stored(stored) =
        fleet.journal().put_plan("default#other", upload_id(&id), &plan).await.unwrap()
    else {
        panic!()
    };
    println!(
        "{:?}",
        ask(&fleet, &command("c-start", "w", "start", json!({"stored_plan": stored}))).await
    );
    let (key, _) = world.card("w").await.unwrap();
    let loaded = world.observer.journal().load(&key).await.map(|l| l.state.commit);
    assert!(loaded.is_ok(), "{loaded:?}");
}

#[tokio::test(start_paused = true)]
async fn a_signal_of_a_client_whose_clock_is_ahead_is_applied_once() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    ask(
        &fleet,
        &command("c-start", "w", "start", json!({"plan": {"tasks": [{"id":"s","signal":"go"}]}})),
    )
    .await;
    let mut x = command("x", "w", "signal", json!({"name":"x"}));
    x["issued_at"] = json!(world.backend.clock().now().plus_ms(3_600_000));
    let mut m = message("1", &x);
    m.sent_at = Some(world.backend.clock().now());
    assert!(fleet.commands(Function::Append, vec![m.clone()]).await.is_empty());
    for n in 0..600 {
        ask(&fleet, &command(&format!("o{n}"), "w", "signal", json!({"name":"other"}))).await;
    }
    m.receive_count = 2;
    assert!(fleet.commands(Function::Append, vec![m]).await.is_empty());
    let (key, _) = world.load("w").await;
    let commits = proof::commits(&world.observer, &key).await;
    let n = commits
        .iter()
        .flat_map(|(_, c)| &c.events)
        .filter(|e| matches!(e, Event::Signalled(name, _) if name.as_str() == "x"))
        .count();
    assert_eq!(n, 1, "applied {n} times");
}

#[tokio::test(start_paused = true)]
async fn a_signal_is_served_although_the_start_behind_it_is_bad() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let mut sig = command("sig", "w", "signal", json!({"name":"x"}));
    sig["reply_to"] = json!("replies");
    let start = command(
        "st",
        "w",
        "start",
        json!({"stored_plan": {"upload": "00".repeat(16), "hash": "11".repeat(16), "chunks": 1}}),
    );
    let failed =
        fleet.commands(Function::Append, vec![message("1", &sig), message("2", &start)]).await;
    println!("failed {failed:?}");
    let a = world.answers().await;
    println!("{:?}", a.iter().map(|a| (&a.command, &a.reply)).collect::<Vec<_>>());
    assert!(a[0].reply == Reply::Committed, "a good signal was refused for its neighbour's plan");
}

#[tokio::test(start_paused = true)]
async fn a_direct_command_that_waited_a_minute_for_its_sequence_is_answered() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    ask(&fleet, &command("c-start", "w", "start", json!({}))).await;
    let mut c = command("a", "w", "signal", json!({"name": "x"}));
    c["after_seq"] = json!(99);
    for _ in 0..20 {
        match fleet.direct(Function::Append, &c.to_string()).await {
            Ok(a) => {
                println!("{:?}", a.reply);
                return;
            }
            Err(e) => println!("{e}"),
        }
        tokio::time::sleep(Duration::from_secs(20)).await;
    }
    panic!("never answered");
}

#[tokio::test(start_paused = true)]
async fn two_large_outputs_settled_together_both_get_in() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    ask(
        &fleet,
        &command(
            "c-start",
            "w",
            "start",
            json!({"plan": {"tasks": [{"id":"a"},{"id":"b"},{"id":"c","after":["a","b"]}]}}),
        ),
    )
    .await;
    let d = dispatches(&world).await;
    for x in d.iter().take(2) {
        world
            .send(
                Function::Settle,
                &settle(x, json!({"succeeded": {"output": big(198_000)}})),
                x.node.as_str(),
            )
            .await;
    }
    let m = mapping::start(&fleet, world.backend.sqs());
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    drop(m);
    let (_, l) = world.load("w").await;
    assert_eq!(
        l.state.attempts.len(),
        1,
        "a day later: unfinished {} of 3, attempts {}",
        l.state.nodes.unfinished(),
        l.state.attempts.len()
    );
    assert_eq!(l.state.nodes.unfinished(), 1, "a day later a and b are still unsettled");
}
#[tokio::test(start_paused = true)]
async fn a_start_runs_its_own_plan_although_one_before_it_was_refused() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let sig = command("sig", "w", "signal", json!({"name":"x"}));
    let mut one =
        command("st1", "w", "start", json!({"deadline": 1, "plan": {"tasks": [{"id":"wrong"}]}}));
    one["reply_to"] = json!("replies");
    let mut two = command("st2", "w", "start", json!({"plan": {"tasks": [{"id":"right"}]}}));
    two["reply_to"] = json!("replies");
    let failed = fleet
        .commands(
            Function::Append,
            vec![message("1", &sig), message("2", &one), message("3", &two)],
        )
        .await;
    println!(
        "failed {failed:?} {:?}",
        world
            .answers()
            .await
            .iter()
            .map(|a| (a.command.clone(), a.reply.clone()))
            .collect::<Vec<_>>()
    );
    let (_, l) = world.load("w").await;
    assert_eq!(l.state.plan().map(|p| p.node(0).id.to_string()), Some("right".into()));
}

#[tokio::test(start_paused = true)]
async fn the_same_signal_twice_in_one_batch_is_applied_once() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    ask(&fleet, &command("c-start", "w", "start", json!({"plan": {"tasks": [{"id":"one","signal":"go"},{"id":"two","after":["one"],"signal":"go"}]}}))).await;
    let go = command("go-1", "w", "signal", json!({"name":"go"}));
    let f = fleet.commands(Function::Append, vec![message("1", &go), message("2", &go)]).await;
    println!("{f:?}");
    assert!(world.load("w").await.1.state.open(), "one signal, sent twice, ended two waits");
}
