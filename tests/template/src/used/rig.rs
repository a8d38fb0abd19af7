//! Five instances of the fleet in one world, each watched, each invoked by its
//! own queue.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use everlog::fleet::{Fleet, Function};
use everlog::time::Clock;
use everlog_local::backend::Backend;
use everlog_local::transport::{self, Call, Handler, NoAnswer};
use everlog_local::{mapping, stack};
use everlog_sqs::Receive;
use everlog_testing::World;
use everlog_testing::world::EPOCH;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Used, needs};
use crate::Grant;
use crate::checks::functions::FUNCTIONS;
use crate::parameters::EXTRA;

/// Whether a request of a function gets no answer.
type Trouble = Arc<dyn Fn(&Call) -> bool + Send + Sync>;

/// What is noted, and what goes wrong.
#[derive(Clone, Default)]
pub(super) struct Notes {
    used: Arc<Mutex<Used>>,
    trouble: Arc<Mutex<Option<Trouble>>>,
}

/// The world and its instances.
pub(super) struct Rig {
    pub(super) world: World,
    pub(super) notes: Notes,
    fleets: BTreeMap<&'static str, Fleet>,
    _invocations: JoinSet<()>,
}

/// The logical name of an address.
///
/// # Panics
/// If the code has no such queue.
pub(super) fn logical(url: &str) -> String {
    use everlog::config::{APPEND, DEAD_LETTER, OUTBOX, PREPARE, QUARANTINE, SETTLE, WAKE};
    let names = [APPEND, PREPARE, SETTLE, WAKE, OUTBOX, DEAD_LETTER, QUARANTINE];
    let mut names = names.into_iter().chain(["replies", stack::TASK_QUEUE, EXTRA]);
    let found =
        names.find(|name| stack::queue_url(name).rsplit('/').next() == url.rsplit('/').next());
    found.unwrap_or_else(|| panic!("no queue has the address {url}")).to_owned()
}

impl Notes {
    /// A client's handler that takes notes under a name.
    pub(super) fn between(&self, who: &'static str, inner: Handler) -> Handler {
        let notes = self.clone();
        Arc::new(move |call: Call| {
            let grants = needs(&call.target, &call.body);
            notes.used.lock().expect("no panic").entry(who).or_default().extend(grants);
            let trouble = notes.trouble.lock().expect("no panic").clone();
            if trouble.is_some_and(|trouble| trouble(&call)) {
                return Box::pin(async { Err(NoAnswer) });
            }
            inner(call)
        })
    }

    /// From now on these requests get no answer.
    pub(super) fn trouble(&self, trouble: impl Fn(&Call) -> bool + Send + Sync + 'static) {
        *self.trouble.lock().expect("no panic") = Some(Arc::new(trouble));
    }

    /// All is well again.
    pub(super) fn no_trouble(&self) {
        *self.trouble.lock().expect("no panic") = None;
    }

    /// What was noted.
    pub(super) fn used(&self) -> Used {
        self.used.lock().expect("no panic").clone()
    }

    /// What was noted under one name.
    pub(super) fn used_by(&self, who: &str) -> BTreeSet<Grant> {
        self.used().remove(who).unwrap_or_default()
    }
}

impl Rig {
    /// A new world with fresh instances, and what invokes them.
    pub(super) async fn new(notes: &Notes) -> Self {
        let backend = Backend::open(None, Clock::tokio(EPOCH)).expect("engines in memory");
        let observer = instance(&backend, transport::direct(&backend)).await;
        let mut rig = Self {
            world: World { backend, observer },
            notes: notes.clone(),
            fleets: BTreeMap::new(),
            _invocations: JoinSet::new(),
        };
        rig.replace_instances().await;
        rig
    }

    /// Fresh instances, which remember nothing, in place of those before.
    pub(super) async fn replace_instances(&mut self) {
        let mut invocations = JoinSet::new();
        for function in FUNCTIONS {
            let direct = transport::direct(&self.world.backend);
            let fleet =
                instance(&self.world.backend, self.notes.between(function.name(), direct)).await;
            self.fleets.insert(function.name(), fleet.clone());
            invocations.spawn(by_queue(self.world.clone(), fleet.clone(), function));
            if function == Function::TimerSweep {
                invocations.spawn(by_schedule(fleet));
            }
        }
        self._invocations = invocations;
    }

    /// Puts a body into a function's queue.
    pub(super) async fn send(&self, function: Function, body: Value) {
        let dedup = format!("{}-{}", self.world.backend.clock().now().0, body);
        let dedup = everlog::fleet::group_id(&format!("{dedup:200}"));
        self.world.send(function, &body, &dedup).await;
    }

    /// Invokes a function with one command, and hears its answer.
    pub(super) async fn invoke(&self, function: Function, command: Value) -> Option<Value> {
        self.fleets[function.name()].invoke(function, command).await.ok()
    }

    /// Lets time pass, and everything happen in it.
    pub(super) async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    /// Status and last commit of a workflow.
    pub(super) async fn status(&self, workflow: &str) -> (&'static str, u64) {
        let (_, loaded) = self.world.load(workflow).await;
        (loaded.state.status(), loaded.state.commit)
    }

    /// Messages that lie in a queue.
    pub(super) async fn depth(&self, queue: &str) -> u64 {
        self.world.depth(&stack::queue_url(queue)).await
    }

    /// Writes over the first commit of a workflow what does not fold, or what
    /// was there. Returns what was there.
    pub(super) async fn overwrite(&self, workflow: &str, body: Value) -> Value {
        let (key, _) = self.world.card(workflow).await.expect("a card");
        let place = json!({
            "pk": { "S": key.partition() },
            "sk": { "S": format!("c#{:014}#0000000001", key.incarnation.0) },
        });
        let get = json!({ "TableName": stack::TABLE, "Key": place });
        let mut item = self.dynamo("GetItem", get).await["Item"].clone();
        let before = std::mem::replace(&mut item["body"], body);
        self.dynamo("PutItem", json!({ "TableName": stack::TABLE, "Item": item })).await;
        before
    }

    async fn dynamo(&self, operation: &str, request: Value) -> Value {
        let target = format!("DynamoDB_20120810.{operation}");
        let answer = self.world.backend.answer(&target, request.to_string().as_bytes()).await;
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        serde_json::from_slice(&answer.body).expect("JSON")
    }
}

/// An instance of the fleet with one more task queue.
pub(super) async fn instance(backend: &Backend, handler: Handler) -> Fleet {
    let fleet = stack::embedded_fleet(backend, handler, &[EXTRA.to_owned()]).await;
    fleet.expect("a table and queues")
}

async fn by_queue(world: World, fleet: Fleet, function: Function) {
    let url = stack::queue_url(function.queue());
    let receive = Receive { max_messages: 10, wait_s: Some(20), ..Receive::default() };
    loop {
        let messages = world.backend.sqs().receive(&url, receive).await.expect("a queue");
        if !messages.is_empty() {
            mapping::deliver(&fleet, world.backend.sqs(), function, &url, messages).await;
        }
    }
}

async fn by_schedule(fleet: Fleet) {
    loop {
        tokio::time::sleep(Duration::from_secs(60)).await;
        let event = json!({ "source": "aws.scheduler", "detail-type": "Scheduled Event" });
        // In an outage a sweep fails; the next one does its work.
        let _ = fleet.invoke(Function::TimerSweep, event).await;
    }
}
