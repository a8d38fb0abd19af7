//! What those beside the functions use: a caller, a worker, an operator.

use std::collections::BTreeSet;
use std::sync::Arc;

use everlog::fleet::Function;
use everlog::id::{DispatchKey, Namespace};
use everlog::plan::compile;
use everlog_local::transport;
use everlog_testing::world::command;
use serde_json::json;

use super::rig::{Notes, Rig, instance};
use crate::Grant;

/// What a caller's client uses that sends commands and uploads a large plan.
pub fn caller() -> BTreeSet<Grant> {
    super::in_paused_time(async {
        let (notes, world) = (Notes::default(), Rig::new(&Notes::default()).await.world);
        let client = instance(&world.backend, notes.between("it", transport::direct(&world.backend)));
        let client = everlog_testing::World { observer: client.await, ..world };
        client.send(Function::Append, &command("s", "w", "start", json!({})), "s").await;
        let intent = json!({ "intent": { "node": "n", "type": "work" } });
        client.send(Function::Prepare, &command("p", "w", "prepare", intent), "p").await;
        let tasks = (0..200).map(|n| json!({ "id": format!("task-{n}"), "input": format!("{n:050}") }));
        let spec = json!({ "tasks": tasks.collect::<Vec<_>>() });
        let plan = compile(&serde_json::from_value(spec).expect("a plan")).expect("a plan");
        let seed = DispatchKey([7; 16]);
        let put = client.observer.journal().put_plan("default#w", seed, &Arc::new(plan)).await;
        put.expect("chunks");
        notes.used_by("it")
    })
}

/// What a worker's client uses on the fleet's side: its word to `settle`.
pub fn worker() -> BTreeSet<Grant> {
    super::in_paused_time(async {
        let (notes, world) = (Notes::default(), Rig::new(&Notes::default()).await.world);
        let client = instance(&world.backend, notes.between("it", transport::direct(&world.backend)));
        let client = everlog_testing::World { observer: client.await, ..world };
        let word = json!({ "namespace": "default", "workflow": "w", "id": "receipt" });
        client.send(Function::Settle, &word, "receipt").await;
        notes.used_by("it")
    })
}

/// What an operator's client uses: lists, one workflow, its history, a wake,
/// and the commands that hold a workflow back.
pub fn operator() -> BTreeSet<Grant> {
    super::in_paused_time(async {
        let notes = Notes::default();
        let rig = Rig::new(&Notes::default()).await;
        rig.send(Function::Append, command("s", "w", "start", json!({}))).await;
        rig.pass(5).await;
        let handler = notes.between("it", transport::direct(&rig.world.backend));
        let client = instance(&rig.world.backend, handler).await;
        let listed = client.journal().list(&Namespace::default(), "running", 10).await;
        assert_eq!(listed.expect("a list").len(), 1);
        let client = everlog_testing::World { observer: client, ..rig.world };
        let (key, _) = client.load("w").await;
        everlog_testing::proof::commits(&client.observer, &key).await;
        client.send(Function::Append, &command("p", "w", "pause", json!({})), "p").await;
        let workflows = vec![(Namespace::default(), key.workflow.clone())];
        client.observer.wake_all(workflows, true).await.expect("a wake");
        notes.used_by("it")
    })
}
