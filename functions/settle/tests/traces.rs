//! Traces of the binary `settle`: what a collector sees, and that a collector
//! never holds up an invocation.

use std::time::{Duration, Instant};

use everlog::fleet::Function as Name;
use everlog_runtime_tests::{Collector, Function, Record, Span, Stack, batch, command, plan_of};
use everlog_sqs::{AttributeValue, ReceivedMessage};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_settle");
const NONE: [&str; 0] = [];
/// What `tests/runtime` says is Lambda's own trace.
const LAMBDA: (&str, &str) = ("5bef4de7ad49b0e87f6ef6c87fc2e700", "9a9197af755a6419");
const CALLER: (&str, &str) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");

/// Workflows of three tasks, their first dispatches, and the function with
/// these variables beside its own.
async fn fleet(count: u32, variables: &[(&str, &str)]) -> (Stack, Vec<Value>, Function) {
    let stack = Stack::start().await;
    let mut dispatches = Vec::new();
    for n in 0..count {
        let start = command("start", &format!("w-{n}"), plan_of(&["one", "two", "three"]));
        stack.setup(Name::Append, &start).await;
        dispatches.extend(stack.bodies("default").await);
    }
    let mut environment = stack.environment();
    environment.extend(variables.iter().map(|(name, value)| ((*name).into(), (*value).into())));
    let settle = Function::start_in(BINARY, environment).await;
    (stack, dispatches, settle)
}

fn attempt(dispatch: &Value) -> Value {
    json!({ "node": dispatch["node"], "attempt": dispatch["attempt"],
        "dispatch_key": dispatch["dispatch_key"] })
}

fn taken(dispatch: &Value) -> Record {
    let verb = json!({ "receipt": { "attempt": attempt(dispatch), "worker": "bee" } });
    evidence(dispatch, "receipt", verb)
}

fn settled(dispatch: &Value) -> Record {
    let outcome = json!({ "succeeded": {} });
    let verb = json!({ "settle": { "attempt": attempt(dispatch), "outcome": outcome } });
    evidence(dispatch, "settle", verb)
}

/// A message of the workflow's own group.
fn evidence(dispatch: &Value, what: &str, verb: Value) -> Record {
    let (workflow, node) = (text(dispatch, "workflow"), text(dispatch, "node"));
    let body = command(&format!("{what}-{node}"), workflow, verb);
    Record::new(format!("m-{what}-{workflow}"), body).in_group(format!("default#{workflow}"))
}

fn text<'a>(message: &'a Value, field: &str) -> &'a str {
    message[field].as_str().expect("a text")
}

fn traceparent((trace, span): (&str, &str)) -> String {
    format!("00-{trace}-{span}-01")
}

/// The span that a message says it was sent by.
fn sender(message: &ReceivedMessage) -> String {
    match message.attributes.get("traceparent").map(|attribute| &attribute.value) {
        Some(AttributeValue::Text(text)) => text.clone(),
        other => panic!("no traceparent: {other:?}"),
    }
}

fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

/// The one child of that name.
fn child<'a>(spans: &'a [Span], name: &str, parent: &Span) -> &'a Span {
    let found: Vec<_> = named(spans, name).into_iter().filter(|s| s.parent == parent.id).collect();
    assert_eq!(found.len(), 1, "{name} below {} in {spans:#?}", parent.name);
    assert_eq!(found[0].trace, parent.trace);
    found[0]
}

#[tokio::test]
async fn a_command_is_followed_through_load_decide_commit_and_relay_and_into_its_queues() {
    let collector = Collector::start().await;
    let (stack, dispatches, mut settle) = fleet(
        1,
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()), ("OTEL_SERVICE_NAME", "bees")],
    )
    .await;
    let sent = Record { traceparent: Some(traceparent(CALLER)), ..settled(&dispatches[0]) };
    assert_eq!(settle.serve(batch("settle", [sent])).await, NONE);
    assert_eq!(collector.exports(), 1, "exported before it was answered");
    let spans = collector.take(1).await;
    assert!(spans.iter().all(|span| span.resource["service.name"] == "bees"));
    let invocation = named(&spans, "invocation")[0];
    assert_eq!((&*invocation.trace, &*invocation.parent), LAMBDA);
    let command = named(&spans, "command")[0];
    assert_eq!((&*command.trace, &*command.parent), CALLER);
    assert_eq!(command.links, std::slice::from_ref(&invocation.id));
    let said = |name: &str| command.fields.get(name).map(String::as_str);
    assert_eq!((said("workflow"), said("verb")), (Some("w-0"), Some("settle")));
    assert_eq!((said("outcome"), said("head")), (Some("committed"), Some("4")));
    // A log that was loaded long ago is looked at again: at least once.
    let loads = named(&spans, "load");
    assert!(!loads.is_empty() && loads.iter().all(|load| load.parent == command.id));
    child(&spans, "decide", command);
    let commit = child(&spans, "commit", command);
    assert_eq!((&*commit.fields["outcome"], &*commit.fields["commit"]), ("landed", "2"));
    let relay = child(&spans, "relay", command);
    assert_eq!((&*relay.fields["queue"], &*relay.fields["left"]), ("default", "0"));
    let dispatched = &stack.receive("default").await[0];
    assert_eq!(sender(dispatched), traceparent((&relay.trace, &relay.id)));

    // The worker hands on what it was handed: one trace through both queues.
    let dispatch: Value = serde_json::from_str(&dispatched.body).expect("a dispatch");
    let sent = Record { traceparent: Some(sender(dispatched)), ..settled(&dispatch) };
    assert_eq!(settle.serve(batch("settle", [sent])).await, NONE);
    let spans = collector.take(2).await;
    let next = named(&spans, "command")[0];
    assert_eq!((&next.trace, &next.parent), (&relay.trace, &relay.id));
}

