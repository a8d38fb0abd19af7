//! `list` and `show`.

use clap::Args;
use everlog::id::WorkflowId;
use everlog::query::WorkflowView;

use super::session::Session;
use super::{Failure, Global, timeline};

/// Every status that a list knows.
const STATUSES: [&str; 7] =
    ["running", "paused", "cancelling", "completed", "failed", "cancelled", "timed_out"];

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only those of this status.
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(STATUSES))]
    status: Option<String>,
    /// At most so many.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The workflow.
    #[arg(value_parser = super::workflow)]
    workflow: WorkflowId,
    /// Show every task in the timeline, however many there are.
    #[arg(long)]
    all: bool,
}

pub(super) async fn list(global: &Global, args: &ListArgs) -> Result<u8, Failure> {
    let session = Session::open(global, &[]).await?;
    let journal = session.journal();
    let statuses =
        STATUSES.iter().filter(|s| args.status.as_ref().is_none_or(|wanted| wanted == *s));
    let mut all = Vec::new();
    for status in statuses {
        let listed = journal.list(&global.namespace, status, args.limit as usize).await;
        all.extend(listed.map_err(|e| Failure::stack(&e))?);
    }
    all.sort_by(|a, b| (b.started_at, &a.workflow).cmp(&(a.started_at, &b.workflow)));
    all.truncate(args.limit as usize);
    if global.json {
        let text = serde_json::to_string(&all).map_err(|e| Failure::stack(&e))?;
        println!("{text}");
        return Ok(0);
    }
    if all.is_empty() {
        println!("no workflows in namespace {}", global.namespace);
    }
    let width = all.iter().map(|l| l.workflow.as_str().len()).max().unwrap_or(0);
    for listed in all {
        println!(
            "{:width$}  {:10}  {:16}  {}",
            listed.workflow.as_str(),
            listed.status,
            listed.workflow_type,
            timeline::instant(listed.started_at),
        );
    }
    Ok(0)
}

pub(super) async fn show(global: &Global, args: &ShowArgs) -> Result<u8, Failure> {
    let session = Session::open(global, &[]).await?;
    let (key, loaded) = session.load(&args.workflow).await?;
    let view = WorkflowView::new(&key, &loaded.state);
    if global.json {
        let text = serde_json::to_string(&view).map_err(|e| Failure::stack(&e))?;
        println!("{text}");
        return Ok(0);
    }
    let journal = session.journal();
    let commits =
        journal.commits_from(&key, 1, |_, _| false).await.map_err(|e| Failure::stack(&e))?;
    let now = journal.clock().now();
    timeline::print(&view, &loaded.state, &commits, now, args.all);
    Ok(0)
}
