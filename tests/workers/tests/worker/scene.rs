//! A world with functions, a worker whose handler the test writes, and what
//! the log says in the end.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use everlog::client::Client;
use everlog::fleet::Function;
use everlog::id::OwnerId;
use everlog::message::Dispatch;
use everlog::query::{HistoryEvent, events_of};
use everlog::worker::{self, Context, Failure, Output, Task, TaskQueue, Worker};
use everlog_local::transport::{self, Call, Handler, NoAnswer};
use everlog_local::{mapping, stack};
use everlog_sqs::{Receive, ReceivedMessage};
use everlog_testing::proof;
use everlog_testing::world::{World, command};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// What handlers return.
pub type Done = Result<Output, Failure>;

/// A world whose functions are served.
pub struct Scene {
    pub world: World,
    pub direct: Handler,
    _functions: JoinSet<()>,
}

impl Scene {
    pub async fn new() -> Self {
        let world = World::new().await;
        let functions = mapping::start(&world.observer, world.backend.sqs());
        Self { direct: world.direct(), world, _functions: functions }
    }

    /// Starts workflow `w` with these tasks.
    pub async fn start(&self, tasks: Value) {
        let start = command("start", "w", "start", json!({ "plan": { "tasks": tasks } }));
        self.ask(Function::Append, &start).await;
    }

    pub async fn ask(&self, function: Function, body: &Value) -> everlog::answer::Answer {
        self.world.observer.direct(function, &body.to_string()).await.expect("an answer")
    }

    /// A worker whose every word goes through `handler`.
    pub async fn worker<F>(
        &self,
        name: &str,
        handler: &Handler,
        work: impl Fn(Task, Context) -> F + Send + Sync + 'static,
    ) -> Worker
    where
        F: Future<Output = Done> + Send + 'static,
    {
        let fleet = self.world.instance(handler.clone()).await;
        let name = OwnerId::new(name).expect("an id");
        let client = Client::here(fleet.clone());
        let worker = Worker::new(name, client, fleet.relay().clone(), work);
        worker.expect("a settle queue").with_clock(self.world.backend.clock().clone())
    }

    /// The task queue through `handler`.
    pub fn queue(&self, handler: &Handler) -> TaskQueue {
        let http = transport::client(handler.clone(), self.world.backend.clock().clone());
        let sqs = worker::configure(stack::sqs_config(http, "http://aws.local"));
        TaskQueue::new(sqs, stack::queue_url("default"))
    }

    /// Polls the task queue until the set is dropped.
    pub fn serve(&self, worker: &Worker, handler: &Handler) -> JoinSet<()> {
        let (worker, queue) = (worker.clone(), self.queue(handler));
        let mut set = JoinSet::new();
        set.spawn(async move {
            worker.serve(&queue, 4, std::future::pending(), Duration::ZERO).await;
        });
        set
    }

    /// Receives dispatches as Lambda's poller would.
    pub async fn receive(&self) -> Vec<ReceivedMessage> {
        let receive = Receive { max_messages: 10, wait_s: Some(0), visibility_s: Some(600) };
        let url = stack::queue_url("default");
        self.world.backend.sqs().receive(&url, receive).await.expect("the task queue")
    }

    /// The dispatch of a message.
    pub fn dispatch(message: &ReceivedMessage) -> Dispatch {
        serde_json::from_str(&message.body).expect("a dispatch")
    }

    /// Waits until the run is closed; how it ended.
    pub async fn ending(&self, limit_s: u64) -> String {
        for _ in 0..limit_s {
            if let Some(ending) = self.world.load("w").await.1.state.ending() {
                return serde_json::to_value(ending).expect("a word").as_str().unwrap_or("").into();
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!("not closed in {limit_s} s: {:#?}", self.events("").await);
    }

    /// Events whose name begins so.
    pub async fn events(&self, name: &str) -> Vec<HistoryEvent> {
        let (key, loaded) = self.world.load("w").await;
        let commits = proof::commits(&self.world.observer, &key).await;
        let events = events_of(&commits, loaded.state.plan().map(|plan| &**plan));
        events.into_iter().filter(|event| event.event.starts_with(name)).collect()
    }

    /// Outcomes of the attempts in order, failures with their kind: `failed: panicked`.
    pub async fn outcomes(&self) -> Vec<String> {
        let settled = self.events("attempt_settled").await;
        let text = |event: HistoryEvent| {
            let outcome = event.fields["outcome"].as_str().unwrap_or("?").to_owned();
            match event.fields.get("failure").and_then(|f| f["kind"].as_str()) {
                Some(kind) => format!("{outcome}: {kind}"),
                None => outcome,
            }
        };
        settled.into_iter().map(text).collect()
    }

    /// Messages in the task queue, hidden ones too.
    pub async fn depth(&self) -> u64 {
        self.world.depth(&stack::queue_url("default")).await
    }
}

/// A handler in front of `inner` that loses the calls that `lost` names: as
/// far as anybody can tell, they were never sent.
pub fn losing(
    inner: &Handler,
    lost: impl Fn(&Call) -> bool + Send + Sync + 'static,
) -> (Handler, Arc<AtomicUsize>) {
    let (inner, count) = (inner.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = count.clone();
    let handler: Handler = Arc::new(move |call| {
        if lost(&call) {
            counted.fetch_add(1, Ordering::SeqCst);
            return Box::pin(async { Err(NoAnswer) });
        }
        inner(call)
    });
    (handler, count)
}

/// A handler in front of `inner` whose calls are served even if their caller
/// gives them up, as SQS may serve a request whose connection is closed.
pub fn outliving(inner: &Handler) -> Handler {
    let inner = inner.clone();
    Arc::new(move |call| {
        let served = tokio::spawn(inner(call));
        Box::pin(async move { served.await.unwrap_or(Err(NoAnswer)) })
    })
}

/// Whether a call sends to the settle queue.
pub fn is_settle(call: &Call) -> bool {
    call.target.ends_with(".SendMessageBatch")
        && String::from_utf8_lossy(&call.body).contains("everlog-settle.fifo")
}

/// Lets virtual time pass.
pub async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}
