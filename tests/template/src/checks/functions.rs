//! Functions: who invokes them, and what becomes of what they can't serve.

use everlog::fleet::Function;
use serde_json::json;

use crate::stack::list;
use crate::{Finding, Stack, Template};

/// The five functions.
pub const FUNCTIONS: [Function; 5] = Function::ALL;

/// Logical ids of the queues that take what a schedule or an asynchronous
/// invocation gives up.
pub(super) fn failure_destinations(stack: &Stack) -> Vec<String> {
    let mut ids = Vec::new();
    for (_, function) in stack.functions() {
        let on_failure =
            &function.properties["EventInvokeConfig"]["DestinationConfig"]["OnFailure"];
        let schedules = Stack::events(function)
            .map(|(_, event)| &event["Properties"]["DeadLetterConfig"]["Arn"]);
        let arns = schedules.chain([&on_failure["Destination"]]);
        ids.extend(arns.filter_map(|arn| Some(stack.by_arn(arn)?.0.to_owned())));
    }
    ids
}

/// There are the five functions of the code, each with the queue that the code
/// says; and the sweep has its schedule.
pub fn every_function_is_invoked_by_its_own_queue(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        let named: Vec<&str> = stack.functions().map(|(_, f)| Stack::function_name(f)).collect();
        for function in FUNCTIONS.iter().filter(|f| !named.contains(&f.name())) {
            found.push(Finding::new(function.name(), "there is no such function"));
        }
        for (id, function) in stack.functions() {
            let name = Stack::function_name(function);
            let Some(known) = FUNCTIONS.iter().find(|f| f.name() == name) else {
                found.push(Finding::new(id, format!("the code has no function {name}")));
                continue;
            };
            let mappings = Stack::events(function).filter(|(_, event)| event["Type"] == "SQS");
            let queues: Vec<Option<String>> = mappings
                .map(|(_, event)| stack.logical_name(event["Properties"]["Queue"].as_str()?))
                .collect();
            if queues != [Some(known.queue().to_owned())] {
                let what = format!("expected the queue {}, found {queues:?}", known.queue());
                found.push(Finding::new(id, what));
            }
            let schedules = Stack::events(function).filter(|(_, e)| e["Type"] == "ScheduleV2");
            let each_minute = |event: &serde_json::Value| {
                event["Properties"]["ScheduleExpression"] == "rate(1 minute)"
                    && event["Properties"]["State"].as_str().unwrap_or("ENABLED") == "ENABLED"
            };
            let right = schedules.map(|(_, event)| each_minute(event)).collect::<Vec<bool>>();
            let wanted = vec![true; usize::from(*known == Function::TimerSweep)];
            if right != wanted {
                found.push(Finding::new(id, format!("schedules of a minute: {right:?}")));
            }
        }
    })
}

/// `ReportBatchItemFailures`: without it one failure brings a whole batch back.
pub fn every_mapping_reports_the_failures_of_a_batch(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, function) in stack.functions() {
            for (name, event) in Stack::events(function).filter(|(_, e)| e["Type"] == "SQS") {
                let properties = &event["Properties"];
                if properties["FunctionResponseTypes"] != json!(["ReportBatchItemFailures"]) {
                    found.push(Finding::new(id, format!("{name} fails as a whole")));
                }
                if properties["Enabled"] == false {
                    found.push(Finding::new(id, format!("{name} is switched off")));
                }
            }
        }
    })
}

