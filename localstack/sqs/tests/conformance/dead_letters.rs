//! Dead-letter queues.

use crate::setup::*;
use everlog_sqs::{Engine, ErrorKind, Receive};
use std::collections::BTreeMap;
use std::time::Duration;

fn policy(target: &str, count: &str) -> String {
    format!(
        r#"{{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:{target}","maxReceiveCount":{count}}}"#
    )
}

/// A queue that gives up after `count` receives, and its dead-letter queue.
async fn pair(engine: &Engine, count: &str) -> (String, String) {
    let dead = engine.create_queue("dead", &BTreeMap::new()).await.unwrap();
    let url = standard(engine, &[("RedrivePolicy", &policy("dead", count))]).await;
    (url, dead)
}

async fn fifo_pair(engine: &Engine, count: &str) -> (String, String) {
    let fifo_dead = attributes(&[("FifoQueue", "true")]);
    let dead = engine.create_queue("dead.fifo", &fifo_dead).await.unwrap();
    let url = fifo(engine, &[("RedrivePolicy", &policy("dead.fifo", count))]).await;
    (url, dead)
}

#[tokio::test(start_paused = true)]
async fn receive_beyond_the_count_moves_the_message() {
    let engine = engine();
    let (url, dead) = pair(&engine, "2").await;
    let id = send(&engine, &url, "a").await;
    for count in 1..=2 {
        assert_eq!(poll_one(&engine, &url, 1).await.receive_count, count);
        assert!(poll(&engine, &dead, 1).await.is_empty());
        advance_s(1).await;
    }
    assert!(poll(&engine, &dead, 1).await.is_empty(), "no move without a receive");
    assert!(poll(&engine, &url, 1).await.is_empty());
    assert_eq!(counts(&engine, &url).await, [0, 0, 0]);
    let moved = poll_one(&engine, &dead, 1).await;
    assert_eq!(moved.message_id, id);
    assert_eq!(moved.sent_ms, EPOCH_MS);
    assert_eq!(moved.receive_count, 3);
    assert_eq!(
        moved.dead_letter_source.as_deref(),
        Some("arn:aws:sqs:us-east-1:000000000000:work")
    );
}

#[tokio::test(start_paused = true)]
async fn count_may_be_written_as_text() {
    let engine = engine();
    let (url, dead) = pair(&engine, "\"1\"").await;
    send(&engine, &url, "a").await;
    poll_one(&engine, &url, 0).await;
    assert!(poll(&engine, &url, 0).await.is_empty());
    poll_one(&engine, &dead, 1).await;
}

#[tokio::test(start_paused = true)]
async fn receive_that_moves_one_message_returns_the_others() {
    let engine = engine();
    let (url, dead) = pair(&engine, "1").await;
    send(&engine, &url, "old").await;
    poll_one(&engine, &url, 0).await;
    send(&engine, &url, "new").await;
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["new"]);
    assert_eq!(bodies(&poll(&engine, &dead, 30).await), ["old"]);
}

#[tokio::test(start_paused = true)]
async fn sleeper_at_the_dead_letter_queue_is_woken_by_the_move() {
    let engine = engine();
    let (url, dead) = pair(&engine, "1").await;
    send(&engine, &url, "a").await;
    poll_one(&engine, &url, 3).await;
    let waiting = engine.clone();
    let sleeper = tokio::spawn(async move {
        let receive = Receive { wait_s: Some(20), ..Receive::default() };
        let messages = waiting.receive(&dead, receive).await.unwrap();
        (messages.len(), waiting.now_ms())
    });
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(poll(&engine, &url, 3).await.is_empty());
    assert_eq!(sleeper.await.unwrap(), (1, EPOCH_MS + 3_000));
}

#[tokio::test(start_paused = true)]
async fn fifo_move_keeps_the_group_and_frees_it() {
    let engine = engine();
    let (url, dead) = fifo_pair(&engine, "1").await;
    let id = send_in(&engine, &url, "g", "1").await;
    send_in(&engine, &url, "g", "2").await;
    poll_for(&engine, &url, 1, 1).await;
    advance_s(1).await;
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["2"]);
    let moved = poll_one(&engine, &dead, 30).await;
    assert_eq!(moved.message_id, id);
    assert_eq!(moved.group_id.as_deref(), Some("g"));
    assert_eq!(moved.deduplication_id.as_deref(), Some("1"));
    assert_eq!(moved.sent_ms, EPOCH_MS);
}

