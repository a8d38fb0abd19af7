//! Beginnings: signals before the start, a start that never came, a second
//! life; and what is too large for one commit.

use std::sync::Arc;
use std::time::Duration;

use everlog::answer::{Rejection, Reply};
use everlog::event::Event;
use everlog::fleet::{Fleet, Function, Message};
use everlog::journal::ListShard;
use everlog::journal::keys::LIST_SHARDS;
use everlog::message::Wake;
use everlog::query::list::{self, ListQuery};
use everlog_local::transport::{Handler, NoAnswer};
use everlog_local::{mapping, stack};
use everlog_testing::world::command;
use everlog_testing::{World, proof, worker};
use serde_json::{Value, json};

async fn ask(fleet: &Fleet, body: &Value) -> Reply {
    let answer = fleet.direct(Function::Append, &body.to_string()).await;
    answer.expect("an answer").reply
}

fn message(id: &str, body: &Value) -> Message {
    Message { id: id.into(), body: body.to_string(), receive_count: 1, ..Message::default() }
}

#[tokio::test(start_paused = true)]
async fn a_signal_that_comes_before_the_start_is_delivered_after_it() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let go = command("c-go", "w", "signal", json!({ "name": "go", "payload": 7 }));
    assert_eq!(ask(&fleet, &go).await, Reply::Committed);
    assert_eq!(world.load("w").await.1.state.status(), "unborn");
    for status in ["running", "starting", "unborn"] {
        let shard =
            |shard| ListShard { namespace: Default::default(), status: status.into(), shard };
        let all = (everlog::time::Timestamp(0), everlog::time::Timestamp(u64::MAX / 1_000_000));
        for shard in (0..LIST_SHARDS).map(shard) {
            let page = fleet.journal().list_shard(&shard, all, true, 10, None).await;
            let listed = page.expect("a list").items;
            assert!(listed.is_empty(), "what is not born is in no list: {status}");
        }
    }
    let plan = json!({ "plan": { "tasks": [{ "id": "word", "signal": "go" }] } });
    assert_eq!(ask(&fleet, &command("c-start", "w", "start", plan)).await, Reply::Committed);
    let (_, loaded) = world.load("w").await;
    assert_eq!(loaded.state.status(), "completed");
    assert_eq!(ask(&fleet, &go).await, Reply::Unchanged, "and not once more");
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_never_born_is_gone_after_fifteen_days() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let go = command("c-go", "w", "signal", json!({ "name": "go" }));
    assert_eq!(ask(&fleet, &go).await, Reply::Committed);
    let (key, _) = world.load("w").await;
    let wake = Wake {
        namespace: key.namespace.clone(),
        workflow: key.workflow.clone(),
        incarnation: None,
        relay: false,
        remove: false,
        command: None,
    };
    for day in 1..=14 {
        tokio::time::sleep(Duration::from_secs(86_400)).await;
        fleet.look(&wake, false).await.expect("a look");
        assert_eq!(world.load("w").await.1.state.status(), "unborn", "day {day}");
        assert_eq!(proof::alarm(&world, "w").await, None, "day {day}");
    }
    tokio::time::sleep(Duration::from_secs(2 * 86_400)).await;
    fleet.look(&wake, false).await.expect("a look");
    assert_eq!(world.load("w").await.1.state.status(), "abandoned");
    assert_eq!(world.card("w").await.expect("a card").1.alarm_at, None);
}

