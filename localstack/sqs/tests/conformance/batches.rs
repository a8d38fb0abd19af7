//! Batches: rules for the whole, and entries that fail alone.

use crate::setup::*;
use everlog_sqs::{BatchOutcome, Entry, ErrorKind, OutgoingMessage, VisibilityChange};

fn messages(bodies: &[&str]) -> Vec<Entry<OutgoingMessage>> {
    entries(bodies.iter().map(|body| OutgoingMessage::new(*body)))
}

fn ids<T>(outcome: &BatchOutcome<T>) -> (Vec<&str>, Vec<(&str, ErrorKind)>) {
    let done = outcome.successful.iter().map(|entry| entry.id.as_str()).collect();
    let failed = outcome.failed.iter().map(|entry| (entry.id.as_str(), entry.item.kind)).collect();
    (done, failed)
}

#[tokio::test(start_paused = true)]
async fn batch_is_sent_in_order() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    let batch = entries(["1", "2", "3"].map(|body| OutgoingMessage::new(body).in_group("g", body)));
    let outcome = engine.send_batch(&url, batch).await.unwrap();
    assert_eq!(ids(&outcome), (vec!["e0", "e1", "e2"], vec![]));
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["1", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn entry_with_an_invalid_character_fails_alone() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let outcome = engine.send_batch(&url, messages(&["a", "b\u{1}", "c"])).await.unwrap();
    assert_eq!(ids(&outcome), (vec!["e0", "e2"], vec![("e1", ErrorKind::InvalidMessageContents)]));
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["a", "c"]);
}

#[tokio::test(start_paused = true)]
async fn entries_that_the_queue_refuses_fail_alone() {
    let engine = engine();
    let url = standard(&engine, &[("MaximumMessageSize", "1024")]).await;
    let mut batch = messages(&["a", &"x".repeat(1_025), "c"]);
    batch[2].item.delay_s = Some(901);
    let outcome = engine.send_batch(&url, batch).await.unwrap();
    let refused = ErrorKind::InvalidParameterValue;
    assert_eq!(ids(&outcome), (vec!["e0"], vec![("e1", refused), ("e2", refused)]));
}

#[tokio::test(start_paused = true)]
async fn fifo_entry_with_a_delay_fails_alone() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    let mut batch = entries(["1", "2"].map(|body| OutgoingMessage::new(body).in_group("g", body)));
    batch[0].item.delay_s = Some(1);
    let outcome = engine.send_batch(&url, batch).await.unwrap();
    assert_eq!(ids(&outcome), (vec!["e1"], vec![("e0", ErrorKind::InvalidParameterValue)]));
}

#[tokio::test(start_paused = true)]
async fn duplicate_within_a_batch_answers_the_first_entry() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    let batch = entries(["1", "1"].map(|body| OutgoingMessage::new(body).in_group("g", body)));
    let outcome = engine.send_batch(&url, batch).await.unwrap();
    assert_eq!(outcome.successful[0].item, outcome.successful[1].item);
    assert_eq!(poll(&engine, &url, 30).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn fifo_batch_without_a_group_or_an_id_is_refused_as_a_whole() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    let good = || OutgoingMessage::new("good").in_group("g", "1");
    let no_group = OutgoingMessage { group_id: None, ..good() };
    let no_id = OutgoingMessage { deduplication_id: None, ..good() };
    for bad in [no_group, no_id] {
        let refused = engine.send_batch(&url, entries([good(), bad])).await;
        assert_eq!(kind(refused), ErrorKind::InvalidParameterValue);
    }
    assert!(poll(&engine, &url, 30).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn batch_of_one_mebibyte_is_accepted_and_one_byte_more_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let half = "x".repeat(524_288);
    engine.send_batch(&url, messages(&[&half, &half])).await.unwrap();
    let more = "x".repeat(524_289);
    let refused = engine.send_batch(&url, messages(&[&half, &more])).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::BatchRequestTooLong);
    assert_eq!(
        refused.message,
        "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes."
    );
    assert_eq!(poll(&engine, &url, 30).await.len(), 2);
}

