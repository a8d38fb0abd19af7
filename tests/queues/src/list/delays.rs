//! Delays of messages and of queues.

use crate::Case;
use crate::bench::Bench;
use crate::queue::{bodies, code, handle};
use everlog_engine_tests::case;
use everlog_engine_tests::fact::{Fact, localstack, ministack};

pub(super) const CASES: &[Case] = &[
    case!(a_delayed_message_is_hidden_until_its_delay_ends),
    case!(a_later_message_without_a_delay_overtakes),
    case!(a_queues_delay_holds_for_messages_without_their_own),
    case!(a_delay_beyond_fifteen_minutes_is_refused, BEYOND),
    case!(a_fifo_queue_refuses_a_delay_per_message, FIFO_DELAY),
    case!(a_fifo_queues_delay_holds_back_in_order),
    case!(a_redelivery_is_not_delayed_again),
];

const BEYOND: Fact = Fact::alike("a delay of 901 s", "InvalidParameterValue").but(
    &[localstack("accepted"), ministack("accepted")],
    "The bound is not checked. Everlog asks for 15 minutes at most.",
);
const FIFO_DELAY: Fact =
    Fact::alike("a delay per message in a FIFO queue", "InvalidParameterValue");

async fn a_delayed_message_is_hidden_until_its_delay_ends(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.try_send("a", |m| m.delay_seconds(3)).await.expect("accepted");
    let begun = bench.now_ms();
    assert_eq!(bodies(&queue.poll(30).await), [""; 0]);
    assert_eq!(queue.counts().await, ["0", "1", "0"]);
    queue.next(30).await;
    let waited = bench.now_ms() - begun;
    assert!((2_000..=5_000).contains(&waited), "{waited} ms");
}

async fn a_later_message_without_a_delay_overtakes(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.try_send("slow", |m| m.delay_seconds(2)).await.expect("accepted");
    queue.send("fast").await;
    assert_eq!(queue.next(60).await.body(), Some("fast"));
    assert_eq!(queue.next(60).await.body(), Some("slow"));
}

async fn a_queues_delay_holds_for_messages_without_their_own(bench: Bench) {
    let queue = bench.standard(&[("DelaySeconds", "3")]).await;
    queue.send("queue's").await;
    queue.try_send("own", |m| m.delay_seconds(0)).await.expect("accepted");
    assert_eq!(bodies(&queue.poll(60).await), ["own"]);
    assert_eq!(queue.next(60).await.body(), Some("queue's"));
}

async fn a_delay_beyond_fifteen_minutes_is_refused(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.try_send("a", |m| m.delay_seconds(900)).await.expect("accepted");
    bench.seen.fact(&BEYOND, code(queue.try_send("a", |m| m.delay_seconds(901)).await));
}

async fn a_fifo_queue_refuses_a_delay_per_message(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    let sent = queue
        .try_send("a", |m| m.message_group_id("g").message_deduplication_id("1").delay_seconds(2));
    bench.seen.fact(&FIFO_DELAY, code(sent.await));
}

async fn a_fifo_queues_delay_holds_back_in_order(bench: Bench) {
    let queue = bench.fifo(&[("DelaySeconds", "2")]).await;
    queue.send_in("g", "1").await;
    queue.send_in("g", "2").await;
    assert_eq!(bodies(&queue.poll(60).await), [""; 0]);
    let first = queue.next(60).await;
    assert_eq!(first.body(), Some("1"));
    queue.delete(&first).await;
    assert_eq!(queue.next(60).await.body(), Some("2"));
}

async fn a_redelivery_is_not_delayed_again(bench: Bench) {
    let queue = bench.standard(&[("DelaySeconds", "2")]).await;
    queue.send("a").await;
    let message = queue.next(60).await;
    queue.change(handle(&message), 0).await.expect("changed");
    queue.poll_one(60).await;
}
