//! The way in: a batch of messages, or one command that is answered.

use std::collections::{BTreeMap, HashSet};
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::begin::sent;
use super::serve::{Incoming, Served, panic_text};
use super::{Fleet, Function, GiveBack, Message};
use crate::answer::{Answer, InvalidInput, Reply};
use crate::command::{Command, Unreadable, Verb, parse};
use crate::config::{DEAD_LETTER, WAKE};
use crate::message::{DeadLetter, Wake};
use crate::relay::Outgoing;
use crate::telemetry::{Count, trace};

/// Seconds after which a message that was given back is visible again, at most.
const GIVE_BACK_S_MAX: i32 = 20;

impl Fleet {
    /// Serves a batch of commands; returns the ids of the messages that failed.
    ///
    /// Neighbours never suffer: a bad message is answered alone, a panicking
    /// one fails alone, but after the first failure of a FIFO group the rest of
    /// that group is reported failed too, so that its order is kept.
    pub async fn commands(&self, function: Function, messages: Vec<Message>) -> Vec<String> {
        let arrived = Instant::now();
        let mut failed = HashSet::new();
        let mut groups: BTreeMap<String, Vec<(Message, Command)>> = BTreeMap::new();
        for message in messages {
            match self.read(function, &message) {
                Ok(command) => {
                    let partition =
                        crate::journal::keys::partition(&command.namespace, &command.workflow);
                    groups.entry(partition).or_default().push((message, *command));
                }
                Err(unreadable) => {
                    if self.give_up(&message, &unreadable).await {
                        self.tally.rejected("invalid_input");
                    } else {
                        self.tally.given_back(GiveBack::Relay.name(), 1);
                        failed.insert(message.id);
                    }
                }
            }
        }
        let now = self.clock.now();
        for group in groups.into_values() {
            let incoming: Vec<Incoming> = group
                .iter()
                .map(|(message, command)| Incoming {
                    sent: sent(command, message.sent_at, now),
                    waiting_since: message.first_received_at.unwrap_or(now),
                    again: message.receive_count > 1,
                    bytes: message.body.len(),
                    span: span(message, command),
                    command: command.clone(),
                })
                .collect();
            let serving = async { Ok(self.serve_group(&incoming).await) };
            let served = self.guarded(serving).await;
            let served: Vec<Served> = served.unwrap_or_else(|why| vec![Err(why); incoming.len()]);
            let messages = group.iter().map(|(message, _)| message);
            self.finish(messages.zip(&incoming).zip(served), arrived, &mut failed).await;
        }
        failed.into_iter().collect()
    }

    /// Runs a part of an invocation: a panic in it, or the end of the
    /// invocation's time, fails that part alone. Stopping it anywhere is as if
    /// the process had died there.
    pub(super) async fn guarded<T>(
        &self,
        part: impl Future<Output = Result<T, GiveBack>>,
    ) -> Result<T, GiveBack> {
        let caught = async {
            let ended = AssertUnwindSafe(part).catch_unwind().await;
            ended.unwrap_or_else(|panic| {
                let text = panic_text(&*panic);
                tracing::error!(text, "a handler panicked");
                Err(GiveBack::Panicked(text))
            })
        };
        match self.deadline {
            None => caught.await,
            Some(deadline) if deadline <= tokio::time::Instant::now() => Err(GiveBack::OutOfTime),
            Some(deadline) => {
                tokio::time::timeout_at(deadline, caught).await.unwrap_or(Err(GiveBack::OutOfTime))
            }
        }
    }

