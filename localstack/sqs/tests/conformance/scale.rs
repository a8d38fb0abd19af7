//! Large queues: the work per call must not grow with them.
//!
//! No wall clock is asserted. A scan per receive would make these tests run
//! for minutes instead of a second, which is how a regression shows.

use crate::setup::*;
use everlog_sqs::{Engine, OutgoingMessage};

const MESSAGES: usize = 100_000;

async fn fill(engine: &Engine, url: &str, count: usize, group: Option<&str>) {
    for chunk in 0..count / 10 {
        let batch = (0..10).map(|offset| {
            let message = OutgoingMessage::new("x");
            match group {
                Some(group) => message.in_group(group, format!("{group}-{}", chunk * 10 + offset)),
                None => message,
            }
        });
        let outcome = engine.send_batch(url, entries(batch)).await.unwrap();
        assert!(outcome.failed.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn hundred_thousand_messages_are_received_released_and_deleted() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    fill(&engine, &url, MESSAGES, None).await;
    for _ in 0..MESSAGES / 10 {
        assert_eq!(poll(&engine, &url, 60).await.len(), 10);
    }
    assert_eq!(counts(&engine, &url).await, [0, 0, MESSAGES]);
    advance_s(60).await;
    let mut deleted = 0;
    loop {
        let received = poll(&engine, &url, 60).await;
        if received.is_empty() {
            break;
        }
        deleted += received.len();
        let handles = received.into_iter().map(|message| message.receipt_handle);
        assert!(engine.delete_batch(&url, entries(handles)).await.unwrap().failed.is_empty());
    }
    assert_eq!(deleted, MESSAGES);
    assert_eq!(counts(&engine, &url).await, [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn locked_group_of_fifty_thousand_does_not_slow_the_others_down() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    fill(&engine, &url, 50_000, Some("backlog")).await;
    poll_for(&engine, &url, 1, 43_200).await;
    for number in 0..20_000 {
        let group = format!("g{}", number % 100);
        send_in(&engine, &url, &group, &number.to_string()).await;
        let message = poll_one(&engine, &url, 60).await;
        assert_eq!(&*message.body, number.to_string());
        engine.delete(&url, &message.receipt_handle).await.unwrap();
    }
    assert_eq!(counts(&engine, &url).await, [49_999, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn twenty_thousand_locked_groups_do_not_slow_the_next_down() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    for number in 0..20_000 {
        let group = format!("g{number}");
        send_in(&engine, &url, &group, &format!("{number}-1")).await;
        send_in(&engine, &url, &group, &format!("{number}-2")).await;
        let message = poll_for(&engine, &url, 1, 43_200).await.remove(0);
        assert_eq!(&*message.body, format!("{number}-1"));
    }
    assert_eq!(counts(&engine, &url).await, [20_000, 0, 20_000]);
}

#[tokio::test(start_paused = true)]
async fn group_of_fifty_thousand_is_received_in_order_to_the_end() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    fill(&engine, &url, 50_000, Some("g")).await;
    let mut next = 0;
    while next < 50_000 {
        let received = poll(&engine, &url, 60).await;
        for message in &received {
            assert_eq!(message.deduplication_id.as_deref(), Some(&*format!("g-{next}")));
            next += 1;
        }
        let handles = received.into_iter().map(|message| message.receipt_handle);
        engine.delete_batch(&url, entries(handles)).await.unwrap();
    }
    assert!(poll(&engine, &url, 60).await.is_empty());
}
