//! A look at one workflow: what is due is done, and the alarm moves.
//!
//! A wake says only which workflow to look at. If the card's alarm has rung,
//! the look owes a commit of its own, and on the strength of that commit moves
//! the card's alarm to the next due time, if `alarm_rev` is still the one that
//! was read before. Otherwise it only does what is due.

use std::time::Duration;

use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::serve::unanswerable;
use super::{Fleet, GiveBack, Message};
use crate::config::WAKE;
use crate::decide::{Draft, Look, look};
use crate::event::Target;
use crate::id::{CommandId, WriterId};
use crate::journal::{Card, Loaded, LogKey, keys};
use crate::message::{LeftOver, Wake};
use crate::state::{Attempt, Life, Stage};
use crate::telemetry::trace;
use crate::time::Timestamp;

/// Lost races after which a wake is given back.
const RACES_MAX: u32 = 8;
/// How old the commit of a direct invocation can be when its wake comes.
const DIRECT_MS_MAX: u64 = 15 * 60_000;

impl Fleet {
    /// Serves a batch of wakes; returns the ids of the messages that failed.
    pub async fn wakes(&self, messages: Vec<Message>) -> Vec<String> {
        let mut failed = Vec::new();
        for message in messages {
            let served = match serde_json::from_str::<Wake>(&message.body) {
                Ok(wake) => {
                    let again = message.receive_count > 1;
                    let span = tracing::debug_span!(
                        "wake",
                        otel.kind = "consumer",
                        otel.status_code = Empty,
                        namespace = %wake.namespace,
                        workflow = %wake.workflow,
                        redelivery = again,
                        outcome = Empty,
                        kind = Empty,
                    );
                    let span = trace::received(span, message.traceparent.as_deref());
                    let looked = self.guarded(self.look(&wake, again));
                    say(looked.instrument(span.clone()).await, &span)
                }
                Err(error) if self.dead_letter(&message, &error.to_string()).await => Ok(()),
                Err(_) => Err(GiveBack::Relay),
            };
            if let Err(why) = served {
                tracing::warn!(message = message.id, reason = %why, "wake given back");
                self.tally.given_back(why.name(), 1);
                failed.push(message.id);
            }
        }
        failed
    }

    /// Serves a batch of left-over commits; returns the ids of the messages that failed.
    pub async fn left_overs(&self, messages: Vec<Message>) -> Vec<String> {
        let mut failed = Vec::new();
        for message in messages {
            let served = match serde_json::from_str::<LeftOver>(&message.body) {
                Ok(left_over) => {
                    let span = tracing::debug_span!(
                        "left_over",
                        otel.kind = "consumer",
                        otel.status_code = Empty,
                        namespace = %left_over.namespace,
                        workflow = %left_over.workflow,
                        commit = left_over.commit,
                        redelivery = message.receive_count > 1,
                        outcome = Empty,
                        kind = Empty,
                    );
                    let span = trace::received(span, message.traceparent.as_deref());
                    let handed = self.guarded(self.hand_over(left_over));
                    say(handed.instrument(span.clone()).await, &span)
                }
                Err(error) if self.dead_letter(&message, &error.to_string()).await => Ok(()),
                Err(_) => Err(GiveBack::Relay),
            };
            if let Err(why) = served {
                tracing::warn!(message = message.id, reason = %why, "left-over given back");
                self.tally.given_back(why.name(), 1);
                failed.push(message.id);
            }
        }
        failed
    }

    async fn hand_over(&self, left_over: LeftOver) -> Result<(), GiveBack> {
        let key = LogKey::new(left_over.namespace, left_over.workflow, left_over.incarnation);
        let loaded = self.journal.load(&key).await?;
        let untaken: Vec<(&Target, &Attempt)> = loaded.state.untaken_of(left_over.commit).collect();
        let mut known = super::dispatch::Known::default();
        match self.send_dispatches(&key, &loaded.state, &untaken, &mut known).await? {
            0 => Ok(()),
            _ => Err(GiveBack::Relay),
        }
    }

    /// Looks at one workflow. `again` and `wake.relay` also hand over again
    /// what nobody has taken up.
    ///
    /// # Errors
    /// [`GiveBack`]: look again.
    pub async fn look(&self, wake: &Wake, again: bool) -> Result<(), GiveBack> {
        let partition = keys::partition(&wake.namespace, &wake.workflow);
        if let (true, Some(incarnation)) = (wake.remove, wake.incarnation) {
            let key = LogKey::new(wake.namespace.clone(), wake.workflow.clone(), incarnation);
            return self.remove(&key).await;
        }
        let Some(card) = self.journal.card(&partition).await? else { return Ok(()) };
        let other = wake.incarnation.is_some_and(|incarnation| incarnation != card.incarnation);
        if other || card.gone() {
            return Ok(());
        }
        let key = LogKey::new(wake.namespace.clone(), wake.workflow.clone(), card.incarnation);
        let mut loaded = match self.confirmed(&key).await {
            Err(why) => {
                // Nothing can be done here until somebody mends the log.
                let marked = match super::quarantine::damage(&why) {
                    Some(what) => self.mark(&key, &card, what).await,
                    None => false,
                };
                return if marked { Ok(()) } else { Err(why) };
            }
            Ok(loaded) => loaded,
        };
        if card.quarantine.is_some() {
            self.journal.release(&key).await?;
        }
        let looked = self.look_at(&key, &mut loaded, &card).await;
        match &looked {
            Ok(()) => self.cache.put(&key, &loaded),
            Err(_) => self.cache.forget(&partition),
        }
        looked?;
        if again || wake.relay {
            self.hand_over_again(&key, &loaded).await?;
        } else if let Some(command) = &wake.command {
            self.hand_over_of(&key, &loaded, command).await?;
        }
        Ok(())
    }

