//! A deployed fleet: an account's, or an emulator's, as the standard AWS
//! environment and profiles say where it is.
//!
//! Only the table's name must be known. It is the stack's name, so that the
//! function `<table>-append` is found by it, and that function's environment
//! says where the queues are. Where there are no functions, the queues whose
//! names begin with `<table>-` are taken, and commands are decided by this
//! process, which then needs the permissions of a function.
//!
//! It sends requests of its own only to find the queues. It fails by
//! [`DeployedError`], which says what to do.

mod create;

use std::time::Duration;

use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_lambda::config::SharedCredentialsProvider;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use everlog::client::{self, Client};
use everlog::config::{APPEND, ConfigError, Queues};
use everlog::fleet::Fleet;
use everlog::journal::{self, Journal, JournalError};
use everlog::relay::{self, Relay};
use everlog::time::Clock;
use everlog::worker::{self, TaskQueue, Worker};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Seconds that a receive waits. The process ends as much later.
const WAIT_S: u32 = 1;
/// How long what runs may still run after a stop, and a receive bring something.
const GRACE: Duration = Duration::from_secs(2);
/// End of the names of queues of what could not be delivered.
pub const UNDELIVERED: &str = "-undelivered";

/// Which deployment.
#[derive(Debug, Clone, Default)]
pub struct Address {
    /// Name of its table, and beginning of the names of all that is its.
    pub table: String,
    /// Another address of all services.
    pub endpoint_url: Option<String>,
    /// A profile of the AWS configuration files.
    pub profile: Option<String>,
}

/// Clients of a deployed fleet.
#[derive(Debug, Clone)]
pub struct Deployed {
    /// Name of its table.
    pub table: String,
    /// Its queues.
    pub queues: Queues,
    /// Whether Lambda serves it; otherwise this process decides.
    pub functions: bool,
    /// Region, credentials and address.
    pub aws: SdkConfig,
    /// Lambda.
    pub lambda: aws_sdk_lambda::Client,
    /// SQS, for what is not the relay's.
    pub sqs: aws_sdk_sqs::Client,
}

/// Why a deployment is not found.
#[derive(Debug, thiserror::Error)]
pub enum DeployedError {
    /// Nobody says in which region it is.
    #[error("no region: set AWS_REGION, or a region in the profile")]
    NoRegion,
    /// Neither functions nor queues of that name are there.
    #[error(
        "in {region} there is neither a function {table}-append nor a queue {table}-append.fifo: \
         is the stack deployed there under this name?"
    )]
    Nothing {
        /// The name that was looked for.
        table: String,
        /// Where.
        region: String,
    },
    /// The function is there and does not say where the queues are.
    #[error("function {function}: {source}")]
    Function {
        /// Which one.
        function: String,
        /// What its environment lacks.
        source: ConfigError,
    },
    /// A plan names a queue that the deployment hasn't got.
    #[error("the deployment has no queue {0}: name it in EVERLOG_QUEUES of its functions")]
    NoTaskQueue(String),
    /// A service does not answer, or not to us.
    #[error("{service} does not answer: {said}")]
    Unanswered {
        /// Which one.
        service: &'static str,
        /// What it says.
        said: String,
    },
    /// The table could not be made.
    #[error("the table is not made")]
    Table(#[from] JournalError),
}

impl DeployedError {
    /// The same, with the profile that was used.
    fn with(self, address: &Address) -> Self {
        match (self, &address.profile) {
            (Self::Unanswered { service, said }, Some(profile)) => {
                Self::Unanswered { service, said: format!("{said} (with profile {profile})") }
            }
            (other, _) => other,
        }
    }

    fn unanswered(service: &'static str, error: &(impl std::error::Error + 'static)) -> Self {
        Self::Unanswered { service, said: everlog::said(error) }
    }
}

impl Deployed {
    /// Finds a deployment.
    ///
    /// Costs one request to Lambda, and one to SQS where no functions are.
    ///
    /// # Errors
    /// [`DeployedError`].
    pub async fn find(address: &Address) -> Result<Self, DeployedError> {
        let aws = sdk_config(address).await;
        let region = aws.region().ok_or(DeployedError::NoRegion)?.to_string();
        let lambda = aws_sdk_lambda::Client::new(&aws);
        let sqs = aws_sdk_sqs::Client::new(&aws);
        let found = queues_of_function(&lambda, &address.table).await;
        let (queues, functions) = match found.map_err(|error| error.with(address))? {
            Some(queues) => (queues, true),
            None => (queues_by_name(&sqs, &address.table).await?, false),
        };
        if queues.url(APPEND).is_none() {
            return Err(DeployedError::Nothing { table: address.table.clone(), region });
        }
        Ok(Self { table: address.table.clone(), queues, functions, aws, lambda, sqs })
    }

    /// Makes the table and the queues of a fleet, where they are missing, as
    /// `infra/template.yaml` has them; for stacks that have no CloudFormation.
    /// `task_queues` are made beside `default`.
    ///
    /// # Errors
    /// [`DeployedError`].
    pub async fn create(address: &Address, task_queues: &[String]) -> Result<Self, DeployedError> {
        let aws = sdk_config(address).await;
        aws.region().ok_or(DeployedError::NoRegion)?;
        let base = aws_sdk_dynamodb::config::Builder::from(&aws);
        let (db, _) = journal::configure(base, &Clock::System);
        journal::create_table(&db, &address.table).await?;
        let sqs = aws_sdk_sqs::Client::new(&aws);
        create::queues(&sqs, &address.table, task_queues).await?;
        Self::find(address).await
    }

