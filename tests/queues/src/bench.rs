//! What a test has: a client of an engine, queues of its own, and time.
//!
//! It goes through the SDK, so what it sees is what stands on the wire. In
//! process the time is virtual; on a server it is the real one, so the waits are
//! of a few seconds, with a second to spare.

use std::time::Duration;

use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use everlog::time::Clock;
use everlog_engine_tests::fact::Seen;
use everlog_engine_tests::place::Endpoint;
use everlog_local::transport;

use crate::queue::Queue;

/// A client of an engine.
#[derive(Debug, Clone)]
pub struct Bench {
    sqs: aws_sdk_sqs::Client,
    clock: Clock,
    /// What the test sees.
    pub seen: Seen,
}

impl Bench {
    pub(crate) fn new(endpoint: &Endpoint, clock: Clock, seen: Seen) -> Self {
        let (http, url) = match endpoint {
            Endpoint::Direct(backend) => {
                let http = transport::client(transport::direct(backend), clock.clone());
                (http, "http://sqs.local")
            }
            Endpoint::Url(url) => {
                (aws_smithy_http_client::Builder::new().build_http(), url.as_str())
            }
        };
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "everlog-tests"))
            .endpoint_url(url)
            .http_client(http)
            .retry_config(RetryConfig::disabled())
            .build();
        Self { sqs: aws_sdk_sqs::Client::from_conf(config), clock, seen }
    }

    /// A standard queue with these attributes.
    pub(crate) async fn standard(&self, attributes: &[(&str, &str)]) -> Queue {
        self.try_queue("", attributes).await.expect("a queue")
    }

    /// A FIFO queue with these attributes.
    pub(crate) async fn fifo(&self, attributes: &[(&str, &str)]) -> Queue {
        self.try_queue(".fifo", attributes).await.expect("a queue")
    }

    /// A queue of a name that nobody has, or the code of the refusal.
    pub(crate) async fn try_queue(
        &self,
        ending: &str,
        attributes: &[(&str, &str)],
    ) -> Result<Queue, String> {
        let name = format!("list-{:016x}{ending}", rand::random::<u64>());
        Queue::create(&self.sqs, &name, attributes).await
    }

    /// Lets time pass.
    pub(crate) async fn wait_ms(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    /// Now, in milliseconds.
    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now().0
    }
}
