//! The examples of `docs/wire.md`: each agrees with its schema, with the type,
//! and, if it is a command, with the parser.

use std::collections::BTreeSet;

use everlog::answer::Answer;
use everlog::command::parse;
use everlog::id::{DispatchKey, Incarnation, NodeId};
use everlog::message::{DeadLetter, Dispatch, LeftOver, Wake};
use everlog_wire_tests::{MESSAGES, fenced, in_repository, schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Kind and content of every JSON block of `docs/wire.md`.
fn examples() -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(in_repository("docs/wire.md")).expect("docs/wire.md");
    let blocks = fenced(&text).into_iter().filter_map(|(info, content)| {
        let kind = info.strip_prefix("json")?.trim().to_owned();
        let value = serde_json::from_str(&content);
        Some((kind, value.unwrap_or_else(|error| panic!("not JSON: {error}\n{content}"))))
    });
    let examples: Vec<(String, Value)> = blocks.collect();
    for (kind, example) in &examples {
        assert!(
            MESSAGES.contains(&kind.as_str()),
            "write after ```json which message it is, one of {MESSAGES:?}:\n{example:#}"
        );
    }
    examples
}

fn of(kind: &str) -> Vec<Value> {
    examples().into_iter().filter(|(k, _)| k == kind).map(|(_, example)| example).collect()
}

#[test]
fn every_example_agrees_with_its_schema() {
    let examples = examples();
    for kind in MESSAGES {
        let schema = schema(kind).expect("a kind of message");
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        let own: Vec<&Value> =
            examples.iter().filter(|(k, _)| k == kind).map(|(_, example)| example).collect();
        assert!(!own.is_empty(), "docs/wire.md shows no {kind}");
        for example in own {
            let errors: Vec<String> = validator
                .iter_errors(example)
                .map(|e| format!("{} {e}", e.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{kind}: {errors:#?}\n{example:#}");
        }
    }
}

#[test]
fn every_example_of_a_command_is_accepted_by_the_parser_and_every_verb_is_shown() {
    let mut shown = BTreeSet::new();
    for example in of("command") {
        match parse(&example.to_string()) {
            Ok(command) => shown.insert(command.command.name()),
            Err(unreadable) => panic!("{}\n{example:#}", unreadable.invalid),
        };
    }
    let verbs = schema("command").expect("a schema")["$defs"]["Verb"]["oneOf"].clone();
    for verb in verbs.as_array().expect("the verbs") {
        let name = verb["required"][0].as_str().expect("a name");
        assert!(shown.contains(name), "docs/wire.md shows no {name}");
    }
}

#[test]
fn every_example_of_what_the_fleet_writes_is_written_exactly_so() {
    fn same<T: Serialize + DeserializeOwned>(kind: &str) {
        for example in of(kind) {
            let read: T = serde_json::from_value(example.clone())
                .unwrap_or_else(|error| panic!("{kind}: {error}\n{example:#}"));
            assert_eq!(serde_json::to_value(read).expect("JSON"), example, "{kind}");
        }
    }
    same::<Answer>("answer");
    same::<Dispatch>("dispatch");
    same::<Wake>("wake");
    same::<LeftOver>("left-over");
    same::<DeadLetter>("dead-letter");
}

#[test]
fn every_dispatch_key_of_the_examples_is_the_key_of_its_attempt() {
    let mut seen = 0;
    for (_, example) in examples() {
        let attempts =
            ["receipt", "heartbeat", "settle"].map(|v| &example["command"][v]["attempt"]);
        for attempt in attempts.into_iter().chain([&example]) {
            let Some(key) = attempt["dispatch_key"].as_str() else { continue };
            let node = attempt["node"].as_str().expect("a node");
            let number = |name: &str| attempt[name].as_u64().and_then(|n| u32::try_from(n).ok());
            let partition = format!(
                "{}#{}",
                example["namespace"].as_str().unwrap_or("default"),
                example["workflow"].as_str().expect("a workflow"),
            );
            let derived = DispatchKey::derive(
                &partition,
                Incarnation(example["incarnation"].as_u64().expect("an incarnation")),
                1,
                &NodeId::new(node).expect("an id"),
                number("activation").unwrap_or(1),
                number("attempt").expect("a number"),
            );
            assert_eq!(key, derived.to_string(), "{example:#}");
            seen += 1;
        }
    }
    assert!(seen > 0, "docs/wire.md shows no dispatch key");
}