/// A schedule and the asynchronous invocation that it makes have a queue for
/// what fails, try nothing again, and wait no longer than the next minute.
pub fn what_nobody_repeats_has_a_place_for_failures(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, function) in stack.functions() {
            let schedules = Stack::events(function).filter(|(_, e)| e["Type"] == "ScheduleV2");
            for (name, event) in schedules {
                let properties = &event["Properties"];
                if stack.by_arn(&properties["DeadLetterConfig"]["Arn"]).is_none() {
                    found.push(Finding::new(id, format!("{name} has no place for failures")));
                }
                let retry = &properties["RetryPolicy"];
                if *retry != json!({ "MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60 }) {
                    found.push(Finding::new(id, format!("{name} comes late: {retry}")));
                }
                let invoked = &function.properties["EventInvokeConfig"];
                let on_failure = &invoked["DestinationConfig"]["OnFailure"];
                if on_failure["Type"] != "SQS" || stack.by_arn(&on_failure["Destination"]).is_none()
                {
                    let what = "its asynchronous invocation has no place for failures";
                    found.push(Finding::new(id, what));
                }
                if invoked["MaximumRetryAttempts"] != 0 || invoked["MaximumEventAgeInSeconds"] != 60
                {
                    found.push(Finding::new(id, format!("it is invoked late: {invoked}")));
                }
                let input = properties["Input"].as_str().and_then(|i| serde_json::from_str(i).ok());
                let input: serde_json::Value = input.unwrap_or_default();
                if !matches!(input["source"].as_str(), Some("aws.events" | "aws.scheduler")) {
                    found.push(Finding::new(id, format!("{name} is no schedule to the code")));
                }
            }
        }
    })
}

/// Work passes through functions and queues more often than Lambda's guard
/// against loops allows.
pub fn every_function_may_recurse(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, function) in stack.functions() {
            if function.properties["RecursiveLoop"] != "Allow" {
                found.push(Finding::new(id, "Lambda breaks its chains after some sixteen hops"));
            }
        }
    })
}

/// Each has a log group of its own, of this stack, with a retention.
pub fn every_function_logs_to_a_group_that_forgets(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, function) in stack.functions() {
            let logging = &function.properties["LoggingConfig"];
            let group = logging["LogGroup"].as_str();
            let mut groups = stack.of_kind("AWS::Logs::LogGroup");
            if !groups.any(|(_, g)| g.reference.is_some() && g.reference.as_deref() == group) {
                found.push(Finding::new(id, "logs to a group that nobody made"));
            }
            if logging["LogFormat"] != "JSON" || !logging["ApplicationLogLevel"].is_string() {
                found.push(Finding::new(id, format!("logs as {logging}")));
            }
        }
        for (id, group) in stack.of_kind("AWS::Logs::LogGroup") {
            if group.number("RetentionInDays").is_none_or(|days| days == 0) {
                found.push(Finding::new(id, "keeps logs for ever"));
            }
        }
    })
}

/// The runtime of a binary, one architecture, the Makefile's target, and no
/// more invocations at once than a mapping may have.
pub fn every_function_is_built_for_the_architecture_that_it_declares(
    template: &Template,
) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, function) in stack.functions() {
            let properties = &function.properties;
            let architectures = list(&properties["Architectures"]);
            let known = |a: &&serde_json::Value| **a == "arm64" || **a == "x86_64";
            if architectures.len() != 1 || !architectures.iter().all(known) {
                found.push(Finding::new(id, format!("built for {architectures:?}")));
            }
            let (runtime, handler) = (&properties["Runtime"], &properties["Handler"]);
            if runtime != "provided.al2023" || handler != "bootstrap" {
                found.push(Finding::new(id, format!("runs {handler} on {runtime}")));
            }
            if function.attributes["Metadata"]["BuildMethod"] != "makefile" {
                found.push(Finding::new(id, "nobody builds it"));
            }
            let version = &properties["Tags"]["everlog-version"];
            if version != env!("CARGO_PKG_VERSION") {
                found.push(Finding::new(id, format!("says that it is version {version}")));
            }
            let layers: Vec<&serde_json::Value> = list(&properties["Layers"]);
            if layers != stack.set.values.get("OtlpLayerArn").into_iter().collect::<Vec<_>>() {
                found.push(Finding::new(id, format!("has the layers {layers:?}")));
            }
            for (name, event) in Stack::events(function).filter(|(_, e)| e["Type"] == "SQS") {
                let most = &event["Properties"]["ScalingConfig"]["MaximumConcurrency"];
                let most = crate::stack::number(most);
                if !most.is_some_and(|most| (2..=1_000).contains(&most)) {
                    found.push(Finding::new(id, format!("{name}: {most:?} at once")));
                }
                let size = crate::stack::number(&event["Properties"]["BatchSize"]);
                if size != Some(10) {
                    found.push(Finding::new(id, format!("{name}: {size:?} messages a batch")));
                }
            }
        }
    })
}
