//! A deployed fleet as its users see it, for tests: commands go through Lambda,
//! work through SQS, and what happened is read back from the table.
//!
//! It finds the stack by the environment that `localstack/stack.sh env` prints,
//! and fails with a clear message where there is none. It knows nothing of the
//! emulator but, in [`chaos`], where its processes are.

pub mod chaos;
pub mod worker;

use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use everlog::answer::{Answer, Reply};
use everlog::client::Client;
use everlog::command::{Command, Start, Verb};
use everlog::config::DEAD_LETTER;
use everlog::fleet::{Fleet, group_id};
use everlog::id::{CommandId, Namespace, WorkflowId};
use everlog::journal::{Loaded, LogKey, keys};
use everlog::plan::PlanSpec;
use everlog_local::deployed::{Address, Deployed, UNDELIVERED};
use everlog_testing::proof::{self, Facts};
use serde_json::Value;

/// How long one command is sent again.
const PATIENCE: Duration = Duration::from_secs(200);

/// The stack under test.
#[derive(Debug, Clone)]
pub struct Stack {
    /// Its clients.
    pub deployed: Deployed,
    /// For reads.
    pub fleet: Fleet,
    client: Client,
}

impl Stack {
    /// The running stack.
    ///
    /// # Panics
    /// If the environment names none, or it is not there.
    pub async fn connect() -> Self {
        let table = std::env::var("EVERLOG_TABLE").unwrap_or_else(|_| {
            panic!("no stack: `localstack/stack.sh run` starts one, `. .everlog/stack/ready.env` says where")
        });
        let address = Address { table, ..Address::default() };
        let deployed = Deployed::find(&address).await.expect("a running stack");
        assert!(deployed.functions, "Lambda serves it");
        let (fleet, client) = (deployed.fleet(), deployed.client());
        Self { deployed, fleet, client }
    }

    /// A name that no other run used.
    #[must_use]
    pub fn fresh(name: &str) -> WorkflowId {
        let chance: u32 = rand::random();
        WorkflowId::new(format!("{name}-{chance:08x}")).expect("an id")
    }

