//! The fold: what a log says.
//!
//! What it is: the state of one incarnation, computed from its commits alone.
//! It promises to be a pure function of the log; no clock, no card.
//! It deliberately keeps only what the protocol asks: status, what is outstanding, the alarm, which commands are in.
//! It cannot fail.
//! Where next: [`crate::decide`] builds on a folded state.

use crate::vocabulary::{Commit, Few, ITEMS_MAX, ItemKind, NEVER, Number, Status, Tick};

/// The state of one incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folded {
    /// Where the workflow stands; [`Status::Starting`] if there is no commit.
    pub status: Status,
    /// The number of the commit that set the status.
    pub status_as_of: Number,
    /// When each item is due; [`NEVER`] if it is not outstanding.
    pub dues: [Tick; ITEMS_MAX],
    /// `state.alarm`.
    pub alarm: Tick,
    /// The commands that are in the log.
    pub commands: Few,
}

/// Folds `log`; `items` tells what survives a close.
pub fn fold(items: &[ItemKind], log: &[Commit]) -> Folded {
    let mut state = Folded {
        status: Status::Starting,
        status_as_of: 0,
        dues: [NEVER; ITEMS_MAX],
        alarm: NEVER,
        commands: Few::NONE,
    };
    for (number, commit) in (1..).zip(log) {
        state.apply(items, number, commit);
    }
    state
}

impl Folded {
    fn apply(&mut self, items: &[ItemKind], number: Number, commit: &Commit) {
        if let Some(command) = commit.command {
            self.commands = self.commands.with(command);
        }
        for (id, due) in self.dues.iter_mut().enumerate() {
            let id = id as u8;
            if commit.discharged.has(id) {
                *due = NEVER;
            }
            if commit.looked.has(id) {
                *due = commit.look;
            }
            if let Some(status) = commit.status {
                let survives = items.get(usize::from(id)) == Some(&ItemKind::Message);
                if status.has_ended() || (status == Status::Closed && !survives) {
                    *due = NEVER;
                }
            }
            if commit.adds.has(id) {
                *due = commit.due;
            }
        }
        if let Some(status) = commit.status {
            self.status = status;
            self.status_as_of = number;
        }
        if let Some(alarm) = commit.alarm {
            self.alarm = alarm;
        }
    }

    /// The earliest due time of anything outstanding.
    pub fn earliest(&self) -> Tick {
        self.dues.iter().copied().min().unwrap_or(NEVER)
    }

    /// What is outstanding.
    pub fn outstanding(&self) -> Few {
        let ids = 0..ITEMS_MAX as u8;
        ids.filter(|&id| self.dues[usize::from(id)] != NEVER).fold(Few::NONE, Few::with)
    }
}
