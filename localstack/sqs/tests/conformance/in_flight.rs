//! The limit on messages in flight.

use crate::setup::*;
use everlog_sqs::{Config, Engine, ErrorKind, Receive};
use std::time::Duration;

fn engine_of(in_flight_max: usize) -> Engine {
    Engine::new(Config { in_flight_max, ..Config::new(EPOCH_MS, BASE_URL) })
}

#[test]
fn limit_is_awss() {
    assert_eq!(Config::new(0, BASE_URL).in_flight_max, 120_000);
    assert_eq!(Config::new(0, BASE_URL).fifo_window, 120_000);
}

#[tokio::test(start_paused = true)]
async fn receive_stops_at_the_limit_and_a_short_poll_beyond_it_is_refused() {
    let engine = engine_of(3);
    let url = standard(&engine, &[]).await;
    for number in 0..5 {
        send(&engine, &url, &number.to_string()).await;
    }
    let received = poll(&engine, &url, 30).await;
    assert_eq!(received.len(), 3);
    let receive = Receive { wait_s: Some(0), ..Receive::default() };
    assert_eq!(kind(engine.receive(&url, receive).await), ErrorKind::OverLimit);
    engine.delete(&url, &received[0].receipt_handle).await.unwrap();
    assert_eq!(poll(&engine, &url, 30).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn long_poll_at_the_limit_waits_for_room() {
    let engine = engine_of(1);
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    send(&engine, &url, "b").await;
    let first = poll_one(&engine, &url, 600).await;
    let (waiting, queue) = (engine.clone(), url.clone());
    let sleeper = tokio::spawn(async move {
        let receive = Receive { wait_s: Some(20), ..Receive::default() };
        let messages = waiting.receive(&queue, receive).await.unwrap();
        (messages.len(), waiting.now_ms())
    });
    tokio::time::sleep(Duration::from_secs(7)).await;
    engine.delete(&url, &first.receipt_handle).await.unwrap();
    assert_eq!(sleeper.await.unwrap(), (1, EPOCH_MS + 7_000));
}

#[tokio::test(start_paused = true)]
async fn long_poll_at_the_limit_ends_empty() {
    let engine = engine_of(1);
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    send(&engine, &url, "b").await;
    poll_one(&engine, &url, 600).await;
    let receive = Receive { wait_s: Some(20), ..Receive::default() };
    assert!(engine.receive(&url, receive).await.unwrap().is_empty());
    assert_eq!(engine.now_ms(), EPOCH_MS + 20_000);
}

#[tokio::test(start_paused = true)]
async fn fifo_beyond_the_limit_answers_empty() {
    let engine = engine_of(1);
    let url = fifo(&engine, &[]).await;
    send_in(&engine, &url, "g", "a").await;
    send_in(&engine, &url, "h", "b").await;
    let first = poll_one(&engine, &url, 30).await;
    assert!(poll(&engine, &url, 30).await.is_empty());
    engine.delete(&url, &first.receipt_handle).await.unwrap();
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn timed_out_message_makes_room() {
    let engine = engine_of(1);
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    send(&engine, &url, "b").await;
    poll_one(&engine, &url, 10).await;
    advance_s(10).await;
    assert_eq!(bodies(&poll(&engine, &url, 10).await), ["b"]);
}
