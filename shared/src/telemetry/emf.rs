//! CloudWatch's embedded metric format: a line of a log that says which of its
//! members are metrics.
//!
//! It promises lines that hold to the published specification: at most 100
//! metrics and 100 values each, units that CloudWatch knows, dimensions of at
//! most 250 characters and never empty. What did not happen is left out.
//!
//! It deliberately writes only what `docs/metrics.md` names, and no text that a
//! caller chose: dimensions are few and known.
//!
//! It can't fail. A dimension has one value a line, so an invocation that
//! refused for several kinds of reason makes several lines; sums over them are
//! right, since every line has its own share.
//!
//! # Source
//! CloudWatch user guide, "Specification: embedded metric format".

use serde_json::{Map, Value, json};

use super::{Count, Numbers};
use crate::time::Timestamp;

/// The namespace of all metrics.
pub const NAMESPACE: &str = "Everlog";
/// All metrics, with their units.
pub const METRICS: [(&str, &str); 19] = [
    ("Committed", "Count"),
    ("Unchanged", "Count"),
    ("Conflict", "Count"),
    ("Contended", "Count"),
    ("Fenced", "Count"),
    ("Throttled", "Count"),
    ("UnknownAtFirst", "Count"),
    ("Unknown", "Count"),
    ("Rejected", "Count"),
    ("GivenBack", "Count"),
    ("Redelivered", "Count"),
    ("DeadLettered", "Count"),
    ("Quarantined", "Count"),
    ("SweepLagMs", "Milliseconds"),
    ("SweepWoken", "Count"),
    ("OldestOutstandingMs", "Milliseconds"),
    ("CommandMs", "Milliseconds"),
    ("WriteUnits", "Count"),
    ("ReadUnits", "Count"),
];
/// Characters of a dimension's value.
const DIMENSION_CHARS_MAX: usize = 250;
/// Values of one metric in one line.
const VALUES_MAX: usize = 100;

/// Whose numbers they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope<'a> {
    /// The deployment; cut at 250 characters.
    pub fleet: &'a str,
    /// The function.
    pub function: &'static str,
}

/// The lines that say these numbers: none where there is nothing to say, one
/// nearly always, more as the module says.
#[must_use]
pub fn lines(numbers: &Numbers, scope: Scope<'_>, at: Timestamp) -> Vec<String> {
    let rejected: Vec<_> = numbers.rejected.iter().collect();
    let given_back: Vec<_> = numbers.given_back.iter().collect();
    let times: Vec<&[u64]> = numbers.command_ms.chunks(VALUES_MAX).collect();
    let count = [1, rejected.len(), given_back.len(), times.len()].into_iter().max().unwrap_or(1);
    let line = |at_line: usize| {
        let mut line = Line::default();
        if at_line == 0 {
            line.once(numbers);
        }
        if let Some((kind, times)) = rejected.get(at_line) {
            line.by("Rejected", "Kind", kind, **times);
            if **kind == "fenced" {
                line.put("Fenced", json!(times));
            }
        }
        if let Some((reason, times)) = given_back.get(at_line) {
            line.by("GivenBack", "Reason", reason, **times);
            if **reason == "contended" {
                line.put("Contended", json!(times));
            }
        }
        if let Some(values) = times.get(at_line) {
            line.put("CommandMs", json!(values));
        }
        line.written(scope, at)
    };
    (0..count).filter_map(line).collect()
}

/// A line in the making.
#[derive(Default)]
struct Line {
    /// Definitions under the dimensions `Fleet` and `Function`.
    metrics: Vec<Value>,
    /// Directives with one dimension more.
    more: Vec<Value>,
    /// What the definitions refer to.
    members: Map<String, Value>,
}

impl Line {
    /// What has no dimension of its own.
    fn once(&mut self, numbers: &Numbers) {
        for count in Count::ALL {
            if numbers.of(count) > 0 {
                self.put(count.name(), json!(numbers.of(count)));
            }
        }
        if let Some(swept) = numbers.swept {
            self.put("SweepLagMs", json!(swept.lag_ms));
            self.put("SweepWoken", json!(swept.woken));
        }
        if let Some(oldest_ms) = numbers.oldest_ms {
            self.put("OldestOutstandingMs", json!(oldest_ms));
        }
        for (name, units) in
            [("WriteUnits", numbers.write_units), ("ReadUnits", numbers.read_units)]
        {
            if units > 0.0 {
                self.put(name, json!(units));
            }
        }
    }

    fn put(&mut self, name: &str, value: Value) {
        let unit = METRICS.iter().find(|(metric, _)| *metric == name).map(|(_, unit)| unit);
        self.metrics.push(json!({ "Name": name, "Unit": unit }));
        self.members.insert(name.to_owned(), value);
    }

    /// A metric that also has a dimension of its own.
    fn by(&mut self, name: &str, dimension: &str, value: &str, times: u64) {
        self.put(name, json!(times));
        self.members.insert(dimension.to_owned(), json!(value));
        self.more.push(json!({
            "Namespace": NAMESPACE,
            "Dimensions": [["Fleet", "Function", dimension]],
            "Metrics": [{ "Name": name, "Unit": "Count" }],
        }));
    }

    fn written(mut self, scope: Scope<'_>, at: Timestamp) -> Option<String> {
        if self.metrics.is_empty() {
            return None;
        }
        let mut directives = vec![json!({
            "Namespace": NAMESPACE,
            "Dimensions": [["Fleet", "Function"]],
            "Metrics": self.metrics,
        })];
        directives.append(&mut self.more);
        let fleet: String = scope.fleet.chars().take(DIMENSION_CHARS_MAX).collect();
        self.members.insert("Fleet".into(), json!(fleet));
        self.members.insert("Function".into(), json!(scope.function));
        let meta = json!({ "Timestamp": at.0, "CloudWatchMetrics": directives });
        self.members.insert("_aws".into(), meta);
        Some(Value::Object(self.members).to_string())
    }
}
