//! One queue: its messages, and who may have them when.
//!
//! What it is: the state of a queue and its elementary changes. It promises
//! that each message is in exactly one place, waiting or in flight, and that
//! sleepers are told whenever there is something for them or something comes
//! due earlier than they know. It deliberately knows neither the engine's other
//! queues nor JSON. Changes can't fail here; refusals are decided in
//! `queue/accept.rs` (send), `queue/take.rs` (receive) and `queue/settle.rs`
//! (delete, visibility), which is where to go next.
//!
//! ```text
//!   accept ──► Waiting ──take──► InFlight ──delete──► gone
//!                 ▲                 │
//!                 └── time-out, ────┘   from Waiting: retention, purge,
//!                     visibility 0      dead-letter move ──► gone
//! ```

mod accept;
mod seen;
mod settle;
mod take;

pub(crate) use take::Take;

use crate::attributes::Settings;
use crate::fifo::{Groups, View, Window};
use crate::limits;
use crate::message::MessageAttributes;
use seen::Seen;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::Notify;

/// Where a message is.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Waiting { visible_at_ms: u64 },
    InFlight { until_ms: u64, received_ms: u64 },
}

/// A message in a queue.
#[derive(Debug)]
pub(crate) struct Message {
    id: String,
    body: Arc<str>,
    md5_of_body: Arc<str>,
    attributes: Arc<MessageAttributes>,
    trace_header: Option<Arc<str>>,
    group_id: Option<Arc<str>>,
    deduplication_id: Option<Arc<str>>,
    sent_ms: u64,
    /// Retention counts from here.
    retained_from_ms: u64,
    first_received_ms: Option<u64>,
    receives: u32,
    /// Receives from this queue: handles and redrive count these.
    receives_here: u32,
    dead_letter_source: Option<Arc<str>>,
    phase: Phase,
}

#[derive(Debug)]
enum Backlog {
    /// (visible at, place) of every waiting message.
    Standard(BTreeSet<(u64, u64)>),
    Fifo(Box<Fifo>),
}

#[derive(Debug)]
struct Fifo {
    groups: Groups,
    window: Window,
    seen: Seen,
}

impl Fifo {
    fn view(&self, now_ms: u64) -> View {
        View { now_ms, window_end: self.window.end() }
    }
}

/// How many messages are where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub visible: usize,
    pub delayed: usize,
    pub in_flight: usize,
}

/// The numbers that are counted over all queues of an engine.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub place: u64,
    pub message_id: u64,
    pub queue: u64,
}

/// What a new queue is made of.
#[derive(Debug)]
pub(crate) struct Founding {
    pub instance: u64,
    pub arn: String,
    pub settings: Settings,
    pub in_flight_max: usize,
    pub fifo_window: usize,
    pub epoch_ms: u64,
    pub now_ms: u64,
}

/// A queue.
#[derive(Debug)]
pub(crate) struct Queue {
    /// Which creation of a queue this is; handles carry it.
    instance: u64,
    pub arn: Arc<str>,
    pub settings: Settings,
    pub created_ms: u64,
    pub modified_ms: u64,
    pub purged_ms: Option<u64>,
    pub sleepers: Arc<Notify>,
    in_flight_max: usize,
    epoch_ms: u64,
    messages: BTreeMap<u64, Message>,
    /// (retained from, place) of every message.
    by_age: BTreeSet<(u64, u64)>,
    /// (visible again at, place) of every message in flight.
    in_flight: BTreeSet<(u64, u64)>,
    backlog: Backlog,
}

impl Queue {
    pub(crate) fn found(founding: Founding) -> Self {
        let backlog = if founding.settings.fifo.is_some() {
            Backlog::Fifo(Box::new(Fifo {
                groups: Groups::default(),
                window: Window::of(founding.fifo_window),
                seen: Seen::default(),
            }))
        } else {
            Backlog::Standard(BTreeSet::new())
        };
        Self {
            instance: founding.instance,
            arn: founding.arn.into(),
            settings: founding.settings,
            created_ms: founding.now_ms,
            modified_ms: founding.now_ms,
            purged_ms: None,
            sleepers: Arc::new(Notify::new()),
            in_flight_max: founding.in_flight_max,
            epoch_ms: founding.epoch_ms,
            messages: BTreeMap::new(),
            by_age: BTreeSet::new(),
            in_flight: BTreeSet::new(),
            backlog,
        }
    }

    /// Lets time pass, acts, and wakes whom it concerns. Every access goes through here.
    pub(crate) fn attend<R>(&mut self, now_ms: u64, act: impl FnOnce(&mut Self) -> R) -> R {
        let known_ms = self.next_event_ms(now_ms);
        self.let_time_pass(now_ms);
        let result = act(self);
        if self.has_ready(now_ms) {
            // One is enough: whoever leaves something behind wakes the next.
            self.sleepers.notify_one();
        } else if let Some(next_ms) = self.next_event_ms(now_ms) {
            let sooner = known_ms.is_none_or(|known_ms| next_ms < known_ms);
            let concerns_sleepers = next_ms <= now_ms + u64::from(limits::WAIT_S_MAX) * 1_000;
            if sooner && concerns_sleepers {
                self.sleepers.notify_waiters();
            }
        }
        result
    }

    /// When a call that finds nothing at `now_ms` should look again.
    pub(crate) fn next_event_ms(&self, now_ms: u64) -> Option<u64> {
        let released = self.in_flight.first().map(|(until_ms, _)| *until_ms);
        let due = match &self.backlog {
            Backlog::Standard(waiting) => waiting.first().map(|(visible_at_ms, _)| *visible_at_ms),
            Backlog::Fifo(fifo) => fifo.groups.next_due_ms(),
        };
        let expires = self.by_age.first().map(|(from_ms, _)| from_ms + self.retention_ms());
        [released, due, expires].into_iter().flatten().filter(|at_ms| *at_ms > now_ms).min()
    }

