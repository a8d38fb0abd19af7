//! The heart: the commands of one workflow, decided on one state, one commit
//! at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::Instrument;

use super::Fleet;
use crate::answer::{Answer, Rejection, Reply};
use crate::command::Command;
use crate::decide::{Context, Decided, Draft, Refused};
use crate::id::WriterId;
use crate::journal::{JournalError, Loaded, LogKey, Put};
use crate::limits;
use crate::plan::{Plan, PlanRef};
use crate::state::{Life, State};
use crate::time::{Tick, Timestamp};

/// Lost races after which commands are given back as contended.
const RACES_MAX: u32 = 8;
/// Commits that one invocation makes to finish a decision that was cut short.
const CONTINUES_MAX: u32 = 500;

/// Why a message is given back. Never an answer, and never held against it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GiveBack {
    /// Others kept winning.
    #[error("contended")]
    Contended,
    /// The log could not be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A queue did not accept what a commit sends.
    #[error("a queue does not accept messages")]
    Relay,
    /// The sequence that the command waits for has not come yet.
    #[error("waits for sequence {0}")]
    Waits(u64),
    /// The handler panicked.
    #[error("panicked: {0}")]
    Panicked(String),
    /// The invocation's time was up.
    #[error("the invocation's time was up")]
    OutOfTime,
    /// An earlier message of its group failed.
    #[error("an earlier message of its group failed")]
    AfterFailure,
}

impl GiveBack {
    /// Its name, as metrics and spans use it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Contended => "contended",
            Self::Journal(error) => error.name(),
            Self::Relay => "relay",
            Self::Waits(_) => "waits",
            Self::Panicked(_) => "panicked",
            Self::OutOfTime => "out_of_time",
            Self::AfterFailure => "after_failure",
        }
    }
}

/// One command, and what its transport knows of it.
#[derive(Debug, Clone)]
pub(super) struct Incoming {
    pub command: Command,
    /// When it was sent, at the earliest.
    pub sent: Option<Timestamp>,
    /// Since when it has been waiting here.
    pub waiting_since: Timestamp,
    /// It was received before.
    pub again: bool,
    /// Bytes of its message.
    pub bytes: usize,
    /// Its span. What is done for several commands is done in the first one's.
    pub span: tracing::Span,
}

pub(super) type Served = Result<Box<Answer>, GiveBack>;

/// A decision on one command, to be told once its commit is in.
pub(super) type Told = Result<Decided, Box<Rejection>>;

/// What a workflow's commands are served on.
pub(super) struct Work<'a> {
    pub key: LogKey,
    pub loaded: Loaded,
    /// The alarm of the card, where the log has no commit yet.
    pub first_alarm: Option<Tick>,
    /// The plan of the start among the commands.
    pub plan: Option<(PlanRef, Arc<Plan>)>,
    pub incoming: &'a [Incoming],
    pub arrived: Instant,
}

impl Fleet {
    /// Serves all commands of `work`, in order. After a failure the rest of
    /// them is given back too.
    pub(super) async fn serve(&self, mut work: Work<'_>) -> Vec<Served> {
        let total = work.incoming.len();
        let mut served: Vec<Served> = Vec::with_capacity(total);
        let mut races = 0;
        while served.len() < total {
            if !served.is_empty() && work.loaded.state.life == Life::Deleted {
                // The rest is about another life, if about any.
                return served;
            }
            let span = work.incoming[served.len()].span.clone();
            let step = self.serve_once(&mut work, served.len()).instrument(span).await;
            match step {
                Ok(Step::Served(answers)) => {
                    races = 0;
                    served.extend(answers);
                }
                Ok(Step::DecideAgain) => {}
                Ok(Step::LostRace) if races < RACES_MAX => {
                    races += 1;
                    let wait_ms = rand::random_range(0..=10_u64 << races.min(5));
                    tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                }
                Ok(Step::LostRace) => served.push(Err(GiveBack::Contended)),
                Err(why) => {
                    self.cache.forget(&work.key.partition());
                    served.push(Err(why));
                }
            }
            if served.last().is_some_and(Result::is_err) {
                served.resize(total, Err(GiveBack::AfterFailure));
            }
        }
        served
    }

