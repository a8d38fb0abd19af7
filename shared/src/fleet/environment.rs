//! A fleet from the environment of a Lambda function.
//!
//! | variable | meaning |
//! |---|---|
//! | `EVERLOG_FLEET`, `EVERLOG_TABLE`, `EVERLOG_QUEUES`, `EVERLOG_SCHEMA`, `EVERLOG_RETENTION_DAYS` | see [`crate::config`] |
//! | `AWS_REGION` | the region; Lambda sets it |
//! | `AWS_ENDPOINT_URL_DYNAMODB`, `AWS_ENDPOINT_URL_SQS` | another address of one service, `http` or `https` |
//! | `AWS_ENDPOINT_URL` | another address of both |
//!
//! Credentials are found where the SDK finds them, when the first request
//! needs them. It promises that no request leaves the machine before the first
//! invocation, so that a function is ready as soon as its process is. It
//! deliberately sets no retry and no time-out: `journal::configure` and
//! `relay::configure` know those. It fails by [`EnvironmentError`], at start,
//! before the function says that it is ready.

use aws_config::environment::region::EnvironmentVariableRegionProvider;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

use super::Fleet;
use crate::commit::SCHEMA_READ_MAX;
use crate::config::{Config, ConfigError};
use crate::journal::{self, Journal, Schemas};
use crate::relay::{self, Relay};
use crate::time::Clock;

#[cfg(not(panic = "unwind"))]
compile_error!("build with panic = \"unwind\": one panicking message must fail alone");

/// Why the environment makes no fleet. The deployment is at fault: correct it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// A variable of Everlog is missing or wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Nobody says in which region the table and the queues are.
    #[error("environment variable AWS_REGION: is not set")]
    NoRegion,
}

impl Fleet {
    /// The fleet that the environment describes, with an empty cache: `config`
    /// is what it says of Everlog.
    ///
    /// Sends no request. Reads the certificates that the machine trusts, once.
    ///
    /// # Errors
    /// [`EnvironmentError`] names the variable.
    pub async fn from_env(config: Config) -> Result<Self, EnvironmentError> {
        let aws = sdk_config().await;
        if aws.region().is_none() {
            return Err(EnvironmentError::NoRegion);
        }
        let clock = Clock::System;
        let (db, skew) = journal::configure(aws_sdk_dynamodb::config::Builder::from(&aws), &clock);
        let sqs = relay::configure(aws_sdk_sqs::config::Builder::from(&aws));
        let schemas = Schemas { reads: SCHEMA_READ_MAX, writes: config.schema };
        let journal = Journal::new(db, config.table, clock, skew).with_schemas(schemas);
        let fleet = Self::new(journal, Relay::new(sqs, config.queues));
        Ok(fleet.keeping(config.retention_ms))
    }
}

/// Region, addresses, credentials and transport. The region comes from the
/// variable alone: where it is absent, the SDK would ask the network for it.
async fn sdk_config() -> SdkConfig {
    let tls = Provider::Rustls(CryptoMode::Ring);
    let https = aws_smithy_http_client::Builder::new().tls_provider(tls).build_https();
    aws_config::defaults(BehaviorVersion::v2026_01_12())
        .region(EnvironmentVariableRegionProvider::new())
        .http_client(https)
        .load()
        .await
}
