//! `infra/README.md` against the template and the code: parameters, alarms,
//! policies, sums.

use std::collections::BTreeSet;

use everlog_template_tests::parameters::{ACCOUNT, REGION, STACK};
use everlog_template_tests::{Grant, Stack, Template, in_repository, used};
use serde_json::Value;

const LINES_MAX: usize = 300;

fn guide() -> String {
    std::fs::read_to_string(in_repository("infra/README.md")).expect("infra/README.md")
}

#[test]
fn the_guide_is_short_enough_to_be_read() {
    let lines = guide().lines().count();
    assert!(lines <= LINES_MAX, "{lines} lines");
}

#[test]
fn every_parameter_stands_in_the_guide_with_its_default_and_description() {
    let template = Template::of_the_repository();
    let guide = guide();
    let declared = template.document()["Parameters"].as_object().expect("parameters").clone();
    for (name, parameter) in &declared {
        let row = guide.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("the guide has no row for {name}"));
        let default = match &parameter["Default"] {
            Value::String(text) if text.is_empty() => "none".to_owned(),
            Value::String(text) => format!("`{text}`"),
            other => format!("`{other}`"),
        };
        assert_eq!(row.split('|').nth(2).map(str::trim), Some(default.as_str()), "{row}");
        let description = parameter["Description"].as_str().expect("a description");
        assert!(row.contains(description), "{row}\n{description}");
    }
    let rows = guide.lines().skip_while(|line| *line != "## Parameters").skip(1);
    let rows = rows.take_while(|line| !line.starts_with("## "));
    let rows = rows.filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, declared.len(), "the guide has a row for what is no parameter");
}

#[test]
fn every_alarm_has_a_section_in_the_guide_and_no_other() {
    let template = Template::of_the_repository();
    let guide = guide();
    let headings = guide.lines().filter(|line| line.starts_with("### `"));
    let names: Vec<&str> = headings.flat_map(|line| line.split('`').skip(1).step_by(2)).collect();
    let mut met = BTreeSet::new();
    for (id, alarm) in template.stacks()[0].of_kind("AWS::CloudWatch::Alarm") {
        let name = alarm.properties["AlarmName"].as_str().expect("a name");
        let name = name.strip_prefix(&format!("{STACK}-")).expect("the stack's name");
        let meant = names.iter().find(|pattern| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == **pattern,
        });
        met.insert(*meant.unwrap_or_else(|| panic!("no section for {id}, {name}")));
    }
    assert_eq!(met, names.into_iter().collect(), "sections for alarms that are not there");
}

/// The policy that the guide gives somebody, as grants on the resources of a stack.
fn policy(stack: &Stack, of: &str) -> BTreeSet<Grant> {
    let guide = guide();
    let block = guide.split(&format!("```json {of}\n")).nth(1).expect("a policy");
    let text = block.split("```").next().expect("its end");
    let policy: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(policy["Version"], "2012-10-17");
    let mut grants = BTreeSet::new();
    for statement in policy["Statement"].as_array().expect("statements") {
        assert_eq!(statement["Effect"], "Allow");
        for action in statement["Action"].as_array().expect("actions") {
            for arn in statement["Resource"].as_array().expect("resources") {
                let arn = arn.as_str().expect("an ARN");
                let here = arn.replace(":REGION:ACCOUNT:", &format!(":{REGION}:{ACCOUNT}:"));
                let here = here.replace("everlog", STACK);
                let named = if arn == "*" { "*".into() } else { stack.named(&here) };
                assert!(!named.contains("not of this stack"), "{of}: {named}");
                grants.insert(Grant::new(action.as_str().expect("an action"), named));
            }
        }
    }
    grants
}

fn on(resource: &str, actions: &[&str]) -> BTreeSet<Grant> {
    actions.iter().map(|action| Grant::new(*action, resource)).collect()
}

fn equal(of: &str, given: &BTreeSet<Grant>, wanted: &BTreeSet<Grant>) {
    let missing: Vec<String> = wanted.difference(given).map(ToString::to_string).collect();
    let more: Vec<String> = given.difference(wanted).map(ToString::to_string).collect();
    assert!(missing.is_empty() && more.is_empty(), "{of}: missing {missing:?}, too many {more:?}");
}

#[test]
fn the_policies_of_callers_and_workers_are_what_they_use() {
    let template = Template::of_the_repository();
    let stack = &template.stacks()[0];
    let mut caller = used::caller();
    caller.extend(on("queue replies", &["sqs:ReceiveMessage", "sqs:DeleteMessage"]));
    for function in ["function append", "function prepare"] {
        caller.extend(on(function, &["lambda:InvokeFunction"]));
    }
    equal("caller", &policy(stack, "caller"), &caller);
    let mut worker = used::worker();
    let receive = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"];
    worker.extend(on("queue default", &receive));
    worker.extend(on("function settle", &["lambda:InvokeFunction"]));
    equal("worker", &policy(stack, "worker"), &worker);
}

