//! What must hold on the table, whatever came before: judged after every write.

use std::collections::{BTreeMap, BTreeSet};

use everlog::commit::Commit;
use everlog::event::{Event, Note};
use everlog::id::{CommandHash, CommandId, Incarnation};
use everlog::journal::{Card, LogKey};
use everlog::time::Tick;
use everlog_testing::proof;

use crate::request::Kind;
use crate::rig::Rig;

/// What was seen of a workflow so far.
#[derive(Debug, Default)]
pub struct Judge {
    card: Option<(Incarnation, Card)>,
    logs: BTreeMap<Incarnation, Vec<Commit>>,
}

impl Judge {
    /// A write has landed on the card as it was seen last: no write of one incarnation may land on another's.
    ///
    /// # Errors
    /// The breach.
    pub fn foreign(&self, kind: &Kind, names: Option<u64>) -> Result<(), String> {
        let Some((incarnation, _)) = &self.card else { return Ok(()) };
        match names {
            Some(names) if names != incarnation.0 => {
                Err(format!("foreign card: {kind:?} of {names} landed on {}", incarnation.0))
            }
            _ => Ok(()),
        }
    }

    /// Looks at the table after a write. `kept` are the digests of tables that
    /// were found to keep the alarm invariant.
    ///
    /// # Errors
    /// What is broken.
    pub async fn look(
        &mut self,
        rig: &Rig,
        workflow: &str,
        (base, kept): (Tick, &mut BTreeSet<String>),
    ) -> Result<(), String> {
        let Some((key, card)) = rig.world.card(workflow).await else { return Ok(()) };
        self.card_only_grows(&key, &card)?;
        self.ended_before(&key)?;
        self.card = Some((key.incarnation, card));
        self.logs.entry(key.incarnation).or_default();
        let incarnations: Vec<Incarnation> = self.logs.keys().copied().collect();
        for incarnation in incarnations {
            let key = LogKey { incarnation, ..key.clone() };
            self.log_only_grows(rig, &key).await?;
        }
        if !kept.insert(self.digest(base)) {
            return Ok(());
        }
        match proof::alarm(&rig.world, workflow).await {
            Some(broken) => Err(format!("alarm: {broken}")),
            None => Ok(()),
        }
    }

    fn card_only_grows(&self, key: &LogKey, card: &Card) -> Result<(), String> {
        let Some((incarnation, before)) = &self.card else { return Ok(()) };
        if key.incarnation < *incarnation {
            return Err("the incarnation went back".into());
        }
        if card.alarm_rev < before.alarm_rev {
            return Err("alarm_rev went back".into());
        }
        if key.incarnation == *incarnation && card.as_of < before.as_of {
            return Err(format!(
                "status: {} of {} landed over {} of {}",
                card.status, card.as_of, before.status, before.as_of
            ));
        }
        Ok(())
    }

    /// A card goes to the next life only after the last one ended.
    fn ended_before(&self, key: &LogKey) -> Result<(), String> {
        let Some((before, _)) = &self.card else { return Ok(()) };
        let last = self.logs.get(before).and_then(|log| log.last());
        let ended = last.is_some_and(|commit| {
            commit.notes.iter().any(|n| matches!(n.note, Note::Abandoned | Note::Deleted))
        });
        if *before == key.incarnation || ended {
            return Ok(());
        }
        Err(format!("{} took the card of {}, which has not ended", key.incarnation.0, before.0))
    }

    async fn log_only_grows(&mut self, rig: &Rig, key: &LogKey) -> Result<(), String> {
        let found = proof::commits(&rig.world.observer, key).await;
        for (at, (number, _)) in found.iter().enumerate() {
            if *number != at as u64 + 1 {
                return Err(format!("a gap before commit {number}"));
            }
        }
        let found: Vec<Commit> = found.into_iter().map(|(_, commit)| commit).collect();
        let before = self.logs.insert(key.incarnation, found.clone()).unwrap_or_default();
        if found.starts_with(&before) {
            return Ok(());
        }
        Err("a commit was replaced".into())
    }

    /// How many commits answer a command.
    pub fn answered(&self, id: &str) -> usize {
        let hash = CommandHash::from(&CommandId::new(id).expect("an id"));
        let commits = self.logs.values().flatten();
        commits.filter(|commit| commit.answers.contains(&hash)).count()
    }

    /// Whether a second incarnation has a log.
    pub fn second_life(&self) -> bool {
        self.logs.values().filter(|log| !log.is_empty()).count() > 1
    }

    /// What the table says, without ids and exact times, in minutes after
    /// `base`: equal tables are judged, and go on, in the same way.
    pub fn digest(&self, base: Tick) -> String {
        let tick = |tick: Tick| i128::from(tick.0) - i128::from(base.0);
        let event = |event: &Event| match event {
            Event::TimerArmed(key, at) => format!("armed {key:?} {}", tick(at.tick())),
            Event::TimerFired(key) => format!("fired {key:?}"),
            other => format!("{:?}", std::mem::discriminant(other)),
        };
        let commit = |commit: &Commit| {
            let events: Vec<String> = commit.events.iter().map(event).collect();
            let alarm = commit.alarm.map(|alarm| alarm.tick().map(tick));
            format!("{events:?} {} {:?} {alarm:?}", commit.notes.len(), commit.answers)
        };
        let logs: Vec<Vec<String>> =
            self.logs.values().map(|log| log.iter().map(commit).collect()).collect();
        let card = self.card.as_ref().map(|(_, card)| {
            (card.alarm_at.map(tick), card.alarm_rev, card.status.clone(), card.as_of)
        });
        format!("{card:?} {logs:?}")
    }
}
