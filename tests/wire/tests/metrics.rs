//! Metrics against their papers: the published rules of CloudWatch's embedded
//! metric format, and `docs/metrics.md`.
//!
//! The schema is a restatement of the one in the CloudWatch user guide; what it
//! can't say (references between members, numbers of values) is checked here.

use std::collections::{BTreeMap, BTreeSet};

use everlog::fleet::GiveBack;
use everlog::journal::JournalError;
use everlog::telemetry::emf::{self, METRICS, NAMESPACE, Scope};
use everlog::telemetry::{Count, Numbers, Tally};
use everlog::time::Timestamp;
use everlog_wire_tests::{in_repository, schema};
use serde_json::{Value, json};

const AT: Timestamp = Timestamp(1_796_000_000_000);
const SCOPE: Scope<'_> = Scope { fleet: "prod", function: "append" };

/// Everything that can be said, with `kinds`, `reasons` and `commands`.
fn all(kinds: &[&'static str], reasons: &[&'static str], commands: u64) -> Numbers {
    let tally = Tally::counting();
    for (times, count) in (1..).zip(Count::ALL) {
        tally.add(count, times);
    }
    kinds.iter().for_each(|kind| tally.rejected(kind));
    reasons.iter().for_each(|reason| tally.given_back(reason, 2));
    (0..commands).for_each(|ms| tally.answered_after(ms));
    tally.waited(70);
    tally.waited(20);
    tally.swept(60_000, 3);
    tally.swept(10, 4);
    let mut numbers = tally.numbers();
    (numbers.write_units, numbers.read_units) = (2.5, 0.5);
    numbers
}