#[test]
fn the_policy_of_operators_is_what_the_command_uses() {
    let template = Template::of_the_repository();
    let stack = &template.stacks()[0];
    let mut operator = used::operator();
    let examined = ["DescribeTable", "DescribeContinuousBackups", "DescribeTimeToLive"];
    operator.extend(examined.map(|action| Grant::new(format!("dynamodb:{action}"), "table")));
    operator.extend(on("*", &["lambda:ListEventSourceMappings", "sqs:ListQueues"]));
    operator.extend(on("function append", &["lambda:InvokeFunction"]));
    let examined = [
        "lambda:GetFunction",
        "lambda:GetFunctionConfiguration",
        "lambda:GetFunctionRecursionConfig",
    ];
    for (_, function) in stack.functions() {
        operator.extend(on(&format!("function {}", Stack::function_name(function)), &examined));
    }
    for (_, queue) in stack.queues() {
        let arn = queue.arn.as_deref().expect("a queue has one");
        let name = stack.named(arn);
        operator.extend(on(&name, &["sqs:GetQueueAttributes"]));
        // Letters are taken from where they lie, and go back to where they were.
        let kept = arn.contains("undelivered")
            || ["queue dead-letter", "queue quarantine"].contains(&name.as_str());
        let actions: &[&str] = match kept {
            true => &["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"],
            false => &["sqs:SendMessage"],
        };
        operator.extend(on(&name, actions));
    }
    equal("operator", &policy(stack, "operator"), &operator);
}

/// Requests of the SDKs that the operator's command makes, by their method.
#[test]
fn every_request_of_the_operators_command_has_its_action_in_a_policy() {
    const ACTIONS: [(&str, &str); 17] = [
        ("change_message_visibility", "sqs:ChangeMessageVisibility"),
        ("delete_message", "sqs:DeleteMessage"),
        ("describe_continuous_backups", "dynamodb:DescribeContinuousBackups"),
        ("describe_table", "dynamodb:DescribeTable"),
        ("describe_time_to_live", "dynamodb:DescribeTimeToLive"),
        ("get_function", "lambda:GetFunction"),
        ("get_function_configuration", "lambda:GetFunctionConfiguration"),
        ("get_function_recursion_config", "lambda:GetFunctionRecursionConfig"),
        ("get_item", "dynamodb:GetItem"),
        ("get_queue_attributes", "sqs:GetQueueAttributes"),
        ("invoke", "lambda:InvokeFunction"),
        ("list_event_source_mappings", "lambda:ListEventSourceMappings"),
        ("list_queues", "sqs:ListQueues"),
        ("query", "dynamodb:Query"),
        ("receive_message", "sqs:ReceiveMessage"),
        ("send_message", "sqs:SendMessage"),
        // Needs no permission.
        ("get_caller_identity", ""),
    ];
    let template = Template::of_the_repository();
    let granted = policy(&template.stacks()[0], "operator");
    let sources = [
        "localstack/src/doctor.rs",
        "localstack/src/doctor/functions.rs",
        "localstack/src/doctor/queues.rs",
        "localstack/src/deployed.rs",
        "localstack/src/letters.rs",
        "shared/src/client.rs",
        "shared/src/journal/inspect.rs",
    ];
    let mut met = 0;
    for source in sources {
        let text = std::fs::read_to_string(in_repository(source)).expect(source);
        let methods =
            text.split('.').filter_map(|rest| rest.split_once("()")).map(|(name, _)| name);
        let begins = [
            "change_message",
            "delete_message",
            "describe_",
            "get_function",
            "get_item",
            "get_queue",
            "get_caller",
            "invoke",
            "list_",
            "query",
            "receive_",
            "send_message",
            "put_item",
            "update_item",
            "purge_",
            "create_queue",
        ];
        for method in methods.filter(|name| begins.iter().any(|begin| name.starts_with(begin))) {
            let action = ACTIONS.iter().find(|(name, _)| *name == method);
            let (_, action) =
                action.unwrap_or_else(|| panic!("{source}: which action is {method}?"));
            let there = granted.iter().any(|grant| grant.action == *action);
            assert!(there || action.is_empty(), "{source}: {action} is in no policy");
            met += 1;
        }
    }
    assert!(met >= 10, "only {met} requests were found");
}
