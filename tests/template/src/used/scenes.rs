//! Where the functions go, one scene a kind of request.

use everlog::config::{DEAD_LETTER, OUTBOX, QUARANTINE};
use everlog::fleet::Function;
use everlog::fleet::Function::{Append, OutboxDispatch, Prepare, Settle, TimerSweep};
use everlog_local::stack::queue_url;
use everlog_local::transport::Call;
use everlog_testing::worker;
use everlog_testing::world::{EPOCH, command};
use serde_json::{Value, json};

use super::Used;
use super::rig::{Notes, Rig};
use crate::Grant;
use crate::parameters::EXTRA;

/// All scenes; what the functions used in them.
pub(super) async fn all() -> Used {
    let notes = Notes::default();
    planned(&mut Rig::new(&notes).await).await;
    driven(&mut Rig::new(&notes).await).await;
    unreadable(&Rig::new(&notes).await).await;
    damaged(&mut Rig::new(&notes).await).await;
    refusing_queues(&mut Rig::new(&notes).await).await;
    outage(&mut Rig::new(&notes).await).await;
    direct(&Rig::new(&notes).await).await;
    half_started(&Rig::new(&notes).await).await;
    deleted(&Rig::new(&notes).await).await;
    notes.used()
}

fn asked(id: &str, workflow: &str, verb: &str, content: Value) -> Value {
    let mut command = command(id, workflow, verb, content);
    command["reply_to"] = json!("replies");
    command
}

/// A plan with every kind of node, in chunks, paused and resumed on the way;
/// what a worker of another queue never takes is handed over again; and one
/// that is cancelled.
async fn planned(rig: &mut Rig) {
    let mut tasks = vec![
        json!({ "id": "first" }),
        json!({ "id": "flaky", "after": ["first"], "retry": { "initial_ms": 2_000 } }),
        json!({ "id": "fails", "after": ["first"], "retry": { "max_attempts": 2 } }),
        json!({ "id": "undo", "after": ["fails"], "when": "failure" }),
        json!({ "id": "nap", "after": ["first"], "sleep_ms": 3_000 }),
        json!({ "id": "long-nap", "after": ["first"], "sleep_ms": 4_000_000 }),
        json!({ "id": "word", "after": ["first"], "signal": "go", "signal_timeout_ms": 900_000 }),
        json!({ "id": "slow", "after": ["first"], "timeouts": { "heartbeat_ms": 600_000 } }),
        json!({ "id": "silent", "after": ["first"], "timeouts": { "start_to_close_ms": 60_000 } }),
        json!({
            "id": "elsewhere", "after": ["first"], "queue": EXTRA, "allow_failure": true,
            "retry": { "max_attempts": 1 }, "timeouts": { "schedule_to_start_ms": 5_000_000 },
        }),
    ];
    // More than one relay hands over, and more than fits a start.
    tasks.extend((0..250).map(|n| {
        json!({ "id": format!("wide-{n}"), "after": ["first"], "input": { "of": format!("{n:064}") } })
    }));
    let workers = worker::start(&rig.world.observer, rig.world.backend.sqs(), 8);
    rig.send(Append, asked("start", "w", "start", json!({ "plan": { "tasks": tasks } }))).await;
    rig.send(Append, asked("start-2", "v", "start", json!({ "plan": { "tasks": tasks } }))).await;
    rig.pass(5).await;
    rig.send(Append, asked("pause", "w", "pause", json!({}))).await;
    rig.pass(5).await;
    rig.replace_instances().await;
    rig.send(Append, asked("go", "w", "signal", json!({ "name": "go", "payload": 1 }))).await;
    rig.send(Append, asked("resume", "w", "resume", json!({}))).await;
    rig.send(Append, asked("cancel", "v", "cancel", json!({ "reason": "enough" }))).await;
    rig.pass(3 * 3_600).await;
    drop(workers);
    assert_eq!(rig.status("w").await.0, "failed", "one task fails on purpose");
    assert!(rig.depth(EXTRA).await > 1, "handed over again to a queue that nobody reads");
}

