//! Delays of messages and of queues.

use crate::setup::*;
use everlog_sqs::{ErrorKind, OutgoingMessage};

fn delayed(body: &str, delay_s: u32) -> OutgoingMessage {
    OutgoingMessage { delay_s: Some(delay_s), ..OutgoingMessage::new(body) }
}

#[tokio::test(start_paused = true)]
async fn delayed_message_is_visible_after_its_delay() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    engine.send(&url, delayed("a", 900)).await.unwrap();
    advance_ms(899_999).await;
    assert!(poll(&engine, &url, 5).await.is_empty());
    assert_eq!(counts(&engine, &url).await, [0, 1, 0]);
    advance_ms(1).await;
    poll_one(&engine, &url, 5).await;
}

#[tokio::test(start_paused = true)]
async fn later_message_without_delay_overtakes() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    engine.send(&url, delayed("slow", 5)).await.unwrap();
    send(&engine, &url, "fast").await;
    assert_eq!(bodies(&poll(&engine, &url, 60).await), ["fast"]);
    advance_s(5).await;
    assert_eq!(bodies(&poll(&engine, &url, 60).await), ["slow"]);
}

#[tokio::test(start_paused = true)]
async fn delay_beyond_fifteen_minutes_is_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let refused = engine.send(&url, delayed("a", 901)).await;
    assert_eq!(kind(refused), ErrorKind::InvalidParameterValue);
    advance_s(901).await;
    assert!(poll(&engine, &url, 5).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn queue_delay_holds_for_messages_without_their_own() {
    let engine = engine();
    let url = standard(&engine, &[("DelaySeconds", "10")]).await;
    send(&engine, &url, "queue's").await;
    engine.send(&url, delayed("own", 0)).await.unwrap();
    assert_eq!(bodies(&poll(&engine, &url, 60).await), ["own"]);
    advance_s(10).await;
    assert_eq!(bodies(&poll(&engine, &url, 60).await), ["queue's"]);
}

#[tokio::test(start_paused = true)]
async fn new_queue_delay_of_a_standard_queue_leaves_what_was_sent() {
    let engine = engine();
    let url = standard(&engine, &[("DelaySeconds", "10")]).await;
    send(&engine, &url, "a").await;
    engine.set_attributes(&url, &attributes(&[("DelaySeconds", "0")])).await.unwrap();
    assert!(poll(&engine, &url, 5).await.is_empty());
    advance_s(10).await;
    poll_one(&engine, &url, 5).await;
}

#[tokio::test(start_paused = true)]
async fn fifo_refuses_a_delay_per_message() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    let refused = engine.send(&url, delayed("a", 2).in_group("g", "1")).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::InvalidParameterValue);
    assert_eq!(
        refused.message,
        "Value 2 for parameter DelaySeconds is invalid. Reason: \
         The request include parameter that is not valid for this queue type."
    );
    engine.send(&url, delayed("a", 0).in_group("g", "1")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn fifo_queue_delay_holds_back_every_message_in_order() {
    let engine = engine();
    let url = fifo(&engine, &[("DelaySeconds", "10")]).await;
    send_in(&engine, &url, "g", "1").await;
    advance_s(4).await;
    send_in(&engine, &url, "g", "2").await;
    assert_eq!(counts(&engine, &url).await, [0, 2, 0]);
    advance_s(6).await;
    assert_eq!(bodies(&poll(&engine, &url, 1).await), ["1"]);
    advance_s(4).await;
    assert_eq!(bodies(&poll(&engine, &url, 60).await), ["1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn new_queue_delay_of_a_fifo_queue_holds_for_what_was_sent() {
    let engine = engine();
    let url = fifo(&engine, &[("DelaySeconds", "600")]).await;
    send_in(&engine, &url, "g", "1").await;
    engine.set_attributes(&url, &attributes(&[("DelaySeconds", "5")])).await.unwrap();
    assert!(poll(&engine, &url, 5).await.is_empty());
    advance_s(5).await;
    poll_one(&engine, &url, 5).await;
}

#[tokio::test(start_paused = true)]
async fn redelivery_is_not_delayed_again() {
    let engine = engine();
    let url = fifo(&engine, &[("DelaySeconds", "10")]).await;
    send_in(&engine, &url, "g", "1").await;
    advance_s(10).await;
    let message = poll_one(&engine, &url, 60).await;
    engine.change_visibility(&url, &message.receipt_handle, 0).await.unwrap();
    poll_one(&engine, &url, 5).await;
}
