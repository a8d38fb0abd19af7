//! Sets of parameters under which the template is looked at.
//!
//! The defaults; each allowed value and each bound of a parameter by itself;
//! and what may be left out (a key, more queues, a topic, telemetry), one by
//! one and all together. An optional parameter without an example here is a
//! finding of [`crate::checks::parameters`], so that a new one can't be forgotten.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The region of the stacks that are looked at.
pub const REGION: &str = "eu-central-2";
/// Their account.
pub const ACCOUNT: &str = "123456789012";
/// Their name.
pub const STACK: &str = "some-stack";

/// The key of the user's own.
pub const KEY: &str =
    "arn:aws:kms:eu-central-2:123456789012:key/0f0e0d0c-aaaa-bbbb-cccc-000000000001";
/// Logical name of the additional queue.
pub const EXTRA: &str = "extra";
/// ARN of the additional queue.
pub const EXTRA_ARN: &str = "arn:aws:sqs:eu-central-2:123456789012:somebody-elses-tasks";

/// Allowed values that are all looked at; of more, the first and the last.
const ALLOWED_MAX: usize = 8;

/// A named set of values; those that it does not name have their defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterSet {
    /// What it is about.
    pub name: String,
    /// Its values.
    pub values: BTreeMap<String, Value>,
}

/// Values for what is empty by default, by what they are for.
#[must_use]
pub fn examples() -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
    let url = format!(
        "\"{EXTRA}\":\"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/somebody-elses-tasks\""
    );
    vec![
        ("a key", vec![("KmsKeyArn", json!(KEY))]),
        ("extra queues", vec![("ExtraQueues", json!(url)), ("ExtraQueueArns", json!([EXTRA_ARN]))]),
        ("a topic", vec![("AlarmTopicArn", json!("arn:aws:sns:eu-central-2:123456789012:calls"))]),
        ("traces", vec![("OtlpEndpoint", json!("http://localhost:4318"))]),
        (
            "a collector",
            vec![
                ("OtlpEndpoint", json!("http://localhost:4318")),
                (
                    "OtlpLayerArn",
                    json!("arn:aws:lambda:eu-central-2:123456789012:layer:collector:7"),
                ),
            ],
        ),
    ]
}

/// All sets for these declarations of parameters.
#[must_use]
pub fn sets(declared: &Value) -> Vec<ParameterSet> {
    let none = serde_json::Map::new();
    let declared = declared.as_object().unwrap_or(&none);
    let known = |values: &[(&str, Value)]| -> BTreeMap<String, Value> {
        let there = values.iter().filter(|(name, _)| declared.contains_key(*name));
        there.map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    };
    let mut sets = vec![ParameterSet { name: "defaults".into(), values: BTreeMap::new() }];
    let mut all = BTreeMap::new();
    for (name, values) in examples() {
        let values = known(&values);
        all.extend(values.clone());
        sets.push(ParameterSet { name: name.into(), values });
    }
    sets.push(ParameterSet { name: "all of it".into(), values: all });
    for (name, parameter) in declared {
        let mut allowed = parameter["AllowedValues"].as_array().cloned().unwrap_or_default();
        if allowed.len() > ALLOWED_MAX {
            allowed = vec![allowed[0].clone(), allowed[allowed.len() - 1].clone()];
        }
        let bounds = ["MinValue", "MaxValue"].map(|bound| parameter[bound].clone());
        let values = allowed.into_iter().chain(bounds);
        for value in values.filter(|v| !v.is_null() && *v != parameter["Default"]) {
            sets.push(ParameterSet {
                name: format!("{name} = {value}"),
                values: BTreeMap::from([(name.clone(), value)]),
            });
        }
    }
    sets
}
