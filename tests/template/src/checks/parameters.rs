//! Parameters, references and names.

use serde_json::Value;

use crate::parameters::{STACK, examples};
use crate::{Finding, Template};

/// Nothing refers to what is not there, under any set of parameters.
pub fn every_intrinsic_function_resolves(template: &Template) -> Vec<Finding> {
    template.unresolved().to_vec()
}

/// A parameter that nothing uses, or that says nothing, misleads.
pub fn every_parameter_is_described_and_used(template: &Template) -> Vec<Finding> {
    let document = template.document();
    let mut used = Vec::new();
    for part in ["Conditions", "Globals", "Resources", "Outputs"] {
        references(&document[part], &mut used);
    }
    let declared = document["Parameters"].as_object();
    let groups = &document["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"];
    let grouped: Vec<&Value> = groups
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|group| group["Parameters"].as_array().into_iter().flatten())
        .collect();
    let mut found = Vec::new();
    for (name, parameter) in declared.into_iter().flatten() {
        if parameter["Description"].as_str().is_none_or(|text| text.len() < 20) {
            found.push(Finding::new(name, "is not described"));
        }
        if parameter.get("Default").is_none() {
            found.push(Finding::new(name, "has no default"));
        }
        let bounded = ["AllowedValues", "AllowedPattern", "MinValue", "MaxValue"];
        let free = parameter["Type"] == "CommaDelimitedList";
        if !free && bounded.iter().all(|bound| parameter.get(*bound).is_none()) {
            found.push(Finding::new(name, "has no bound"));
        }
        if !used.contains(name) {
            found.push(Finding::new(name, "is used by nothing"));
        }
        if !grouped.iter().any(|g| *g == name) {
            found.push(Finding::new(name, "stands in no group"));
        }
    }
    found
}

/// Parameters of a nested template: each described, used there, and given here.
pub fn every_parameter_of_a_nested_template_is_given(template: &Template) -> Vec<Finding> {
    let document = template.document();
    let mut found = Vec::new();
    for (location, nested) in document["Nested"].as_object().into_iter().flatten() {
        let mut used = Vec::new();
        for part in ["Conditions", "Resources"] {
            references(&nested[part], &mut used);
        }
        let resources = document["Resources"].as_object().into_iter().flatten();
        let here = resources.map(|(_, r)| &r["Properties"]).find(|p| p["Location"] == *location);
        let given = here.and_then(|properties| properties["Parameters"].as_object());
        for (name, parameter) in nested["Parameters"].as_object().into_iter().flatten() {
            let at = format!("{location}: {name}");
            if parameter["Description"].as_str().is_none_or(|text| text.len() < 20) {
                found.push(Finding::new(&at, "is not described"));
            }
            if !used.contains(name) {
                found.push(Finding::new(&at, "is used by nothing"));
            }
            if !given.is_some_and(|given| given.contains_key(name)) {
                found.push(Finding::new(&at, "is not given"));
            }
        }
        for name in given.into_iter().flatten().map(|(name, _)| name) {
            if nested["Parameters"].get(name).is_none() {
                found.push(Finding::new(location, format!("{name} is given and not declared")));
            }
        }
    }
    found
}

/// Names that `Ref` and `Sub` name.
fn references(value: &Value, used: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, used)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match (name.as_str(), field) {
                    ("Ref", Value::String(target)) => used.push(target.clone()),
                    ("Fn::Sub", Value::String(text)) => substituted(text, used),
                    ("Fn::Sub", Value::Array(parts)) => {
                        substituted(parts[0].as_str().unwrap_or_default(), used);
                        parts[1..].iter().for_each(|part| references(part, used));
                    }
                    _ => references(field, used),
                }
            }
        }
        _ => {}
    }
}

fn substituted(text: &str, used: &mut Vec<String>) {
    let names = text.split("${").skip(1).filter_map(|rest| rest.split('}').next());
    used.extend(names.map(str::to_owned));
}

/// What is empty by default is also looked at when it is given.
pub fn every_optional_parameter_has_an_example(template: &Template) -> Vec<Finding> {
    let examples = examples();
    let named = |name: &str| examples.iter().any(|(_, v)| v.iter().any(|(n, _)| *n == name));
    let declared = template.document()["Parameters"].as_object();
    let optional = declared.into_iter().flatten().filter(|(_, p)| p["Default"] == "");
    optional
        .filter(|(name, _)| !named(name))
        .map(|(name, _)| Finding::new(name, "src/parameters.rs has no example of it"))
        .collect()
}

/// Two stacks of one account never meet; and what has a name is found by it.
pub fn every_name_carries_the_name_of_the_stack(template: &Template) -> Vec<Finding> {
    const NAMES: [&str; 7] = [
        "QueueName",
        "TableName",
        "FunctionName",
        "LogGroupName",
        "AlarmName",
        "DashboardName",
        "Name",
    ];
    template.in_each_stack(|stack, found| {
        for (id, resource) in stack.resources() {
            let schedules = resource.properties["Events"].as_object().into_iter().flatten();
            let named = schedules.map(|(_, event)| &event["Properties"]);
            for properties in named.chain([&resource.properties]) {
                for name in NAMES.iter().filter_map(|name| properties[*name].as_str()) {
                    if !name.contains(STACK) {
                        found.push(Finding::new(id, format!("{name} is the name of any stack's")));
                    }
                }
            }
            let schedules = resource.properties["Events"].as_object().into_iter().flatten();
            for (name, event) in schedules.filter(|(_, event)| event["Type"] == "ScheduleV2") {
                if !event["Properties"]["Name"].is_string() {
                    found.push(Finding::new(
                        id,
                        format!("{name} has no name that people would know"),
                    ));
                }
            }
            let nameless =
                ["AWS::IAM::Role", "AWS::SQS::QueuePolicy", "AWS::Serverless::Application"];
            let has = NAMES.iter().any(|name| resource.properties[*name].is_string());
            if !has && !nameless.contains(&resource.kind.as_str()) {
                found.push(Finding::new(id, "has no name that people would know"));
            }
        }
    })
}
