//! Alarms and the dashboard: what they name is emitted, and nothing is left
//! unwatched.

use std::collections::BTreeSet;

use serde_json::Value;

use super::functions::FUNCTIONS;
use crate::parameters::STACK;
use crate::stack::list;
use crate::{Finding, Resource, Stack, Template};

/// The metrics that the functions emit under `Everlog`, each with the
/// dimensions `Fleet` and `Function`.
pub const METRICS: [&str; 10] = [
    "Committed",
    "Conflict",
    "Fenced",
    "GivenBack",
    "OldestOutstandingMs",
    "Redelivered",
    "Rejected",
    "SweepLagMs",
    "Throttled",
    "Unknown",
];

/// What AWS emits, of what is of use here.
const OF_AWS: [(&str, &[&str]); 3] = [
    ("AWS/SQS", &["ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"]),
    ("AWS/Lambda", &["Duration", "Errors", "Throttles"]),
    (
        "AWS/DynamoDB",
        &["ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits", "ThrottledRequests"],
    ),
];

/// Why nobody emits this metric, if so.
fn unknown(stack: &Stack, namespace: &str, name: &str, dimensions: &[(&str, &str)]) -> Option<String> {
    let of_aws = OF_AWS.iter().find(|(known, _)| *known == namespace);
    let known = of_aws.map_or(&METRICS[..], |(_, names)| names);
    if !known.contains(&name) || (of_aws.is_none() && namespace != "Everlog") {
        return Some(format!("nobody emits {namespace} {name}"));
    }
    let there = |dimension: &(&str, &str)| {
        let value = Some(dimension.1);
        let is = |r: &Resource, property: &str| r.properties[property].as_str() == value;
        match dimension.0 {
            "QueueName" => stack.queues().any(|(_, r)| is(r, "QueueName")),
            "FunctionName" => stack.functions().any(|(_, r)| is(r, "FunctionName")),
            "TableName" => stack.of_kind("AWS::DynamoDB::Table").any(|(_, r)| is(r, "TableName")),
            "Operation" => ["PutItem", "UpdateItem", "Query", "GetItem"].contains(&dimension.1),
            "Fleet" => dimension.1 == STACK,
            "Function" => FUNCTIONS.iter().any(|function| function.name() == dimension.1),
            _ => false,
        }
    };
    let wanted: &[&[&str]] = match namespace {
        "AWS/SQS" => &[&["QueueName"]],
        "AWS/Lambda" => &[&["FunctionName"]],
        "AWS/DynamoDB" => &[&["TableName"], &["TableName", "Operation"]],
        _ => &[&["Fleet", "Function"]],
    };
    let names: Vec<&str> = dimensions.iter().map(|(name, _)| *name).collect();
    if !wanted.contains(&names.as_slice()) {
        return Some(format!("{name} has not the dimensions {names:?}"));
    }
    let missing = dimensions.iter().find(|dimension| !there(dimension))?;
    Some(format!("{name}: there is no {} {}", missing.0, missing.1))
}

fn dimensions(metric: &Value) -> Vec<(&str, &str)> {
    let all = metric["Dimensions"].as_array().into_iter().flatten();
    all.filter_map(|d| Some((d["Name"].as_str()?, d["Value"].as_str()?))).collect()
}

/// Each alarm's metrics exist, its expression covers all of them, and it tells
/// the topic if there is one.
pub fn every_alarm_names_a_metric_that_is_emitted(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, alarm) in stack.of_kind("AWS::CloudWatch::Alarm") {
            let metrics = list(&alarm.properties["Metrics"]);
            let shown = metrics.iter().filter(|metric| metric["ReturnData"] == true);
            let shown: Vec<&str> = shown.filter_map(|m| m["Expression"].as_str()).collect();
            if !matches!(shown.as_slice(), ["SUM(METRICS())" | "MAX(METRICS())"]) {
                found.push(Finding::new(id, format!("judges {shown:?}")));
            }
            let raw = metrics.iter().filter(|metric| metric["ReturnData"] == false);
            let raw: Vec<&Value> = raw.map(|metric| &metric["MetricStat"]["Metric"]).collect();
            if raw.is_empty() || raw.len() > 9 || raw.len() + 1 != metrics.len() {
                found.push(Finding::new(id, format!("takes {} metrics", metrics.len())));
            }
            found.extend(judged(alarm).map(|why| Finding::new(id, why)));
            for metric in raw {
                let text = |name: &str| metric[name].as_str().unwrap_or_default();
                let (namespace, name) = (text("Namespace"), text("MetricName"));
                let why = unknown(stack, namespace, name, &dimensions(metric));
                found.extend(why.map(|why| Finding::new(id, why)));
            }
            let topic = stack.set.values.get("AlarmTopicArn");
            for actions in ["AlarmActions", "OKActions"] {
                if list(&alarm.properties[actions]) != topic.into_iter().collect::<Vec<&Value>>() {
                    found.push(Finding::new(id, format!("{actions} do not tell the topic alone")));
                }
            }
            let missing = &alarm.properties["TreatMissingData"];
            // A sweep that does not run emits nothing: that is what must be heard.
            let wanted = if id == "SweepLagAlarm" { "breaching" } else { "notBreaching" };
            if missing != wanted || alarm.properties["ComparisonOperator"] != "GreaterThanThreshold"
            {
                found.push(Finding::new(id, format!("takes what is missing for {missing}")));
            }
            if alarm.properties["AlarmDescription"].as_str().is_none_or(|text| text.len() < 30) {
                found.push(Finding::new(id, "does not say what it means"));
            }
        }
    })
}

