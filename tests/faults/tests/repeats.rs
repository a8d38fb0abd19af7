//! Commands that come again: after others, after the deduplication window,
//! after a death between commit and relay; and answers of decisions that lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use everlog::answer::{Rejection, Reply};
use everlog::event::Event;
use everlog::fleet::{Fleet, Function, Message};
use everlog_local::stack;
use everlog_local::transport::{Handler, NoAnswer};
use everlog_testing::world::command;
use everlog_testing::{World, proof};
use serde_json::{Value, json};

async fn ask(fleet: &Fleet, body: &Value) -> Reply {
    let answer = fleet.direct(Function::Append, &body.to_string()).await;
    answer.expect("an answer").reply
}

fn message(id: &str, body: &Value) -> Message {
    Message { id: id.into(), body: body.to_string(), receive_count: 1, ..Message::default() }
}

async fn signals(world: &World) -> usize {
    let (key, _) = world.load("w").await;
    let commits = proof::commits(&world.observer, &key).await;
    let events = commits.iter().flat_map(|(_, c)| &c.events);
    events.filter(|e| matches!(e, Event::Signalled(..))).count()
}

fn waiting_plan() -> Value {
    json!({ "plan": { "tasks": [
        { "id": "word", "signal": "go" },
        { "id": "then", "after": ["word"] },
        { "id": "long", "sleep_ms": 864_000_000 },
    ] } })
}

#[tokio::test(start_paused = true)]
async fn a_signal_that_comes_again_after_twenty_commits_and_fourteen_days_is_applied_once() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    ask(&fleet, &command("c-start", "w", "start", waiting_plan())).await;
    let mut go = command("c-go", "w", "signal", json!({ "name": "go" }));
    go["issued_at"] = json!(world.backend.clock().now());
    assert_eq!(ask(&fleet, &go).await, Reply::Committed);
    for n in 0..20 {
        let other = command(&format!("c-{n}"), "w", "signal", json!({ "name": "other" }));
        assert_eq!(ask(&fleet, &other).await, Reply::Committed);
    }
    // Past SQS's deduplication window of five minutes, on a fresh instance.
    tokio::time::sleep(Duration::from_secs(600)).await;
    let fresh = world.instance(world.direct()).await;
    assert_eq!(ask(&fresh, &go).await, Reply::Unchanged);
    assert_eq!(signals(&world).await, 21);
    // Past everything that the state remembers: found in the log.
    for n in 20..620 {
        let other = command(&format!("c-{n}"), "w", "signal", json!({ "name": "other" }));
        assert_eq!(ask(&fresh, &other).await, Reply::Committed);
    }
    tokio::time::sleep(Duration::from_secs(8 * 86_400)).await;
    let fresh = world.instance(world.direct()).await;
    assert_eq!(ask(&fresh, &go).await, Reply::Unchanged);
    assert_eq!(signals(&world).await, 621);
}

/// The process dies after its commit: every send fails and the caller hears nothing.
fn no_queue(inner: Handler) -> Handler {
    Arc::new(move |call| match call.target.ends_with("SendMessageBatch") {
        true => Box::pin(async { Err(NoAnswer) }),
        false => inner(call),
    })
}

#[tokio::test(start_paused = true)]
async fn a_signal_whose_dispatches_were_never_sent_sends_them_when_it_comes_again() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    ask(&fleet, &command("c-start", "w", "start", waiting_plan())).await;
    let url = stack::queue_url("default");
    assert_eq!(world.depth(&url).await, 0);
    let go = command("c-go", "w", "signal", json!({ "name": "go" }));
    let dying = world.instance(no_queue(world.direct())).await;
    let failed = dying.commands(Function::Append, vec![message("m1", &go)]).await;
    assert_eq!(failed, ["m1"], "its dispatches are not sent: it is not done");
    assert_eq!(signals(&world).await, 1, "its commit is in");
    assert_eq!(world.depth(&url).await, 0);
    let fresh = world.instance(world.direct()).await;
    let failed = fresh.commands(Function::Append, vec![message("m1", &go)]).await;
    assert!(failed.is_empty());
    assert_eq!(signals(&world).await, 1);
    assert_eq!(world.depth(&url).await, 1, "the dispatch of task `then` went out");
}

