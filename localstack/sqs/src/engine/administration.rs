//! Creating, finding, setting, purging and deleting queues.
//!
//! What it is: the calls about queues instead of messages. It promises AWS's
//! rules for names, for creating what exists, and for the minute after a purge
//! or a deletion. Purges and changes deliberately take effect at once, where
//! AWS takes up to a minute. It fails with the errors of each call and then
//! changes nothing. Next: `attributes.rs`.

use super::{Engine, State, no_such_queue};
use crate::attributes::{self, Settings};
use crate::error::{ErrorKind, SqsError, invalid_value};
use crate::limits;
use crate::queue::{Founding, Queue};
use std::collections::BTreeMap;

impl Engine {
    /// Creates a queue, or finds it if it exists with these attributes; answers its URL.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidParameterValue`]: name or redrive policy.
    /// [`ErrorKind::InvalidAttributeName`], [`ErrorKind::InvalidAttributeValue`].
    /// [`ErrorKind::QueueNameExists`]: it exists with other attributes.
    /// [`ErrorKind::QueueDeletedRecently`]: wait a minute.
    pub async fn create_queue(
        &self,
        name: &str,
        attributes: &BTreeMap<String, String>,
    ) -> Result<String, SqsError> {
        let fifo = attributes.get("FifoQueue").is_some_and(|value| value == "true");
        check_name(name, fifo)?;
        let arn_prefix = self.arn_prefix();
        let settings = Settings::new(fifo).changed(attributes, &arn_prefix)?;
        let mut state = self.state();
        let now_ms = self.now_ms();
        if let Some(existing) = state.queues.get(name) {
            let written = existing.settings.written();
            return match attributes.iter().find(|(name, value)| written.get(*name) != Some(value)) {
                Some((attribute, _)) => Err(ErrorKind::QueueNameExists.because(format!(
                    "A queue already exists with the same name and a different value for attribute {attribute}"
                ))),
                None => Ok(self.url(name)),
            };
        }
        state.deleted.retain(|_, deleted_ms| *deleted_ms + limits::RECREATE_INTERVAL_MS > now_ms);
        if state.deleted.contains_key(name) {
            return Err(ErrorKind::QueueDeletedRecently.because(
                "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
            ));
        }
        check_redrive(&state, &settings, attributes, fifo)?;
        state.counters.queue += 1;
        let founding = Founding {
            instance: state.counters.queue,
            arn: format!("{arn_prefix}{name}"),
            settings,
            in_flight_max: self.config().in_flight_max,
            fifo_window: self.config().fifo_window,
            epoch_ms: self.config().epoch_ms,
            now_ms,
        };
        state.queues.insert(name.to_owned(), Queue::found(founding));
        Ok(self.url(name))
    }

    /// Deletes a queue with all its messages. Polls that wait end with an error.
    ///
    /// # Errors
    /// [`ErrorKind::QueueDoesNotExist`].
    pub async fn delete_queue(&self, queue_url: &str) -> Result<(), SqsError> {
        let name = super::name_in(queue_url)?;
        let mut state = self.state();
        let queue = state.queues.remove(name).ok_or_else(no_such_queue)?;
        state.deleted.insert(name.to_owned(), self.now_ms());
        queue.sleepers.notify_waiters();
        Ok(())
    }

    /// The URL of a queue.
    ///
    /// # Errors
    /// [`ErrorKind::QueueDoesNotExist`].
    pub async fn get_queue_url(&self, name: &str) -> Result<String, SqsError> {
        if self.state().queues.contains_key(name) {
            Ok(self.url(name))
        } else {
            Err(no_such_queue())
        }
    }

    /// The URLs of all queues whose name begins so, in the order of their names.
    pub async fn list_queues(&self, name_prefix: &str) -> Vec<String> {
        let state = self.state();
        let names = state.queues.keys();
        names.filter(|name| name.starts_with(name_prefix)).map(|name| self.url(name)).collect()
    }

