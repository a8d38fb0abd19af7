//! The rules of SQS as linear scans over a list.

use std::collections::HashMap;

pub const RETENTION_MS: u64 = 60_000;

#[derive(Debug, Clone)]
pub struct Known {
    pub id: String,
    pub number: u64,
    pub group: String,
    pub sent_ms: u64,
    pub visible_at_ms: u64,
    pub in_flight: bool,
    pub receives: u32,
    pub handle: String,
}

/// The kind of queue a walk goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Standard,
    Fifo,
    /// FIFO, groups looked for among so few messages that it shows, nothing given up.
    SmallWindow,
}

pub const SMALL_WINDOW: usize = 6;

/// What SQS would hold.
pub struct Model {
    pub kind: Kind,
    pub fifo: bool,
    pub messages: Vec<Known>,
    pub seen: HashMap<String, (u64, String)>,
    pub numbers: u64,
}

impl Model {
    pub fn let_time_pass(&mut self, now_ms: u64) {
        self.messages.retain(|message| message.sent_ms + RETENTION_MS > now_ms);
        for message in &mut self.messages {
            if message.in_flight && message.visible_at_ms <= now_ms {
                message.in_flight = false;
            }
        }
    }

    pub fn is_locked(&self, group: &str) -> bool {
        self.fifo && self.messages.iter().any(|m| m.in_flight && m.group == group)
    }

    /// What a receive could get, in the order of the queue or of each group.
    pub fn ready(&self, now_ms: u64) -> Vec<Known> {
        let window = if self.kind == Kind::SmallWindow { SMALL_WINDOW } else { usize::MAX };
        let mut ready: Vec<Known> = self
            .messages
            .iter()
            .take(window)
            .filter(|m| !m.in_flight && m.visible_at_ms <= now_ms && !self.is_locked(&m.group))
            .cloned()
            .collect();
        let fifo = self.fifo;
        ready.sort_by_key(|m| if fifo { (0, m.number) } else { (m.visible_at_ms, m.number) });
        ready
    }

    pub fn find(&mut self, id: &str) -> Option<&mut Known> {
        self.messages.iter_mut().find(|message| message.id == id)
    }

    pub fn is_current(&self, handle: &str) -> Option<&Known> {
        self.messages.iter().find(|message| message.handle == handle)
    }
}
