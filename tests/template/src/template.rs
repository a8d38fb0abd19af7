//! The template: its document, and the stacks that it makes.

use serde_json::{Map, Value};

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
        let path = document::in_repository("infra/template.yaml");
        let text = std::fs::read_to_string(&path).expect("infra/template.yaml");
        Self::new(document::read_yaml(&text).expect("YAML"))
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
    let scope = Scope { document, values: &set.values };
    let mut resolve = |at: &str, value: &Value| match scope.value(value) {
        Ok(value) => value.unwrap_or_default(),
        Err(why) => {
            unresolved.push(Finding::new(at, why));
            Value::Null
        }
    };
    let none = Map::new();
    let declared = document["Resources"].as_object().unwrap_or(&none);
    let mut resources = std::collections::BTreeMap::new();
    for (name, resource) in declared {
        let kind = resource["Type"].as_str().unwrap_or_default().to_owned();
        let mut whole = resource.clone();
        if kind == "AWS::Serverless::Function" {
            let globals = &document["Globals"]["Function"];
            whole["Properties"] = merged(globals, &resource["Properties"]);
        }
        let mut whole = resolve(name, &whole);
        let properties = whole["Properties"].take();
        let reference = scope.text(&serde_json::json!({ "Ref": name })).ok();
        let arn = scope.text(&serde_json::json!({ "Fn::GetAtt": [name, "Arn"] })).ok();
        resources
            .insert(name.clone(), Resource { kind, properties, attributes: whole, reference, arn });
    }
    let outputs = resolve("Outputs", &document["Outputs"]);
    Stack { set, resources, outputs }
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