/// Two commands of one batch; between their decision and their put another
/// instance commits, which turns the first answer around.
#[tokio::test(start_paused = true)]
async fn no_answer_of_a_decision_that_lost_its_commit_gets_out() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    ask(&fleet, &command("c-start", "w", "start", json!({}))).await;
    let other = world.instance(world.direct()).await;
    let raced = Arc::new(AtomicBool::new(false));
    let inner = world.direct();
    let handler: Handler = {
        let (raced, other) = (raced.clone(), other.clone());
        Arc::new(move |call| {
            let first_put = call.target.ends_with("PutItem") && !raced.swap(true, Ordering::SeqCst);
            let (inner, other) = (inner.clone(), other.clone());
            Box::pin(async move {
                if first_put {
                    let event = json!({ "expected_seq": 1, "events": [{ "kind": "theirs" }] });
                    let reply = ask(&other, &command("c-theirs", "w", "append", event)).await;
                    assert_eq!(reply, Reply::Committed);
                }
                inner(call).await
            })
        })
    };
    let mine = world.instance(handler).await;
    // `a` would win at head 1, and `b` would then conflict at head 1 + 1.
    let append = |id: &str, seq: u64| {
        let mut body = command(
            id,
            "w",
            "append",
            json!({
                "expected_seq": seq, "events": [{ "kind": "mine" }],
            }),
        );
        body["reply_to"] = json!("replies");
        body
    };
    raced.store(false, Ordering::SeqCst);
    let batch = vec![message("m1", &append("c-a", 1)), message("m2", &append("c-b", 2))];
    let failed = mine.commands(Function::Append, batch).await;
    assert!(failed.is_empty());
    assert!(raced.load(Ordering::SeqCst), "the race took place");
    let answers = world.answers().await;
    let reply = |id: &str| {
        let own = answers.iter().filter(|a| a.command.as_ref().is_some_and(|c| c.as_str() == id));
        let replies: Vec<Reply> = own.map(|a| a.reply.clone()).collect();
        assert_eq!(replies.len(), 1, "one answer to {id}: {replies:?}");
        replies[0].clone()
    };
    match reply("c-a") {
        Reply::Rejected {
            rejection: Rejection::SequenceConflict { expected: 1, found: 2, events },
            ..
        } => {
            assert_eq!(events.len(), 1, "the event that it did not know comes along");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(reply("c-b"), Reply::Committed, "decided anew, on the head that is there now");
}

#[tokio::test(start_paused = true)]
async fn an_append_of_lost_answer_is_found_by_its_sequence_number() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    ask(&fleet, &command("c-start", "w", "start", json!({}))).await;
    let append = |id: &str, seq: u64| {
        command(
            id,
            "w",
            "append",
            json!({ "expected_seq": seq, "events": [{ "kind": "x" }, { "kind": "y" }] }),
        )
    };
    assert_eq!(ask(&fleet, &append("c-1", 1)).await, Reply::Committed);
    assert_eq!(ask(&fleet, &append("c-2", 3)).await, Reply::Committed);
    let fresh = world.instance(world.direct()).await;
    assert_eq!(ask(&fresh, &append("c-1", 1)).await, Reply::Unchanged);
    assert_eq!(ask(&fresh, &append("c-2", 3)).await, Reply::Unchanged);
    match ask(&fresh, &append("c-3", 1)).await {
        Reply::Rejected {
            rejection: Rejection::SequenceConflict { expected: 1, found: 5, events },
            ..
        } => {
            assert_eq!(events.iter().map(|e| e.seq).collect::<Vec<_>>(), [2, 3, 4, 5]);
        }
        other => panic!("{other:?}"),
    }
}
