//! Permissions: granted is what is used, no more and no less.

use std::collections::BTreeSet;

use crate::parameters::EXTRA;
use crate::stack::{Grant, list};
use crate::{Finding, Resource, Stack, Template, used};

/// No `*` in an action or a resource that is allowed. The log streams of one
/// group are the exception: their ARN is the group's and `:*`.
pub fn no_action_and_no_resource_is_a_wildcard(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, resource) in stack.resources() {
            let mut policies = vec![&resource.properties["PolicyDocument"]];
            let named = list(&resource.properties["Policies"]);
            policies.extend(named.iter().map(|policy| &policy["PolicyDocument"]));
            let statements = policies.iter().flat_map(|document| list(&document["Statement"]));
            for statement in statements.filter(|statement| statement["Effect"] == "Allow") {
                let wild = |text: &str| text.contains(['*', '?']);
                for action in list(&statement["Action"]).iter().filter_map(|a| a.as_str()) {
                    if wild(action) {
                        found.push(Finding::new(id, format!("allows {action}")));
                    }
                }
                for arn in list(&statement["Resource"]).iter().filter_map(|r| r.as_str()) {
                    let streams = stack.by_arn(&arn.into()).is_some();
                    let arn = arn.strip_suffix(":*").filter(|_| streams).unwrap_or(arn);
                    if wild(arn) {
                        found.push(Finding::new(id, format!("allows it on {arn}")));
                    }
                }
                for name in ["NotAction", "NotResource"] {
                    if !statement[name].is_null() {
                        found.push(Finding::new(id, format!("allows by {name}")));
                    }
                }
            }
            if !list(&resource.properties["ManagedPolicyArns"]).is_empty() {
                found.push(Finding::new(id, "has policies that are written elsewhere"));
            }
        }
    })
}

/// A function's role is Lambda's, the schedule's is the scheduler's, for this
/// account alone.
pub fn every_role_is_assumed_by_its_service_alone(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, role) in stack.of_kind("AWS::IAM::Role") {
            let statements = list(&role.properties["AssumeRolePolicyDocument"]["Statement"]);
            let [statement] = statements.as_slice() else {
                found.push(Finding::new(id, format!("{} statements", statements.len())));
                continue;
            };
            let of_functions = stack.functions().any(|(_, f)| role_of(stack, f) == Some(id));
            let service = if of_functions { "lambda" } else { "scheduler" };
            let wanted = serde_json::json!({ "Service": format!("{service}.amazonaws.com") });
            let allowed = statement["Effect"] == "Allow" && statement["Action"] == "sts:AssumeRole";
            if statement["Principal"] != wanted || !allowed {
                found.push(Finding::new(id, format!("is assumed by {}", statement["Principal"])));
            }
            let account = &statement["Condition"]["StringEquals"]["aws:SourceAccount"];
            if !of_functions && account != crate::parameters::ACCOUNT {
                found.push(Finding::new(id, "is assumed for any account"));
            }
        }
    })
}

fn role_of<'a>(stack: &'a Stack, function: &Resource) -> Option<&'a str> {
    stack.by_arn(&function.properties["Role"]).map(|(id, _)| id)
}

/// What a function and its mapping need on AWS: what the code was seen to use,
/// and what Lambda does in its name.
fn needed_by(stack: &Stack, function: &Resource) -> BTreeSet<Grant> {
    let name = Stack::function_name(function);
    let mut needed = used::recorded().get(name).cloned().unwrap_or_default();
    if !stack.set.values.contains_key("ExtraQueues") {
        needed.retain(|grant| grant.resource != format!("queue {EXTRA}"));
    }
    for (_, event) in Stack::events(function).filter(|(_, event)| event["Type"] == "SQS") {
        let queue = stack.named(event["Properties"]["Queue"].as_str().unwrap_or_default());
        for action in ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"] {
            needed.insert(Grant::new(action, queue.clone()));
        }
    }
    let on_failure = &function.properties["EventInvokeConfig"]["DestinationConfig"]["OnFailure"];
    if let Some(arn) = on_failure["Destination"].as_str() {
        needed.insert(Grant::new("sqs:SendMessage", stack.named(arn)));
    }
    let group = function.properties["LoggingConfig"]["LogGroup"].as_str();
    let own = |r: &Resource| r.reference.is_some() && r.reference.as_deref() == group;
    if let Some((id, _)) = stack.of_kind("AWS::Logs::LogGroup").find(|(_, r)| own(r)) {
        needed.insert(Grant::new("logs:CreateLogStream", id));
        needed.insert(Grant::new("logs:PutLogEvents", id));
    }
    needed
}

