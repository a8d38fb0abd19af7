//! The schedule: finds the cards whose alarm is due and wakes their workflows.
//!
//! It only lists and sends; looking is done by the wake queue, so a shard with
//! many due workflows is worked off by as many instances as there are. It
//! looks a minute ahead, so that what is due within it is on time.

use super::{Fleet, GiveBack};
use crate::config::WAKE;
use crate::id::{Namespace, WorkflowId};
use crate::journal::Due;
use crate::journal::keys::ALARM_SHARDS;
use crate::message::Wake;
use crate::relay::Outgoing;
use crate::time::Tick;

impl Fleet {
    /// Wakes every workflow whose alarm is due now or within a minute; returns
    /// how many.
    ///
    /// Costs half a read unit a shard and started 4 KiB of due cards.
    ///
    /// # Errors
    /// [`GiveBack`]: the next run of the schedule does it.
    pub async fn sweep(&self) -> Result<usize, GiveBack> {
        self.sweep_of(0..ALARM_SHARDS).await
    }

    /// The same for some shards of the alarm index, `0..`[`ALARM_SHARDS`]. Which
    /// process sweeps which is nobody's promise: two may sweep one shard, and a
    /// shard that nobody sweeps waits for who sweeps it next.
    ///
    /// # Errors
    /// As [`Fleet::sweep`].
    pub async fn sweep_of(&self, shards: impl IntoIterator<Item = u16>) -> Result<usize, GiveBack> {
        let now = self.clock.now();
        let until = Tick(now.tick().0 + 1);
        let mut woken = 0;
        self.tally.swept(0, 0);
        for shard in shards {
            let mut start = None;
            loop {
                let page = self.journal.due_cards(shard, until, start).await?;
                // Earliest first: the head of a page is its oldest.
                let lag_ms = page.items.first().map_or(0, |due| now.since(due.alarm_at.start()));
                self.tally.swept(lag_ms, 0);
                let found = page.items.len();
                self.send_wakes(page.items.into_iter().map(wake_of)).await?;
                self.tally.swept(0, found);
                woken += found;
                start = page.next;
                if start.is_none() {
                    break;
                }
            }
        }
        Ok(woken)
    }

    /// Wakes these workflows; with `relay` they also hand over again what
    /// nobody has taken up.
    ///
    /// # Errors
    /// [`GiveBack::Relay`]: not all wakes were accepted.
    pub async fn wake_all(
        &self,
        workflows: Vec<(Namespace, WorkflowId)>,
        relay: bool,
    ) -> Result<(), GiveBack> {
        let wake = |(namespace, workflow)| Wake {
            namespace,
            workflow,
            incarnation: None,
            relay,
            remove: false,
            command: None,
        };
        self.send_wakes(workflows.into_iter().map(wake)).await
    }

    async fn send_wakes(&self, wakes: impl Iterator<Item = Wake>) -> Result<(), GiveBack> {
        let wakes = wakes.map(|wake| Outgoing {
            body: serde_json::to_string(&wake).unwrap_or_default(),
            group: String::new(),
            dedup: String::new(),
            delay_s: 0,
        });
        match self.relay.send(WAKE, wakes.collect()).await.len() {
            0 => Ok(()),
            _ => Err(GiveBack::Relay),
        }
    }
}

/// The wake for what is due: a look, or the removal of a deleted life.
fn wake_of(due: Due) -> Wake {
    Wake {
        namespace: due.namespace,
        workflow: due.workflow,
        incarnation: due.removes,
        relay: false,
        remove: due.removes.is_some(),
        command: None,
    }
}
