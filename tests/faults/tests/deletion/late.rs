//! What comes late, twice, or at once with a deletion.

use everlog::answer::{Rejection, Reply};
use everlog::command::{Append, Close, Reopen, Start};
use everlog::event::Ending;
use everlog::fleet::Function;
use everlog::state::Life;
use everlog::store::{self, Recorder, WriteError};
use everlog_local::mapping;
use everlog_testing::cuts::{Cut, cutting};
use everlog_testing::world::command;
use everlog_testing::{World, proof};
use serde_json::json;

use super::{DAY_S, HOUR_S, ask, ended, id, kinds, of, pass, remove};

#[tokio::test(start_paused = true)]
async fn an_instance_that_still_has_the_ended_state_puts_nothing_into_the_hole() {
    for wait_s in [1, 10 * 60, 14 * 60, 16 * 60, 59 * 60, 2 * HOUR_S, 40 * DAY_S] {
        let world = World::new().await;
        let stale = world.instance(world.direct()).await;
        ended(&stale, "c-1").await;
        let (key, _) = world.card("w").await.expect("a card");
        let other = world.instance(world.direct()).await;
        ask(&other, "c-2", "delete", json!({})).await;
        pass(wait_s).await;
        remove(&other, key.incarnation).await;
        for (id, incarnation) in [("c-3", None), ("c-4", Some(key.incarnation))] {
            let mut body = command(id, "w", "reopen", json!({}));
            body["incarnation"] = json!(incarnation);
            let mut reply = stale.direct(Function::Append, &body.to_string()).await;
            if reply.is_err() {
                // It had to forget what it had.
                reply = stale.direct(Function::Append, &body.to_string()).await;
            }
            let reply = reply.expect("an answer").reply;
            let refused =
                matches!(&reply, Reply::Rejected { rejection: Rejection::NotFound { .. }, .. });
            assert!(refused, "after {wait_s} s, {incarnation:?}: {reply:?}");
        }
        let left = proof::items(&world).await;
        let commits = left.iter().filter(|key| key.starts_with("c#")).count();
        assert_eq!(commits, if wait_s > HOUR_S { 0 } else { 4 }, "after {wait_s} s: {left:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_that_comes_again_after_the_deletion_does_not_begin_a_second_life() {
    let world = World::new().await;
    let mapping = mapping::start(&world.instance(world.direct()).await, world.backend.sqs());
    let start = command("c-1", "w", "start", json!({}));
    let sent_at = world.backend.clock().now();
    ended(&world.observer, "c-1").await;
    ask(&world.observer, "c-2", "delete", json!({})).await;
    let unknown = ask(&world.observer, "c-1", "start", json!({})).await;
    assert_eq!(unknown.reply, Reply::Unchanged, "its log still says that it was served");
    pass(2 * HOUR_S).await;
    assert_eq!(kinds(&world).await, "card d");
    let mut late = start.clone();
    late["issued_at"] = json!(sent_at.0);
    let late = world.observer.direct(Function::Append, &late.to_string()).await.expect("an answer");
    let Reply::Rejected { rejection: Rejection::WrongState { state }, .. } = late.reply else {
        panic!("{late:?}")
    };
    assert_eq!(state, "deleted", "sent before the deletion");
    assert_eq!(world.load("w").await.1.state.life, Life::Nothing, "nothing was begun");
    let mut new = command("c-9", "w", "start", json!({}));
    new["issued_at"] = json!(world.backend.clock().now().0);
    let new = world.observer.direct(Function::Append, &new.to_string()).await.expect("an answer");
    assert_eq!(new.reply, Reply::Committed);
    drop(mapping);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_died_before_its_commit_leaves_the_workflow_as_it_was() {
    let world = World::new().await;
    ended(&world.observer, "c-1").await;
    let (key, _) = world.card("w").await.expect("a card");
    // The plan of the removal lands, and nothing else.
    let (handler, _) = cutting(world.direct(), 1, Cut::DiesAfter);
    let dying = world.instance(handler).await;
    let body = command("c-2", "w", "delete", json!({})).to_string();
    assert!(dying.direct(Function::Append, &body).await.is_err());
    assert!(kinds(&world).await.ends_with("card d"), "{}", kinds(&world).await);
    let mapping = mapping::start(&world.instance(world.direct()).await, world.backend.sqs());
    pass(2 * HOUR_S).await;
    drop(mapping);
    assert!(kinds(&world).await.ends_with("card"), "{}", kinds(&world).await);
    let loaded = world.observer.journal().load(&key).await.expect("it is whole");
    assert_eq!(loaded.state.ending(), Some(Ending::Completed));
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_was_planned_long_before_waits_an_hour_from_the_deletion() {
    let world = World::new().await;
    ended(&world.observer, "c-1").await;
    let (key, _) = world.card("w").await.expect("a card");
    let (handler, _) = cutting(world.direct(), 1, Cut::DiesAfter);
    let body = command("c-2", "w", "delete", json!({})).to_string();
    assert!(world.instance(handler).await.direct(Function::Append, &body).await.is_err());
    pass(HOUR_S - 60).await;
    ask(&world.observer, "c-3", "delete", json!({})).await;
    pass(30 * 60).await;
    remove(&world.observer, key.incarnation).await;
    assert_eq!(kinds(&world).await, "c c c c card d");
    pass(32 * 60).await;
    remove(&world.observer, key.incarnation).await;
    assert_eq!(kinds(&world).await, "card d");
}

async fn recorder(world: &World) -> Recorder {
    store::open(world.instance(world.direct()).await).1
}

#[tokio::test(start_paused = true)]
async fn of_a_reopening_and_a_deletion_at_once_exactly_one_happens() {
    for round in 0..200 {
        let world = World::new().await;
        let (one, two) = (recorder(&world).await, recorder(&world).await);
        one.start(id("s"), &of("w"), Start::default()).await.expect("started");
        let close = json!({ "expected_seq": 1 });
        let bare: Append = serde_json::from_value(close).expect("an append");
        let close = Some(Close { ending: Ending::Completed, result: None });
        one.append(id("c"), &of("w"), Append { close, ..bare }).await.expect("closed");
        let (key, _) = world.card("w").await.expect("a card");
        let w = of("w");
        let (deleted, reopened) =
            tokio::join!(one.delete(id("d"), &w), two.reopen(id("r"), &w, Reopen::default()));
        let loaded = world.observer.journal().load(&key).await.expect("it folds");
        match (deleted, reopened) {
            (Ok(_), Err(WriteError::Rejected(_))) => {
                assert_eq!(loaded.state.life, Life::Deleted, "round {round}");
            }
            (Err(WriteError::Rejected(_)), Ok(_)) => {
                assert_eq!(loaded.state.life, Life::Open, "round {round}");
            }
            other => panic!("round {round}: {other:?}"),
        }
    }
}
