//! A long run on a stack whose functions die and whose DynamoDB goes away.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use everlog::id::WorkflowId;
use everlog_stack_tests::chaos::{Door, Killer, take_door_away};
use everlog_stack_tests::{Stack, turn, worker};
use serde_json::{Value, json};

/// Workflows of the run.
const WORKFLOWS: usize = 200;
/// Tasks of each: a fork and a join.
const TASKS: usize = 5;
/// How long DynamoDB can't be reached.
const OUTAGE: Duration = Duration::from_secs(120);
/// A killed function's batch is hidden for three minutes, and may be killed again.
const LIMIT: Duration = Duration::from_secs(1_200);

fn plan() -> Value {
    json!({ "name": "chaos", "tasks": [
        { "id": "a", "type": "t" },
        { "id": "b", "type": "t", "after": ["a"] },
        { "id": "c", "type": "t", "after": ["a"] },
        { "id": "d", "type": "t", "after": ["b", "c"] },
        { "id": "e", "type": "t", "after": ["d"] },
    ]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_workflow_ends_right_though_functions_die_and_dynamodb_goes_away() {
    let _turn = turn().await;
    let stack = Stack::connect().await;
    let lost_before = stack.lost().await;
    let endpoint = std::env::var("AWS_ENDPOINT_URL").expect("the stack's address");
    let target = endpoint.strip_prefix("http://").expect("plain HTTP").to_owned();
    let (door, _carrying) = Door::open(target).await;
    door.put_before(&stack).await;
    let run = tokio::spawn(chaos(stack.clone(), door));
    let ended = run.await;
    take_door_away(&stack).await;
    ended.expect("the run ends right");
    assert_eq!(stack.lost().await, lost_before, "nothing lies in a dead-letter queue");
}

async fn chaos(stack: Stack, door: Door) {
    let began = Instant::now();
    let said = |what: &str| println!("{:>5.1} s  {what}", began.elapsed().as_secs_f64());
    let workflows: Vec<WorkflowId> =
        (0..WORKFLOWS).map(|at| Stack::fresh(&format!("chaos-{at}"))).collect();
    let _workers = worker::start(&stack, "default", 4);
    let killer = Killer::default();
    let killing = killer.start(&stack, Duration::from_millis(400));
    for workflow in &workflows[..WORKFLOWS / 2] {
        stack.start(workflow, &plan()).await;
    }
    said("half of the workflows are started; DynamoDB goes away");
    door.shut();
    // The other half is started while nobody can commit: their commands wait.
    let bodies: Vec<(String, &WorkflowId)> =
        workflows[WORKFLOWS / 2..].iter().map(|w| (start_body(w), w)).collect();
    for batch in bodies.chunks(10) {
        stack.send("append", batch).await;
    }
    tokio::time::sleep(OUTAGE).await;
    assert!(door.refused() > 0, "the functions met the outage");
    let open = open(&stack, &workflows).await;
    assert!(open >= WORKFLOWS / 2, "the outage came in the middle: {open} are open");
    door.reopen();
    said(&format!(
        "DynamoDB is back; {open} workflows are open, {} connections were refused",
        door.refused()
    ));
    tokio::time::sleep(Duration::from_secs(20)).await;
    drop(killing);
    let killed = killer.killed.load(Ordering::SeqCst);
    said(&format!("{killed} function processes were killed"));
    assert!(killed >= 20, "functions were killed: {killed}");
    let mut spare = 0;
    for workflow in &workflows {
        let left = LIMIT.saturating_sub(began.elapsed());
        let (key, loaded) = stack.ended(workflow, left).await;
        let facts = stack.prove(&key, &loaded).await;
        assert_eq!(facts.succeeded.len(), TASKS);
        spare += facts.attempts - TASKS;
    }
    said(&format!("all {WORKFLOWS} workflows ended right, with {spare} spare attempts"));
}

fn start_body(workflow: &WorkflowId) -> String {
    json!({
        "id": format!("start-{workflow}"),
        "workflow": workflow,
        "command": { "start": { "type": "chaos", "plan": plan() } },
    })
    .to_string()
}

async fn open(stack: &Stack, workflows: &[WorkflowId]) -> usize {
    let mut open = 0;
    for workflow in workflows {
        let found = stack.load(workflow).await;
        open += usize::from(found.is_none_or(|(_, loaded)| loaded.state.ending().is_none()));
    }
    open
}
