//! The words of the model: what is stored, what may be written, what can happen.
//!
//! What it is: plain values, each one small and `Copy` where it can be, so that a state of the model is cheap to copy and to hash.
//! It promises that every write is *data* ([`Write`]: target, condition and effect); only [`crate::store`] carries one out.
//! It deliberately has no behaviour beyond sets and minima, and no wire or table format.
//! It cannot fail.
//! Where next: [`crate::store`] for what a write does, [`crate::protocol`] for who writes when.

use std::fmt;

/// A point in time. The model uses a handful of ticks; [`NEVER`] is the missing value, infinitely late.
pub type Tick = u8;
/// The due time of nothing, and the alarm of a card that has none.
pub const NEVER: Tick = Tick::MAX;
/// A life of a workflow id, counted from 1.
pub type Incarnation = u8;
/// A commit number within an incarnation, counted from 1.
pub type Number = u8;
/// The position of a command in [`crate::Scenario::commands`].
pub type CommandId = u8;
/// The position of an item in [`crate::Scenario::items`].
pub type ItemId = u8;
/// The position of a process in [`crate::Scenario::processes`].
pub type ProcessId = u8;
/// At most so many items in one scenario.
pub const ITEMS_MAX: usize = 4;

/// A set of small ids (items or commands), at most eight.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Few(pub u8);

impl Few {
    /// The set with nothing in it.
    pub const NONE: Few = Few(0);

    /// The set of these ids.
    pub fn of(ids: &[u8]) -> Few {
        ids.iter().fold(Few::NONE, |set, &id| set.with(id))
    }
    /// This set and `id`.
    pub fn with(self, id: u8) -> Few {
        Few(self.0 | 1 << id)
    }
    /// This set without `id`.
    pub fn without(self, id: u8) -> Few {
        Few(self.0 & !(1 << id))
    }
    /// Whether `id` is in the set.
    pub fn has(self, id: u8) -> bool {
        self.0 & 1 << id != 0
    }
    /// Whether nothing is in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// What is in both.
    pub fn and(self, other: Few) -> Few {
        Few(self.0 & other.0)
    }
    /// What is in either.
    pub fn or(self, other: Few) -> Few {
        Few(self.0 | other.0)
    }
    /// The lowest id, if any.
    pub fn first(self) -> Option<u8> {
        self.iter().next()
    }
    /// The ids, ascending.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..8).filter(move |&id| self.has(id))
    }
}

impl fmt::Debug for Few {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// What can be outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemKind {
    /// Fires when it is due; then it is discharged.
    Timer,
    /// Work for a worker. Due is the time of the next look; discharged when its settle is committed.
    Dispatch,
    /// For another workflow. Due is the time of the next look; discharged when the receiver's log shows it.
    Message,
}

/// When what a command adds is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Due {
    /// At a fixed tick (a timer).
    At(Tick),
    /// So many ticks after the decision (the look interval of a dispatch or a message).
    After(Tick),
}

/// What a command asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Begin the workflow; takes a card over whose log has ended.
    Start,
    /// Any event that adds outstanding items.
    Add,
    /// The result of a dispatch: discharges it.
    Settle(ItemId),
    /// Stop handing out work; changes the status on the card.
    Pause,
    /// Undo a pause.
    Resume,
    /// End the workflow; messages survive, timers and dispatches do not.
    Close,
    /// End the incarnation with a final commit.
    Delete,
    /// Open a closed workflow again; may need an earlier alarm than the closed state had.
    Reopen,
}

/// A command message, as its sender made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Command {
    /// What it asks for.
    pub verb: Verb,
    /// The outstanding items it adds.
    pub adds: Few,
    /// When those are due.
    pub due: Due,
    /// The incarnation it names; none means the card's.
    pub incarnation: Option<Incarnation>,
}

/// Where a workflow stands, in the log and on the card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// No commit yet (a card says so from its creation to its first status write).
    #[default]
    Starting,
    /// Open.
    Running,
    /// Open, paused.
    Paused,
    /// Closed: takes notes, never events.
    Closed,
    /// Ended by a delete: the last commit of this incarnation.
    Deleted,
    /// Ended by a sweep that found a card without a log: the only commit of this incarnation.
    Abandoned,
}

impl Status {
    /// No commit can follow.
    pub fn has_ended(self) -> bool {
        matches!(self, Status::Deleted | Status::Abandoned)
    }
    /// Something can still be outstanding.
    pub fn is_live(self) -> bool {
        matches!(self, Status::Running | Status::Paused | Status::Closed)
    }
}

/// Who decided a commit: new for each decision.
///
/// Writers are only compared on one and the same number, and a process decides twice for one number only after it gave up in between; `life` counts that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Writer {
    /// The process.
    pub process: ProcessId,
    /// How often it had given up before.
    pub life: u8,
}

/// One commit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit {
    /// Who decided it.
    pub writer: Writer,
    /// The command it answers; none for a sweep's note.
    pub command: Option<CommandId>,
    /// The status from here on, if it changes.
    pub status: Option<Status>,
    /// Items that are outstanding from here on, with [`Commit::due`].
    pub adds: Few,
    /// The due time of what is added.
    pub due: Tick,
    /// Items discharged here.
    pub discharged: Few,
    /// Items looked at and sent again; due next at [`Commit::look`].
    pub looked: Few,
    /// The next due time of what was looked at.
    pub look: Tick,
    /// The new `state.alarm`, if it changes.
    pub alarm: Option<Tick>,
}