    async fn finish<'a>(
        &self,
        served: impl Iterator<Item = ((&'a Message, &'a Incoming), Served)>,
        arrived: Instant,
        failed: &mut HashSet<String>,
    ) {
        for ((message, incoming), served) in served {
            match served {
                Ok(answer) => {
                    report(&answer, incoming.again);
                    let replied = self.reply(&incoming.command, &answer);
                    if replied.instrument(incoming.span.clone()).await {
                        self.answered(&answer, &incoming.span, arrived);
                    } else {
                        self.tally.given_back(GiveBack::Relay.name(), 1);
                        failed.insert(message.id.clone());
                    }
                }
                Err(why) => {
                    if let Some(what) = super::quarantine::damage(&why)
                        && self.set_aside(message, &incoming.command, what).await
                    {
                        continue;
                    }
                    tracing::warn!(
                        workflow = %incoming.command.workflow,
                        command = %incoming.command.id,
                        reason = %why,
                        receive_count = message.receive_count,
                        "given back"
                    );
                    self.tally.given_back(why.name(), 1);
                    gave_back(&incoming.span, &why);
                    failed.insert(message.id.clone());
                }
            }
        }
    }

    /// Serves one command and answers it, for a caller that must know.
    ///
    /// Sends itself a wake of 60 seconds first, since nobody repeats a direct
    /// call that dies between its commit and its dispatches.
    ///
    /// # Errors
    /// [`GiveBack`]: not answered; send the same command again.
    pub async fn direct(&self, function: Function, body: &str) -> Result<Answer, GiveBack> {
        let arrived = Instant::now();
        let message = Message { body: body.to_owned(), receive_count: 1, ..Message::default() };
        let command = match self.read(function, &message) {
            Ok(command) => *command,
            Err(unreadable) => {
                self.tally.rejected("invalid_input");
                return Ok(unreadable.answer());
            }
        };
        let span = span(&message, &command);
        let wake = Wake {
            namespace: command.namespace.clone(),
            workflow: command.workflow.clone(),
            incarnation: None,
            relay: false,
            remove: false,
            command: Some(command.id.clone()),
        };
        let wake = Outgoing {
            body: serde_json::to_string(&wake).unwrap_or_default(),
            group: String::new(),
            dedup: String::new(),
            delay_s: 60,
        };
        if !self.relay.send(WAKE, vec![wake]).instrument(span.clone()).await.is_empty() {
            return Err(GiveBack::Relay);
        }
        let now = self.clock.now();
        let incoming = Incoming {
            sent: sent(&command, None, now),
            // Nobody holds a direct command back: one without a time is answered at once.
            waiting_since: command.issued_at.unwrap_or_default(),
            again: false,
            bytes: body.len(),
            span,
            command,
        };
        let served = self.serve_group(std::slice::from_ref(&incoming)).await;
        match served.into_iter().next() {
            Some(Ok(answer)) => {
                self.cache.served((&incoming.command.id).into());
                self.answered(&answer, &incoming.span, arrived);
                Ok(*answer)
            }
            Some(Err(why)) => {
                gave_back(&incoming.span, &why);
                Err(why)
            }
            None => Err(GiveBack::Contended),
        }
    }

    /// Reads a message; refuses what is not for this function or this fleet.
    fn read(&self, function: Function, message: &Message) -> Result<Box<Command>, Box<Unreadable>> {
        let command = Box::new(parse(&message.body)?);
        match self.check(function, &command) {
            Ok(()) => Ok(command),
            Err(invalid) => Err(Box::new(Unreadable {
                id: Some(command.id.clone()),
                namespace: Some(command.namespace.clone()),
                workflow: Some(command.workflow.clone()),
                reply_to: command.reply_to.clone(),
                invalid,
            })),
        }
    }

    fn check(&self, function: Function, command: &Command) -> Result<(), InvalidInput> {
        let wanted = Function::of(&command.command);
        if wanted != function {
            let limit = format!("the queue of {}", wanted.name());
            let found = format!("{} in the queue of {}", command.command.name(), function.name());
            return Err(InvalidInput::new("command", limit, found));
        }
        let known = |queue: &crate::id::QueueName, field: String| {
            if self.relay.queues().offers(queue) {
                return Ok(());
            }
            Err(InvalidInput::new(field, "a configured task or reply queue", queue))
        };
        if let Some(reply_to) = &command.reply_to {
            known(reply_to, "reply_to".into())?;
        }
        match &command.command {
            Verb::Start(start) => start.plan.as_ref().map_or(Ok(()), |plan| {
                known(&plan.defaults.queue, "command.start.plan.defaults.queue".into())?;
                plan.tasks.iter().enumerate().try_for_each(|(at, task)| match &task.queue {
                    Some(queue) => known(queue, format!("command.start.plan.tasks[{at}].queue")),
                    None => Ok(()),
                })
            }),
            Verb::Prepare(p) => known(&p.intent.queue, "command.prepare.intent.queue".into()),
            Verb::Append(append) => {
                append.prepare.iter().enumerate().try_for_each(|(at, intent)| {
                    known(&intent.queue, format!("command.append.prepare[{at}].queue"))
                })
            }
            _ => Ok(()),
        }
    }

    /// Answers what can't be read, and keeps it with the reason. Whether both worked.
    async fn give_up(&self, message: &Message, unreadable: &Unreadable) -> bool {
        let answer = unreadable.answer();
        tracing::info!(
            message = message.id,
            field = unreadable.invalid.field,
            limit = unreadable.invalid.limit,
            value = unreadable.invalid.value,
            outcome = "rejected",
            "unreadable"
        );
        if let Some(queue) = &unreadable.reply_to
            && self.relay.queues().offers(queue)
            && !self.send_answer(queue.as_str(), &answer).await
        {
            return false;
        }
        self.dead_letter(message, &unreadable.invalid.to_string()).await
    }

    /// Moves a message to the dead-letter queue. Whether that worked.
    pub(super) async fn dead_letter(&self, message: &Message, reason: &str) -> bool {
        let letter = DeadLetter {
            queue: message.queue.clone(),
            message_id: message.id.clone(),
            reason: reason.to_owned(),
            body: message.body.clone(),
            cut: false,
        };
        let (body, dedup) = (letter.into_body(), message.id.clone());
        let outgoing = Outgoing { body, group: "dead-letter".into(), dedup, delay_s: 0 };
        let kept = self.relay.send(DEAD_LETTER, vec![outgoing]).await.is_empty();
        self.tally.add(Count::DeadLettered, usize::from(kept));
        kept
    }

    /// Counts an answer that has left, or is about to.
    fn answered(&self, answer: &Answer, span: &Span, arrived: Instant) {
        let (outcome, kind) = outcome(answer);
        span.record("outcome", outcome).record("kind", kind).record("head", answer.head);
        match &answer.reply {
            Reply::Committed => {}
            Reply::Unchanged => self.tally.add(Count::Unchanged, 1),
            Reply::Rejected { rejection, .. } => self.tally.rejected(rejection.kind()),
        }
        let passed_ms = u64::try_from(arrived.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.tally.answered_after(passed_ms);
    }

    async fn reply(&self, command: &Command, answer: &Answer) -> bool {
        match &command.reply_to {
            Some(queue) => self.send_answer(queue.as_str(), answer).await,
            None => true,
        }
    }

    async fn send_answer(&self, queue: &str, answer: &Answer) -> bool {
        let body = serde_json::to_string(answer).unwrap_or_default();
        let group = answer.workflow.as_ref().map_or("everlog", |w| w.as_str());
        let message = Outgoing {
            dedup: crate::id::DispatchKey(crate::id::hash16(&[body.as_bytes()])).to_string(),
            group: super::group_id(group),
            body,
            delay_s: 0,
        };
        self.relay.send(queue, vec![message]).await.is_empty()
    }

    /// A short, jittered wait before the message comes again.
    pub(super) async fn make_visible_soon(&self, message: &Message) {
        if message.receipt_handle.is_empty() {
            return;
        }
        let cap = (1_i32 << message.receive_count.min(5)).min(GIVE_BACK_S_MAX);
        let seconds = rand::random_range(1..=cap.max(1));
        self.relay.give_back(&message.queue, &message.receipt_handle, seconds).await;
    }
}

