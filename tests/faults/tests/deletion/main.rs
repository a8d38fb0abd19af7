//! Deletion: found by nobody at once, removed an hour later, and never in
//! anybody's way (`docs/adr/0013-removal-has-an-alarm-of-its-own.md`).

mod late;

use std::sync::Arc;
use std::time::Duration;

use everlog::answer::{Answer, Rejection, Reply};
use everlog::fleet::{Fleet, Function};
use everlog::id::{CommandId, Incarnation, Namespace, WorkflowId};
use everlog::journal::LogKey;
use everlog::message::Wake;
use everlog::query::list::{self, ListQuery};
use everlog::store::{self, Address};
use everlog_local::mapping;
use everlog_testing::cuts::{Cut, Cutter, cutting};
use everlog_testing::world::command;
use everlog_testing::{Step, World, plans, proof, scenes, worker};
use serde_json::{Value, json};

const HOUR_S: u64 = 3_600;
const DAY_S: u64 = 24 * HOUR_S;

fn of(workflow: &str) -> Address {
    Address::new(Namespace::default(), WorkflowId::new(workflow).expect("an id"))
}

fn id(text: impl Into<String>) -> CommandId {
    CommandId::new(text).expect("an id")
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

async fn ask(fleet: &Fleet, id: &str, verb: &str, content: Value) -> Answer {
    let mut body = command(id, "w", verb, content);
    // As a client does that can't say when it made the command.
    body["issued_at"] = Value::Null;
    fleet.direct(Function::Append, &body.to_string()).await.expect("an answer")
}

/// Starts and closes `w`, as a driven workflow of three events.
async fn ended(fleet: &Fleet, start: &str) {
    assert_eq!(ask(fleet, start, "start", json!({})).await.reply, Reply::Committed);
    let event = json!({ "expected_seq": 1, "events": [{ "kind": "x" }] });
    ask(fleet, &format!("{start}-x"), "append", event).await;
    let close = json!({ "expected_seq": 2, "close": { "ending": "completed" } });
    let closed = ask(fleet, &format!("{start}-c"), "append", close).await;
    assert_eq!((closed.reply, closed.head), (Reply::Committed, Some(3)));
}

/// A removal as the schedule finds it.
async fn remove(fleet: &Fleet, incarnation: Incarnation) {
    let wake = Wake {
        namespace: Namespace::default(),
        workflow: WorkflowId::new("w").expect("an id"),
        incarnation: Some(incarnation),
        relay: false,
        remove: true,
        command: None,
    };
    fleet.look(&wake, false).await.expect("a step of the removal");
}

async fn kinds(world: &World) -> String {
    let items = proof::items(world).await;
    items.iter().map(|key| key.split('#').next().unwrap_or_default()).collect::<Vec<_>>().join(" ")
}

#[tokio::test(start_paused = true)]
async fn a_deleted_workflow_is_found_by_nobody_its_items_go_an_hour_later_and_its_card_in_30_days()
{
    let world = World::new().await;
    let layers = plans::layers(&[1, 400, 1], 0.0).to_string();
    let spec = everlog_local::plan_file::parse("layers.json", &layers).expect("a plan");
    let start = scenes::start_of(&world, &spec).await;
    let cutter = Cutter::new(None);
    let steps =
        [Step::Command(Function::Append, command("c-1", "w", "start", start)), Step::Closed("w")];
    world.play(&cutter, &steps, HOUR_S).await;
    let (key, loaded) = world.load("w").await;
    let deleted = ask(&world.observer, "c-2", "delete", json!({})).await;
    assert_eq!(deleted.reply, Reply::Committed);
    let (reader, _) = store::open(world.instance(world.direct()).await);
    assert!(reader.summary(&of("w")).await.expect("a read").is_none());
    assert_eq!(reader.history(&of("w")).await.expect("a read"), []);
    let listed = list::list(reader.journal(), &ListQuery::default()).await.expect("a list");
    assert_eq!(listed.value.items, []);
    let pause = ask(&world.observer, "c-3", "pause", json!({})).await;
    let Reply::Rejected { rejection: Rejection::NotFound { .. }, .. } = pause.reply else {
        panic!("{pause:?}")
    };
    let again = ask(&world.observer, "c-4", "delete", json!({})).await;
    assert_eq!(again.reply, Reply::Unchanged);

    let mapping = mapping::start(&world.instance(world.direct()).await, world.backend.sqs());
    pass(55 * 60).await;
    let before = proof::items(&world).await;
    let commits = before.iter().filter(|key| key.starts_with("c#")).count() as u64;
    assert_eq!(commits, loaded.state.commit + 1, "within the hour all of it is there");
    pass(10 * 60).await;
    assert_eq!(kinds(&world).await, "card d", "the card and what is to be done about it");
    drop(mapping);
    pass(30 * DAY_S).await;
    remove(&world.observer, key.incarnation).await;
    assert_eq!(proof::items(&world).await, [""; 0]);
    remove(&world.observer, key.incarnation).await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_id_is_started_again_at_once_and_its_next_life_is_not_touched_by_the_removal() {
    let world = World::new().await;
    let layers = plans::layers(&[1, 400, 1], 0.0).to_string();
    let spec = everlog_local::plan_file::parse("layers.json", &layers).expect("a plan");
    let start = scenes::start_of(&world, &spec).await;
    let mapping = mapping::start(&world.instance(world.direct()).await, world.backend.sqs());
    let workers = worker::start(&world.observer, world.backend.sqs(), 2);
    ask(&world.observer, "c-1", "start", start.clone()).await;
    while world.load("w").await.1.state.ending().is_none() {
        pass(1).await;
    }
    let (first, _) = world.load("w").await;
    ask(&world.observer, "c-2", "delete", json!({})).await;
    // The same plan, uploaded once: its chunks are the next life's now.
    let again = ask(&world.observer, "c-3", "start", start).await;
    assert_eq!(again.reply, Reply::Committed);
    drop(workers);
    let (second, _) = world.load("w").await;
    assert!(second.incarnation > first.incarnation);
    pass(3 * HOUR_S).await;
    let left = proof::items(&world).await;
    let of_first = format!("c#{:014}", first.incarnation.0);
    assert!(!left.iter().any(|key| key.starts_with(&of_first)), "{left:?}");
    assert!(left.iter().any(|key| key.starts_with("x#")), "the plan stays");
    drop(mapping);
    pass(30 * DAY_S).await;
    remove(&world.observer, first.incarnation).await;
    let fresh = world.instance(world.direct()).await;
    let loaded = fresh.journal().load(&second).await.expect("it is whole");
    assert!(loaded.state.open() && loaded.state.plan().is_some());
    assert!(world.card("w").await.is_some_and(|(key, card)| key == second && !card.gone()));
    assert!(!proof::items(&world).await.iter().any(|key| key.starts_with("d#")));
}

#[test]
fn a_deletion_ends_right_whatever_write_is_cut() {
    let steps = [
        Step::Command(Function::Append, command("c-1", "w", "start", json!({}))),
        Step::Command(
            Function::Append,
            command(
                "c-2",
                "w",
                "append",
                json!({ "expected_seq": 1, "events": [{ "kind": "x" }] }),
            ),
        ),
        Step::Command(
            Function::Append,
            command(
                "c-3",
                "w",
                "append",
                json!({ "expected_seq": 2, "close": { "ending": "failed" } }),
            ),
        ),
        Step::Command(Function::Append, command("c-4", "w", "delete", json!({}))),
        Step::Pass(HOUR_S / 2 * 1_000),
    ];
    let run = |at: Option<(usize, Cut)>| -> Arc<Cutter> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let world = World::new().await;
            let cutter = Cutter::watching(at, &world, "w");
            let answers = world.play(&cutter, &steps, HOUR_S).await;
            assert_eq!(cutter.violations(), [""; 0], "{at:?}");
            let last = answers.last().expect("answers");
            assert!(matches!(last.reply, Reply::Committed | Reply::Unchanged), "{at:?}: {last:?}");
            assert_eq!(kinds(&world).await, "card d", "{at:?}");
            let (key, card) = world.card("w").await.expect("its card");
            assert!(card.gone());
            pass(31 * DAY_S).await;
            remove(&world.observer, key.incarnation).await;
            assert_eq!(proof::items(&world).await, [""; 0], "{at:?}");
            cutter
        })
    };
    let writes = run(None).names();
    let deletes = writes.iter().filter(|name| name.ends_with("DeleteItem")).count();
    assert!(deletes >= 5, "the removal is cut as well: {writes:?}");
    for number in 0..writes.len() {
        for cut in Cut::ALL {
            run(Some((number, cut)));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_removal_that_is_cut_at_any_write_is_finished_by_the_next() {
    for at in 0..4 {
        for cut in Cut::ALL {
            let world = World::new().await;
            ended(&world.observer, "c-1").await;
            ask(&world.observer, "c-2", "delete", json!({})).await;
            let (key, _) = world.card("w").await.expect("a card");
            pass(2 * HOUR_S).await;
            remove(&world.observer, key.incarnation).await;
            pass(31 * DAY_S).await;
            let (handler, _) = cutting(world.direct(), at, cut);
            let wake = Wake {
                namespace: key.namespace.clone(),
                workflow: key.workflow.clone(),
                incarnation: Some(key.incarnation),
                relay: false,
                remove: true,
                command: None,
            };
            let _ = world.instance(handler).await.look(&wake, false).await;
            remove(&world.observer, key.incarnation).await;
            assert_eq!(proof::items(&world).await, [""; 0], "write {at}, {cut:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_has_ended_is_deleted_by_policy_but_not_what_is_held() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await.keeping(Some(DAY_S * 1_000));
    let mapping = mapping::start(&fleet, world.backend.sqs());
    for workflow in ["w-1", "w-2", "w-3"] {
        for (id, verb, content) in [
            ("s", "start", json!({})),
            ("c", "append", json!({ "expected_seq": 1, "close": { "ending": "completed" } })),
        ] {
            let body = command(&format!("{id}-{workflow}"), workflow, verb, content);
            fleet.direct(Function::Append, &body.to_string()).await.expect("an answer");
        }
    }
    for (workflow, verb) in [("w-2", "hold"), ("w-3", "reopen")] {
        let body = command(&format!("x-{workflow}"), workflow, verb, json!({}));
        fleet.direct(Function::Append, &body.to_string()).await.expect("an answer");
    }
    let status = async |workflow: &str| world.card(workflow).await.expect("a card").1.status;
    pass(DAY_S - 120).await;
    assert_eq!(status("w-1").await, "completed", "not before its time");
    pass(300).await;
    assert_eq!(status("w-1").await, "deleted", "nobody asked, and it is gone");
    assert_eq!((status("w-2").await, status("w-3").await), ("completed".into(), "running".into()));
    pass(DAY_S).await;
    let release = command("r", "w-2", "release", json!({})).to_string();
    fleet.direct(Function::Append, &release).await.expect("an answer");
    pass(180).await;
    assert_eq!(status("w-2").await, "deleted", "its time was over meanwhile");
    assert_eq!(status("w-3").await, "running");
    drop(mapping);
}

#[tokio::test(start_paused = true)]
async fn export_delete_and_import_give_the_same_history_byte_for_byte() {
    let world = World::new().await;
    ended(&world.observer, "c-1").await;
    let journal = world.observer.journal();
    let export = async |key: &LogKey| {
        let mut out = Vec::new();
        let loaded = journal.load(key).await.expect("a log");
        everlog::archive::export(journal, key, &loaded, &mut out).await.expect("an archive");
        String::from_utf8(out).expect("text")
    };
    let frames = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with("{\"commit\"")).map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    for wait_s in [20 * 60, 2 * HOUR_S, 40 * DAY_S] {
        let (key, _) = world.card("w").await.expect("a card");
        let text = export(&key).await;
        ask(&world.observer, &format!("d-{wait_s}"), "delete", json!({})).await;
        pass(wait_s).await;
        remove(&world.observer, key.incarnation).await;
        let archive = everlog::archive::read(text.as_bytes()).expect("an archive");
        let imported = everlog::archive::import(journal, &archive).await.expect("imported");
        assert!(!imported.unchanged && imported.incarnation > key.incarnation);
        let (key, card) = world.card("w").await.expect("a card");
        assert_eq!(card.status, "completed");
        assert_eq!(frames(&export(&key).await), frames(&text), "after {wait_s} s");
        assert_eq!(frames(&text).len(), 3);
        pass(60).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_costs_what_the_table_of_writes_says() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    ended(&fleet, "c-1").await;
    let before = fleet.journal().meter().write_units();
    ask(&fleet, "c-2", "delete", json!({})).await;
    let deleted = fleet.journal().meter().write_units() - before;
    // Plan of the removal 2, commit 1, card 2: it leaves a list.
    assert!((deleted - 5.0).abs() < 0.01, "{deleted}");
    let (key, _) = world.card("w").await.expect("a card");
    pass(2 * HOUR_S).await;
    let before = fleet.journal().meter().write_units();
    remove(&fleet, key.incarnation).await;
    let removed = fleet.journal().meter().write_units() - before;
    println!("removal of 4 commits: {removed}");
    // Each commit 1; stages 3 and 3; the card again 1.
    assert!((removed - 11.0).abs() < 0.01, "{removed}");
}