fn owner() -> Value {
    json!({ "owner": "engine", "instance": "a", "generation": 1, "token": "t" })
}

/// The start of a driven workflow under authority.
async fn drive(rig: &Rig, workflow: &str) {
    rig.send(Append, asked("start", workflow, "start", json!({}))).await;
    rig.send(Append, asked("claim", workflow, "claim", json!({ "owner": owner() }))).await;
    rig.pass(2).await;
}

fn prepare(id: &str, workflow: &str, intent: Value) -> Value {
    asked(id, workflow, "prepare", json!({ "owner": owner(), "intent": intent }))
}

/// An engine that appends, prepares and arms timers, long enough for
/// checkpoints; attempts later, elsewhere, and timed out; answers elsewhere.
async fn driven(rig: &mut Rig) {
    let workers = worker::start(&rig.world.observer, rig.world.backend.sqs(), 4);
    drive(rig, "w").await;
    let far = EPOCH.0 + 4_000_000;
    let content = json!({
        "expected_seq": 2, "owner": owner(),
        "events": [{ "kind": "decided", "payload": { "n": 1 } }],
        "prepare": [{ "node": "act", "type": "work" }, { "node": "far", "type": "work", "queue": EXTRA }],
        "timers": [{ "timer": "soon", "fire_at": EPOCH.0 + 30_000 }, { "timer": "far", "fire_at": far }],
    });
    rig.send(Append, asked("first", "w", "append", content)).await;
    rig.pass(5).await;
    let stale = json!({ "expected_seq": 2, "owner": owner(), "events": [{ "kind": "late" }] });
    let mut elsewhere = asked("stale", "w", "append", stale);
    elsewhere["reply_to"] = json!(EXTRA);
    rig.send(Append, elsewhere).await;
    for n in 0..40 {
        let input = json!({ "text": format!("{n:0900}") });
        let intent = match n % 4 {
            0 => json!({ "node": format!("n-{n}"), "type": "work", "queue": EXTRA }),
            1 => json!({
                "node": format!("n-{n}"), "type": "work",
                "not_before": rig.world.backend.clock().now().0 + 20_000,
            }),
            2 => json!({
                "node": format!("silent-{n}"), "type": "work",
                "timeouts": { "start_to_close_ms": 60_000 },
            }),
            _ => json!({ "node": format!("n-{n}"), "type": "work", "input": input }),
        };
        rig.send(Prepare, prepare(&format!("p-{n}"), "w", intent)).await;
        rig.pass(3).await;
    }
    rig.replace_instances().await;
    // Repeats, from instances that remember nothing.
    rig.send(Prepare, prepare("p-3", "w", json!({ "node": "n-3", "type": "other" }))).await;
    rig.send(Append, asked("claim", "w", "claim", json!({ "owner": owner() }))).await;
    rig.pass(2 * 3_600).await;
    drop(workers);
    let (_, loaded) = rig.world.load("w").await;
    assert!(loaded.checkpoint > 0, "no checkpoint was written");
    assert_eq!(rig.status("w").await.0, "running");
    assert!(loaded.state.timers.is_empty(), "both timers fired");
}

/// Messages that are none, and commands in the wrong queue, to every function.
async fn unreadable(rig: &Rig) {
    let functions = [Append, Prepare, Settle, TimerSweep, OutboxDispatch];
    for function in functions {
        rig.send(function, json!("not a command")).await;
    }
    for (function, verb) in [(Append, "prepare"), (Prepare, "pause"), (Settle, "pause")] {
        let content = match verb {
            "prepare" => json!({ "intent": { "node": "a", "type": "work" } }),
            _ => json!({}),
        };
        rig.send(function, asked("wrong", "w", verb, content)).await;
    }
    rig.pass(60).await;
    assert_eq!(rig.depth(DEAD_LETTER).await, 8);
    assert_eq!(rig.depth("replies").await, 3);
}

