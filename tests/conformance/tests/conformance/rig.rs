//! The world that schedules run in: one store, many workflows, fresh processes.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{Credentials, Region};
use everlog::fleet::{Fleet, Function, Message};
use everlog::id::{Namespace, WorkflowId};
use everlog::journal::{self, Journal, Skew};
use everlog::message::Wake;
use everlog::time::{Clock, Tick};
use everlog_local::stack;
use everlog_local::transport::{self, Handler};
use everlog_testing::World;
use serde_json::Value;

use crate::gate::Process;

/// What a process does.
#[derive(Debug, Clone)]
pub enum Job {
    /// Serves this command of the append queue.
    Command(Value),
    /// Looks, as a wake from the sweep makes it look.
    Look,
}

/// Engines, and the way to them.
#[derive(Clone)]
pub struct Rig {
    /// The engines.
    pub world: World,
    /// What serves the requests of processes; may break rules.
    pub store: Handler,
    plain: Client,
    skew: Skew,
}

/// Runs `work` on a virtual clock, alone on its thread.
pub fn on_virtual_time<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(work)
}

impl Rig {
    /// A new world; `between` stands before its store.
    pub async fn new(between: impl FnOnce(Handler) -> Handler) -> Rig {
        let world = World::new().await;
        let store = between(world.direct());
        let (plain, skew) = client(world.direct(), world.backend.clock());
        Rig { world, store, plain, skew }
    }

    /// The backend's clock.
    pub fn clock(&self) -> &Clock {
        self.world.backend.clock()
    }

    /// A fresh instance on a client, with an empty cache.
    fn instance(&self, (db, skew): (Client, Skew)) -> Fleet {
        let journal = Journal::new(db, stack::TABLE, self.clock().clone(), skew);
        Fleet::new(journal, self.world.observer.relay().clone())
    }

    /// Starts a process behind a gate.
    pub fn start(&self, workflow: &str, job: &Job) -> Process {
        let (workflow, job) = (workflow.to_owned(), job.clone());
        Process::start(|inside| {
            let fleet = self.instance(client(inside.handler(self.store.clone()), self.clock()));
            async move { perform(&fleet, &workflow, &job).await }
        })
    }

    /// Does `job` at once, without a gate and without faults. Whether it is done.
    pub async fn perform(&self, workflow: &str, job: &Job) -> bool {
        let fleet = self.instance((self.plain.clone(), self.skew.clone()));
        perform(&fleet, workflow, job).await
    }

    /// Lets time pass to half a minute into the next minute that is not yet that late.
    pub async fn to_half_past(&self) {
        let now = self.clock().now();
        let into = now.0 % Tick::MS;
        let wait_ms = (Tick::MS + 30_000 - into) % Tick::MS;
        self.pass(wait_ms).await;
    }

    /// Lets time pass.
    pub async fn pass(&self, ms: u64) {
        tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
    }
}

/// A client without time-outs: the gate holds a request as long as it likes.
fn client(handler: Handler, clock: &Clock) -> (Client, Skew) {
    let base = aws_sdk_dynamodb::Config::builder()
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("local", "local", None, None, "tests"))
        .endpoint_url("http://dynamodb.local")
        .http_client(transport::client(handler, clock.clone()));
    let (db, skew) = journal::configure(base, clock);
    let patient = db.config().to_builder().timeout_config(TimeoutConfig::disabled()).build();
    (Client::from_conf(patient), skew)
}

async fn perform(fleet: &Fleet, workflow: &str, job: &Job) -> bool {
    match job {
        Job::Command(body) => {
            let message = Message {
                id: "m".into(),
                body: body.to_string(),
                receive_count: 1,
                ..Message::default()
            };
            fleet.commands(Function::Append, vec![message]).await.is_empty()
        }
        Job::Look => {
            let workflow = WorkflowId::new(workflow).expect("an id");
            let namespace = Namespace::default();
            let wake = Wake {
                namespace,
                workflow,
                incarnation: None,
                relay: false,
                remove: false,
                command: None,
            };
            fleet.look(&wake, false).await.is_ok()
        }
    }
}
