//! Which log a group of commands is about, and how a new one begins.
//!
//! Start: card first, with an alarm in a minute and in no list; then commit 1.
//! A start that comes again finds the card and keeps it. A signal for an id
//! that does not live yet opens it by the same two steps.

use std::sync::Arc;

use tokio::time::Instant;
use tracing::Instrument;

use super::removal::Found;
use super::serve::{Incoming, Served, Work};
use super::{Fleet, GiveBack};
use crate::answer::{Answer, InvalidInput, Rejection, Reply};
use crate::command::{Command, Start, Verb};
use crate::decide::{Draft, Refused, decide};
use crate::id::Incarnation;
use crate::journal::{Card, JournalError, Loaded, LogKey, Opened, upload_id};
use crate::plan::{Plan, PlanRef, compile};
use crate::state::{Life, State};
use crate::time::{Tick, Timestamp};

/// Milliseconds from a start to its first alarm.
const FIRST_ALARM_MS: u64 = 60_000;
/// Takeovers that may be lost before the command is given back.
const TAKEOVERS_MAX: u32 = 4;

/// A log to serve commands on, or what is said without one.
enum Place {
    Log(LogKey, Box<Loaded>, Option<Tick>),
    Nowhere,
    /// The life that ended before answers it, or what is left of it.
    Buried(Incarnation, Reply),
}

impl Fleet {
    /// Serves a group: commands for one workflow, in order.
    pub(super) async fn serve_group(&self, incoming: &[Incoming]) -> Vec<Served> {
        let arrived = Instant::now();
        let mut served: Vec<Served> = Vec::with_capacity(incoming.len());
        while served.len() < incoming.len() {
            let rest = &incoming[served.len()..];
            let one_life =
                rest.iter().take_while(|i| i.command.incarnation == rest[0].command.incarnation);
            let rest = &rest[..one_life.count()];
            // A start is served at the head of its own turn, with its own plan.
            let next_start =
                rest[1..].iter().position(|i| matches!(i.command.command, Verb::Start(_)));
            let rest = &rest[..next_start.map_or(rest.len(), |at| at + 1)];
            let span = rest[0].span.clone();
            match self.serve_rest(rest, arrived).instrument(span).await {
                Ok(more) => served.extend(more),
                Err(why) => served.push(Err(why)),
            }
            if served.last().is_some_and(Result::is_err) {
                served.resize(incoming.len(), Err(GiveBack::AfterFailure));
            }
        }
        served
    }

    /// Serves the head of `rest` at least.
    async fn serve_rest(
        &self,
        rest: &[Incoming],
        arrived: Instant,
    ) -> Result<Vec<Served>, GiveBack> {
        let head = &rest[0].command;
        // A start that would be refused opens nothing; it may be a repeat, though.
        let refusal = match &head.command {
            Verb::Start(start) => self.precheck(head, start).err(),
            _ => None,
        };
        let opens = matches!(head.command, Verb::Start(_) | Verb::Signal(_)) && refusal.is_none();
        let (key, loaded, first_alarm) = match self.place(&rest[0], opens).await? {
            Place::Log(key, loaded, first_alarm) => (key, loaded, first_alarm),
            Place::Nowhere => {
                let (what, id) = ("workflow".into(), head.workflow.to_string());
                let rejection = refusal.unwrap_or(Rejection::NotFound { what, id });
                return Ok(vec![Ok(Box::new(refuse(head, rejection)))]);
            }
            Place::Buried(incarnation, reply) => {
                let incarnation = Some(incarnation);
                return Ok(vec![Ok(Box::new(told(head, incarnation, reply)))]);
            }
        };
        let mut plan = None;
        let new = matches!(loaded.state.life, Life::Nothing | Life::Unborn);
        if let Verb::Start(start) = &head.command
            && new
        {
            match self.plan_of(&key, head, start).await? {
                Ok(found) => plan = found,
                Err(invalid) => {
                    return Ok(vec![Ok(Box::new(refuse(head, invalid.into())))]);
                }
            }
        }
        let work = Work { key, loaded: *loaded, first_alarm, plan, incoming: rest, arrived };
        Ok(self.serve(work).await)
    }

