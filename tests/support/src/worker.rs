//! Workers that do what a task's name says.
//!
//! | name begins with | the worker |
//! |---|---|
//! | `flaky` | fails twice, then succeeds |
//! | `fails` | fails, always, as `fatal` |
//! | `slow` | sends a receipt, works 40 seconds, sends a heartbeat, succeeds |
//! | `silent` | takes the first attempt and is never heard of again |
//! | anything else | succeeds with its name as output |

use std::time::Duration;

use everlog::command::{Ended, Evidence, Settle, Verb};
use everlog::config::SETTLE;
use everlog::event::Failure;
use everlog::fleet::{Fleet, group_id};
use everlog::id::{Kind, OwnerId};
use everlog::message::Dispatch;
use everlog::payload::Payload;
use everlog::relay::Outgoing;
use everlog::worker::command;
use everlog_local::stack;
use everlog_sqs::{Engine, Receive};
use tokio::task::JoinSet;

/// Starts `count` workers on the default task queue. `fleet` is their way to send.
#[must_use]
pub fn start(fleet: &Fleet, sqs: &Engine, count: usize) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for at in 0..count {
        tasks.spawn(work(fleet.clone(), sqs.clone(), format!("worker-{at}")));
    }
    tasks
}

async fn work(fleet: Fleet, sqs: Engine, name: String) {
    let url = stack::queue_url("default");
    let receive = Receive { max_messages: 1, wait_s: Some(20), visibility_s: Some(600) };
    loop {
        let messages = sqs.receive(&url, receive).await.expect("the task queue is there");
        for message in messages {
            let dispatch: Dispatch = serde_json::from_str(&message.body).expect("a dispatch");
            perform(&fleet, &name, &dispatch).await;
            sqs.delete(&url, &message.receipt_handle).await.expect("it was received");
        }
    }
}

async fn perform(fleet: &Fleet, name: &str, dispatch: &Dispatch) {
    let node = dispatch.node.as_str();
    let evidence =
        || Evidence { attempt: dispatch.attempt_id(), worker: OwnerId::new(name).expect("an id") };
    let ended = if dispatch.cancelled {
        Ended::Cancelled {}
    } else if node.starts_with("flaky") && dispatch.attempt < 3 {
        failed("flaky")
    } else if node.starts_with("fails") {
        failed("fatal")
    } else if node.starts_with("silent") && dispatch.attempt == 1 {
        tell(fleet, dispatch, Verb::Receipt(evidence())).await;
        return;
    } else if node.starts_with("slow") {
        tell(fleet, dispatch, Verb::Receipt(evidence())).await;
        tokio::time::sleep(Duration::from_secs(40)).await;
        tell(fleet, dispatch, Verb::Heartbeat(evidence())).await;
        succeeded(node)
    } else {
        succeeded(node)
    };
    let settle = Settle { attempt: dispatch.attempt_id(), worker: None, outcome: ended };
    tell(fleet, dispatch, Verb::Settle(Box::new(settle))).await;
}

fn succeeded(node: &str) -> Ended {
    Ended::Succeeded { output: Payload::json(&serde_json::json!(node)).ok() }
}

fn failed(kind: &str) -> Ended {
    let kind = Kind::new(kind).expect("an id");
    Ended::Failed(Failure { kind, message: "as asked".into(), details: None })
}

/// Sends a worker's word to the settle queue.
pub async fn tell(fleet: &Fleet, dispatch: &Dispatch, verb: Verb) {
    let command = command(dispatch, verb).expect("an id");
    let partition = everlog::journal::keys::partition(&dispatch.namespace, &dispatch.workflow);
    let message = Outgoing {
        body: serde_json::to_string(&command).expect("JSON"),
        group: group_id(&partition),
        dedup: command.id.to_string(),
        delay_s: 0,
    };
    let left = fleet.relay().send(SETTLE, vec![message]).await;
    assert!(left.is_empty(), "the settle queue takes messages");
}
