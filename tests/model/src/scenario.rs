//! What a small world consists of: items, commands, processes and how much may go wrong.
//!
//! What it is: the size of one exhaustive check.
//! It promises that everything not bounded here is unbounded (loss, duplication and redelivery of messages are).
//! It deliberately knows nothing of rules: any scenario can run under any [`crate::Rules`].
//! It cannot fail; an id without an entry panics when it is used.
//! Where next: [`crate::scenarios`] for the ones the tests run.

use crate::vocabulary::{Command, Few, ItemKind, Tick};

/// What one process may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// The commands it may receive.
    pub takes: Few,
    /// How often it may begin a look while states are explored; a process with 0 is no sweep.
    pub looks: u8,
    /// How often it may run out of time at a put and begin anew.
    pub give_ups: u8,
    /// Whether it may stop for ever.
    pub mortal: bool,
}

/// A workflow that is running when the exploration begins: one commit with timers outstanding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The timers and their due times.
    pub dues: Vec<Tick>,
}

/// What follows when the last process that could answer a command is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphaned {
    /// The message comes again, to a new process.
    Redelivered,
    /// It was a direct invocation; the wake that it sent before it committed makes a sweep look once.
    Woken,
    /// Nothing: only the alarm is left. (Not Everlog: shows what the alarm alone achieves.)
    Forgotten,
}

/// One small world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its name, for reports.
    pub name: &'static str,
    /// The items that commands may add. Those of [`Begun`] come first.
    pub items: Vec<ItemKind>,
    /// The commands.
    pub commands: Vec<Command>,
    /// The commands that have been sent when the exploration begins.
    pub sent: Few,
    /// The commands that may come again after they are done.
    pub again: Few,
    /// What follows a command whose processes are all dead.
    pub orphaned: Orphaned,
    /// The processes.
    pub processes: Vec<Role>,
    /// How many writes may go unanswered.
    pub unanswered: u8,
    /// Whether queues may lose items.
    pub lossy: bool,
    /// Whether sweeps build on a state they already hold and read `alarm_rev` afterwards, but before the put.
    pub warm_sweeps: bool,
    /// The time when the exploration begins.
    pub now: Tick,
    /// The time up to which it goes on by itself.
    pub now_max: Tick,
    /// How long a card waits for commit 1.
    pub start_wait: Tick,
    /// The look interval of dispatches and messages.
    pub look_interval: Tick,
    /// The workflow that is there already, if any.
    pub begun: Option<Begun>,
}
