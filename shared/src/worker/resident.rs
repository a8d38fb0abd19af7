//! A worker that stays: it polls a task queue until it is told to stop.
//!
//! It promises that no more than `concurrency` handlers run, that a message
//! stays hidden while its handler runs, and that a stop leaves nothing
//! half-said: what ends within the grace is settled, the rest is given back or
//! ends as `out-of-time`. A receive that is under way when the stop comes is
//! waited for as well: SQS may already have handed it a message, which would
//! stay hidden with nobody at it. A queue that does not answer is asked again,
//! with waits that grow to 20 seconds.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::Message;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::attempt::Received;
use super::{Deadline, Fate, TaskQueue, Worker};
use crate::telemetry::TRACEPARENT;

/// Messages of one receive at most.
const RECEIVE_MAX: usize = 10;
/// Longest wait after a receive that failed, milliseconds.
const PAUSE_MS_MAX: u64 = 20_000;

impl Worker {
    /// Serves a task queue until `stop` is ready; then handlers have `grace`
    /// to end, and so has the receive that is under way: an idle worker ends
    /// after what the queue still waits for messages ([`TaskQueue::with_wait_s`]).
    ///
    /// Costs a receive of up to 10 messages for every wait of the queue that
    /// ends empty, for each 10 of `concurrency`; a delete a message; and a change
    /// of visibility for every third of it that a handler runs.
    pub async fn serve(
        &self,
        queue: &TaskQueue,
        concurrency: usize,
        stop: impl Future<Output = ()>,
        grace: Duration,
    ) {
        let concurrency = concurrency.max(1);
        let slots = Arc::new(Semaphore::new(concurrency));
        let (stopped, deadline) = Deadline::open(self.reserve);
        let mut pollers = JoinSet::new();
        for _ in 0..concurrency.div_ceil(RECEIVE_MAX) {
            pollers.spawn(poll(self.clone(), queue.clone(), slots.clone(), deadline.clone()));
        }
        stop.await;
        stopped.send_replace(Some(Instant::now() + grace));
        while pollers.join_next().await.is_some() {}
    }
}

async fn poll(worker: Worker, queue: TaskQueue, slots: Arc<Semaphore>, deadline: Deadline) {
    let mut tasks = JoinSet::new();
    let mut pause_ms = 0;
    loop {
        while tasks.try_join_next().is_some() {}
        let Some(mut permits) = take(&slots, &deadline).await else { break };
        let mut receive = std::pin::pin!(queue.receive(permits.len()));
        let received = tokio::select! {
            received = &mut receive => received,
            () = deadline.known() => {
                let late = give_back(&queue, receive, &deadline);
                tokio::join!(finish(&mut tasks), late);
                return;
            }
        };
        match received {
            Ok(messages) => {
                pause_ms = 0;
                for message in messages {
                    let permit = permits.pop();
                    let one = serve_one(worker.clone(), queue.clone(), message, deadline.clone());
                    tasks.spawn(async move {
                        one.await;
                        drop(permit);
                    });
                }
            }
            Err(error) => {
                drop(permits);
                pause_ms = (2 * pause_ms + 500).min(PAUSE_MS_MAX);
                tracing::warn!(url = queue.url(), error, "receive failed");
                let wait = Duration::from_millis(rand::random_range(pause_ms / 2..=pause_ms));
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = deadline.known() => {}
                }
            }
        }
    }
    finish(&mut tasks).await;
}

async fn finish(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

/// Gives back what a receive brings before the deadline.
async fn give_back(
    queue: &TaskQueue,
    receive: impl Future<Output = Result<Vec<Message>, String>>,
    deadline: &Deadline,
) {
    let received = tokio::select! {
        received = receive => received.unwrap_or_default(),
        () = deadline.reached() => return,
    };
    for message in received {
        queue.hide(message.receipt_handle().unwrap_or_default(), 0).await;
    }
}

/// One slot at least, and as many as a receive can use; none after a stop.
async fn take(slots: &Arc<Semaphore>, deadline: &Deadline) -> Option<Vec<OwnedSemaphorePermit>> {
    let first = tokio::select! {
        biased;
        () = deadline.known() => return None,
        first = slots.clone().acquire_owned() => first.ok()?,
    };
    let mut permits = vec![first];
    while permits.len() < RECEIVE_MAX
        && let Ok(more) = slots.clone().try_acquire_owned()
    {
        permits.push(more);
    }
    Some(permits)
}

async fn serve_one(worker: Worker, queue: TaskQueue, message: Message, deadline: Deadline) {
    let handle = message.receipt_handle().unwrap_or_default();
    let trace = message.message_attributes().and_then(|own| own.get(TRACEPARENT));
    let received = Received {
        queue: queue.name(),
        id: message.message_id().unwrap_or_default(),
        body: message.body().unwrap_or_default(),
        traceparent: trace.and_then(|value| value.string_value()),
    };
    let fate = tokio::select! {
        biased;
        fate = worker.take(received, &deadline) => fate,
        () = queue.keep_hidden(handle) => return,
    };
    match fate {
        Fate::Done => queue.delete(handle).await,
        Fate::Again(after) => queue.hide_for(handle, after).await,
        Fate::Leave => {}
    }
}
