//! Lambda's Invoke call on the embedded port, by an SDK's own client.

use std::time::Duration;

use aws_sdk_lambda::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_lambda::error::ProvideErrorMetadata;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::InvocationType;
use everlog::client::{self, CallError, Client};
use everlog::command::Command;
use everlog_worker_tests::Embedded;
use serde_json::{Value, json};

fn lambda(fleet: &Embedded) -> aws_sdk_lambda::Client {
    client::configure(
        aws_sdk_lambda::Config::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("anybody", "unchecked", None, None, "test"))
            .endpoint_url(fleet.url())
            .http_client(aws_smithy_http_client::Builder::new().build_http()),
    )
}

fn command(body: Value) -> Command {
    serde_json::from_value(body).expect("a command")
}

#[tokio::test]
async fn a_command_by_invocation_is_answered_and_its_repeat_changes_nothing() {
    let fleet = Embedded::start().await;
    let client = Client::lambda(lambda(&fleet), "everlog");
    let start = json!({ "plan": { "tasks": [{ "id": "a", "type": "a" }] } });
    let start = command(json!({ "id": "s", "workflow": "w", "command": { "start": start } }));
    let patience = Duration::from_secs(10);
    for outcome in ["committed", "unchanged"] {
        let answer = client.call(&start, patience).await.expect("an answer");
        let answer = serde_json::to_value(answer).expect("JSON");
        assert_eq!(answer["outcome"], outcome);
    }
    let receipt = json!({ "receipt": { "worker": "x", "attempt": {
        "node": "a", "attempt": 1, "dispatch_key": "00".repeat(16),
    } } });
    let receipt = command(json!({ "id": "r", "workflow": "w", "command": receipt }));
    let answer = client.call(&receipt, patience).await.expect("a refusal is an answer");
    let answer = serde_json::to_value(answer).expect("JSON");
    assert_eq!(answer["rejection"]["kind"], "conflict", "{answer}");
}

#[tokio::test]
async fn a_fleet_that_is_not_there_is_the_deployments_fault() {
    let fleet = Embedded::start().await;
    let client = Client::lambda(lambda(&fleet), "another");
    let cancel = command(json!({ "id": "c", "workflow": "w", "command": { "cancel": {} } }));
    let error = client.call_once(&cancel).await.expect_err("no such function");
    assert!(matches!(&error, CallError::Deployment(why) if why.contains("not found")), "{error}");
}

#[tokio::test]
async fn an_event_that_nobody_sends_fails_the_function_and_says_that_it_is_unreadable() {
    let fleet = Embedded::start().await;
    let call = lambda(&fleet).invoke().function_name("everlog-timer-sweep");
    let answer = call.payload(Blob::new("{}")).send().await.expect("the call itself is served");
    assert_eq!((answer.status_code(), answer.function_error()), (200, Some("Unhandled")));
    let payload = answer.payload().expect("it says why").as_ref();
    let failure: Value = serde_json::from_slice(payload).expect("JSON");
    assert_eq!(failure["errorType"], "Unreadable");
}

#[tokio::test]
async fn what_is_no_json_and_what_waits_for_no_answer_is_refused_by_its_type() {
    let fleet = Embedded::start().await;
    let invoke = || lambda(&fleet).invoke().function_name("everlog-settle");
    let error = invoke().payload(Blob::new("{")).send().await.expect_err("no JSON");
    let error = error.into_service_error();
    assert!(error.is_invalid_request_content_exception(), "{error:?}");
    let event = invoke().invocation_type(InvocationType::Event).payload(Blob::new("{}"));
    let error = event.send().await.expect_err("it would not wait").into_service_error();
    assert_eq!(error.code(), Some("InvalidParameterValueException"), "{error:?}");
}
