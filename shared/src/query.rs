//! Reads: histories as people and engines see them.

mod history;
mod view;

pub use history::{HistoryEvent, events_of};
pub use view::{AttemptView, NodeView, WorkflowView};