/// The span of a command.
fn span(message: &Message, command: &Command) -> Span {
    let span = tracing::debug_span!(
        "command",
        otel.kind = "consumer",
        otel.status_code = Empty,
        namespace = %command.namespace,
        workflow = %command.workflow,
        command = %command.id,
        verb = command.command.name(),
        redelivery = message.receive_count > 1,
        head = Empty,
        outcome = Empty,
        kind = Empty,
    );
    trace::received(span, message.traceparent.as_deref())
}

/// Says on a span that what it is about was given back, and why.
pub(super) fn gave_back(span: &Span, why: &GiveBack) {
    span.record("outcome", "given_back").record("kind", why.name());
    span.record("otel.status_code", "error");
}

fn outcome(answer: &Answer) -> (&'static str, &'static str) {
    match &answer.reply {
        Reply::Committed => ("committed", ""),
        Reply::Unchanged => ("unchanged", ""),
        Reply::Rejected { rejection, .. } => ("rejected", rejection.kind()),
    }
}

fn report(answer: &Answer, again: bool) {
    let (outcome, kind) = outcome(answer);
    tracing::info!(
        command = answer.command.as_ref().map(tracing::field::display),
        workflow = answer.workflow.as_ref().map(tracing::field::display),
        head = answer.head,
        outcome,
        kind,
        redelivery = again,
        "served"
    );
}
