//! Sending: what a queue accepts.
//!
//! What it is: the checks of a send that depend on the queue, deduplication,
//! and the entry of a message, sent or given up by another queue. It promises
//! that a refused send changes nothing and that a duplicate answers the first
//! message's id. It deliberately does not digest or read characters
//! (`admission.rs` did). It fails with the errors of `SendMessage`.
//! Next: `queue/take.rs`.

use super::seen::{Original, SeenKey};
use super::{Backlog, Counters, Message, Phase, Queue};
use crate::admission::Admitted;
use crate::digest;
use crate::error::{ErrorKind, SqsError, invalid_value};
use crate::id;
use crate::message::{OutgoingMessage, Sent};
use std::sync::Arc;

const NOT_FOR_THIS_TYPE: &str =
    "The request include parameter that is not valid for this queue type.";

impl Queue {
    /// Checks the entries of a batch for what refuses the batch as a whole.
    pub(crate) fn check_batch<'a>(
        &self,
        messages: impl IntoIterator<Item = &'a OutgoingMessage>,
    ) -> Result<(), SqsError> {
        let Some(fifo) = &self.settings.fifo else {
            return Ok(());
        };
        for message in messages {
            if message.group_id.is_none() {
                return Err(ErrorKind::InvalidParameterValue
                    .because("The request must contain the parameter MessageGroupId."));
            }
            if message.deduplication_id.is_none() && !fifo.by_content {
                return Err(deduplication_id_wanted());
            }
        }
        Ok(())
    }

    /// Takes a message in, or finds that it is a duplicate.
    pub(crate) fn accept(
        &mut self,
        admitted: Admitted,
        counters: &mut Counters,
        now_ms: u64,
    ) -> Result<Sent, SqsError> {
        let bytes_max = self.settings.message_bytes_max;
        if admitted.size_bytes > bytes_max {
            return Err(ErrorKind::InvalidParameterValue.because(format!(
                "One or more parameters are invalid. Reason: Message must be shorter than {bytes_max} bytes."
            )));
        }
        let key = self.deduplication_key(&admitted)?;
        let md5_of_body = admitted.md5_of_body.to_string();
        let md5_of_attributes = admitted.md5_of_attributes.clone();
        let md5_of_system_attributes = admitted.md5_of_system_attributes.clone();
        let original = match (self.original(key.as_ref(), now_ms), key) {
            (Some(original), _) => original,
            (None, key) => self.enter(admitted, key, counters, now_ms),
        };
        Ok(Sent {
            message_id: original.message_id,
            md5_of_body,
            md5_of_attributes,
            md5_of_system_attributes,
            sequence_number: self
                .settings
                .fifo
                .is_some()
                .then(|| id::sequence_number(original.place)),
        })
    }

    /// Takes in a message that the queue `source` gave up.
    ///
    /// Id, sent time, group and receive count stay. Retention goes on counting
    /// on a standard queue and begins again on a FIFO queue, as AWS documents.
    pub(crate) fn adopt(
        &mut self,
        mut message: Message,
        source: Arc<str>,
        counters: &mut Counters,
        now_ms: u64,
    ) {
        message.receives_here = 0;
        message.dead_letter_source = Some(source);
        if self.settings.fifo.is_some() {
            message.retained_from_ms = now_ms;
        }
        counters.place += 1;
        self.insert(counters.place, message, now_ms, now_ms);
    }

    fn original(&mut self, key: Option<&SeenKey>, now_ms: u64) -> Option<Original> {
        match (&mut self.backlog, key) {
            (Backlog::Fifo(fifo), Some(key)) => fifo.seen.find(key, now_ms).cloned(),
            _ => None,
        }
    }

    fn enter(
        &mut self,
        admitted: Admitted,
        key: Option<SeenKey>,
        counters: &mut Counters,
        now_ms: u64,
    ) -> Original {
        counters.place += 1;
        counters.message_id += 1;
        let message_id = id::message_id(self.epoch_ms, counters.message_id);
        let original = Original { message_id: message_id.clone(), place: counters.place };
        let delay_s = match self.settings.fifo {
            Some(_) => self.settings.delay_s,
            None => admitted.delay_s.unwrap_or(self.settings.delay_s),
        };
        let visible_at_ms = now_ms + u64::from(delay_s) * 1_000;
        let message = Message {
            id: message_id,
            body: admitted.body,
            md5_of_body: admitted.md5_of_body,
            attributes: admitted.attributes,
            trace_header: admitted.trace_header,
            group_id: admitted.group_id,
            deduplication_id: key.as_ref().map(|key| key.deduplication_id.clone()),
            sent_ms: now_ms,
            retained_from_ms: now_ms,
            first_received_ms: None,
            receives: 0,
            receives_here: 0,
            dead_letter_source: None,
            phase: Phase::Waiting { visible_at_ms },
        };
        self.insert(counters.place, message, visible_at_ms, now_ms);
        if let (Backlog::Fifo(fifo), Some(key)) = (&mut self.backlog, key) {
            fifo.seen.remember(key, original.clone(), now_ms);
        }
        original
    }

    /// By what a send is recognised; nothing on a standard queue.
    fn deduplication_key(&self, admitted: &Admitted) -> Result<Option<SeenKey>, SqsError> {
        let Some(fifo) = &self.settings.fifo else {
            return match &admitted.deduplication_id {
                Some(id) => Err(invalid_value(id, "MessageDeduplicationId", NOT_FOR_THIS_TYPE)),
                None => Ok(None),
            };
        };
        if let Some(delay_s) = admitted.delay_s.filter(|delay_s| *delay_s > 0) {
            return Err(invalid_value(delay_s, "DelaySeconds", NOT_FOR_THIS_TYPE));
        }
        let Some(group_id) = &admitted.group_id else {
            return Err(ErrorKind::MissingParameter
                .because("The request must contain the parameter MessageGroupId."));
        };
        let deduplication_id = match &admitted.deduplication_id {
            Some(id) => id.clone(),
            None if fifo.by_content => digest::content_deduplication_id(&admitted.body).into(),
            None => return Err(deduplication_id_wanted()),
        };
        Ok(Some(SeenKey { group_id: fifo.per_group.then(|| group_id.clone()), deduplication_id }))
    }
}

fn deduplication_id_wanted() -> SqsError {
    ErrorKind::InvalidParameterValue.because(
        "The queue should either have ContentBasedDeduplication enabled \
         or MessageDeduplicationId provided explicitly",
    )
}
