//! A caller's way in: one command to a function, and its answer.
//!
//! For callers that must know: a worker that may only begin once its receipt
//! is accepted, a person at a terminal. Whoever need not know sends the command
//! to the function's queue and goes on.
//!
//! It promises that a command whose outcome is not known is sent again as it
//! is, under the same id: it takes effect once. It deliberately keeps no queue
//! and no state, and it gives up after the time that the caller names.
//!
//! It fails by [`CallError`], whose variants are different things to do.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::answer::Answer;
use crate::command::Command;
use crate::fleet::{Fleet, Function};
use crate::id::hash16;
use crate::journal::keys;

/// First wait before a command is sent again, milliseconds; twice as long each time.
const WAIT_MS_MIN: u64 = 50;
/// Longest wait before a command is sent again, milliseconds.
const WAIT_MS_MAX: u64 = 2_000;
/// Turns that workflows share: so many may be decided at once.
const TURNS: usize = 64;

/// Sends commands to the functions of one fleet.
#[derive(Debug, Clone)]
pub struct Client(Way);

#[derive(Debug, Clone)]
enum Way {
    /// This process is an instance of the functions. Commands of one workflow
    /// are decided one at a time: two would only race each other for a number.
    Here { fleet: Box<Fleet>, turns: Arc<[Mutex<()>; TURNS]> },
    /// Lambda runs them.
    #[cfg(feature = "lambda")]
    Lambda { lambda: aws_sdk_lambda::Client, fleet: String },
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The work was given back: send the same command again.
    #[error("given back: {0}")]
    GivenBack(String),
    /// Nobody knows what became of it: send the same command again.
    #[error("no answer: {0}")]
    Unanswered(String),
    /// The function can't read it: correct the caller.
    #[error("unreadable: {0}")]
    Unreadable(String),
    /// It can't be reached, or not by these credentials: correct the deployment.
    #[error("the deployment is at fault: {0}")]
    Deployment(String),
}

impl CallError {
    /// Whether the same command may have an answer later.
    #[must_use]
    pub fn retryable(&self) -> bool {
        matches!(self, Self::GivenBack(_) | Self::Unanswered(_))
    }
}

impl Client {
    /// A client whose commands are decided by this process.
    #[must_use]
    pub fn here(fleet: Fleet) -> Self {
        let turns = Arc::new(std::array::from_fn(|_| Mutex::default()));
        Self(Way::Here { fleet: Box::new(fleet), turns })
    }

    /// A client of the Lambda functions `<fleet>-append`, `<fleet>-prepare` and
    /// so on, as `infra/template.yaml` names them. `lambda` should come from
    /// [`configure`].
    #[cfg(feature = "lambda")]
    #[must_use]
    pub fn lambda(lambda: aws_sdk_lambda::Client, fleet: impl Into<String>) -> Self {
        Self(Way::Lambda { lambda, fleet: fleet.into() })
    }

    /// Sends a command to its function until it is answered, `patience` long.
    ///
    /// A rejection is an answer. Costs one invocation a try; waits between
    /// tries are random, up to 50 ms at first and 2 s at last.
    ///
    /// # Errors
    /// The last [`CallError`]; at once if it is not retryable.
    pub async fn call(&self, command: &Command, patience: Duration) -> Result<Answer, CallError> {
        let end = tokio::time::Instant::now() + patience;
        let mut longest_ms = WAIT_MS_MIN;
        loop {
            let error = match self.call_once(command).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let wait = Duration::from_millis(rand::random_range(0..=longest_ms));
            if !error.retryable() || tokio::time::Instant::now() + wait >= end {
                return Err(error);
            }
            tracing::debug!(command = %command.id, %error, "sent again");
            tokio::time::sleep(wait).await;
            longest_ms = (2 * longest_ms).min(WAIT_MS_MAX);
        }
    }

