//! Receipt handles: current, stale, foreign and made up.

use crate::setup::*;
use everlog_sqs::ErrorKind;

#[tokio::test(start_paused = true)]
async fn deleted_message_never_comes_again() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let message = poll_one(&engine, &url, 5).await;
    engine.delete(&url, &message.receipt_handle).await.unwrap();
    advance_s(100).await;
    assert!(poll(&engine, &url, 5).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn deleting_twice_succeeds() {
    let engine = engine();
    for url in [standard(&engine, &[]).await, fifo(&engine, &[]).await] {
        let is_fifo = url.ends_with(".fifo");
        if is_fifo {
            send_in(&engine, &url, "g", "a").await
        } else {
            send(&engine, &url, "a").await
        };
        let message = poll_one(&engine, &url, 5).await;
        engine.delete(&url, &message.receipt_handle).await.unwrap();
        engine.delete(&url, &message.receipt_handle).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn made_up_handle_is_invalid() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let handle = poll_one(&engine, &url, 5).await.receipt_handle;
    let mut flipped = handle.clone();
    flipped.replace_range(20..21, if &handle[20..21] == "0" { "1" } else { "0" });
    for garbage in ["", "garbage", "AQEBé", &handle[1..], &flipped] {
        let refused = engine.delete(&url, garbage).await;
        assert_eq!(kind(refused), ErrorKind::ReceiptHandleIsInvalid, "{garbage}");
        let refused = engine.change_visibility(&url, garbage, 1).await;
        assert_eq!(kind(refused), ErrorKind::ReceiptHandleIsInvalid, "{garbage}");
    }
    engine.delete(&url, &handle).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn handle_of_another_queue_is_invalid() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let other = engine.create_queue("other", &attributes(&[])).await.unwrap();
    send(&engine, &url, "a").await;
    let handle = poll_one(&engine, &url, 5).await.receipt_handle;
    assert_eq!(kind(engine.delete(&other, &handle).await), ErrorKind::ReceiptHandleIsInvalid);
}

#[tokio::test(start_paused = true)]
async fn handle_of_a_queue_before_it_was_created_anew_is_invalid() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let handle = poll_one(&engine, &url, 5).await.receipt_handle;
    engine.delete_queue(&url).await.unwrap();
    advance_s(60).await;
    let url = standard(&engine, &[]).await;
    assert_eq!(kind(engine.delete(&url, &handle).await), ErrorKind::ReceiptHandleIsInvalid);
}

#[tokio::test(start_paused = true)]
async fn standard_handle_after_the_timeout_deletes_if_nobody_received_again() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let message = poll_one(&engine, &url, 5).await;
    advance_s(6).await;
    engine.delete(&url, &message.receipt_handle).await.unwrap();
    assert!(poll(&engine, &url, 5).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn standard_handle_older_than_the_last_receive_succeeds_and_deletes_nothing() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let old = poll_one(&engine, &url, 5).await;
    advance_s(5).await;
    poll_one(&engine, &url, 5).await;
    engine.delete(&url, &old.receipt_handle).await.unwrap();
    advance_s(5).await;
    assert_eq!(poll_one(&engine, &url, 5).await.receive_count, 3);
}

#[tokio::test(start_paused = true)]
async fn fifo_handle_after_the_timeout_is_expired() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    send_in(&engine, &url, "g", "a").await;
    let message = poll_one(&engine, &url, 5).await;
    advance_s(5).await;
    let expired = engine.delete(&url, &message.receipt_handle).await.unwrap_err();
    assert_eq!(expired.kind, ErrorKind::InvalidParameterValue);
    assert!(expired.message.ends_with("Reason: The receipt handle has expired."));
    poll_one(&engine, &url, 5).await;
}

#[tokio::test(start_paused = true)]
async fn fifo_handle_older_than_the_last_receive_is_expired() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    send_in(&engine, &url, "g", "a").await;
    let old = poll_one(&engine, &url, 5).await;
    advance_s(5).await;
    let new = poll_one(&engine, &url, 5).await;
    let refused = engine.delete(&url, &old.receipt_handle).await;
    assert_eq!(kind(refused), ErrorKind::InvalidParameterValue);
    engine.delete(&url, &new.receipt_handle).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn each_receive_gives_another_handle() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    let first = poll_one(&engine, &url, 0).await;
    let second = poll_one(&engine, &url, 0).await;
    assert_ne!(first.receipt_handle, second.receipt_handle);
    assert_eq!(first.message_id, second.message_id);
}
