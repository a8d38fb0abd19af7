//! The function `outbox-dispatch` as Lambda starts it: a JSON log, a fleet from the
//! environment, and a loop that polls for invocations.

use everlog::fleet::Fleet;
use everlog::time::Timestamp;
use lambda_runtime::{Diagnostic, Error, LambdaEvent, service_fn};
use serde_json::Value;
use tracing_subscriber::filter::LevelFilter;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let level = std::env::var("AWS_LAMBDA_LOG_LEVEL").ok().and_then(|level| level.parse().ok());
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_span_list(false)
        .with_ansi(false)
        .with_max_level(level.unwrap_or(LevelFilter::INFO))
        .init();
    let fleet = Fleet::from_env().await;
    let fleet =
        &fleet.inspect_err(|error| tracing::error!(%error, "the deployment is at fault"))?;
    lambda_runtime::run(service_fn(move |event| Box::pin(serve(fleet, event)))).await
}

async fn serve(fleet: &Fleet, event: LambdaEvent<Value>) -> Result<Value, Diagnostic> {
    let fleet = fleet.until(Timestamp(event.context.deadline));
    everlog_outbox_dispatch::handle(&fleet, event.payload).await.map_err(|error| {
        tracing::error!(%error, "the invocation failed");
        Diagnostic { error_type: error.kind().into(), error_message: error.to_string() }
    })
}
