//! Long polls: what wakes them, and what does not.

use crate::setup::*;
use everlog_sqs::{Config, Engine, ErrorKind, OutgoingMessage, Receive, SqsError};
use std::time::Duration;
use tokio::task::JoinHandle;

/// A poll in the background: what it found, and after how many milliseconds.
fn sleeper(
    engine: &Engine,
    url: &str,
    wait_s: u32,
) -> JoinHandle<Result<(Vec<String>, u64), SqsError>> {
    let (engine, url) = (engine.clone(), url.to_owned());
    tokio::spawn(async move {
        let receive = Receive { max_messages: 1, wait_s: Some(wait_s), visibility_s: Some(2) };
        let messages = engine.receive(&url, receive).await?;
        let bodies = messages.iter().map(|message| message.body.to_string()).collect();
        Ok((bodies, engine.now_ms() - EPOCH_MS))
    })
}

/// Lets the other tasks run and time go on.
async fn sleep_ms(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

fn found(body: &str, after_ms: u64) -> (Vec<String>, u64) {
    (vec![body.to_owned()], after_ms)
}

#[tokio::test(start_paused = true)]
async fn poll_of_an_empty_queue_ends_empty_after_its_wait() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let answer = sleeper(&engine, &url, 20).await.unwrap().unwrap();
    assert_eq!(answer, (vec![], 20_000));
}

#[tokio::test(start_paused = true)]
async fn poll_without_a_wait_takes_the_queues() {
    let engine = engine();
    let url = standard(&engine, &[("ReceiveMessageWaitTimeSeconds", "4")]).await;
    assert!(engine.receive(&url, Receive::default()).await.unwrap().is_empty());
    assert_eq!(engine.now_ms(), EPOCH_MS + 4_000);
}

#[tokio::test(start_paused = true)]
async fn message_that_is_there_ends_the_poll_at_once() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    assert_eq!(sleeper(&engine, &url, 20).await.unwrap().unwrap(), found("a", 0));
}

#[tokio::test(start_paused = true)]
async fn send_wakes_the_poll() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let poll = sleeper(&engine, &url, 20);
    sleep_ms(1_234).await;
    send(&engine, &url, "a").await;
    assert_eq!(poll.await.unwrap().unwrap(), found("a", 1_234));
}

#[tokio::test(start_paused = true)]
async fn send_wakes_one_poll_and_the_other_goes_on_waiting() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let polls = [sleeper(&engine, &url, 1), sleeper(&engine, &url, 1)];
    sleep_ms(500).await;
    send(&engine, &url, "a").await;
    let mut after = Vec::new();
    for poll in polls {
        after.push(poll.await.unwrap().unwrap().1);
    }
    after.sort_unstable();
    assert_eq!(after, [500, 1_000]);
}

#[tokio::test(start_paused = true)]
async fn batch_of_messages_wakes_as_many_polls() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let polls: Vec<_> = (0..5).map(|_| sleeper(&engine, &url, 20)).collect();
    sleep_ms(100).await;
    let batch = entries((0..5).map(|number| OutgoingMessage::new(number.to_string())));
    engine.send_batch(&url, batch).await.unwrap();
    let mut bodies = Vec::new();
    for poll in polls {
        let (messages, after_ms) = poll.await.unwrap().unwrap();
        assert_eq!(after_ms, 100);
        bodies.extend(messages);
    }
    bodies.sort();
    assert_eq!(bodies, ["0", "1", "2", "3", "4"]);
}

#[tokio::test(start_paused = true)]
async fn poll_that_is_dropped_passes_its_wake_on() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let dropped = sleeper(&engine, &url, 20);
    sleep_ms(1).await;
    let other = sleeper(&engine, &url, 20);
    sleep_ms(99).await;
    send(&engine, &url, "a").await;
    dropped.abort();
    assert_eq!(other.await.unwrap().unwrap(), found("a", 100));
}

#[tokio::test(start_paused = true)]
async fn poll_wakes_when_a_delay_ends() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let message = OutgoingMessage { delay_s: Some(7), ..OutgoingMessage::new("a") };
    engine.send(&url, message).await.unwrap();
    assert_eq!(sleeper(&engine, &url, 20).await.unwrap().unwrap(), found("a", 7_000));
}

#[tokio::test(start_paused = true)]
async fn poll_wakes_when_the_delay_of_a_later_send_ends() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let poll = sleeper(&engine, &url, 20);
    sleep_ms(500).await;
    let message = OutgoingMessage { delay_s: Some(3), ..OutgoingMessage::new("a") };
    engine.send(&url, message).await.unwrap();
    assert_eq!(poll.await.unwrap().unwrap(), found("a", 3_500));
}

#[tokio::test(start_paused = true)]
async fn poll_wakes_when_a_visibility_times_out_that_began_after_it() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let polls = [sleeper(&engine, &url, 20), sleeper(&engine, &url, 20)];
    sleep_ms(1_000).await;
    send(&engine, &url, "a").await;
    let mut after = Vec::new();
    for poll in polls {
        after.push(poll.await.unwrap().unwrap().1);
    }
    after.sort_unstable();
    assert_eq!(after, [1_000, 3_000], "the second has it after the first one's two seconds");
}

