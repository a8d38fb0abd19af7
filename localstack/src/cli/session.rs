//! One process at work on a database file.

use std::sync::Arc;
use std::time::Duration;

use everlog::answer::Answer;
use everlog::command::{Command, Verb};
use everlog::fleet::{Fleet, Function, GiveBack};
use everlog::id::{CommandId, OwnerId, WorkflowId};
use everlog::journal::{Loaded, LogKey, keys};
use tokio::task::JoinSet;

use super::{Failure, Global};
use crate::mapping;
use crate::stack::Stack;
use crate::worker::running::Running;
use crate::worker::{Pace, Pool, Underway, lose};

/// Tries of a command that is given back.
const TRIES: u32 = 20;

/// A stack, and what this process runs on it.
pub(super) struct Session {
    pub stack: Stack,
    global: Global,
    tasks: Vec<JoinSet<()>>,
}

impl Session {
    pub(super) async fn open(global: &Global, queues: &[String]) -> Result<Self, Failure> {
        let stack = Stack::open(&global.db, queues).await.map_err(|e| Failure::stack(&e))?;
        Ok(Self { stack, global: global.clone(), tasks: Vec::new() })
    }

    pub(super) fn fleet(&self) -> &Fleet {
        &self.stack.fleet
    }

    /// Starts the functions and the workers, if this process owns the file, and
    /// takes over what a dead owner left. Whether it does.
    pub(super) async fn work(
        &mut self,
        queues: &[String],
        workers: usize,
        pace: Pace,
    ) -> Result<bool, Failure> {
        let Some(backend) = &self.stack.backend else { return Ok(false) };
        let mut path = self.global.db.as_os_str().to_owned();
        path.push(".running");
        let (running, left) = Running::open(path.as_ref()).map_err(|e| Failure::stack(&e))?;
        let fleet = &self.stack.fleet;
        let lost = retry(|| lose(fleet, &left)).await?;
        if lost > 0 {
            tracing::warn!(lost, "attempts of a dead process are tried again");
        }
        running.forget().map_err(|e| Failure::stack(&e))?;
        let chance: u32 = rand::random();
        let name = OwnerId::new(format!("local-{chance:08x}"));
        let pool = Pool {
            fleet: fleet.clone(),
            sqs: backend.sqs().clone(),
            running: Some(Arc::new(running)),
            pace,
            turn: Arc::default(),
            underway: Underway::default(),
            name: name.map_err(|e| Failure::stack(&e))?,
        };
        self.tasks.push(mapping::start(fleet, backend.sqs()));
        self.tasks.push(pool.start(queues, workers));
        self.look_at_all().await?;
        Ok(true)
    }

    /// A new owner looks at every open workflow at once.
    async fn look_at_all(&self) -> Result<(), Failure> {
        let fleet = self.fleet();
        let mut open = Vec::new();
        for status in ["running", "paused", "cancelling"] {
            let listed = fleet.journal().list(&self.global.namespace, status, usize::MAX).await;
            let listed = listed.map_err(|e| Failure::stack(&e))?;
            open.extend(listed.into_iter().map(|l| (l.namespace, l.workflow)));
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
        let command = Command {
            id: id.map_or(fresh, Ok).map_err(|e| Failure::stack(&e))?,
            namespace: self.global.namespace.clone(),
            workflow: workflow.clone(),
            incarnation: None,
            issued_at: Some(self.fleet().journal().clock().now()),
            after_seq: None,
            reply_to: None,
            command: verb,
        };
        let body = serde_json::to_string(&command).map_err(|e| Failure::stack(&e))?;
        retry(|| self.fleet().direct(Function::Append, &body)).await
    }

    /// The log of a workflow, loaded.
    pub(super) async fn load(&self, workflow: &WorkflowId) -> Result<(LogKey, Loaded), Failure> {
        let journal = self.stack.observer.journal();
        let partition = keys::partition(&self.global.namespace, workflow);
        let card = journal.card(&partition).await.map_err(|e| Failure::stack(&e))?;
        let card = card.ok_or_else(|| Failure::NotFound(workflow.clone()))?;
        let key = LogKey::new(self.global.namespace.clone(), workflow.clone(), card.incarnation);
        let loaded = journal.load(&key).await.map_err(|e| Failure::stack(&e))?;
        if loaded.state.run.is_none() {
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