    /// What a start is refused for before anything is written.
    fn precheck(&self, command: &Command, start: &Start) -> Result<(), Rejection> {
        let mut draft = Draft::new(&State::default(), self.clock.now());
        let bare = Command {
            command: Verb::Start(Box::new(Start {
                plan: None,
                stored_plan: None,
                ..start.clone()
            })),
            ..command.clone()
        };
        let context = crate::decide::Context { now: self.clock.now(), ..Default::default() };
        match decide(&mut draft, &context, &bare) {
            Err(Refused::Rejected(rejection)) => Err(*rejection),
            _ => Ok(()),
        }
    }

    async fn plan_of(
        &self,
        key: &LogKey,
        command: &Command,
        start: &Start,
    ) -> Result<Result<Option<(PlanRef, Arc<Plan>)>, InvalidInput>, GiveBack> {
        if let Some(stored) = &start.stored_plan {
            let invalid = |why: String| {
                InvalidInput::new("command.start.stored_plan", "an uploaded plan", why)
            };
            return match self.journal.stored_plan(&key.partition(), stored).await {
                Ok(plan) => Ok(match self.unknown_queue(&plan) {
                    Some(queue) => Err(invalid(format!("queue {queue}, which is not configured"))),
                    None => Ok(Some((PlanRef::Stored(stored.clone()), plan))),
                }),
                Err(JournalError::Damaged(why)) => Ok(Err(invalid(why))),
                Err(other) => Err(other.into()),
            };
        }
        let Some(spec) = &start.plan else { return Ok(Ok(None)) };
        match compile(spec) {
            Err(invalid) => Ok(Err(invalid.under("command.start.plan"))),
            Ok(plan) => {
                let plan = Arc::new(plan);
                let upload = upload_id(&command.id);
                let reference = self.journal.put_plan(&key.partition(), upload, &plan).await?;
                Ok(Ok(Some((reference, plan))))
            }
        }
    }

    fn unknown_queue(&self, plan: &Plan) -> Option<String> {
        let tasks = (0..).zip(&plan.nodes).filter_map(|(at, _)| plan.task(at));
        tasks.map(|t| &t.queue).find(|q| !self.relay.queues().offers(q)).map(ToString::to_string)
    }

    /// The log that a command is about; begins one if it may.
    async fn place(&self, incoming: &Incoming, opens: bool) -> Result<Place, GiveBack> {
        let head = &incoming.command;
        let partition = crate::journal::keys::partition(&head.namespace, &head.workflow);
        if let Some((incarnation, loaded)) = self.cache.get(&partition, head.incarnation)
            && matches!(
                loaded.state.life,
                Life::Unborn | Life::Open | Life::Continued | Life::Closed(_)
            )
        {
            return Ok(Place::Log(self.key(head, incarnation), Box::new(loaded), None));
        }
        if let Some(incarnation) = head.incarnation {
            return self.named(incoming, self.key(head, incarnation)).await;
        }
        for _ in 0..TAKEOVERS_MAX {
            let card =
                if opens { self.open(head).await? } else { self.journal.card(&partition).await? };
            let Some(card) = card else { return Ok(Place::Nowhere) };
            let key = self.key(head, card.incarnation);
            let loaded = match self.life_of(&key, &card).await? {
                Found::Alive(loaded) => loaded,
                Found::Deleted(left) => {
                    if let Some(reply) = self.buried(incoming, &key, &card, left).await? {
                        return Ok(Place::Buried(card.incarnation, reply));
                    }
                    match opens {
                        false => return Ok(Place::Nowhere),
                        true => match self.take_over(head, &card).await? {
                            Some(place) => return Ok(place),
                            None => continue,
                        },
                    }
                }
            };
            match loaded.state.life {
                Life::Nothing if opens => {
                    let alarm = card.alarm_at.unwrap_or(self.clock.now().tick());
                    return Ok(Place::Log(key, loaded, Some(alarm)));
                }
                Life::Abandoned if opens => {
                    if let Some(place) = self.take_over(head, &card).await? {
                        return Ok(place);
                    }
                }
                Life::Nothing | Life::Abandoned | Life::Deleted => return Ok(Place::Nowhere),
                Life::Unborn | Life::Open | Life::Continued | Life::Closed(_) => {
                    return Ok(Place::Log(key, loaded, None));
                }
            }
        }
        Err(GiveBack::Contended)
    }

