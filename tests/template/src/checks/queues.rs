//! Queues: what they are, where they give up to, who may reach them.

use everlog_local::stack::physical;
use serde_json::json;

use crate::parameters::KEY;
use crate::stack::{list, number};
use crate::{Finding, Resource, Stack, Template};

/// Receives after which a message is undelivered, unless told otherwise.
const RECEIVES_DEFAULT: u64 = 1_000;
/// Seconds for which a queue keeps a message, unless told otherwise: 14 days.
const RETENTION_S_DEFAULT: u64 = 14 * 86_400;

fn fifo(queue: &Resource) -> bool {
    queue.properties["FifoQueue"] == json!(true)
}

fn is_defaults(stack: &Stack) -> bool {
    stack.set.values.is_empty()
}

/// Those that another queue, a schedule or a function gives up to, and those
/// that the functions themselves fill with what they gave up.
pub(super) fn takes_what_was_given_up(id: &str, queue: &Resource, stack: &Stack) -> bool {
    let target = |other: &Resource| {
        other.properties["RedrivePolicy"]["deadLetterTargetArn"].as_str() == queue.arn.as_deref()
    };
    let given_up = [everlog::config::DEAD_LETTER, everlog::config::QUARANTINE];
    let logical = queue.arn.as_deref().and_then(|arn| stack.logical_name(arn));
    stack.queues().any(|(_, other)| target(other))
        || logical.is_some_and(|name| given_up.contains(&name.as_str()))
        || super::functions::failure_destinations(stack).iter().any(|d| d == id)
}

/// A queue that somebody receives from has a redrive policy to a queue of the
/// same kind; 1,000 receives and 14 days unless told otherwise.
pub fn every_queue_gives_up_to_one_of_its_kind_after_a_thousand_receives(
    template: &Template,
) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, queue) in stack.queues() {
            let retention = queue.number("MessageRetentionPeriod");
            if is_defaults(stack) && retention != Some(RETENTION_S_DEFAULT) {
                found.push(Finding::new(id, format!("keeps messages {retention:?} s")));
            }
            if takes_what_was_given_up(id, queue, stack) {
                continue;
            }
            let policy = &queue.properties["RedrivePolicy"];
            let Some((target_id, target)) = stack.by_arn(&policy["deadLetterTargetArn"]) else {
                found.push(Finding::new(id, "gives up to no queue of this stack"));
                continue;
            };
            if fifo(target) != fifo(queue) {
                found.push(Finding::new(id, format!("gives up to {target_id}, of another kind")));
            }
            if target.number("MessageRetentionPeriod") < retention {
                found.push(Finding::new(target_id, format!("forgets sooner than {id}")));
            }
            let receives = number(&policy["maxReceiveCount"]);
            let right = match is_defaults(stack) {
                true => receives == Some(RECEIVES_DEFAULT),
                false => receives.is_some_and(|n| (1..=RECEIVES_DEFAULT).contains(&n)),
            };
            if !right {
                found.push(Finding::new(id, format!("gives up after {receives:?} receives")));
            }
        }
    })
}

/// Lambda wants a queue's visibility to be six times its function's time-out.
pub fn visibility_is_six_times_the_time_out(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, function) in stack.functions() {
            let timeout = function.number("Timeout");
            for (_, event) in Stack::events(function).filter(|(_, e)| e["Type"] == "SQS") {
                let Some((queue_id, queue)) = stack.by_arn(&event["Properties"]["Queue"]) else {
                    continue;
                };
                let visibility = queue.number("VisibilityTimeout");
                if timeout.is_none() || visibility < timeout.map(|s| s * 6) {
                    let what = format!("hides {visibility:?} s, {id} takes up to {timeout:?} s");
                    found.push(Finding::new(queue_id, what));
                }
            }
        }
    })
}

/// Command queues are FIFO with high throughput, all others standard: wakes
/// need a delay each, which FIFO refuses.
pub fn queues_are_of_the_kind_that_the_code_uses(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, queue) in stack.queues() {
            let name = queue.properties["QueueName"].as_str().unwrap_or_default();
            if name.ends_with(".fifo") != fifo(queue) {
                found.push(Finding::new(id, format!("{name} does not say which kind it is")));
            }
            let high = queue.properties["DeduplicationScope"] == "messageGroup"
                && queue.properties["FifoThroughputLimit"] == "perMessageGroupId";
            if fifo(queue) && !high {
                found.push(Finding::new(id, "a FIFO queue without high throughput"));
            }
            let logical = queue.arn.as_deref().and_then(|arn| stack.logical_name(arn));
            let Some(logical) = logical else { continue };
            if physical(&logical).ends_with(".fifo") != fifo(queue) {
                found.push(Finding::new(id, format!("{logical} is of the other kind in the code")));
            }
        }
    })
}

/// Every queue stands in a policy that refuses what comes without TLS, unless
/// the user (an emulator) asks for none.
pub fn every_queue_refuses_plain_http(template: &Template) -> Vec<Finding> {
    let refuses = |policy: &Resource| {
        policy.properties["PolicyDocument"]["Version"] == "2012-10-17"
            && list(&policy.properties["PolicyDocument"]["Statement"]).into_iter().any(
                |statement| {
                    statement["Effect"] == "Deny"
                        && statement["Principal"] == "*"
                        && statement["Action"] == "sqs:*"
                        && statement["Resource"] == "*"
                        && statement["Condition"]
                            == json!({ "Bool": { "aws:SecureTransport": "false" } })
                },
            )
    };
    template.in_each_stack(|stack, found| {
        let asked = stack.set.values.get("RefusePlainHttp").is_none_or(|value| value == "true");
        let policies = stack.of_kind("AWS::SQS::QueuePolicy").filter(|(_, policy)| refuses(policy));
        let covered: Vec<&str> = policies
            .flat_map(|(_, policy)| list(&policy.properties["Queues"]))
            .filter_map(|url| url.as_str())
            .collect();
        for (id, queue) in stack.queues() {
            let refuses = queue.reference.as_deref().is_some_and(|url| covered.contains(&url));
            if refuses != asked {
                found.push(Finding::new(id, format!("refuses plain HTTP: {refuses}")));
            }
        }
    })
}

/// By the user's key where there is one, else by a key of SQS.
pub fn every_queue_is_encrypted(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        let own = stack.set.values.contains_key("KmsKeyArn");
        for (id, queue) in stack.queues() {
            let (key, managed) =
                (&queue.properties["KmsMasterKeyId"], &queue.properties["SqsManagedSseEnabled"]);
            let right = match own {
                true => key == KEY && managed.is_null(),
                false => key.is_null() && managed == true,
            };
            if !right {
                found.push(Finding::new(id, format!("key {key}, managed by SQS {managed}")));
            }
        }
    })
}
