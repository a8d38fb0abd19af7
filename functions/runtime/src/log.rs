//! The log of a function: JSON on standard output, a line an event, as
//! CloudWatch reads it.
//!
//! Spans go to the tracer alone, events to the log alone: neither shows up in
//! the other. It can't fail.

use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::traces::Traces;

/// Starts the log, at the level that the environment says, and hands spans to
/// `traces`.
pub(crate) fn start(traces: Option<&Traces>) {
    let level = std::env::var("AWS_LAMBDA_LOG_LEVEL").ok().and_then(|level| level.parse().ok());
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_span_list(false)
        .with_ansi(false)
        .with_filter(level.unwrap_or(LevelFilter::INFO));
    let registry = tracing_subscriber::registry().with(lines);
    match traces {
        Some(traces) => registry.with(traces.layer()).init(),
        None => registry.init(),
    }
}