/// What IAM would refuse or read otherwise than it is meant.
fn malformed(role: &Resource) -> Option<String> {
    let policies = list(&role.properties["Policies"]);
    let mut documents = vec![&role.properties["AssumeRolePolicyDocument"]];
    documents.extend(policies.iter().map(|policy| &policy["PolicyDocument"]));
    if documents.iter().any(|document| document["Version"] != "2012-10-17") {
        return Some("a policy is of another version".into());
    }
    if policies.iter().any(|policy| !policy["PolicyName"].is_string()) {
        return Some("a policy has no name".into());
    }
    let mut statements = documents.iter().flat_map(|document| list(&document["Statement"]));
    let effect = |s: &&serde_json::Value| s["Effect"] != "Allow" && s["Effect"] != "Deny";
    statements.find(effect).map(|statement| format!("neither allows nor denies: {statement}"))
}

/// What a schedule does in the name of its role.
fn needed_by_schedules(stack: &Stack, role: &str) -> BTreeSet<Grant> {
    let mut needed = BTreeSet::new();
    for (_, function) in stack.functions() {
        for (_, event) in Stack::events(function).filter(|(_, e)| e["Type"] == "ScheduleV2") {
            let properties = &event["Properties"];
            if stack.by_arn(&properties["RoleArn"]).is_none_or(|(id, _)| id != role) {
                continue;
            }
            let name = format!("function {}", Stack::function_name(function));
            needed.insert(Grant::new("lambda:InvokeFunction", name));
            if let Some(arn) = properties["DeadLetterConfig"]["Arn"].as_str() {
                needed.insert(Grant::new("sqs:SendMessage", stack.named(arn)));
            }
        }
    }
    needed
}

/// Every action on every resource, both ways. With a key of the user's, who
/// sends to a queue needs a data key of it, and who receives or reads the table
/// needs to decrypt.
pub fn what_is_granted_is_what_is_used(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, role) in stack.of_kind("AWS::IAM::Role") {
            let functions: Vec<&Resource> = stack
                .functions()
                .filter(|(_, function)| role_of(stack, function) == Some(id))
                .map(|(_, function)| function)
                .collect();
            found.extend(malformed(role).map(|why| Finding::new(id, why)));
            let mut needed = match functions.as_slice() {
                [] => needed_by_schedules(stack, id),
                [function] => needed_by(stack, function),
                _ => {
                    found.push(Finding::new(id, "several functions share it"));
                    continue;
                }
            };
            if needed.is_empty() {
                found.push(Finding::new(id, "nothing uses it"));
            } else if stack.set.values.contains_key("KmsKeyArn") {
                needed.insert(Grant::new("kms:Decrypt", "the key"));
                needed.insert(Grant::new("kms:GenerateDataKey", "the key"));
            }
            let granted = stack.grants(role);
            for grant in needed.difference(&granted) {
                found.push(Finding::new(id, format!("{grant} is used and not granted")));
            }
            for grant in granted.difference(&needed) {
                found.push(Finding::new(id, format!("{grant} is granted and not used")));
            }
        }
        for (id, function) in stack.functions() {
            if role_of(stack, function).is_none() {
                found.push(Finding::new(id, "its role is not of this stack"));
            }
        }
    })
}
