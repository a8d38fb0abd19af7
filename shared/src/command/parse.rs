//! From a message body to a command, or to a typed refusal.
//!
//! Serde says what it expected in the form "…: found, expected limit"; the path
//! comes from `serde_path_to_error`. Bounds that types can't say are checked
//! after that, in [`check`].

use serde::de::IgnoredAny;
use serde_json::Value;

use super::{Append, AttemptId, Command, Intent, Start, TimerChange, Verb};
use crate::answer::{Answer, InvalidInput, Rejection, Reply};
use crate::id::{CommandId, Namespace, QueueName, WorkflowId};
use crate::labels;
use crate::limits;
use crate::plan;

/// A command that can't be read, with what could be: enough to answer it.
#[derive(Debug, Clone, PartialEq)]
pub struct Unreadable {
    /// Its id.
    pub id: Option<CommandId>,
    /// Its namespace.
    pub namespace: Option<Namespace>,
    /// Its workflow.
    pub workflow: Option<WorkflowId>,
    /// Where the answer goes.
    pub reply_to: Option<QueueName>,
    /// What is wrong.
    pub invalid: InvalidInput,
}

impl Unreadable {
    /// The answer.
    #[must_use]
    pub fn answer(&self) -> Answer {
        Answer {
            command: self.id.clone(),
            namespace: self.namespace.clone(),
            workflow: self.workflow.clone(),
            incarnation: None,
            head: None,
            reply: Reply::from(Rejection::from(self.invalid.clone())),
            dispatch_keys: Vec::new(),
            directive: None,
            ending: None,
        }
    }
}

/// Reads one command.
///
/// # Errors
/// [`Unreadable`]: not JSON, an unknown command or field, a value outside its
/// bound. Names field, limit and value.
pub fn parse(body: &str) -> Result<Command, Box<Unreadable>> {
    let mut decoder = serde_json::Deserializer::from_str(body);
    let read: Result<Command, _> = serde_path_to_error::deserialize(&mut decoder);
    let checked = match read {
        Ok(command) => match decoder.end() {
            Ok(()) => check(&command).map(|()| command),
            Err(_) => Err(InvalidInput::new("body", "one JSON object", "more after it")),
        },
        Err(error) => {
            let path = error.path().to_string();
            Err(invalid(body, &path, error.inner()))
        }
    };
    checked.map_err(|invalid| Box::new(salvage(body, invalid)))
}

fn invalid(body: &str, path: &str, error: &serde_json::Error) -> InvalidInput {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(before, _)| before);
    // `?` stands for a field whose name did not come.
    let path = path.trim_end_matches(['.', '?']);
    let field = if path.is_empty() { "body" } else { path };
    if error.is_syntax() || error.is_eof() {
        // An object of no or of several alternatives counts as a fault of syntax.
        if text == "expected value" && serde_json::from_str::<IgnoredAny>(body).is_ok() {
            return InvalidInput::new(field, "exactly one alternative", "none or several");
        }
        return InvalidInput::new(field, "well-formed JSON", text);
    }
    let within = |name: &str| {
        let name = name.trim_matches('`');
        if field == "body" { name.to_owned() } else { format!("{field}.{name}") }
    };
    if let Some(name) = text.strip_prefix("missing field ") {
        return InvalidInput::new(within(name), "to be given", "nothing");
    }
    if let Some(name) = text.strip_prefix("duplicate field ") {
        return InvalidInput::new(within(name), "to be given once", "twice");
    }
    if let Some(found) = text.strip_suffix(", there are no fields") {
        return InvalidInput::new(field, "no fields", found);
    }
    match text.rsplit_once(", expected ") {
        Some((found, limit)) => {
            let found = found.split_once(": ").map_or(found, |(_, value)| value);
            InvalidInput::new(field, limit, found)
        }
        None => InvalidInput::new(field, "a value of its type", text),
    }
}

/// What can still be read of a command that can't be.
fn salvage(body: &str, invalid: InvalidInput) -> Unreadable {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    Unreadable {
        id: text("id").and_then(|t| t.parse().ok()),
        namespace: text("namespace").map_or(Some(Namespace::default()), |t| t.parse().ok()),
        workflow: text("workflow").and_then(|t| t.parse().ok()),
        reply_to: text("reply_to").and_then(|t| t.parse().ok()),
        invalid,
    }
}

