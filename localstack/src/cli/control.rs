//! `pause`, `resume`, `cancel`, `reopen`, `delete`, `hold`, `release` and `signal`.

use clap::Args;
use everlog::answer::{Answer, Reply};
use everlog::command::{Barrier, Delete, Reopen, Resume, Signal, Verb};
use everlog::id::{SignalName, WorkflowId};
use everlog::payload::Payload;

use super::session::Session;
use super::{Failure, Global};

#[derive(Debug, Args)]
pub(crate) struct WorkflowArgs {
    /// The workflow.
    #[arg(value_parser = super::workflow)]
    workflow: WorkflowId,
}

#[derive(Debug, Args)]
pub(crate) struct ReasonArgs {
    /// The workflow.
    #[arg(value_parser = super::workflow)]
    workflow: WorkflowId,
    /// Why, for people.
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SignalArgs {
    /// The workflow.
    #[arg(value_parser = super::workflow)]
    workflow: WorkflowId,
    /// The signal's name.
    #[arg(value_parser = signal_name)]
    name: SignalName,
    /// Its payload: JSON, or else taken as text (text that begins with {, [ or " must be JSON).
    payload: Option<String>,
}

fn signal_name(text: &str) -> Result<SignalName, String> {
    SignalName::new(text).map_err(|e| e.to_string())
}

pub(super) async fn pause(global: &Global, args: ReasonArgs) -> Result<u8, Failure> {
    let verb = Verb::Pause(Barrier { reason: args.reason });
    send(global, &args.workflow, verb).await
}

pub(super) async fn resume(global: &Global, args: WorkflowArgs) -> Result<u8, Failure> {
    send(global, &args.workflow, Verb::Resume(Resume {})).await
}

pub(super) async fn cancel(global: &Global, args: ReasonArgs) -> Result<u8, Failure> {
    let verb = Verb::Cancel(Barrier { reason: args.reason });
    send(global, &args.workflow, verb).await
}

pub(super) async fn reopen(global: &Global, args: ReasonArgs) -> Result<u8, Failure> {
    let verb = Verb::Reopen(Reopen { reason: args.reason, deadline: None });
    send(global, &args.workflow, verb).await
}

pub(super) async fn delete(global: &Global, args: WorkflowArgs) -> Result<u8, Failure> {
    send(global, &args.workflow, Verb::Delete(Delete {})).await
}

pub(super) async fn hold(global: &Global, args: ReasonArgs) -> Result<u8, Failure> {
    let verb = Verb::Hold(Barrier { reason: args.reason });
    send(global, &args.workflow, verb).await
}

pub(super) async fn release(global: &Global, args: WorkflowArgs) -> Result<u8, Failure> {
    send(global, &args.workflow, Verb::Release(Resume {})).await
}

pub(super) async fn signal(global: &Global, args: SignalArgs) -> Result<u8, Failure> {
    let payload = args.payload.as_deref().map(payload).transpose()?;
    let verb = Verb::Signal(Signal { name: args.name, payload });
    send(global, &args.workflow, verb).await
}

/// JSON, or else text; what begins like JSON and is none is a slip.
fn payload(text: &str) -> Result<Payload, Failure> {
    let parsed = match serde_json::from_str::<Payload>(text) {
        Ok(payload) => return Ok(payload),
        Err(error) if text.trim_start().starts_with(['{', '[', '"']) => Err(error.to_string()),
        Err(_) => Payload::json(&serde_json::Value::String(text.to_owned()))
            .map_err(|size| format!("expected at most 262144 bytes, found {size}")),
    };
    parsed.map_err(|why| Failure::Usage(format!("payload: {why}")))
}

async fn send(global: &Global, workflow: &WorkflowId, verb: Verb) -> Result<u8, Failure> {
    let name = verb.name();
    let session = Session::open(global, &[]).await?;
    // A signal for an id that never lived would open it; from here that is a slip.
    session.load(workflow).await?;
    let answer: Answer = session.command(workflow, None, verb).await?;
    if global.json {
        let text = serde_json::to_string(&answer).map_err(|e| Failure::stack(&e))?;
        println!("{text}");
    }
    match answer.reply {
        Reply::Rejected { rejection, .. } => Err(Failure::Refused(rejection)),
        Reply::Committed if !global.json => {
            println!("{name}: done");
            Ok(0)
        }
        Reply::Unchanged if !global.json => {
            println!("{name}: it was so already");
            Ok(0)
        }
        Reply::Committed | Reply::Unchanged => Ok(0),
    }
}
