//! A build without traces: nobody can make any, so there is nothing to export.
//!
//! It says so where the environment asks for some.

use std::convert::Infallible;
use std::time::Duration;

use tracing_subscriber::Layer;
use tracing_subscriber::layer::Identity;
use tracing_subscriber::registry::Registry;

/// No traces. There is no value of it.
#[derive(Debug)]
pub(crate) struct Traces(Infallible);

impl Traces {
    /// None, and what to say about it.
    pub(crate) fn from_env() -> (Option<Self>, Option<String>) {
        let asked = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]
            .into_iter()
            .any(|name| std::env::var_os(name).is_some());
        (None, asked.then(|| "this build leaves traces out: its feature `otel` is off".into()))
    }

    pub(crate) fn layer<S>(&self) -> Identity {
        match self.0 {}
    }

    #[expect(clippy::unused_async, reason = "as the one that exports")]
    pub(crate) async fn export(&self, _left: Duration) {
        match self.0 {}
    }
}
