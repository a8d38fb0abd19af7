//! Alarms and the dashboard: what they name is emitted, and nothing is left
//! unwatched.

use everlog::telemetry::emf::{METRICS, NAMESPACE};
use serde_json::Value;

use super::functions::FUNCTIONS;
use super::queues::takes_what_was_given_up;
use crate::parameters::STACK;
use crate::stack::list;
use crate::{Finding, Resource, Stack, Template};

/// What AWS emits, of what is of use here.
const OF_AWS: [(&str, &[&str]); 3] = [
    ("AWS/SQS", &["ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"]),
    ("AWS/Lambda", &["Duration", "Errors", "Throttles"]),
    (
        "AWS/DynamoDB",
        &[
            "ConsumedReadCapacityUnits",
            "ConsumedWriteCapacityUnits",
            "ReadThrottleEvents",
            "WriteThrottleEvents",
        ],
    ),
];

/// Why nobody emits this metric, if so.
fn unknown(
    stack: &Stack,
    namespace: &str,
    name: &str,
    dimensions: &[(&str, &str)],
) -> Option<String> {
    let of_aws = OF_AWS.iter().find(|(known, _)| *known == namespace);
    let known = match of_aws {
        Some((_, names)) => names.contains(&name),
        None => namespace == NAMESPACE && METRICS.iter().any(|(metric, _)| *metric == name),
    };
    if !known {
        return Some(format!("nobody emits {namespace} {name}"));
    }
    let there = |dimension: &(&str, &str)| {
        let value = Some(dimension.1);
        let is = |r: &Resource, property: &str| r.properties[property].as_str() == value;
        match dimension.0 {
            "QueueName" => stack.queues().any(|(_, r)| is(r, "QueueName")),
            "FunctionName" => stack.functions().any(|(_, r)| is(r, "FunctionName")),
            "TableName" => stack.of_kind("AWS::DynamoDB::Table").any(|(_, r)| is(r, "TableName")),
            "Fleet" => dimension.1 == STACK,
            "Function" => FUNCTIONS.iter().any(|function| function.name() == dimension.1),
            _ => false,
        }
    };
    let wanted: &[&[&str]] = match namespace {
        "AWS/SQS" => &[&["QueueName"]],
        "AWS/Lambda" => &[&["FunctionName"]],
        "AWS/DynamoDB" => &[&["TableName"]],
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

/// Each alarm's metric exists, by a statistic over a minute; the alarm says
/// what it means, and tells the topic if there is one.
pub fn every_alarm_names_a_metric_that_is_emitted(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, alarm) in stack.of_kind("AWS::CloudWatch::Alarm") {
            let text = |name: &str| alarm.properties[name].as_str().unwrap_or_default();
            let (namespace, name) = (text("Namespace"), text("MetricName"));
            let why = unknown(stack, namespace, name, &dimensions(&alarm.properties));
            found.extend(why.map(|why| Finding::new(id, why)));
            if !["Maximum", "Sum"].contains(&text("Statistic"))
                || alarm.number("Period") != Some(60)
            {
                found.push(Finding::new(id, "judges by no statistic over a minute"));
            }
            let rings = (alarm.number("Threshold"), alarm.number("EvaluationPeriods"));
            if matches!(rings, (None, _) | (_, None | Some(0))) {
                found.push(Finding::new(id, format!("rings at {rings:?}")));
            }
            let topic = stack.set.values.get("AlarmTopicArn");
            for actions in ["AlarmActions", "OKActions"] {
                if list(&alarm.properties[actions]) != topic.into_iter().collect::<Vec<&Value>>() {
                    found.push(Finding::new(id, format!("{actions} do not tell the topic alone")));
                }
            }
            // A sweep that does not run emits nothing: that is what must be heard.
            let wanted = if name == "SweepLagMs" { "breaching" } else { "notBreaching" };
            if text("TreatMissingData") != wanted
                || text("ComparisonOperator") != "GreaterThanThreshold"
            {
                found.push(Finding::new(id, "takes what is missing for something else"));
            }
            if text("AlarmDescription").len() < 30 {
                found.push(Finding::new(id, "does not say what it means"));
            }
        }
    })
}

/// Whether an alarm has this metric of this thing.
fn watched(stack: &Stack, metric: &str, dimension: &str, value: Option<&str>) -> bool {
    stack.of_kind("AWS::CloudWatch::Alarm").any(|(_, alarm)| {
        let of = |(name, of): &(&str, &str)| *name == dimension && Some(*of) == value;
        alarm.properties["MetricName"] == metric && dimensions(&alarm.properties).iter().any(of)
    })
}

/// Errors and throttles of every function, the age of what waits for it, and
/// what lies where things are given up to; the lag of the sweep; and throttles
/// of the table.
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
                let Some((queue, of)) = stack.by_arn(&event["Properties"]["Queue"]) else {
                    continue;
                };
                let name = of.properties["QueueName"].as_str();
                if !watched(stack, "ApproximateAgeOfOldestMessage", "QueueName", name) {
                    found.push(Finding::new(queue, "no alarm on its oldest message"));
                }
            }
        }
        for (id, queue) in stack.queues() {
            let name = queue.properties["QueueName"].as_str();
            let metric = "ApproximateNumberOfMessagesVisible";
            if takes_what_was_given_up(id, queue, stack)
                && !watched(stack, metric, "QueueName", name)
            {
                found.push(Finding::new(id, "no alarm on what lies in it"));
            }
        }
        let lag = watched(stack, "SweepLagMs", "Function", Some("timer-sweep"));
        let table = stack.of_kind("AWS::DynamoDB::Table").next();
        let table = table.and_then(|(_, table)| table.properties["TableName"].as_str());
        if !lag {
            found.push(Finding::new("Resources", "no alarm on the lag of the sweep"));
        }
        for metric in ["ReadThrottleEvents", "WriteThrottleEvents"] {
            if !watched(stack, metric, "TableName", table) {
                found.push(Finding::new("Resources", format!("no alarm on {metric}")));
            }
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
