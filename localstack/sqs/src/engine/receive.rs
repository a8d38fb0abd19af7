//! Receiving, with long polls and dead-letter moves.
//!
//! What it is: `ReceiveMessage`. It promises up to ten messages as soon as
//! there is one, or none when the wait is over; a message that was received as
//! often as the redrive policy allows goes to the dead-letter queue within the
//! receive that would exceed it. A poll that is dropped has received nothing,
//! or its messages time out like any others. It deliberately spawns nothing: a
//! poll sleeps until a change or the next time at which something comes due.
//! It fails at once or, if the queue is deleted meanwhile, with
//! [`ErrorKind::QueueDoesNotExist`](crate::ErrorKind::QueueDoesNotExist). Next: `queue/take.rs`.

use super::{Engine, State, name_in, no_such_queue};
use crate::error::{SqsError, invalid_value};
use crate::limits;
use crate::message::{Receive, ReceivedMessage};
use crate::queue::Take;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::Notify;

/// One look into a queue.
struct Look {
    messages: Vec<ReceivedMessage>,
    /// When the wait is over.
    deadline_ms: u64,
    /// When to look again at the latest.
    again_ms: u64,
    now_ms: u64,
    sleepers: Arc<Notify>,
}

impl Look {
    fn goes_on(&self) -> bool {
        self.messages.is_empty() && self.now_ms < self.deadline_ms
    }
}

impl Engine {
    /// Receives up to `receive.max_messages` messages, waiting for the first.
    ///
    /// # Errors
    /// [`OverLimit`](crate::ErrorKind::OverLimit): too many in flight on a standard queue, in a
    /// short poll (a long poll waits): delete some.
    /// [`QueueDoesNotExist`](crate::ErrorKind::QueueDoesNotExist),
    /// [`InvalidParameterValue`](crate::ErrorKind::InvalidParameterValue).
    pub async fn receive(
        &self,
        queue_url: &str,
        receive: Receive,
    ) -> Result<Vec<ReceivedMessage>, SqsError> {
        check(receive)?;
        let name = name_in(queue_url)?;
        let mut look = self.look(name, receive, None)?;
        while look.goes_on() {
            let sleepers = look.sleepers.clone();
            let mut woken = pin!(sleepers.notified());
            woken.as_mut().enable();
            // What came between the last look and `enable` is found by this one.
            look = self.look(name, receive, Some(look.deadline_ms))?;
            if look.goes_on() {
                tokio::select! {
                    () = woken => {}
                    () = self.shared.clock.sleep_until_ms(look.again_ms) => {}
                }
            }
        }
        Ok(look.messages)
    }

    fn look(
        &self,
        name: &str,
        receive: Receive,
        deadline_ms: Option<u64>,
    ) -> Result<Look, SqsError> {
        let mut state = self.state();
        let now_ms = self.now_ms();
        let State { queues, counters, .. } = &mut *state;
        let policy = queues.get(name).ok_or_else(no_such_queue)?.settings.redrive.clone();
        // Without its dead-letter queue a message is delivered for ever, as by AWS.
        let policy = policy.filter(|policy| queues.contains_key(&policy.target));
        let queue = queues.get_mut(name).ok_or_else(no_such_queue)?;
        let wait_ms = u64::from(receive.wait_s.unwrap_or(queue.settings.wait_s)) * 1_000;
        let visibility_s = receive.visibility_s.unwrap_or(queue.settings.visibility_s);
        let take = Take {
            max_messages: usize::try_from(receive.max_messages).unwrap_or(usize::MAX),
            visibility_ms: u64::from(visibility_s) * 1_000,
            receives_max: policy.as_ref().map(|policy| policy.receives_max),
            now_ms,
        };
        let taken = queue.attend(now_ms, |queue| {
            if wait_ms == 0 {
                queue.check_in_flight()?;
            }
            Ok(queue.take(take))
        })?;
        let deadline_ms = deadline_ms.unwrap_or(now_ms + wait_ms);
        let again_ms = queue.next_event_ms(now_ms).unwrap_or(u64::MAX).min(deadline_ms);
        let sleepers = queue.sleepers.clone();
        let source = queue.arn.clone();
        if let Some(target) = policy.and_then(|policy| queues.get_mut(&policy.target)) {
            target.attend(now_ms, |target| {
                for message in taken.given_up {
                    target.adopt(message, source.clone(), counters, now_ms);
                }
            });
        }
        Ok(Look { messages: taken.messages, deadline_ms, again_ms, now_ms, sleepers })
    }
}

fn check(receive: Receive) -> Result<(), SqsError> {
    if !(1..=10).contains(&receive.max_messages) {
        return Err(invalid_value(
            receive.max_messages,
            "MaxNumberOfMessages",
            "Must be between 1 and 10, if provided.",
        ));
    }
    if let Some(wait_s) = receive.wait_s.filter(|wait_s| *wait_s > limits::WAIT_S_MAX) {
        return Err(invalid_value(
            wait_s,
            "WaitTimeSeconds",
            "Must be >= 0 and <= 20, if provided.",
        ));
    }
    match receive.visibility_s.filter(|visibility_s| *visibility_s > limits::VISIBILITY_S_MAX) {
        Some(visibility_s) => Err(invalid_value(
            visibility_s,
            "VisibilityTimeout",
            "Must be >= 0 and <= 43200, if provided.",
        )),
        None => Ok(()),
    }
}