/// Sends, deletes and changes with these ids, and answers how each fared.
async fn refusals(ids: &[&str]) -> [ErrorKind; 3] {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let sends = ids.iter().map(|id| Entry::new(*id, OutgoingMessage::new("a"))).collect();
    let deletes = ids.iter().map(|id| Entry::new(*id, "h".to_owned())).collect();
    let change = VisibilityChange { receipt_handle: "h".to_owned(), visibility_s: 1 };
    let changes = ids.iter().map(|id| Entry::new(*id, change.clone())).collect();
    let kinds = [
        kind(engine.send_batch(&url, sends).await),
        kind(engine.delete_batch(&url, deletes).await),
        kind(engine.change_visibility_batch(&url, changes).await),
    ];
    assert!(poll(&engine, &url, 0).await.is_empty());
    kinds
}

#[tokio::test(start_paused = true)]
async fn empty_batch_is_refused() {
    assert_eq!(refusals(&[]).await, [ErrorKind::EmptyBatchRequest; 3]);
}

#[tokio::test(start_paused = true)]
async fn eleventh_entry_is_refused() {
    let ids: Vec<String> = (0..11).map(|number| number.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(refusals(&ids).await, [ErrorKind::TooManyEntriesInBatchRequest; 3]);
}

#[tokio::test(start_paused = true)]
async fn ids_that_repeat_are_refused() {
    assert_eq!(refusals(&["a", "b", "a"]).await, [ErrorKind::BatchEntryIdsNotDistinct; 3]);
}

#[tokio::test(start_paused = true)]
async fn ids_of_another_alphabet_are_refused() {
    for id in ["", "a.b", "a b", "ä", &"x".repeat(81)] {
        assert_eq!(refusals(&["ok", id]).await, [ErrorKind::InvalidBatchEntryId; 3], "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn id_of_eighty_characters_is_accepted() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let id = format!("{}-_Z9", "x".repeat(76));
    let batch = vec![Entry::new(id, OutgoingMessage::new("a"))];
    assert_eq!(engine.send_batch(&url, batch).await.unwrap().successful.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn delete_batch_deletes_what_it_can() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    engine.send_batch(&url, messages(&["a", "b"])).await.unwrap();
    let received = poll(&engine, &url, 30).await;
    let handles = [
        received[0].receipt_handle.clone(),
        "garbage".to_owned(),
        received[1].receipt_handle.clone(),
    ];
    let outcome = engine.delete_batch(&url, entries(handles)).await.unwrap();
    assert_eq!(ids(&outcome), (vec!["e0", "e2"], vec![("e1", ErrorKind::ReceiptHandleIsInvalid)]));
    assert_eq!(counts(&engine, &url).await, [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn change_batch_changes_what_it_can() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    engine.send_batch(&url, messages(&["a", "b", "c"])).await.unwrap();
    let received = poll(&engine, &url, 30).await;
    engine.change_visibility(&url, &received[1].receipt_handle, 1).await.unwrap();
    advance_s(1).await;
    let change = |index: usize, visibility_s| VisibilityChange {
        receipt_handle: received[index].receipt_handle.clone(),
        visibility_s,
    };
    let batch = entries([change(0, 0), change(1, 0), change(2, 43_201)]);
    let outcome = engine.change_visibility_batch(&url, batch).await.unwrap();
    let failed =
        vec![("e1", ErrorKind::MessageNotInflight), ("e2", ErrorKind::InvalidParameterValue)];
    assert_eq!(ids(&outcome), (vec!["e0"], failed));
    let mut visible = poll(&engine, &url, 30).await;
    visible.sort_by(|one, other| one.body.cmp(&other.body));
    assert_eq!(bodies(&visible), ["a", "b"]);
}
