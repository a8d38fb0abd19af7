//! One dispatch, from its receipt to its outcome.
//!
//! It is the same wherever the dispatch came from, so it knows no queue of
//! tasks: it says by [`Fate`] what should become of the message.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::deadline::Deadline;
use super::task::{Context, Failure, Interrupt, Output, Task};
use super::underway::Turn;
use super::{Receipts, SILENCE, Worker, claim};
use crate::answer::Directive;
use crate::command::{Ended, Verb};
use crate::fleet::panic_text;
use crate::message::Dispatch;
use crate::telemetry::trace;

/// How long a receipt is repeated before the message is given back.
const RECEIPT_PATIENCE: Duration = Duration::from_secs(10);
/// Until a message that could not be served comes again.
const AGAIN: Duration = Duration::from_secs(2);
/// Least time between two heartbeats.
const BEAT_MIN: Duration = Duration::from_millis(50);
/// How long a handler that was dropped may take to go.
const DROP_PATIENCE: Duration = Duration::from_secs(1);

/// A message as it came.
#[derive(Clone, Copy)]
pub(super) struct Received<'a> {
    /// Where from: the last part of the queue's address.
    pub queue: &'a str,
    pub id: &'a str,
    pub body: &'a str,
    pub traceparent: Option<&'a str>,
}

/// What should become of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Delete it.
    Done,
    /// It should come again after this.
    Again(Duration),
    /// Leave it hidden: its attempt is running here.
    Leave,
}

/// How a handler's run ended.
enum End {
    /// With an outcome.
    Ended(Ended),
    /// The attempt is over; there is nothing to say.
    Over,
    /// It was dropped at the deadline.
    OutOfTime,
}

/// The handler of one attempt, running.
struct Run {
    handler: JoinSet<Result<Output, Failure>>,
    interrupt: watch::Sender<Option<Interrupt>>,
    /// When its time is up by its task's own time-out.
    close_at: Option<Instant>,
}

impl Worker {
    /// Reads a message and does its work, in the trace that it belongs to.
    pub(super) async fn take(&self, received: Received<'_>, deadline: &Deadline) -> Fate {
        match serde_json::from_str(received.body) {
            Ok(dispatch) => {
                let span = trace::received(span(&dispatch), received.traceparent);
                self.perform(dispatch, deadline).instrument(span).await
            }
            Err(error) => self.set_aside(received, &error.to_string()).await,
        }
    }

    /// Does the work of one dispatch; for those who have a task queue of
    /// another kind than SQS. A dispatch that this worker is at, or ended less
    /// than five minutes ago, is not begun.
    pub async fn perform(&self, dispatch: Dispatch, deadline: &Deadline) -> Fate {
        let ours = match self.underway.begin(dispatch.dispatch_key) {
            Turn::Ours(ours) => ours,
            Turn::Running => return Fate::Leave,
            Turn::Finished => return Fate::Done,
        };
        let fate = tokio::select! {
            biased;
            fate = self.attempt(dispatch, deadline) => fate,
            () = deadline.last_word() => Fate::Again(Duration::ZERO),
        };
        if fate == Fate::Done {
            ours.finish();
        }
        fate
    }

    async fn attempt(&self, dispatch: Dispatch, deadline: &Deadline) -> Fate {
        if deadline.is_over() {
            return Fate::Again(Duration::ZERO);
        }
        if dispatch.cancelled {
            return self.last_word(&dispatch, Ended::Cancelled {}, false).await;
        }
        let dispatch = match (&self.journal, dispatch.claim) {
            (Some(journal), true) => match claim::whole(journal, dispatch).await {
                Ok(whole) => whole,
                Err(error) => {
                    tracing::warn!(%error, "an input is not read yet");
                    return Fate::Again(AGAIN);
                }
            },
            _ => dispatch,
        };
        let begun = Instant::now();
        let taken = AtomicBool::new(false);
        if self.asks_for_receipt(&dispatch) {
            // With a receipt it would have to end here; another invocation has more time.
            if deadline.is_late() {
                return Fate::Again(Duration::ZERO);
            }
            let receipt = Verb::Receipt(self.evidence(&dispatch));
            match self.tell(&dispatch, receipt, RECEIPT_PATIENCE).await {
                Some(Directive::Proceed) => taken.store(true, Ordering::Relaxed),
                Some(Directive::Cancel) => {
                    return self.last_word(&dispatch, Ended::Cancelled {}, true).await;
                }
                Some(Directive::Stop) => return Fate::Done,
                None => return Fate::Again(AGAIN),
            }
        }
        if dispatch.claim {
            let why = "its input is too large to carry, and this worker has no journal";
            let ended = ended(Failure::new("not-carried", why));
            return self.last_word(&dispatch, ended, taken.into_inner()).await;
        }
        let end = self.run(&dispatch, begun, &taken, deadline).await;
        let taken = taken.into_inner();
        match end {
            End::Ended(outcome) => self.last_word(&dispatch, outcome, taken).await,
            End::Over => Fate::Done,
            // Nobody else may take it up, so its end must be known.
            End::OutOfTime if taken => {
                let failure = Failure::new("out-of-time", "its worker had to stop");
                self.last_word(&dispatch, ended(failure), true).await
            }
            End::OutOfTime => Fate::Again(Duration::ZERO),
        }
    }

    async fn last_word(&self, dispatch: &Dispatch, outcome: Ended, taken: bool) -> Fate {
        match self.settle(dispatch, outcome, taken).await {
            true => Fate::Done,
            false => Fate::Again(AGAIN),
        }
    }

