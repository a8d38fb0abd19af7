//! Inputs that were too large for a message, read from the log.
//!
//! It reads and never writes. An attempt that is over by now is not there any
//! more: its dispatch stays as it came, and whatever is settled is a repeat.

use crate::fleet::build_dispatch;
use crate::journal::{Journal, JournalError, LogKey};
use crate::message::Dispatch;

/// The dispatch with its payloads. Costs a load of the workflow, and the
/// commits that hold the payloads.
pub(super) async fn whole(journal: &Journal, dispatch: Dispatch) -> Result<Dispatch, JournalError> {
    let (namespace, workflow) = (dispatch.namespace.clone(), dispatch.workflow.clone());
    let key = LogKey::new(namespace, workflow, dispatch.incarnation);
    let loaded = journal.load(&key).await?;
    let live = loaded.state.attempts.iter().find(|(target, attempt)| {
        let partition = key.partition();
        let own = loaded.state.dispatch_key(&partition, key.incarnation, target, attempt.n);
        own == dispatch.dispatch_key
    });
    match live {
        Some((target, attempt)) => {
            build_dispatch(journal, &key, &loaded.state, target, attempt).await
        }
        None => Ok(dispatch),
    }
}
