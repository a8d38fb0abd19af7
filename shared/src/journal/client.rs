//! How the DynamoDB client is set up, and the watch on the clock.
//!
//! Retries are off: the journal repeats what may be repeated. Time-outs are
//! explicit. An interceptor reads the Date header of each answer; an instance
//! whose clock is more than [`limits::CLOCK_SKEW_MS_MAX`] off does not commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_types::date_time::{DateTime, Format};

use crate::limits;
use crate::time::Clock;

/// One try of one request, in milliseconds.
const ATTEMPT_MS: u64 = 1_500;
/// Connecting, in milliseconds.
const CONNECT_MS: u64 = 1_000;

/// How far our clock was off DynamoDB's at the last answer.
#[derive(Debug, Clone, Default)]
pub struct Skew(Arc<AtomicU64>);

impl Skew {
    /// Milliseconds, in either direction.
    #[must_use]
    pub fn ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether it is too much to commit.
    #[must_use]
    pub fn too_large(&self) -> bool {
        self.ms() > limits::CLOCK_SKEW_MS_MAX
    }
}

#[derive(Debug)]
struct WatchClock {
    clock: Clock,
    skew: Skew,
}

impl Intercept for WatchClock {
    fn name(&self) -> &'static str {
        "WatchClock"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        let theirs = date.and_then(|text| DateTime::from_str(text, Format::HttpDate).ok());
        if let Some(theirs) = theirs.and_then(|t| u64::try_from(t.secs()).ok()) {
            // The header has whole seconds.
            let skew = self.clock.now().0.abs_diff(theirs * 1_000).saturating_sub(1_000);
            self.skew.0.store(skew, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Sets up a client for the journal: `base` brings address, credentials and
/// transport; the rest is set here. The watch on the clock fills the [`Skew`].
#[must_use]
pub fn configure(base: Builder, clock: &Clock) -> (aws_sdk_dynamodb::Client, Skew) {
    let skew = Skew::default();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_millis(CONNECT_MS))
        .operation_attempt_timeout(Duration::from_millis(ATTEMPT_MS))
        .operation_timeout(Duration::from_millis(ATTEMPT_MS))
        .build();
    let config = base
        .behavior_version(BehaviorVersion::v2026_01_12())
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts)
        .interceptor(WatchClock { clock: clock.clone(), skew: skew.clone() })
        .build();
    (aws_sdk_dynamodb::Client::from_conf(config), skew)
}
