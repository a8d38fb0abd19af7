//! The deployed fleet end to end: what its users rely on, seen from outside.

use std::path::Path;
use std::process::Command as Process;
use std::time::Duration;

use everlog::config::{APPEND, DEAD_LETTER};
use everlog::event::{Event, TimerKey};
use everlog::id::WorkflowId;
use everlog_local::letters::{Letter, Letters};
use everlog_stack_tests::{Stack, turn, worker};
use everlog_testing::proof;
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(240);

#[tokio::test(flavor = "multi_thread")]
async fn a_fan_out_of_a_hundred_ends_right() {
    let _turn = turn().await;
    let stack = Stack::connect().await;
    let _workers = worker::start(&stack, "default", 4);
    let leaves =
        (0..100).map(|at| json!({ "id": format!("leaf-{at}"), "type": "t", "after": ["root"] }));
    let mut tasks = vec![json!({ "id": "root", "type": "t" })];
    tasks.extend(leaves);
    let after: Vec<Value> = (0..100).map(|at| json!(format!("leaf-{at}"))).collect();
    tasks.push(json!({ "id": "join", "type": "t", "after": after }));
    let workflow = Stack::fresh("fan-out");
    stack.start(&workflow, &json!({ "name": "fan-out", "tasks": tasks })).await;
    let (key, loaded) = stack.ended(&workflow, LIMIT).await;
    let facts = stack.prove(&key, &loaded).await;
    assert_eq!(facts.attempts, 102, "no attempt was spare");
}

