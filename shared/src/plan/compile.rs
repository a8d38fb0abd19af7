//! From a spec to a plan: every check that a plan must pass.
//!
//! Each refusal names the field by its path in the spec, the bound and what
//! was found. The order of the checks is: sizes, names, values, edges, cycles.

use std::collections::HashMap;

use super::{CommandLine, Defaults, Node, Plan, PlanSpec, RetryPolicy, Task, TaskSpec, Work};
use crate::answer::InvalidInput;
use crate::commit::DecodeError;
use crate::event::Timeouts;
use crate::id::{Kind, NodeId};
use crate::limits;

/// Checks a spec and makes it a plan.
///
/// # Errors
/// [`InvalidInput`] with the path of the field (`tasks[3].after[0]`), the
/// bound, and the value.
pub fn compile(spec: &PlanSpec) -> Result<Plan, InvalidInput> {
    check_sizes(spec)?;
    check_defaults(&spec.defaults)?;
    let mut positions = HashMap::with_capacity(spec.tasks.len());
    for (at, task) in (0_u32..).zip(&spec.tasks) {
        if let Some(first) = positions.insert(&task.id, at) {
            let limit = format!("a name of its own (tasks[{first}] has it)");
            return Err(InvalidInput::new(format!("tasks[{at}].id"), limit, &task.id));
        }
    }
    let mut nodes = Vec::with_capacity(spec.tasks.len());
    for (at, task) in spec.tasks.iter().enumerate() {
        let field = format!("tasks[{at}]");
        let parents = resolve(&positions, &task.after, &format!("{field}.after"))?;
        nodes.push(Node {
            id: task.id.clone(),
            work: work(task, &spec.defaults, &positions, &field)?,
            trigger: task.when,
            allow_failure: task.allow_failure,
            parents,
        });
    }
    let plan = Plan {
        nodes,
        max_concurrency: spec.max_concurrency,
        deadline_ms: spec.deadline_ms,
        attempts_max: spec.attempts_max,
        has_waits: false,
        children: Vec::new(),
        positions: HashMap::new(),
    };
    let plan = plan.derive().map_err(|e| InvalidInput::new("tasks", "a graph", e))?;
    match cycle(&plan) {
        Some(found) => Err(InvalidInput::new("tasks", "a graph without cycles", found)),
        None => Ok(plan),
    }
}

/// What a stored plan must hold, whoever wrote it.
pub(super) fn check_stored(plan: &Plan) -> Result<(), DecodeError> {
    let edges: usize = plan.nodes.iter().map(|n| n.parents.len()).sum();
    let count = plan.nodes.len();
    if count == 0 || count > limits::PLAN_NODES_MAX || edges > limits::PLAN_EDGES_MAX {
        return Err(DecodeError::Damaged(format!("{count} nodes, {edges} edges")));
    }
    let outside = |at: &u32| *at as usize >= count;
    for node in &plan.nodes {
        let outputs: &[u32] = match &node.work {
            Work::Task(task) => &task.outputs_of,
            Work::Sleep(_) | Work::Signal(..) => &[],
        };
        if node.parents.iter().chain(outputs).any(outside) {
            return Err(DecodeError::Damaged(format!("edge of node {}", node.id)));
        }
    }
    Ok(())
}

fn check_sizes(spec: &PlanSpec) -> Result<(), InvalidInput> {
    let count = spec.tasks.len();
    if count == 0 || count > limits::PLAN_NODES_MAX {
        return Err(InvalidInput::new("tasks", "1 to 10000 tasks", count));
    }
    let edges: usize = spec.tasks.iter().map(|t| t.after.len()).sum();
    if edges > limits::PLAN_EDGES_MAX {
        return Err(InvalidInput::new("tasks", "at most 100000 edges", edges));
    }
    if spec.max_concurrency == Some(0) {
        return Err(InvalidInput::new("max_concurrency", "at least 1", 0));
    }
    if spec.attempts_max == Some(0) {
        return Err(InvalidInput::new("attempts_max", "at least 1", 0));
    }
    duration("deadline_ms", spec.deadline_ms, 1)
}

fn duration(field: &str, value: Option<u64>, least: u64) -> Result<(), InvalidInput> {
    match value {
        Some(ms) if ms < least || ms > limits::DURATION_MS_MAX => {
            let limit = format!("{least} to {} milliseconds", limits::DURATION_MS_MAX);
            Err(InvalidInput::new(field, limit, ms))
        }
        _ => Ok(()),
    }
}

/// Checks the time-outs of an attempt.
pub(crate) fn check_timeouts(timeouts: &Timeouts, field: &str) -> Result<(), InvalidInput> {
    let fields = [
        ("schedule_to_start_ms", timeouts.schedule_to_start_ms),
        ("start_to_close_ms", timeouts.start_to_close_ms),
        ("heartbeat_ms", timeouts.heartbeat_ms),
    ];
    fields.into_iter().try_for_each(|(name, value)| duration(&format!("{field}.{name}"), value, 1))
}

fn check_retry(retry: &RetryPolicy, field: &str) -> Result<(), InvalidInput> {
    if !(1..=limits::ATTEMPTS_MAX).contains(&retry.max_attempts) {
        let field = format!("{field}.max_attempts");
        return Err(InvalidInput::new(field, "1 to 1000", retry.max_attempts));
    }
    if !(1.0..=10.0).contains(&retry.multiplier) {
        return Err(InvalidInput::new(format!("{field}.multiplier"), "1 to 10", retry.multiplier));
    }
    if !(0.0..=1.0).contains(&retry.jitter) {
        return Err(InvalidInput::new(format!("{field}.jitter"), "0 to 1", retry.jitter));
    }
    duration(&format!("{field}.initial_ms"), Some(retry.initial_ms), 0)?;
    duration(&format!("{field}.max_ms"), Some(retry.max_ms), 0)
}

