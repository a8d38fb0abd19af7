//! What those beside the functions use: a caller, a worker, an operator.

use std::collections::BTreeSet;

use everlog::fleet::Function;
use everlog::id::Namespace;
use everlog::query::list::{self, ListQuery};
use everlog_local::transport;
use everlog_testing::world::command;
use serde_json::json;

use super::rig::{Notes, Rig, instance};
use crate::Grant;

/// What a caller's client uses that sends commands. Large plans travel in the
/// start: `append` stores them.
pub fn caller() -> BTreeSet<Grant> {
    super::in_paused_time(async {
        let (notes, world) = (Notes::default(), Rig::new(&Notes::default()).await.world);
        let client =
            instance(&world.backend, notes.between("it", transport::direct(&world.backend)));
        let client = everlog_testing::World { observer: client.await, ..world };
        client.send(Function::Append, &command("s", "w", "start", json!({})), "s").await;
        let intent = json!({ "intent": { "node": "n", "type": "work" } });
        client.send(Function::Prepare, &command("p", "w", "prepare", intent), "p").await;
        notes.used_by("it")
    })
}

/// What a worker's client uses on the fleet's side: its word to `settle`.
pub fn worker() -> BTreeSet<Grant> {
    super::in_paused_time(async {
        let (notes, world) = (Notes::default(), Rig::new(&Notes::default()).await.world);
        let client =
            instance(&world.backend, notes.between("it", transport::direct(&world.backend)));
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
        let query = ListQuery { statuses: vec!["running".into()], ..ListQuery::default() };
        let listed = list::list(client.journal(), &query).await;
        assert_eq!(listed.expect("a list").value.items.len(), 1);
        let client = everlog_testing::World { observer: client, ..rig.world };
        let (key, _) = client.load("w").await;
        everlog_testing::proof::commits(&client.observer, &key).await;
        client.send(Function::Append, &command("p", "w", "pause", json!({})), "p").await;
        let workflows = vec![(Namespace::default(), key.workflow.clone())];
        client.observer.wake_all(workflows, true).await.expect("a wake");
        notes.used_by("it")
    })
}