    fn asks_for_receipt(&self, dispatch: &Dispatch) -> bool {
        let timeouts = &dispatch.timeouts;
        timeouts.start_to_close_ms.is_some()
            || timeouts.heartbeat_ms.is_some()
            || timeouts.schedule_to_start_ms.is_some()
            || matches!(&self.receipts, Receipts::Long(is_long) if is_long(&dispatch.kind))
    }

    /// Runs the handler, with heartbeats, until it ends or must.
    async fn run(
        &self,
        dispatch: &Dispatch,
        begun: Instant,
        taken: &AtomicBool,
        deadline: &Deadline,
    ) -> End {
        let mut run = self.start(dispatch, begun, deadline);
        let directive = tokio::select! {
            biased;
            joined = run.handler.join_next() => return End::Ended(joined_ended(joined)),
            directive = self.stay_alive(dispatch, taken, deadline) => directive,
            () = sleep_until(run.close_at) => {
                run.drop_handler().await;
                return End::Ended(timed_out(dispatch));
            }
            () = deadline.reached() => {
                run.drop_handler().await;
                return End::OutOfTime;
            }
        };
        let interrupt = match directive {
            Directive::Stop => Interrupt::Over,
            Directive::Cancel | Directive::Proceed => Interrupt::Cancelled,
        };
        run.interrupt.send_replace(Some(interrupt));
        let joined = tokio::select! {
            biased;
            joined = run.handler.join_next() => Some(joined),
            () = tokio::time::sleep(self.cancel_grace) => None,
            () = deadline.reached() => None,
        };
        run.drop_handler().await;
        match (interrupt, joined) {
            (Interrupt::Over, _) => End::Over,
            (Interrupt::Cancelled, Some(joined)) => End::Ended(joined_ended(joined)),
            (Interrupt::Cancelled, None) => End::Ended(Ended::Cancelled {}),
        }
    }

    fn start(&self, dispatch: &Dispatch, begun: Instant, deadline: &Deadline) -> Run {
        let (interrupt, told) = watch::channel(None);
        let limit = dispatch.timeouts.start_to_close_ms.map(Duration::from_millis);
        let close_at = limit.and_then(|limit| begun.checked_add(limit));
        let end = match (close_at, deadline.time()) {
            (Some(own), Some(all)) => Some(own.min(all)),
            (own, all) => own.or(all),
        };
        let context = Context { key: dispatch.dispatch_key, interrupt: told, end };
        let (handler, task) = (self.handler.clone(), Task(dispatch.clone()));
        // A task of its own: it may panic, and heartbeats go on beside it.
        let mut set = JoinSet::new();
        set.spawn(async move { handler(task, context).await }.in_current_span());
        Run { handler: set, interrupt, close_at }
    }

    /// Says now and then that the worker is alive, until it should stop.
    async fn stay_alive(
        &self,
        dispatch: &Dispatch,
        taken: &AtomicBool,
        deadline: &Deadline,
    ) -> Directive {
        let every = self.beat_every(dispatch, deadline);
        loop {
            tokio::time::sleep(every).await;
            let heartbeat = Verb::Heartbeat(self.evidence(dispatch));
            match self.tell(dispatch, heartbeat, every).await {
                Some(Directive::Proceed) => taken.store(true, Ordering::Relaxed),
                None => {}
                Some(other) => return other,
            }
        }
    }

    /// A third of what the task allows. A task that allows anything has
    /// [`SILENCE`], or half of an invocation: what is cut off without a receipt
    /// had less than half of one, and may fit the next time.
    fn beat_every(&self, dispatch: &Dispatch, deadline: &Deadline) -> Duration {
        let asked = dispatch.timeouts.heartbeat_ms.map(|ms| Duration::from_millis(ms / 3));
        let half = deadline.half().unwrap_or(SILENCE);
        asked.unwrap_or(SILENCE).min(SILENCE).min(half).max(BEAT_MIN)
    }
}

impl Run {
    /// Ends the handler and what it holds; a handler that blocks its thread is
    /// left to itself.
    async fn drop_handler(&mut self) {
        if tokio::time::timeout(DROP_PATIENCE, self.handler.shutdown()).await.is_err() {
            tracing::error!("a handler blocks its thread and can't be ended");
        }
    }
}

/// The span of an attempt; the handler's own lie below it.
fn span(dispatch: &Dispatch) -> Span {
    tracing::info_span!(
        "attempt",
        otel.kind = "consumer",
        namespace = %dispatch.namespace,
        workflow = %dispatch.workflow,
        node = %dispatch.node,
        attempt = dispatch.attempt,
        handover = dispatch.handover,
        r#type = %dispatch.kind,
    )
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn timed_out(dispatch: &Dispatch) -> Ended {
    let limit_ms = dispatch.timeouts.start_to_close_ms.unwrap_or_default();
    ended(Failure::new("timeout", format_args!("ran longer than {limit_ms} ms")))
}

fn ended(failure: Failure) -> Ended {
    match failure {
        Failure::Failed(failure) => Ended::Failed(failure),
        Failure::Cancelled => Ended::Cancelled {},
    }
}

fn joined_ended(joined: Option<Result<Result<Output, Failure>, JoinError>>) -> Ended {
    match joined {
        Some(Ok(Ok(Output(output)))) => Ended::Succeeded { output },
        Some(Ok(Err(failure))) => ended(failure),
        Some(Err(error)) => {
            let said = error.try_into_panic().map(|panic| panic_text(&*panic));
            ended(Failure::new("panicked", said.unwrap_or_else(|error| error.to_string())))
        }
        None => ended(Failure::new("panicked", "the handler is gone")),
    }
}
