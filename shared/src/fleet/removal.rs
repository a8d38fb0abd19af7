//! The removal of what was deleted, step by step: [`crate::journal`] knows the
//! items, this knows when.
//!
//! Each step may be done twice, by two at once, or be cut anywhere: what is left
//! of a step is done by the next wake, and the removal's own alarm sends that.

use super::serve::Incoming;
use super::{Fleet, GiveBack};
use crate::answer::{Rejection, Reply};
use crate::command::Verb;
use crate::journal::{Card, JournalError, Loaded, LogKey, Removal, RemovalStage};
use crate::limits;
use crate::plan::PlanRef;
use crate::state::{Life, State};
use crate::time::Timestamp;

/// How far the clocks of a caller, of SQS and of two functions may be apart.
const CLOCKS_MS: u64 = 120_000;
/// How long a removal waits whose log does not fold.
const DAMAGED_MS: u64 = 24 * 3_600_000;

/// What a card's life is.
pub(super) enum Found {
    /// It may take commands.
    Alive(Box<Loaded>),
    /// It was deleted; its log, if it is whole still.
    Deleted(Option<Box<Loaded>>),
}

impl Fleet {
    /// The life of a card: what is left of a deleted log need not fold.
    pub(super) async fn life_of(&self, key: &LogKey, card: &Card) -> Result<Found, GiveBack> {
        let loaded = match self.journal.load(key).await {
            Err(JournalError::Damaged(_)) if card.gone() => return Ok(Found::Deleted(None)),
            loaded => Box::new(loaded?),
        };
        Ok(match loaded.state.life {
            Life::Deleted => Found::Deleted(Some(loaded)),
            _ if card.gone() => Found::Deleted(None),
            _ => Found::Alive(loaded),
        })
    }

    /// What a command is told that was meant for the deleted life; `None` if it
    /// is about the next one. While the log is whole, that says whether the
    /// command was served; afterwards only when it was sent can.
    pub(super) async fn buried(
        &self,
        incoming: &Incoming,
        key: &LogKey,
        card: &Card,
        left: Option<Box<Loaded>>,
    ) -> Result<Option<Reply>, GiveBack> {
        let command = &incoming.command;
        if matches!(command.command, Verb::Delete(_)) {
            if let (Some(loaded), false) = (left, card.gone()) {
                self.journal.bury(key, loaded.state.time).await?;
            }
            return Ok(Some(Reply::Unchanged));
        }
        let Some(loaded) = left else {
            let deleted_at = card.updated_at.unwrap_or_default();
            let before = |sent: Timestamp| sent <= deleted_at.plus_ms(CLOCKS_MS);
            let gone = || Rejection::WrongState { state: "deleted".into() }.into();
            return Ok(incoming.sent.is_some_and(before).then(gone));
        };
        let not_before = incoming.sent.unwrap_or_default().minus_ms(CLOCKS_MS);
        let last = loaded.state.commit;
        let served = self.journal.find_command(key, (&command.id).into(), last, not_before).await?;
        Ok(served.map(|_| Reply::Unchanged))
    }

    /// Goes on with the removal of a deleted life, if it is due.
    ///
    /// # Errors
    /// [`GiveBack`]: again.
    pub(super) async fn remove(&self, key: &LogKey) -> Result<(), GiveBack> {
        let Some(removal) = self.journal.removal(key).await? else { return Ok(()) };
        let now = self.clock.now();
        if removal.due.start() > now {
            return Ok(());
        }
        match removal.stage {
            RemovalStage::Planned => self.begin_removal(key, now).await,
            RemovalStage::Removing => self.remove_log(key, now).await,
            RemovalStage::Removed => {
                self.journal.remove_card(key).await?;
                Ok(self.journal.end_removal(key, RemovalStage::Removed).await?)
            }
        }
    }

    async fn begin_removal(&self, key: &LogKey, now: Timestamp) -> Result<(), GiveBack> {
        let planned = |due: Timestamp| Removal { due: due.tick(), stage: RemovalStage::Planned };
        let state = match self.journal.load(key).await {
            Ok(loaded) => loaded.state,
            Err(JournalError::Damaged(why)) => {
                tracing::error!(workflow = %key.workflow, why, "a deleted log does not fold");
                let later = planned(now.plus_ms(DAMAGED_MS));
                return Ok(self.journal.move_removal(key, RemovalStage::Planned, later).await?);
            }
            Err(other) => return Err(other.into()),
        };
        if state.life != Life::Deleted {
            // Whoever planned it died before the commit, and would by now be refused.
            return Ok(self.journal.end_removal(key, RemovalStage::Planned).await?);
        }
        let due = state.time.plus_ms(limits::REMOVE_AFTER_MS);
        if due > now {
            let later = planned(due.plus_ms(60_000));
            return Ok(self.journal.move_removal(key, RemovalStage::Planned, later).await?);
        }
        self.journal.bury(key, state.time).await?;
        self.remove_plan(key, &state).await?;
        let removing = Removal { due: now.tick(), stage: RemovalStage::Removing };
        self.journal.move_removal(key, RemovalStage::Planned, removing).await?;
        self.remove_log(key, now).await
    }

    async fn remove_plan(&self, key: &LogKey, state: &State) -> Result<(), GiveBack> {
        let run = state.run.as_ref();
        if let Some(PlanRef::Stored(stored)) = run.and_then(|run| run.plan.as_ref()) {
            self.journal.remove_plan(key, stored).await?;
        }
        Ok(())
    }

    async fn remove_log(&self, key: &LogKey, now: Timestamp) -> Result<(), GiveBack> {
        self.journal.remove_log(key).await?;
        let due = now.plus_ms(limits::TOMBSTONE_MS).tick();
        let removed = Removal { due, stage: RemovalStage::Removed };
        Ok(self.journal.move_removal(key, RemovalStage::Removing, removed).await?)
    }
}