#[tokio::test(start_paused = true)]
async fn poll_wakes_when_a_message_is_released() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let message = poll_one(&engine, &url, 600).await;
    let poll = sleeper(&engine, &url, 20);
    sleep_ms(2_500).await;
    engine.change_visibility(&url, &message.receipt_handle, 0).await.unwrap();
    assert_eq!(poll.await.unwrap().unwrap(), found("a", 2_500));
}

#[tokio::test(start_paused = true)]
async fn poll_wakes_when_a_visibility_is_shortened() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let message = poll_one(&engine, &url, 600).await;
    let poll = sleeper(&engine, &url, 20);
    sleep_ms(1_000).await;
    engine.change_visibility(&url, &message.receipt_handle, 4).await.unwrap();
    assert_eq!(poll.await.unwrap().unwrap(), found("a", 5_000));
}

#[tokio::test(start_paused = true)]
async fn poll_wakes_when_a_visibility_of_zero_was_received() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let poll = sleeper(&engine, &url, 20);
    sleep_ms(10).await;
    send(&engine, &url, "a").await;
    poll_one(&engine, &url, 0).await;
    assert_eq!(poll.await.unwrap().unwrap(), found("a", 10));
}

#[tokio::test(start_paused = true)]
async fn poll_that_takes_with_a_visibility_of_zero_wakes_the_next() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let visibility_zero = Receive { wait_s: Some(20), visibility_s: Some(0), ..Receive::default() };
    let (first, queue) = (engine.clone(), url.clone());
    let first = tokio::spawn(async move { first.receive(&queue, visibility_zero).await });
    sleep_ms(1).await;
    let second = sleeper(&engine, &url, 20);
    sleep_ms(9).await;
    send(&engine, &url, "a").await;
    assert_eq!(first.await.unwrap().unwrap().len(), 1);
    assert_eq!(second.await.unwrap().unwrap(), found("a", 10));
}

#[tokio::test(start_paused = true)]
async fn poll_wakes_when_a_group_comes_into_the_window() {
    let engine = Engine::new(Config { fifo_window: 2, ..Config::new(EPOCH_MS, BASE_URL) });
    let url = fifo(&engine, &[]).await;
    for (group, body) in [("backlog", "1"), ("backlog", "2"), ("free", "3")] {
        send_in(&engine, &url, group, body).await;
    }
    let backlog = poll(&engine, &url, 600).await;
    assert_eq!(bodies(&backlog), ["1", "2"]);
    let poll = sleeper(&engine, &url, 20);
    sleep_ms(3_000).await;
    engine.delete(&url, &backlog[0].receipt_handle).await.unwrap();
    assert_eq!(poll.await.unwrap().unwrap(), found("3", 3_000));
}

#[tokio::test(start_paused = true)]
async fn poll_wakes_when_a_group_is_freed() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    send_in(&engine, &url, "g", "1").await;
    let first = poll_one(&engine, &url, 600).await;
    send_in(&engine, &url, "g", "2").await;
    let poll = sleeper(&engine, &url, 20);
    sleep_ms(3_000).await;
    engine.delete(&url, &first.receipt_handle).await.unwrap();
    assert_eq!(poll.await.unwrap().unwrap(), found("2", 3_000));
}

#[tokio::test(start_paused = true)]
async fn poll_wakes_when_a_fifo_visibility_times_out() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    send_in(&engine, &url, "g", "1").await;
    poll_one(&engine, &url, 9).await;
    assert_eq!(sleeper(&engine, &url, 20).await.unwrap().unwrap(), found("1", 9_000));
}

#[tokio::test(start_paused = true)]
async fn poll_wakes_when_a_fifo_delay_is_lowered() {
    let engine = engine();
    let url = fifo(&engine, &[("DelaySeconds", "600")]).await;
    send_in(&engine, &url, "g", "1").await;
    let poll = sleeper(&engine, &url, 20);
    sleep_ms(1_000).await;
    engine.set_attributes(&url, &attributes(&[("DelaySeconds", "3")])).await.unwrap();
    assert_eq!(poll.await.unwrap().unwrap(), found("1", 3_000));
}

#[tokio::test(start_paused = true)]
async fn poll_of_a_deleted_queue_ends_with_an_error() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let poll = sleeper(&engine, &url, 20);
    sleep_ms(1_000).await;
    engine.delete_queue(&url).await.unwrap();
    assert_eq!(kind(poll.await.unwrap()), ErrorKind::QueueDoesNotExist);
    assert_eq!(engine.now_ms(), EPOCH_MS + 1_000);
}

#[tokio::test(start_paused = true)]
async fn message_that_comes_with_the_end_of_the_wait_is_received() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let message = OutgoingMessage { delay_s: Some(5), ..OutgoingMessage::new("a") };
    engine.send(&url, message).await.unwrap();
    assert_eq!(sleeper(&engine, &url, 5).await.unwrap().unwrap(), found("a", 5_000));
}

#[tokio::test(start_paused = true)]
async fn wait_beyond_twenty_seconds_is_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    assert_eq!(kind(sleeper(&engine, &url, 21).await.unwrap()), ErrorKind::InvalidParameterValue);
}

#[tokio::test(start_paused = true)]
async fn receive_of_none_or_of_eleven_is_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    for max_messages in [0, 11] {
        let receive = Receive { max_messages, ..Receive::default() };
        assert_eq!(kind(engine.receive(&url, receive).await), ErrorKind::InvalidParameterValue);
    }
}