fn settle(workflow: &str, node: &str, key: &Value) -> Value {
    let attempt = json!({ "node": node, "activation": 1, "attempt": 1, "dispatch_key": key });
    let outcome = json!({ "succeeded": { "output": null } });
    asked("settle", workflow, "settle", json!({ "attempt": attempt, "outcome": outcome }))
}

/// A log that does not fold, met by every function; then mended and released.
async fn damaged(rig: &mut Rig) {
    let no_key = json!("00000000000000000000000000000000");
    for (function, command) in [
        (Append, asked("a", "of-append", "pause", json!({}))),
        (Prepare, prepare("p", "of-prepare", json!({ "node": "n", "type": "work" }))),
        (Settle, settle("of-settle", "n", &no_key)),
        (TimerSweep, json!({ "namespace": "default", "workflow": "of-sweep" })),
    ] {
        let workflow = command["workflow"].as_str().expect("one").to_owned();
        drive(rig, &workflow).await;
        let whole = rig.overwrite(&workflow, json!({ "B": "4QABgA==" })).await;
        rig.replace_instances().await;
        rig.send(function, command).await;
        rig.pass(30).await;
        let (key, card) = rig.world.card(&workflow).await.expect("a card");
        assert!(card.quarantine.is_some(), "{workflow} is marked");
        rig.send(OutboxDispatch, left_over(&workflow, key.incarnation.0)).await;
        rig.pass(5).await;
        rig.overwrite(&workflow, whole).await;
        rig.pass(2 * 3_600).await;
        let (_, card) = rig.world.card(&workflow).await.expect("a card");
        assert!(card.quarantine.is_none(), "{workflow} is released");
    }
    assert_eq!(rig.depth(QUARANTINE).await, 3);
}

fn left_over(workflow: &str, incarnation: u64) -> Value {
    json!({ "namespace": "default", "workflow": workflow, "incarnation": incarnation, "commit": 1 })
}

/// Task queues that refuse what each function hands over: it goes by the
/// outbox queue, and from there to both of them.
async fn refusing_queues(rig: &mut Rig) {
    let plan = json!({ "tasks": [
        { "id": "one" }, { "id": "two", "after": ["one"] },
        { "id": "three", "after": ["one"], "queue": EXTRA },
        { "id": "nap", "after": ["one"], "sleep_ms": 60_000 }, { "id": "four", "after": ["nap"] },
    ] });
    let refused = |call: &Call| {
        let body = String::from_utf8_lossy(&call.body).into_owned();
        let to = |queue: &str| body.contains(&queue_url(queue));
        call.target.ends_with("SendMessageBatch") && (to("default") || to(EXTRA))
    };
    drive(rig, "driven").await;
    rig.notes.trouble(refused);
    rig.send(Append, asked("start", "w", "start", json!({ "plan": plan }))).await;
    rig.send(Prepare, prepare("p", "driven", json!({ "node": "n", "type": "work" }))).await;
    rig.pass(15).await;
    assert_eq!(rig.depth("default").await, 0, "it refuses");
    rig.notes.no_trouble();
    rig.pass(60).await;
    assert!(rig.depth("default").await >= 2, "handed over by the outbox queue");
    // Only now somebody settles `one`, and what comes ready is refused.
    rig.notes.trouble(refused);
    let workers = worker::start(&rig.world.observer, rig.world.backend.sqs(), 2);
    rig.pass(20).await;
    assert_eq!(rig.depth(EXTRA).await, 0, "it refuses");
    rig.notes.no_trouble();
    rig.pass(30).await;
    assert!(rig.depth(EXTRA).await >= 1, "handed over by the outbox queue");
    // The nap ends, and what comes ready then is refused as well.
    rig.notes.trouble(refused);
    rig.pass(30).await;
    rig.notes.no_trouble();
    rig.pass(60).await;
    drop(workers);
    let (_, loaded) = rig.world.load("w").await;
    assert_eq!(loaded.state.nodes.unfinished(), 1, "all but what nobody works at");
    for function in [Append, Prepare, Settle, TimerSweep] {
        let left_over = Grant::new("sqs:SendMessage", format!("queue {OUTBOX}"));
        let used = rig.notes.used_by(function.name());
        assert!(used.contains(&left_over), "{} left nothing over", function.name());
    }
}