#[tokio::test]
async fn commands_of_one_commit_share_its_steps_and_a_failed_one_is_an_error() {
    let collector = Collector::start().await;
    let (stack, dispatches, mut settle) = fleet(
        2,
        &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &format!("{}/v1/traces", collector.url()))],
    )
    .await;
    stack.outage_of("w-1");
    let sent = [taken(&dispatches[0]), settled(&dispatches[0]), settled(&dispatches[1])];
    assert_eq!(settle.serve(batch("settle", sent)).await, ["m-settle-w-1"]);
    stack.end_outage();
    let spans = collector.take(1).await;
    let invocation = named(&spans, "invocation")[0];
    assert_eq!(invocation.resource["service.name"], "everlog-test", "the function's name");
    let commands = named(&spans, "command");
    assert_eq!(commands.len(), 3);
    assert!(commands.iter().all(|command| command.parent == invocation.id));
    let of = |workflow: &str| -> Vec<&Span> {
        commands.iter().copied().filter(|c| c.fields["workflow"] == workflow).collect()
    };
    let shared = of("w-0");
    assert!(shared.iter().all(|command| !command.error));
    for command in &shared {
        child(&spans, "decide", command);
    }
    assert_eq!(named(&spans, "commit").len(), 1, "one commit for both");
    let failed = of("w-1")[0];
    assert!(failed.error && !invocation.error);
    let said = (&*failed.fields["outcome"], &*failed.fields["kind"]);
    assert_eq!(said, ("given_back", "unavailable"));
}

#[tokio::test]
async fn what_is_not_sampled_or_not_asked_for_is_not_exported_and_costs_no_attribute() {
    let collector = Collector::start().await;
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    for variables in [
        &[endpoint, ("OTEL_SDK_DISABLED", "true")][..],
        &[endpoint, ("OTEL_TRACES_SAMPLER", "always_off")][..],
        &[][..],
    ] {
        let (stack, dispatches, mut settle) = fleet(1, variables).await;
        assert_eq!(settle.serve(batch("settle", [settled(&dispatches[0])])).await, NONE);
        let dispatched = &stack.receive("default").await[0];
        let sender = dispatched.attributes.get("traceparent").map(|a| a.value.clone());
        match sender {
            None => assert_ne!(variables.last().map(|v| v.1), Some("always_off")),
            Some(AttributeValue::Text(text)) => assert!(text.ends_with("-00"), "{text}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(collector.exports(), 0, "{variables:?}");
    }
}

#[tokio::test]
async fn a_silent_collector_costs_a_second_once_and_no_invocation() {
    let collector = Collector::start_silent().await;
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())];
    let (_stack, dispatches, mut settle) = fleet(4, &variables).await;
    let begun = Instant::now();
    for dispatch in &dispatches {
        assert_eq!(settle.serve(batch("settle", [settled(dispatch)])).await, NONE);
    }
    let took = begun.elapsed();
    assert_eq!(collector.exports(), 1, "not tried again for a while");
    assert!(took >= Duration::from_secs(1), "the first export was waited for: {took:?}");
}

#[tokio::test]
async fn a_collector_that_is_down_fails_no_invocation() {
    // Bound and dropped: nobody listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
    let url = format!("http://{}", port.expect("loopback has a free port"));
    let (stack, dispatches, mut settle) = fleet(1, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)]).await;
    assert_eq!(settle.serve(batch("settle", [settled(&dispatches[0])])).await, NONE);
    assert_eq!(stack.history("w-0").await.len(), 4);
    let metrics = settle.metrics().await;
    assert_eq!(metrics.len(), 1);
}

#[tokio::test]
async fn an_address_that_is_none_is_said_at_start_and_the_function_serves() {
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", "not an address")];
    let (_stack, dispatches, mut settle) = fleet(1, &variables).await;
    assert_eq!(settle.serve(batch("settle", [settled(&dispatches[0])])).await, NONE);
}