    /// Sends a command once.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn call_once(&self, command: &Command) -> Result<Answer, CallError> {
        let function = Function::of(&command.command);
        let body = serde_json::to_string(command)
            .map_err(|error| CallError::Unreadable(error.to_string()))?;
        match &self.0 {
            Way::Here { fleet, turns } => {
                let partition = keys::partition(&command.namespace, &command.workflow);
                let hash = hash16(&[partition.as_bytes()]);
                let _turn = turns[usize::from(hash[0]) % TURNS].lock().await;
                let answer = Box::pin(fleet.direct(function, &body)).await;
                answer.map_err(|why| CallError::GivenBack(why.to_string()))
            }
            #[cfg(feature = "lambda")]
            Way::Lambda { lambda, fleet } => {
                lambda::invoke(lambda, &format!("{fleet}-{}", function.name()), body).await
            }
        }
    }
}

#[cfg(feature = "lambda")]
pub use lambda::configure;

#[cfg(feature = "lambda")]
mod lambda {
    //! The invocation of a Lambda function, and what its failures mean.

    use std::time::Duration;

    use aws_sdk_lambda::config::retry::RetryConfig;
    use aws_sdk_lambda::config::timeout::TimeoutConfig;
    use aws_sdk_lambda::config::{BehaviorVersion, Builder};
    use aws_sdk_lambda::error::{ProvideErrorMetadata, SdkError};
    use aws_sdk_lambda::operation::invoke::InvokeError;
    use aws_sdk_lambda::primitives::Blob;
    use serde::Deserialize;

    use super::CallError;
    use crate::answer::Answer;

    /// One try, in milliseconds: longer than the functions' default time-out of 30 s.
    const ATTEMPT_MS: u64 = 35_000;
    /// Connecting, in milliseconds.
    const CONNECT_MS: u64 = 2_000;

    /// Sets up a client for [`Client::lambda`](super::Client::lambda): `base`
    /// brings address, credentials and transport. The SDK's own retries are
    /// off; [`Client::call`](super::Client::call) repeats.
    #[must_use]
    pub fn configure(base: Builder) -> aws_sdk_lambda::Client {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_millis(CONNECT_MS))
            .operation_attempt_timeout(Duration::from_millis(ATTEMPT_MS))
            .operation_timeout(Duration::from_millis(ATTEMPT_MS))
            .build();
        let config = base
            .behavior_version(BehaviorVersion::v2026_01_12())
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            .build();
        aws_sdk_lambda::Client::from_conf(config)
    }

    /// What a failed function says.
    #[derive(Debug, Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct FunctionFailure {
        error_type: String,
        error_message: String,
    }

    pub(super) async fn invoke(
        lambda: &aws_sdk_lambda::Client,
        function: &str,
        body: String,
    ) -> Result<Answer, CallError> {
        let call = lambda.invoke().function_name(function).payload(Blob::new(body));
        let answer = call.send().await.map_err(fault)?;
        let payload = answer.payload().map_or(&[][..], AsRef::as_ref);
        if answer.function_error().is_none() {
            return serde_json::from_slice(payload)
                .map_err(|error| CallError::Deployment(format!("{function}: {error}")));
        }
        let failure: FunctionFailure = serde_json::from_slice(payload).unwrap_or_default();
        Err(match failure.error_type.as_str() {
            "GivenBack" => CallError::GivenBack(failure.error_message),
            "Unreadable" => CallError::Unreadable(failure.error_message),
            // It died or ran out of time: before its commit or after it.
            other => CallError::Unanswered(format!("{other}: {}", failure.error_message)),
        })
    }

    fn fault(error: SdkError<InvokeError>) -> CallError {
        let text = crate::said(&error);
        let status = error.raw_response().map(|response| response.status().as_u16());
        match (&error, status) {
            (SdkError::ConstructionFailure(_), _) => CallError::Deployment(text),
            (SdkError::ServiceError(service), Some(400..=499)) => {
                let code = service.err().code().unwrap_or_default();
                let later = matches!(
                    code,
                    "TooManyRequestsException"
                        | "ThrottlingException"
                        | "Throttling"
                        | "ResourceConflictException"
                        | "ResourceNotReadyException"
                        | "RequestTimeoutException"
                );
                match later {
                    true => CallError::Unanswered(text),
                    false => CallError::Deployment(text),
                }
            }
            _ => CallError::Unanswered(text),
        }
    }
}