#[tokio::test(start_paused = true)]
async fn message_in_the_dead_letter_queue_stays_there_until_deleted() {
    let engine = engine();
    let (url, dead) = pair(&engine, "1").await;
    send(&engine, &url, "a").await;
    poll_one(&engine, &url, 0).await;
    poll(&engine, &url, 0).await;
    for _ in 0..5 {
        poll_one(&engine, &dead, 0).await;
    }
    let last = poll_one(&engine, &dead, 30).await;
    engine.delete(&dead, &last.receipt_handle).await.unwrap();
    assert_eq!(counts(&engine, &dead).await, [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn chained_dead_letter_queue_counts_its_own_receives() {
    let engine = engine();
    engine.create_queue("last", &BTreeMap::new()).await.unwrap();
    let chained = attributes(&[("RedrivePolicy", &policy("last", "2"))]);
    let dead = engine.create_queue("dead", &chained).await.unwrap();
    let url = standard(&engine, &[("RedrivePolicy", &policy("dead", "3"))]).await;
    send(&engine, &url, "a").await;
    for _ in 0..3 {
        poll_one(&engine, &url, 0).await;
    }
    assert!(poll(&engine, &url, 0).await.is_empty());
    poll_one(&engine, &dead, 0).await;
    poll_one(&engine, &dead, 0).await;
    assert!(poll(&engine, &dead, 0).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn handle_from_before_the_move_deletes_nothing() {
    let engine = engine();
    let (url, dead) = pair(&engine, "1").await;
    send(&engine, &url, "a").await;
    let old = poll_one(&engine, &url, 0).await;
    poll(&engine, &url, 0).await;
    engine.delete(&url, &old.receipt_handle).await.unwrap();
    poll_one(&engine, &dead, 30).await;
}

#[tokio::test(start_paused = true)]
async fn without_its_dead_letter_queue_a_message_is_delivered_on() {
    let engine = engine();
    let (url, dead) = pair(&engine, "1").await;
    engine.delete_queue(&dead).await.unwrap();
    send(&engine, &url, "a").await;
    for count in 1..=3 {
        assert_eq!(poll_one(&engine, &url, 0).await.receive_count, count);
    }
}

#[tokio::test(start_paused = true)]
async fn removed_policy_moves_nothing() {
    let engine = engine();
    let (url, _) = pair(&engine, "1").await;
    send(&engine, &url, "a").await;
    poll_one(&engine, &url, 0).await;
    engine.set_attributes(&url, &attributes(&[("RedrivePolicy", "")])).await.unwrap();
    assert_eq!(poll_one(&engine, &url, 0).await.receive_count, 2);
}

#[tokio::test(start_paused = true)]
async fn wrong_redrive_policies_are_refused() {
    let engine = engine();
    engine.create_queue("dead", &BTreeMap::new()).await.unwrap();
    let url = standard(&engine, &[]).await;
    let no_count = r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead"}"#;
    for wrong in [
        policy("dead", "0"),
        policy("dead", "1001"),
        policy("dead", "\"many\""),
        policy("dead", "1.5"),
        policy("absent", "1"),
        no_count.to_owned(),
        r#"{"maxReceiveCount":1}"#.to_owned(),
        r#"{"deadLetterTargetArn":"dummy","maxReceiveCount":1}"#.to_owned(),
        "{".to_owned(),
    ] {
        let refused = engine.set_attributes(&url, &attributes(&[("RedrivePolicy", &wrong)])).await;
        assert_eq!(kind(refused), ErrorKind::InvalidParameterValue, "{wrong}");
    }
    assert!(!engine.attributes(&url).await.unwrap().contains_key("RedrivePolicy"));
}

#[tokio::test(start_paused = true)]
async fn dead_letter_queue_of_the_other_type_is_refused() {
    let engine = engine();
    engine.create_queue("dead", &BTreeMap::new()).await.unwrap();
    let policy = policy("dead", "1");
    let wrong = attributes(&[("FifoQueue", "true"), ("RedrivePolicy", &policy)]);
    let refused = engine.create_queue("work.fifo", &wrong).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::InvalidParameterValue);
    assert!(refused.message.contains("same type"));
    assert_eq!(kind(engine.get_queue_url("work.fifo").await), ErrorKind::QueueDoesNotExist);
}
