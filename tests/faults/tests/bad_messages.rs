//! Bad messages and panics: the neighbours are served, the bad one gets a
//! typed answer, and nothing is written for it.

use std::sync::Arc;

use everlog::answer::{InvalidInput, Rejection, Reply};
use everlog::config::OWN;
use everlog::fleet::{Function, Message};
use everlog_local::stack;
use everlog_local::transport::Handler;
use everlog_testing::World;
use everlog_testing::world::{EPOCH, command};
use serde_json::{Value, json};

fn message(at: usize, body: String) -> Message {
    Message { id: format!("m{at}"), body, receive_count: 1, ..Message::default() }
}

fn start(workflow: &str, content: Value) -> Value {
    let mut body = command(&format!("c-{workflow}"), workflow, "start", content);
    body["reply_to"] = json!("replies");
    body
}

/// A bad message among nine good ones; what its answer must name.
async fn one_bad_among_ten(bad: String, field: &str, limit: &str, value: &str, answered: bool) {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let mut batch: Vec<Message> = (0..9)
        .map(|n| {
            message(
                n,
                start(&format!("good-{n}"), json!({ "plan": { "tasks": [{ "id": "t" }] } }))
                    .to_string(),
            )
        })
        .collect();
    batch.insert(4, message(9, bad.clone()));
    let failed = fleet.commands(Function::Append, batch).await;
    assert_eq!(failed, [""; 0], "a bad message is answered, not failed");
    for n in 0..9 {
        let (_, loaded) = world.load(&format!("good-{n}")).await;
        assert_eq!(loaded.state.status(), "running", "neighbour {n} was served");
    }
    assert!(world.card("bad").await.is_none(), "nothing was written for the bad one");
    let answers = world.answers().await;
    let rejected: Vec<&InvalidInput> = answers
        .iter()
        .filter_map(|a| match &a.reply {
            Reply::Rejected { rejection: Rejection::InvalidInput(invalid), .. } => Some(invalid),
            _ => None,
        })
        .collect();
    assert_eq!(answers.len() - rejected.len(), 9);
    let invalid = match answered {
        true => {
            assert_eq!(rejected.len(), 1, "{answers:?}");
            rejected[0].clone()
        }
        // Without a reply address it stands in the dead-letter queue alone.
        false => everlog::command::parse(&bad).expect_err("it is bad").invalid,
    };
    assert_eq!(invalid.field, field, "{invalid:?}");
    assert!(invalid.limit.contains(limit), "{invalid:?}");
    assert!(invalid.value.contains(value), "{invalid:?}");
    if !answered || rejected[0].field != "command.start.deadline" {
        let url = stack::queue_url("dead-letter");
        assert_eq!(world.depth(&url).await, 1, "what can't be read is kept, with the reason");
    }
}

fn bad(content: Value) -> String {
    start("bad", content).to_string()
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_not_json_is_refused_alone() {
    one_bad_among_ten("not json".into(), "body", "well-formed JSON", "expected", false).await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_command_is_refused_alone() {
    let mut body = start("bad", json!({}));
    body["command"] = json!({ "explode": {} });
    one_bad_among_ten(body.to_string(), "command", "start", "explode", true).await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_field_is_refused_alone() {
    one_bad_among_ten(bad(json!({ "colour": 1 })), "command.start.colour", "type", "colour", true)
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_too_long_is_refused_alone() {
    let mut body = start("bad", json!({}));
    body["workflow"] = json!("w".repeat(257));
    one_bad_among_ten(body.to_string(), "workflow", "1 to 256 bytes", "257 bytes", true).await;
}

#[tokio::test(start_paused = true)]
async fn a_payload_that_is_too_large_is_refused_alone() {
    let content = json!({ "input": "x".repeat(262_200) });
    one_bad_among_ten(
        bad(content),
        "command.start.input",
        "at most 262144 bytes",
        "262202 bytes",
        true,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_plan_with_a_cycle_is_refused_alone() {
    let plan = json!({ "tasks": [{ "id": "a", "after": ["b"] }, { "id": "b", "after": ["a"] }] });
    one_bad_among_ten(
        bad(json!({ "plan": plan })),
        "command.start.plan.tasks",
        "without cycles",
        "->",
        true,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_plan_with_an_unknown_parent_is_refused_alone() {
    let plan = json!({ "tasks": [{ "id": "a", "after": ["ghost"] }] });
    let field = "command.start.plan.tasks[0].after[0]";
    one_bad_among_ten(bad(json!({ "plan": plan })), field, "a task of this plan", "ghost", true)
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_deadline_in_the_past_is_refused_alone() {
    let content = json!({ "deadline": EPOCH.0 - 1 });
    let past = (EPOCH.0 - 1).to_string();
    one_bad_among_ten(bad(content), "command.start.deadline", "later than now", &past, true).await;
}

#[tokio::test(start_paused = true)]
async fn a_negative_number_is_refused_alone() {
    let plan = json!({ "tasks": [{ "id": "a", "sleep_ms": -1 }] });
    let field = "command.start.plan.tasks[0].sleep_ms";
    one_bad_among_ten(bad(json!({ "plan": plan })), field, "u64", "-1", true).await;
}

#[tokio::test(start_paused = true)]
async fn a_huge_number_is_refused_alone() {
    let plan = json!({ "tasks": [{ "id": "a", "sleep_ms": u64::MAX }] });
    let field = "command.start.plan.tasks[0].sleep_ms";
    one_bad_among_ten(
        bad(json!({ "plan": plan })),
        field,
        "milliseconds",
        "18446744073709551615",
        true,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_not_configured_is_refused_alone() {
    let plan = json!({ "tasks": [{ "id": "a", "queue": "https://evil.example/q" }] });
    let field = "command.start.plan.tasks[0].queue";
    let limit = "a configured task or reply queue";
    one_bad_among_ten(bad(json!({ "plan": plan })), field, limit, "evil", true).await;
}

/// What lies in them is for the functions alone: a dispatch there would be a
/// poisoned command, and a function may not send to all of them.
#[tokio::test(start_paused = true)]
async fn the_fleets_own_queues_are_no_task_queues() {
    for own in OWN {
        let plan = json!({ "tasks": [{ "id": "a", "queue": own }] });
        let field = "command.start.plan.tasks[0].queue";
        let limit = "a configured task or reply queue";
        one_bad_among_ten(bad(json!({ "plan": plan })), field, limit, own, true).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_inside_a_handler_fails_that_message_alone() {
    let world = World::new().await;
    let inner = world.direct();
    let handler: Handler = Arc::new(move |call| {
        let body = String::from_utf8_lossy(&call.body).into_owned();
        assert!(!(call.target.ends_with("PutItem") && body.contains("default#bomb")), "boom");
        inner(call)
    });
    let fleet = world.instance(handler).await;
    let names = ["a", "b", "bomb", "c", "d"];
    let batch =
        names.iter().enumerate().map(|(n, name)| message(n, start(name, json!({})).to_string()));
    let failed = fleet.commands(Function::Append, batch.collect()).await;
    assert_eq!(failed, ["m2"]);
    for name in ["a", "b", "c", "d"] {
        assert_eq!(world.load(name).await.1.state.status(), "running");
    }
    assert!(world.card("bomb").await.is_none());
}