/// A starter that dies after its card.
fn dies_after_the_card(inner: Handler) -> Handler {
    Arc::new(move |call| {
        let body = String::from_utf8_lossy(&call.body).into_owned();
        match call.target.ends_with("PutItem") && body.contains("\"c#") {
            true => Box::pin(async { Err(NoAnswer) }),
            false => inner(call),
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_start_that_never_came_is_abandoned_and_the_next_one_is_a_second_life() {
    let world = World::new().await;
    let dying = world.instance(dies_after_the_card(world.direct())).await;
    let start = command("c-start", "w", "start", json!({ "plan": { "tasks": [{ "id": "t" }] } }));
    let failed = dying.commands(Function::Append, vec![message("m", &start)]).await;
    assert_eq!(failed, ["m"]);
    let (first, card) = world.card("w").await.expect("the card came first");
    assert_eq!(card.status, "starting");
    let wake = Wake {
        namespace: first.namespace.clone(),
        workflow: first.workflow.clone(),
        incarnation: None,
        relay: false,
        remove: false,
        command: None,
    };
    tokio::time::sleep(Duration::from_secs(120)).await;
    let sweeper = world.instance(world.direct()).await;
    sweeper.look(&wake, false).await.expect("a look");
    assert_eq!(world.load("w").await.1.state.status(), "abandoned");
    let failed = sweeper.commands(Function::Append, vec![message("m", &start)]).await;
    assert!(failed.is_empty());
    let (second, loaded) = world.load("w").await;
    assert!(second.incarnation > first.incarnation);
    assert_eq!(loaded.state.status(), "running");
    assert_eq!(proof::alarm(&world, "w").await, None);
}

#[tokio::test(start_paused = true)]
async fn ten_of_the_largest_payloads_in_one_batch_all_get_in() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    assert_eq!(ask(&fleet, &command("c-0", "w", "start", json!({}))).await, Reply::Committed);
    let largest = "x".repeat(262_142);
    let batch: Vec<Message> = (1..=10)
        .map(|n| {
            let event = json!({ "kind": "x", "payload": largest });
            let append = json!({ "expected_seq": n, "events": [event] });
            message(&format!("m{n}"), &command(&format!("c-{n}"), "w", "append", append))
        })
        .collect();
    assert!(fleet.commands(Function::Append, batch).await.is_empty());
    let (key, loaded) = world.load("w").await;
    assert_eq!(loaded.state.head, 11);
    assert_eq!(proof::commits(&world.observer, &key).await.len(), 11, "one commit each");
}

#[tokio::test(start_paused = true)]
async fn an_append_that_fits_no_item_is_refused_and_names_its_size() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    assert_eq!(ask(&fleet, &command("c-0", "w", "start", json!({}))).await, Reply::Committed);
    let long = |n: usize| format!("{n:03}{}", "n".repeat(253));
    let events: Vec<Value> = (0..100).map(|n| json!({ "kind": long(n) })).collect();
    let intents: Vec<Value> = (0..100)
        .map(|n| json!({ "node": long(n), "type": long(n), "input": "x".repeat(3_000) }))
        .collect();
    let append = json!({ "expected_seq": 1, "events": events, "prepare": intents });
    match ask(&fleet, &command("c-1", "w", "append", append)).await {
        Reply::Rejected { rejection: Rejection::InvalidInput(invalid), .. } => {
            assert!(invalid.limit.contains("bytes"), "{invalid:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(world.load("w").await.1.state.head, 1, "nothing was written");
}

#[tokio::test(start_paused = true)]
async fn a_dispatch_too_large_to_carry_is_claimed_from_the_log() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let plan = json!({ "plan": { "tasks": [{ "id": "big", "input": "y".repeat(250_000) }] } });
    assert_eq!(ask(&fleet, &command("c-0", "w", "start", plan)).await, Reply::Committed);
    let url = stack::queue_url("default");
    let receive = everlog_sqs::Receive { max_messages: 1, wait_s: Some(0), visibility_s: Some(0) };
    let messages = world.backend.sqs().receive(&url, receive).await.expect("a queue");
    let dispatch: everlog::message::Dispatch =
        serde_json::from_str(&messages[0].body).expect("a dispatch");
    assert!(dispatch.claim && dispatch.input.is_none());
    assert!(messages[0].body.len() < 1_000);
    let (key, loaded) = world.load("w").await;
    let (target, attempt) = loaded.state.attempts.iter().next().expect("an attempt");
    let whole =
        everlog::fleet::build_dispatch(fleet.journal(), &key, &loaded.state, target, attempt);
    assert_eq!(whole.await.expect("whole").input.map(|i| i.bytes().len()), Some(250_002));
}

/// Ids of the full length go through keys, groups, lists and deduplication.
#[tokio::test(start_paused = true)]
async fn ids_of_256_bytes_work_everywhere() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let _mapping = mapping::start(&fleet, world.backend.sqs());
    let _workers = worker::start(&world.observer, world.backend.sqs(), 1);
    let long = |first: char| format!("{first}{}", "z".repeat(255));
    let mut start = command(
        &long('c'),
        &long('w'),
        "start",
        json!({
            "type": long('t'), "plan": { "tasks": [{ "id": long('n') }] },
        }),
    );
    start["namespace"] = json!(long('s'));
    assert_eq!(ask(&fleet, &start).await, Reply::Committed);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let namespace = everlog::id::Namespace::new(long('s')).expect("an id");
    let query = ListQuery {
        namespace: namespace.clone(),
        statuses: vec!["completed".into()],
        ..ListQuery::default()
    };
    let listed = list::list(fleet.journal(), &query).await.expect("a list").value.items;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].workflow.as_str(), long('w'));
    let key = everlog::journal::LogKey::new(
        namespace,
        listed[0].workflow.clone(),
        everlog::id::Incarnation(0),
    );
    let card = fleet.journal().card(&key.partition()).await.expect("readable").expect("a card");
    let key = everlog::journal::LogKey { incarnation: card.incarnation, ..key };
    let commits = proof::commits(&world.observer, &key).await;
    let closed =
        commits.iter().flat_map(|(_, c)| &c.events).filter(|e| matches!(e, Event::Closed(..)));
    assert_eq!(closed.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_start_that_comes_again_after_its_deadline_is_a_repeat() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let deadline = world.backend.clock().now().plus_ms(60_000);
    let start = command("c-0", "w", "start", json!({ "deadline": deadline }));
    assert_eq!(ask(&fleet, &start).await, Reply::Committed);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(ask(&fleet, &start).await, Reply::Unchanged);
    let other = command("c-1", "other", "start", json!({ "deadline": deadline }));
    assert!(matches!(ask(&fleet, &other).await, Reply::Rejected { .. }));
    assert!(world.card("other").await.is_none());
}
