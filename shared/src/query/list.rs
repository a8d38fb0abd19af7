//! Lists of workflows: filters, sorts, pages, counts.
//!
//! A list is read from an index of the cards, so it is *as of the index*: a
//! workflow that changed a moment ago may be missing, or stand there as it was.
//! The type says so ([`AsOfIndex`]), and [`exactly`] folds each log of a page to
//! say how it stands now.
//!
//! It promises that no table is scanned, that all conditions hold together and
//! before the limit, that namespaces never leak into each other, and that pages
//! are stable while workflows are added: a cursor is the place of the last item
//! and is bound to its query. A workflow that changes its status between two
//! pages may be seen twice or not at all by a query for several statuses.
//!
//! Sorted by start, a page costs what it returns. Every other sort, and each
//! condition that leaves most out (a part of a display name, a search
//! attribute), reads all cards of the namespace and the statuses asked for; beyond 10,000 of them it is [`QueryError::TooBroad`].

mod cursor;
mod merge;

use std::collections::HashSet;

use serde::Serialize;

use crate::answer::InvalidInput;
use crate::id::{Namespace, WorkflowId, WorkflowType};
use crate::journal::{Journal, JournalError, Listed, LogKey, keys};
use crate::labels::Attributes;
use crate::time::Timestamp;

use cursor::Place;
use merge::Merge;

/// Every status that a list knows.
pub const STATUSES: [&str; 7] =
    ["running", "paused", "cancelling", "completed", "failed", "cancelled", "timed_out"];
/// Cards that one query reads at most.
pub const CARDS_MAX: usize = 10_000;
/// Items of one page.
pub const PAGE_MAX: usize = 1_000;

/// What to list. The default is everything of namespace `default` that runs or
/// ran, 50 a page, the last started first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    /// The namespace.
    pub namespace: Namespace,
    /// Of these statuses, out of [`STATUSES`]; of all where empty.
    pub statuses: Vec<String>,
    /// Of this type.
    pub workflow_type: Option<WorkflowType>,
    /// Started then or later.
    pub started_from: Option<Timestamp>,
    /// Started then or sooner.
    pub started_to: Option<Timestamp>,
    /// Last updated then or later.
    pub updated_from: Option<Timestamp>,
    /// Last updated then or sooner.
    pub updated_to: Option<Timestamp>,
    /// Whose ids begin so.
    pub id_prefix: Option<String>,
    /// Whose display names have this within, or whose ids begin so.
    pub text: Option<String>,
    /// Which belong to this workflow.
    pub parent: Option<WorkflowId>,
    /// Which have these search attributes, all of them.
    pub attributes: Attributes,
    /// In this order; ties by id, ascending in any case.
    pub sort: Sort,
    /// The largest first.
    pub descending: bool,
    /// At most so many a page, 1 to [`PAGE_MAX`].
    pub limit: usize,
    /// The cursor of the page before.
    pub after: Option<String>,
}

impl Default for ListQuery {
    fn default() -> Self {
        Self {
            namespace: Namespace::default(),
            statuses: Vec::new(),
            workflow_type: None,
            started_from: None,
            started_to: None,
            updated_from: None,
            updated_to: None,
            id_prefix: None,
            text: None,
            parent: None,
            attributes: Attributes::new(),
            sort: Sort::Started,
            descending: true,
            limit: 50,
            after: None,
        }
    }
}

/// What a list is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// When the last run started. The one sort whose pages cost what they return.
    Started,
    /// When it was last updated; see [`Listed::updated_at`].
    Updated,
    /// When it ended; what has not is the smallest.
    Ended,
    /// The display name; what has none is the smallest.
    Name,
    /// The type.
    Type,
    /// The status.
    Status,
    /// The id.
    Id,
}

/// An answer as of the index, which lags behind the table: by less than a second
/// as a rule, and for as long as it takes when DynamoDB is in trouble.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AsOfIndex<T> {
    /// The answer.
    pub value: T,
    /// When it was asked for.
    pub asked_at: Timestamp,
    /// Read units that it cost.
    pub units: f64,
}