impl Commit {
    /// A commit that changes nothing.
    pub fn empty(writer: Writer) -> Commit {
        Commit {
            writer,
            command: None,
            status: None,
            adds: Few::NONE,
            due: NEVER,
            discharged: Few::NONE,
            looked: Few::NONE,
            look: NEVER,
            alarm: None,
        }
    }
}

/// Only what the commit says: `Running for 0 by 1.0 +{2} due 7 alarm 7`.
impl fmt::Debug for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status, self.command) {
            (Some(status), _) => write!(f, "{status:?}")?,
            (None, Some(_)) => write!(f, "event")?,
            (None, None) => write!(f, "note")?,
        }
        if let Some(command) = self.command {
            write!(f, " for {command}")?;
        }
        write!(f, " by {}.{}", self.writer.process, self.writer.life)?;
        if !self.adds.is_empty() {
            write!(f, " +{:?} due {}", self.adds, self.due)?;
        }
        if !self.discharged.is_empty() {
            write!(f, " -{:?}", self.discharged)?;
        }
        if !self.looked.is_empty() {
            write!(f, " looked {:?} next {}", self.looked, self.look)?;
        }
        match self.alarm {
            Some(NEVER) => write!(f, " no alarm"),
            Some(alarm) => write!(f, " alarm {alarm}"),
            None => Ok(()),
        }
    }
}

/// The index card of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Card {
    /// Whose card it is now.
    pub incarnation: Incarnation,
    /// When somebody must look; [`NEVER`] if missing.
    pub alarm_at: Tick,
    /// Grows whenever a committer may need an earlier alarm.
    pub alarm_rev: u8,
    /// The status shown in lists.
    pub status: Status,
    /// The number of the commit that `status` is taken from; 0 while starting.
    pub as_of: Number,
}

/// One write to the store: target, condition and effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Write {
    /// Makes the card, or takes it over for the next incarnation: *starting*, `alarm_rev` one more than before.
    Create {
        /// Condition: the card is still this incarnation's; none: there is no card.
        over: Option<Incarnation>,
        /// When somebody must look.
        alarm: Tick,
    },
    /// `alarm_at` down to `to` and `alarm_rev` + 1.
    Lower {
        /// Condition: the card is this incarnation's.
        incarnation: Incarnation,
        /// Condition: `alarm_at` is later than this.
        to: Tick,
    },
    /// `alarm_rev` + 1 alone.
    Bump {
        /// Condition: the card is this incarnation's.
        incarnation: Incarnation,
        /// Condition: `alarm_at` is not later than this.
        to: Tick,
    },
    /// A commit.
    Put {
        /// Whose log.
        incarnation: Incarnation,
        /// Condition: this number does not exist.
        number: Number,
        /// What is put.
        commit: Commit,
    },
    /// The status on the card.
    Show {
        /// Condition: the card is this incarnation's.
        incarnation: Incarnation,
        /// The new status.
        status: Status,
        /// Condition: the card's `as_of` is lower than this.
        as_of: Number,
    },
    /// `alarm_at` to `to`, usually later.
    Raise {
        /// Condition: the card is this incarnation's.
        incarnation: Incarnation,
        /// Condition: `alarm_rev` still is this.
        rev: u8,
        /// The next due time, from a commit of the same process.
        to: Tick,
    },
}

/// What the store answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// The condition held; the write is in.
    Landed,
    /// A put found its own commit: the answer of an earlier try was lost.
    Mine,
    /// The condition did not hold.
    Refused,
}

/// What becomes of a write, seen from its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It is carried out and answered.
    Answered,
    /// It is carried out; the answer is lost. The sender writes the same again.
    AnswerLost,
    /// No answer either; it stays under way and may [`Action::Arrive`] at any later time, or never. The sender writes the same again.
    Late,
}

/// One step of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A process receives a command message that is not done, and makes its first read (the card, or the log of the incarnation it names).
    Take(ProcessId, CommandId),
    /// A sweep looks: reads the card.
    Look(ProcessId),
    /// A process reads the card again, after a refused [`Write::Create`] or for `alarm_rev`.
    ReadCard(ProcessId),
    /// A process reads the log and decides.
    Load(ProcessId),
    /// A process writes.
    Write(ProcessId, Write, Outcome),
    /// A process hands a dispatch or a message to its queue.
    Send(ProcessId, ItemId),
    /// A process deletes the command message (or ends its look).
    Done(ProcessId),
    /// A process stops for ever; what it has under way stays under way.
    Crash(ProcessId),
    /// A process runs out of time before its put is answered, and leaves the command to come again.
    GiveUp(ProcessId),
    /// A late write reaches the store; its condition is evaluated now.
    Arrive(Write),
    /// A command that was done comes again.
    Redeliver(CommandId),
    /// A worker (or the receiving workflow) takes an item up; if `again`, the queue keeps a copy.
    Work {
        /// What is taken up.
        item: ItemId,
        /// Whether a copy stays in the queue.
        again: bool,
    },
    /// The queue loses an item.
    Lose(ItemId),
    /// Time goes on by one tick.
    Advance,
}
