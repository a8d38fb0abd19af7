//! The groups of a FIFO queue.
//!
//! What it is: which group may be served next, and which message of it.
//! It promises order within a group, that a group is locked while any of its
//! messages is in flight, turns between groups (a group that was served goes
//! to the back), and AWS's window: only groups whose head is among the first
//! 120,000 messages of the queue are found. Everything is O(log n).
//! Deliberately blind to bodies, receipts and receive counts. It can't fail:
//! who calls it keeps places and groups consistent. Next: `queue/take.rs`.
//!
//! ```text
//!            push, put_back, remove              head due and in the window
//!   Idle ◄──────────────────────────► Available ◄──────┬────► Delayed
//!    ▲   served: a message in flight      │            └────► Beyond
//!    └────────────────────────────────────┘
//! ```

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

/// What decides whether a head may be served.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub now_ms: u64,
    /// The last place in the window; `None`: all places are in it.
    pub window_end: Option<u64>,
}

/// Where a group stands; each but `Idle` is a key of one of the maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Idle,
    Available { turn: u64 },
    Delayed { due_ms: u64, place: u64 },
    Beyond { place: u64 },
}

#[derive(Debug)]
struct Group {
    /// Places of the messages that are not in flight, and when they are due.
    waiting: BTreeMap<u64, u64>,
    in_flight: usize,
    standing: Standing,
}

/// All groups of a queue that have messages.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    groups: HashMap<Arc<str>, Group>,
    available: BTreeMap<u64, Arc<str>>,
    delayed: BTreeMap<(u64, u64), Arc<str>>,
    beyond: BTreeMap<u64, Arc<str>>,
    next_turn: u64,
}

impl Groups {
    /// Adds a message that waits, new or back from a receiver.
    pub(crate) fn push(&mut self, group: &Arc<str>, place: u64, due_ms: u64, view: View) {
        self.groups
            .entry(group.clone())
            .or_insert_with(|| Group {
                waiting: BTreeMap::new(),
                in_flight: 0,
                standing: Standing::Idle,
            })
            .waiting
            .insert(place, due_ms);
        self.stand(group, view);
    }

    /// Takes a message out that waits.
    pub(crate) fn remove_waiting(&mut self, group: &Arc<str>, place: u64, view: View) {
        if let Some(found) = self.groups.get_mut(group) {
            found.waiting.remove(&place);
        }
        self.stand(group, view);
    }

    /// Counts a message as handed out; the group is locked.
    pub(crate) fn lock(&mut self, group: &Arc<str>) {
        if let Some(found) = self.groups.get_mut(group) {
            found.in_flight += 1;
        }
    }

    /// Counts a message as no longer in flight; the last one frees the group.
    pub(crate) fn unlock(&mut self, group: &Arc<str>, view: View) {
        if let Some(found) = self.groups.get_mut(group) {
            found.in_flight = found.in_flight.saturating_sub(1);
        }
        self.stand(group, view);
    }

    /// Makes groups available whose head has come due or into the window.
    pub(crate) fn settle(&mut self, view: View) {
        while let Some((&(due_ms, _), group)) = self.delayed.first_key_value() {
            if due_ms > view.now_ms {
                break;
            }
            let group = group.clone();
            self.stand(&group, view);
        }
        while let Some((&place, group)) = self.beyond.first_key_value() {
            if view.window_end.is_some_and(|end| place > end) {
                break;
            }
            let group = group.clone();
            self.stand(&group, view);
        }
    }

    /// The group whose turn it is.
    pub(crate) fn first_available(&self) -> Option<&Arc<str>> {
        self.available.values().next()
    }

    /// When the next delayed head comes due.
    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        self.delayed.keys().next().map(|(due_ms, _)| *due_ms)
    }

    /// Takes the next message of a group being served, locked or not.
    pub(crate) fn take_head(&mut self, group: &Arc<str>, view: View) -> Option<u64> {
        let found = self.groups.get_mut(group)?;
        let (&place, &due_ms) = found.waiting.first_key_value()?;
        if due_ms > view.now_ms || view.window_end.is_some_and(|end| place > end) {
            return None;
        }
        found.waiting.pop_first();
        Some(place)
    }

    /// Ends the serving of a group.
    pub(crate) fn served(&mut self, group: &Arc<str>, view: View) {
        self.stand(group, view);
    }

    /// Gives every waiting message a new due time.
    pub(crate) fn reschedule(&mut self, due_ms: impl Fn(u64) -> u64, view: View) {
        let names: Vec<Arc<str>> = self.groups.keys().cloned().collect();
        for name in names {
            if let Some(group) = self.groups.get_mut(&name) {
                for (place, due) in &mut group.waiting {
                    *due = due_ms(*place);
                }
            }
            self.stand(&name, view);
        }
    }

    /// Puts a group where it belongs now, and forgets it if it is empty.
    fn stand(&mut self, name: &Arc<str>, view: View) {
        let Some(group) = self.groups.get_mut(name) else {
            return;
        };
        let new = match group.waiting.first_key_value() {
            _ if group.in_flight > 0 => Standing::Idle,
            None => Standing::Idle,
            Some((&place, &due_ms)) if due_ms > view.now_ms => Standing::Delayed { due_ms, place },
            Some((&place, _)) if view.window_end.is_some_and(|end| place > end) => {
                Standing::Beyond { place }
            }
            Some(_) => match group.standing {
                Standing::Available { turn } => Standing::Available { turn },
                _ => {
                    self.next_turn += 1;
                    Standing::Available { turn: self.next_turn }
                }
            },
        };
        let old = std::mem::replace(&mut group.standing, new);
        if group.waiting.is_empty() && group.in_flight == 0 {
            self.groups.remove(name);
        }
        if old == new {
            return;
        }
        match old {
            Standing::Idle => {}
            Standing::Available { turn } => drop(self.available.remove(&turn)),
            Standing::Delayed { due_ms, place } => drop(self.delayed.remove(&(due_ms, place))),
            Standing::Beyond { place } => drop(self.beyond.remove(&place)),
        }
        match new {
            Standing::Idle => {}
            Standing::Available { turn } => drop(self.available.insert(turn, name.clone())),
            Standing::Delayed { due_ms, place } => {
                drop(self.delayed.insert((due_ms, place), name.clone()));
            }
            Standing::Beyond { place } => drop(self.beyond.insert(place, name.clone())),
        }
    }
}

/// The front part of a FIFO queue in which SQS looks for groups.
#[derive(Debug)]
pub(crate) struct Window {
    messages_max: usize,
    end: Option<u64>,
}

impl Window {
    pub(crate) fn of(messages_max: usize) -> Self {
        Self { messages_max: messages_max.max(1), end: None }
    }

    /// The last place inside; `None`: all are.
    pub(crate) fn end(&self) -> Option<u64> {
        self.end
    }

    /// Notes that a message was added at the end.
    pub(crate) fn added<M>(&mut self, messages: &BTreeMap<u64, M>) {
        if self.end.is_none() && messages.len() > self.messages_max {
            self.end = messages.keys().rev().nth(1).copied();
        }
    }

    /// Notes that all messages were removed.
    pub(crate) fn emptied(&mut self) {
        self.end = None;
    }

    /// Notes that the message at `place` was removed.
    pub(crate) fn removed<M>(&mut self, place: u64, messages: &BTreeMap<u64, M>) {
        if let Some(end) = self.end.filter(|end| place <= *end) {
            // The next place moves in; if there is none, all are inside.
            let after = (Bound::Excluded(end), Bound::Unbounded);
            self.end = messages.range(after).next().map(|(place, _)| *place);
        }
    }
}
