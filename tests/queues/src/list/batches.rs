//! Batches: rules for the whole, and entries that fail alone.

use aws_sdk_sqs::operation::send_message_batch::SendMessageBatchOutput;
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry,
    DeleteMessageBatchRequestEntry, SendMessageBatchRequestEntry,
};

use crate::Case;
use crate::bench::Bench;
use crate::queue::{Queue, answered, bodies, code, handle};
use everlog_engine_tests::case;
use everlog_engine_tests::fact::{Fact, localstack, ministack};

pub(super) const CASES: &[Case] = &[
    case!(a_batch_is_sent_in_order),
    case!(an_entry_with_an_invalid_character_fails_alone, CHARACTER),
    case!(an_entry_that_is_too_long_fails_alone, LONG_ENTRY),
    case!(a_fifo_entry_with_a_delay_fails_alone, DELAYED_ENTRY),
    case!(a_duplicate_within_a_batch_is_answered_with_the_first, TWICE),
    case!(a_batch_of_a_mebibyte_is_accepted_and_a_byte_more_refused, MEBIBYTE, MORE),
    case!(wrong_batches_are_refused_as_a_whole, EMPTY, MANY, SAME_IDS, WRONG_ID, LONG_ID),
    case!(a_delete_batch_deletes_what_it_can, DELETED),
    case!(a_change_batch_changes_what_it_can, CHANGED),
];

const CHARACTER: Fact = Fact::alike(
    "a batch of three, the second with an invalid character",
    "sent e0 e2, failed e1 InvalidMessageContents",
);
const LONG_ENTRY: Fact = Fact::alike(
    "a batch of three, the second longer than the queue takes",
    "sent e0 e2, failed e1 InvalidParameterValue",
)
.but(
    &[localstack("sent e0 e2, failed e1 InvalidParameterValueException")],
    "The shape's name instead of the code. Everlog decides by which entries were accepted.",
);
const DELAYED_ENTRY: Fact = Fact::alike(
    "a FIFO batch of two, the first with a delay",
    "sent e1, failed e0 InvalidParameterValue",
)
.but(&[localstack("sent e1, failed e0 InvalidParameterValueException")], "As above.");
const TWICE: Fact = Fact::alike("a FIFO batch of two with one deduplication id", "one message");
const MEBIBYTE: Fact = Fact::alike("a batch of 1,048,576 bytes", "accepted");
const MORE: Fact =
    Fact::alike("a batch of 1,048,577 bytes", "AWS.SimpleQueueService.BatchRequestTooLong");
const EMPTY: Fact =
    Fact::alike("a batch without entries", "AWS.SimpleQueueService.EmptyBatchRequest");
const MANY: Fact =
    Fact::alike("a batch of eleven", "AWS.SimpleQueueService.TooManyEntriesInBatchRequest");
const SAME_IDS: Fact =
    Fact::alike("a batch with an id twice", "AWS.SimpleQueueService.BatchEntryIdsNotDistinct");
const WRONG_ID: Fact =
    Fact::alike("a batch with the id \"a.b\"", "AWS.SimpleQueueService.InvalidBatchEntryId");
const LONG_ID: Fact = Fact::alike(
    "a batch with an id of 81 characters",
    "AWS.SimpleQueueService.InvalidBatchEntryId",
);
const DELETED: Fact = Fact::alike(
    "a delete batch of three, the second with a made-up handle",
    "deleted e0 e2, failed e1 ReceiptHandleIsInvalid",
);
const CHANGED: Fact = Fact::alike(
    "a visibility batch of two, the second to 43,201 s",
    "changed e0, failed e1 InvalidParameterValue",
)
.but(&[localstack("changed e0 e1"), ministack("changed e0 e1")], "The bound is not checked.");

fn entry(id: &str, body: &str) -> SendMessageBatchRequestEntry {
    SendMessageBatchRequestEntry::builder().id(id).message_body(body).build().expect("complete")
}

async fn send_all(
    queue: &Queue,
    entries: Vec<SendMessageBatchRequestEntry>,
) -> Result<SendMessageBatchOutput, String> {
    let batch = queue.sqs.send_message_batch().queue_url(&queue.url).set_entries(Some(entries));
    answered(batch.send().await)
}

/// Sends bodies to a standard queue, as `e0`, `e1`, …
pub(super) async fn send(queue: &Queue, all: &[&str]) -> Result<SendMessageBatchOutput, String> {
    let entries = all.iter().enumerate().map(|(at, body)| entry(&format!("e{at}"), body));
    send_all(queue, entries.collect()).await
}

fn fifo_entry(id: &str, body: &str, deduplication: &str) -> SendMessageBatchRequestEntry {
    let mut entry = entry(id, body);
    entry.message_group_id = Some("g".into());
    entry.message_deduplication_id = Some(deduplication.into());
    entry
}

/// What was done and what failed, in words.
fn outcome(done: &str, ids: &[&str], failed: &[BatchResultErrorEntry]) -> String {
    let mut text = format!("{done} {}", ids.join(" "));
    for entry in failed {
        text.push_str(&format!(", failed {} {}", entry.id(), entry.code()));
    }
    text
}

/// How a batch of sends fared.
fn fared(sent: Result<SendMessageBatchOutput, String>) -> String {
    match sent {
        Err(code) => code,
        Ok(sent) => {
            let ids: Vec<&str> = sent.successful().iter().map(|entry| entry.id()).collect();
            outcome("sent", &ids, sent.failed())
        }
    }
}

