//! A fleet on engines in memory, behind its port.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use everlog::commit::Commit;
use everlog::fleet::{Fleet, Function};
use everlog::id::{Namespace, WorkflowId};
use everlog::journal::{LogKey, keys};
use everlog::plan::Plan;
use everlog::query::{HistoryEvent, events_of};
use everlog::time::Clock;
use everlog_local::backend::Backend;
use everlog_local::{mapping, server, stack, transport};
use everlog_sqs::{OutgoingMessage, Receive};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// How long a test waits for a log to become what it should.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(50);

/// The fleet; it ends when dropped.
pub struct Embedded {
    backend: Backend,
    fleet: Fleet,
    address: SocketAddr,
    _mapping: JoinSet<()>,
}

impl Embedded {
    /// An empty table, empty queues, the five functions, and a port.
    ///
    /// # Panics
    /// If they do not come up.
    pub async fn start() -> Self {
        let backend = Backend::open(None, Clock::System).expect("engines in memory");
        let fleet = stack::embedded_fleet(&backend, transport::direct(&backend), &[]).await;
        let fleet = fleet.expect("a table and queues");
        let address = server::serve(backend.clone(), fleet.clone()).await.expect("a port");
        let mapping = mapping::start(&fleet, backend.sqs());
        Self { backend, fleet, address, _mapping: mapping }
    }

    /// The address of DynamoDB, SQS and Lambda.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What a worker of a deployment finds in its environment.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let queue = |name| format!("{}/000000000000/{}", self.url(), stack::physical(name));
        vec![
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_REGION", "us-east-1".into()),
            ("AWS_DEFAULT_REGION", "us-east-1".into()),
            ("AWS_ACCESS_KEY_ID", "anybody".into()),
            ("AWS_SECRET_ACCESS_KEY", "nobody-checks-it".into()),
            ("AWS_EC2_METADATA_DISABLED", "true".into()),
            ("EVERLOG_TASK_QUEUE_URL", queue(stack::TASK_QUEUE)),
            ("EVERLOG_SETTLE_QUEUE_URL", queue("settle")),
            ("EVERLOG_SETTLE_FUNCTION", "everlog-settle".into()),
            ("EVERLOG_WAIT_S", "2".into()),
        ]
    }

    /// Has a command of `append` served.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn tell(&self, workflow: &str, verb: &str, content: Value) {
        let id = format!("{workflow}-{verb}");
        let command = json!({ "id": id, "workflow": workflow, "command": { verb: content } });
        let answer = self.fleet.direct(Function::Append, &command.to_string()).await;
        let answer = serde_json::to_value(answer.expect("an answer")).expect("JSON");
        assert_eq!(answer["outcome"], "committed", "{answer}");
    }

    /// Puts each dispatch that waits in the task queue in again; returns how many.
    ///
    /// # Panics
    /// If the queue does not serve.
    pub async fn double_dispatches(&self) -> usize {
        let (sqs, url) = (self.backend.sqs(), stack::queue_url(stack::TASK_QUEUE));
        let receive = Receive { max_messages: 10, wait_s: Some(20), visibility_s: Some(5) };
        let messages = sqs.receive(&url, receive).await.expect("a queue");
        for message in &messages {
            let again = OutgoingMessage::new(message.body.to_string());
            sqs.send(&url, again).await.expect("a queue takes a message");
            sqs.change_visibility(&url, &message.receipt_handle, 0).await.expect("it is there");
        }
        messages.len()
    }

    /// Puts a body into the task queue, as it is.
    ///
    /// # Panics
    /// If the queue does not take it.
    pub async fn dispatch(&self, body: &str) {
        let url = stack::queue_url(stack::TASK_QUEUE);
        let sent = self.backend.sqs().send(&url, OutgoingMessage::new(body.to_owned())).await;
        sent.expect("a queue takes a message");
    }

    /// Messages of the task queue: those that wait, and those in a worker's hands.
    ///
    /// # Panics
    /// If the queue does not serve.
    pub async fn undone(&self) -> (u64, u64) {
        let url = stack::queue_url(stack::TASK_QUEUE);
        let attributes = self.backend.sqs().attributes(&url).await.expect("a queue");
        let of = |name: &str| attributes.get(name).and_then(|n| n.parse().ok()).unwrap_or(0);
        (of("ApproximateNumberOfMessages"), of("ApproximateNumberOfMessagesNotVisible"))
    }

    /// Waits until the task queue holds so many messages.
    ///
    /// # Panics
    /// If it does not come to that.
    pub async fn until_undone(&self, wanted: u64) {
        let end = tokio::time::Instant::now() + PATIENCE;
        loop {
            let (visible, hidden) = self.undone().await;
            if visible + hidden == wanted {
                return;
            }
            assert!(tokio::time::Instant::now() < end, "{visible} wait, {hidden} are in flight");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The commits of a workflow.
    ///
    /// # Panics
    /// If the log can't be read.
    pub async fn commits(&self, workflow: &str) -> Vec<(u64, Commit)> {
        let workflow = WorkflowId::new(workflow).expect("an id");
        let partition = keys::partition(&Namespace::default(), &workflow);
        let journal = self.fleet.journal();
        let Some(card) = journal.card(&partition).await.expect("a card") else { return Vec::new() };
        let key = LogKey::new(Namespace::default(), workflow, card.incarnation);
        journal.commits_from(&key, 1, |_, _| false).await.expect("a log")
    }

    /// The history of a workflow, as `everlog history --json` has it.
    ///
    /// # Panics
    /// If the log can't be read.
    pub async fn history(&self, workflow: &str) -> Vec<Value> {
        let (key, plan) = self.plan(workflow).await;
        let commits = self.fleet.journal().commits_from(&key, 1, |_, _| false).await;
        let events: Vec<HistoryEvent> = events_of(&commits.expect("a log"), plan.as_deref());
        events.iter().map(|event| serde_json::to_value(event).expect("JSON")).collect()
    }

    async fn plan(&self, workflow: &str) -> (LogKey, Option<Arc<Plan>>) {
        let workflow = WorkflowId::new(workflow).expect("an id");
        let partition = keys::partition(&Namespace::default(), &workflow);
        let card = self.fleet.journal().card(&partition).await.expect("a card");
        let incarnation = card.expect("it was started").incarnation;
        let key = LogKey::new(Namespace::default(), workflow, incarnation);
        let loaded = self.fleet.journal().load(&key).await.expect("a log that folds");
        (key, loaded.state.plan().cloned())
    }

    /// Waits until an event of the history is so; returns the history then.
    ///
    /// # Panics
    /// If it does not come to that; with the history.
    pub async fn until(&self, workflow: &str, so: impl Fn(&Value) -> bool) -> Vec<Value> {
        let end = tokio::time::Instant::now() + PATIENCE;
        loop {
            let history = self.history(workflow).await;
            if history.iter().any(&so) {
                return history;
            }
            assert!(tokio::time::Instant::now() < end, "{workflow}: {history:#?}");
            tokio::time::sleep(LOOK).await;
        }
    }
}
