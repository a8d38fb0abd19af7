//! A table and the queues of a fleet, on loopback, and ways to look into them.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::config::{Credentials, Region};
use dynoxide::Database;
use everlog::answer::Answer;
use everlog::config::Queues;
use everlog::fleet::{Fleet, Function};
use everlog::id::{Incarnation, Namespace, WorkflowId};
use everlog::journal::{self, Card, Journal, LogKey, keys};
use everlog::query::events_of;
use everlog::relay::{self, Relay};
use everlog::time::Clock;
use everlog_sqs::{Config, Engine, OutgoingMessage, Receive, ReceivedMessage};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::endpoint::Endpoint;

/// Logical names of the queues: those that invoke functions, those that keep
/// what could not be served, the task queue `default`, and `answers`, for callers.
const QUEUES: [&str; 9] = [
    "append",
    "prepare",
    "settle",
    "wake",
    "outbox",
    "dead-letter",
    "quarantine",
    "default",
    "answers",
];
const FIFO: [&str; 4] = ["append", "prepare", "settle", "quarantine"];
const TABLE: &str = "everlog-test";
const REGION: &str = "us-east-2";
/// Seconds; longer than any test, so that only a function makes a message visible again.
const VISIBILITY_S: &str = "900";

/// A table, its queues, and a fleet in this process to set them up with.
pub struct Stack {
    endpoint: Endpoint,
    url: String,
    sqs: Engine,
    queues: Queues,
    journal: Journal,
    fleet: Fleet,
}

/// The name of a queue as a deployment makes it.
fn physical(queue: &str) -> String {
    let suffix = if FIFO.contains(&queue) { ".fifo" } else { "" };
    format!("everlog-test-{queue}{suffix}")
}

pub(crate) fn queue_arn(queue: &str) -> String {
    format!("arn:aws:sqs:{REGION}:123456789012:{}", physical(queue))
}

impl Stack {
    /// An empty table and empty queues.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let url = format!("http://{address}");
        let clock = Clock::System;
        let sqs = Engine::new(Config::new(clock.now().0, url.clone()));
        let db = Database::memory().expect("memory is at hand");
        let endpoint = Endpoint::new(db, sqs.clone());
        endpoint.serve_on(listener);

