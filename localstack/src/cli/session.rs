//! One process at work on a database file, or on a deployed fleet.

use std::sync::Arc;
use std::time::Duration;

use everlog::answer::Answer;
use everlog::client::{CallError, Client};
use everlog::command::{Command, Verb};
use everlog::fleet::{Fleet, GiveBack};
use everlog::id::{CommandId, WorkflowId};
use everlog::journal::{Journal, Loaded, LogKey, keys};
use everlog::query::list::{self, ListQuery, PAGE_MAX};
use everlog::state::Life;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Failure, Global};
use crate::deployed::Deployed;
use crate::mapping;
use crate::stack::Stack;
use crate::worker::running::Running;
use crate::worker::{self, Pace, Pool, lose};

/// Tries of what is given back.
const TRIES: u32 = 20;
/// How long a command is sent again before its sender gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A fleet, and what this process runs on it.
pub(super) struct Session {
    place: Place,
    fleet: Fleet,
    observer: Fleet,
    client: Client,
    global: Global,
    tasks: Vec<JoinSet<()>>,
    stop: watch::Sender<bool>,
}

enum Place {
    /// Local engines, or another process's through its port.
    Local(Box<Stack>),
    /// An account's or an emulator's.
    Deployed(Box<Deployed>),
}

/// What this process is to the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// It owns the file and runs the functions.
    Owner,
    /// Another process does.
    Guest,
    /// The fleet is deployed; this process has workers.
    Worker,
}

impl Session {
    pub(super) async fn open(global: &Global, queues: &[String]) -> Result<Self, Failure> {
        let (place, fleet, observer, client) = match global.address() {
            Some(address) => {
                let deployed = Deployed::find(&address).await.map_err(|e| Failure::stack(&e))?;
                let client = deployed.client();
                (
                    Place::Deployed(Box::new(deployed.clone())),
                    deployed.fleet(),
                    deployed.fleet(),
                    client,
                )
            }
            None => {
                let stack =
                    Stack::open(global.db(), queues).await.map_err(|e| Failure::stack(&e))?;
                let (fleet, observer) = (stack.fleet.clone(), stack.observer.clone());
                (Place::Local(Box::new(stack)), fleet.clone(), observer, Client::here(fleet))
            }
        };
        let (stop, global) = (watch::Sender::new(false), global.clone());
        Ok(Self { place, fleet, observer, client, global, tasks: Vec::new(), stop })
    }

    /// Ends what runs here. On a deployed fleet its workers first give back what
    /// they have: it would stay hidden from others for a minute.
    pub(super) async fn end(self) {
        let Place::Deployed(_) = &self.place else { return };
        self.stop.send_replace(true);
        for mut tasks in self.tasks {
            while tasks.join_next().await.is_some() {}
        }
    }

    /// The instance of the functions that this process is.
    pub(super) fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// For reads that are not part of the work and its cost.
    pub(super) fn journal(&self) -> &Journal {
        self.observer.journal()
    }

    /// Starts the workers, and the functions too if this process owns the
    /// file; an owner takes over what a dead one left.
    pub(super) async fn work(
        &mut self,
        queues: &[String],
        workers: usize,
        pace: Pace,
    ) -> Result<Part, Failure> {
        let stack = match &self.place {
            Place::Local(stack) => stack,
            Place::Deployed(deployed) => {
                let worker = worker::local(&self.fleet, self.client.clone(), pace);
                let worker = worker.map_err(|e| Failure::stack(&e))?;
                let tasks = deployed.serve(&worker, queues, workers, &self.stop.subscribe());
                self.tasks.push(tasks.map_err(|e| Failure::stack(&e))?);
                return Ok(Part::Worker);
            }
        };
        let Some(backend) = &stack.backend else { return Ok(Part::Guest) };
        let mut path = self.global.db().as_os_str().to_owned();
        path.push(".running");
        let (running, left) = Running::open(path.as_ref()).map_err(|e| Failure::stack(&e))?;
        let fleet = &self.fleet;
        let lost = retry(|| lose(fleet, &left)).await?;
        if lost > 0 {
            tracing::warn!(lost, "attempts of a dead process are tried again");
        }
        running.forget().map_err(|e| Failure::stack(&e))?;
        let worker = worker::local(fleet, self.client.clone(), pace);
        // The queues live in this process: an outcome must be in the log.
        let worker = worker.map_err(|e| Failure::stack(&e))?.with_settle_by_call();
        let sqs = backend.sqs().clone();
        let pool = Pool { worker, sqs, running: Some(Arc::new(running)) };
        self.tasks.push(mapping::start(fleet, backend.sqs()));
        self.tasks.push(pool.start(queues, workers));
        self.look_at_all().await?;
        Ok(Part::Owner)
    }

    /// A new owner looks at every open workflow at once.
    async fn look_at_all(&self) -> Result<(), Failure> {
        let fleet = self.fleet();
        let mut open = Vec::new();
        let mut query = ListQuery {
            namespace: self.global.namespace.clone(),
            statuses: ["running", "paused", "cancelling"].map(str::to_owned).to_vec(),
            limit: PAGE_MAX,
            ..ListQuery::default()
        };
        loop {
            let page = list::list(fleet.journal(), &query).await.map_err(|e| Failure::stack(&e))?;
            open.extend(page.value.items.into_iter().map(|l| (l.namespace, l.workflow)));
            query.after = page.value.next;
            if query.after.is_none() {
                break;
            }
        }
        retry(|| fleet.wake_all(open.clone(), true)).await?;
        retry(|| fleet.sweep()).await.map(drop)
    }

    /// Sends one command and hears the answer.
    pub(super) async fn command(
        &self,
        workflow: &WorkflowId,
        id: Option<CommandId>,
        verb: Verb,
    ) -> Result<Answer, Failure> {
        let chance: u64 = rand::random();
        let fresh = CommandId::new(format!("cli-{chance:016x}"));
        let id = id.map_or(fresh, Ok).map_err(|e| Failure::stack(&e))?;
        let command = Command::new(id, self.global.namespace.clone(), workflow.clone(), verb);
        let issued_at = Some(self.fleet.journal().clock().now());
        let command = Command { issued_at, ..command };
        let answer = self.client.call(&command, PATIENCE).await;
        answer.map_err(|error: CallError| Failure::stack(&error))
    }

    /// The log of a workflow, loaded.
    pub(super) async fn load(&self, workflow: &WorkflowId) -> Result<(LogKey, Loaded), Failure> {
        let journal = self.journal();
        let partition = keys::partition(&self.global.namespace, workflow);
        let card = journal.card(&partition).await.map_err(|e| Failure::stack(&e))?;
        let card = card.filter(|card| !card.gone());
        let card = card.ok_or_else(|| Failure::NotFound(workflow.clone()))?;
        let key = LogKey::new(self.global.namespace.clone(), workflow.clone(), card.incarnation);
        let loaded = journal.load(&key).await.map_err(|e| Failure::stack(&e))?;
        if loaded.state.run.is_none() || loaded.state.life == Life::Deleted {
            return Err(Failure::NotFound(workflow.clone()));
        }
        Ok((key, loaded))
    }
}

/// Asks again while the fleet gives the work back.
async fn retry<T, F>(mut ask: impl FnMut() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, GiveBack>>,
{
    let mut tries = 0;
    loop {
        tries += 1;
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err(why) if tries >= TRIES => return Err(Failure::stack(&why)),
            Err(_) => tokio::time::sleep(Duration::from_millis(50 * u64::from(tries))).await,
        }
    }
}
