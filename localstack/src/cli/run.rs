//! `everlog run`.

use std::path::PathBuf;

use clap::Args;
use everlog::answer::Reply;
use everlog::command::{Start, Verb};
use everlog::event::Ending;
use everlog::id::{AttributeName, CommandId, WorkflowId, hash16};
use everlog::journal::{Loaded, LogKey, upload_id};
use everlog::labels::{AttributeValue, Attributes};
use everlog::plan::{PlanRef, compile};
use serde_json::json;

use super::cost::Cost;
use super::session::{Part, Session};
use super::watch::{self, Ended};
use super::{Failure, Global};
use crate::plan_file::{self, PlanFile};
use crate::worker::Pace;

#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// A plan in JSON or YAML, or a WfFormat file.
    file: PathBuf,
    /// Tasks that run at once.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,
    /// How measured run times of WfFormat tasks pass: 1 is real time, 0 not at all.
    #[arg(long, default_value_t = 1.0, value_parser = scale)]
    time_scale: f64,
    /// The workflow's id; by default the file's name and a hash of the plan.
    #[arg(long, value_parser = super::workflow)]
    id: Option<WorkflowId>,
    /// What people call it; lists show it.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// A search attribute; several times for several.
    #[arg(long, value_name = "NAME=VALUE", value_parser = super::attribute)]
    attribute: Vec<(AttributeName, AttributeValue)>,
}

fn scale(text: &str) -> Result<f64, String> {
    let scale: f64 = text.parse().map_err(|_| format!("expected a number, found {text}"))?;
    if (0.0..=1e6).contains(&scale) {
        return Ok(scale);
    }
    Err(format!("expected 0 to 1000000, found {text}"))
}

/// How a plan is run.
pub(super) struct Job {
    pub plan: PlanFile,
    pub id: WorkflowId,
    pub workers: u16,
    pub pace: Pace,
    pub name: Option<String>,
    pub attributes: Attributes,
}

pub(super) async fn run(global: &Global, args: &RunArgs) -> Result<u8, Failure> {
    let plan = plan_file::read(&args.file).map_err(|e| Failure::Usage(e.to_string()))?;
    let id = match &args.id {
        Some(id) => id.clone(),
        None => WorkflowId::new(&plan.default_id).map_err(|e| Failure::Usage(e.to_string()))?,
    };
    let pace = Pace(args.time_scale);
    let (name, attributes) = (args.name.clone(), args.attribute.iter().cloned().collect());
    carry(global, Job { plan, id, workers: args.workers, pace, name, attributes }).await
}

/// Starts a plan, or goes on with it, and carries it to its end.
pub(super) async fn carry(global: &Global, job: Job) -> Result<u8, Failure> {
    let (mut session, part) = attach(global, &job).await?;
    let code = follow(global, &mut session, part, &job).await;
    session.end().await;
    code
}

async fn follow(
    global: &Global,
    session: &mut Session,
    mut part: Part,
    job: &Job,
) -> Result<u8, Failure> {
    let (again, ended) = start(global, session, job).await?;
    if !global.json {
        let how = match (again, part) {
            (true, _) if ended => "ended before; give a new --id to run the plan anew",
            (_, Part::Guest) => "is run by another process; watching",
            (false, _) => "started",
            (true, _) => "goes on",
        };
        eprintln!("workflow {} {how}", job.id);
    }
    let (ended, key, loaded) = loop {
        match to_the_end(global, session, job).await {
            // The owner of the file went away: somebody else is it now, perhaps we.
            Err(Failure::Stack(_)) if part == Part::Guest => {
                (*session, part) = attach(global, job).await?;
            }
            other => break other?,
        }
    };
    let Ended::Closed(ending) = ended else {
        if !global.json {
            eprintln!("interrupted; the same command line goes on");
        }
        return Ok(130);
    };
    let cost = Cost::of(session.fleet().journal().meter());
    let run = loaded.state.run.as_ref();
    let took_ms = run.map_or(0, |run| loaded.state.closed_at.since(run.started_at));
    if global.json {
        let summary = json!({
            "workflow": job.id,
            "incarnation": key.incarnation,
            "ending": ending,
            "tasks": loaded.state.nodes.len(),
            "attempts": loaded.state.consumed,
            "events": loaded.state.head,
            "commits": loaded.state.commit,
            "duration_ms": took_ms,
            "this_process": cost.to_json(),
        });
        println!("{summary}");
    } else {
        println!(
            "{} {}: {} tasks, {} attempts, {} events in {} commits, {:.1} s",
            job.id,
            watch::word(ending),
            loaded.state.nodes.len(),
            loaded.state.consumed,
            loaded.state.head,
            loaded.state.commit,
            took_ms as f64 / 1_000.0,
        );
        if part == Part::Owner {
            cost.print(loaded.state.nodes.len());
        }
    }
    Ok(code(ending))
}

