//! Templates in which something is wrong, and whether that is found.
//!
//! Tests take a copy of the document, spoil it, and name the check that must
//! find it. A path that is not there is a panic: a template that has changed
//! must not make a test say nothing.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde_json::Value;

use crate::{Template, checks, of_the_repository};

/// The document of the repository.
///
/// # Panics
/// If it is not there.
#[must_use]
pub fn document() -> Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(of_the_repository).clone()
}

/// Where resources stand: in the template, and in the one that it nests.
pub const RESOURCES: [&str; 2] = ["/Resources", "/Nested/watch.yaml/Resources"];

/// Spoils the document, and wants a check to find that.
///
/// # Panics
/// If it does not, or if nothing was spoiled.
#[track_caller]
pub fn found_by(check: &str, what: &str, spoil: impl FnOnce(&mut Value)) {
    let mut spoiled = document();
    spoil(&mut spoiled);
    assert_ne!(spoiled, document(), "{what}: nothing was spoiled");
    let known = checks::ALL.iter().find(|(name, _)| *name == check);
    let (_, find) = known.unwrap_or_else(|| panic!("there is no check {check}"));
    let spoiled = Template::new(spoiled);
    let findings = find(&spoiled);
    if let Some(first) = findings.first() {
        println!("{what}: {check} finds {first}");
        return;
    }
    let others: BTreeSet<&str> = checks::run(&spoiled).into_iter().map(|(name, _)| name).collect();
    panic!("{what}: {check} finds nothing; {others:?} do");
}

/// The value at a path of the resources.
///
/// # Panics
/// If there is no such path.
pub fn at<'a>(document: &'a mut Value, path: &str) -> &'a mut Value {
    let whole = RESOURCES.map(|within| format!("{within}/{path}"));
    let there = whole.iter().find(|whole| document.pointer(whole).is_some());
    let there = there.unwrap_or_else(|| panic!("there is no {path}"));
    document.pointer_mut(there).expect("it was there")
}

/// Takes away the field or item at a path.
///
/// # Panics
/// If there is no such path.
pub fn remove(document: &mut Value, path: &str) {
    let (within, name) = path.rsplit_once('/').expect("a path");
    match at(document, within) {
        Value::Object(fields) => fields.remove(name).map(drop),
        Value::Array(items) => name.parse().ok().map(|at: usize| drop(items.remove(at))),
        other => panic!("nothing can be taken from {other}"),
    }
    .unwrap_or_else(|| panic!("there is no {path}"));
}

/// Logical ids of the resources of a type.
#[must_use]
pub fn of_kind(kind: &str) -> Vec<String> {
    let document = document();
    let all = RESOURCES.iter().flat_map(|within| {
        document.pointer(within).and_then(Value::as_object).into_iter().flatten()
    });
    let all = all.filter(|(_, resource)| resource["Type"] == kind);
    all.map(|(id, _)| id.clone()).collect()
}

/// Logical ids of the resources of a type that have something at a path.
///
/// # Panics
/// If none has.
#[must_use]
pub fn with(kind: &str, path: &str) -> Vec<String> {
    let document = document();
    let has = |id: &String| document.pointer(&format!("/Resources/{id}/{path}")).is_some();
    let all: Vec<String> = of_kind(kind).into_iter().filter(has).collect();
    assert!(!all.is_empty(), "no {kind} has {path}");
    all
}
