//! Places in a list, and cursors, which name one.

use std::cmp::Ordering;

use super::{ListQuery, QueryError, Sort};
use crate::answer::InvalidInput;
use crate::id::{DispatchKey, WorkflowId, hash16};
use crate::journal::Listed;
use crate::time::Timestamp;

/// Where an item stands in the order of its query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// What it is sorted by, as text whose order is that of the values.
    key: String,
    pub id: String,
}

fn instant(at: Timestamp) -> String {
    format!("{:014}", at.0)
}

/// A text of any characters as one of digits, whose order is the same.
fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

impl Place {
    pub(super) fn of(query: &ListQuery, listed: &Listed) -> Self {
        let key = match query.sort {
            Sort::Started => instant(listed.started_at),
            Sort::Updated => instant(listed.updated_at),
            Sort::Name => hex(listed.display_name.as_deref().unwrap_or_default()),
            Sort::Ended => listed.closed_at.map(instant).unwrap_or_default(),
            Sort::Type => listed.workflow_type.clone(),
            Sort::Status => listed.status.clone(),
            Sort::Id => listed.workflow.to_string(),
        };
        Self { key, id: listed.workflow.to_string() }
    }

    /// The start that it names, if the list is sorted by it.
    pub(super) fn started_at(&self) -> Option<Timestamp> {
        self.key.parse().ok().map(Timestamp)
    }

    pub(super) fn order(&self, other: &Self, descending: bool) -> Ordering {
        let keys = self.key.cmp(&other.key);
        let keys = if descending { keys.reverse() } else { keys };
        keys.then_with(|| self.id.cmp(&other.id))
    }

    pub(super) fn follows(&self, other: &Self, descending: bool) -> bool {
        self.order(other, descending) == Ordering::Greater
    }

    /// As text that only its query takes back.
    pub(super) fn written(&self, query: &ListQuery) -> String {
        format!("{}~{}~{}", fingerprint(query), self.key, self.id)
    }

    pub(super) fn read(query: &ListQuery, text: &str) -> Result<Self, QueryError> {
        let invalid = |what: &str| {
            QueryError::InvalidQuery(InvalidInput::new("after", "a cursor of this query", what))
        };
        let mut parts = text.split('~');
        let (Some(hash), Some(key), Some(id), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(invalid("none"));
        };
        if hash != fingerprint(query) {
            return Err(invalid("one of another query"));
        }
        let place = Self { key: key.to_owned(), id: id.to_owned() };
        let numbered = matches!(query.sort, Sort::Started | Sort::Updated | Sort::Ended);
        let digits = key.len() == 14 && key.bytes().all(|b| b.is_ascii_digit());
        let fits = !numbered || digits || (query.sort == Sort::Ended && key.is_empty());
        if !fits || WorkflowId::new(id).is_err() {
            return Err(invalid("none"));
        }
        Ok(place)
    }
}

/// What makes two queries the same; pages may have different limits.
fn fingerprint(query: &ListQuery) -> String {
    let time = |at: Option<Timestamp>| at.map(instant).unwrap_or_default();
    let kind = query.workflow_type.as_ref().map(|t| t.as_str()).unwrap_or_default();
    let order = format!("{:?} {}", query.sort, query.descending);
    let statuses = query.statuses().join(" ");
    // With whether it is there: an empty text is another condition than none.
    let other = serde_json::json!([query.id_prefix, query.text, query.parent, query.attributes]);
    DispatchKey(hash16(&[
        query.namespace.as_str().as_bytes(),
        statuses.as_bytes(),
        kind.as_bytes(),
        time(query.started_from).as_bytes(),
        time(query.started_to).as_bytes(),
        time(query.updated_from).as_bytes(),
        time(query.updated_to).as_bytes(),
        other.to_string().as_bytes(),
        order.as_bytes(),
    ]))
    .to_string()
}
