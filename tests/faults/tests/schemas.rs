//! Two versions side by side on one log.

use everlog::answer::Reply;
use everlog::commit::{self, Commit};
use everlog::fleet::{Fleet, Function, Message};
use everlog::journal::{Journal, Schemas};
use everlog::relay::Relay;
use everlog_testing::world::command;
use everlog_testing::{World, proof};
use serde_json::{Value, json};

fn message(id: &str, body: &Value) -> Message {
    Message { id: id.into(), body: body.to_string(), receive_count: 1, ..Message::default() }
}

/// An instance that reads and writes other schemas than this code does.
async fn of_schemas(world: &World, schemas: Schemas) -> Fleet {
    let plain = world.instance(world.direct()).await;
    let journal: Journal = plain.journal().clone().with_schemas(schemas);
    let relay: Relay = plain.relay().clone();
    Fleet::new(journal, relay)
}

#[tokio::test(start_paused = true)]
async fn an_older_instance_neither_writes_nor_answers_on_newer_commits() {
    let world = World::new().await;
    let newer = of_schemas(&world, Schemas { reads: 1, writes: 1 }).await;
    let older = of_schemas(&world, Schemas { reads: 0, writes: 0 }).await;
    let start = command("c-start", "w", "start", json!({}));
    assert!(newer.commands(Function::Append, vec![message("m0", &start)]).await.is_empty());
    let (key, before) = world.load("w").await;
    let mut append =
        command("c-1", "w", "append", json!({ "expected_seq": 1, "events": [{ "kind": "x" }] }));
    append["reply_to"] = json!("replies");
    // A refusal would be an answer as well.
    let mut wrong =
        command("c-2", "w", "append", json!({ "expected_seq": 9, "events": [{ "kind": "x" }] }));
    wrong["reply_to"] = json!("replies");
    let batch = vec![message("m1", &append), message("m2", &wrong)];
    let mut failed = older.commands(Function::Append, batch.clone()).await;
    failed.sort();
    assert_eq!(failed, ["m1", "m2"], "given back");
    assert_eq!(world.answers().await, [], "no answer");
    assert_eq!(world.load("w").await.1.state, before.state, "nothing written");
    assert!(newer.commands(Function::Append, batch).await.is_empty(), "nothing is lost");
    let answers = world.answers().await;
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().any(|a| a.reply == Reply::Committed));
    assert_eq!(proof::commits(&world.observer, &key).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_older_instance_that_holds_a_state_stops_at_the_first_newer_commit() {
    let world = World::new().await;
    // Both write what the older one reads, until the newer one is switched on.
    let older = of_schemas(&world, Schemas { reads: 0, writes: 0 }).await;
    let newer_reading = of_schemas(&world, Schemas { reads: 1, writes: 0 }).await;
    let newer_writing = of_schemas(&world, Schemas { reads: 1, writes: 1 }).await;
    let append = |id: &str, seq: u64| {
        command(
            id,
            "w",
            "append",
            json!({
                "expected_seq": seq, "events": [{ "kind": "x" }],
            }),
        )
    };
    let start = command("c-start", "w", "start", json!({}));
    assert!(older.commands(Function::Append, vec![message("m0", &start)]).await.is_empty());
    let served =
        newer_reading.commands(Function::Append, vec![message("m1", &append("c-1", 1))]).await;
    assert!(served.is_empty(), "the newer one reads and writes the older schema");
    let served = older.commands(Function::Append, vec![message("m2", &append("c-2", 2))]).await;
    assert!(served.is_empty(), "and the older one goes on from there");
    let served =
        newer_writing.commands(Function::Append, vec![message("m3", &append("c-3", 3))]).await;
    assert!(served.is_empty(), "switched on");
    // The older one's warm state leads to a put that loses to a commit that it can't read.
    let failed = older.commands(Function::Append, vec![message("m4", &append("c-4", 4))]).await;
    assert_eq!(failed, ["m4"]);
    let served =
        newer_writing.commands(Function::Append, vec![message("m4", &append("c-4", 4))]).await;
    assert!(served.is_empty());
    assert_eq!(world.load("w").await.1.state.head, 5);
}

#[test]
fn a_commit_of_a_newer_schema_says_so_and_nothing_else() {
    let bytes = commit::encode(7, &1_u64);
    match commit::decode::<Commit>(&bytes, 1) {
        Err(commit::DecodeError::Newer { found: 7, known: 1 }) => {}
        other => panic!("{other:?}"),
    }
}
