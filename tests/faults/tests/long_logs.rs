//! Long histories and large plans: what a load costs, and what damage costs.

use everlog::answer::Reply;
use everlog::fleet::{Fleet, Function};
use everlog::journal::{Purpose, state_bytes};
use everlog_testing::world::command;
use everlog_testing::{Rng, World, proof};
use serde_json::{Value, json};

async fn ask(fleet: &Fleet, body: &Value) -> Reply {
    let answer = fleet.direct(Function::Append, &body.to_string()).await;
    answer.expect("an answer").reply
}

fn append(n: u64, payload: &str) -> Value {
    command(
        &format!("c-{n}"),
        "w",
        "append",
        json!({
            "expected_seq": n, "events": [{ "kind": "x", "payload": payload }],
        }),
    )
}

#[tokio::test(start_paused = true)]
async fn a_history_of_more_than_one_query_page_loads_and_appends() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    ask(&fleet, &command("c-0", "w", "start", json!({}))).await;
    let payload = "x".repeat(15_000);
    for n in 1..=100 {
        assert_eq!(ask(&fleet, &append(n, &payload)).await, Reply::Committed);
    }
    let (key, loaded) = world.load("w").await;
    assert_eq!(loaded.state.head, 101);
    let commits = proof::commits(&world.observer, &key).await;
    let bytes: usize = commits.iter().map(|(_, c)| minicbor_len(c)).sum();
    assert!(bytes > 1_500_000, "{bytes} bytes: more than one page of a query");
    assert_eq!(commits.len(), 101);
    // Without the checkpoint: the whole of it, page by page.
    damage(&world, &key, None).await;
    let (_, replayed) = world.load("w").await;
    assert_eq!(
        replayed.state, loaded.state,
        "a missing checkpoint costs a replay and nothing else"
    );
    let fresh = world.instance(world.direct()).await;
    assert_eq!(ask(&fresh, &append(101, &payload)).await, Reply::Committed);
    assert_eq!(world.load("w").await.1.state.head, 102);
}

fn minicbor_len(commit: &everlog::commit::Commit) -> usize {
    everlog::commit::encode(1, commit).len()
}

/// Overwrites the checkpoint behind everybody's back, or takes it away.
async fn damage(world: &World, key: &everlog::journal::LogKey, body: Option<&str>) {
    let place = json!({
        "pk": { "S": key.partition() },
        "sk": { "S": format!("p#{:014}", key.incarnation.0) },
    });
    let (operation, request) = match body {
        None => ("DeleteItem", json!({ "TableName": "everlog", "Key": place })),
        Some(body) => {
            let mut item = place;
            item["commit"] = json!({ "N": "5" });
            item["body"] = json!({ "B": body });
            ("PutItem", json!({ "TableName": "everlog", "Item": item }))
        }
    };
    let target = format!("DynamoDB_20120810.{operation}");
    let answer = world.backend.answer(&target, request.to_string().as_bytes()).await;
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
}

#[tokio::test(start_paused = true)]
async fn a_cold_load_after_10_000_commits_reads_the_checkpoint_and_one_interval() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    ask(&fleet, &command("c-0", "w", "start", json!({}))).await;
    let mut worst = 0.0_f64;
    for n in 1..=10_000 {
        assert_eq!(ask(&fleet, &append(n, "small")).await, Reply::Committed);
        if n % 97 == 0 {
            let cold = world.instance(world.direct()).await;
            let (key, _) = world.card("w").await.expect("a card");
            let loaded = cold.journal().load(&key).await.expect("a log that folds");
            assert_eq!(loaded.state.head, n + 1);
            worst = worst.max(cold.journal().meter().of(Purpose::Load).units);
        }
    }
    println!("10,000 commits: at most {worst} read units a cold load");
    assert!(worst <= 2.0, "{worst}");
    let checkpoints = fleet.journal().meter().of(Purpose::Checkpoint).units;
    println!("checkpoints: {} write units a commit", checkpoints / 10_000.0);
    assert!(checkpoints / 10_000.0 <= 0.2, "{checkpoints}");
    // Damage of every kind costs a replay and nothing else.
    let (key, loaded) = world.load("w").await;
    for body in ["", "AAAA", "4QABAAAA", "4f//AAAA"] {
        damage(&world, &key, Some(body)).await;
        let cold = world.instance(world.direct()).await;
        match cold.journal().load(&key).await {
            Ok(replayed) => assert_eq!(replayed.state.head, loaded.state.head, "{body}"),
            // The last one claims a newer schema: an older instance stays away.
            Err(everlog::journal::JournalError::Newer { .. }) => assert_eq!(body, "4f//AAAA"),
            Err(other) => panic!("{body}: {other}"),
        }
    }
}

/// 10,000 tasks in 10 layers, 100,000 edges at most.
fn large_plan() -> Value {
    let mut rng = Rng::new(1);
    let tasks: Vec<Value> = (0..10_000_u64)
        .map(|n| {
            let layer = n / 1_000;
            let parents: std::collections::BTreeSet<u64> = match layer {
                0 => std::collections::BTreeSet::new(),
                _ => (0..11).map(|_| (layer - 1) * 1_000 + rng.below(1_000)).collect(),
            };
            let after: Vec<String> = parents.iter().map(|p| format!("task-{p:05}")).collect();
            json!({ "id": format!("task-{n:05}"), "after": after })
        })
        .collect();
    json!({ "tasks": tasks })
}

#[tokio::test(start_paused = true)]
async fn a_plan_of_10_000_tasks_starts_and_its_state_stays_under_200_kb() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let spec: everlog::plan::PlanSpec = serde_json::from_value(large_plan()).expect("a plan");
    let plan = std::sync::Arc::new(everlog::plan::compile(&spec).expect("a plan"));
    let edges: usize = plan.nodes.iter().map(|n| n.parents.len()).sum();
    let upload = everlog::id::DispatchKey([1; 16]);
    let stored = fleet.journal().put_plan("default#w", upload, &plan).await.expect("chunks");
    let everlog::plan::PlanRef::Stored(stored) = stored else { panic!("it is large") };
    let start = command("c-start", "w", "start", json!({ "stored_plan": stored }));
    assert_eq!(ask(&fleet, &start).await, Reply::Committed);
    let (_, loaded) = world.load("w").await;
    assert_eq!(loaded.state.attempts.len(), 1_000, "the whole first layer is under way");
    println!(
        "10,000 tasks, {edges} edges: {} chunks, state of {} bytes at the start",
        stored.chunks,
        state_bytes(&loaded.state)
    );
    let workers = everlog_testing::worker::start(&world.observer, world.backend.sqs(), 16);
    let mapping = everlog_local::mapping::start(&fleet, world.backend.sqs());
    let mut largest = 0;
    for _ in 0..10_000 {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        let (_, loaded) = world.load("w").await;
        largest = largest.max(state_bytes(&loaded.state));
        if loaded.state.ending().is_some() {
            break;
        }
    }
    drop((workers, mapping));
    let (_, loaded) = world.load("w").await;
    assert_eq!(loaded.state.status(), "completed");
    println!("largest state on the way: {largest} bytes");
    assert!(largest < 200_000, "{largest}");
}
