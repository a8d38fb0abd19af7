//! A collector of OpenTelemetry on loopback: OTLP over HTTP, protobuf.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span as Wire;
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::endpoint::{body_of, header, respond, serve};

/// After so long spans that have not come are taken for lost.
const LOST: Duration = Duration::from_secs(60);

/// A span, as a collector sees it. Ids in hex, none as an empty text.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Its name.
    pub name: String,
    /// The trace that it belongs to.
    pub trace: String,
    /// Its id.
    pub id: String,
    /// Its parent's id.
    pub parent: String,
    /// Ids of the spans that it is linked to.
    pub links: Vec<String>,
    /// Its attributes, as texts.
    pub fields: BTreeMap<String, String>,
    /// Whether its status is *error*.
    pub error: bool,
    /// The attributes of the process.
    pub resource: BTreeMap<String, String>,
}

/// A collector that keeps what it is sent.
pub struct Collector {
    url: String,
    spans: Arc<Mutex<Vec<Span>>>,
    requests: watch::Receiver<usize>,
}

impl Collector {
    /// One that answers.
    pub async fn start() -> Self {
        Self::start_as(true).await
    }

    /// One that takes requests and never answers.
    pub async fn start_silent() -> Self {
        Self::start_as(false).await
    }

    async fn start_as(answers: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let spans: Arc<Mutex<Vec<Span>>> = Arc::default();
        let (count, requests) = watch::channel(0);
        let (count, kept) = (Arc::new(count), spans.clone());
        let address = serve(listener, move |request| {
            let (kept, count) = (kept.clone(), count.clone());
            async move {
                assert_eq!(request.uri().path(), "/v1/traces");
                assert_eq!(header(&request, "content-type"), "application/x-protobuf");
                let body = body_of(request).await;
                let request = ExportTraceServiceRequest::decode(body).expect("OTLP");
                kept.lock().expect("nothing panics here").extend(spans_of(request));
                count.send_modify(|count| *count += 1);
                if !answers {
                    std::future::pending::<()>().await;
                }
                respond(200, &[("content-type", "application/x-protobuf")], Vec::new())
            }
        });
        Self { url: format!("http://{address}"), spans, requests }
    }

    /// For `OTEL_EXPORTER_OTLP_ENDPOINT`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How many exports have come.
    #[must_use]
    pub fn exports(&self) -> usize {
        *self.requests.borrow()
    }

    /// Waits for so many exports, and takes their spans.
    ///
    /// # Panics
    /// If they do not come within a minute.
    pub async fn take(&self, exports: usize) -> Vec<Span> {
        let mut requests = self.requests.clone();
        let come = requests.wait_for(|count| *count >= exports);
        let come = tokio::time::timeout(LOST, come).await;
        assert!(matches!(come, Ok(Ok(_))), "{} exports have come", self.exports());
        std::mem::take(&mut *self.spans.lock().expect("nothing panics here"))
    }
}

fn spans_of(request: ExportTraceServiceRequest) -> Vec<Span> {
    let mut spans = Vec::new();
    for of_process in request.resource_spans {
        let resource = texts(of_process.resource.map(|r| r.attributes).unwrap_or_default());
        let all = of_process.scope_spans.into_iter().flat_map(|scope| scope.spans);
        spans.extend(all.map(|span| read(span, resource.clone())));
    }
    spans
}

fn read(span: Wire, resource: BTreeMap<String, String>) -> Span {
    Span {
        name: span.name,
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        links: span.links.iter().map(|link| hex(&link.span_id)).collect(),
        fields: texts(span.attributes),
        error: span.status.is_some_and(|status| status.code == 2),
        resource,
    }
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    attributes.into_iter().map(|a| (a.key, a.value.map(text).unwrap_or_default())).collect()
}

fn text(value: AnyValue) -> String {
    match value.value {
        Some(any_value::Value::StringValue(text)) => text,
        Some(any_value::Value::IntValue(number)) => number.to_string(),
        Some(any_value::Value::BoolValue(truth)) => truth.to_string(),
        other => format!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