/// Becomes the owner of the file, with functions and workers, or its guest, or
/// a process with workers on a deployed fleet.
async fn attach(global: &Global, job: &Job) -> Result<(Session, Part), Failure> {
    let mut session = Session::open(global, &job.plan.queues).await?;
    let part = session.work(&job.plan.queues, usize::from(job.workers), job.pace).await?;
    Ok((session, part))
}

/// Follows a workflow to its end, and reads what became of it.
async fn to_the_end(
    global: &Global,
    session: &Session,
    job: &Job,
) -> Result<(Ended, LogKey, Loaded), Failure> {
    let ended = watch::watch(global, session, &job.id).await?;
    let (key, loaded) = session.load(&job.id).await?;
    Ok((ended, key, loaded))
}

pub(super) fn code(ending: Ending) -> u8 {
    match ending {
        Ending::Completed => 0,
        Ending::Failed => 1,
        Ending::Cancelled => 3,
        Ending::TimedOut => 4,
    }
}

/// Whether it had been started before, and whether it has ended.
async fn start(global: &Global, session: &Session, job: &Job) -> Result<(bool, bool), Failure> {
    // Another plan under the same id is another start, and a conflict.
    let hash = hash16(&[job.id.as_str().as_bytes(), &spec_bytes(job)]);
    let id = CommandId::new(format!("start-{}", everlog::id::DispatchKey(hash)));
    let id = id.map_err(|e| Failure::Usage(e.to_string()))?;
    // A plan too large for a message goes ahead of the start that names it.
    let plan = compile(&job.plan.spec).map_err(|e| Failure::Usage(e.to_string()))?;
    let mut start = Start {
        workflow_type: job.plan.spec.name.clone(),
        display_name: job.name.clone(),
        attributes: job.attributes.clone(),
        ..Start::default()
    };
    if spec_bytes(job).len() > INLINE_BYTES_MAX {
        let partition = everlog::journal::keys::partition(&global.namespace, &job.id);
        let journal = session.fleet().journal();
        let stored = journal.put_plan(&partition, upload_id(&id), &std::sync::Arc::new(plan)).await;
        match stored.map_err(|e| Failure::stack(&e))? {
            PlanRef::Stored(stored) => start.stored_plan = Some(stored),
            PlanRef::Inline(_) => start.plan = Some(job.plan.spec.clone()),
        }
    } else {
        start.plan = Some(job.plan.spec.clone());
    }
    let answer = session.command(&job.id, Some(id), Verb::Start(Box::new(start))).await?;
    let ended = answer.ending.is_some();
    match answer.reply {
        Reply::Committed => Ok((false, ended)),
        Reply::Unchanged => Ok((true, ended)),
        Reply::Rejected { rejection, .. } => Err(Failure::Refused(rejection)),
    }
}

fn spec_bytes(job: &Job) -> Vec<u8> {
    serde_json::to_vec(&job.plan.spec).unwrap_or_default()
}

/// Bytes of a plan that travel in the start command.
const INLINE_BYTES_MAX: usize = 200 * 1024;
