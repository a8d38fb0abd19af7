//! Traces by OpenTelemetry: spans of one invocation, exported before it is
//! answered.
//!
//! | variable | meaning |
//! |---|---|
//! | `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, `OTEL_EXPORTER_OTLP_ENDPOINT` | the collector (OTLP over HTTP, protobuf); no traces where both are absent |
//! | `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_EXPORTER_OTLP_TRACES_HEADERS` | what to send along |
//! | `OTEL_SDK_DISABLED` | `true`: no traces |
//! | `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` | who we are; the function's name in Lambda where absent |
//! | `OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG` | what is kept; as the caller does where absent, else all |
//!
//! It promises that an export takes a second at most and never what the
//! invocation needs to answer; that after one that failed none is tried for
//! half a minute, so that a collector that is silent costs a second once in a
//! while; and that at most [`SPANS_MAX`] spans are kept.
//!
//! It deliberately starts no thread and no timer: Lambda would freeze them. It
//! drops the spans that it can't export.
//!
//! It fails into the log, with a warning.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_http_client::{Connector, Connector as Http};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorSettings};
use aws_smithy_types::body::SdkBody;
use http_body_util::{BodyExt, Limited};
use opentelemetry::trace::TracerProvider;
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    SdkTracerProvider, Span, SpanData, SpanExporter as Export, SpanProcessor,
};
use tokio::time::Instant;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::registry::LookupSpan;

/// Spans that are kept for one export. A batch of ten commands makes some sixty.
const SPANS_MAX: usize = 2_048;
/// The longest that an export may take.
const EXPORT_MAX: Duration = Duration::from_secs(1);
/// For so long none is tried after one that failed.
const SILENCE: Duration = Duration::from_secs(30);
/// Bytes of a collector's answer.
const ANSWER_BYTES_MAX: usize = 65_536;

/// The tracer of this process.
#[derive(Debug)]
pub(crate) struct Traces {
    provider: SdkTracerProvider,
    ended: Ended,
    exporter: SpanExporter,
    /// Nothing is exported before.
    silent_until: Mutex<Option<Instant>>,
}

impl Traces {
    /// The tracer that the environment asks for, or why there is none although
    /// it asks.
    pub(crate) fn from_env() -> (Option<Self>, Option<String>) {
        let set = |name: &str| std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
        let asked = set("OTEL_EXPORTER_OTLP_ENDPOINT") || set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let disabled = std::env::var("OTEL_SDK_DISABLED");
        if !asked || disabled.is_ok_and(|value| value.trim().eq_ignore_ascii_case("true")) {
            return (None, None);
        }
        match exporter() {
            Ok(exporter) => (Some(Self::new(exporter)), None),
            Err(error) => (None, Some(error.to_string())),
        }
    }

    fn new(mut exporter: SpanExporter) -> Self {
        let (ended, resource) = (Ended::default(), resource());
        exporter.set_resource(&resource);
        let provider = SdkTracerProvider::builder()
            .with_span_processor(ended.clone())
            .with_resource(resource)
            .build();
        Self { provider, ended, exporter, silent_until: Mutex::default() }
    }

    /// Takes the spans of Everlog, and no events.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: tracing::Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        let ours = filter_fn(|meta| meta.is_span() && meta.target().starts_with("everlog"));
        tracing_opentelemetry::layer()
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_tracer(self.provider.tracer("everlog"))
            .with_filter(ours.with_max_level_hint(LevelFilter::DEBUG))
    }

    /// Exports what has ended, within `left` and a second.
    pub(crate) async fn export(&self, left: Duration) {
        let spans = self.ended.take();
        if spans.is_empty() || self.silent() {
            return;
        }
        let count = spans.len();
        let exported = tokio::time::timeout(left.min(EXPORT_MAX), self.exporter.export(spans));
        let error = match exported.await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        tracing::warn!(error, spans = count, "traces not exported");
        let mut silent_until = self.silent_until.lock().unwrap_or_else(PoisonError::into_inner);
        *silent_until = Some(Instant::now() + SILENCE);
    }

    fn silent(&self) -> bool {
        let silent_until = self.silent_until.lock().unwrap_or_else(PoisonError::into_inner);
        silent_until.is_some_and(|until| Instant::now() < until)
    }
}

/// Spans that have ended and wait for their export.
#[derive(Debug, Clone, Default)]
struct Ended(Arc<Mutex<Vec<SpanData>>>);

impl Ended {
    fn take(&self) -> Vec<SpanData> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SpanProcessor for Ended {
    fn on_start(&self, _span: &mut Span, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        let mut ended = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if span.span_context.is_sampled() && ended.len() < SPANS_MAX {
            ended.push(span);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}

fn exporter() -> Result<SpanExporter, opentelemetry_otlp::ExporterBuildError> {
    SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_http_client(Transport::new())
        .build()
}

/// Who we are: what the environment says, and what Lambda says.
fn resource() -> Resource {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let lambda = [
        ("cloud.region", "AWS_REGION"),
        ("faas.name", "AWS_LAMBDA_FUNCTION_NAME"),
        ("faas.version", "AWS_LAMBDA_FUNCTION_VERSION"),
        ("faas.instance", "AWS_LAMBDA_LOG_STREAM_NAME"),
    ];
    let known =
        lambda.into_iter().filter_map(|(key, name)| Some(KeyValue::new(key, variable(name)?)));
    let resource = Resource::builder()
        .with_attribute(KeyValue::new("cloud.provider", "aws"))
        .with_attributes(known);
    let named = variable("OTEL_SERVICE_NAME").is_some()
        || variable("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|all| all.contains("service.name="));
    match variable("AWS_LAMBDA_FUNCTION_NAME").filter(|_| !named) {
        Some(name) => resource.with_service_name(name).build(),
        None => resource.build(),
    }
}

/// The way to the collector: the HTTP client that the functions have anyway.
#[derive(Debug)]
struct Transport(Http);

impl Transport {
    fn new() -> Self {
        let settings = HttpConnectorSettings::builder().connect_timeout(EXPORT_MAX).build();
        let connector = Connector::builder()
            .connector_settings(settings)
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .build();
        Self(connector)
    }
}

#[async_trait]
impl HttpClient for Transport {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer = self.0.call(request.map(SdkBody::from).try_into()?).await?;
        let (parts, body) = answer.try_into_http1x()?.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?.to_bytes();
        Ok(Response::from_parts(parts, body))
    }
}
