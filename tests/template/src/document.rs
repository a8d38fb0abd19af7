//! The template's text as a JSON document: CloudFormation's short tags in
//! their long form.
//!
//! `!Ref X` becomes `{"Ref": "X"}`, `!GetAtt X.Arn` becomes
//! `{"Fn::GetAtt": ["X", "Arn"]}`, any other `!Name` `{"Fn::Name": …}`. It
//! resolves nothing, and fails on what is not YAML.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use serde_norway::Value as Yaml;

/// A path within the repository.
#[must_use]
pub fn in_repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The template of this repository, with the templates that it nests under
/// `Nested`, by their location.
///
/// # Panics
/// If one of them is not there, or no YAML.
#[must_use]
pub fn of_the_repository() -> Value {
    let read = |name: &str| {
        let text = std::fs::read_to_string(in_repository("infra").join(name));
        let text = text.unwrap_or_else(|error| panic!("infra/{name}: {error}"));
        read_yaml(&text).unwrap_or_else(|error| panic!("infra/{name}: {error}"))
    };
    let mut document = read("template.yaml");
    let resources = document["Resources"].as_object();
    let locations: Vec<String> = resources
        .into_iter()
        .flatten()
        .filter(|(_, resource)| resource["Type"] == "AWS::Serverless::Application")
        .filter_map(|(_, resource)| resource["Properties"]["Location"].as_str().map(str::to_owned))
        .collect();
    for location in locations {
        document["Nested"][&location] = read(&location);
    }
    document
}

/// Reads YAML with CloudFormation's tags.
///
/// # Errors
/// What is wrong with the text.
pub fn read_yaml(text: &str) -> Result<Value, String> {
    let yaml: Yaml = serde_norway::from_str(text).map_err(|error| error.to_string())?;
    long_form(yaml)
}

fn long_form(yaml: Yaml) -> Result<Value, String> {
    Ok(match yaml {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => Value::Bool(value),
        Yaml::Number(number) => serde_json::to_value(number).map_err(|error| error.to_string())?,
        Yaml::String(text) => Value::String(text),
        Yaml::Sequence(items) => {
            Value::Array(items.into_iter().map(long_form).collect::<Result<_, _>>()?)
        }
        Yaml::Mapping(fields) => {
            let mut object = Map::new();
            for (name, value) in fields {
                let name = name.as_str().ok_or("a key that is no text")?.to_owned();
                object.insert(name, long_form(value)?);
            }
            Value::Object(object)
        }
        Yaml::Tagged(tagged) => {
            let tag = tagged.tag.to_string();
            let content = long_form(tagged.value)?;
            match (tag.trim_start_matches('!'), &content) {
                ("Ref", _) => json!({ "Ref": content }),
                ("Condition", _) => json!({ "Condition": content }),
                ("GetAtt", Value::String(path)) => {
                    let (resource, attribute) =
                        path.split_once('.').ok_or("!GetAtt without an attribute")?;
                    json!({ "Fn::GetAtt": [resource, attribute] })
                }
                (name, _) => json!({ format!("Fn::{name}"): content }),
            }
        }
    })
}
