//! The five functions as processes: a log, metrics, traces, a fleet from the
//! environment, and the loop that polls Lambda for invocations.
//!
//! It promises that whatever an invocation came to is written before it is
//! answered, since Lambda freezes the process afterwards: its metrics as lines
//! of the log, its spans to the collector, if one is configured. A collector
//! that is down or silent costs a second at most, and never an invocation.
//!
//! It deliberately knows nothing of what the functions do, and starts no
//! thread. Traces are left out of builds without the feature `otel`.
//!
//! It fails at start, before it says that it is ready, if the environment makes
//! no fleet; the log names the variable.
//!
//! | variable | meaning |
//! |---|---|
//! | `AWS_LAMBDA_LOG_LEVEL` | `ERROR` to `TRACE`; `INFO` where absent |
//! | `OTEL_…` | see `traces` |
//!
//! Next: `everlog::fleet::lambda`; [`everlog::telemetry`]; the tests of each
//! function, which run its binary.

mod log;
#[cfg(feature = "otel")]
mod traces;
#[cfg(not(feature = "otel"))]
#[path = "untraced.rs"]
mod traces;

use std::io::Write;
use std::time::Duration;

use everlog::config::Config;
use everlog::fleet::lambda::InvocationError;
use everlog::fleet::{EnvironmentError, Fleet, Function};
use everlog::time::{Clock, Timestamp};
use lambda_runtime::{Context, Diagnostic, LambdaEvent, service_fn};
use serde_json::Value;
use traces::Traces;
use tracing::field::Empty;
use tracing::{Instrument, Span};

pub use lambda_runtime::Error;

/// Milliseconds of an invocation that no export of traces may take.
const ANSWER_MS: u64 = 100;

/// Runs a function until Lambda ends the process.
///
/// # Errors
/// The environment makes no fleet, or Lambda's Runtime API is gone.
pub async fn run(function: Function) -> Result<(), Error> {
    let (traces, trouble) = Traces::from_env();
    log::start(traces.as_ref());
    if let Some(why) = trouble {
        tracing::warn!(why, "no traces");
    }
    let instance = instance(function, traces).await;
    let instance =
        &instance.inspect_err(|error| tracing::error!(%error, "the deployment is at fault"))?;
    lambda_runtime::run(service_fn(move |event| Box::pin(instance.serve(event)))).await
}

async fn instance(
    function: Function,
    traces: Option<Traces>,
) -> Result<Instance, EnvironmentError> {
    let config = Config::from_env()?;
    let name = config.fleet.clone();
    Ok(Instance { function, name, fleet: Fleet::from_env(config).await?, traces })
}

/// A process of a function.
struct Instance {
    function: Function,
    /// The deployment.
    name: String,
    fleet: Fleet,
    traces: Option<Traces>,
}

impl Instance {
    async fn serve(&self, event: LambdaEvent<Value>) -> Result<Value, Diagnostic> {
        let LambdaEvent { payload, context, .. } = event;
        let deadline = Timestamp(context.deadline);
        let measured = self.fleet.until(deadline).measured(self.function);
        let result = {
            let span = self.span(&context);
            let result = measured.invoke(payload).instrument(span.clone()).await;
            if let Err(error) = &result {
                span.record("outcome", error.kind()).record("otel.status_code", "error");
            }
            result
        };
        print(&measured.lines(&self.name));
        if let Some(traces) = &self.traces {
            let left_ms = deadline.since(Clock::System.now()).saturating_sub(ANSWER_MS);
            traces.export(Duration::from_millis(left_ms)).await;
        }
        result.map_err(failed)
    }

    fn span(&self, context: &Context) -> Span {
        let span = tracing::debug_span!(
            "invocation",
            otel.kind = "server",
            otel.status_code = Empty,
            function = self.function.name(),
            fleet = self.name,
            faas.invocation_id = context.request_id,
            outcome = Empty,
        );
        let parent = context.xray_trace_id.as_deref().and_then(traceparent);
        if let Some(parent) = parent {
            everlog::telemetry::adopt(&span, &parent);
        }
        span
    }
}

fn failed(error: InvocationError) -> Diagnostic {
    tracing::error!(%error, "the invocation failed");
    Diagnostic { error_type: error.kind().into(), error_message: error.to_string() }
}

/// Whole lines: CloudWatch reads each as one event. A log that can't be
/// written fails no invocation.
fn print(lines: &[String]) {
    let mut log = std::io::stdout().lock();
    for line in lines {
        let _ = writeln!(log, "{line}");
    }
}

/// The trace of Lambda's own as the W3C writes it, if Lambda records it. One
/// that it does not record has no spans to belong to.
fn traceparent(xray: &str) -> Option<String> {
    let part = |name: &str| {
        xray.split(';').find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='))
    };
    let trace = part("Root")?.strip_prefix("1-")?.replacen('-', "", 1);
    let parent = part("Parent")?;
    (part("Sampled") == Some("1")).then(|| format!("00-{trace}-{parent}-01"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambdas_trace_is_a_parent_if_lambda_records_it() {
        let root = "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419";
        assert_eq!(
            traceparent(&format!("{root};Sampled=1")).as_deref(),
            Some("00-5bef4de7ad49b0e87f6ef6c87fc2e700-9a9197af755a6419-01")
        );
        assert_eq!(traceparent(&format!("{root};Sampled=0;Lineage=1:2:3")), None);
        assert_eq!(traceparent(root), None);
        assert_eq!(traceparent("Root=1-5bef4de7;Sampled=1"), None);
    }
}
