//! The template: its document, and the stacks that it makes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::parameters::{ParameterSet, sets};
use crate::resolve::Scope;
use crate::stack::{Resource, Stack};
use crate::{Finding, document};

/// A template under every set of parameters.
#[derive(Debug, Clone)]
pub struct Template {
    document: Value,
    stacks: Vec<Stack>,
    unresolved: Vec<Finding>,
}

impl Template {
    /// The template of this repository.
    ///
    /// # Panics
    /// If it is not there, or no YAML.
    #[must_use]
    pub fn of_the_repository() -> Self {
        Self::new(document::of_the_repository())
    }

    /// A template from its document, intrinsic functions in their long form,
    /// under every set of parameters.
    #[must_use]
    pub fn new(document: Value) -> Self {
        Self::under(document, |_| true)
    }

    /// The same, under some sets of parameters.
    #[must_use]
    pub fn under(document: Value, wanted: impl Fn(&ParameterSet) -> bool) -> Self {
        let mut unresolved = Vec::new();
        let mut stacks = Vec::new();
        for set in sets(&document["Parameters"]).into_iter().filter(wanted) {
            stacks.push(stack(&document, set, &mut unresolved));
        }
        unresolved.sort();
        unresolved.dedup();
        Self { document, stacks, unresolved }
    }

    /// The document.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The stacks that it makes, the one of the defaults first.
    #[must_use]
    pub fn stacks(&self) -> &[Stack] {
        &self.stacks
    }

    /// What did not resolve.
    #[must_use]
    pub fn unresolved(&self) -> &[Finding] {
        &self.unresolved
    }

    /// Looks at each stack; the same finding in many stacks is told once, with
    /// the first set of parameters that shows it.
    pub fn in_each_stack(&self, mut look: impl FnMut(&Stack, &mut Vec<Finding>)) -> Vec<Finding> {
        let mut told: Vec<Finding> = Vec::new();
        for stack in &self.stacks {
            let mut found = Vec::new();
            look(stack, &mut found);
            for finding in found {
                let marked = format!("{} (with {})", finding.what, stack.set.name);
                let known = |t: &Finding| {
                    t.at == finding.at && t.what.split(" (with ").next() == Some(&finding.what)
                };
                if !told.iter().any(known) {
                    told.push(Finding::new(finding.at, marked));
                }
            }
        }
        told
    }
}

fn stack(document: &Value, set: ParameterSet, unresolved: &mut Vec<Finding>) -> Stack {
    let mut stack =
        Stack { set, resources: BTreeMap::new(), outputs: Value::Null, addresses: BTreeMap::new() };
    let values = stack.set.values.clone();
    let scope = Scope { document, values: &values };
    add_resources(&scope, &mut stack, unresolved);
    let outputs = scope.value(&document["Outputs"]);
    let outputs = outputs.map_err(|why| unresolved.push(Finding::new("Outputs", why)));
    stack.outputs = outputs.unwrap_or_default().unwrap_or_default();
    stack.addresses = stack.told_addresses();
    stack
}

/// Adds the resources of a document, and of the documents nested in it.
fn add_resources(scope: &Scope<'_>, stack: &mut Stack, unresolved: &mut Vec<Finding>) {
    let declared = scope.document["Resources"].as_object();
    for (name, resource) in declared.into_iter().flatten() {
        let kind = resource["Type"].as_str().unwrap_or_default().to_owned();
        let mut whole = resource.clone();
        if kind == "AWS::Serverless::Function" {
            let globals = &scope.document["Globals"]["Function"];
            whole["Properties"] = merged(globals, &resource["Properties"]);
        }
        let resolved = match resource["Condition"].as_str().map(|name| scope.condition(name)) {
            Some(Ok(false)) => continue,
            Some(Err(why)) => Err(why),
            Some(Ok(true)) | None => scope.value(&whole),
        };
        let mut whole = match resolved {
            Ok(whole) => whole.unwrap_or_default(),
            Err(why) => {
                unresolved.push(Finding::new(name, why));
                continue;
            }
        };
        let properties = whole["Properties"].take();
        if kind == "AWS::Serverless::Application" {
            let location = properties["Location"].as_str().unwrap_or_default();
            let Some(document) = scope.document["Nested"].get(location) else {
                unresolved.push(Finding::new(name, format!("there is no template {location}")));
                continue;
            };
            let given = properties["Parameters"].as_object().cloned().unwrap_or_default();
            let values = given.into_iter().collect();
            add_resources(&Scope { document, values: &values }, stack, unresolved);
        }
        let reference = scope.text(&json!({ "Ref": name })).ok();
        let arn = scope.text(&json!({ "Fn::GetAtt": [name, "Arn"] })).ok();
        let resource = Resource { kind, properties, attributes: whole, reference, arn };
        stack.resources.insert(name.clone(), resource);
    }
}

/// `own` over `common`, as SAM merges `Globals`: objects field by field, lists
/// one after the other, else the own value.
fn merged(common: &Value, own: &Value) -> Value {
    match (common, own) {
        (Value::Object(common), Value::Object(own)) => {
            let mut all = common.clone();
            for (name, value) in own {
                let value = match common.get(name) {
                    Some(common) => merged(common, value),
                    None => value.clone(),
                };
                all.insert(name.clone(), value);
            }
            Value::Object(all)
        }
        (Value::Array(common), Value::Array(own)) => common.iter().chain(own).cloned().collect(),
        (common, Value::Null) => common.clone(),
        (_, own) => own.clone(),
    }
}
