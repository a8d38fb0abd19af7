//! Deduplication of sends to FIFO queues.

use crate::setup::*;
use everlog_sqs::{ErrorKind, OutgoingMessage};

fn by_content(body: &str, group: &str) -> OutgoingMessage {
    OutgoingMessage { group_id: Some(group.to_owned()), ..OutgoingMessage::new(body) }
}

#[tokio::test(start_paused = true)]
async fn duplicate_send_answers_the_first_message() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    let first = engine.send(&url, OutgoingMessage::new("a").in_group("g", "1")).await.unwrap();
    let other_body = OutgoingMessage::new("b").in_group("g", "1");
    let second = engine.send(&url, other_body).await.unwrap();
    assert_eq!(second.message_id, first.message_id);
    assert_eq!(second.sequence_number, first.sequence_number);
    assert_ne!(second.md5_of_body, first.md5_of_body, "the SDK verifies what it sent");
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn duplicate_is_recognised_after_the_message_was_deleted() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    let id = send_in(&engine, &url, "g", "a").await;
    let message = poll_one(&engine, &url, 30).await;
    engine.delete(&url, &message.receipt_handle).await.unwrap();
    assert_eq!(send_in(&engine, &url, "g", "a").await, id);
    assert!(poll(&engine, &url, 30).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn same_id_after_five_minutes_is_a_new_message() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    let id = send_in(&engine, &url, "g", "a").await;
    advance_ms(299_999).await;
    assert_eq!(send_in(&engine, &url, "g", "a").await, id);
    advance_ms(1).await;
    assert_ne!(send_in(&engine, &url, "g", "a").await, id, "a duplicate prolongs nothing");
    assert_eq!(poll(&engine, &url, 30).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn same_id_in_another_group_is_a_duplicate() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    let id = send_in(&engine, &url, "g", "a").await;
    assert_eq!(send_in(&engine, &url, "h", "a").await, id);
}

#[tokio::test(start_paused = true)]
async fn same_id_in_another_group_is_no_duplicate_if_the_scope_is_the_group() {
    let engine = engine();
    let url = fifo(&engine, &[("DeduplicationScope", "messageGroup")]).await;
    let id = send_in(&engine, &url, "g", "a").await;
    assert_ne!(send_in(&engine, &url, "h", "a").await, id);
    assert_eq!(send_in(&engine, &url, "g", "a").await, id);
}

#[tokio::test(start_paused = true)]
async fn same_body_is_a_duplicate_by_content() {
    let engine = engine();
    let url = fifo(&engine, &[("ContentBasedDeduplication", "true")]).await;
    let first = engine.send(&url, by_content("a", "g")).await.unwrap();
    let second = engine.send(&url, by_content("a", "g")).await.unwrap();
    let third = engine.send(&url, by_content("b", "g")).await.unwrap();
    assert_eq!(first.message_id, second.message_id);
    assert_ne!(first.message_id, third.message_id);
    let received = poll(&engine, &url, 30).await;
    assert_eq!(bodies(&received), ["a", "b"]);
    assert_eq!(
        received[0].deduplication_id.as_deref(),
        Some("ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
        "the SHA-256 of the body"
    );
}

#[tokio::test(start_paused = true)]
async fn own_id_goes_before_the_content() {
    let engine = engine();
    let url = fifo(&engine, &[("ContentBasedDeduplication", "true")]).await;
    let one = engine.send(&url, OutgoingMessage::new("a").in_group("g", "1")).await.unwrap();
    let two = engine.send(&url, OutgoingMessage::new("a").in_group("g", "2")).await.unwrap();
    assert_ne!(one.message_id, two.message_id);
}

#[tokio::test(start_paused = true)]
async fn send_without_an_id_is_refused_unless_by_content() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    let refused = engine.send(&url, by_content("a", "g")).await;
    assert_eq!(kind(refused), ErrorKind::InvalidParameterValue);
}

#[tokio::test(start_paused = true)]
async fn deduplication_id_on_a_standard_queue_is_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let message = OutgoingMessage::new("a").in_group("g", "1");
    assert_eq!(kind(engine.send(&url, message).await), ErrorKind::InvalidParameterValue);
}

#[tokio::test(start_paused = true)]
async fn refused_send_is_not_remembered() {
    let engine = engine();
    let url = fifo(&engine, &[("MaximumMessageSize", "1024")]).await;
    let long = OutgoingMessage::new("x".repeat(1_025)).in_group("g", "1");
    assert_eq!(kind(engine.send(&url, long).await), ErrorKind::InvalidParameterValue);
    engine.send(&url, OutgoingMessage::new("a").in_group("g", "1")).await.unwrap();
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["a"]);
}