/// DynamoDB does not answer for one workflow: every function gives back.
async fn outage(rig: &mut Rig) {
    drive(rig, "w").await;
    let (key, _) = rig.world.card("w").await.expect("a card");
    rig.replace_instances().await;
    rig.notes.trouble(|call| {
        call.target.starts_with("DynamoDB")
            && String::from_utf8_lossy(&call.body).contains("default#w")
    });
    rig.send(Append, asked("a", "w", "pause", json!({}))).await;
    rig.send(Prepare, prepare("p", "w", json!({ "node": "n", "type": "work" }))).await;
    rig.send(Settle, settle("w", "n", &json!("00000000000000000000000000000000"))).await;
    rig.send(TimerSweep, json!({ "namespace": "default", "workflow": "w" })).await;
    rig.send(OutboxDispatch, left_over("w", key.incarnation.0)).await;
    rig.pass(60).await;
    rig.notes.no_trouble();
    rig.pass(120).await;
    assert_eq!(rig.status("w").await.0, "paused", "what was given back came again");
    // Wakes for what is due later may lie in the queue of wakes.
    for function in [Append, Prepare, Settle, OutboxDispatch] {
        assert_eq!(rig.depth(function.queue()).await, 0, "{} is done", function.name());
    }
}

/// Direct invocations, which send themselves a wake.
async fn direct(rig: &Rig) {
    let answered = async |function: Function, command: Value, outcome: &str| {
        let answer = rig.invoke(function, command).await.expect("an answer");
        assert_eq!(answer["outcome"], outcome, "{answer}");
        answer
    };
    answered(Append, command("start", "w", "start", json!({})), "committed").await;
    let intent = json!({ "intent": { "node": "n", "type": "work" } });
    let prepared = answered(Prepare, command("p", "w", "prepare", intent), "committed").await;
    let key = &prepared["dispatch_keys"][0];
    let attempt = json!({ "node": "n", "activation": 1, "attempt": 1, "dispatch_key": key });
    let receipt = json!({ "attempt": attempt, "worker": "me" });
    answered(Settle, command("r", "w", "receipt", receipt), "committed").await;
    rig.pass(120).await;
}

/// A start that dies after its card: the sweep abandons it, and the next start
/// takes the card over.
async fn half_started(rig: &Rig) {
    rig.notes.trouble(|call| {
        call.target.ends_with(".PutItem") && String::from_utf8_lossy(&call.body).contains("\"c#")
    });
    let start = rig.invoke(Append, command("start", "w", "start", json!({}))).await;
    assert_eq!(start, None, "no answer without its commit");
    rig.notes.no_trouble();
    rig.pass(300).await;
    rig.send(Append, asked("again", "w", "start", json!({}))).await;
    // A signal that comes before its start.
    rig.send(Append, asked("early", "z", "signal", json!({ "name": "go" }))).await;
    rig.pass(10).await;
    assert_eq!(rig.status("w").await, ("running", 1));
    assert_eq!(rig.depth("replies").await, 2);
}

/// A workflow with chunks is deleted, and removed an hour later.
async fn deleted(rig: &Rig) {
    let input = |n: usize| json!({ "of": format!("{n:064}") });
    let tasks: Vec<Value> =
        (0..250).map(|n| json!({ "id": format!("wide-{n}"), "input": input(n) })).collect();
    let workers = worker::start(&rig.world.observer, rig.world.backend.sqs(), 8);
    rig.send(Append, asked("start", "w", "start", json!({ "plan": { "tasks": tasks } }))).await;
    rig.pass(600).await;
    drop(workers);
    assert_eq!(rig.status("w").await.0, "completed");
    rig.send(Append, asked("delete", "w", "delete", json!({}))).await;
    rig.pass(2 * 3_600).await;
    assert_eq!(everlog_testing::proof::items(&rig.world).await.len(), 2, "a card and its removal");
}
