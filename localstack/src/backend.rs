//! The two engines behind one door: a target and a body in, an answer out.
//!
//! DynamoDB is dynoxide on SQLite, SQS is `everlog-sqs` in memory. Which one is
//! meant stands in the `x-amz-target` header, as on AWS.

use std::path::Path;

use dynoxide::Database;
use everlog::time::Clock;
use everlog_sqs::Engine;

/// An HTTP answer without the HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Headers beside the standard ones.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Both engines, on one clock.
#[derive(Clone)]
pub struct Backend {
    db: Database,
    sqs: Engine,
    clock: Clock,
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backend").finish_non_exhaustive()
    }
}

impl Backend {
    /// Engines on a database file, or in memory without one.
    ///
    /// # Errors
    /// The engine's, if the file can't be opened.
    pub fn open(file: Option<&Path>, clock: Clock) -> Result<Self, dynoxide::DynoxideError> {
        let db = match file {
            Some(path) => Database::new(&path.to_string_lossy())?,
            None => Database::memory()?,
        };
        let sqs = Engine::new(everlog_sqs::Config::new(clock.now().0, "http://sqs.local"));
        Ok(Self { db, sqs, clock })
    }

    /// The queues.
    #[must_use]
    pub fn sqs(&self) -> &Engine {
        &self.sqs
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Answers one request.
    pub async fn answer(&self, target: &str, body: &[u8]) -> Answer {
        if target.starts_with("AmazonSQS.") {
            let (status, body, headers) = self.sqs.call(target, body).await;
            return Answer { status, headers, body };
        }
        let operation = target.rsplit('.').next().unwrap_or_default();
        let (status, body) = match self.dynamo(operation, body) {
            Ok(body) => (200, body),
            Err(refusal) => refusal,
        };
        Answer { status, headers: Vec::new(), body }
    }

    fn dynamo(&self, operation: &str, body: &[u8]) -> Result<Vec<u8>, (u16, Vec<u8>)> {
        macro_rules! operations {
            ($($name:literal => $method:ident,)*) => {
                match operation {
                    $($name => {
                        let request = serde_json::from_slice(body).map_err(|e| unreadable(&e))?;
                        let answer = self.db.$method(request).map_err(|e| {
                            (e.status_code(), e.to_json().into_bytes())
                        })?;
                        serde_json::to_vec(&answer).map_err(|e| unreadable(&e))
                    })*
                    _ => Err(error(
                        "com.amazon.coral.service#UnknownOperationException",
                        operation,
                    )),
                }
            };
        }
        operations! {
            "PutItem" => put_item,
            "GetItem" => get_item,
            "UpdateItem" => update_item,
            "DeleteItem" => delete_item,
            "Query" => query,
            "Scan" => scan,
            "BatchGetItem" => batch_get_item,
            "TransactWriteItems" => transact_write_items,
            "CreateTable" => create_table,
            "DeleteTable" => delete_table,
            "DescribeTable" => describe_table,
            "ListTables" => list_tables,
        }
    }
}

fn error(kind: &str, message: &str) -> (u16, Vec<u8>) {
    let body = serde_json::json!({ "__type": kind, "message": message });
    (400, body.to_string().into_bytes())
}

/// The engine says some of DynamoDB's validations while it reads a request.
fn unreadable(found: &serde_json::Error) -> (u16, Vec<u8>) {
    let text = found.to_string();
    let marks = ["VALIDATION:", "VALIDATION_REQUEST:", "VALIDATION_AS_READ:"];
    match marks.iter().find_map(|mark| text.strip_prefix(mark)) {
        Some(message) => error("com.amazon.coral.validate#ValidationException", message),
        None => error("com.amazon.coral.service#SerializationException", &text),
    }
}
