//! A network that loses, doubles, delays and reorders messages.
//!
//! The sender is always told that its message was accepted; what was accepted
//! goes to a queue that nobody reads, and copies of it arrive at the real one
//! when, and as often as, the seed says.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use everlog_local::backend::Backend;
use everlog_local::transport::{Call, Handler};
use everlog_sqs::OutgoingMessage;
use serde_json::Value;

use crate::Rng;

/// How bad the network is, in percent and milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Weather {
    /// Messages that never arrive.
    pub lost: u64,
    /// Messages that arrive twice.
    pub doubled: u64,
    /// The longest way of a message.
    pub late_ms: u64,
}

/// Puts the network between clients and `inner`.
#[must_use]
pub fn between(inner: Handler, backend: &Backend, weather: Weather, seed: u64) -> Handler {
    let rng = Arc::new(Mutex::new(Rng::new(seed)));
    let backend = backend.clone();
    Arc::new(move |call: Call| {
        if !call.target.ends_with(".SendMessageBatch") {
            return inner(call);
        }
        let (inner, backend, rng) = (inner.clone(), backend.clone(), rng.clone());
        Box::pin(async move {
            let mut request: Value = serde_json::from_slice(&call.body).unwrap_or_default();
            let url = request["QueueUrl"].as_str().unwrap_or_default().to_owned();
            for entry in request["Entries"].as_array().cloned().unwrap_or_default() {
                let ways = {
                    let Ok(mut rng) = rng.lock() else { continue };
                    let copies = match rng.below(100) {
                        p if p < weather.lost => 0,
                        p if p < weather.lost + weather.doubled => 2,
                        _ => 1,
                    };
                    (0..copies).map(|_| rng.below(weather.late_ms + 1)).collect::<Vec<u64>>()
                };
                for (copy, way_ms) in ways.into_iter().enumerate() {
                    let (backend, url, entry) = (backend.clone(), url.clone(), entry.clone());
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_millis(way_ms)).await;
                        let _ = backend.sqs().send(&url, message(&entry, copy)).await;
                    });
                }
            }
            let limbo = if url.ends_with(".fifo") { "limbo.fifo" } else { "limbo" };
            request["QueueUrl"] = format!("http://sqs.local/000000000000/{limbo}").into();
            let body = request.to_string().into_bytes().into();
            inner(Call { target: call.target, body }).await
        })
    })
}

fn message(entry: &Value, copy: usize) -> OutgoingMessage {
    let text = |name: &str| entry[name].as_str().map(str::to_owned);
    OutgoingMessage {
        body: text("MessageBody").unwrap_or_default(),
        delay_s: entry["DelaySeconds"].as_u64().and_then(|s| u32::try_from(s).ok()),
        group_id: text("MessageGroupId"),
        // A second copy is one that slipped past deduplication.
        deduplication_id: text("MessageDeduplicationId").map(|id| format!("{id}-{copy}")),
        ..OutgoingMessage::default()
    }
}

/// Makes the queues that nobody reads.
pub async fn make_limbo(backend: &Backend) {
    let fifo = [("FifoQueue".to_owned(), "true".to_owned())].into();
    let made = backend.sqs().create_queue("limbo.fifo", &fifo).await;
    assert!(made.is_ok(), "{made:?}");
    let made = backend.sqs().create_queue("limbo", &std::collections::BTreeMap::new()).await;
    assert!(made.is_ok(), "{made:?}");
}
