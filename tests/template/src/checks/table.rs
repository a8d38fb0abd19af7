//! The table against the request that makes it where there is no template.

use std::sync::OnceLock;

use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Region};
use aws_sdk_dynamodb::types::{KeySchemaElement, Projection};
use serde_json::{Value, json};

use crate::parameters::KEY;
use crate::{Finding, Resource, Template};

fn keys(schema: &[KeySchemaElement]) -> Value {
    let key = |k: &KeySchemaElement| json!({ "AttributeName": k.attribute_name(), "KeyType": k.key_type().as_str() });
    schema.iter().map(key).collect()
}

fn projection(projection: Option<&Projection>) -> Value {
    let Some(projection) = projection else { return Value::Null };
    let mut out =
        json!({ "ProjectionType": projection.projection_type().map(|kind| kind.as_str()) });
    if !projection.non_key_attributes().is_empty() {
        out["NonKeyAttributes"] = json!(sorted(projection.non_key_attributes().to_vec()));
    }
    out
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items
}

/// What the journal wants, in the words of CloudFormation. Order is left out
/// where it has no meaning.
fn wanted() -> Value {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::from_static("none"));
    let db = aws_sdk_dynamodb::Client::from_conf(config.build());
    let request = everlog::journal::table_request(&db, "any");
    let request = request.as_input();
    let attributes = request.get_attribute_definitions().iter().flatten();
    let attributes = attributes.map(|a| format!("{} {}", a.attribute_name(), a.attribute_type()));
    let indexes = request.get_global_secondary_indexes().iter().flatten().map(|index| {
        let own = json!({
            "KeySchema": keys(index.key_schema()), "Projection": projection(index.projection()),
        });
        (index.index_name().to_owned(), own)
    });
    json!({
        "BillingMode": request.get_billing_mode().as_ref().map(|mode| mode.as_str()),
        "Attributes": sorted(attributes.collect::<Vec<String>>()),
        "KeySchema": request.get_key_schema().as_deref().map(keys),
        "Indexes": indexes.collect::<serde_json::Map<String, Value>>(),
        "LocalIndexes": request.get_local_secondary_indexes().iter().flatten().count(),
        "Stream": request.get_stream_specification().is_some(),
    })
}

/// What the template says, in the same words.
fn declared(table: &Resource) -> Value {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let properties = &table.properties;
    let attributes = list(&properties["AttributeDefinitions"]).into_iter();
    let attributes =
        attributes.map(|a| format!("{} {}", text(&a["AttributeName"]), text(&a["AttributeType"])));
    let indexes = list(&properties["GlobalSecondaryIndexes"]).into_iter().map(|index| {
        let mut projection = index["Projection"].clone();
        if let Some(names) = projection["NonKeyAttributes"].as_array() {
            let names = sorted(names.iter().map(text).collect());
            projection["NonKeyAttributes"] = json!(names);
        } else if let Some(projection) = projection.as_object_mut() {
            projection.remove("NonKeyAttributes");
        }
        let own = json!({ "KeySchema": index["KeySchema"], "Projection": projection });
        (text(&index["IndexName"]), own)
    });
    json!({
        "BillingMode": properties["BillingMode"],
        "Attributes": sorted(attributes.collect::<Vec<String>>()),
        "KeySchema": properties["KeySchema"],
        "Indexes": indexes.collect::<serde_json::Map<String, Value>>(),
        "LocalIndexes": list(&properties["LocalSecondaryIndexes"]).len(),
        "Stream": !properties["StreamSpecification"].is_null(),
    })
}

/// Field by field: keys, attribute types, indexes, projections, billing; no
/// stream, no local index, no time to live.
pub fn keys_and_indexes_are_those_of_the_journal(template: &Template) -> Vec<Finding> {
    static WANTED: OnceLock<Value> = OnceLock::new();
    let wanted = WANTED.get_or_init(wanted);
    template.in_each_stack(|stack, found| {
        let tables: Vec<_> = stack.of_kind("AWS::DynamoDB::Table").collect();
        let [(id, table)] = tables.as_slice() else {
            found.push(Finding::new("Resources", format!("{} tables", tables.len())));
            return;
        };
        let declared = declared(table);
        for (name, value) in wanted.as_object().into_iter().flatten() {
            if declared[name] != *value {
                let what = format!("{name}: expected {value}, found {}", declared[name]);
                found.push(Finding::new(*id, what));
            }
        }
        if !table.properties["TimeToLiveSpecification"].is_null() {
            found.push(Finding::new(*id, "items go by themselves"));
        }
    })
}

/// Retained when the stack goes; protected and restorable unless the user says
/// otherwise; encrypted by the user's key where there is one.
pub fn the_table_is_encrypted_protected_and_retained(template: &Template) -> Vec<Finding> {
    template.in_each_stack(|stack, found| {
        for (id, table) in stack.of_kind("AWS::DynamoDB::Table") {
            for policy in ["DeletionPolicy", "UpdateReplacePolicy"] {
                if table.attributes[policy] != "Retain" {
                    found.push(Finding::new(id, format!("{policy} loses all workflows")));
                }
            }
            let asked = |name: &str| stack.set.values.get(name).is_none_or(|value| value == "true");
            let properties = &table.properties;
            if properties["DeletionProtectionEnabled"] != asked("DeletionProtection") {
                found.push(Finding::new(id, "deletion protection is not what was asked for"));
            }
            let recovery = &properties["PointInTimeRecoverySpecification"];
            if recovery["PointInTimeRecoveryEnabled"] != asked("PointInTimeRecovery") {
                found.push(Finding::new(id, "point-in-time recovery is not what was asked for"));
            }
            let wanted = match stack.set.values.contains_key("KmsKeyArn") {
                true => json!({ "SSEEnabled": true, "SSEType": "KMS", "KMSMasterKeyId": KEY }),
                false => Value::Null,
            };
            if properties["SSESpecification"] != wanted {
                found.push(Finding::new(id, format!("encryption: expected {wanted}")));
            }
        }
    })
}
