//! Cards as workflows would leave them, without the workflows.

use everlog::id::{Incarnation, Namespace, WorkflowId, WorkflowType};
use everlog::journal::{CardLook, Journal, LogKey};
use everlog::labels::Labels;
use everlog::time::{Tick, Timestamp};

/// When the first of them started, milliseconds since 1970.
pub const BEGAN: u64 = 1_796_000_000_000;

/// What a card shows.
#[derive(Debug, Clone)]
pub struct Made {
    /// The namespace.
    pub namespace: &'static str,
    /// The workflow.
    pub id: String,
    /// Its status.
    pub status: &'static str,
    /// Its type.
    pub kind: &'static str,
    /// When it started, in milliseconds after [`BEGAN`].
    pub started: u64,
    /// When it ended, likewise.
    pub ended: Option<u64>,
    /// When it was last updated, likewise.
    pub updated: u64,
    /// What else it is found by.
    pub labels: Labels,
}

/// One of type `order` in namespace `default`.
#[must_use]
pub fn made(id: impl Into<String>, status: &'static str, started: u64) -> Made {
    Made {
        namespace: "default",
        id: id.into(),
        status,
        kind: "order",
        started,
        ended: None,
        updated: started,
        labels: Labels::default(),
    }
}

/// Makes its card, with an alarm.
///
/// # Panics
/// If it can't be written.
pub async fn make(journal: &Journal, made: &Made) {
    make_as(journal, made, None).await;
}

/// Makes its card, and nobody must ever look at it.
///
/// # Panics
/// If it can't be written.
pub async fn make_quiet(journal: &Journal, made: &Made) {
    make_as(journal, made, Some(0)).await;
}

async fn make_as(journal: &Journal, made: &Made, rev: Option<u64>) {
    let namespace = Namespace::new(made.namespace).expect("an id");
    let workflow = WorkflowId::new(made.id.as_str()).expect("an id");
    let key = LogKey::new(namespace, workflow, Incarnation(7));
    journal.open_card(&key, Tick(50)).await.expect("a card");
    let look = CardLook {
        status: made.status,
        workflow_type: WorkflowType::new(made.kind).expect("an id"),
        started_at: Timestamp(BEGAN + made.started),
        closed_at: made.ended.map(|at| Timestamp(BEGAN + at)),
        updated_at: Timestamp(BEGAN + made.updated),
        labels: made.labels.clone(),
        as_of: 1,
        alarm: None,
    };
    assert!(journal.show(&key, &look, rev).await.expect("a card write"));
}