fn parsed(numbers: &Numbers, scope: Scope<'_>) -> Vec<Value> {
    let lines = emf::lines(numbers, scope, AT);
    assert!(lines.iter().all(|line| !line.contains('\n')), "a line is one event");
    lines.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The published schema, restated.
fn published() -> Value {
    let units = "Seconds|Microseconds|Milliseconds|Bytes|Kilobytes|Megabytes|Gigabytes|Terabytes|\
                 Bits|Kilobits|Megabits|Gigabits|Terabits|Percent|Count";
    let rates = "Bytes|Kilobytes|Megabytes|Gigabytes|Terabytes|Bits|Kilobits|Megabits|Gigabits|\
                 Terabits|Count";
    let text = |max: u32| json!({ "type": "string", "minLength": 1, "maxLength": max });
    json!({
        "type": "object", "required": ["_aws"],
        "properties": { "_aws": {
            "type": "object", "required": ["Timestamp", "CloudWatchMetrics"],
            "properties": {
                "Timestamp": { "type": "integer" },
                "CloudWatchMetrics": { "type": "array", "items": {
                    "type": "object", "required": ["Namespace", "Dimensions", "Metrics"],
                    "properties": {
                        "Namespace": text(1_024),
                        "Dimensions": { "type": "array", "minItems": 1, "items": {
                            "type": "array", "minItems": 1, "maxItems": 30, "items": text(250) } },
                        "Metrics": { "type": "array", "maxItems": 100, "items": {
                            "type": "object", "required": ["Name"],
                            "properties": {
                                "Name": text(1_024),
                                "Unit": { "type": "string",
                                    "pattern": format!("^(({units}|None)|({rates})/Second)$") },
                                "StorageResolution": { "enum": [1, 60] },
                            },
                            "additionalProperties": false } },
                    },
                    "additionalProperties": false } },
            },
            "additionalProperties": false } },
    })
}

/// What the schema can't say: each name refers to a member of the right kind.
fn check_references(line: &Value) {
    for directive in line["_aws"]["CloudWatchMetrics"].as_array().expect("directives") {
        assert_eq!(directive["Namespace"], NAMESPACE);
        for name in directive["Dimensions"].as_array().expect("sets").iter().flat_map(|set| {
            set.as_array().expect("a set").iter().map(|name| name.as_str().expect("a name"))
        }) {
            let value = line[name].as_str().unwrap_or_else(|| panic!("{name} in {line}"));
            assert!((1..=1_024).contains(&value.len()) && value.is_ascii(), "{name}: {value}");
        }
        let mut names = BTreeSet::new();
        for metric in directive["Metrics"].as_array().expect("metrics") {
            let name = metric["Name"].as_str().expect("a name");
            assert!(names.insert(name), "{name} twice in {line}");
            match &line[name] {
                Value::Number(_) => {}
                Value::Array(values) => {
                    assert!((1..=100).contains(&values.len()), "{name}: {}", values.len());
                    assert!(values.iter().all(Value::is_number));
                }
                other => panic!("{name} is {other}"),
            }
        }
    }
}

fn check(numbers: &Numbers) -> Vec<Value> {
    let schema = jsonschema::validator_for(&published()).expect("a schema");
    let lines = parsed(numbers, SCOPE);
    for line in &lines {
        let wrong: Vec<String> = schema.iter_errors(line).map(|e| e.to_string()).collect();
        assert!(wrong.is_empty(), "{wrong:?} in {line}");
        check_references(line);
    }
    lines
}

/// Sums over lines, by metric and dimension beyond `Fleet` and `Function`.
fn sums(lines: &[Value]) -> BTreeMap<(String, String), f64> {
    let mut sums = BTreeMap::new();
    for line in lines {
        for directive in line["_aws"]["CloudWatchMetrics"].as_array().expect("directives") {
            let more = directive["Dimensions"][0][2].as_str();
            let more = more.map(|name| line[name].as_str().expect("a text").to_owned());
            for metric in directive["Metrics"].as_array().expect("metrics") {
                let name = metric["Name"].as_str().expect("a name").to_owned();
                let value = match &line[&name] {
                    Value::Array(values) => values.iter().filter_map(Value::as_f64).sum(),
                    value => value.as_f64().expect("a number"),
                };
                *sums.entry((name, more.clone().unwrap_or_default())).or_default() += value;
            }
        }
    }
    sums
}

#[test]
fn nothing_to_say_is_no_line_and_a_good_invocation_is_one() {
    assert_eq!(emf::lines(&Numbers::default(), SCOPE, AT), Vec::<String>::new());
    let lines = check(&all(&["fenced"], &["contended"], 10));
    assert_eq!(lines.len(), 1);
    let of = |name: &str| lines[0][name].clone();
    assert_eq!((of("Fleet"), of("Function")), (json!("prod"), json!("append")));
    assert_eq!((of("Fenced"), of("Rejected"), of("Kind")), (json!(1), json!(1), json!("fenced")));
    assert_eq!((of("Contended"), of("GivenBack")), (json!(2), json!(2)));
    assert_eq!((of("SweepLagMs"), of("SweepWoken")), (json!(60_000), json!(7)));
    assert_eq!((of("OldestOutstandingMs"), of("WriteUnits")), (json!(70), json!(2.5)));
    assert_eq!(of("CommandMs").as_array().map(Vec::len), Some(10));
    assert_eq!(lines[0]["_aws"]["Timestamp"], json!(AT.0));
}

#[test]
fn several_kinds_make_several_lines_whose_sums_are_right() {
    let lines = check(&all(&["fenced", "paused", "paused", "not_found"], &["waits", "relay"], 250));
    assert_eq!(lines.len(), 3);
    let sums = sums(&lines);
    let sum = |name: &str, more: &str| sums.get(&(name.to_owned(), more.to_owned())).copied();
    assert_eq!(sum("Rejected", ""), Some(4.0));
    assert_eq!((sum("Rejected", "paused"), sum("Rejected", "fenced")), (Some(2.0), Some(1.0)));
    assert_eq!((sum("GivenBack", ""), sum("GivenBack", "waits")), (Some(4.0), Some(2.0)));
    assert_eq!((sum("Fenced", ""), sum("Committed", "")), (Some(1.0), Some(1.0)));
    assert_eq!(sum("CommandMs", ""), Some(f64::from((0..250).sum::<u32>())));
}

#[test]
fn a_sweep_of_nothing_says_so() {
    let tally = Tally::counting();
    tally.swept(0, 0);
    let lines = check(&tally.numbers());
    assert_eq!((&lines[0]["SweepLagMs"], &lines[0]["SweepWoken"]), (&json!(0), &json!(0)));
}

#[test]
fn a_dimension_longer_than_cloudwatch_takes_is_cut() {
    let long = "x".repeat(300);
    let scope = Scope { fleet: &long, ..SCOPE };
    assert_eq!(parsed(&all(&[], &[], 1), scope)[0]["Fleet"].as_str().map(str::len), Some(250));
}

/// Rows of the tables of `docs/metrics.md`: the names in the first cell, and the second.
fn rows() -> Vec<(Vec<String>, String)> {
    let text = std::fs::read_to_string(in_repository("docs/metrics.md")).expect("the paper");
    let cells = |line: &str| -> Option<(Vec<String>, String)> {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let names = cells.next()?.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        Some((names, cells.next()?.to_owned()))
    };
    text.lines().filter(|line| line.starts_with("| `")).filter_map(cells).collect()
}

#[test]
fn the_paper_names_each_metric_with_its_unit_and_no_other() {
    let mut said = BTreeMap::new();
    for line in check(&all(&["fenced"], &["contended"], 1)) {
        for directive in line["_aws"]["CloudWatchMetrics"].as_array().expect("directives") {
            for metric in directive["Metrics"].as_array().expect("metrics") {
                let text = |name: &str| metric[name].as_str().expect("a text").to_owned();
                said.insert(text("Name"), text("Unit"));
            }
        }
    }
    let metrics = rows().into_iter().filter(|(_, unit)| unit == "Count" || unit == "Milliseconds");
    let named = metrics.flat_map(|(names, unit)| {
        names.into_iter().map(move |name| (name, unit.clone())).collect::<Vec<_>>()
    });
    let named: BTreeMap<String, String> = named.collect();
    assert_eq!(named, said);
    let listed = METRICS.map(|(name, unit)| (name.to_owned(), unit.to_owned()));
    assert_eq!(said, BTreeMap::from(listed));
}

#[test]
fn the_paper_says_what_to_do_for_each_kind_and_each_reason() {
    let named: BTreeSet<String> = rows().into_iter().flat_map(|(names, _)| names).collect();
    let answer = schema("answer").expect("a message");
    let variants = answer["$defs"]["Rejection"]["oneOf"].as_array().expect("kinds").clone();
    let kinds = variants.iter().filter_map(|kind| kind["properties"]["kind"]["const"].as_str());
    let kinds: Vec<&str> = kinds.collect();
    assert_eq!(kinds.len(), variants.len());
    let text = String::new;
    let journal = [
        JournalError::Throttled,
        JournalError::OutcomeUnknown(text()),
        JournalError::Unavailable(text()),
        JournalError::Newer { found: 9 },
        JournalError::Damaged(text()),
        JournalError::ClockSkewed(1),
        JournalError::Stale,
        JournalError::OtherIncarnation,
    ];
    let mut reasons: Vec<GiveBack> = journal.map(GiveBack::Journal).into();
    reasons.extend([
        GiveBack::Contended,
        GiveBack::Relay,
        GiveBack::Waits(1),
        GiveBack::Panicked(text()),
        GiveBack::OutOfTime,
        GiveBack::AfterFailure,
    ]);
    let reasons = reasons.iter().map(|reason| -> &str { reason.name() });
    for name in kinds.into_iter().chain(reasons) {
        assert!(named.contains(name), "docs/metrics.md does not name {name}");
    }
}