/// Some of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ListPage {
    /// The workflows.
    pub items: Vec<Listed>,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
}

/// How many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    /// So many.
    Exactly(usize),
    /// So many were found before [`CARDS_MAX`] cards were read.
    AtLeast(usize),
}

/// Why there is no list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// It breaks a bound, or its cursor is another query's.
    #[error("invalid query: {0}")]
    InvalidQuery(InvalidInput),
    /// It would read more than [`CARDS_MAX`] cards: ask for less.
    #[error("too broad: {read} cards read and no end")]
    TooBroad {
        /// Cards that were read.
        read: usize,
    },
    /// The store failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl ListQuery {
    fn check(&self) -> Result<(), QueryError> {
        let invalid = |field: &str, limit: &str, value: String| {
            Err(QueryError::InvalidQuery(InvalidInput::new(field, limit, value)))
        };
        if !(1..=PAGE_MAX).contains(&self.limit) {
            return invalid("limit", &format!("1 to {PAGE_MAX}"), self.limit.to_string());
        }
        match self.statuses.iter().find(|status| !STATUSES.contains(&status.as_str())) {
            Some(status) => invalid("statuses", &STATUSES.join(", "), status.clone()),
            None => Ok(()),
        }
    }

    fn statuses(&self) -> Vec<&str> {
        let wanted = |status: &&str| {
            self.statuses.is_empty() || self.statuses.iter().any(|wanted| wanted == status)
        };
        STATUSES.into_iter().filter(wanted).collect()
    }

    fn keeps(&self, listed: &Listed) -> bool {
        let id = listed.workflow.as_str();
        let named = |text: &String| listed.display_name.as_ref().is_some_and(|n| n.contains(text));
        let text = |text: &String| named(text) || id.starts_with(text);
        let has = |(name, value)| listed.attributes.get(name) == Some(value);
        self.workflow_type.as_ref().is_none_or(|t| t.as_str() == listed.workflow_type)
            && self.id_prefix.as_ref().is_none_or(|prefix| id.starts_with(prefix))
            && self.text.as_ref().is_none_or(text)
            && self.parent.as_ref().is_none_or(|p| listed.parent.as_ref() == Some(p))
            && self.attributes.iter().all(has)
            && self.started_from.is_none_or(|from| listed.started_at >= from)
            && self.started_to.is_none_or(|to| listed.started_at <= to)
            && self.updated_from.is_none_or(|from| listed.updated_at >= from)
            && self.updated_to.is_none_or(|to| listed.updated_at <= to)
    }
}

/// One page.
///
/// Sorted by start, and but for what conditions leave out, it costs half a read
/// unit for each of 8 shards a status, and more only where a shard has more than
/// its share: 4 units for a page of 50 of one status, however many there are.
///
/// # Errors
/// [`QueryError`].
pub async fn list(journal: &Journal, query: &ListQuery) -> Result<AsOfIndex<ListPage>, QueryError> {
    query.check()?;
    let after = query.after.as_deref().map(|text| Place::read(query, text)).transpose()?;
    let asked_at = journal.clock().now();
    let mut merge = Merge::new(journal, query, after.as_ref(), false);
    let page = match query.sort {
        Sort::Started => by_start(&mut merge, query, after.as_ref()).await?,
        _ => sorted(&mut merge, query, after.as_ref()).await?,
    };
    Ok(AsOfIndex { value: page, asked_at, units: merge.units() })
}

async fn by_start(
    merge: &mut Merge<'_>,
    query: &ListQuery,
    after: Option<&Place>,
) -> Result<ListPage, QueryError> {
    let mut page = ListPage::default();
    let mut seen = HashSet::new();
    while let Some(group) = merge.next_group().await? {
        for listed in group {
            let place = Place::of(query, &listed);
            let due = after.is_none_or(|after| place.follows(after, query.descending));
            if !due || !query.keeps(&listed) || !seen.insert(listed.workflow.clone()) {
                continue;
            }
            if page.items.len() == query.limit {
                page.next = page.items.last().map(|last| Place::of(query, last).written(query));
                return Ok(page);
            }
            page.items.push(listed);
        }
    }
    Ok(page)
}

