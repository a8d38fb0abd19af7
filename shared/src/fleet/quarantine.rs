//! What becomes of messages for a workflow that alone can't be served.
//!
//! They are moved, in order, to a FIFO quarantine queue, so that its backlog
//! never fills the window in which SQS looks for free groups. Outage,
//! throttling, contention and newer schemas never quarantine: only a log that
//! does not fold.

use super::{Fleet, GiveBack, Message};
use crate::command::Command;
use crate::config::QUARANTINE;
use crate::journal::{Card, JournalError, LogKey, keys};
use crate::relay::Outgoing;
use crate::telemetry::Count;

/// Why a log can't be folded, if that is what went wrong.
pub(super) fn damage(why: &GiveBack) -> Option<&str> {
    match why {
        GiveBack::Journal(JournalError::Damaged(what)) => Some(what),
        _ => None,
    }
}

impl Fleet {
    /// Marks the workflow and moves the message away. Whether the message is done.
    pub(super) async fn set_aside(&self, message: &Message, command: &Command, what: &str) -> bool {
        let partition = keys::partition(&command.namespace, &command.workflow);
        tracing::error!(workflow = %command.workflow, what, "the log does not fold: quarantined");
        if let Ok(Some(card)) = self.journal.card(&partition).await
            && card.quarantine.is_none()
        {
            let (namespace, workflow) = (command.namespace.clone(), command.workflow.clone());
            let key = LogKey::new(namespace, workflow, card.incarnation);
            self.mark(&key, &card, what).await;
        }
        let moved = Outgoing {
            body: message.body.clone(),
            group: super::group_id(&partition),
            dedup: message.id.clone(),
            delay_s: 0,
        };
        let moved = self.relay.send(QUARANTINE, vec![moved]).await.is_empty();
        self.tally.add(Count::Quarantined, usize::from(moved));
        moved
    }

    /// Marks a card; its alarm comes again, later. Whether it did.
    pub(super) async fn mark(&self, key: &LogKey, card: &Card, what: &str) -> bool {
        let marked = self.journal.quarantine(key, card, what, self.clock.now()).await;
        marked.unwrap_or(false)
    }
}
