//! Intrinsic functions, resolved as CloudFormation would, as far as the
//! template uses them.
//!
//! References to resources become what they are on AWS: a queue's address, a
//! table's name, an ARN. What it does not know is an error that names it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::parameters::{ACCOUNT, REGION, STACK};

/// A document and the values of its parameters.
pub(crate) struct Scope<'a> {
    pub(crate) document: &'a Value,
    pub(crate) values: &'a BTreeMap<String, Value>,
}

/// A resolved value; `None` is `AWS::NoValue`.
type Resolved = Result<Option<Value>, String>;

impl Scope<'_> {
    /// Resolves a value and all within it.
    pub(crate) fn value(&self, value: &Value) -> Resolved {
        match value {
            Value::Array(items) => {
                let mut resolved = Vec::new();
                for item in items {
                    resolved.extend(self.value(item)?);
                }
                Ok(Some(Value::Array(resolved)))
            }
            Value::Object(fields) => self.object(fields),
            plain => Ok(Some(plain.clone())),
        }
    }

    fn object(&self, fields: &Map<String, Value>) -> Resolved {
        if let (1, Some((name, argument))) = (fields.len(), fields.iter().next())
            && (name == "Ref" || name.starts_with("Fn::"))
        {
            return self.function(name, argument).map_err(|why| format!("{name}: {why}"));
        }
        let mut resolved = Map::new();
        for (name, field) in fields {
            if let Some(value) = self.value(field)? {
                resolved.insert(name.clone(), value);
            }
        }
        Ok(Some(Value::Object(resolved)))
    }

    fn function(&self, name: &str, argument: &Value) -> Resolved {
        match (name, argument) {
            ("Ref", Value::String(target)) => self.reference(target),
            ("Fn::GetAtt", Value::Array(path)) => match path.as_slice() {
                [Value::String(resource), Value::String(attribute)] => {
                    self.attribute(resource, attribute).map(Some)
                }
                _ => Err(format!("expected a resource and an attribute, found {argument}")),
            },
            ("Fn::Sub", Value::String(text)) => self.substitute(text, &Map::new()).map(Some),
            ("Fn::Sub", Value::Array(parts)) => match parts.as_slice() {
                [Value::String(text), Value::Object(own)] => self.substitute(text, own).map(Some),
                _ => Err(format!("expected a text and its variables, found {argument}")),
            },
            ("Fn::If", Value::Array(parts)) => match parts.as_slice() {
                [Value::String(condition), yes, no] => {
                    self.value(if self.condition(condition)? { yes } else { no })
                }
                _ => Err(format!("expected a condition and two values, found {argument}")),
            },
            ("Fn::FindInMap", Value::Array(path)) => self.find_in_map(path).map(Some),
            _ => Err(format!("not known here: {argument}")),
        }
    }

    fn reference(&self, target: &str) -> Resolved {
        let pseudo = match target {
            "AWS::NoValue" => return Ok(None),
            "AWS::StackName" => Some(STACK),
            "AWS::Region" => Some(REGION),
            "AWS::AccountId" => Some(ACCOUNT),
            "AWS::Partition" => Some("aws"),
            _ => None,
        };
        if let Some(value) = pseudo {
            return Ok(Some(value.into()));
        }
        if self.document["Parameters"].get(target).is_some() {
            return self.parameter(target).map(Some);
        }
        let (kind, properties) = self.resource(target)?;
        let name = |property: &str| self.text(&properties[property]);
        Ok(Some(Value::String(match kind {
            "AWS::SQS::Queue" => {
                format!("https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{}", name("QueueName")?)
            }
            "AWS::DynamoDB::Table" => name("TableName")?,
            "AWS::Serverless::Function" => name("FunctionName")?,
            "AWS::Logs::LogGroup" => name("LogGroupName")?,
            _ => return Err(format!("what is the reference of {target}, a {kind}?")),
        })))
    }

    fn attribute(&self, target: &str, attribute: &str) -> Result<Value, String> {
        let (kind, properties) = self.resource(target)?;
        let name = |property: &str| self.text(&properties[property]);
        let arn =
            |service: &str, rest: String| format!("arn:aws:{service}:{REGION}:{ACCOUNT}:{rest}");
        Ok(Value::String(match (kind, attribute) {
            ("AWS::SQS::Queue", "Arn") => arn("sqs", name("QueueName")?),
            ("AWS::SQS::Queue", "QueueName") => name("QueueName")?,
            ("AWS::DynamoDB::Table", "Arn") => {
                arn("dynamodb", format!("table/{}", name("TableName")?))
            }
            ("AWS::Serverless::Function", "Arn") => {
                arn("lambda", format!("function:{}", name("FunctionName")?))
            }
            ("AWS::Logs::LogGroup", "Arn") => {
                arn("logs", format!("log-group:{}:*", name("LogGroupName")?))
            }
            ("AWS::IAM::Role", "Arn") => format!("arn:aws:iam::{ACCOUNT}:role/{target}"),
            _ => return Err(format!("what is {attribute} of {target}, a {kind}?")),
        }))
    }

    fn resource(&self, name: &str) -> Result<(&str, &Value), String> {
        let resource = &self.document["Resources"][name];
        let kind = resource["Type"].as_str();
        Ok((kind.ok_or_else(|| format!("there is no {name}"))?, &resource["Properties"]))
    }

    fn parameter(&self, name: &str) -> Result<Value, String> {
        let declared = &self.document["Parameters"][name];
        let value = self.values.get(name).unwrap_or(&declared["Default"]);
        match (value, declared["Type"].as_str()) {
            (Value::Null, _) => Err(format!("parameter {name} has no value")),
            (Value::String(text), Some("CommaDelimitedList")) => {
                Ok(text.split(',').map(str::to_owned).collect())
            }
            _ => Ok(value.clone()),
        }
    }

    /// A value that must be a text; numbers are written out.
    pub(crate) fn text(&self, value: &Value) -> Result<String, String> {
        match self.value(value)? {
            Some(Value::String(text)) => Ok(text),
            Some(Value::Number(number)) => Ok(number.to_string()),
            other => Err(format!("expected a text, found {other:?}")),
        }
    }

    fn substitute(&self, text: &str, own: &Map<String, Value>) -> Result<Value, String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').ok_or("${ without an end")?;
            out.push_str(before);
            out.push_str(&match (own.get(name), name.split_once('.')) {
                (Some(value), _) => self.text(value)?,
                (None, Some((resource, attribute))) => {
                    self.text(&self.attribute(resource, attribute)?)?
                }
                (None, None) => self.text(&serde_json::json!({ "Ref": name }))?,
            });
            rest = after;
        }
        out.push_str(rest);
        Ok(Value::String(out))
    }

    fn find_in_map(&self, path: &[Value]) -> Result<Value, String> {
        let [map, first, second] = path else {
            return Err(format!("expected a map and two keys, found {path:?}"));
        };
        let (map, first, second) = (self.text(map)?, self.text(first)?, self.text(second)?);
        let found = self.document["Mappings"][&map][&first].get(&second);
        found.cloned().ok_or_else(|| format!("{map} has no {first}.{second}"))
    }

    /// Whether a condition holds.
    pub(crate) fn condition(&self, name: &str) -> Result<bool, String> {
        let condition = self.document["Conditions"].get(name);
        self.holds(condition.ok_or_else(|| format!("there is no condition {name}"))?)
    }

    fn holds(&self, condition: &Value) -> Result<bool, String> {
        if let Some([inner]) = condition["Fn::Not"].as_array().map(Vec::as_slice) {
            return Ok(!self.holds(inner)?);
        }
        if let Some([left, right]) = condition["Fn::Equals"].as_array().map(Vec::as_slice) {
            return Ok(self.text(left)? == self.text(right)?);
        }
        Err(format!("a condition that is not known here: {condition}"))
    }
}