    /// How many messages are where. Costs O(delayed messages).
    pub(crate) fn counts(&self, now_ms: u64) -> Counts {
        let in_flight = self.in_flight.len();
        let delayed = match &self.backlog {
            Backlog::Standard(waiting) => waiting.range((now_ms + 1, 0)..).count(),
            Backlog::Fifo(_) => self
                .messages
                .values()
                .rev()
                .take_while(|message| self.fifo_due_ms(message) > now_ms)
                .count(),
        };
        Counts { visible: self.messages.len() - in_flight - delayed, delayed, in_flight }
    }

    /// Deletes every message. Deduplication remembers.
    pub(crate) fn clear(&mut self) {
        self.messages.clear();
        self.by_age.clear();
        self.in_flight.clear();
        match &mut self.backlog {
            Backlog::Standard(waiting) => waiting.clear(),
            Backlog::Fifo(fifo) => {
                fifo.groups = Groups::default();
                fifo.window.emptied();
            }
        }
    }

    /// Puts new settings in force; a FIFO queue's delay counts for what already waits.
    pub(crate) fn set(&mut self, settings: Settings, now_ms: u64) {
        let redelay = self.settings.delay_s != settings.delay_s;
        self.settings = settings;
        self.modified_ms = now_ms;
        if redelay && matches!(self.backlog, Backlog::Fifo(_)) {
            let due: BTreeMap<u64, u64> = self
                .messages
                .iter()
                .map(|(place, message)| (*place, self.fifo_due_ms(message)))
                .collect();
            if let Backlog::Fifo(fifo) = &mut self.backlog {
                let view = fifo.view(now_ms);
                fifo.groups.reschedule(|place| due.get(&place).copied().unwrap_or(0), view);
            }
        }
    }

    fn has_ready(&self, now_ms: u64) -> bool {
        // Received with a visibility of 0: already out of flight, but nobody has looked yet.
        if self.in_flight.first().is_some_and(|(until_ms, _)| *until_ms <= now_ms) {
            return true;
        }
        self.in_flight.len() < self.in_flight_max
            && match &self.backlog {
                Backlog::Standard(waiting) => {
                    waiting.first().is_some_and(|(visible_at_ms, _)| *visible_at_ms <= now_ms)
                }
                Backlog::Fifo(fifo) => fifo.groups.first_available().is_some(),
            }
    }

    fn retention_ms(&self) -> u64 {
        u64::from(self.settings.retention_s) * 1_000
    }

    /// The queue's delay holds for a message that was sent here and never received.
    fn fifo_due_ms(&self, message: &Message) -> u64 {
        if message.receives > 0 {
            return 0;
        }
        message.sent_ms + u64::from(self.settings.delay_s) * 1_000
    }

    /// Adds a message at the end; it waits until `visible_at_ms`.
    fn insert(&mut self, place: u64, mut message: Message, visible_at_ms: u64, now_ms: u64) {
        message.phase = Phase::Waiting { visible_at_ms };
        let group_id = message.group_id.clone();
        self.by_age.insert((message.retained_from_ms, place));
        self.messages.insert(place, message);
        match &mut self.backlog {
            Backlog::Standard(waiting) => {
                waiting.insert((visible_at_ms, place));
            }
            Backlog::Fifo(fifo) => {
                fifo.window.added(&self.messages);
                let view = fifo.view(now_ms);
                fifo.groups.push(&group_id.unwrap_or_default(), place, visible_at_ms, view);
            }
        }
    }

    /// Returns a message from flight to those that wait.
    fn put_back(&mut self, place: u64, visible_at_ms: u64, now_ms: u64) {
        let Some(message) = self.messages.get_mut(&place) else {
            return;
        };
        if let Phase::InFlight { until_ms, .. } = message.phase {
            self.in_flight.remove(&(until_ms, place));
        }
        message.phase = Phase::Waiting { visible_at_ms };
        match &mut self.backlog {
            Backlog::Standard(waiting) => {
                waiting.insert((visible_at_ms, place));
            }
            Backlog::Fifo(fifo) => {
                let group = message.group_id.clone().unwrap_or_default();
                let view = fifo.view(now_ms);
                fifo.groups.push(&group, place, visible_at_ms, view);
                fifo.groups.unlock(&group, view);
            }
        }
    }

    /// Takes a message out of everything, wherever it is.
    fn remove(&mut self, place: u64, now_ms: u64) -> Option<Message> {
        let message = self.messages.remove(&place)?;
        self.by_age.remove(&(message.retained_from_ms, place));
        if let Phase::InFlight { until_ms, .. } = message.phase {
            self.in_flight.remove(&(until_ms, place));
        }
        match (&mut self.backlog, message.phase) {
            (Backlog::Standard(waiting), Phase::Waiting { visible_at_ms }) => {
                waiting.remove(&(visible_at_ms, place));
            }
            (Backlog::Standard(_), Phase::InFlight { .. }) => {}
            (Backlog::Fifo(fifo), phase) => {
                fifo.window.removed(place, &self.messages);
                let view = fifo.view(now_ms);
                let group = message.group_id.clone().unwrap_or_default();
                match phase {
                    Phase::Waiting { .. } => fifo.groups.remove_waiting(&group, place, view),
                    Phase::InFlight { .. } => fifo.groups.unlock(&group, view),
                }
                fifo.groups.settle(view);
            }
        }
        Some(message)
    }
}
