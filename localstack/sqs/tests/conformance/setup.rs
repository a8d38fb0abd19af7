//! The vocabulary of the conformance list.

use everlog_sqs::{
    Config, Engine, Entry, ErrorKind, OutgoingMessage, Receive, ReceivedMessage, SqsError,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

pub const EPOCH_MS: u64 = 1_750_000_000_000;
pub const BASE_URL: &str = "http://127.0.0.1:4566";

pub fn engine() -> Engine {
    Engine::new(Config::new(EPOCH_MS, BASE_URL))
}

pub fn attributes(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub async fn standard(engine: &Engine, pairs: &[(&str, &str)]) -> String {
    engine.create_queue("work", &attributes(pairs)).await.unwrap()
}

pub async fn fifo(engine: &Engine, pairs: &[(&str, &str)]) -> String {
    let mut attributes = attributes(pairs);
    attributes.insert("FifoQueue".to_owned(), "true".to_owned());
    engine.create_queue("work.fifo", &attributes).await.unwrap()
}

pub async fn send(engine: &Engine, url: &str, body: &str) -> String {
    engine.send(url, OutgoingMessage::new(body)).await.unwrap().message_id
}

/// Sends to a FIFO queue; the body is the deduplication id.
pub async fn send_in(engine: &Engine, url: &str, group: &str, body: &str) -> String {
    let message = OutgoingMessage::new(body).in_group(group, body);
    engine.send(url, message).await.unwrap().message_id
}

/// A short poll for up to ten messages.
pub async fn poll(engine: &Engine, url: &str, visibility_s: u32) -> Vec<ReceivedMessage> {
    poll_for(engine, url, 10, visibility_s).await
}

pub async fn poll_for(
    engine: &Engine,
    url: &str,
    max_messages: u32,
    visibility_s: u32,
) -> Vec<ReceivedMessage> {
    let receive = Receive { max_messages, wait_s: Some(0), visibility_s: Some(visibility_s) };
    engine.receive(url, receive).await.unwrap()
}

/// A short poll that must find exactly one message.
pub async fn poll_one(engine: &Engine, url: &str, visibility_s: u32) -> ReceivedMessage {
    let mut messages = poll(engine, url, visibility_s).await;
    assert_eq!(messages.len(), 1, "one message was expected");
    messages.remove(0)
}

pub fn bodies(messages: &[ReceivedMessage]) -> Vec<&str> {
    messages.iter().map(|message| &*message.body).collect()
}

pub async fn advance_ms(ms: u64) {
    tokio::time::advance(Duration::from_millis(ms)).await;
}

pub async fn advance_s(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

pub fn kind<T: std::fmt::Debug>(result: Result<T, SqsError>) -> ErrorKind {
    result.unwrap_err().kind
}

pub fn entries<T>(items: impl IntoIterator<Item = T>) -> Vec<Entry<T>> {
    let ids = (0..).map(|number| format!("e{number}"));
    ids.zip(items).map(|(id, item)| Entry { id, item }).collect()
}

/// What the queue counts: visible, delayed, in flight.
pub async fn counts(engine: &Engine, url: &str) -> [usize; 3] {
    let attributes = engine.attributes(url).await.unwrap();
    let count =
        |suffix: &str| attributes[&format!("ApproximateNumberOfMessages{suffix}")].parse().unwrap();
    [count(""), count("Delayed"), count("NotVisible")]
}

/// A request in the JSON protocol: status, body, and the code of `x-amzn-query-error`.
pub async fn request(
    engine: &Engine,
    operation: &str,
    body: Value,
) -> (u16, Value, Option<String>) {
    let body = serde_json::to_vec(&body).unwrap();
    let (status, body, headers) = engine.call(&format!("AmazonSQS.{operation}"), &body).await;
    let code =
        headers.into_iter().find(|(name, _)| name == "x-amzn-query-error").map(|(_, value)| value);
    (status, serde_json::from_slice(&body).unwrap(), code)
}

/// A request that must succeed.
pub async fn answer(engine: &Engine, operation: &str, body: Value) -> Value {
    let (status, body, code) = request(engine, operation, body).await;
    assert_eq!((status, code), (200, None), "{operation} answered {body}");
    body
}
