//! Retention: messages that grow too old.

use crate::setup::*;
use everlog_sqs::Receive;

#[tokio::test(start_paused = true)]
async fn message_older_than_the_retention_is_gone() {
    let engine = engine();
    let url = standard(&engine, &[("MessageRetentionPeriod", "60")]).await;
    send(&engine, &url, "a").await;
    advance_ms(59_999).await;
    poll_one(&engine, &url, 0).await;
    advance_ms(1).await;
    assert!(poll(&engine, &url, 0).await.is_empty());
    assert_eq!(counts(&engine, &url).await, [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn default_retention_is_four_days() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    advance_s(4 * 24 * 3_600 - 1).await;
    poll_one(&engine, &url, 0).await;
    advance_s(1).await;
    assert!(poll(&engine, &url, 0).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn message_in_flight_expires_too_and_its_handle_deletes_nothing() {
    let engine = engine();
    let url = standard(&engine, &[("MessageRetentionPeriod", "60")]).await;
    send(&engine, &url, "a").await;
    let message = poll_one(&engine, &url, 600).await;
    advance_s(60).await;
    assert_eq!(counts(&engine, &url).await, [0, 0, 0]);
    engine.delete(&url, &message.receipt_handle).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn expiry_of_the_message_in_flight_frees_its_group() {
    let engine = engine();
    let url = fifo(&engine, &[("MessageRetentionPeriod", "60")]).await;
    send_in(&engine, &url, "g", "1").await;
    advance_s(45).await;
    send_in(&engine, &url, "g", "2").await;
    poll_for(&engine, &url, 1, 600).await;
    let receive = Receive { wait_s: Some(20), ..Receive::default() };
    let found = engine.receive(&url, receive).await.unwrap();
    assert_eq!(bodies(&found), ["2"]);
    assert_eq!(engine.now_ms(), EPOCH_MS + 60_000, "the sleeper woke at the expiry");
}

#[tokio::test(start_paused = true)]
async fn shorter_retention_holds_for_what_was_sent() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    advance_s(61).await;
    let shorter = attributes(&[("MessageRetentionPeriod", "60")]);
    engine.set_attributes(&url, &shorter).await.unwrap();
    assert!(poll(&engine, &url, 0).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn retention_goes_on_in_the_dead_letter_queue_of_a_standard_queue() {
    let engine = engine();
    let short = attributes(&[("MessageRetentionPeriod", "60")]);
    let dead = engine.create_queue("dead", &short).await.unwrap();
    let policy =
        r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":1}"#;
    let url = standard(&engine, &[("RedrivePolicy", policy)]).await;
    send(&engine, &url, "a").await;
    poll_one(&engine, &url, 0).await;
    advance_s(50).await;
    assert!(poll(&engine, &url, 0).await.is_empty());
    poll_one(&engine, &dead, 0).await;
    advance_s(10).await;
    assert!(poll(&engine, &dead, 0).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn retention_begins_again_in_the_dead_letter_queue_of_a_fifo_queue() {
    let engine = engine();
    let short = attributes(&[("FifoQueue", "true"), ("MessageRetentionPeriod", "60")]);
    let dead = engine.create_queue("dead.fifo", &short).await.unwrap();
    let policy = r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":1}"#;
    let url = fifo(&engine, &[("RedrivePolicy", policy)]).await;
    send_in(&engine, &url, "g", "a").await;
    poll_one(&engine, &url, 0).await;
    advance_s(50).await;
    assert!(poll(&engine, &url, 0).await.is_empty());
    advance_s(59).await;
    assert_eq!(poll_one(&engine, &dead, 0).await.sent_ms, EPOCH_MS);
    advance_s(1).await;
    assert!(poll(&engine, &dead, 0).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn purge_deletes_what_waits_what_is_delayed_and_what_is_in_flight() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    for body in ["a", "b"] {
        send(&engine, &url, body).await;
    }
    let late = everlog_sqs::OutgoingMessage {
        delay_s: Some(60),
        ..everlog_sqs::OutgoingMessage::new("c")
    };
    engine.send(&url, late).await.unwrap();
    let in_flight = poll_for(&engine, &url, 1, 5).await.remove(0);
    assert_eq!(counts(&engine, &url).await, [1, 1, 1]);
    engine.purge(&url).await.unwrap();
    advance_s(60).await;
    assert!(poll(&engine, &url, 0).await.is_empty());
    engine.delete(&url, &in_flight.receipt_handle).await.unwrap();
    send(&engine, &url, "d").await;
    assert_eq!(bodies(&poll(&engine, &url, 0).await), ["d"]);
}
