//! Plans from files: JSON, YAML, or WfFormat.
//!
//! WfFormat 1.4 and 1.5 (wfcommons) describe executions of scientific
//! workflows; a task becomes one with its measured run time as input.

use std::collections::HashMap;
use std::path::Path;

use everlog::answer::InvalidInput;
use everlog::id::{Kind, NodeId, WorkflowType, hash16};
use everlog::payload::Payload;
use everlog::plan::{PlanSpec, TaskSpec, Trigger, compile};
use serde::Deserialize;
use serde_json::json;

/// A plan, and the id that belongs to it.
#[derive(Debug, Clone)]
pub struct PlanFile {
    /// The plan.
    pub spec: PlanSpec,
    /// File name and hash of the plan: the same file gives the same id.
    pub default_id: String,
    /// The task queues that it names.
    pub queues: Vec<String>,
}

/// Why a file is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanFileError {
    /// It can't be read.
    #[error("{file}: {source}")]
    Read {
        /// Which file.
        file: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// It does not have the form of a plan.
    #[error("{file}: {field}: {why}")]
    Form {
        /// Which file.
        file: String,
        /// Where in it.
        field: String,
        /// What is wrong.
        why: String,
    },
    /// It breaks a rule of plans.
    #[error("{file}: {invalid}")]
    Invalid {
        /// Which file.
        file: String,
        /// Field, limit and value.
        invalid: InvalidInput,
    },
}

#[derive(Deserialize)]
struct WfFormat {
    #[serde(default)]
    name: Option<String>,
    workflow: WfWorkflow,
}

#[derive(Deserialize)]
struct WfWorkflow {
    specification: WfSpecification,
    #[serde(default)]
    execution: Option<WfExecution>,
}

#[derive(Deserialize)]
struct WfSpecification {
    tasks: Vec<WfTask>,
}

#[derive(Deserialize)]
struct WfTask {
    id: String,
    #[serde(default)]
    parents: Vec<String>,
}

#[derive(Deserialize)]
struct WfExecution {
    tasks: Vec<WfRun>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WfRun {
    id: String,
    #[serde(default)]
    runtime_in_seconds: f64,
}

/// Reads a plan.
///
/// # Errors
/// [`PlanFileError`], with the path of the field.
pub fn read(path: &Path) -> Result<PlanFile, PlanFileError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|source| PlanFileError::Read { file: file.clone(), source })?;
    let spec = parse(&file, &text)?;
    compile(&spec).map_err(|invalid| PlanFileError::Invalid { file, invalid })?;
    Ok(PlanFile { default_id: default_id(path, &spec), queues: queues(&spec), spec })
}

/// A built-in plan under a name.
#[must_use]
pub fn built_in(name: &str, spec: PlanSpec) -> PlanFile {
    PlanFile { default_id: name.to_owned(), queues: queues(&spec), spec }
}

fn queues(spec: &PlanSpec) -> Vec<String> {
    let named = spec.tasks.iter().filter_map(|task| task.queue.as_ref());
    let mut names: Vec<String> =
        named.chain([&spec.defaults.queue]).map(ToString::to_string).collect();
    names.sort();
    names.dedup();
    names
}

fn default_id(path: &Path, spec: &PlanSpec) -> String {
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let stem: String = stem.chars().filter(|c| legal(*c)).take(80).collect();
    let hash = hash16(&[&serde_json::to_vec(spec).unwrap_or_default()]);
    let digits: String = hash[..4].iter().map(|b| format!("{b:02x}")).collect();
    format!("{stem}-{digits}")
}

/// Reads a plan from text; `file` is its name in errors.
///
/// # Errors
/// [`PlanFileError::Form`], with the path of the field.
pub fn parse(file: &str, text: &str) -> Result<PlanSpec, PlanFileError> {
    let form =
        |field: String, why: String| PlanFileError::Form { file: file.to_owned(), field, why };
    if text.trim_start().starts_with('{') {
        // A flow mapping of YAML begins like JSON.
        let value: serde_json::Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => {
                serde_norway::from_str(text).map_err(|_| form("JSON".into(), error.to_string()))?
            }
        };
        if value.get("workflow").is_some() {
            let found: WfFormat = serde_path_to_error::deserialize(value)
                .map_err(|e| form(e.path().to_string(), e.inner().to_string()))?;
            return from_wf_format(found).map_err(|why| form("workflow.specification".into(), why));
        }
        return serde_path_to_error::deserialize(value)
            .map_err(|e| form(e.path().to_string(), e.inner().to_string()));
    }
    let value: serde_json::Value =
        serde_norway::from_str(text).map_err(|e| form("YAML".into(), e.to_string()))?;
    serde_path_to_error::deserialize(value)
        .map_err(|e| form(e.path().to_string(), e.inner().to_string()))
}

fn from_wf_format(found: WfFormat) -> Result<PlanSpec, String> {
    let runs = found.workflow.execution.map(|e| e.tasks).unwrap_or_default();
    let runtimes: HashMap<String, f64> =
        runs.into_iter().map(|run| (run.id, run.runtime_in_seconds)).collect();
    let kind = Kind::new("wfformat").map_err(|e| e.to_string())?;
    let tasks = found.workflow.specification.tasks.into_iter().map(|task| {
        let runtime_s = runtimes.get(&task.id).copied().unwrap_or(0.0);
        let input = Payload::json(&json!({ "runtime_s": runtime_s }));
        let after = task.parents.iter().map(NodeId::new).collect::<Result<_, _>>();
        Ok(TaskSpec {
            id: NodeId::new(&task.id).map_err(|e| format!("task {}: {e}", task.id))?,
            after: after.map_err(|e| format!("parent of {}: {e}", task.id))?,
            when: Trigger::Success,
            allow_failure: false,
            kind: Some(kind.clone()),
            command: None,
            input: Some(input.map_err(|size| format!("{size} bytes of input"))?),
            outputs_of: Vec::new(),
            queue: None,
            retry: None,
            timeouts: None,
            sleep_ms: None,
            signal: None,
            signal_timeout_ms: None,
        })
    });
    let name = found.name.map(|n| n.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-"));
    Ok(PlanSpec {
        name: name.and_then(|n| WorkflowType::new(n.trim_end_matches(".json")).ok()),
        tasks: tasks.collect::<Result<_, String>>()?,
        ..PlanSpec::default()
    })
}