    /// Decides as many of the remaining commands as fit one commit, and commits.
    async fn serve_once(&self, work: &mut Work<'_>, from: usize) -> Result<Step, GiveBack> {
        if work.loaded.age_ms(self.clock.now()) > limits::CACHE_FRESH_MS {
            self.journal.refresh(&work.key, &mut work.loaded).await?;
        }
        if matches!(work.loaded.state.life, Life::Abandoned | Life::Deleted) {
            // A sweep took commit 1, or somebody deleted: the next try begins anew.
            return Err(GiveBack::Contended);
        }
        if work.loaded.state.life == Life::Nothing && work.first_alarm.is_none() {
            // It was removed since it was read.
            return Err(GiveBack::Contended);
        }
        let mut base = work.loaded.state.clone();
        if base.life == Life::Nothing {
            base.alarm = work.first_alarm;
        }
        let mut draft = Draft::new(&base, self.clock.now()).keeping(self.retention_ms);
        let mut told: Vec<Told> = Vec::new();
        let mut stop = None;
        for incoming in &work.incoming[from..] {
            let room = limits::COMMIT_BYTES_SOFT_MAX.saturating_sub(draft.bytes());
            let waits = incoming.bytes > room
                || matches!(draft.state().life, Life::Nothing | Life::Deleted);
            if draft.full() || (!told.is_empty() && waits) {
                break;
            }
            match self.decide_within(work, &mut draft, incoming).await {
                Ok(Some(decided)) => told.push(decided),
                Ok(None) => break,
                Err(why) => {
                    stop = Some(why);
                    break;
                }
            }
        }
        if told.is_empty() {
            return Err(stop.unwrap_or(GiveBack::Contended));
        }
        let commands = &work.incoming[from..from + told.len()];
        let mut answers = if draft.is_empty() {
            if work.loaded.confirmed <= work.arrived
                && self.journal.refresh(&work.key, &mut work.loaded).await?
            {
                return Ok(Step::DecideAgain);
            }
            self.nothing_to_commit(work, commands, told).await?
        } else {
            match self.commit(work, draft, commands, told).await? {
                Some(answers) => answers,
                None => return Ok(Step::LostRace),
            }
        };
        if let Some(why) = stop {
            answers.push(Err(why));
        }
        Ok(Step::Served(answers))
    }

    /// Only refusals and repeats: they are answered from a confirmed state.
    async fn nothing_to_commit(
        &self,
        work: &mut Work<'_>,
        commands: &[Incoming],
        told: Vec<Told>,
    ) -> Result<Vec<Served>, GiveBack> {
        self.repeat_relays(work, &told).await?;
        if work.loaded.state.continues.is_some() {
            self.go_on(&work.key, &mut work.loaded).await?;
        }
        self.cache.put(&work.key, &work.loaded);
        let state = &work.loaded.state;
        let answers = commands.iter().zip(told);
        Ok(answers
            .map(|(i, told)| Ok(Box::new(answer(&work.key, state, i, told, false))))
            .collect())
    }

    /// Puts the draft; `None` if another commit took its place.
    async fn commit(
        &self,
        work: &mut Work<'_>,
        draft: Draft,
        commands: &[Incoming],
        told: Vec<Told>,
    ) -> Result<Option<Vec<Served>>, GiveBack> {
        let sealed = draft.seal(WriterId::random(), false);
        let Some(()) = self.land(&work.key, &mut work.loaded, sealed).await? else {
            return Ok(None);
        };
        self.repeat_relays(work, &told).await?;
        if work.loaded.state.continues.is_some() {
            self.go_on(&work.key, &mut work.loaded).await?;
        }
        self.cache.put(&work.key, &work.loaded);
        let state = &work.loaded.state;
        let answers = commands.iter().zip(told);
        Ok(Some(
            answers
                .map(|(i, told)| Ok(Box::new(answer(&work.key, state, i, told, true))))
                .collect(),
        ))
    }

