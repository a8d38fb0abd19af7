//! The world itself, and what can be done in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use everlog::answer::Answer;
use everlog::fleet::{Fleet, Function, group_id};
use everlog::id::{Namespace, WorkflowId};
use everlog::journal::{Card, Loaded, LogKey, keys};
use everlog::relay::Outgoing;
use everlog::time::{Clock, Timestamp};
use everlog_local::backend::Backend;
use everlog_local::transport::{self, Handler};
use everlog_local::{mapping, stack};
use everlog_sqs::Receive;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::cuts::Cutter;
use crate::worker;

/// 2026-11-30T00:00Z.
pub const EPOCH: Timestamp = Timestamp(1_796_000_000_000);

/// Engines on a virtual clock.
#[derive(Debug, Clone)]
pub struct World {
    /// The engines.
    pub backend: Backend,
    /// An instance without faults, for looking.
    pub observer: Fleet,
}

/// One step of a scenario.
#[derive(Debug, Clone)]
pub enum Step {
    /// Send a command to a function's queue and hear its answer.
    Command(Function, Value),
    /// Let so many milliseconds pass.
    Pass(u64),
    /// Wait until the run of this workflow is closed.
    Closed(&'static str),
}

impl World {
    /// A new world. Needs a runtime with paused time.
    ///
    /// # Panics
    /// If the engines do not come up.
    pub async fn new() -> Self {
        let backend = Backend::open(None, Clock::tokio(EPOCH)).expect("engines in memory");
        let observer = stack::embedded_fleet(&backend, transport::direct(&backend), &[]).await;
        Self { observer: observer.expect("a table and queues"), backend }
    }

    /// A fresh instance of the functions behind `handler`.
    ///
    /// # Panics
    /// If the queues can't be made.
    pub async fn instance(&self, handler: Handler) -> Fleet {
        let fleet = stack::embedded_fleet(&self.backend, handler, &[]).await;
        fleet.expect("a table and queues")
    }

    /// The handler without faults.
    #[must_use]
    pub fn direct(&self) -> Handler {
        transport::direct(&self.backend)
    }

    /// The key of a workflow's present life, and its card.
    ///
    /// # Panics
    /// If the table can't be read.
    pub async fn card(&self, workflow: &str) -> Option<(LogKey, Card)> {
        let workflow = WorkflowId::new(workflow).expect("an id");
        let partition = keys::partition(&Namespace::default(), &workflow);
        let card = self.observer.journal().card(&partition).await.expect("the table is there")?;
        Some((LogKey::new(Namespace::default(), workflow, card.incarnation), card))
    }

    /// A workflow, loaded from its log.
    ///
    /// # Panics
    /// If there is none, or its log does not fold.
    pub async fn load(&self, workflow: &str) -> (LogKey, Loaded) {
        let (key, _) = self.card(workflow).await.expect("a card");
        let loaded = self.observer.journal().load(&key).await.expect("a log that folds");
        (key, loaded)
    }

    /// Puts a body into a function's queue, as any client would.
    ///
    /// # Panics
    /// If the queue refuses it.
    pub async fn send(&self, function: Function, body: &Value, dedup: &str) {
        let group = body["workflow"].as_str().unwrap_or("none");
        let message = Outgoing {
            body: body.to_string(),
            group: group_id(&format!("default#{group}")),
            dedup: dedup.to_owned(),
            delay_s: 0,
        };
        let left = self.observer.relay().send(function.queue(), vec![message]).await;
        assert!(left.is_empty(), "the queue takes messages");
    }

    /// Answers that have come so far, by command id.
    ///
    /// # Panics
    /// If an answer is not one.
    pub async fn answers(&self) -> Vec<Answer> {
        let url = stack::queue_url("replies");
        let receive = Receive { max_messages: 10, wait_s: Some(0), visibility_s: Some(60) };
        let mut answers = Vec::new();
        loop {
            let messages = self.backend.sqs().receive(&url, receive).await.expect("a queue");
            if messages.is_empty() {
                return answers;
            }
            for message in messages {
                answers.push(serde_json::from_str(&message.body).expect("an answer"));
                let _ = self.backend.sqs().delete(&url, &message.receipt_handle).await;
            }
        }
    }

    /// Messages in a queue that are waiting or in flight.
    ///
    /// # Panics
    /// If there is no such queue.
    pub async fn depth(&self, url: &str) -> u64 {
        let attributes = self.backend.sqs().attributes(url).await.expect("a queue");
        let of = |name: &str| attributes.get(name).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        of("ApproximateNumberOfMessages")
            + of("ApproximateNumberOfMessagesNotVisible")
            + of("ApproximateNumberOfMessagesDelayed")
    }

    /// Runs the functions behind `cutter` and workers beside them through a
    /// scenario. An instance that dies is followed by a fresh one at once; what
    /// it had received comes back when its visibility ends.
    ///
    /// # Panics
    /// If a command is not answered or a run not closed within `limit_s`
    /// virtual seconds.
    pub async fn play(&self, cutter: &Arc<Cutter>, steps: &[Step], limit_s: u64) -> Vec<Answer> {
        let world = self.clone();
        let workers = worker::start(&self.observer, self.backend.sqs(), 2);
        let dying = cutter.clone();
        let functions = tokio::spawn(async move {
            loop {
                let handler = dying.between(world.direct());
                let fleet = world.instance(handler).await;
                let _mapping: JoinSet<()> = mapping::start(&fleet, world.backend.sqs());
                dying.dead.notified().await;
            }
        });
        let mut answers = Vec::new();
        for step in steps {
            self.step(step, &mut answers, limit_s).await;
        }
        // Let wakes, looks and card steps that are still under way come in.
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        // A close that died before its card is mended by the alarm that was left.
        for step in steps {
            let Step::Closed(workflow) = step else { continue };
            while let Some(alarm) = self.card(workflow).await.and_then(|(_, card)| card.alarm_at) {
                let wait_ms = alarm.end().since(self.backend.clock().now()) + 180_000;
                tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            }
        }
        functions.abort();
        drop(workers);
        answers
    }

    async fn step(&self, step: &Step, answers: &mut Vec<Answer>, limit_s: u64) {
        match step {
            Step::Pass(ms) => tokio::time::sleep(Duration::from_millis(*ms)).await,
            Step::Command(function, body) => {
                let mut body = body.clone();
                body["reply_to"] = json!("replies");
                let id = body["id"].as_str().expect("an id").to_owned();
                self.send(*function, &body, &id).await;
                for _ in 0..limit_s {
                    answers.extend(self.answers().await);
                    let own = |a: &Answer| a.command.as_ref().is_some_and(|c| c.as_str() == id);
                    if answers.iter().any(own) {
                        return;
                    }
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                panic!("command {id} was not answered in {limit_s} s");
            }
            Step::Closed(workflow) => {
                for _ in 0..limit_s {
                    if let Some((key, _)) = self.card(workflow).await {
                        let loaded = self.observer.journal().load(&key).await.expect("it folds");
                        if loaded.state.ending().is_some() {
                            return;
                        }
                    }
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                let (_, loaded) = self.load(workflow).await;
                panic!("{workflow} is not closed after {limit_s} s: {:#?}", loaded.state);
            }
        }
    }
}

/// A command as a client writes it.
#[must_use]
pub fn command(id: &str, workflow: &str, verb: &str, content: Value) -> Value {
    let verb: BTreeMap<&str, Value> = BTreeMap::from([(verb, content)]);
    json!({ "id": id, "workflow": workflow, "command": verb })
}