async fn sorted(
    merge: &mut Merge<'_>,
    query: &ListQuery,
    after: Option<&Place>,
) -> Result<ListPage, QueryError> {
    let mut all = Vec::new();
    let mut seen = HashSet::new();
    loop {
        let some = merge.some().await?;
        merge.too_broad()?;
        if some.is_empty() {
            break;
        }
        let kept = some.into_iter().filter(|listed| query.keeps(listed));
        all.extend(kept.filter(|listed| seen.insert(listed.workflow.clone())));
    }
    let mut all: Vec<(Place, Listed)> =
        all.into_iter().map(|listed| (Place::of(query, &listed), listed)).collect();
    all.sort_by(|a, b| a.0.order(&b.0, query.descending));
    let due = |place: &Place| after.is_none_or(|after| place.follows(after, query.descending));
    let mut items: Vec<Listed> =
        all.into_iter().filter(|(place, _)| due(place)).map(|(_, listed)| listed).collect();
    let more = items.len() > query.limit;
    items.truncate(query.limit);
    let last = items.last().filter(|_| more);
    let next = last.map(|last| Place::of(query, last).written(query));
    Ok(ListPage { items, next })
}

/// How many there are, whatever the limit and the cursor say: exact up to
/// [`CARDS_MAX`] cards.
///
/// Costs half a read unit a started 4 KiB of the cards of the namespace and the
/// statuses asked for: some 15 a thousand.
///
/// # Errors
/// [`QueryError`], but never [`QueryError::TooBroad`].
pub async fn count(journal: &Journal, query: &ListQuery) -> Result<AsOfIndex<Count>, QueryError> {
    query.check()?;
    let asked_at = journal.clock().now();
    let mut merge = Merge::new(journal, query, None, true);
    let mut seen = HashSet::new();
    let value = loop {
        let some = merge.some().await?;
        if some.is_empty() {
            break Count::Exactly(seen.len());
        }
        let kept = some.into_iter().filter(|listed| query.keeps(listed));
        seen.extend(kept.map(|listed| listed.workflow));
        if merge.too_broad().is_err() {
            break Count::AtLeast(seen.len());
        }
    };
    Ok(AsOfIndex { value, asked_at, units: merge.units() })
}

/// The workflows of a page as they stand now, folded from their logs; those that
/// the query does not mean any more are left out. What the index does not show
/// yet is not among them.
///
/// Costs a read of the card and a cold load for each.
///
/// # Errors
/// As reads. A workflow whose log can't be folded stays as the index had it.
pub async fn exactly(
    journal: &Journal,
    query: &ListQuery,
    page: &ListPage,
) -> Result<Vec<Listed>, JournalError> {
    let mut exact = Vec::new();
    for listed in &page.items {
        let partition = keys::partition(&listed.namespace, &listed.workflow);
        let card = journal.card(&partition).await?;
        let Some(card) = card.filter(|card| !card.gone()) else { continue };
        let (namespace, workflow) = (listed.namespace.clone(), listed.workflow.clone());
        let loaded = match journal.load(&LogKey::new(namespace, workflow, card.incarnation)).await {
            Ok(loaded) => loaded,
            Err(JournalError::Damaged(why)) => {
                tracing::error!(workflow = %listed.workflow, why, "listed as the index has it");
                exact.push(listed.clone());
                continue;
            }
            Err(other) => return Err(other),
        };
        let state = &loaded.state;
        let Some(run) = &state.run else { continue };
        let labels = state.labels.as_deref().cloned().unwrap_or_default();
        let now = Listed {
            status: state.status().to_owned(),
            workflow_type: run.workflow_type.to_string(),
            started_at: run.started_at,
            closed_at: state.ending().map(|_| state.closed_at),
            updated_at: state.time,
            display_name: labels.display_name,
            parent: labels.parent,
            attributes: labels.attributes,
            ..listed.clone()
        };
        if query.statuses().contains(&state.status()) && query.keeps(&now) {
            exact.push(now);
        }
    }
    Ok(exact)
}