    /// Card step, put, and all that follows a landed commit. `None` if another
    /// commit took the place: that one is folded, and what follows it.
    pub(super) async fn land(
        &self,
        key: &LogKey,
        loaded: &mut Loaded,
        sealed: crate::decide::Sealed,
    ) -> Result<Option<()>, GiveBack> {
        let closes = sealed.state.ending().is_some() && loaded.state.open();
        let dies = sealed.state.life == Life::Deleted;
        if dies {
            let due = self.clock.now().plus_ms(limits::REMOVE_AFTER_MS + 60_000).tick();
            self.journal.plan_removal(key, due).await?;
        }
        let rev = match closes {
            true => self.journal.card(&key.partition()).await?.map(|card| card.alarm_rev),
            false => None,
        };
        if sealed.card_first
            && let Some(alarm) = sealed.state.alarm
        {
            self.journal.lower_alarm(key, alarm).await?;
        }
        let (put, bytes) = self.journal.put(key, loaded, sealed.number, &sealed.commit).await?;
        if let Put::Lost(winner) = put {
            self.journal.fold(key, loaded, sealed.number, &winner, 0).await?;
            self.journal.refresh(key, loaded).await?;
            return Ok(None);
        }
        loaded.advance(sealed.state, bytes, self.clock.now());
        self.after(key, loaded, sealed.number, Arc::new(sealed.commit), rev).await?;
        Ok(Some(()))
    }

    /// Finishes a decision that was cut short, commit by commit.
    pub(super) async fn go_on(&self, key: &LogKey, loaded: &mut Loaded) -> Result<(), GiveBack> {
        for _ in 0..CONTINUES_MAX {
            if loaded.state.continues.is_none() {
                return Ok(());
            }
            let draft = Draft::new(&loaded.state, self.clock.now());
            let mut draft = draft.keeping(self.retention_ms);
            let context = self.context(key);
            match crate::decide::look(&mut draft, &context, crate::decide::Look::Wake) {
                Ok(()) if draft.is_empty() => return Ok(()),
                Ok(()) => {}
                Err(refused) => return Err(unanswerable(refused)),
            }
            let sealed = draft.seal(WriterId::random(), false);
            self.land(key, loaded, sealed).await?;
        }
        // The alarm goes on where this leaves off.
        Ok(())
    }

    pub(super) fn context(&self, key: &LogKey) -> Context {
        Context {
            partition: key.partition(),
            incarnation: key.incarnation.0,
            now: self.clock.now(),
            ..Context::default()
        }
    }
}

enum Step {
    Served(Vec<Served>),
    DecideAgain,
    LostRace,
}

pub(super) fn unanswerable(refused: Refused) -> GiveBack {
    GiveBack::Journal(match refused {
        Refused::Damaged(error) => JournalError::Damaged(error.to_string()),
        other => JournalError::Damaged(format!("{other:?}")),
    })
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no text".into())
}

fn answer(key: &LogKey, state: &State, incoming: &Incoming, told: Told, landed: bool) -> Answer {
    let command = &incoming.command;
    let (reply, decided) = match told {
        Ok(decided) if decided.repeat_of.is_some() || !landed => (Reply::Unchanged, decided),
        Ok(decided) => (Reply::Committed, decided),
        Err(rejection) => (Reply::from(*rejection), Decided::default()),
    };
    Answer {
        command: Some(command.id.clone()),
        namespace: Some(command.namespace.clone()),
        workflow: Some(command.workflow.clone()),
        incarnation: Some(key.incarnation),
        head: Some(state.head),
        reply,
        dispatch_keys: decided.dispatch_keys,
        directive: decided.directive,
        ending: state.ending(),
    }
}

impl Work<'_> {
    /// When a command was sent, at the earliest.
    pub(super) fn sent_of(&self, command: &Command) -> Option<Timestamp> {
        self.incoming.iter().find(|i| i.command.id == command.id)?.sent
    }

    /// Commits whose untaken dispatches a repeated command sends again.
    pub(super) fn repeats(told: &[Told]) -> Vec<u64> {
        let mut commits: Vec<u64> =
            told.iter().filter_map(|t| t.as_ref().ok()?.repeat_of).filter(|n| *n > 0).collect();
        commits.sort_unstable();
        commits.dedup();
        commits
    }
}

impl Fleet {
    async fn repeat_relays(&self, work: &Work<'_>, told: &[Told]) -> Result<(), GiveBack> {
        for number in Work::repeats(told) {
            self.relay_commit(&work.key, &work.loaded.state, number, None).await?;
            if number == work.loaded.state.card_commit {
                self.show_card(&work.key, &work.loaded.state, None).await?;
            }
        }
        Ok(())
    }
}
