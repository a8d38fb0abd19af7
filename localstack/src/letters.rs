//! Dead letters: what the functions gave up, with its reason, and what a queue
//! could not deliver; read without taking them, and sent again once mended.
//!
//! A letter is sent before it is removed: a redrive that dies in between sends
//! it twice, and commands take effect once. It deliberately does not judge
//! whether anything was mended: what is still hopeless comes back.
//!
//! It fails by the text of what SQS says.

use std::collections::HashSet;

use aws_sdk_sqs::error::DisplayErrorContext;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use everlog::command::parse;
use everlog::config::DEAD_LETTER;
use everlog::fleet::group_id;
use everlog::journal::keys::partition;
use everlog::message::DeadLetter;
use serde::Serialize;

use crate::deployed::{Deployed, UNDELIVERED};

/// Seconds for which letters are hidden from others while they are read.
const HIDDEN_S: i32 = 30;
/// Receives in a row that bring nothing, until a queue counts as empty: SQS
/// asks only some of its servers each time.
const EMPTY_MAX: u32 = 3;

/// A letter as it lies there.
#[derive(Debug, Clone, Serialize)]
pub struct Letter {
    /// What was given up, and why.
    #[serde(flatten)]
    pub letter: DeadLetter,
    /// When it was put there, milliseconds since 1970.
    pub given_up_at: u64,
    #[serde(skip)]
    receipt_handle: String,
    #[serde(skip)]
    group: Option<String>,
    #[serde(skip)]
    id: String,
}

/// The letters of one queue.
#[derive(Debug)]
pub struct Letters<'a> {
    deployed: &'a Deployed,
    /// Where they lie.
    url: String,
    /// The queue that they could not be delivered from, if that is why they lie there.
    source: Option<String>,
}

impl<'a> Letters<'a> {
    /// What the functions gave up.
    ///
    /// # Errors
    /// There is no such queue.
    pub fn given_up(deployed: &'a Deployed) -> Result<Self, String> {
        let url = deployed.queues.url(DEAD_LETTER).ok_or("EVERLOG_QUEUES names no dead-letter")?;
        Ok(Self { deployed, url: url.to_owned(), source: None })
    }

    /// What could not be delivered from this queue, a logical name.
    ///
    /// # Errors
    /// There is no such queue, or nothing is kept of it.
    pub fn undelivered(deployed: &'a Deployed, queue: &str) -> Result<Self, String> {
        let url = deployed.queues.url(queue).ok_or_else(|| format!("no queue {queue}"))?;
        let (base, name) = url.rsplit_once('/').ok_or_else(|| format!("no name in {url}"))?;
        let dead = match name.strip_suffix(".fifo") {
            Some(stem) => format!("{stem}{UNDELIVERED}.fifo"),
            None => format!("{name}{UNDELIVERED}"),
        };
        Ok(Self { deployed, url: format!("{base}/{dead}"), source: Some(queue.to_owned()) })
    }

    /// Up to `limit` letters, oldest first as far as SQS keeps an order; they stay.
    ///
    /// # Errors
    /// What SQS says.
    pub async fn read(&self, limit: usize) -> Result<Vec<Letter>, String> {
        let letters = self.take(limit).await?;
        for letter in &letters {
            let shown = self.deployed.sqs.change_message_visibility();
            let shown = shown.queue_url(&self.url).receipt_handle(&letter.receipt_handle);
            shown.visibility_timeout(0).send().await.map_err(|e| said(&e))?;
        }
        Ok(letters)
    }

    /// Sends up to `limit` letters to the queue that they were in, or to `to`,
    /// and removes them; returns how many.
    ///
    /// # Errors
    /// What SQS says; the letters from there on stay.
    pub async fn redrive(&self, limit: usize, to: Option<&str>) -> Result<usize, String> {
        let letters = self.take(limit).await?;
        let mut sent = 0;
        for letter in &letters {
            self.send(letter, to.unwrap_or(&letter.letter.queue)).await?;
            let gone = self.deployed.sqs.delete_message().queue_url(&self.url);
            let gone = gone.receipt_handle(&letter.receipt_handle).send().await;
            gone.map_err(|e| said(&e))?;
            sent += 1;
        }
        Ok(sent)
    }

    async fn send(&self, letter: &Letter, queue: &str) -> Result<(), String> {
        let url = self.deployed.queues.url(queue).ok_or_else(|| format!("no queue {queue:?}"))?;
        let mut message =
            self.deployed.sqs.send_message().queue_url(url).message_body(&letter.letter.body);
        if url.ends_with(".fifo") {
            // The order of its workflow, if that can be read; a new deduplication
            // id, since the old one may still be remembered.
            let own = parse(&letter.letter.body).ok();
            let own = own.map(|c| group_id(&partition(&c.namespace, &c.workflow)));
            let group = letter.group.clone().or(own).unwrap_or_else(|| "redriven".into());
            message = message
                .message_group_id(group)
                .message_deduplication_id(format!("redrive-{}-{}", letter.id, letter.given_up_at));
        }
        message.send().await.map(drop).map_err(|e| said(&e))
    }

    /// Receives letters until there are no more, or enough.
    async fn take(&self, limit: usize) -> Result<Vec<Letter>, String> {
        let mut letters = Vec::new();
        let mut seen = HashSet::new();
        let mut empty = 0;
        while letters.len() < limit && empty < EMPTY_MAX {
            let at_once = i32::try_from((limit - letters.len()).min(10)).unwrap_or(10);
            let received = self
                .deployed
                .sqs
                .receive_message()
                .queue_url(&self.url)
                .max_number_of_messages(at_once)
                .visibility_timeout(HIDDEN_S)
                .wait_time_seconds(1)
                .message_system_attribute_names(MessageSystemAttributeName::All)
                .send()
                .await
                .map_err(|e| said(&e))?;
            let fresh: Vec<Letter> = received
                .messages()
                .iter()
                .filter_map(|message| self.letter(message))
                .filter(|letter| seen.insert(letter.id.clone()))
                .collect();
            empty = if fresh.is_empty() { empty + 1 } else { 0 };
            letters.extend(fresh);
        }
        Ok(letters)
    }

    fn letter(&self, message: &Message) -> Option<Letter> {
        let attribute = |name| message.attributes().and_then(|all| all.get(&name)).cloned();
        let body = message.body().unwrap_or_default();
        let id = message.message_id()?.to_owned();
        let letter = match &self.source {
            None => serde_json::from_str(body).unwrap_or_else(|error| DeadLetter {
                queue: String::new(),
                message_id: id.clone(),
                reason: format!("not a dead letter of Everlog: {error}"),
                body: body.to_owned(),
            }),
            Some(queue) => DeadLetter {
                queue: queue.clone(),
                message_id: id.clone(),
                reason: "received too often without being served".into(),
                body: body.to_owned(),
            },
        };
        let sent = attribute(MessageSystemAttributeName::SentTimestamp);
        Some(Letter {
            letter,
            given_up_at: sent.and_then(|text| text.parse().ok()).unwrap_or_default(),
            receipt_handle: message.receipt_handle()?.to_owned(),
            group: attribute(MessageSystemAttributeName::MessageGroupId)
                .filter(|_| self.source.is_some()),
            id,
        })
    }
}

fn said(error: &(impl std::error::Error + 'static)) -> String {
    DisplayErrorContext(error).to_string()
}
