//! FIFO queues: order and locks of groups.

use crate::Case;
use crate::bench::Bench;
use crate::queue::{Queue, bodies, code, handle};
use everlog_engine_tests::case;
use everlog_engine_tests::fact::{Fact, localstack, ministack};

pub(super) const CASES: &[Case] = &[
    case!(a_group_is_received_in_order),
    case!(sequence_numbers_grow_in_the_order_of_sends),
    case!(a_group_is_locked_while_a_message_is_in_flight),
    case!(a_group_stays_locked_until_its_last_message_is_out_of_flight),
    case!(a_locked_group_does_not_hold_up_another),
    case!(a_group_that_timed_out_is_received_again_in_order),
    case!(a_prolonged_message_keeps_its_group_locked),
    case!(a_head_that_is_given_back_waits_for_the_rest_of_its_batch, RELEASED),
    case!(the_queues_of_a_fleet_take_the_attributes_of_high_throughput),
    case!(a_send_needs_a_group, NO_GROUP),
    case!(groups_have_128_graphic_characters_at_most, LONG_GROUP, SPACED_GROUP),
];

const RELEASED: Fact =
    Fact::alike("a group whose head was given back while its second is in flight", "locked").but(&[localstack("received again")], "What is left of a batch may be overtaken by its own head. The log keeps its promises under any order.");
const NO_GROUP: Fact = Fact::alike("a send to a FIFO queue without a group", "MissingParameter");
const LONG_GROUP: Fact = Fact::alike("a group of 129 characters", "InvalidParameterValue")
    .but(&[ministack("accepted")], "Callers shorten such a group: see wire.md, Queues.");
const SPACED_GROUP: Fact = Fact::alike("a group with a space", "InvalidParameterValue")
    .but(&[ministack("accepted")], "Ids of Everlog have no spaces.");

/// A queue with messages of one group.
async fn with(bench: &Bench, sent: &[&str]) -> Queue {
    let queue = bench.fifo(&[]).await;
    for body in sent {
        queue.send_in("g", body).await;
    }
    queue
}

async fn receive(queue: &Queue, max: i32, visibility_s: i32) -> Vec<aws_sdk_sqs::types::Message> {
    queue.try_receive(max, 0, visibility_s).await.expect("an answer")
}

async fn a_group_is_received_in_order(bench: Bench) {
    let all: Vec<String> = (0..10).map(|n| n.to_string()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let queue = with(&bench, &all).await;
    assert_eq!(bodies(&queue.poll(30).await), all);
}

async fn sequence_numbers_grow_in_the_order_of_sends(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    let mut last = 0;
    for n in 0..10 {
        let sent = queue
            .try_send("x", |m| m.message_group_id("g").message_deduplication_id(n.to_string()))
            .await
            .expect("accepted");
        let sequence = sent.sequence_number().expect("one").parse::<u128>().expect("digits");
        assert!(sequence > last, "{sequence} after {last}");
        last = sequence;
    }
}

async fn a_group_is_locked_while_a_message_is_in_flight(bench: Bench) {
    let queue = with(&bench, &["1", "2"]).await;
    let first = receive(&queue, 1, 30).await.remove(0);
    queue.send_in("g", "3").await;
    assert_eq!(bodies(&queue.poll(30).await), [""; 0]);
    queue.delete(&first).await;
    assert_eq!(bodies(&queue.poll(30).await), ["2", "3"]);
}

async fn a_group_stays_locked_until_its_last_message_is_out_of_flight(bench: Bench) {
    let queue = with(&bench, &["1", "2", "3"]).await;
    let pair = receive(&queue, 2, 30).await;
    assert_eq!(bodies(&pair), ["1", "2"]);
    queue.delete(&pair[0]).await;
    assert_eq!(bodies(&queue.poll(30).await), [""; 0]);
    queue.delete(&pair[1]).await;
    assert_eq!(bodies(&queue.poll(30).await), ["3"]);
}

async fn a_locked_group_does_not_hold_up_another(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    for (group, body) in [("a", "a1"), ("a", "a2"), ("b", "b1")] {
        queue.send_in(group, body).await;
    }
    assert_eq!(bodies(&receive(&queue, 1, 30).await), ["a1"]);
    assert_eq!(bodies(&queue.poll(30).await), ["b1"]);
}

async fn a_group_that_timed_out_is_received_again_in_order(bench: Bench) {
    let queue = with(&bench, &["1", "2", "3"]).await;
    assert_eq!(bodies(&receive(&queue, 2, 1).await), ["1", "2"]);
    bench.wait_ms(2_500).await;
    assert_eq!(bodies(&queue.poll(30).await), ["1", "2", "3"]);
}

async fn a_prolonged_message_keeps_its_group_locked(bench: Bench) {
    let queue = with(&bench, &["1", "2"]).await;
    let first = receive(&queue, 1, 1).await.remove(0);
    queue.change(handle(&first), 4).await.expect("changed");
    bench.wait_ms(2_000).await;
    assert_eq!(bodies(&queue.poll(30).await), [""; 0]);
    bench.wait_ms(3_500).await;
    assert_eq!(bodies(&queue.poll(30).await), ["1", "2"]);
}

async fn a_head_that_is_given_back_waits_for_the_rest_of_its_batch(bench: Bench) {
    let queue = with(&bench, &["1", "2"]).await;
    let pair = queue.poll(600).await;
    queue.change(handle(&pair[0]), 0).await.expect("changed");
    let early = queue.poll(600).await;
    bench.seen.fact(&RELEASED, if early.is_empty() { "locked" } else { "received again" });
    queue.change(handle(&pair[1]), 0).await.expect("changed");
    if early.is_empty() {
        assert_eq!(bodies(&queue.poll(30).await), ["1", "2"]);
    }
}

async fn the_queues_of_a_fleet_take_the_attributes_of_high_throughput(bench: Bench) {
    let attributes =
        [("DeduplicationScope", "messageGroup"), ("FifoThroughputLimit", "perMessageGroupId")];
    let queue = bench.fifo(&attributes).await;
    for group in ["a", "b"] {
        queue.send_in(group, &format!("{group}1")).await;
        queue.send_in(group, &format!("{group}2")).await;
    }
    let mut all = Vec::new();
    for _ in 0..2 {
        all.extend(queue.poll(30).await);
    }
    for group in ["a", "b"] {
        let own: Vec<&str> = bodies(&all).into_iter().filter(|b| b.starts_with(group)).collect();
        assert_eq!(own, [format!("{group}1"), format!("{group}2")]);
    }
}

async fn a_send_needs_a_group(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    let sent = queue.try_send("a", |m| m.message_deduplication_id("1")).await;
    bench.seen.fact(&NO_GROUP, code(sent));
}

async fn groups_have_128_graphic_characters_at_most(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    let longest = "g".repeat(128);
    queue.send_in(&longest, "1").await;
    for (fact, group) in [(&LONG_GROUP, format!("{longest}g")), (&SPACED_GROUP, "a b".into())] {
        let sent =
            queue.try_send("a", |m| m.message_group_id(&group).message_deduplication_id("2"));
        bench.seen.fact(fact, code(sent.await));
    }
}