    /// All attributes of a queue, in the names and texts of the API.
    ///
    /// # Errors
    /// [`ErrorKind::QueueDoesNotExist`].
    pub async fn attributes(&self, queue_url: &str) -> Result<BTreeMap<String, String>, SqsError> {
        self.on_queue(queue_url, |queue, _, now_ms| {
            let counts = queue.counts(now_ms);
            let computed: [String; attributes::COMPUTED.len()] = [
                counts.visible.to_string(),
                counts.delayed.to_string(),
                counts.in_flight.to_string(),
                (queue.created_ms / 1_000).to_string(),
                (queue.modified_ms / 1_000).to_string(),
                queue.arn.to_string(),
            ];
            let mut all = queue.settings.written();
            all.extend(attributes::COMPUTED.map(str::to_owned).into_iter().zip(computed));
            Ok(all)
        })
    }

    /// Changes attributes of a queue; an empty text removes a policy.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidAttributeName`], [`ErrorKind::InvalidAttributeValue`],
    /// [`ErrorKind::InvalidParameterValue`]: nothing was changed.
    pub async fn set_attributes(
        &self,
        queue_url: &str,
        changes: &BTreeMap<String, String>,
    ) -> Result<(), SqsError> {
        let name = super::name_in(queue_url)?;
        let arn_prefix = self.arn_prefix();
        let mut state = self.state();
        let now_ms = self.now_ms();
        let queue = state.queues.get(name).ok_or_else(no_such_queue)?;
        let settings = queue.settings.changed(changes, &arn_prefix)?;
        check_redrive(&state, &settings, changes, settings.fifo.is_some())?;
        let State { queues, .. } = &mut *state;
        let queue = queues.get_mut(name).ok_or_else(no_such_queue)?;
        queue.attend(now_ms, |queue| queue.set(settings, now_ms));
        queue.sleepers.notify_waiters();
        Ok(())
    }

    /// Deletes all messages of a queue, those in flight too.
    ///
    /// # Errors
    /// [`ErrorKind::PurgeQueueInProgress`]: purged less than a minute ago.
    pub async fn purge(&self, queue_url: &str) -> Result<(), SqsError> {
        let name = super::name_in(queue_url)?.to_owned();
        self.on_queue(queue_url, |queue, _, now_ms| {
            let again_ms = queue.purged_ms.map(|purged_ms| purged_ms + limits::PURGE_INTERVAL_MS);
            if again_ms.is_some_and(|again_ms| now_ms < again_ms) {
                return Err(ErrorKind::PurgeQueueInProgress.because(format!(
                    "Only one PurgeQueue operation on {name} is allowed every 60 seconds."
                )));
            }
            queue.purged_ms = Some(now_ms);
            queue.clear();
            Ok(())
        })
    }
}

/// The target of a new redrive policy exists and is of the same type.
fn check_redrive(
    state: &State,
    settings: &Settings,
    changes: &BTreeMap<String, String>,
    fifo: bool,
) -> Result<(), SqsError> {
    let (Some(text), Some(policy)) = (changes.get("RedrivePolicy"), &settings.redrive) else {
        return Ok(());
    };
    let reason = match state.queues.get(&policy.target) {
        None => "Dead letter target does not exist.",
        Some(target) if target.settings.fifo.is_some() != fifo => {
            "Dead-letter queue must be same type of queue as the source."
        }
        Some(_) => return Ok(()),
    };
    Err(invalid_value(text, "RedrivePolicy", reason))
}

fn check_name(name: &str, fifo: bool) -> Result<(), SqsError> {
    let stem = if fifo { name.strip_suffix(".fifo") } else { Some(name) };
    let legal = stem.is_some_and(|stem| {
        !stem.is_empty()
            && stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    });
    if legal && name.len() <= limits::QUEUE_NAME_CHARS_MAX {
        return Ok(());
    }
    Err(ErrorKind::InvalidParameterValue.because(if fifo {
        "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, \
         must end with .fifo suffix and be 1 to 80 in length"
    } else {
        "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
    }))
}
