//! Receiving: what a queue hands out.
//!
//! What it is: one look into the queue. It promises the next visible messages
//! (standard: longest visible first; FIFO: as many of one group as possible,
//! then of the next) and returns apart those that were received too often.
//! It deliberately does not wait and does not move messages between queues:
//! `engine/receive.rs` does. It fails with [`ErrorKind::OverLimit`] alone.
//! Next: `queue/settle.rs`.

use super::{Backlog, Message, Phase, Queue};
use crate::error::{ErrorKind, SqsError};
use crate::id::{self, Receipt};
use crate::message::ReceivedMessage;
use std::sync::Arc;

/// How to look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Take {
    pub max_messages: usize,
    pub visibility_ms: u64,
    /// Messages received this often are given up; `None`: never.
    pub receives_max: Option<u32>,
    pub now_ms: u64,
}

/// What a look found.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub messages: Vec<ReceivedMessage>,
    pub given_up: Vec<Message>,
}

impl Queue {
    /// Refuses a short poll of a standard queue with too many messages in flight.
    pub(crate) fn check_in_flight(&self) -> Result<(), SqsError> {
        let full = self.in_flight.len() >= self.in_flight_max;
        if full && matches!(self.backlog, Backlog::Standard(_)) {
            return Err(ErrorKind::OverLimit
                .because("The maximum number of in flight messages is reached."));
        }
        Ok(())
    }

    /// Hands out what is visible.
    pub(crate) fn take(&mut self, take: Take) -> Taken {
        let mut taken = Taken::default();
        let room = self.in_flight_max.saturating_sub(self.in_flight.len());
        let max_messages = take.max_messages.min(room);
        let mut group = None;
        while taken.messages.len() < max_messages {
            let Some(place) = self.next_ready(&mut group, take.now_ms) else {
                break;
            };
            if self.is_given_up(place, take.receives_max) {
                taken.given_up.extend(self.remove(place, take.now_ms));
            } else {
                taken.messages.extend(self.hand_out(place, take));
            }
        }
        if let (Backlog::Fifo(fifo), Some(group)) = (&mut self.backlog, &group) {
            let view = fifo.view(take.now_ms);
            fifo.groups.served(group, view);
        }
        taken
    }

    /// Takes the next message out of the backlog; `group` is the one being served.
    fn next_ready(&mut self, group: &mut Option<Arc<str>>, now_ms: u64) -> Option<u64> {
        match &mut self.backlog {
            Backlog::Standard(waiting) => {
                let (visible_at_ms, place) = *waiting.first()?;
                if visible_at_ms > now_ms {
                    return None;
                }
                waiting.pop_first();
                Some(place)
            }
            Backlog::Fifo(fifo) => {
                let view = fifo.view(now_ms);
                if let Some(served) = group.take() {
                    if let Some(place) = fifo.groups.take_head(&served, view) {
                        *group = Some(served);
                        return Some(place);
                    }
                    fifo.groups.served(&served, view);
                }
                let next = fifo.groups.first_available()?.clone();
                let place = fifo.groups.take_head(&next, view);
                *group = Some(next);
                place
            }
        }
    }

    fn is_given_up(&self, place: u64, receives_max: Option<u32>) -> bool {
        let receives = self.messages.get(&place).map_or(0, |message| message.receives_here);
        receives_max.is_some_and(|receives_max| receives >= receives_max)
    }

    fn hand_out(&mut self, place: u64, take: Take) -> Option<ReceivedMessage> {
        let is_fifo = self.settings.fifo.is_some();
        let message = self.messages.get_mut(&place)?;
        let until_ms = take.now_ms + take.visibility_ms;
        message.phase = Phase::InFlight { until_ms, received_ms: take.now_ms };
        message.receives += 1;
        message.receives_here += 1;
        let first_received_ms = *message.first_received_ms.get_or_insert(take.now_ms);
        self.in_flight.insert((until_ms, place));
        if let (Backlog::Fifo(fifo), Some(group_id)) = (&mut self.backlog, &message.group_id) {
            fifo.groups.lock(group_id);
        }
        let receipt =
            Receipt { queue: self.instance, place, receive: u64::from(message.receives_here) };
        Some(ReceivedMessage {
            message_id: message.id.clone(),
            receipt_handle: receipt.handle(),
            body: message.body.clone(),
            md5_of_body: message.md5_of_body.clone(),
            attributes: message.attributes.clone(),
            sent_ms: message.sent_ms,
            first_received_ms,
            receive_count: message.receives,
            group_id: message.group_id.clone(),
            deduplication_id: message.deduplication_id.clone(),
            sequence_number: is_fifo.then(|| id::sequence_number(place)),
            trace_header: message.trace_header.clone(),
            dead_letter_source: message.dead_letter_source.clone(),
        })
    }
}
