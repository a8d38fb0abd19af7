//! Messages that are wrong: the schema and the parser both refuse them, so a
//! client that validates before it sends is never surprised by the other.

use everlog::command::parse;
use everlog_wire_tests::schema;
use serde_json::{Value, json};

fn command(verb: Value) -> Value {
    json!({ "id": "c-1", "workflow": "order-17", "command": verb })
}

fn with(field: &str, value: Value) -> Value {
    let mut command = command(json!({ "resume": {} }));
    command[field] = value;
    command
}

fn task(fields: Value) -> Value {
    let mut task = json!({ "id": "a" });
    task.as_object_mut()
        .expect("an object")
        .extend(fields.as_object().cloned().expect("an object"));
    command(json!({ "start": { "plan": { "tasks": [task] } } }))
}

fn settle(outcome: Value) -> Value {
    let attempt = json!({ "node": "a", "attempt": 1, "dispatch_key": "0".repeat(32) });
    command(json!({ "settle": { "attempt": attempt, "outcome": outcome } }))
}

fn attempt(activation: u32, attempt: u32, key: &str) -> Value {
    command(json!({ "receipt": {
        "attempt": {
            "node": "a", "activation": activation, "attempt": attempt, "dispatch_key": key,
        },
        "worker": "w",
    } }))
}

fn claim(generation: u64) -> Value {
    let owner = json!({ "owner": "o", "instance": "i", "generation": generation, "token": "t" });
    command(json!({ "claim": { "owner": owner } }))
}

fn prepare(fields: Value) -> Value {
    let mut intent = json!({ "node": "a", "type": "t" });
    intent
        .as_object_mut()
        .expect("an object")
        .extend(fields.as_object().cloned().expect("an object"));
    command(json!({ "prepare": { "intent": intent } }))
}

