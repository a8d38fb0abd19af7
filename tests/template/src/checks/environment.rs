//! The functions' environment: what the template sets against what the code
//! reads.
//!
//! The configuration is asked through a lookup that takes notes. What is read
//! elsewhere (telemetry, the mains) is found by its literal in the sources: a
//! variable that the code names and the template does not set is a finding,
//! unless Lambda sets it or OpenTelemetry names it (those are all optional), and
//! the other way round.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use everlog::config::Config;
use everlog_local::stack::TASK_QUEUE;
use serde_json::Value;

use crate::document::in_repository;
use crate::parameters::{EXTRA, STACK};
use crate::{Finding, Resource, Template};

/// Beginnings of what need not be set: Lambda's own, and what is optional.
const NOT_OURS: [&str; 4] = ["AWS_", "LAMBDA_", "_X_AMZN_", "OTEL_"];
/// Beginnings of the names of variables.
const PREFIXES: [&str; 2] = ["EVERLOG_", "OTEL_"];
/// Sources that run in the functions. `worker` is for programs beside them.
const SOURCES: [&str; 7] = [
    "shared/src",
    "functions/runtime/src",
    "functions/append/src",
    "functions/prepare/src",
    "functions/settle/src",
    "functions/timer-sweep/src",
    "functions/outbox-dispatch/src",
];

fn variable(function: &Resource, name: &str) -> Option<String> {
    match &function.properties["Environment"]["Variables"][name] {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Variables that the sources name as a whole literal.
#[must_use]
pub fn named_by_the_sources() -> &'static BTreeSet<String> {
    static NAMED: OnceLock<BTreeSet<String>> = OnceLock::new();
    NAMED.get_or_init(|| {
        let mut named = BTreeSet::new();
        for folder in SOURCES {
            named_within(&in_repository(folder), &mut named);
        }
        named
    })
}

fn named_within(path: &Path, named: &mut BTreeSet<String>) {
    let Ok(entries) = std::fs::read_dir(path) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && name != "worker" {
            named_within(&path, named);
        } else if name.ends_with(".rs") && name != "worker.rs" {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            let literals = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
            let is = |literal: &&str| {
                let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
                literal.chars().all(plain) && PREFIXES.iter().any(|p| literal.starts_with(p))
            };
            named.extend(literals.filter(is).map(str::to_owned));
        }
    }
}

/// The names are equal in both directions, and the values make a configuration.
pub fn the_environment_is_what_the_code_reads(template: &Template) -> Vec<Finding> {
    let mut set_somewhere: BTreeSet<String> = BTreeSet::new();
    let mut read = named_by_the_sources().clone();
    let mut found = template.in_each_stack(|stack, found| {
        for (id, function) in stack.functions() {
            let asked = RefCell::new(BTreeSet::new());
            let config = Config::from_lookup(|name| {
                asked.borrow_mut().insert(name.to_owned());
                variable(function, name)
            });
            if let Err(error) = config {
                found.push(Finding::new(id, error.to_string()));
            }
            read.extend(asked.into_inner());
            let variables = function.properties["Environment"]["Variables"].as_object();
            for (name, value) in variables.into_iter().flatten() {
                set_somewhere.insert(name.clone());
                if variable(function, name).is_none_or(|value| value.is_empty()) {
                    found.push(Finding::new(id, format!("{name} is set to {value}")));
                }
            }
            let table =
                stack.of_kind("AWS::DynamoDB::Table").find_map(|(_, t)| t.reference.clone());
            let parameter = |name: &str| Some(stack.set.values.get(name)?.as_str()?.to_owned());
            let traced = parameter("OtlpEndpoint");
            let service = traced.is_some().then(|| STACK.to_owned());
            for (name, wanted) in [
                ("EVERLOG_FLEET", Some(STACK.to_owned())),
                ("EVERLOG_TABLE", table),
                ("OTEL_EXPORTER_OTLP_ENDPOINT", traced),
                ("OTEL_SERVICE_NAME", service),
            ] {
                let told = variable(function, name);
                if told != wanted {
                    found.push(Finding::new(id, format!("{name} is {told:?}, not {wanted:?}")));
                }
            }
        }
    });
    let ours = |name: &&String| !NOT_OURS.iter().any(|prefix| name.starts_with(prefix));
    for name in read.difference(&set_somewhere).filter(ours) {
        found.push(Finding::new("Globals", format!("{name} is read and never set")));
    }
    for name in set_somewhere.difference(&read) {
        found.push(Finding::new("Globals", format!("{name} is set and never read")));
    }
    found
}

/// `EVERLOG_QUEUES` has the logical names of the embedded fleet, each once, at
/// addresses of queues of this stack (or the user's own), and so has the output.
pub fn queues_are_those_that_the_code_names(template: &Template) -> Vec<Finding> {
    use everlog::config::{APPEND, DEAD_LETTER, OUTBOX, PREPARE, QUARANTINE, SETTLE, WAKE};
    let wanted =
        [APPEND, PREPARE, SETTLE, WAKE, OUTBOX, DEAD_LETTER, QUARANTINE, TASK_QUEUE, "replies"];
    template.in_each_stack(|stack, found| {
        let extra = stack.set.values.contains_key("ExtraQueues");
        let wanted: BTreeSet<&str> = wanted.iter().copied().chain(extra.then_some(EXTRA)).collect();
        for (id, function) in stack.functions() {
            let told = variable(function, "EVERLOG_QUEUES").unwrap_or_default();
            let told: Value = serde_json::from_str(&told).unwrap_or_default();
            let names: BTreeSet<&str> =
                told.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            if names != wanted {
                let differ: Vec<&&str> = names.symmetric_difference(&wanted).collect();
                found.push(Finding::new(id, format!("EVERLOG_QUEUES differs by {differ:?}")));
            }
            for (name, url) in told.as_object().into_iter().flatten() {
                let mut queues = stack.queues();
                let there = queues.any(|(_, queue)| queue.reference.as_deref() == url.as_str());
                if !there && name != EXTRA {
                    found.push(Finding::new(id, format!("{name} is no queue of this stack")));
                }
            }
            if stack.output("Queues").as_str().and_then(|text| serde_json::from_str(text).ok())
                != Some(told)
            {
                found.push(Finding::new("Outputs", "Queues are not what the functions have"));
            }
        }
    })
}
