//! Visibility time-outs and receive counts.

use crate::setup::*;
use everlog_sqs::{ErrorKind, Receive};

#[tokio::test(start_paused = true)]
async fn received_message_is_invisible_until_its_timeout() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let id = send(&engine, &url, "a").await;
    assert_eq!(poll_one(&engine, &url, 30).await.message_id, id);
    advance_ms(29_999).await;
    assert!(poll(&engine, &url, 30).await.is_empty());
    advance_ms(1).await;
    assert_eq!(poll_one(&engine, &url, 30).await.message_id, id);
}

#[tokio::test(start_paused = true)]
async fn receive_without_a_visibility_takes_the_queues() {
    let engine = engine();
    let url = standard(&engine, &[("VisibilityTimeout", "7")]).await;
    send(&engine, &url, "a").await;
    engine.receive(&url, Receive::default()).await.unwrap();
    advance_ms(6_999).await;
    assert!(poll(&engine, &url, 30).await.is_empty());
    advance_ms(1).await;
    poll_one(&engine, &url, 30).await;
}

#[tokio::test(start_paused = true)]
async fn received_with_visibility_zero_is_visible_to_the_next_receive() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    assert_eq!(poll_one(&engine, &url, 0).await.receive_count, 1);
    assert_eq!(poll_one(&engine, &url, 0).await.receive_count, 2);
}

#[tokio::test(start_paused = true)]
async fn visibility_beyond_twelve_hours_is_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let receive = Receive { visibility_s: Some(43_201), ..Receive::default() };
    assert_eq!(kind(engine.receive(&url, receive).await), ErrorKind::InvalidParameterValue);
    let message = poll_one(&engine, &url, 43_200).await;
    let beyond = engine.change_visibility(&url, &message.receipt_handle, 43_201).await;
    assert_eq!(kind(beyond), ErrorKind::InvalidParameterValue);
}

#[tokio::test(start_paused = true)]
async fn receives_are_counted_and_the_first_is_remembered() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    advance_ms(250).await;
    send(&engine, &url, "a").await;
    advance_s(5).await;
    poll_one(&engine, &url, 1).await;
    advance_s(1).await;
    let second = poll_one(&engine, &url, 1).await;
    assert_eq!(second.receive_count, 2);
    assert_eq!(second.sent_ms, EPOCH_MS + 250);
    assert_eq!(second.first_received_ms, EPOCH_MS + 5_250);
}

#[tokio::test(start_paused = true)]
async fn change_visibility_counts_from_now() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let message = poll_one(&engine, &url, 10).await;
    advance_s(8).await;
    engine.change_visibility(&url, &message.receipt_handle, 10).await.unwrap();
    advance_ms(9_999).await;
    assert!(poll(&engine, &url, 1).await.is_empty());
    advance_ms(1).await;
    poll_one(&engine, &url, 1).await;
}

#[tokio::test(start_paused = true)]
async fn change_visibility_can_shorten() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let message = poll_one(&engine, &url, 600).await;
    engine.change_visibility(&url, &message.receipt_handle, 2).await.unwrap();
    advance_s(2).await;
    poll_one(&engine, &url, 1).await;
}

#[tokio::test(start_paused = true)]
async fn change_visibility_to_zero_shows_the_message_at_once() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let message = poll_one(&engine, &url, 600).await;
    engine.change_visibility(&url, &message.receipt_handle, 0).await.unwrap();
    assert_eq!(poll_one(&engine, &url, 1).await.receive_count, 2);
}

#[tokio::test(start_paused = true)]
async fn change_visibility_beyond_twelve_hours_from_the_receive_is_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let message = poll_one(&engine, &url, 43_200).await;
    advance_s(43_100).await;
    let handle = &message.receipt_handle;
    let beyond = engine.change_visibility(&url, handle, 101).await;
    assert_eq!(kind(beyond), ErrorKind::InvalidParameterValue);
    engine.change_visibility(&url, handle, 100).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn change_visibility_after_the_timeout_is_not_in_flight() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let message = poll_one(&engine, &url, 5).await;
    advance_s(5).await;
    let late = engine.change_visibility(&url, &message.receipt_handle, 60).await;
    assert_eq!(kind(late), ErrorKind::MessageNotInflight);
    poll_one(&engine, &url, 5).await;
}

#[tokio::test(start_paused = true)]
async fn change_visibility_of_a_message_received_again_leaves_the_new_receive() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let old = poll_one(&engine, &url, 5).await;
    advance_s(5).await;
    poll_one(&engine, &url, 60).await;
    let stale = engine.change_visibility(&url, &old.receipt_handle, 0).await;
    assert_eq!(kind(stale), ErrorKind::InvalidParameterValue);
    assert!(poll(&engine, &url, 5).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn change_visibility_of_a_deleted_message_is_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let message = poll_one(&engine, &url, 5).await;
    engine.delete(&url, &message.receipt_handle).await.unwrap();
    let gone = engine.change_visibility(&url, &message.receipt_handle, 5).await.unwrap_err();
    assert_eq!(gone.kind, ErrorKind::InvalidParameterValue);
    assert!(gone.message.contains("not available for visibility timeout change"));
}

#[tokio::test(start_paused = true)]
async fn released_poison_message_does_not_starve_the_others() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "poison").await;
    advance_ms(1).await;
    send(&engine, &url, "good").await;
    advance_ms(1).await;
    let poison = poll_for(&engine, &url, 1, 30).await.remove(0);
    engine.change_visibility(&url, &poison.receipt_handle, 0).await.unwrap();
    assert_eq!(bodies(&poll_for(&engine, &url, 1, 30).await), ["good"]);
}

#[tokio::test(start_paused = true)]
async fn clones_of_an_engine_share_its_queues() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let clone = engine.clone();
    let id = tokio::spawn(async move { send(&clone, &url, "a").await }).await.unwrap();
    let url = engine.get_queue_url("work").await.unwrap();
    assert_eq!(poll_one(&engine, &url, 5).await.message_id, id);
}