/// A wrong message, and the field that the parser must name.
type Wrong = (Value, &'static str);

fn envelopes() -> Vec<Wrong> {
    vec![
        (json!(7), "body"),
        (json!({}), "id"),
        (json!({ "workflow": "w", "command": { "resume": {} } }), "id"),
        (json!({ "id": "c", "command": { "resume": {} } }), "workflow"),
        (json!({ "id": "c", "workflow": "w" }), "command"),
        (with("id", json!("")), "id"),
        (with("id", json!("a".repeat(257))), "id"),
        (with("id", json!(1)), "id"),
        (with("workflow", json!("a#b")), "workflow"),
        (with("workflow", json!("café")), "workflow"),
        (with("workflow", json!("a b")), "workflow"),
        (with("namespace", Value::Null), "namespace"),
        (with("namespace", json!("a/b c")), "namespace"),
        (with("incarnation", json!(-1)), "incarnation"),
        (with("issued_at", json!("2026-11-30T00:00:00Z")), "issued_at"),
        (with("after_seq", json!(1.5)), "after_seq"),
        (with("reply_to", json!("https://sqs/1/q?x=1")), "reply_to"),
        (with("replyTo", json!("q")), "replyTo"),
        (command(json!({})), "command"),
        (command(json!("resume")), "command.resume"),
        (command(json!({ "explode": {} })), "command"),
        (command(json!({ "resume": {}, "pause": {} })), "command"),
        (command(json!({ "resume": { "reason": "r" } })), "command.resume.reason"),
        (command(json!({ "pause": { "reason": "r".repeat(1025) } })), "command.pause.reason"),
        (command(json!({ "cancel": { "reason": 1 } })), "command.cancel.reason"),
        (command(json!({ "signal": {} })), "command.signal.name"),
        (command(json!({ "signal": { "name": "a b" } })), "command.signal.name"),
    ]
}

fn starts() -> Vec<Wrong> {
    vec![
        (command(json!({ "start": { "colour": "red" } })), "command.start.colour"),
        (command(json!({ "start": { "max_concurrency": 0 } })), "command.start.max_concurrency"),
        (command(json!({ "start": { "attempts_max": 0 } })), "command.start.attempts_max"),
        (command(json!({ "start": { "plan": { "tasks": [] } } })), "command.start.plan.tasks"),
        (command(json!({ "start": { "plan": {} } })), "command.start.plan.tasks"),
        (
            command(json!({ "start": { "stored_plan": {
                "upload": "0".repeat(32), "hash": "0".repeat(32), "chunks": 0,
            } } })),
            "command.start.stored_plan.chunks",
        ),
        (
            command(json!({ "start": { "stored_plan": {
                "upload": "0".repeat(31), "hash": "0".repeat(32), "chunks": 1,
            } } })),
            "command.start.stored_plan.upload",
        ),
        (task(json!({ "id": "" })), "command.start.plan.tasks[0].id"),
        (task(json!({ "needs": ["b"] })), "command.start.plan.tasks[0].needs"),
        (task(json!({ "when": "sometimes" })), "command.start.plan.tasks[0].when"),
        (task(json!({ "command": [] })), "command.start.plan.tasks[0].command"),
        (task(json!({ "command": 1 })), "command.start.plan.tasks[0].command"),
        (task(json!({ "sleep_ms": -1 })), "command.start.plan.tasks[0].sleep_ms"),
        (
            task(json!({ "retry": { "max_attempts": 0 } })),
            "command.start.plan.tasks[0].retry.max_attempts",
        ),
        (
            task(json!({ "retry": { "max_attempts": 1001 } })),
            "command.start.plan.tasks[0].retry.max_attempts",
        ),
        (
            task(json!({ "retry": { "multiplier": 0.5 } })),
            "command.start.plan.tasks[0].retry.multiplier",
        ),
        (task(json!({ "retry": { "jitter": 2 } })), "command.start.plan.tasks[0].retry.jitter"),
        (task(json!({ "retry": { "backoff": 2 } })), "command.start.plan.tasks[0].retry.backoff"),
        (
            task(json!({ "timeouts": { "run_ms": 5 } })),
            "command.start.plan.tasks[0].timeouts.run_ms",
        ),
    ]
}

fn engines_and_workers() -> Vec<Wrong> {
    let events = vec![json!({ "kind": "k" }); 101];
    vec![
        (command(json!({ "append": { "events": [] } })), "command.append.expected_seq"),
        (
            command(json!({ "append": { "expected_seq": 1, "events": events } })),
            "command.append.events",
        ),
        (
            command(json!({ "append": { "expected_seq": 1, "close": { "ending": "done" } } })),
            "command.append.close.ending",
        ),
        (claim(0), "command.claim.owner.generation"),
        (prepare(json!({ "attempt": 0 })), "command.prepare.intent.attempt"),
        (prepare(json!({ "activation": 0 })), "command.prepare.intent.activation"),
        (prepare(json!({ "node": null })), "command.prepare.intent.node"),
        (settle(json!({})), "command.settle.outcome"),
        (
            settle(json!({ "succeeded": { "outptu": 1 } })),
            "command.settle.outcome.succeeded.outptu",
        ),
        (settle(json!({ "lost": { "why": "w" } })), "command.settle.outcome.lost.why"),
        (attempt(0, 1, &"0".repeat(32)), "command.receipt.attempt.activation"),
        (attempt(1, 0, &"0".repeat(32)), "command.receipt.attempt.attempt"),
        (attempt(1, 1, &"A".repeat(32)), "command.receipt.attempt.dispatch_key"),
        (attempt(1, 1, &"+0".repeat(16)), "command.receipt.attempt.dispatch_key"),
        (settle(json!("succeeded")), "command.settle.outcome.succeeded"),
        (settle(json!({ "exploded": {} })), "command.settle.outcome"),
        (settle(json!({ "failed": {} })), "command.settle.outcome.failed.kind"),
        (
            settle(json!({ "failed": { "kind": "k", "code": 1 } })),
            "command.settle.outcome.failed.code",
        ),
    ]
}

#[test]
fn a_wrong_command_is_refused_by_the_schema_and_by_the_parser_which_names_the_field() {
    let schema = schema("command").expect("a schema");
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let mut other = Vec::new();
    for (message, field) in [envelopes(), starts(), engines_and_workers()].concat() {
        assert!(!validator.is_valid(&message), "the schema accepts {message}");
        match parse(&message.to_string()) {
            Ok(command) => panic!("the parser accepts {message}: {command:?}"),
            Err(unreadable) if unreadable.invalid.field == field => {}
            Err(unreadable) => other.push(format!("{message}: {}", unreadable.invalid)),
        }
    }
    assert!(other.is_empty(), "the parser names other fields: {other:#?}");
}

#[test]
fn a_wrong_wake_or_left_over_is_refused_by_the_schema_and_by_the_type() {
    let wakes = [
        json!({}),
        json!({ "namespace": "default" }),
        json!({ "namespace": "default", "workflow": "a#b" }),
        json!({ "namespace": "default", "workflow": "w", "relay": "yes" }),
        json!({ "namespace": "default", "workflow": "w", "at": 1 }),
    ];
    let left_overs = [
        json!({ "namespace": "default", "workflow": "w", "incarnation": 1 }),
        json!({ "namespace": "default", "workflow": "w", "incarnation": 1, "commit": -1 }),
        json!({ "namespace": "default", "workflow": "w", "incarnation": 1, "commit": 1, "seq": 1 }),
    ];
    let validator = |kind| {
        let schema = schema(kind).expect("a schema");
        jsonschema::draft202012::new(&schema).expect("a schema")
    };
    let (wake, left_over) = (validator("wake"), validator("left-over"));
    for message in wakes {
        assert!(!wake.is_valid(&message), "the schema accepts {message}");
        let read = serde_json::from_value::<everlog::message::Wake>(message.clone());
        assert!(read.is_err(), "the type accepts {message}");
    }
    for message in left_overs {
        assert!(!left_over.is_valid(&message), "the schema accepts {message}");
        let read = serde_json::from_value::<everlog::message::LeftOver>(message.clone());
        assert!(read.is_err(), "the type accepts {message}");
    }
}