async fn a_batch_is_sent_in_order(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    let all: Vec<String> = (0..10).map(|n| n.to_string()).collect();
    let entries = all.iter().map(|body| fifo_entry(body, body, body)).collect();
    let sent = send_all(&queue, entries).await.expect("accepted");
    assert_eq!((sent.successful().len(), sent.failed().len()), (10, 0));
    assert_eq!(bodies(&queue.poll(30).await), all);
}

async fn an_entry_with_an_invalid_character_fails_alone(bench: Bench) {
    let queue = bench.standard(&[]).await;
    bench.seen.fact(&CHARACTER, fared(send(&queue, &["a", "b\u{1}", "c"]).await));
}

async fn an_entry_that_is_too_long_fails_alone(bench: Bench) {
    let queue = bench.standard(&[("MaximumMessageSize", "1024")]).await;
    let long = "x".repeat(1_025);
    bench.seen.fact(&LONG_ENTRY, fared(send(&queue, &["a", &long, "c"]).await));
}

async fn a_fifo_entry_with_a_delay_fails_alone(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    let mut delayed = fifo_entry("e0", "1", "1");
    delayed.delay_seconds = Some(1);
    let entries = vec![delayed, fifo_entry("e1", "2", "2")];
    bench.seen.fact(&DELAYED_ENTRY, fared(send_all(&queue, entries).await));
}

async fn a_duplicate_within_a_batch_is_answered_with_the_first(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    let entries = vec![fifo_entry("e0", "a", "1"), fifo_entry("e1", "a", "1")];
    let sent = send_all(&queue, entries).await.expect("accepted");
    let ids: Vec<&str> = sent.successful().iter().map(|entry| entry.message_id()).collect();
    let found = match (ids.as_slice(), queue.poll(30).await.len()) {
        ([one, two], 1) if one == two => "one message".to_owned(),
        (ids, messages) => format!("{} answers, {messages} messages", ids.len()),
    };
    bench.seen.fact(&TWICE, found);
}

async fn a_batch_of_a_mebibyte_is_accepted_and_a_byte_more_refused(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let (half, more) = ("x".repeat(524_288), "x".repeat(524_289));
    bench.seen.fact(&MEBIBYTE, code(send(&queue, &[&half, &half]).await));
    bench.seen.fact(&MORE, code(send(&queue, &[&half, &more]).await));
}

async fn wrong_batches_are_refused_as_a_whole(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let long = "x".repeat(81);
    let eleven: Vec<String> = (0..11).map(|n| n.to_string()).collect();
    let cases: [(&Fact, Vec<&str>); 5] = [
        (&EMPTY, vec![]),
        (&MANY, eleven.iter().map(String::as_str).collect()),
        (&SAME_IDS, vec!["a", "b", "a"]),
        (&WRONG_ID, vec!["ok", "a.b"]),
        (&LONG_ID, vec!["ok", &long]),
    ];
    for (fact, ids) in cases {
        let entries = ids.into_iter().map(|id| entry(id, "body")).collect();
        bench.seen.fact(fact, code(send_all(&queue, entries).await));
    }
}

async fn a_delete_batch_deletes_what_it_can(bench: Bench) {
    let queue = bench.standard(&[]).await;
    send(&queue, &["a", "b"]).await.expect("accepted");
    let received = queue.poll(30).await;
    let handles = [handle(&received[0]), "made-up", handle(&received[1])];
    let entries = handles.iter().enumerate().map(|(at, handle)| {
        let entry = DeleteMessageBatchRequestEntry::builder().id(format!("e{at}"));
        entry.receipt_handle(*handle).build().expect("complete")
    });
    let batch = queue.sqs.delete_message_batch().queue_url(&queue.url);
    let found = match answered(batch.set_entries(Some(entries.collect())).send().await) {
        Err(code) => code,
        Ok(deleted) => {
            assert_eq!(queue.counts().await, ["0", "0", "0"]);
            let ids: Vec<&str> = deleted.successful().iter().map(|entry| entry.id()).collect();
            outcome("deleted", &ids, deleted.failed())
        }
    };
    bench.seen.fact(&DELETED, found);
}

async fn a_change_batch_changes_what_it_can(bench: Bench) {
    let queue = bench.standard(&[]).await;
    send(&queue, &["a", "b"]).await.expect("accepted");
    let received = queue.poll(600).await;
    let entries = received.iter().zip([0, 43_201]).enumerate().map(|(at, (message, seconds))| {
        let entry = ChangeMessageVisibilityBatchRequestEntry::builder().id(format!("e{at}"));
        let entry = entry.receipt_handle(handle(message)).visibility_timeout(seconds);
        entry.build().expect("complete")
    });
    let batch = queue.sqs.change_message_visibility_batch().queue_url(&queue.url);
    let found = match answered(batch.set_entries(Some(entries.collect())).send().await) {
        Err(code) => code,
        Ok(changed) => {
            let ids: Vec<&str> = changed.successful().iter().map(|entry| entry.id()).collect();
            outcome("changed", &ids, changed.failed())
        }
    };
    bench.seen.fact(&CHANGED, found);
    assert_eq!(queue.poll_one(30).await.body(), received[0].body());
}
