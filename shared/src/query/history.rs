//! Events with their names: positions of a plan become task ids again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::commit::Commit;
use crate::event::{Event, Outcome, Started, Target, Timeout, TimerKey, WaitEnd};
use crate::payload::Payload;
use crate::plan::Plan;
use crate::time::Timestamp;

/// One event of a history, as readers see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEvent {
    /// Its sequence number.
    pub seq: u64,
    /// When it was recorded, milliseconds since 1970.
    pub recorded_at: Timestamp,
    /// What kind of event it is.
    pub event: String,
    /// What it says.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// The events of some commits, in order. `plan` gives tasks their names.
#[must_use]
pub fn events_of(commits: &[(u64, Commit)], plan: Option<&Plan>) -> Vec<HistoryEvent> {
    let all = commits.iter().flat_map(|(_, commit)| {
        let numbered = commit.events.iter().zip(commit.first_seq..);
        numbered.map(|(event, seq)| (commit.time, seq, event))
    });
    all.map(|(recorded_at, seq, event)| {
        let (name, mut fields) = describe(event, plan);
        fields.retain(|_, value| !value.is_null());
        HistoryEvent { seq, recorded_at, event: name.into(), fields }
    })
    .collect()
}

fn name_of(node: u32, plan: Option<&Plan>) -> Value {
    match plan {
        Some(plan) if (node as usize) < plan.nodes.len() => json!(plan.node(node).id),
        _ => json!(node),
    }
}

fn payload(payload: Option<&Payload>) -> Value {
    payload.and_then(|p| serde_json::to_value(p).ok()).unwrap_or(Value::Null)
}

fn attempt(target: &Target, n: u32, plan: Option<&Plan>) -> Map<String, Value> {
    let mut fields = Map::new();
    match target {
        Target::Planned(node) => fields.insert("node".into(), name_of(*node, plan)),
        Target::Driven(node, activation) => {
            fields.insert("activation".into(), json!(activation));
            fields.insert("node".into(), json!(node))
        }
    };
    fields.insert("attempt".into(), json!(n));
    fields
}

fn timer(timer: &TimerKey, plan: Option<&Plan>) -> Map<String, Value> {
    match timer {
        TimerKey::Node(node) => object([("node", name_of(*node, plan))]),
        TimerKey::Named(name) => object([("timer", json!(name))]),
    }
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn with<const N: usize>(
    mut map: Map<String, Value>,
    fields: [(&str, Value); N],
) -> Map<String, Value> {
    map.extend(object(fields));
    map
}

fn outcome(outcome: &Outcome) -> [(&'static str, Value); 2] {
    match outcome {
        Outcome::Succeeded(output) => {
            [("outcome", json!("succeeded")), ("output", payload(output.as_ref()))]
        }
        Outcome::Failed(failure) => [("outcome", json!("failed")), ("failure", json!(failure))],
        Outcome::Cancelled => [("outcome", json!("cancelled")), ("output", Value::Null)],
        Outcome::Lost => [("outcome", json!("lost")), ("output", Value::Null)],
        Outcome::TimedOut(timeout) => {
            let which = match timeout {
                Timeout::ScheduleToStart => "schedule_to_start",
                Timeout::StartToClose => "start_to_close",
                Timeout::Heartbeat => "heartbeat",
            };
            [("outcome", json!("timed_out")), ("timeout", json!(which))]
        }
    }
}

fn started(started: &Started) -> Map<String, Value> {
    let labels = started.labels.as_deref();
    let attributes = labels.map(|l| &l.attributes).filter(|attributes| !attributes.is_empty());
    object([
        ("type", json!(started.workflow_type)),
        ("run", json!(started.run)),
        ("previous_start_seq", json!(started.previous.map(|run| run.seq))),
        ("package", json!(started.package)),
        ("planned", json!(started.plan.is_some())),
        ("input", payload(started.input.as_ref())),
        ("deadline", json!(started.deadline)),
        ("max_concurrency", json!(started.concurrency)),
        ("attempts_max", json!(started.attempts_max)),
        ("display_name", json!(labels.and_then(|l| l.display_name.as_ref()))),
        ("parent", json!(labels.and_then(|l| l.parent.as_ref()))),
        ("attributes", json!(attributes)),
    ])
}

fn describe(event: &Event, plan: Option<&Plan>) -> (&'static str, Map<String, Value>) {
    match event {
        Event::Started(run) => ("started", started(run)),
        Event::Appended(kind, content) => {
            ("appended", object([("kind", json!(kind)), ("payload", payload(content.as_ref()))]))
        }
        Event::Claimed(owner) => ("claimed", object([("owner", json!(owner))])),
        Event::Prepared(target, n, not_before, work) => {
            let fields = [
                ("not_before", json!(not_before)),
                ("type", json!(work.as_ref().map(|w| &w.kind))),
                ("queue", json!(work.as_ref().map(|w| &w.queue))),
                ("input", payload(work.as_ref().and_then(|w| w.input.as_ref()))),
            ];
            ("attempt_prepared", with(attempt(target, *n, plan), fields))
        }
        Event::Receipt(target, n, worker) => {
            ("attempt_taken", with(attempt(target, *n, plan), [("worker", json!(worker))]))
        }
        Event::Settled(target, n, ended, retry_at) => {
            let fields = with(attempt(target, *n, plan), outcome(ended));
            ("attempt_settled", with(fields, [("retry_at", json!(retry_at))]))
        }
        Event::TimerArmed(key, at) => {
            ("timer_armed", with(timer(key, plan), [("fire_at", json!(at))]))
        }
        Event::TimerFired(key) => ("timer_fired", timer(key, plan)),
        Event::TimerCancelled(key) => ("timer_cancelled", timer(key, plan)),
        Event::Signalled(name, content) => {
            ("signalled", object([("name", json!(name)), ("payload", payload(content.as_ref()))]))
        }
        Event::Listening(node, until) => {
            ("listening", object([("node", name_of(*node, plan)), ("until", json!(until))]))
        }
        Event::WaitEnded(node, end) => {
            let signal = match end {
                WaitEnd::Signal(seq) => json!(seq),
                WaitEnd::TimedOut => Value::Null,
            };
            let timed_out = json!(matches!(end, WaitEnd::TimedOut));
            let fields =
                [("node", name_of(*node, plan)), ("signal_seq", signal), ("timed_out", timed_out)];
            ("wait_ended", object(fields))
        }
        Event::Paused(reason) => ("paused", object([("reason", json!(reason))])),
        Event::Resumed => ("resumed", Map::new()),
        Event::CancelRequested(reason) => ("cancel_requested", object([("reason", json!(reason))])),
        Event::DeadlineReached => ("deadline_reached", Map::new()),
        Event::Closed(ending, result) => {
            ("closed", object([("ending", json!(ending)), ("result", payload(result.as_ref()))]))
        }
        Event::ContinuedAsNew(result) => {
            ("continued_as_new", object([("result", payload(result.as_ref()))]))
        }
        Event::Reopened(reason, deadline) => {
            ("reopened", object([("reason", json!(reason)), ("deadline", json!(deadline))]))
        }
        Event::AttributesChanged(changes) => {
            ("attributes_changed", object([("attributes", json!(changes))]))
        }
    }
}
