//! What can go wrong between us and DynamoDB, sorted by what it means for us.
//!
//! One question matters for a write: may it have happened? [`Fault::Unanswered`]
//! says yes. Everything that DynamoDB answered with a refusal says no.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use super::Journal;
use crate::telemetry::Count;

/// Why the journal gave up. Each variant is a different thing to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// DynamoDB answered with a throttle every time: nothing was written. Try later.
    #[error("throttled")]
    Throttled,
    /// No answer, and only an occupied number will settle whether it was
    /// written. Give the commands back.
    #[error("the outcome is unknown: {0}")]
    OutcomeUnknown(String),
    /// DynamoDB can't be reached or refuses us; nothing was written.
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// A newer version wrote this; neither write nor answer, give back.
    #[error("written by a newer version: schema {found}")]
    Newer {
        /// Its schema.
        found: u16,
    },
    /// What is stored contradicts itself; nothing was written.
    #[error("damaged: {0}")]
    Damaged(String),
    /// Our clock and DynamoDB's are too far apart to commit.
    #[error("the clock is {0} ms off DynamoDB's")]
    ClockSkewed(u64),
    /// The state was confirmed too long ago to put on top of it; load anew.
    #[error("the state is stale")]
    Stale,
    /// Another incarnation has the card.
    #[error("another incarnation has the card")]
    OtherIncarnation,
}

impl JournalError {
    /// Its name, as metrics and spans use it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Throttled => "throttled",
            Self::OutcomeUnknown(_) => "unknown",
            Self::Unavailable(_) => "unavailable",
            Self::Newer { .. } => "newer_schema",
            Self::Damaged(_) => "damaged",
            Self::ClockSkewed(_) => "clock",
            Self::Stale => "stale",
            Self::OtherIncarnation => "other_incarnation",
        }
    }
}

impl From<crate::commit::DecodeError> for JournalError {
    fn from(error: crate::commit::DecodeError) -> Self {
        match error {
            crate::commit::DecodeError::Newer { found, .. } => Self::Newer { found },
            crate::commit::DecodeError::Damaged(what) => Self::Damaged(what),
        }
    }
}

impl From<crate::state::FoldError> for JournalError {
    fn from(error: crate::state::FoldError) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// One request's failure.
#[derive(Debug)]
pub(super) enum Fault {
    /// The condition did not hold.
    Condition,
    /// Not written: too fast.
    Throttled,
    /// Perhaps written.
    Unanswered(String),
    /// Not written: DynamoDB refuses the request.
    Refused(String),
}

impl Journal {
    /// Sorts what DynamoDB said to one request, and counts its throttles.
    pub(super) fn fault<E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static>(
        &self,
        error: &SdkError<E, HttpResponse>,
    ) -> Fault {
        let fault = sort(error);
        if matches!(fault, Fault::Throttled) {
            self.tally.add(Count::Throttled, 1);
        }
        fault
    }
}

fn sort<E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static>(
    error: &SdkError<E, HttpResponse>,
) -> Fault {
    let said = || crate::said(error);
    let SdkError::ServiceError(service) = error else {
        return match error {
            SdkError::ConstructionFailure(_) => Fault::Refused(said()),
            _ => Fault::Unanswered(said()),
        };
    };
    match service.err().code() {
        Some("ConditionalCheckFailedException") => Fault::Condition,
        Some(
            "ProvisionedThroughputExceededException"
            | "RequestLimitExceeded"
            | "ThrottlingException"
            | "Throttling"
            | "TransactionConflictException",
        ) => Fault::Throttled,
        _ if service.raw().status().is_server_error() => Fault::Unanswered(said()),
        Some(_) => Fault::Refused(said()),
        None => Fault::Unanswered(said()),
    }
}

impl Fault {
    /// The end of a read, or of a write that was not repeated.
    pub(super) fn into_error(self) -> JournalError {
        match self {
            Self::Throttled => JournalError::Throttled,
            Self::Unanswered(why) | Self::Refused(why) => JournalError::Unavailable(why),
            Self::Condition => {
                JournalError::Unavailable("a condition failed where none was set".into())
            }
        }
    }

    /// Whether trying again may help.
    pub(super) fn transient(&self) -> bool {
        matches!(self, Self::Throttled | Self::Unanswered(_))
    }
}

/// Waits before try number `attempt` (from 1): full jitter, 25 ms doubling to 1 s.
pub(super) async fn back_off(attempt: u32) {
    let cap_ms = (25_u64 << attempt.min(6)).min(1_000);
    let wait_ms = rand::random_range(0..=cap_ms);
    tokio::time::sleep(std::time::Duration::from_millis(wait_ms)).await;
}

/// Tries of one request before it is given up.
pub(super) const TRIES: u32 = 6;

/// Asks again while trying again may help. Only for requests that may be
/// repeated without knowing what became of the last one: reads, and writes
/// that mean the same however often they land.
pub(super) async fn retried<T, F>(mut ask: impl FnMut() -> F) -> Result<T, JournalError>
where
    F: Future<Output = Result<T, Fault>>,
{
    let mut attempt = 0;
    loop {
        attempt += 1;
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err(fault) if !fault.transient() || attempt >= TRIES => return Err(fault.into_error()),
            Err(_) => back_off(attempt).await,
        }
    }
}
