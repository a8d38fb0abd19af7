//! `list`.

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use clap::{Args, ValueEnum};
use everlog::id::{AttributeName, WorkflowId, WorkflowType};
use everlog::labels::AttributeValue;
use everlog::query::list::{self, AsOfIndex, Count, ListPage, ListQuery, STATUSES};
use everlog::time::Timestamp;
use serde_json::json;

use super::session::Session;
use super::{Failure, Global, timeline};

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Of this status; several times for several.
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(STATUSES))]
    status: Vec<String>,
    /// Of this type.
    #[arg(long = "type", value_name = "TYPE", value_parser = workflow_type)]
    workflow_type: Option<WorkflowType>,
    /// Whose ids begin so.
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Whose display names have this within, or whose ids begin so.
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Which belong to this workflow.
    #[arg(long, value_name = "WORKFLOW", value_parser = super::workflow)]
    parent: Option<WorkflowId>,
    /// With this search attribute; several times for several, which all must
    /// be there. `5` and `true` are a number and a flag, `"5"` is a text.
    #[arg(long, value_name = "NAME=VALUE", value_parser = super::attribute)]
    attribute: Vec<(AttributeName, AttributeValue)>,
    /// Started then or later: 2026-12-01, or 2026-12-01T08:00:00 (UTC).
    #[arg(long, value_name = "TIME", value_parser = instant)]
    since: Option<Timestamp>,
    /// Started then or sooner.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    until: Option<Timestamp>,
    /// Last updated then or later.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    updated_since: Option<Timestamp>,
    /// Last updated then or sooner.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    updated_until: Option<Timestamp>,
    /// In this order. Every other than `started` reads all that the conditions name.
    #[arg(long, value_enum, default_value_t = Order::Started)]
    sort: Order,
    /// The smallest first, where the largest would be, and the other way round.
    #[arg(long)]
    reverse: bool,
    /// At most so many.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Go on where a list ended.
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// Only say how many there are.
    #[arg(long)]
    count: bool,
    /// Look into each log: how it stands now, not as the index has it.
    #[arg(long)]
    exact: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Order {
    /// The last started first.
    Started,
    /// The last updated first.
    Updated,
    /// The last ended first.
    Ended,
    /// By display name.
    Name,
    /// By type.
    Type,
    /// By status.
    Status,
    /// By id.
    Id,
}

fn workflow_type(text: &str) -> Result<WorkflowType, String> {
    WorkflowType::new(text).map_err(|e| e.to_string())
}

fn instant(text: &str) -> Result<Timestamp, String> {
    let day = if text.len() == 10 { format!("{text}T00:00:00") } else { text.replace(' ', "T") };
    let zoned = format!("{}Z", day.trim_end_matches('Z'));
    let at = DateTime::from_str(&zoned, Format::DateTime).ok();
    let ms = at.and_then(|at| at.to_millis().ok()).and_then(|ms| u64::try_from(ms).ok());
    ms.map(Timestamp)
        .ok_or_else(|| format!("expected 2026-12-01 or 2026-12-01T08:00:00, found {text}"))
}

impl ListArgs {
    fn query(&self, global: &Global) -> ListQuery {
        let (sort, descending) = match self.sort {
            Order::Started => (list::Sort::Started, true),
            Order::Updated => (list::Sort::Updated, true),
            Order::Name => (list::Sort::Name, false),
            Order::Ended => (list::Sort::Ended, true),
            Order::Type => (list::Sort::Type, false),
            Order::Status => (list::Sort::Status, false),
            Order::Id => (list::Sort::Id, false),
        };
        ListQuery {
            namespace: global.namespace.clone(),
            statuses: self.status.clone(),
            workflow_type: self.workflow_type.clone(),
            started_from: self.since,
            started_to: self.until,
            updated_from: self.updated_since,
            updated_to: self.updated_until,
            id_prefix: self.prefix.clone(),
            text: self.text.clone(),
            parent: self.parent.clone(),
            attributes: self.attribute.iter().cloned().collect(),
            sort,
            descending: descending != self.reverse,
            limit: self.limit as usize,
            after: self.after.clone(),
        }
    }
}

fn failure(error: list::QueryError) -> Failure {
    match error {
        list::QueryError::Journal(error) => Failure::stack(&error),
        refused => Failure::Usage(refused.to_string()),
    }
}

pub(super) async fn list(global: &Global, args: &ListArgs) -> Result<u8, Failure> {
    let session = Session::open(global, &[]).await?;
    let (journal, query) = (session.journal(), args.query(global));
    if args.count {
        let count = list::count(journal, &query).await.map_err(failure)?;
        match (global.json, count.value) {
            (true, value) => println!("{}", json!({ "count": value, "units": count.units })),
            (false, Count::Exactly(count)) => println!("{count}"),
            (false, Count::AtLeast(count)) => println!("at least {count}"),
        }
        return Ok(0);
    }
    let mut page = list::list(journal, &query).await.map_err(failure)?;
    if args.exact {
        let exact = list::exactly(journal, &query, &page.value).await;
        page.value.items = exact.map_err(|e| Failure::stack(&e))?;
    }
    print(global, &page)?;
    Ok(0)
}

fn print(global: &Global, page: &AsOfIndex<ListPage>) -> Result<(), Failure> {
    let ListPage { items, next } = &page.value;
    if global.json {
        let text = serde_json::to_string(items).map_err(|e| Failure::stack(&e))?;
        println!("{text}");
        return Ok(());
    }
    if items.is_empty() {
        println!("no such workflows in namespace {}", global.namespace);
    }
    let width = items.iter().map(|l| l.workflow.as_str().len()).max().unwrap_or(0);
    for listed in items {
        println!(
            "{:width$}  {:10}  {:16}  {}  {}",
            listed.workflow.as_str(),
            listed.status,
            listed.workflow_type,
            timeline::instant(listed.started_at),
            listed.display_name.as_deref().unwrap_or_default(),
        );
    }
    if let Some(next) = next {
        eprintln!("and more: --after {next}");
    }
    Ok(())
}
