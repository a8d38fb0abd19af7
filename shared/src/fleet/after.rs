//! What follows a commit that is in: dispatches, wakes, the card, a checkpoint.
//!
//! Each step may be done twice, and the death of the function between any two
//! of them is mended: by the message that comes again, and by the alarm.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::dispatch::{self, Known};
use super::{Fleet, GiveBack};
use crate::commit::Commit;
use crate::config::{OUTBOX, WAKE};
use crate::event::{Event, Target};
use crate::journal::{CardLook, Loaded, LogKey};
use crate::limits;
use crate::message::{LeftOver, Wake};
use crate::relay::Outgoing;
use crate::state::{Attempt, Life, State};
use crate::time::Timestamp;

/// Dispatches that one relay sends itself; the rest goes by the outbox queue.
const RELAY_MAX: usize = 100;

impl Fleet {
    /// Does all that follows commit `number`. `rev` is the card's `alarm_rev`
    /// from before a close.
    pub(super) async fn after(
        &self,
        key: &LogKey,
        loaded: &mut Loaded,
        number: u64,
        commit: Arc<Commit>,
        rev: Option<u64>,
    ) -> Result<(), GiveBack> {
        self.relay_commit(key, &loaded.state, number, Some(commit.clone())).await?;
        self.wake_in_time(key, &commit).await;
        if loaded.state.card_commit == number {
            self.show_card(key, &loaded.state, rev).await?;
        }
        self.journal.checkpoint_if_due(key, loaded).await;
        Ok(())
    }

    /// Sends what nobody has taken up of commit `number`.
    ///
    /// # Errors
    /// [`GiveBack::Relay`]: neither its queue nor the outbox queue accepts it.
    pub(super) async fn relay_commit(
        &self,
        key: &LogKey,
        state: &State,
        number: u64,
        made: Option<Arc<Commit>>,
    ) -> Result<(), GiveBack> {
        let untaken: Vec<(&Target, &Attempt)> = state.untaken_of(number).collect();
        if untaken.is_empty() {
            return Ok(());
        }
        let mut known = Known::default();
        if let Some(commit) = made {
            known.0.insert(number, commit);
        }
        let all = untaken.len();
        let here = &untaken[..all.min(RELAY_MAX)];
        let left = self.send_dispatches(key, state, here, &mut known).await?;
        if left + all - here.len() == 0 {
            return Ok(());
        }
        let left_over = LeftOver {
            namespace: key.namespace.clone(),
            workflow: key.workflow.clone(),
            incarnation: key.incarnation,
            commit: number,
        };
        let message = self.to_itself(key, &left_over, 0);
        if self.relay.send(OUTBOX, vec![message]).await.is_empty() {
            Ok(())
        } else {
            Err(GiveBack::Relay)
        }
    }

    /// Sends dispatches to their queues; how many were not accepted.
    pub(super) async fn send_dispatches(
        &self,
        key: &LogKey,
        state: &State,
        attempts: &[(&Target, &Attempt)],
        known: &mut Known,
    ) -> Result<usize, GiveBack> {
        let mut by_queue: BTreeMap<String, Vec<Outgoing>> = BTreeMap::new();
        for (target, attempt) in attempts {
            let dispatch =
                dispatch::dispatch(&self.journal, key, state, target, attempt, known).await?;
            let queue = match (target, &attempt.driven, state.plan()) {
                (_, Some(work), _) => work.queue.to_string(),
                (Target::Planned(at), _, Some(plan)) => {
                    plan.task(*at).map(|task| task.queue.to_string()).unwrap_or_default()
                }
                _ => String::new(),
            };
            let dispatch_key = dispatch.dispatch_key.to_string();
            by_queue.entry(queue).or_default().push(Outgoing {
                dedup: format!("{dispatch_key}-{}", dispatch.handover),
                group: dispatch_key,
                body: dispatch::body(dispatch),
                delay_s: 0,
            });
        }
        let mut left = 0;
        for (queue, messages) in by_queue {
            left += self.relay.send(&queue, messages).await.len();
        }
        Ok(left)
    }

    /// Sends a delayed wake for each due second that this commit adds and that
    /// lies within the reach of SQS. Best effort: the alarm comes anyway.
    async fn wake_in_time(&self, key: &LogKey, commit: &Commit) {
        let now = self.clock.now();
        let dues = commit.events.iter().filter_map(due_of);
        // One wake a second, at the last of what is due in it: never early, and
        // rounded up only once, by SQS's whole seconds.
        let mut by_second: BTreeMap<u64, Timestamp> = BTreeMap::new();
        for due in dues.filter(|due| *due > now && due.since(now) <= limits::SQS_DELAY_MS_MAX) {
            let last = by_second.entry(due.0 / 1_000).or_insert(due);
            *last = due.max(*last);
        }
        let wakes: Vec<Outgoing> = by_second.values().map(|due| self.wake_at(key, *due)).collect();
        if !wakes.is_empty() {
            self.relay.send(WAKE, wakes).await;
        }
    }

    /// A wake that arrives at `due` or up to a second later, never sooner.
    pub(super) fn wake_at(&self, key: &LogKey, due: Timestamp) -> Outgoing {
        let delay_s = due.since(self.clock.now()).div_ceil(1_000).min(900);
        let wake = Wake {
            namespace: key.namespace.clone(),
            workflow: key.workflow.clone(),
            incarnation: Some(key.incarnation),
            relay: false,
            remove: false,
            command: None,
        };
        self.to_itself(key, &wake, u32::try_from(delay_s).unwrap_or(900))
    }

    pub(super) fn to_itself(
        &self,
        key: &LogKey,
        message: &impl serde::Serialize,
        delay_s: u32,
    ) -> Outgoing {
        Outgoing {
            body: serde_json::to_string(message).unwrap_or_default(),
            group: super::group_id(&key.partition()),
            dedup: String::new(),
            delay_s,
        }
    }

    /// Shows the state on its card. With `rev` the alarm goes too, if nobody
    /// needed an earlier one since.
    pub(super) async fn show_card(
        &self,
        key: &LogKey,
        state: &State,
        rev: Option<u64>,
    ) -> Result<(), GiveBack> {
        if state.life == Life::Deleted {
            self.journal.bury(key, state.time).await?;
            return Ok(());
        }
        let Some(look) = CardLook::of(state) else { return Ok(()) };
        if self.journal.show(key, &look, rev).await? || rev.is_none() {
            return Ok(());
        }
        self.journal.show(key, &look, None).await?;
        Ok(())
    }
}

/// When something must happen that this event arranges.
fn due_of(event: &Event) -> Option<Timestamp> {
    match event {
        Event::TimerArmed(_, at) => Some(*at),
        Event::Listening(_, until) => *until,
        Event::Settled(.., retry_at) => *retry_at,
        Event::Prepared(_, _, not_before, _) => *not_before,
        Event::Started(started) => started.deadline,
        Event::Reopened(_, deadline) => *deadline,
        _ => None,
    }
}
