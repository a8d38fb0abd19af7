//! Dead letters: what the functions gave up, with its reason, and what a queue
//! could not deliver; read without taking them, and sent again once mended.
//!
//! A letter is sent before it is removed: a redrive that dies in between sends
//! it twice, and commands take effect once. What can't be sent stays and is
//! said, and holds nothing up. It deliberately does not judge whether anything
//! was mended: what is still hopeless comes back.
//!
//! It fails by the text of what SQS says.

use std::collections::HashSet;

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use everlog::command::parse;
use everlog::config::DEAD_LETTER;
use everlog::fleet::group_id;
use everlog::journal::keys::partition;
use everlog::message::DeadLetter;
use serde::Serialize;

use crate::deployed::{Deployed, UNDELIVERED};

/// Letters that are taken at a time: all of them are done with long before
/// they could be seen by others again.
const AT_ONCE: usize = 10;
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

/// What became of letters that were to be sent again.
#[derive(Debug, Default)]
pub struct Redriven {
    /// How many were sent, and are gone from where they lay.
    pub sent: usize,
    /// Those that stay, each with why.
    pub stay: Vec<(Letter, String)>,
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

    /// Up to `limit` letters, oldest first as far as SQS keeps an order; they
    /// stay. Of a FIFO queue, ten of a group at most: SQS holds the rest back.
    ///
    /// # Errors
    /// What SQS says.
    pub async fn read(&self, limit: usize) -> Result<Vec<Letter>, String> {
        let (mut letters, mut seen) = (Vec::new(), HashSet::new());
        loop {
            let taken = self.take((limit - letters.len()).min(AT_ONCE), &mut seen).await?;
            if taken.is_empty() {
                break;
            }
            letters.extend(taken);
        }
        for letter in &letters {
            self.show(letter).await;
        }
        Ok(letters)
    }

    /// Makes a letter visible again. Best effort: it becomes so by itself.
    async fn show(&self, letter: &Letter) {
        let shown = self.deployed.sqs.change_message_visibility().queue_url(&self.url);
        let shown = shown.receipt_handle(&letter.receipt_handle).visibility_timeout(0);
        if let Err(error) = shown.send().await {
            tracing::debug!(error = said(&error), "a letter stays hidden for a while");
        }
    }

    /// Sends up to `limit` letters to the queue that they were in, or to `to`,
    /// and removes them. Of several with the same content one is sent: the
    /// others may be that one, come back.
    ///
    /// # Errors
    /// What SQS says, where it does not hand letters out.
    pub async fn redrive(&self, limit: usize, to: Option<&str>) -> Result<Redriven, String> {
        let (mut done, mut seen, mut gone) = (Redriven::default(), HashSet::new(), HashSet::new());
        loop {
            let left = limit - done.sent - done.stay.len();
            let letters = self.take(left.min(AT_ONCE), &mut seen).await?;
            if letters.is_empty() {
                break;
            }
            for letter in letters {
                let queue = to.unwrap_or(&letter.letter.queue);
                // What is still hopeless is back before this ends.
                let content = (queue.to_owned(), letter.letter.body.clone());
                let sent = match gone.contains(&content) {
                    true => Err("it came back, or is the same as one that was just sent".into()),
                    false => self.send_on(&letter, queue).await,
                };
                match sent {
                    Ok(()) => {
                        done.sent += 1;
                        gone.insert(content);
                    }
                    Err(why) => done.stay.push((letter, why)),
                }
            }
        }
        for (letter, _) in &done.stay {
            self.show(letter).await;
        }
        Ok(done)
    }

    /// Sends a letter and removes it.
    async fn send_on(&self, letter: &Letter, queue: &str) -> Result<(), String> {
        if letter.letter.cut {
            return Err("only its beginning is here: send the whole of it yourself".into());
        }
        self.send(letter, queue).await?;
        let gone = self.deployed.sqs.delete_message().queue_url(&self.url);
        let gone = gone.receipt_handle(&letter.receipt_handle).send().await;
        gone.map(drop).map_err(|e| format!("sent, and not removed: {}", said(&e)))
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

    /// Receives up to `most` letters that were not seen before; none where
    /// there are no more.
    async fn take(&self, most: usize, seen: &mut HashSet<String>) -> Result<Vec<Letter>, String> {
        let most = i32::try_from(most).unwrap_or(10);
        for _ in 0..if most == 0 { 0 } else { EMPTY_MAX } {
            let received = self
                .deployed
                .sqs
                .receive_message()
                .queue_url(&self.url)
                .max_number_of_messages(most)
                .visibility_timeout(HIDDEN_S)
                .wait_time_seconds(1)
                .message_system_attribute_names(MessageSystemAttributeName::All)
                .send()
                .await
                .map_err(|e| said(&e))?;
            let letters = received.messages().iter().filter_map(|message| self.letter(message));
            let fresh: Vec<Letter> = letters.filter(|l| seen.insert(l.id.clone())).collect();
            if !fresh.is_empty() {
                return Ok(fresh);
            }
        }
        Ok(Vec::new())
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
                cut: false,
            }),
            Some(queue) => DeadLetter {
                queue: queue.clone(),
                message_id: id.clone(),
                reason: "received too often without being served".into(),
                body: body.to_owned(),
                cut: false,
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
    everlog::said(error)
}