/// More hops through SQS than Lambda's guard against recursion allows by default.
#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_forty_is_not_cut_by_the_recursion_guard() {
    let _turn = turn().await;
    let stack = Stack::connect().await;
    let _workers = worker::start(&stack, "default", 1);
    let tasks: Vec<Value> = (0..40)
        .map(|at| match at {
            0 => json!({ "id": "step-0", "type": "t" }),
            at => json!({ "id": format!("step-{at}"), "type": "t", "after": [format!("step-{}", at - 1)] }),
        })
        .collect();
    let workflow = Stack::fresh("chain");
    stack.start(&workflow, &json!({ "name": "chain", "tasks": tasks })).await;
    let (key, loaded) = stack.ended(&workflow, LIMIT).await;
    stack.prove(&key, &loaded).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timer_of_three_seconds_is_never_early_and_at_most_three_seconds_late() {
    let _turn = turn().await;
    let stack = Stack::connect().await;
    let plan = json!({ "name": "sleep", "tasks": [
        { "id": "nap", "sleep_ms": 3000 }, { "id": "again", "sleep_ms": 3000, "after": ["nap"] },
    ]});
    let workflow = Stack::fresh("timer");
    stack.start(&workflow, &plan).await;
    let (key, loaded) = stack.ended(&workflow, LIMIT).await;
    stack.prove(&key, &loaded).await;
    let commits = proof::commits(&stack.fleet, &key).await;
    let mut due = std::collections::BTreeMap::new();
    let mut late_ms = Vec::new();
    for (_, commit) in &commits {
        for event in &commit.events {
            match event {
                Event::TimerArmed(TimerKey::Node(node), at) => drop(due.insert(*node, *at)),
                Event::TimerFired(TimerKey::Node(node)) => {
                    assert!(commit.time >= due[node], "a timer fired early");
                    late_ms.push(commit.time.since(due[node]));
                }
                _ => {}
            }
        }
    }
    println!("late by {late_ms:?} ms");
    assert_eq!(late_ms.len(), 2);
    assert!(late_ms.iter().all(|late| *late <= 3_000), "late by {late_ms:?} ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poison_message_ends_as_a_dead_letter_and_its_neighbours_are_served() {
    let _turn = turn().await;
    let stack = Stack::connect().await;
    let _workers = worker::start(&stack, "default", 2);
    let poisoned = Stack::fresh("poison");
    let neighbours: Vec<WorkflowId> = (0..9).map(|_| Stack::fresh("neighbour")).collect();
    let mut batch: Vec<(String, &WorkflowId)> =
        neighbours.iter().map(|workflow| (start(workflow, "default"), workflow)).collect();
    let body = json!({ "id": "p", "workflow": poisoned, "command": { "explode": {} } }).to_string();
    batch.insert(4, (body.clone(), &poisoned));
    stack.send(APPEND, &batch).await;
    for workflow in &neighbours {
        let (key, loaded) = stack.ended(workflow, LIMIT).await;
        stack.prove(&key, &loaded).await;
    }
    let letter = letter(&stack, |letter| letter.letter.body == body).await;
    assert_eq!(letter.letter.queue, APPEND);
    assert!(letter.letter.reason.contains("explode"), "{}", letter.letter.reason);
    assert!(stack.load(&poisoned).await.is_none(), "nothing was written of it");
    // It is hopeless: leave no letter behind for the others.
    let to = "replies";
    let sent = Letters::given_up(&stack.deployed).unwrap().redrive(usize::MAX, Some(to)).await;
    assert!(sent.unwrap().sent >= 1);
}

/// A plan names a queue that the deployment does not have; an operator adds the
/// queue, and sends the letter again.
#[tokio::test(flavor = "multi_thread")]
async fn a_redriven_letter_is_served_once_its_cause_is_mended() {
    let _turn = turn().await;
    let stack = Stack::connect().await;
    let chance: u32 = rand::random();
    let queue = format!("orders-{chance:08x}");
    let workflow = Stack::fresh("redriven");
    stack.send(APPEND, &[(start(&workflow, &queue), &workflow)]).await;
    let found = letter(&stack, |letter| letter.letter.body.contains(workflow.as_str())).await;
    assert!(found.letter.reason.contains("defaults.queue"), "{}", found.letter.reason);
    assert!(found.letter.reason.contains(&queue), "{}", found.letter.reason);
    add_queue(&stack, &queue).await;
    let stack = Stack::connect().await;
    let _workers = worker::start(&stack, &queue, 1);
    let sent = Letters::given_up(&stack.deployed).unwrap().redrive(usize::MAX, None).await;
    assert!(sent.unwrap().sent >= 1);
    let (key, loaded) = stack.ended(&workflow, LIMIT).await;
    stack.prove(&key, &loaded).await;
    let url = stack.deployed.queues.url(DEAD_LETTER).unwrap();
    assert_eq!(stack.depth(url).await, 0, "the letter is gone");
}

fn start(workflow: &WorkflowId, queue: &str) -> String {
    let plan = json!({ "defaults": { "queue": queue }, "tasks": [{ "id": "a", "type": "t" }] });
    json!({
        "id": format!("start-{workflow}"),
        "workflow": workflow,
        "command": { "start": { "plan": plan } },
    })
    .to_string()
}

async fn letter(stack: &Stack, wanted: impl Fn(&Letter) -> bool) -> Letter {
    let letters = Letters::given_up(&stack.deployed).expect("a queue");
    let end = tokio::time::Instant::now() + LIMIT;
    loop {
        let read = letters.read(1_000).await.expect("readable letters");
        if let Some(found) = read.into_iter().find(|letter| wanted(letter)) {
            return found;
        }
        assert!(tokio::time::Instant::now() < end, "no dead letter of that kind");
    }
}

/// Makes a task queue and deploys the stack again with it.
async fn add_queue(stack: &Stack, logical: &str) {
    let name = format!("{}-{logical}", stack.deployed.table);
    let made = stack.deployed.sqs.create_queue().queue_name(&name).send().await.expect("a queue");
    // As the functions know the others: the emulator answers under two names.
    let other = stack.deployed.queues.url(DEAD_LETTER).expect("a queue");
    let (base, _) = other.rsplit_once('/').expect("a URL");
    assert!(made.queue_url().is_some_and(|url| url.ends_with(&name)));
    let parameters = format!(
        r#"ExtraQueues="\"{logical}\":\"{base}/{name}\"" ExtraQueueArns=arn:aws:sqs:us-east-1:000000000000:{name}"#
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../localstack/stack.sh");
    let deployed = Process::new(script)
        .arg("deploy")
        .env("EVERLOG_STACK_PARAMETERS", parameters)
        .output()
        .expect("a script");
    assert!(deployed.status.success(), "{}", String::from_utf8_lossy(&deployed.stderr));
}