    /// Starts a planned workflow through the function `append`.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn start(&self, workflow: &WorkflowId, plan: &Value) -> Answer {
        let answer = self.command(workflow, start(plan)).await;
        assert!(matches!(answer.reply, Reply::Committed | Reply::Unchanged), "{answer:?}");
        answer
    }

    /// Sends a command by direct invocation.
    ///
    /// # Panics
    /// If there is no answer.
    pub async fn command(&self, workflow: &WorkflowId, verb: Verb) -> Answer {
        let id = format!("{}-{workflow}", verb.name());
        let id = CommandId::new(id).expect("an id");
        let command = Command::new(id, Namespace::default(), workflow.clone(), verb);
        self.client.call(&command, PATIENCE).await.expect("an answer")
    }

    /// Puts bodies into a function's queue, as one batch of up to ten.
    ///
    /// # Panics
    /// If the queue does not take them.
    pub async fn send(&self, queue: &str, bodies: &[(String, &WorkflowId)]) {
        use aws_sdk_sqs::types::SendMessageBatchRequestEntry as Entry;
        let url = self.deployed.queues.url(queue).expect("a queue");
        let entries = bodies.iter().enumerate().map(|(at, (body, workflow))| {
            let group = group_id(&keys::partition(&Namespace::default(), workflow));
            let chance: u64 = rand::random();
            Entry::builder()
                .id(at.to_string())
                .message_body(body)
                .message_group_id(group)
                .message_deduplication_id(format!("{chance:016x}"))
                .build()
                .expect("an entry")
        });
        let batch = self.deployed.sqs.send_message_batch().queue_url(url);
        let sent = batch.set_entries(Some(entries.collect())).send().await.expect("a batch");
        assert!(sent.failed().is_empty(), "{:?}", sent.failed());
    }

    /// The log of a workflow, loaded; `None` before its first commit.
    ///
    /// # Panics
    /// If it can't be read.
    pub async fn load(&self, workflow: &WorkflowId) -> Option<(LogKey, Loaded)> {
        let partition = keys::partition(&Namespace::default(), workflow);
        let card = self.fleet.journal().card(&partition).await.expect("a readable card")?;
        let key = LogKey::new(Namespace::default(), workflow.clone(), card.incarnation);
        let loaded = self.fleet.journal().load(&key).await.expect("a readable log");
        loaded.state.run.is_some().then_some((key, loaded))
    }

    /// Waits until a workflow has ended, and reads it.
    ///
    /// # Panics
    /// If it has not after that time.
    pub async fn ended(&self, workflow: &WorkflowId, limit: Duration) -> (LogKey, Loaded) {
        let end = tokio::time::Instant::now() + limit;
        loop {
            let found = self.load(workflow).await;
            if let Some((key, loaded)) = &found
                && loaded.state.ending().is_some()
            {
                return (key.clone(), loaded.clone());
            }
            let state = found.map(|(_, loaded)| (loaded.state.head, loaded.state.commit));
            assert!(
                tokio::time::Instant::now() < end,
                "{workflow} has not ended after {limit:?}: head and commit are {state:?}"
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Proves from the history that all tasks of a plan succeeded once.
    ///
    /// # Panics
    /// With what is wrong.
    pub async fn prove(&self, key: &LogKey, loaded: &Loaded) -> Facts {
        let plan = loaded.state.plan().expect("a planned run").clone();
        let facts = proof::history(&proof::commits(&self.fleet, key).await, &plan);
        facts.all_succeeded(&plan);
        facts
    }

    /// Messages that lie in a queue by its physical name, hidden ones included.
    ///
    /// # Panics
    /// If the queue is not there.
    pub async fn depth(&self, url: &str) -> u64 {
        let asked = self.deployed.sqs.get_queue_attributes().queue_url(url);
        let asked = asked.attribute_names(QueueAttributeName::All).send().await;
        let attributes = asked.expect("a queue").attributes.unwrap_or_default();
        let number = |name| attributes.get(&name).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        number(QueueAttributeName::ApproximateNumberOfMessages)
            + number(QueueAttributeName::ApproximateNumberOfMessagesNotVisible)
            + number(QueueAttributeName::ApproximateNumberOfMessagesDelayed)
    }

    /// What lies where a person must look: dead letters, undelivered messages,
    /// the quarantine. By queue, without the empty ones.
    ///
    /// # Panics
    /// If SQS does not answer.
    pub async fn lost(&self) -> Vec<(String, u64)> {
        let prefix = format!("{}-", self.deployed.table);
        let listed = self.deployed.sqs.list_queues().queue_name_prefix(prefix).send().await;
        let mut lost = Vec::new();
        let urls = listed.expect("queues").queue_urls.unwrap_or_default();
        assert!(urls.len() >= 17, "all queues are listed: {urls:?}");
        for url in urls {
            let name = url.trim_end_matches(".fifo");
            let kept = name.ends_with(UNDELIVERED)
                || name.ends_with(DEAD_LETTER)
                || name.ends_with("-quarantine");
            if kept && self.depth(&url).await > 0 {
                lost.push((url.clone(), self.depth(&url).await));
            }
        }
        lost
    }
}

/// A start with a plan.
///
/// # Panics
/// If it is none.
#[must_use]
pub fn start(plan: &Value) -> Verb {
    let plan: PlanSpec = serde_json::from_value(plan.clone()).expect("a plan");
    let start = Start { workflow_type: plan.name.clone(), plan: Some(plan), ..Start::default() };
    Verb::Start(Box::new(start))
}

/// One test at a time: they share a stack, and some change it.
pub async fn turn() -> tokio::sync::MutexGuard<'static, ()> {
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    TURN.lock().await
}