    /// The state of a log, known to be the latest after this was asked.
    async fn confirmed(&self, key: &LogKey) -> Result<Loaded, GiveBack> {
        let arrived = Instant::now();
        let mut loaded = match self.cache.get(&key.partition(), Some(key.incarnation)) {
            Some((_, loaded)) => loaded,
            None => self.journal.load(key).await?,
        };
        if loaded.confirmed <= arrived {
            self.journal.refresh(key, &mut loaded).await?;
        }
        Ok(loaded)
    }

    async fn look_at(
        &self,
        key: &LogKey,
        loaded: &mut Loaded,
        card: &Card,
    ) -> Result<(), GiveBack> {
        let rang = |now: Timestamp| card.alarm_at.is_some_and(|tick| tick.start() <= now);
        if let Some(due) = loaded.state.earliest_due() {
            self.tally.waited(self.clock.now().since(due));
        }
        for race in 0..RACES_MAX {
            let now = self.clock.now();
            let mode = if rang(now) { Look::Alarm } else { Look::Wake };
            if mode == Look::Alarm && matches!(loaded.state.life, Life::Abandoned | Life::Deleted) {
                self.show_card(key, &loaded.state, None).await?;
                self.journal.move_alarm(key, None, card.alarm_rev).await?;
                return Ok(());
            }
            if self.soon(key, loaded, card, now).await {
                return Ok(());
            }
            let mut draft = Draft::new(&loaded.state, now).keeping(self.retention_ms);
            tracing::debug_span!("decide")
                .in_scope(|| look(&mut draft, &self.context(key), mode))
                .map_err(unanswerable)?;
            if draft.is_empty() {
                return self.repair(key, loaded, card).await;
            }
            let sealed = draft.seal(WriterId::random(), mode == Look::Alarm);
            if self.land(key, loaded, sealed).await?.is_some() {
                self.go_on(key, loaded).await?;
                if mode == Look::Alarm {
                    self.journal.move_alarm(key, loaded.state.alarm, card.alarm_rev).await?;
                }
                return self.repair(key, loaded, card).await;
            }
            tokio::time::sleep(Duration::from_millis(rand::random_range(0..=10 << race.min(5))))
                .await;
        }
        Err(GiveBack::Contended)
    }

    /// Nothing is due yet, but before the alarm's minute ends: the look is
    /// repeated then, and nothing is written now.
    async fn soon(&self, key: &LogKey, loaded: &Loaded, card: &Card, now: Timestamp) -> bool {
        let Some(due) = loaded.state.earliest_due() else { return false };
        let same_minute = card.alarm_at == Some(due.tick()) && loaded.state.alarm == card.alarm_at;
        if due <= now || !same_minute || loaded.state.life == Life::Nothing {
            return false;
        }
        self.relay.send(WAKE, vec![self.wake_at(key, due)]).await.is_empty()
    }

    /// A card that shows less than the log says is shown what it says.
    async fn repair(&self, key: &LogKey, loaded: &Loaded, card: &Card) -> Result<(), GiveBack> {
        if card.as_of < loaded.state.card_commit {
            self.show_card(key, &loaded.state, None).await?;
        }
        Ok(())
    }

    /// Hands over again what one command's commit dispatched: its direct
    /// invocation may have died before it did.
    async fn hand_over_of(
        &self,
        key: &LogKey,
        loaded: &Loaded,
        command: &CommandId,
    ) -> Result<(), GiveBack> {
        let waits = |a: &Attempt| matches!(a.stage, Stage::Sent { count: 1, .. });
        let since = loaded.state.time.min(self.clock.now()).minus_ms(DIRECT_MS_MAX);
        if self.cache.has_served(command.into()) || !loaded.state.attempts.values().any(waits) {
            return Ok(());
        }
        let last = loaded.state.commit;
        if let Some(number) = self.journal.find_command(key, command.into(), last, since).await? {
            self.relay_commit(key, &loaded.state, number, None).await?;
        }
        Ok(())
    }

    /// Hands over again, under the same keys, what nobody has taken up.
    async fn hand_over_again(&self, key: &LogKey, loaded: &Loaded) -> Result<(), GiveBack> {
        let sent = loaded.state.attempts.values().filter_map(|attempt| match attempt.stage {
            Stage::Sent { commit, .. } => Some(commit),
            Stage::Staged { .. } | Stage::Taken { .. } => None,
        });
        let commits: std::collections::BTreeSet<u64> = sent.collect();
        for number in commits {
            self.relay_commit(key, &loaded.state, number, None).await?;
        }
        Ok(())
    }
}

/// Says on a span how it ended.
fn say(ended: Result<(), GiveBack>, span: &Span) -> Result<(), GiveBack> {
    match &ended {
        Ok(()) => {
            span.record("outcome", "done");
        }
        Err(why) => super::batch::gave_back(span, why),
    }
    ended
}
