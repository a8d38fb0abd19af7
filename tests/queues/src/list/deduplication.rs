//! Deduplication of sends to FIFO queues.

use crate::Case;
use crate::bench::Bench;
use crate::queue::{Queue, bodies, code};
use everlog_engine_tests::case;
use everlog_engine_tests::fact::{Fact, localstack, ministack};

pub(super) const CASES: &[Case] = &[
    case!(a_duplicate_is_answered_with_the_first_message, SEQUENCE),
    case!(a_duplicate_is_known_after_its_message_was_deleted),
    case!(a_duplicate_is_known_across_groups_unless_the_scope_is_the_group, ACROSS, WITHIN),
    case!(the_same_body_is_a_duplicate_by_content),
    case!(a_send_needs_an_id_unless_by_content, NO_ID),
    case!(a_standard_queue_takes_no_deduplication_id, ON_STANDARD),
    case!(a_refused_send_is_not_remembered),
];

const SEQUENCE: Fact =
    Fact::alike("the sequence number that a duplicate is answered with", "the first's")
        .but(&[localstack("a new one")], "Everlog does not look at it.");
const ACROSS: Fact = Fact::alike("the same deduplication id in another group", "one message");
const WITHIN: Fact =
    Fact::alike("the same deduplication id in another group, scope messageGroup", "two messages");
const NO_ID: Fact =
    Fact::alike("a send to a FIFO queue without a deduplication id", "InvalidParameterValue");
const ON_STANDARD: Fact =
    Fact::alike("a deduplication id on a standard queue", "InvalidParameterValue")
        .but(&[ministack("accepted")], "It is ignored. Everlog sends none to a standard queue.");

async fn a_duplicate_is_answered_with_the_first_message(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    let send = async |body: &str| {
        let sent = queue.try_send(body, |m| m.message_group_id("g").message_deduplication_id("1"));
        sent.await.expect("accepted")
    };
    let (first, second) = (send("a").await, send("b").await);
    assert_eq!(second.message_id, first.message_id);
    let same = second.sequence_number == first.sequence_number;
    bench.seen.fact(&SEQUENCE, if same { "the first's" } else { "a new one" });
    assert_eq!(bodies(&queue.poll(30).await), ["a"]);
}

async fn a_duplicate_is_known_after_its_message_was_deleted(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    let id = queue.send_in("g", "a").await;
    let message = queue.poll_one(30).await;
    queue.delete(&message).await;
    assert_eq!(queue.send_in("g", "a").await, id);
    assert_eq!(bodies(&queue.poll(30).await), [""; 0]);
}

/// What the same id in two groups comes to.
async fn in_two_groups(queue: &Queue) -> &'static str {
    let one = queue.send_in("g", "a").await;
    let two = queue.send_in("h", "a").await;
    match (queue.poll(30).await.len(), one == two) {
        (1, _) => "one message",
        (2, false) => "two messages",
        _ => "two messages of one id",
    }
}

async fn a_duplicate_is_known_across_groups_unless_the_scope_is_the_group(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    bench.seen.fact(&ACROSS, in_two_groups(&queue).await);
    let scope =
        [("DeduplicationScope", "messageGroup"), ("FifoThroughputLimit", "perMessageGroupId")];
    let queue = bench.fifo(&scope).await;
    bench.seen.fact(&WITHIN, in_two_groups(&queue).await);
}

async fn the_same_body_is_a_duplicate_by_content(bench: Bench) {
    let queue = bench.fifo(&[("ContentBasedDeduplication", "true")]).await;
    for body in ["a", "a", "b"] {
        queue.try_send(body, |m| m.message_group_id("g")).await.expect("accepted");
    }
    // An id of one's own goes before the content.
    queue.send_in("g", "a").await;
    assert_eq!(bodies(&queue.poll(30).await), ["a", "b", "a"]);
}

async fn a_send_needs_an_id_unless_by_content(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    bench.seen.fact(&NO_ID, code(queue.try_send("a", |m| m.message_group_id("g")).await));
}

async fn a_standard_queue_takes_no_deduplication_id(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let sent = queue.try_send("a", |m| m.message_deduplication_id("1")).await;
    bench.seen.fact(&ON_STANDARD, code(sent));
}

async fn a_refused_send_is_not_remembered(bench: Bench) {
    let queue = bench.fifo(&[("MaximumMessageSize", "1024")]).await;
    let own = |m: aws_sdk_sqs::operation::send_message::builders::SendMessageFluentBuilder| {
        m.message_group_id("g").message_deduplication_id("1")
    };
    assert!(queue.try_send("x".repeat(1_025), own).await.is_err());
    queue.try_send("a", own).await.expect("accepted");
    assert_eq!(bodies(&queue.poll(30).await), ["a"]);
}