fn check_defaults(defaults: &Defaults) -> Result<(), InvalidInput> {
    check_retry(&defaults.retry, "defaults.retry")?;
    check_timeouts(&defaults.timeouts, "defaults.timeouts")
}

fn resolve(
    positions: &HashMap<&NodeId, u32>,
    names: &[NodeId],
    field: &str,
) -> Result<Vec<u32>, InvalidInput> {
    let mut found = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        match positions.get(name) {
            Some(position) => found.push(*position),
            None => {
                let field = format!("{field}[{at}]");
                return Err(InvalidInput::new(field, "the id of a task of this plan", name));
            }
        }
    }
    found.sort_unstable();
    match found.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(_) => Err(InvalidInput::new(field, "each task once", "a task twice")),
        None => Ok(found),
    }
}

fn work(
    task: &TaskSpec,
    defaults: &Defaults,
    positions: &HashMap<&NodeId, u32>,
    field: &str,
) -> Result<Work, InvalidInput> {
    let does = task.command.is_some() || task.kind.is_some() || task.input.is_some();
    if [does, task.sleep_ms.is_some(), task.signal.is_some()].iter().filter(|x| **x).count() > 1 {
        let found = "more than one";
        return Err(InvalidInput::new(field, "one of work, sleep_ms and signal", found));
    }
    if task.signal_timeout_ms.is_some() && task.signal.is_none() {
        let field = format!("{field}.signal_timeout_ms");
        return Err(InvalidInput::new(field, "only beside a signal", "no signal"));
    }
    duration(&format!("{field}.sleep_ms"), task.sleep_ms, 0)?;
    duration(&format!("{field}.signal_timeout_ms"), task.signal_timeout_ms, 1)?;
    if let Some(ms) = task.sleep_ms {
        return Ok(Work::Sleep(ms));
    }
    if let Some(name) = &task.signal {
        return Ok(Work::Signal(name.clone(), task.signal_timeout_ms));
    }
    let retry = task.retry.clone().unwrap_or_else(|| defaults.retry.clone());
    let timeouts = task.timeouts.clone().unwrap_or_else(|| defaults.timeouts.clone());
    check_retry(&retry, &format!("{field}.retry"))?;
    check_timeouts(&timeouts, &format!("{field}.timeouts"))?;
    let outputs_of = resolve(positions, &task.outputs_of, &format!("{field}.outputs_of"))?;
    if let Some(name) = task.outputs_of.iter().find(|name| !task.after.contains(name)) {
        let field = format!("{field}.outputs_of");
        return Err(InvalidInput::new(field, "a task that this one comes after", name));
    }
    Ok(Work::Task(Box::new(Task {
        kind: kind(task, field)?,
        queue: task.queue.clone().unwrap_or_else(|| defaults.queue.clone()),
        command: command(task, field)?,
        input: task.input.clone(),
        outputs_of,
        retry,
        timeouts,
    })))
}

fn kind(task: &TaskSpec, field: &str) -> Result<Kind, InvalidInput> {
    let default = if task.command.is_some() { "command" } else { "task" };
    match &task.kind {
        Some(kind) => Ok(kind.clone()),
        None => Kind::new(default).map_err(|e| InvalidInput::new(field, "an id", e)),
    }
}

fn command(task: &TaskSpec, field: &str) -> Result<Option<Vec<String>>, InvalidInput> {
    match &task.command {
        None => Ok(None),
        Some(CommandLine::Arguments(list)) if list.is_empty() => Err(InvalidInput::new(
            format!("{field}.command"),
            "at least a program",
            "an empty list",
        )),
        Some(CommandLine::Arguments(list)) => Ok(Some(list.clone())),
        Some(CommandLine::Shell(line)) => Ok(Some(vec!["sh".into(), "-c".into(), line.clone()])),
    }
}

/// One cycle as `a -> b -> a`, if there is any.
fn cycle(plan: &Plan) -> Option<String> {
    let mut open: Vec<usize> = plan.nodes.iter().map(|n| n.parents.len()).collect();
    let mut free: Vec<u32> =
        (0..).zip(&open).filter(|(_, open)| **open == 0).map(|(at, _)| at).collect();
    let mut done = 0;
    while let Some(at) = free.pop() {
        done += 1;
        for &child in plan.children(at) {
            open[child as usize] -= 1;
            if open[child as usize] == 0 {
                free.push(child);
            }
        }
    }
    if done == plan.nodes.len() {
        return None;
    }
    // Every node that is left has a parent that is left: walking up must repeat one.
    let mut at = (0..).zip(&open).find(|(_, open)| **open > 0).map(|(at, _): (u32, _)| at)?;
    let mut path: Vec<u32> = Vec::new();
    let start = loop {
        if let Some(seen) = path.iter().position(|p| *p == at) {
            break seen;
        }
        path.push(at);
        at = *plan.node(at).parents.iter().find(|p| open[**p as usize] > 0)?;
    };
    let mut names: Vec<&str> =
        path[start..].iter().rev().map(|p| plan.node(*p).id.as_str()).collect();
    names.insert(0, plan.node(path[start]).id.as_str());
    if names.len() > 8 {
        let last = names[names.len() - 1];
        names.truncate(7);
        names.extend(["…", last]);
    }
    Some(names.join(" -> "))
}
