//! `history` and `runs`.

use std::time::Duration;

use clap::Args;
use everlog::id::WorkflowId;
use everlog::query::{self, HistoryEvent, RunView};

use super::session::Session;
use super::{Failure, Global, timeline};

/// Events that are read at a time.
const PAGE: usize = 500;
/// Times that it is begun again after a failure, without news in between.
const TRIES: u32 = 5;
/// Between two looks at a history that is followed.
const LOOK_EVERY: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The workflow.
    #[arg(value_parser = super::workflow)]
    workflow: WorkflowId,
    /// From this sequence number on.
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// At most so many events.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Wait for more, until the workflow ends.
    #[arg(long)]
    follow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// The workflow.
    #[arg(value_parser = super::workflow)]
    workflow: WorkflowId,
    /// At most so many.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
}

pub(super) async fn history(global: &Global, args: &HistoryArgs) -> Result<u8, Failure> {
    let mut place = Place { from: args.from.max(1), left: args.limit.unwrap_or(u64::MAX) };
    let mut tries = 0;
    loop {
        let before = place.from;
        match read_on(global, args, &mut place).await {
            // The owner of the file may have gone away: somebody else is it now,
            // perhaps we. What was printed is not printed again.
            Err(Failure::Stack(_)) if tries < TRIES => tries += 1,
            ended => return ended.map(|()| 0),
        }
        if place.from != before {
            tries = 0;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// How far a history was printed.
struct Place {
    from: u64,
    left: u64,
}

/// Prints what is there from `place` on, and what comes if that is asked for.
async fn read_on(global: &Global, args: &HistoryArgs, place: &mut Place) -> Result<(), Failure> {
    let session = Session::open(global, &[]).await?;
    let (key, mut loaded) = session.load(&args.workflow).await?;
    let journal = session.journal();
    loop {
        let most = usize::try_from(place.left).unwrap_or(PAGE).min(PAGE);
        let page = query::events_from(journal, &key, &loaded, place.from, most).await;
        let page = page.map_err(|e| Failure::stack(&e))?;
        for event in &page.events {
            print(global, event)?;
            place.from = event.seq + 1;
            place.left -= 1;
        }
        if place.left == 0 {
            return Ok(());
        }
        if page.next.is_some() {
            continue;
        }
        if !args.follow || !loaded.state.open() {
            return Ok(());
        }
        tokio::time::sleep(LOOK_EVERY).await;
        journal.refresh(&key, &mut loaded).await.map_err(|e| Failure::stack(&e))?;
    }
}

fn print(global: &Global, event: &HistoryEvent) -> Result<(), Failure> {
    if global.json {
        let text = serde_json::to_string(event).map_err(|e| Failure::stack(&e))?;
        println!("{text}");
        return Ok(());
    }
    let fields: Vec<String> =
        event.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let when = timeline::instant(event.recorded_at);
    println!("{:>6}  {when}  {:16}  {}", event.seq, event.event, fields.join(" "));
    Ok(())
}

pub(super) async fn runs(global: &Global, args: &RunsArgs) -> Result<u8, Failure> {
    let session = Session::open(global, &[]).await?;
    let (key, loaded) = session.load(&args.workflow).await?;
    let page = query::runs(session.journal(), &key, &loaded, None, usize::from(args.limit)).await;
    let page = page.map_err(|e| Failure::stack(&e))?;
    if global.json {
        let text = serde_json::to_string(&page.runs).map_err(|e| Failure::stack(&e))?;
        println!("{text}");
        return Ok(0);
    }
    for RunView { run, status, started_at, start_seq, closed_at, .. } in &page.runs {
        let ended = closed_at.map_or_else(|| "-".to_owned(), timeline::instant);
        let started = timeline::instant(*started_at);
        println!("{run:>6}  {status:16}  {started}  {ended:19}  from event {start_seq}");
    }
    if page.next.is_some() {
        println!("and earlier ones: --limit");
    }
    Ok(0)
}
