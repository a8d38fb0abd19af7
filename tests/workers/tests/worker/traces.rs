//! A dispatch that belongs to a trace: what its handler does and what its
//! worker says belong to it too.

use std::sync::{Arc, Mutex};

use everlog::telemetry::TRACEPARENT;
use everlog::worker::{Output, Worker};
use everlog_local::stack;
use everlog_local::transport::Handler;
use everlog_sqs::{AttributeValue, MessageAttribute, OutgoingMessage, ReceivedMessage};
use opentelemetry::trace::{TraceContextExt, TracerProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde_json::{Value, json};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::layer::SubscriberExt;

use crate::scene::{Scene, is_settle, pass};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn sender() -> String {
    format!("00-{TRACE}-b7ad6b7169203331-01")
}

/// Follows the spans of this thread until it is dropped.
fn follow() -> tracing::subscriber::DefaultGuard {
    let tracer = SdkTracerProvider::builder().build().tracer("test");
    let layer = tracing_opentelemetry::layer().with_tracer(tracer);
    tracing::subscriber::set_default(tracing_subscriber::registry().with(layer))
}

/// `traceparent` of each outcome that passes.
fn overheard(inner: &Handler) -> (Handler, Arc<Mutex<Vec<String>>>) {
    let (inner, heard) = (inner.clone(), Arc::new(Mutex::new(Vec::new())));
    let parents = heard.clone();
    let handler: Handler = Arc::new(move |call| {
        if is_settle(&call) {
            let body: Value = serde_json::from_slice(&call.body).expect("JSON");
            let value = &body["Entries"][0]["MessageAttributes"][TRACEPARENT]["StringValue"];
            parents.lock().expect("no panic holds it").push(value.as_str().unwrap_or("").into());
        }
        inner(call)
    });
    (handler, heard)
}

/// A worker whose handler outputs the trace that it finds itself in.
async fn worker(scene: &Scene, handler: &Handler) -> Worker {
    let work = async |_, _| {
        let context = tracing::Span::current().context();
        Output::json(&context.span().span_context().trace_id().to_string())
    };
    scene.worker("w-1", handler, work).await
}

async fn is_in_the_trace(scene: &Scene, settles: &Mutex<Vec<String>>) {
    assert_eq!(scene.ending(10).await, "completed");
    let settles = settles.lock().expect("no panic holds it").clone();
    let [parent] = settles.as_slice() else { panic!("one outcome: {settles:?}") };
    assert_eq!(parent.split('-').nth(1), Some(TRACE), "{parent}");
    assert_ne!(*parent, sender(), "a span of its own");
    let settled = &scene.events("attempt_settled").await[0];
    assert_eq!(settled.fields["output"], TRACE, "the handler's spans lie below");
}

#[tokio::test(start_paused = true)]
async fn a_resident_worker_hands_on_the_trace_of_a_dispatch() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a" }])).await;
    let dispatch = &scene.receive().await[0];
    let value = AttributeValue::Text(sender());
    let attribute = MessageAttribute { data_type: "String".into(), value };
    let mut copy = OutgoingMessage::new(dispatch.body.to_string());
    copy.attributes.insert(TRACEPARENT.into(), attribute);
    scene.world.backend.sqs().send(&stack::queue_url("default"), copy).await.unwrap();
    let _following = follow();
    let (handler, settles) = overheard(&scene.direct);
    let worker = worker(&scene, &handler).await;
    let _serving = scene.serve(&worker, &handler);
    pass(1).await;
    is_in_the_trace(&scene, &settles).await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_on_lambda_hands_on_the_trace_of_a_dispatch() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a" }])).await;
    let dispatches = scene.receive().await;
    let record = |message: &ReceivedMessage| {
        let attribute = json!({ "dataType": "String", "stringValue": sender() });
        json!({
            "messageId": message.message_id,
            "body": &*message.body,
            "messageAttributes": { TRACEPARENT: attribute },
        })
    };
    let event = json!({ "Records": [record(&dispatches[0])] });
    let _following = follow();
    let (handler, settles) = overheard(&scene.direct);
    let worker = worker(&scene, &handler).await;
    let end = scene.world.backend.clock().now().plus_ms(30_000);
    let answer = worker.invoke(event, end, 1, None).await.unwrap();
    assert_eq!(answer, json!({ "batchItemFailures": [] }));
    is_in_the_trace(&scene, &settles).await;
}
