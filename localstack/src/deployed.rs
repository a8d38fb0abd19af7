//! A deployed fleet: an account's, or an emulator's, as the standard AWS
//! environment and profiles say where it is.
//!
//! Only the table's name must be known. It is the stack's name, so that the
//! function `<table>-append` is found by it, and that function's environment
//! says where the queues are. Where there are no functions, `EVERLOG_QUEUES`
//! says it, and commands are decided by this process, which then needs the
//! permissions of a function.
//!
//! It sends requests of its own only to find the queues. It fails by
//! [`DeployedError`], which says what to do.

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_lambda::error::DisplayErrorContext;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use everlog::config::{ConfigError, Queues};
use everlog::fleet::Fleet;
use everlog::journal::{self, Journal};
use everlog::relay::{self, Relay};
use everlog::time::Clock;

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
    /// The function that knows the queues is not there.
    #[error(
        "no function {function} in {region}: is the stack deployed there under this name? \
         Where no functions run, set EVERLOG_QUEUES"
    )]
    NoFunction {
        /// Which one.
        function: String,
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
    /// `EVERLOG_QUEUES` of this process is wrong.
    #[error(transparent)]
    Queues(ConfigError),
    /// Lambda does not answer, or not to us.
    #[error("Lambda does not say where the queues are: {0}")]
    Lambda(String),
}

impl Deployed {
    /// Finds a deployment.
    ///
    /// Costs one request to Lambda, none where `EVERLOG_QUEUES` is set.
    ///
    /// # Errors
    /// [`DeployedError`].
    pub async fn find(address: &Address) -> Result<Self, DeployedError> {
        let aws = sdk_config(address).await;
        let region = aws.region().ok_or(DeployedError::NoRegion)?.to_string();
        let lambda = aws_sdk_lambda::Client::new(&aws);
        let sqs = aws_sdk_sqs::Client::new(&aws);
        let own = std::env::var("EVERLOG_QUEUES").ok().filter(|text| !text.is_empty());
        let (queues, functions) = match own {
            Some(text) => (Queues::from_json(&text).map_err(DeployedError::Queues)?, false),
            None => (ask_for_queues(&lambda, &address.table, region).await?, true),
        };
        Ok(Self { table: address.table.clone(), queues, functions, aws, lambda, sqs })
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

    /// The physical name of a function.
    #[must_use]
    pub fn function_name(&self, function: &str) -> String {
        format!("{}-{function}", self.table)
    }
}

async fn sdk_config(address: &Address) -> SdkConfig {
    let tls = Provider::Rustls(CryptoMode::Ring);
    let https = aws_smithy_http_client::Builder::new().tls_provider(tls).build_https();
    let mut loader = aws_config::defaults(BehaviorVersion::v2026_01_12()).http_client(https);
    if let Some(profile) = &address.profile {
        loader = loader.profile_name(profile);
    }
    if let Some(url) = &address.endpoint_url {
        loader = loader.endpoint_url(url);
    }
    loader.load().await
}

async fn ask_for_queues(
    lambda: &aws_sdk_lambda::Client,
    table: &str,
    region: String,
) -> Result<Queues, DeployedError> {
    let function = format!("{table}-append");
    let asked = lambda.get_function_configuration().function_name(&function).send().await;
    let found = match asked {
        Ok(found) => found,
        Err(error) => {
            let service = error.as_service_error();
            return Err(match service.is_some_and(|e| e.is_resource_not_found_exception()) {
                true => DeployedError::NoFunction { function, region },
                false => DeployedError::Lambda(DisplayErrorContext(&error).to_string()),
            });
        }
    };
    let variables = found.environment().and_then(|e| e.variables());
    let text = variables.and_then(|all| all.get("EVERLOG_QUEUES")).map_or("", String::as_str);
    Queues::from_json(text).map_err(|source| DeployedError::Function { function, source })
}