fn check(command: &Command) -> Result<(), InvalidInput> {
    let verb = match &command.command {
        Verb::Start(start) => check_start(start),
        Verb::Append(append) => check_append(append),
        Verb::Prepare(prepare) => check_intent(&prepare.intent, "intent"),
        Verb::Claim(claim) if claim.owner.generation == 0 => {
            Err(InvalidInput::new("owner.generation", "at least 1", 0))
        }
        Verb::Pause(barrier) | Verb::Cancel(barrier) | Verb::Hold(barrier) => {
            check_reason(barrier.reason.as_deref())
        }
        Verb::Reopen(reopen) => check_reason(reopen.reason.as_deref()),
        Verb::Receipt(evidence) | Verb::Heartbeat(evidence) => check_attempt(&evidence.attempt),
        Verb::Settle(settle) => check_attempt(&settle.attempt),
        Verb::Claim(_) | Verb::Signal(_) | Verb::Resume(_) | Verb::Release(_) | Verb::Delete(_) => {
            Ok(())
        }
    };
    verb.map_err(|e| e.under(command.command.name()).under("command"))
}

fn check_reason(reason: Option<&str>) -> Result<(), InvalidInput> {
    match reason {
        Some(reason) if reason.len() > 1024 => {
            let found = format!("{} bytes", reason.len());
            Err(InvalidInput::new("reason", "at most 1024 bytes", found))
        }
        _ => Ok(()),
    }
}

fn check_attempt(attempt: &AttemptId) -> Result<(), InvalidInput> {
    if attempt.activation == 0 {
        return Err(InvalidInput::new("attempt.activation", "at least 1", 0));
    }
    if attempt.attempt == 0 {
        return Err(InvalidInput::new("attempt.attempt", "at least 1", 0));
    }
    Ok(())
}

fn check_start(start: &Start) -> Result<(), InvalidInput> {
    if start.plan.is_some() && start.stored_plan.is_some() {
        return Err(InvalidInput::new("plan", "one of plan and stored_plan", "both"));
    }
    if start.max_concurrency == Some(0) {
        return Err(InvalidInput::new("max_concurrency", "at least 1", 0));
    }
    if start.attempts_max == Some(0) {
        return Err(InvalidInput::new("attempts_max", "at least 1", 0));
    }
    if let Some(stored) = &start.stored_plan
        && !(1..=100).contains(&stored.chunks)
    {
        return Err(InvalidInput::new("stored_plan.chunks", "1 to 100", stored.chunks));
    }
    labels::check_display_name(start.display_name.as_deref())?;
    labels::check_attributes(start.attributes.iter().map(|(name, value)| (name, Some(value))))?;
    match &start.plan {
        Some(spec) => plan::compile(spec).map(drop).map_err(|e| e.under("plan")),
        None => Ok(()),
    }
}

fn check_append(append: &Append) -> Result<(), InvalidInput> {
    let counts = [
        ("events", append.events.len()),
        ("prepare", append.prepare.len()),
        ("timers", append.timers.len()),
    ];
    for (field, count) in counts {
        if count > limits::APPEND_EVENTS_MAX {
            return Err(InvalidInput::new(field, "at most 100", count));
        }
    }
    let sizes = append.events.iter().filter_map(|e| e.payload.as_ref());
    let inputs = append.prepare.iter().filter_map(|i| i.input.as_ref());
    let bytes: usize = sizes.chain(inputs).map(|p| p.bytes().len()).sum();
    if bytes > limits::COMMIT_BYTES_MAX - 64 * 1024 {
        let limit = format!("at most {} bytes together", limits::COMMIT_BYTES_MAX - 64 * 1024);
        return Err(InvalidInput::new("events", limit, bytes));
    }
    for (at, intent) in append.prepare.iter().enumerate() {
        check_intent(intent, &format!("prepare[{at}]"))?;
    }
    labels::check_attributes(append.attributes.iter().map(|(n, value)| (n, value.as_ref())))?;
    let both = |timer: &TimerChange| timer.fire_at.is_some() && timer.arming.is_some();
    if let Some(at) = append.timers.iter().position(both) {
        let field = format!("timers[{at}].arming");
        return Err(InvalidInput::new(field, "no fire_at beside it", "both"));
    }
    let Some(next) = &append.continue_as_new else { return Ok(()) };
    if append.close.is_some() {
        return Err(InvalidInput::new("continue_as_new", "no close beside it", "both"));
    }
    let bounds = [
        ("max_concurrency", next.max_concurrency.map(u64::from)),
        ("attempts_max", next.attempts_max),
    ];
    match bounds.into_iter().find(|(_, bound)| *bound == Some(0)) {
        Some((field, _)) => {
            Err(InvalidInput::new(format!("continue_as_new.{field}"), "at least 1", 0))
        }
        None => Ok(()),
    }
}

fn check_intent(intent: &Intent, field: &str) -> Result<(), InvalidInput> {
    if intent.activation == 0 {
        return Err(InvalidInput::new(format!("{field}.activation"), "at least 1", 0));
    }
    if intent.attempt == 0 || intent.attempt > limits::ATTEMPTS_MAX {
        return Err(InvalidInput::new(format!("{field}.attempt"), "1 to 1000", intent.attempt));
    }
    plan::check_timeouts(&intent.timeouts, &format!("{field}.timeouts"))
}
