//! Recorded events, and batches made of their records.

use everlog::time::Clock;
use serde_json::{Value, json};

use crate::stack::queue_arn;

/// A recorded event. The files say where each comes from, and of when it is.
///
/// # Panics
/// If there is no such recording.
#[must_use]
pub fn event(name: &str) -> Value {
    let text = match name {
        "sqs-standard" => include_str!("../fixtures/sqs-standard.json"),
        "sqs-fifo" => include_str!("../fixtures/sqs-fifo.json"),
        "schedule-rule" => include_str!("../fixtures/schedule-rule.json"),
        "schedule-scheduler" => include_str!("../fixtures/schedule-scheduler.json"),
        other => panic!("no recording of {other}"),
    };
    let recording: Value = serde_json::from_str(text).expect("a recording is JSON");
    assert!(recording["source"].is_string() && recording["date"].is_string());
    recording["event"].clone()
}

/// A message of a batch: what differs from the recorded one.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its id, by which it is reported.
    pub id: String,
    /// Its body.
    pub body: String,
    /// Its FIFO group; none in a standard queue.
    pub group: Option<String>,
    /// How often it was received, this time included.
    pub receive_count: u32,
    /// How many milliseconds ago it was received first.
    pub waiting_ms: u64,
    /// The handle of a message that a test has really received.
    pub receipt_handle: Option<String>,
    /// The span that sent it.
    pub traceparent: Option<String>,
}

impl Record {
    /// A message that comes for the first time.
    #[must_use]
    pub fn new(id: impl Into<String>, body: impl ToString) -> Self {
        Self {
            id: id.into(),
            body: body.to_string(),
            group: None,
            receive_count: 1,
            waiting_ms: 0,
            receipt_handle: None,
            traceparent: None,
        }
    }

    /// The same in a group of a FIFO queue.
    #[must_use]
    pub fn in_group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// The same, received `count` times, first `waiting_ms` milliseconds ago.
    #[must_use]
    pub fn again(mut self, count: u32, waiting_ms: u64) -> Self {
        (self.receive_count, self.waiting_ms) = (count, waiting_ms);
        self
    }

    fn of(self, queue: &str) -> Value {
        let recorded = if self.group.is_some() { "sqs-fifo" } else { "sqs-standard" };
        let mut record = event(recorded)["Records"][0].clone();
        record["messageId"] = json!(self.id);
        record["body"] = json!(self.body);
        record["eventSourceARN"] = json!(queue_arn(queue));
        if let Some(handle) = self.receipt_handle {
            record["receiptHandle"] = json!(handle);
        }
        if let Some(traceparent) = self.traceparent {
            record["messageAttributes"]["traceparent"] = json!({
                "stringValue": traceparent, "stringListValues": [], "binaryListValues": [],
                "dataType": "String",
            });
        }
        let received_ms = Clock::System.now().minus_ms(self.waiting_ms).0.to_string();
        let attributes = &mut record["attributes"];
        attributes["ApproximateReceiveCount"] = json!(self.receive_count.to_string());
        attributes["SentTimestamp"] = json!(received_ms);
        attributes["ApproximateFirstReceiveTimestamp"] = json!(received_ms);
        if let Some(group) = self.group {
            attributes["MessageGroupId"] = json!(group);
            attributes["MessageDeduplicationId"] = json!(self.id);
        }
        record
    }
}

/// A batch of a queue (by its logical name).
#[must_use]
pub fn batch(queue: &str, records: impl IntoIterator<Item = Record>) -> Value {
    let records = records.into_iter().map(|record| record.of(queue));
    json!({ "Records": records.collect::<Vec<_>>() })
}
