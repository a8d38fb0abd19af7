//! Cuts: the world stops at one write, and what then?
//!
//! The writes are counted as they happen, so a new write of the code is cut by
//! itself, without anybody listing it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use everlog_local::backend::Answer;
use everlog_local::transport::{Call, Handler, NoAnswer};
use tokio::sync::Notify;

use crate::World;

/// What happens at the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The process dies, and the write is never sent.
    DiesBefore,
    /// The write lands, and the process dies.
    DiesAfter,
    /// The write lands, and its answer is lost.
    AnswerLost,
    /// The write is lost on its way.
    RequestLost,
}

impl Cut {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::DiesBefore, Self::DiesAfter, Self::AnswerLost, Self::RequestLost];

    /// Whether the process dies of it.
    #[must_use]
    pub fn kills(self) -> bool {
        matches!(self, Self::DiesBefore | Self::DiesAfter)
    }
}

/// Counts writes, and cuts at one of them.
#[derive(Debug, Default)]
pub struct Cutter {
    at: Option<(usize, Cut)>,
    writes: AtomicUsize,
    names: Mutex<Vec<String>>,
    watched: Option<(World, String)>,
    violations: Mutex<Vec<String>>,
    /// Rung when the process dies.
    pub dead: Notify,
}

/// Whether a target writes something.
#[must_use]
pub fn writes(target: &str) -> bool {
    let operation = target.rsplit('.').next().unwrap_or_default();
    ["PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "SendMessageBatch"]
        .contains(&operation)
}

impl Cutter {
    /// Cuts at write number `at`, counted from 0; nowhere without one.
    #[must_use]
    pub fn new(at: Option<(usize, Cut)>) -> Arc<Self> {
        Arc::new(Self { at, ..Self::default() })
    }

    /// The same, and after every write looks whether the alarm invariant of
    /// `workflow` holds.
    #[must_use]
    pub fn watching(at: Option<(usize, Cut)>, world: &World, workflow: &str) -> Arc<Self> {
        Arc::new(Self { at, watched: Some((world.clone(), workflow.into())), ..Self::default() })
    }

    /// Where the alarm invariant did not hold.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.violations.lock().map(|found| found.clone()).unwrap_or_default()
    }

    /// Serves a write, then looks.
    async fn watch(&self, number: usize, call: Call, inner: &Handler) -> Result<Answer, NoAnswer> {
        let answer = inner(call).await;
        if let Some((world, workflow)) = &self.watched
            && let Some(what) = crate::proof::alarm(world, workflow).await
            && let Ok(mut violations) = self.violations.lock()
        {
            violations.push(format!("after write {number}: {what}"));
        }
        answer
    }

    /// Writes so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    /// What they were.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.names.lock().map(|names| names.clone()).unwrap_or_default()
    }

    /// Puts itself between clients and `inner`.
    #[must_use]
    pub fn between(self: &Arc<Self>, inner: Handler) -> Handler {
        let cutter = self.clone();
        Arc::new(move |call| {
            if !writes(&call.target) {
                return inner(call);
            }
            let number = cutter.writes.fetch_add(1, Ordering::SeqCst);
            if let Ok(mut names) = cutter.names.lock() {
                names.push(call.target.clone());
            }
            let cut = cutter.at.filter(|(at, _)| *at == number).map(|(_, cut)| cut);
            let (inner, cutter) = (inner.clone(), cutter.clone());
            Box::pin(async move {
                match cut {
                    None => cutter.watch(number, call, &inner).await,
                    Some(Cut::RequestLost) => Err(NoAnswer),
                    Some(Cut::AnswerLost) => {
                        let _ = cutter.watch(number, call, &inner).await;
                        Err(NoAnswer)
                    }
                    Some(Cut::DiesBefore) => {
                        cutter.dead.notify_one();
                        std::future::pending().await
                    }
                    Some(Cut::DiesAfter) => {
                        let _ = cutter.watch(number, call, &inner).await;
                        cutter.dead.notify_one();
                        std::future::pending().await
                    }
                }
            })
        })
    }
}

/// The same for a caller that is no function: after its death every request of
/// it goes unanswered, so that its call ends and the test goes on. Also how many
/// writes it has made.
#[must_use]
pub fn cutting(inner: Handler, at: usize, cut: Cut) -> (Handler, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let handler: Handler = Arc::new(move |call| {
        let write = writes(&call.target);
        let number = counted.fetch_add(usize::from(write), Ordering::SeqCst);
        let dead = match cut {
            // A read after the write that it died at is not made either.
            Cut::DiesBefore | Cut::DiesAfter if !write => number > at,
            Cut::DiesBefore => number >= at,
            Cut::DiesAfter => number > at,
            Cut::AnswerLost | Cut::RequestLost => false,
        };
        let here = number == at && write;
        let inner = inner.clone();
        Box::pin(async move {
            if dead || (here && cut == Cut::RequestLost) {
                return Err(NoAnswer);
            }
            let answer = inner(call).await;
            let lost = here && matches!(cut, Cut::AnswerLost | Cut::DiesAfter);
            if lost { Err(NoAnswer) } else { answer }
        })
    });
    (handler, count)
}
