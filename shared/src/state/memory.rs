//! The commands that content can't identify: signals, grants, extensions.
//!
//! The last 512 are kept as hashes. What is older is looked for in the log,
//! but only if the command may be older than what was forgotten.

use std::collections::VecDeque;

use minicbor::{Decode, Encode};

use crate::id::CommandHash;
use crate::limits;
use crate::time::Timestamp;

/// The ids of recent commands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Memory {
    #[n(0)]
    recent: VecDeque<Remembered>,
    #[n(1)]
    forgotten: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
struct Remembered {
    #[n(0)]
    command: CommandHash,
    #[n(1)]
    commit: u64,
    #[n(2)]
    time: Timestamp,
}

impl Memory {
    /// The commit that answered `command`, if it is remembered.
    #[must_use]
    pub fn find(&self, command: CommandHash) -> Option<u64> {
        self.recent.iter().rev().find(|r| r.command == command).map(|r| r.commit)
    }

    /// Whether a command that was sent at `sent` (unknown counts as old) may
    /// have been forgotten. Allows two minutes for clocks that disagree.
    #[must_use]
    pub fn may_have_forgotten(&self, sent: Option<Timestamp>) -> bool {
        match (self.forgotten, sent) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(forgotten), Some(sent)) => sent.minus_ms(120_000) <= forgotten,
        }
    }

    /// Remembers a command.
    pub(super) fn add(&mut self, command: CommandHash, commit: u64, time: Timestamp) {
        if self.recent.len() == limits::COMMANDS_REMEMBERED
            && let Some(oldest) = self.recent.pop_front()
        {
            self.forgotten = Some(oldest.time);
        }
        self.recent.push_back(Remembered { command, commit, time });
    }
}
