//! Lambda's Invoke call on the embedded port: a function name and an event in,
//! the function's answer out.
//!
//! It promises what callers of Lambda rely on: a refusal of the call itself is
//! an error status with its type; a function that fails answers 200, with
//! `x-amz-function-error` and an `errorType` that says what to do. The functions
//! are named as a deployment names them, `everlog-append` and so on.
//!
//! It deliberately knows one kind of invocation, the one that waits for its
//! answer. Asynchronous ones are refused: whoever wants none sends to a queue.
//!
//! Next: [`server`](crate::server), which owns the port.

use everlog::fleet::{Fleet, Function};
use serde_json::{Value, json};

use crate::backend::Answer;

/// Beginning and end of the path of an invocation, around the function's name.
const PATH: (&str, &str) = ("/2015-03-31/functions/", "/invocations");
/// Beginning of the names of the functions.
const PREFIX: &str = "everlog-";
/// An invocation ends after this, as the deployed ones do by default.
const TIMEOUT_MS: u64 = 30_000;
/// Bytes of an event; Lambda takes 6 MiB.
const EVENT_BYTES_MAX: usize = 6 * 1024 * 1024;

/// The function's name in the path of an invocation; `None` if it is another path.
#[must_use]
pub fn function_in(path: &str) -> Option<&str> {
    path.strip_prefix(PATH.0)?.strip_suffix(PATH.1)
}

/// Invokes the function `name`; `kind` is the `x-amz-invocation-type`, if there is one.
pub async fn invoke(fleet: &Fleet, name: &str, kind: Option<&str>, body: &[u8]) -> Answer {
    let by_name = |f: &Function| name.strip_prefix(PREFIX) == Some(f.name());
    let Some(function) = Function::ALL.into_iter().find(by_name) else {
        let message = format!("Function not found: {name}");
        return refused(404, "ResourceNotFoundException", &message);
    };
    if let Some(kind) = kind.filter(|kind| *kind != "RequestResponse") {
        let message = format!("expected the invocation type RequestResponse, found {kind}");
        return refused(400, "InvalidParameterValueException", &message);
    }
    if body.len() > EVENT_BYTES_MAX {
        let message = format!("expected at most {EVENT_BYTES_MAX} bytes, found {}", body.len());
        return refused(413, "RequestTooLargeException", &message);
    }
    // No payload at all is an empty object, as on Lambda.
    let body: &[u8] = if body.is_empty() { b"{}" } else { body };
    let event: Value = match serde_json::from_slice(body) {
        Ok(event) => event,
        Err(error) => {
            let message = format!("Could not parse request body into json: {error}");
            return refused(400, "InvalidRequestContentException", &message);
        }
    };
    let fleet = fleet.until(fleet.journal().clock().now().plus_ms(TIMEOUT_MS));
    let version = ("x-amz-executed-version".to_owned(), "$LATEST".to_owned());
    match fleet.invoke(function, event).await {
        Ok(answer) => {
            Answer { status: 200, headers: vec![version], body: answer.to_string().into_bytes() }
        }
        Err(error) => {
            let failed = ("x-amz-function-error".to_owned(), "Unhandled".to_owned());
            let what = json!({ "errorType": error.kind(), "errorMessage": error.to_string() });
            let body = what.to_string().into_bytes();
            Answer { status: 200, headers: vec![version, failed], body }
        }
    }
}

fn refused(status: u16, kind: &str, message: &str) -> Answer {
    let body = json!({ "Type": "User", "Message": message }).to_string().into_bytes();
    Answer { status, headers: vec![("x-amzn-errortype".to_owned(), kind.to_owned())], body }
}
