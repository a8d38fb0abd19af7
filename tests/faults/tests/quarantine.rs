//! A workflow whose log can't be folded is set aside; its neighbours go on.

use std::time::Duration;

use everlog::config::QUARANTINE;
use everlog::fleet::{Function, Message};
use everlog::message::Wake;
use everlog_local::stack;
use everlog_sqs::Receive;
use everlog_testing::World;
use everlog_testing::world::command;
use serde_json::{Value, json};

fn message(id: &str, body: &Value) -> Message {
    Message { id: id.into(), body: body.to_string(), receive_count: 1, ..Message::default() }
}

async fn dynamo(world: &World, operation: &str, request: Value) -> Value {
    let target = format!("DynamoDB_20120810.{operation}");
    let answer = world.backend.answer(&target, request.to_string().as_bytes()).await;
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    serde_json::from_slice(&answer.body).expect("JSON")
}

#[tokio::test(start_paused = true)]
async fn a_log_that_does_not_fold_is_set_aside_in_order_and_served_again_once_mended() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let start = |w: &str| message(w, &command(&format!("c-{w}"), w, "start", json!({})));
    assert!(fleet.commands(Function::Append, vec![start("good"), start("bad")]).await.is_empty());
    let (key, _) = world.load("bad").await;
    let place = json!({
        "pk": { "S": key.partition() },
        "sk": { "S": format!("c#{:014}#0000000001", key.incarnation.0) },
    });
    let get = json!({ "TableName": "everlog", "Key": place });
    let whole = dynamo(&world, "GetItem", get).await["Item"].clone();
    let mut broken = whole.clone();
    broken["body"] = json!({ "B": "4QABgA==" });
    dynamo(&world, "PutItem", json!({ "TableName": "everlog", "Item": broken })).await;

    let fresh = world.instance(world.direct()).await;
    let append = |w: &str, n: u64| {
        let event = json!({ "expected_seq": n, "events": [{ "kind": "x" }] });
        message(&format!("{w}-{n}"), &command(&format!("c-{w}-{n}"), w, "append", event))
    };
    let failed = fresh.commands(Function::Append, vec![append("bad", 1), append("good", 1)]).await;
    assert!(failed.is_empty(), "set aside, and the neighbour is served: {failed:?}");
    let failed = fresh.commands(Function::Append, vec![append("bad", 2)]).await;
    assert!(failed.is_empty());
    assert_eq!(world.load("good").await.1.state.head, 2);
    let (_, card) = world.card("bad").await.expect("a card");
    assert!(card.quarantine.is_some(), "{card:?}");

    let url = stack::queue_url(QUARANTINE);
    let receive = Receive { max_messages: 10, wait_s: Some(0), visibility_s: Some(60) };
    let aside = world.backend.sqs().receive(&url, receive).await.expect("a queue");
    let bodies: Vec<Value> =
        aside.iter().map(|m| serde_json::from_str(&m.body).expect("JSON")).collect();
    let ids: Vec<&str> = bodies.iter().filter_map(|b| b["id"].as_str()).collect();
    assert_eq!(ids, ["c-bad-1", "c-bad-2"], "in order, unchanged");

    // Looks at it become rarer.
    let wake = Wake {
        namespace: key.namespace.clone(),
        workflow: key.workflow.clone(),
        incarnation: None,
        relay: false,
        remove: false,
        command: None,
    };
    let mut last = card.alarm_at;
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(86_400)).await;
        fresh.look(&wake, false).await.expect("marked again");
        let (_, card) = world.card("bad").await.expect("a card");
        assert!(card.alarm_at > last);
        last = card.alarm_at;
        println!("next look in {} minutes", card.quarantine_min);
    }
    dynamo(&world, "PutItem", json!({ "TableName": "everlog", "Item": whole })).await;
    fresh.look(&wake, false).await.expect("it folds again");
    assert_eq!(world.card("bad").await.expect("a card").1.quarantine, None);
    assert!(fresh.commands(Function::Append, vec![append("bad", 1)]).await.is_empty());
    assert_eq!(world.load("bad").await.1.state.head, 2);
}
