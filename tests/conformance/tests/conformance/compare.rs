//! What must be the same on both sides, and what must hold on the table.

use everlog::id::Incarnation;
use everlog::journal::LogKey;
use everlog::time::{Tick, Timestamp};
use everlog_model::Status;
use everlog_model::fold::fold;
use everlog_model::vocabulary::NEVER;
use everlog_testing::proof;

use crate::lockstep::{Lockstep, Subject};

impl Subject {
    /// A minute, as the model counts.
    pub fn tick(&self, tick: Option<Tick>) -> u8 {
        let Some(tick) = tick else { return NEVER };
        u8::try_from(tick.0.saturating_sub(self.base)).unwrap_or(NEVER - 1)
    }
}

impl Subject {
    /// Gives a number to an incarnation that is seen for the first time.
    fn notice(&mut self, incarnation: Incarnation) {
        if !self.incarnations.contains(&incarnation) {
            self.incarnations.push(incarnation);
        }
    }
}

/// The model's word for a status.
///
/// # Errors
/// If it has none.
pub fn status(word: &str) -> Result<Status, String> {
    Ok(match word {
        "starting" => Status::Starting,
        "running" => Status::Running,
        "paused" => Status::Paused,
        "cancelled" => Status::Closed,
        "abandoned" => Status::Abandoned,
        other => return Err(format!("status {other}")),
    })
}

/// Compares both sides.
///
/// # Errors
/// What is broken on the table, or differs.
pub async fn both(both: &mut Lockstep<'_>) -> Result<(), String> {
    let world = &both.rig.world;
    if let Some(broken) = proof::alarm(world, &both.subject.workflow).await {
        return Err(format!("the alarm invariant: {broken}"));
    }
    if let Some(breach) = both.state.store.breach {
        return Err(format!("the model itself: {breach:?}"));
    }
    let Some((key, card)) = world.card(&both.subject.workflow).await else {
        return match both.state.store.card {
            None => Ok(()),
            Some(card) => Err(format!("no card, in the model {card:?}")),
        };
    };
    both.subject.notice(key.incarnation);
    let subject = &both.subject;
    let place = subject.incarnations.iter().position(|known| *known == key.incarnation);
    let real = (
        place.map(|place| place + 1),
        subject.tick(card.alarm_at),
        card.alarm_rev,
        status(&card.status)?,
        card.as_of,
    );
    let model = both.state.store.card.map(|card| {
        let incarnation = Some(usize::from(card.incarnation));
        let (rev, as_of) = (u64::from(card.alarm_rev), u64::from(card.as_of));
        (incarnation, card.alarm_at, rev, card.status, as_of)
    });
    if Some(real) != model {
        return Err(format!("the card is {real:?}, in the model {model:?}"));
    }
    logs(both, key).await
}

/// Compares what each incarnation's log says.
async fn logs(both: &Lockstep<'_>, mut key: LogKey) -> Result<(), String> {
    let (world, subject) = (&both.rig.world, &both.subject);
    for (number, incarnation) in (1..).zip(&subject.incarnations) {
        key.incarnation = *incarnation;
        let loaded = world.observer.journal().load(&key).await;
        let state = loaded.map_err(|error| format!("the log does not fold: {error}"))?.state;
        let log = both.state.store.log(number);
        let folded = fold(&both.protocol.scenario.items, log);
        let real = (
            state.commit,
            status(state.status())?,
            subject.tick(state.alarm),
            subject.tick(state.earliest_due().map(Timestamp::tick)),
            state.card_commit,
        );
        let model = (
            log.len() as u64,
            folded.status,
            folded.alarm,
            folded.earliest(),
            u64::from(folded.status_as_of),
        );
        if real != model {
            return Err(format!("log {number} says {real:?}, in the model {model:?}"));
        }
    }
    Ok(())
}