    /// The next life of a dead one's card; `None` if somebody else has it.
    async fn take_over(&self, head: &Command, card: &Card) -> Result<Option<Place>, GiveBack> {
        let next = Incarnation(self.clock.now().0.max(card.incarnation.0 + 1));
        let (to, alarm) = (self.key(head, next), self.first_alarm());
        if !self.journal.take_over_card(card.incarnation, &to, alarm).await? {
            return Ok(None);
        }
        // Commit 1 of an incarnation that nobody had before can only be new.
        let loaded = self.journal.load(&to).await?;
        Ok(Some(Place::Log(to, Box::new(loaded), Some(alarm))))
    }

    /// The log of the life that a command names.
    async fn named(&self, incoming: &Incoming, key: LogKey) -> Result<Place, GiveBack> {
        let loaded = match self.journal.load(&key).await {
            Err(JournalError::Damaged(why)) => {
                let card = self.journal.card(&key.partition()).await?;
                let lives = |card: &Card| card.incarnation == key.incarnation && !card.gone();
                return match card.as_ref().is_some_and(lives) {
                    true => Err(JournalError::Damaged(why).into()),
                    // What is left of a life that was deleted.
                    false => Ok(Place::Nowhere),
                };
            }
            loaded => loaded?,
        };
        let deletes = matches!(incoming.command.command, Verb::Delete(_));
        match loaded.state.life {
            Life::Deleted if deletes => {
                self.journal.bury(&key, loaded.state.time).await?;
                Ok(Place::Buried(key.incarnation, Reply::Unchanged))
            }
            Life::Nothing | Life::Abandoned | Life::Deleted => Ok(Place::Nowhere),
            _ => Ok(Place::Log(key, Box::new(loaded), None)),
        }
    }

    /// The card of a workflow, made now if there is none.
    async fn open(&self, head: &Command) -> Result<Option<Card>, GiveBack> {
        let alarm = self.first_alarm();
        let key = self.key(head, Incarnation(self.clock.now().0));
        Ok(Some(match self.journal.open_card(&key, alarm).await? {
            Opened::Exists(card) => card,
            Opened::Created => Card {
                incarnation: key.incarnation,
                alarm_at: Some(alarm),
                alarm_rev: 0,
                status: "starting".into(),
                as_of: 0,
                quarantine: None,
                quarantine_min: 0,
                updated_at: None,
            },
        }))
    }

    fn first_alarm(&self) -> Tick {
        self.clock.now().plus_ms(FIRST_ALARM_MS).tick()
    }

    fn key(&self, head: &Command, incarnation: Incarnation) -> LogKey {
        LogKey::new(head.namespace.clone(), head.workflow.clone(), incarnation)
    }
}

pub(super) fn refuse(command: &Command, rejection: Rejection) -> Answer {
    told(command, command.incarnation, Reply::from(rejection))
}

/// An answer from no log.
fn told(command: &Command, incarnation: Option<Incarnation>, reply: Reply) -> Answer {
    Answer {
        command: Some(command.id.clone()),
        namespace: Some(command.namespace.clone()),
        workflow: Some(command.workflow.clone()),
        incarnation,
        head: None,
        reply,
        dispatch_keys: Vec::new(),
        directive: None,
        ending: None,
    }
}

/// When a command was sent, at the earliest that is known. A time to come is
/// no knowledge: the sender's clock is ahead.
pub(super) fn sent(
    command: &Command,
    transport: Option<Timestamp>,
    now: Timestamp,
) -> Option<Timestamp> {
    command.issued_at.into_iter().chain(transport).filter(|at| *at <= now).min()
}