/// What an alarm's numbers leave open: each metric by an id of its own, over a
/// minute, by a statistic; when it rings.
fn judged(alarm: &Resource) -> Option<String> {
    let metrics = list(&alarm.properties["Metrics"]);
    let ids: BTreeSet<&str> = metrics.iter().filter_map(|m| m["Id"].as_str()).collect();
    if ids.len() != metrics.len() {
        return Some("two metrics have one id, or one has none".into());
    }
    let stats = metrics.iter().map(|metric| &metric["MetricStat"]).filter(|stat| !stat.is_null());
    for stat in stats {
        let known = ["Maximum", "Sum"].iter().any(|name| stat["Stat"] == *name);
        if !known || stat["Period"] != 60 {
            return Some(format!("{} over {} s", stat["Stat"], stat["Period"]));
        }
    }
    let rings = (alarm.number("Threshold"), alarm.number("EvaluationPeriods"));
    matches!(rings, (None, _) | (_, None | Some(0))).then(|| format!("rings at {rings:?}"))
}

/// Metrics of an alarm or of all alarms on this resource.
fn watched(stack: &Stack, metric: &str, dimension: &str, value: Option<&str>) -> bool {
    stack.of_kind("AWS::CloudWatch::Alarm").any(|(_, alarm)| {
        list(&alarm.properties["Metrics"]).iter().any(|m| {
            let m = &m["MetricStat"]["Metric"];
            m["MetricName"] == metric
                && dimensions(m).iter().any(|(n, v)| *n == dimension && Some(*v) == value)
        })
    })
}

/// Errors and throttles of every function, the age of what waits for it, and
/// what lies where things are given up to. Schedule events are left out: a
/// sweep that does not run is heard by its lag.
pub fn every_function_and_every_queue_is_watched(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, function) in stack.functions() {
            let name = function.properties["FunctionName"].as_str();
            for metric in ["Errors", "Throttles"] {
                if !watched(stack, metric, "FunctionName", name) {
                    found.push(Finding::new(id, format!("no alarm on its {metric}")));
                }
            }
            for (_, event) in Stack::events(function).filter(|(_, e)| e["Type"] == "SQS") {
                let Some((queue, of)) = stack.by_arn(&event["Properties"]["Queue"]) else { continue };
                let name = of.properties["QueueName"].as_str();
                if !watched(stack, "ApproximateAgeOfOldestMessage", "QueueName", name) {
                    found.push(Finding::new(queue, "no alarm on its oldest message"));
                }
            }
        }
        let given_up = [everlog::config::DEAD_LETTER, everlog::config::QUARANTINE];
        for (id, queue) in stack.queues() {
            let redriven_to = stack.queues().any(|(_, other)| {
                let policy = &other.properties["RedrivePolicy"];
                policy["deadLetterTargetArn"].as_str() == queue.arn.as_deref()
            });
            let logical = queue.arn.as_deref().and_then(|arn| stack.logical_name(arn));
            let logical = logical.is_some_and(|name| given_up.contains(&name.as_str()));
            let name = queue.properties["QueueName"].as_str();
            let metric = "ApproximateNumberOfMessagesVisible";
            if (redriven_to || logical) && !watched(stack, metric, "QueueName", name) {
                found.push(Finding::new(id, "no alarm on what lies in it"));
            }
        }
        for operation in ["PutItem", "UpdateItem", "Query", "GetItem"] {
            if !watched(stack, "ThrottledRequests", "Operation", Some(operation)) {
                found.push(Finding::new("Resources", format!("no alarm on throttled {operation}")));
            }
        }
        let lag = watched(stack, "SweepLagMs", "Function", Some("timer-sweep"));
        let table = stack.of_kind("AWS::DynamoDB::Table").next();
        let table = table.and_then(|(_, table)| table.properties["TableName"].as_str());
        if !lag || !watched(stack, "ThrottledRequests", "TableName", table) {
            found.push(Finding::new("Resources", "no alarm on the sweep's lag or the table"));
        }
    })
}

/// The dashboard is JSON, and each metric of it exists.
pub fn the_dashboard_names_metrics_that_are_emitted(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        if stack.of_kind("AWS::CloudWatch::Dashboard").next().is_none() {
            found.push(Finding::new("Resources", "there is no dashboard"));
        }
        for (id, dashboard) in stack.of_kind("AWS::CloudWatch::Dashboard") {
            let body = dashboard.properties["DashboardBody"].as_str().unwrap_or_default();
            let body: Value = match serde_json::from_str(body) {
                Ok(body) => body,
                Err(error) => {
                    found.push(Finding::new(id, format!("is no JSON: {error}")));
                    continue;
                }
            };
            let widgets = list(&body["widgets"]);
            let metrics: Vec<Vec<&str>> = widgets
                .iter()
                .flat_map(|widget| list(&widget["properties"]["metrics"]))
                .map(|metric| list(metric).iter().filter_map(|part| part.as_str()).collect())
                .collect();
            if metrics.is_empty() {
                found.push(Finding::new(id, "shows nothing"));
            }
            for metric in metrics {
                let [namespace, name, rest @ ..] = metric.as_slice() else {
                    found.push(Finding::new(id, format!("shows {metric:?}")));
                    continue;
                };
                let pairs: Vec<(&str, &str)> =
                    rest.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
                let why = unknown(stack, namespace, name, &pairs);
                found.extend(why.map(|why| Finding::new(id, why)));
            }
        }
    })
}