        let queues = make_queues(&sqs).await;
        let http = aws_smithy_http_client::Builder::new().build_http();
        let credentials = Credentials::new("AKIDEXAMPLE", "nobody-checks-it", None, None, "test");
        let base = aws_sdk_dynamodb::Config::builder()
            .endpoint_url(&url)
            .region(Region::new(REGION))
            .credentials_provider(credentials.clone())
            .http_client(http.clone());
        let (db, skew) = journal::configure(base, &clock);
        journal::create_table(&db, TABLE).await.expect("the table is new");
        let journal = Journal::new(db, TABLE, clock, skew);
        let base = aws_sdk_sqs::Config::builder()
            .endpoint_url(&url)
            .region(Region::new(REGION))
            .credentials_provider(credentials)
            .http_client(http);
        let relay = Relay::new(relay::configure(base), queues.clone());
        let fleet = Fleet::new(journal.clone(), relay);
        Self { endpoint, url, sqs, queues, journal, fleet }
    }

    /// What a deployment sets: each service's address by its own variable.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut environment = self.environment_without_addresses();
        for name in ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS"] {
            environment.push((name.to_owned(), self.url.clone()));
        }
        environment
    }

    /// Table, queues and region alone.
    #[must_use]
    pub fn environment_without_addresses(&self) -> Vec<(String, String)> {
        let queues: BTreeMap<&str, &str> =
            QUEUES.into_iter().filter_map(|name| Some((name, self.queues.url(name)?))).collect();
        let variables = [
            ("EVERLOG_TABLE", TABLE.to_owned()),
            ("EVERLOG_QUEUES", json!(queues).to_string()),
            ("AWS_REGION", REGION.to_owned()),
        ];
        variables.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    /// The address of both services.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// From now on a request fails with status 500 if `fails` says so of its
    /// `x-amz-target` and body.
    pub fn outage(&self, fails: impl Fn(&str, &str) -> bool + Send + Sync + 'static) {
        self.endpoint.set_outage(Some(Box::new(fails)));
    }

    /// From now on DynamoDB fails for this workflow.
    pub fn outage_of(&self, workflow: &str) {
        let partition = format!("\"{}\"", partition(workflow));
        self.outage(move |target, body| {
            target.starts_with("DynamoDB") && body.contains(&partition)
        });
    }

    /// From now on every request is served.
    pub fn end_outage(&self) {
        self.endpoint.set_outage(None);
    }

    /// Has a command served by the fleet of this process, to set a test up.
    /// Its wake of 60 seconds stays invisible for longer than a test runs.
    ///
    /// # Panics
    /// If it is given back.
    pub async fn setup(&self, function: Function, command: &Value) -> Answer {
        let answer = self.fleet.direct(function, &command.to_string()).await;
        answer.expect("nothing fails yet")
    }

    /// The card of a workflow.
    pub async fn card(&self, workflow: &str) -> Option<Card> {
        self.journal.card(&partition(workflow)).await.expect("a card can be read")
    }

    /// The names of the events in the log of a workflow; none if there is none.
    pub async fn history(&self, workflow: &str) -> Vec<String> {
        let Some(card) = self.card(workflow).await else { return Vec::new() };
        let key = log_key(workflow, card.incarnation);
        let commits = self.journal.commits_from(&key, 1, |_, _| false).await;
        let commits = commits.expect("a log can be read");
        events_of(&commits, None).into_iter().map(|event| event.event).collect()
    }

    /// The number of the last commit of a workflow, 0 if there is none.
    pub async fn last_commit(&self, workflow: &str) -> u64 {
        let Some(card) = self.card(workflow).await else { return 0 };
        let loaded = self.journal.load(&log_key(workflow, card.incarnation)).await;
        loaded.expect("a log can be loaded").state.commit
    }

    /// The URL of a queue.
    ///
    /// # Panics
    /// If there is no such queue.
    #[must_use]
    pub fn queue_url(&self, queue: &str) -> &str {
        self.queues.url(queue).expect("a queue of this fleet")
    }

    /// Puts a message into a queue; `group` and `id` matter to FIFO queues alone.
    pub async fn send(&self, queue: &str, group: &str, id: &str, body: &Value) {
        let message = OutgoingMessage::new(body.to_string());
        let message = if FIFO.contains(&queue) { message.in_group(group, id) } else { message };
        self.sqs.send(self.queue_url(queue), message).await.expect("a queue takes a message");
    }

    /// Takes up to ten messages that are visible now.
    pub async fn receive(&self, queue: &str) -> Vec<ReceivedMessage> {
        self.receive_within(queue, 0).await
    }

    /// Takes up to ten messages, waiting up to `wait_s` seconds for the first.
    pub async fn receive_within(&self, queue: &str, wait_s: u32) -> Vec<ReceivedMessage> {
        let receive = Receive { max_messages: 10, wait_s: Some(wait_s), visibility_s: None };
        self.sqs.receive(self.queue_url(queue), receive).await.expect("a queue can be polled")
    }

    /// The bodies of up to ten messages that are visible now, as JSON.
    pub async fn bodies(&self, queue: &str) -> Vec<Value> {
        let messages = self.receive(queue).await;
        let body = |message: &ReceivedMessage| serde_json::from_str(&message.body).expect("JSON");
        messages.iter().map(body).collect()
    }

    /// Removes a queue, so that it accepts nothing more.
    pub async fn remove_queue(&self, queue: &str) {
        self.sqs.delete_queue(self.queue_url(queue)).await.expect("it exists");
    }
}

fn workflow_id(workflow: &str) -> WorkflowId {
    WorkflowId::new(workflow).expect("a test names its workflows well")
}

fn partition(workflow: &str) -> String {
    keys::partition(&Namespace::default(), &workflow_id(workflow))
}

fn log_key(workflow: &str, incarnation: Incarnation) -> LogKey {
    LogKey::new(Namespace::default(), workflow_id(workflow), incarnation)
}

async fn make_queues(sqs: &Engine) -> Queues {
    let mut pairs = Vec::new();
    for queue in QUEUES {
        let mut attributes =
            BTreeMap::from([("VisibilityTimeout".to_owned(), VISIBILITY_S.to_owned())]);
        if FIFO.contains(&queue) {
            attributes.insert("FifoQueue".to_owned(), "true".to_owned());
        }
        let url = sqs.create_queue(&physical(queue), &attributes).await;
        pairs.push((queue.to_owned(), url.expect("its name is good")));
    }
    Queues::new(pairs)
}
