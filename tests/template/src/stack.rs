//! A stack: what a template makes under one set of parameters, in plain values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::parameters::{ACCOUNT, KEY, ParameterSet, REGION, STACK};

/// A stack.
#[derive(Debug, Clone)]
pub struct Stack {
    /// The parameters that made it.
    pub set: ParameterSet,
    pub(crate) resources: BTreeMap<String, Resource>,
    pub(crate) outputs: Value,
    /// Addresses of queues by logical name, as the functions are told.
    pub(crate) addresses: BTreeMap<String, String>,
}

/// A resource of a stack.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Its type.
    pub kind: String,
    /// Its properties; those of `Globals` are merged in.
    pub properties: Value,
    /// What stands beside them: metadata, deletion policy.
    pub attributes: Value,
    /// What `Ref` gives.
    pub reference: Option<String>,
    /// What `GetAtt Arn` gives.
    pub arn: Option<String>,
}

/// A permission: an action on a resource, by the resource's name here.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// As IAM names it.
    pub action: String,
    /// `table`, `table/index/alarms`, `queue wake`, `function settle`, …
    pub resource: String,
}

impl Grant {
    /// A permission.
    pub fn new(action: impl Into<String>, resource: impl Into<String>) -> Self {
        Self { action: action.into(), resource: resource.into() }
    }
}

impl std::fmt::Display for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {}", self.action, self.resource)
    }
}

impl Resource {
    /// A property that is a number, or a text that is one.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        number(&self.properties[name])
    }
}

/// A number, or a text that is one.
#[must_use]
pub fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// A list, or the one thing that stands in place of a list of one.
#[must_use]
pub fn list(value: &Value) -> Vec<&Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().collect(),
        one => vec![one],
    }
}

impl Stack {
    /// A resource by its logical id.
    #[must_use]
    pub fn resource(&self, id: &str) -> Option<&Resource> {
        self.resources.get(id)
    }

    /// All resources.
    pub fn resources(&self) -> impl Iterator<Item = (&str, &Resource)> {
        self.resources.iter().map(|(id, resource)| (id.as_str(), resource))
    }

    /// The resources of a type.
    pub fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = (&str, &Resource)> {
        self.resources().filter(move |(_, resource)| resource.kind == kind)
    }

    /// The queues.
    pub fn queues(&self) -> impl Iterator<Item = (&str, &Resource)> {
        self.of_kind("AWS::SQS::Queue")
    }

    /// The functions.
    pub fn functions(&self) -> impl Iterator<Item = (&str, &Resource)> {
        self.of_kind("AWS::Serverless::Function")
    }

    /// The events of a function: its name for each, and what it says.
    pub fn events(function: &Resource) -> impl Iterator<Item = (&str, &Value)> {
        let events = function.properties["Events"].as_object();
        events.into_iter().flatten().map(|(name, event)| (name.as_str(), event))
    }

    /// The name that a function has in the code: its own without the stack's.
    #[must_use]
    pub fn function_name(function: &Resource) -> &str {
        let name = function.properties["FunctionName"].as_str().unwrap_or_default();
        name.strip_prefix(STACK).and_then(|rest| rest.strip_prefix('-')).unwrap_or(name)
    }

    /// The resource whose ARN this is.
    #[must_use]
    pub fn by_arn(&self, arn: &Value) -> Option<(&str, &Resource)> {
        let arn = arn.as_str()?;
        self.resources().find(|(_, resource)| resource.arn.as_deref() == Some(arn))
    }

    /// Addresses of queues by logical name, as the first function is told.
    pub(crate) fn told_addresses(&self) -> BTreeMap<String, String> {
        let mut functions = self.functions();
        let told = functions.find_map(|(_, function)| {
            let variables = &function.properties["Environment"]["Variables"];
            serde_json::from_str(variables["EVERLOG_QUEUES"].as_str()?).ok()
        });
        told.unwrap_or_default()
    }

    /// The logical name of the queue with this ARN, if the functions know it.
    #[must_use]
    pub fn logical_name(&self, arn: &str) -> Option<String> {
        let name = arn.strip_prefix(&format!("arn:aws:sqs:{REGION}:{ACCOUNT}:"))?;
        let address = format!("https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}");
        let mut all = self.addresses.iter();
        all.find_map(|(logical, url)| (*url == address).then(|| logical.clone()))
    }

    /// What an ARN of a policy is about.
    #[must_use]
    pub fn named(&self, arn: &str) -> String {
        if arn == KEY {
            return "the key".into();
        }
        if let Some(logical) = self.logical_name(arn) {
            return format!("queue {logical}");
        }
        let own = |resource: &&Resource| resource.arn.as_deref() == Some(arn);
        if let Some((id, resource)) = self.resources.iter().find(|(_, r)| own(r)) {
            return match resource.kind.as_str() {
                "AWS::DynamoDB::Table" => "table".into(),
                "AWS::Serverless::Function" => {
                    format!("function {}", Self::function_name(resource))
                }
                _ => id.clone(),
            };
        }
        let table = self.of_kind("AWS::DynamoDB::Table").find_map(|(_, r)| r.arn.clone());
        match table.and_then(|table| arn.strip_prefix(&table).map(str::to_owned)) {
            Some(rest) => format!("table{rest}"),
            None => format!("{arn}, which is not of this stack"),
        }
    }

    /// What a role is granted.
    #[must_use]
    pub fn grants(&self, role: &Resource) -> BTreeSet<Grant> {
        let policies = list(&role.properties["Policies"]);
        let statements = policies.iter().flat_map(|p| list(&p["PolicyDocument"]["Statement"]));
        let allowed = statements.filter(|statement| statement["Effect"] == "Allow");
        let mut grants = BTreeSet::new();
        for statement in allowed {
            for action in list(&statement["Action"]) {
                for resource in list(&statement["Resource"]) {
                    let arn = resource.as_str().unwrap_or("what is no text");
                    let action = action.as_str().unwrap_or("what is no text");
                    grants.insert(Grant::new(action, self.named(arn)));
                }
            }
        }
        grants
    }

    /// What the stack says to those who ask for its outputs.
    #[must_use]
    pub fn output(&self, name: &str) -> &Value {
        &self.outputs[name]["Value"]
    }
}
