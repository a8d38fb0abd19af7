//! Everything is taken away from the template, one thing at a time. What no
//! check misses is listed, with the reason why nobody has to.

use std::collections::BTreeSet;

use everlog_template_tests::spoil::{RESOURCES, document};
use everlog_template_tests::{Template, checks};
use serde_json::Value;

/// Every path below a value.
fn paths(value: &Value, here: &str, all: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, v)| (name.replace('/', "~1"), v)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(n, v)| (n.to_string(), v)).collect(),
        _ => Vec::new(),
    };
    for (name, value) in below {
        let path = format!("{here}/{name}");
        all.push(path.clone());
        paths(value, &path, all);
    }
}

/// What may go without a check finding it, and why: the beginning and the end
/// of its path.
const NOBODY_MISSES: [(&str, &str, &str); 4] = [
    ("", "/Sid", "names a statement, for people"),
    ("", "/Description", "for people"),
    ("", "/Description/Fn::Sub", "for people"),
    ("/Globals/Function/CodeUri", "", "`.` is what SAM assumes"),
];

/// The reason why nobody has to miss it, if there is one.
fn reason(path: &str) -> Option<&'static str> {
    let is = |(begin, end, _): &&(&str, &str, &str)| path.starts_with(begin) && path.ends_with(end);
    NOBODY_MISSES.iter().find(is).map(|(_, _, why)| *why)
}

#[test]
fn whatever_is_taken_away_is_missed_or_need_not_be() {
    let whole = document();
    let mut all = Vec::new();
    paths(&whole["Globals"], "/Globals", &mut all);
    for within in RESOURCES {
        paths(whole.pointer(within).expect("resources"), within, &mut all);
    }
    let mut survivors = Vec::new();
    let mut reasons = BTreeSet::new();
    for path in &all {
        let mut spoiled = whole.clone();
        let (within, name) = path.rsplit_once('/').expect("a path");
        match spoiled.pointer_mut(within).expect("it is there") {
            Value::Object(fields) => drop(fields.remove(&name.replace("~1", "/"))),
            Value::Array(items) => drop(items.remove(name.parse().expect("a number"))),
            _ => unreachable!("only objects and lists have something below"),
        }
        let few = ["defaults", "all of it", "RefusePlainHttp = \"false\""];
        let spoiled = Template::under(spoiled, |set| few.contains(&set.name.as_str()));
        if checks::run(&spoiled).is_empty() {
            match reason(path) {
                Some(why) => drop(reasons.insert(why)),
                None => survivors.push(path.as_str()),
            }
        }
    }
    println!("{} things taken away", all.len());
    assert!(survivors.is_empty(), "{} are not missed:\n{}", survivors.len(), survivors.join("\n"));
    let given: BTreeSet<&str> = NOBODY_MISSES.iter().map(|(_, _, why)| *why).collect();
    assert_eq!(reasons, given, "a reason that nothing needs any more");
}
