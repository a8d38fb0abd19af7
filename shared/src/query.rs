//! Reads: histories as people and engines see them.

mod history;
pub mod list;
mod range;
mod runs;
mod view;

pub use history::{HistoryEvent, events_of};
pub(crate) use range::likely_commits;
pub use range::{EventPage, events_from};
pub use runs::{RunCursor, RunPage, RunView, runs};
pub use view::{AttemptView, NodeView, WorkflowView};
