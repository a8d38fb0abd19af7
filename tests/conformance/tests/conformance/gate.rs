//! The gate: holds each request of a process until the schedule releases it.
//!
//! The client behind it has no time-outs, so a request may be held as long as
//! the schedule likes, and virtual time may pass.

use everlog_local::backend::Answer;
use everlog_local::transport::{Call, Handler, NoAnswer};
use everlog_testing::rng::Rng;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::request::{Kind, kind, names};

/// What becomes of a request, seen from its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It is served and answered.
    Answered,
    /// It is served; the answer is lost.
    AnswerLost,
    /// It stays under way, and the sender hears nothing.
    Late,
}

/// A request that waits at the gate.
#[derive(Debug)]
pub struct Held {
    /// What it is.
    pub kind: Kind,
    /// The request.
    pub call: Call,
    reply: oneshot::Sender<Result<Answer, NoAnswer>>,
}

/// Something that a process does.
enum Event {
    Held(Held),
    Finished(bool),
}

/// Where a process stands.
#[derive(Debug)]
pub enum Standing {
    /// It waits at the gate.
    Held(Held),
    /// It has answered, or (false) given its message back.
    Finished(bool),
}

/// One fresh instance that does one thing.
pub struct Process {
    events: UnboundedReceiver<Event>,
    task: JoinHandle<()>,
    standing: Option<Standing>,
}

/// The process's end of its gate.
pub struct Inside(UnboundedSender<Event>);

impl Inside {
    /// The handler that asks `store` for what is released.
    pub fn handler(&self, store: Handler) -> Handler {
        let events = self.0.clone();
        std::sync::Arc::new(move |call| {
            let Some(kind) = kind(&call) else { return store(call) };
            let (reply, released) = oneshot::channel();
            // A gate without a driver is that of a process that was stopped.
            let _ = events.send(Event::Held(Held { kind, call, reply }));
            Box::pin(async move { released.await.unwrap_or(Err(NoAnswer)) })
        })
    }
}

impl Process {
    /// Starts what `work` makes of the inside of a gate; it says whether its message is done.
    pub fn start<F>(work: impl FnOnce(&Inside) -> F) -> Process
    where
        F: Future<Output = bool> + Send + 'static,
    {
        let (events, received) = mpsc::unbounded_channel();
        let inside = Inside(events);
        let work = work(&inside);
        let task = tokio::spawn(async move {
            let done = work.await;
            let _ = inside.0.send(Event::Finished(done));
        });
        Process { events: received, task, standing: None }
    }

    /// Lets it run until it waits at the gate or has finished.
    pub async fn settle(&mut self) -> &Standing {
        if self.standing.is_none() {
            let event = self.events.recv().await;
            self.standing = Some(match event {
                Some(Event::Held(held)) => Standing::Held(held),
                Some(Event::Finished(done)) => Standing::Finished(done),
                None => panic!("a process panicked"),
            });
        }
        self.standing.as_ref().expect("it was set")
    }

    /// What it waits for, if it waits.
    pub fn kind(&self) -> Option<&Kind> {
        match &self.standing {
            Some(Standing::Held(held)) => Some(&held.kind),
            _ => None,
        }
    }

    /// The incarnation whose card the write that waits is for.
    pub fn names(&self) -> Option<u64> {
        match &self.standing {
            Some(Standing::Held(held)) => names(&held.call),
            _ => None,
        }
    }

    /// Whether it has finished, and how.
    pub fn finished(&self) -> Option<bool> {
        match &self.standing {
            Some(Standing::Finished(done)) => Some(*done),
            _ => None,
        }
    }

    /// Releases what it waits for. The answer of the store, and the request if it stays under way.
    pub async fn release(&mut self, store: &Handler, fate: Fate) -> (Option<Answer>, Option<Call>) {
        let Some(Standing::Held(held)) = self.standing.take() else {
            panic!("nothing waits at the gate");
        };
        if fate == Fate::Late {
            let _ = held.reply.send(Err(NoAnswer));
            return (None, Some(held.call));
        }
        let answer = serve(store, held.call).await;
        let told = if fate == Fate::Answered { Ok(answer.clone()) } else { Err(NoAnswer) };
        let _ = held.reply.send(told);
        (Some(answer), None)
    }

    /// Stops it for ever; what waits at the gate is never sent.
    pub async fn stop(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// Asks the store.
pub async fn serve(store: &Handler, call: Call) -> Answer {
    store(call).await.expect("the store itself always answers")
}

/// Whether a write landed.
///
/// # Errors
/// What the store says, if it neither landed nor failed its condition.
pub fn landed(answer: &Answer) -> Result<bool, String> {
    let text = String::from_utf8_lossy(&answer.body);
    match answer.status {
        200 => Ok(true),
        _ if text.contains("ConditionalCheckFailed") => Ok(false),
        _ => Err(format!("the store refuses a request: {text}")),
    }
}

/// A number from a seed, for choosing one of `count`.
pub fn pick(rng: &mut Rng, count: usize) -> usize {
    usize::try_from(rng.below(count as u64)).unwrap_or(0)
}
