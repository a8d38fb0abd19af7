//! `show`.

use clap::Args;
use everlog::id::WorkflowId;
use everlog::query::WorkflowView;

use super::session::Session;
use super::{Failure, Global, timeline};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The workflow.
    #[arg(value_parser = super::workflow)]
    workflow: WorkflowId,
    /// Show every task in the timeline, however many there are.
    #[arg(long)]
    all: bool,
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