    /// An instance of the functions on it, for reads, and for decisions where
    /// there are no functions.
    #[must_use]
    pub fn fleet(&self) -> Fleet {
        let clock = Clock::System;
        let base = aws_sdk_dynamodb::config::Builder::from(&self.aws);
        let (db, skew) = journal::configure(base, &clock);
        let sqs = relay::configure(aws_sdk_sqs::config::Builder::from(&self.aws));
        let journal = Journal::new(db, self.table.clone(), clock, skew);
        Fleet::new(journal, Relay::new(sqs, self.queues.clone()))
    }

    /// What sends commands to it.
    #[must_use]
    pub fn client(&self) -> Client {
        match self.functions {
            true => {
                let base = aws_sdk_lambda::config::Builder::from(&self.aws);
                Client::lambda(client::configure(base), self.table.clone())
            }
            false => Client::here(self.fleet()),
        }
    }

    /// Starts a worker on task queues, `concurrency` tasks of each at once,
    /// until `stopped` says so: then what runs is given back, unless it has a
    /// receipt, and ends.
    ///
    /// # Errors
    /// [`DeployedError::NoTaskQueue`].
    pub fn serve(
        &self,
        worker: &Worker,
        task_queues: &[String],
        concurrency: usize,
        stopped: &watch::Receiver<bool>,
    ) -> Result<JoinSet<()>, DeployedError> {
        let sqs = worker::configure(aws_sdk_sqs::config::Builder::from(&self.aws));
        let mut tasks = JoinSet::new();
        for name in task_queues {
            let url = self.queues.url(name);
            let url = url.ok_or_else(|| DeployedError::NoTaskQueue(name.clone()))?;
            let queue = TaskQueue::new(sqs.clone(), url).with_wait_s(WAIT_S);
            let (worker, mut stopped) = (worker.clone(), stopped.clone());
            tasks.spawn(async move {
                let stop = async move { drop(stopped.wait_for(|stopped| *stopped).await) };
                worker.serve(&queue, concurrency, stop, GRACE).await;
            });
        }
        Ok(tasks)
    }

    /// The physical name of a function.
    #[must_use]
    pub fn function_name(&self, function: &str) -> String {
        format!("{}-{function}", self.table)
    }
}

async fn sdk_config(address: &Address) -> SdkConfig {
    let tls = Provider::Rustls(CryptoMode::Ring);
    let https = aws_smithy_http_client::Builder::new().tls_provider(tls).build_https();
    let version = BehaviorVersion::v2026_01_12();
    let mut loader = aws_config::defaults(version).http_client(https.clone());
    if let Some(url) = &address.endpoint_url {
        loader = loader.endpoint_url(url);
    }
    let Some(profile) = &address.profile else { return loader.load().await };
    let aws = loader.profile_name(profile).load().await;
    // As in the AWS CLI, a profile that is named outranks keys in the environment.
    let config = ProviderConfig::without_region().with_http_client(https);
    let config = config.with_region(aws.region().cloned());
    let keys = ProfileFileCredentialsProvider::builder().configure(&config).profile_name(profile);
    let keys = SharedCredentialsProvider::new(keys.build());
    aws.into_builder().credentials_provider(keys).build()
}

/// The queues as the function `append` has them; `None` if it is not there.
async fn queues_of_function(
    lambda: &aws_sdk_lambda::Client,
    table: &str,
) -> Result<Option<Queues>, DeployedError> {
    let function = format!("{table}-append");
    let found = match lambda.get_function_configuration().function_name(&function).send().await {
        Ok(found) => found,
        Err(error) => {
            let service = error.as_service_error();
            return match service.is_some_and(|e| e.is_resource_not_found_exception()) {
                true => Ok(None),
                false => Err(DeployedError::unanswered("Lambda", &error)),
            };
        }
    };
    let variables = found.environment().and_then(|e| e.variables());
    let text = variables.and_then(|all| all.get("EVERLOG_QUEUES")).map_or("", String::as_str);
    let queues = Queues::from_json(text);
    queues.map(Some).map_err(|source| DeployedError::Function { function, source })
}

/// The queues whose names begin as the table's does.
async fn queues_by_name(sqs: &aws_sdk_sqs::Client, table: &str) -> Result<Queues, DeployedError> {
    let prefix = format!("{table}-");
    let mut pages = sqs.list_queues().queue_name_prefix(&prefix).into_paginator().send();
    let mut found = Vec::new();
    while let Some(page) = pages.next().await {
        let page = page.map_err(|error| DeployedError::unanswered("SQS", &error))?;
        found.extend(page.queue_urls.unwrap_or_default());
    }
    Ok(Queues::new(found.into_iter().filter_map(|url| {
        let name = url.rsplit('/').next()?.strip_prefix(&prefix)?;
        let logical = name.strip_suffix(".fifo").unwrap_or(name);
        (!logical.ends_with(UNDELIVERED)).then(|| (logical.to_owned(), url.clone()))
    })))
}
