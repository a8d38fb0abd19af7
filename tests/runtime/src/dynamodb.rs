//! DynamoDB in memory: from an operation and a body to a status and a body.

use dynoxide::{Database, DynoxideError};
use serde_json::Value;

/// Answers one request in the AWS JSON protocol.
pub(crate) fn answer(db: &Database, operation: &str, body: &[u8]) -> (u16, Vec<u8>) {
    match serve(db, operation, body) {
        Ok(answer) => (200, answer.to_string().into_bytes()),
        Err(error) => (error.status_code(), error.to_json().into_bytes()),
    }
}

fn serve(db: &Database, operation: &str, body: &[u8]) -> Result<Value, DynoxideError> {
    match operation {
        "CreateTable" => written(&db.create_table(read(body)?)?),
        "PutItem" => written(&db.put_item(read(body)?)?),
        "GetItem" => written(&db.get_item(read(body)?)?),
        "UpdateItem" => written(&db.update_item(read(body)?)?),
        "DeleteItem" => written(&db.delete_item(read(body)?)?),
        "Query" => written(&db.query(read(body)?)?),
        "TransactWriteItems" => written(&db.transact_write_items(read(body)?)?),
        other => Err(DynoxideError::ValidationException(format!("not served here: {other}"))),
    }
}

fn read<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, DynoxideError> {
    serde_json::from_slice(body).map_err(|e| DynoxideError::ValidationException(e.to_string()))
}

fn written(answer: &impl serde::Serialize) -> Result<Value, DynoxideError> {
    serde_json::to_value(answer).map_err(|e| DynoxideError::ValidationException(e.to_string()))
}
