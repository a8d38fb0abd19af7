//! All of it together: engines or a port, clients, queues and a fleet.

use std::path::{Path, PathBuf};

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use everlog::config::{APPEND, DEAD_LETTER, OUTBOX, PREPARE, QUARANTINE, Queues, SETTLE, WAKE};
use everlog::fleet::Fleet;
use everlog::journal::{self, Journal, JournalError};
use everlog::relay::{self, Relay};
use everlog::time::Clock;

use crate::backend::Backend;
use crate::owner::{self, Lock, Role};
use crate::transport::{self, Handler};

/// Name of the embedded table.
pub const TABLE: &str = "everlog";
/// Beginning of the physical names of the embedded queues.
const PREFIX: &str = "everlog-";

/// Why a stack does not come up.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// The file, its lock or its port.
    #[error("{file}: {source}")]
    File {
        /// Which file.
        file: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The embedded DynamoDB.
    #[error("the embedded database does not open")]
    Database(#[from] dynoxide::DynoxideError),
    /// The embedded SQS.
    #[error("a queue is not created")]
    Queue(#[from] everlog_sqs::SqsError),
    /// The table.
    #[error("the table is not there")]
    Table(#[from] JournalError),
}

/// A fleet on local engines.
#[derive(Debug)]
pub struct Stack {
    /// One instance of the functions.
    pub fleet: Fleet,
    /// Another one, for reads that are not part of the work and its cost.
    pub observer: Fleet,
    /// The engines, if this process owns them.
    pub backend: Option<Backend>,
    _lock: Option<Lock>,
}

/// The task queues that every embedded stack has.
pub const TASK_QUEUE: &str = "default";

impl Stack {
    /// The stack on a database file: as its owner, or through its owner's port.
    ///
    /// # Errors
    /// [`StackError`].
    pub async fn open(file: &Path, task_queues: &[String]) -> Result<Self, StackError> {
        let fault = |source| StackError::File { file: file.to_owned(), source };
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(fault)?;
        }
        match owner::take(file).await.map_err(fault)? {
            Role::Owner(lock) => {
                let backend = Backend::open(Some(file), Clock::System)?;
                let fleet =
                    embedded_fleet(&backend, transport::direct(&backend), task_queues).await?;
                let http = transport::client(transport::direct(&backend), Clock::System);
                let queues = all_queues(task_queues);
                let observer = self::fleet(http, "http://aws.local", Clock::System, queues);
                let address =
                    crate::server::serve(backend.clone(), fleet.clone()).await.map_err(fault)?;
                lock.announce(address).map_err(fault)?;
                Ok(Self { fleet, observer, backend: Some(backend), _lock: Some(lock) })
            }
            Role::Guest(address) => {
                let http = aws_smithy_http_client::Builder::new().build_http();
                let endpoint = format!("http://{address}");
                let queues = all_queues(task_queues);
                let fleet = self::fleet(http.clone(), &endpoint, Clock::System, queues.clone());
                let observer = self::fleet(http, &endpoint, Clock::System, queues);
                Ok(Self { fleet, observer, backend: None, _lock: None })
            }
        }
    }
}

/// A fleet on embedded engines, through `handler`; makes table and queues.
///
/// # Errors
/// [`StackError`].
pub async fn embedded_fleet(
    backend: &Backend,
    handler: Handler,
    task_queues: &[String],
) -> Result<Fleet, StackError> {
    let queues = all_queues(task_queues);
    for dead in ["undelivered", "undelivered.fifo"] {
        create_queue(backend, dead, "{}").await?;
    }
    for name in queues.names() {
        let dead =
            if physical(name).ends_with(".fifo") { "undelivered.fifo" } else { "undelivered" };
        let redrive = format!(
            r#"{{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:{PREFIX}{dead}","maxReceiveCount":1000}}"#
        );
        create_queue(backend, queue_name(name).as_str(), &redrive).await?;
    }
    let http = transport::client(handler, backend.clock().clone());
    let setup = transport::client(transport::direct(backend), backend.clock().clone());
    let (db, _) =
        journal::configure(dynamo_config(setup, "http://dynamodb.local"), backend.clock());
    journal::create_table(&db, TABLE).await?;
    Ok(fleet(http, "http://aws.local", backend.clock().clone(), queues))
}

async fn create_queue(backend: &Backend, name: &str, redrive: &str) -> Result<(), StackError> {
    let mut attributes = std::collections::BTreeMap::from([
        ("VisibilityTimeout".to_owned(), "60".to_owned()),
        ("MessageRetentionPeriod".to_owned(), "1209600".to_owned()),
    ]);
    if name.ends_with(".fifo") {
        attributes.insert("FifoQueue".into(), "true".into());
    }
    if redrive != "{}" {
        attributes.insert("RedrivePolicy".into(), redrive.to_owned());
    }
    backend.sqs().create_queue(&format!("{PREFIX}{name}"), &attributes).await?;
    Ok(())
}

/// The name behind the prefix: function queues of commands are FIFO.
fn queue_name(logical: &str) -> String {
    match logical {
        APPEND | PREPARE | SETTLE | QUARANTINE => format!("{logical}.fifo"),
        other => other.to_owned(),
    }
}

/// The physical name of a logical queue.
#[must_use]
pub fn physical(logical: &str) -> String {
    format!("{PREFIX}{}", queue_name(logical))
}

/// The URL of a logical queue.
#[must_use]
pub fn queue_url(logical: &str) -> String {
    format!("http://sqs.local/000000000000/{}", physical(logical))
}

fn all_queues(task_queues: &[String]) -> Queues {
    let fixed =
        [APPEND, PREPARE, SETTLE, WAKE, OUTBOX, DEAD_LETTER, QUARANTINE, "replies", TASK_QUEUE];
    let names = fixed.into_iter().map(str::to_owned).chain(task_queues.iter().cloned());
    Queues::new(names.map(|name| (name.clone(), queue_url(&name))))
}

/// An instance of the functions on any transport.
#[must_use]
pub fn fleet(http: SharedHttpClient, endpoint: &str, clock: Clock, queues: Queues) -> Fleet {
    let (db, skew) = journal::configure(dynamo_config(http.clone(), endpoint), &clock);
    let sqs = relay::configure(sqs_config(http, endpoint));
    Fleet::new(Journal::new(db, TABLE, clock, skew), Relay::new(sqs, queues))
}

/// SQS of a local stack, for `relay::configure` or `worker::configure`.
#[must_use]
pub fn sqs_config(http: SharedHttpClient, endpoint: &str) -> aws_sdk_sqs::config::Builder {
    aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("us-east-1"))
        .credentials_provider(local_credentials())
        .endpoint_url(endpoint)
        .http_client(http)
}

fn dynamo_config(http: SharedHttpClient, endpoint: &str) -> aws_sdk_dynamodb::config::Builder {
    aws_sdk_dynamodb::Config::builder()
        .region(Region::new("us-east-1"))
        .credentials_provider(local_credentials())
        .endpoint_url(endpoint)
        .http_client(http)
}

/// Credentials that open nothing but the local stack.
fn local_credentials() -> Credentials {
    Credentials::new("local", "local", None, None, "everlog-local")
}
