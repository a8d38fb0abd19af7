//! Receipt handles: current, stale, foreign and made up.

use crate::Case;
use crate::bench::Bench;
use crate::queue::{bodies, code, handle};
use everlog_engine_tests::case;
use everlog_engine_tests::fact::{Fact, localstack, ministack};

pub(super) const CASES: &[Case] = &[
    case!(a_deleted_message_never_comes_again),
    case!(deleting_twice_succeeds, TWICE),
    case!(each_receive_gives_another_handle),
    case!(a_made_up_handle_is_refused, MADE_UP),
    case!(a_handle_of_another_queue_is_refused, FOREIGN),
    case!(a_standard_handle_deletes_after_its_time_out),
    case!(a_standard_handle_older_than_the_last_receive_deletes_nothing, OLD_ANSWER, OLD_STANDARD,),
    case!(a_fifo_handle_is_expired_after_its_time_out, EXPIRED, EXPIRED_KEEPS),
    case!(a_fifo_handle_older_than_the_last_receive_deletes_nothing, OLD_FIFO),
];

const MADE_UP: Fact = Fact::alike("a delete by a made-up handle", "ReceiptHandleIsInvalid");
const FOREIGN: Fact =
    Fact::alike("a delete by a handle of another queue", "ReceiptHandleIsInvalid");
const TWICE: Fact = Fact::alike("a second delete by the same handle", "accepted")
    .but(&[ministack("ReceiptHandleIsInvalid")], "A repeat is refused. Everlog deletes once.");
const OLD_ANSWER: Fact = Fact::alike(
    "the answer to a delete by a handle older than the last receive, standard queue",
    "accepted",
)
.but(&[ministack("ReceiptHandleIsInvalid")], "Refused, and nothing is deleted either way.");
const OLD_STANDARD: Fact =
    Fact::alike("a delete by a handle older than the last receive, standard queue", "kept").but(&[localstack("deleted")], "A function that was too slow deletes what another is at, before it is done. Everlog deletes only what is committed.");
const EXPIRED: Fact =
    Fact::alike("a delete in a FIFO queue after the time-out", "InvalidParameterValue")
        .but(&[ministack("accepted")], "As above.");
const EXPIRED_KEEPS: Fact = Fact::alike("what that delete does to the message", "kept")
    .but(&[ministack("deleted")], "As above.");
const OLD_FIFO: Fact =
    Fact::alike("a delete by a handle older than the last receive, FIFO queue", "kept")
        .but(&[localstack("deleted")], "As above.");

async fn a_deleted_message_never_comes_again(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    let message = queue.poll_one(1).await;
    queue.delete(&message).await;
    bench.wait_ms(2_500).await;
    assert_eq!(bodies(&queue.poll(1).await), [""; 0]);
    assert_eq!(queue.counts().await, ["0", "0", "0"]);
}

async fn deleting_twice_succeeds(bench: Bench) {
    let (standard, fifo) = (bench.standard(&[]).await, bench.fifo(&[]).await);
    standard.send("a").await;
    fifo.send_in("g", "a").await;
    for queue in [standard, fifo] {
        let message = queue.poll_one(30).await;
        queue.delete(&message).await;
        bench.seen.fact(&TWICE, code(queue.try_delete(handle(&message)).await));
    }
}

async fn each_receive_gives_another_handle(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    let (first, second) = (queue.next(0).await, queue.next(0).await);
    assert_ne!(first.receipt_handle, second.receipt_handle);
    assert_eq!(first.message_id, second.message_id);
}

async fn a_made_up_handle_is_refused(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    queue.poll_one(30).await;
    bench.seen.fact(&MADE_UP, code(queue.try_delete("made-up").await));
}

async fn a_handle_of_another_queue_is_refused(bench: Bench) {
    let (queue, other) = (bench.standard(&[]).await, bench.standard(&[]).await);
    queue.send("a").await;
    let message = queue.poll_one(30).await;
    bench.seen.fact(&FOREIGN, code(other.try_delete(handle(&message)).await));
}

async fn a_standard_handle_deletes_after_its_time_out(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    let message = queue.poll_one(1).await;
    bench.wait_ms(2_500).await;
    queue.delete(&message).await;
    assert_eq!(bodies(&queue.poll(30).await), [""; 0]);
}

/// Whether a message is still there after its old handle was used.
async fn kept(queue: &crate::queue::Queue) -> &'static str {
    let again = queue.try_receive(1, 4, 30).await.expect("an answer");
    if again.is_empty() { "deleted" } else { "kept" }
}

async fn a_standard_handle_older_than_the_last_receive_deletes_nothing(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    let old = queue.poll_one(1).await;
    bench.wait_ms(1_500).await;
    queue.next(2).await;
    bench.seen.fact(&OLD_ANSWER, code(queue.try_delete(handle(&old)).await));
    bench.seen.fact(&OLD_STANDARD, kept(&queue).await);
}

async fn a_fifo_handle_is_expired_after_its_time_out(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    queue.send_in("g", "a").await;
    let message = queue.poll_one(1).await;
    bench.wait_ms(2_500).await;
    bench.seen.fact(&EXPIRED, code(queue.try_delete(handle(&message)).await));
    bench.seen.fact(&EXPIRED_KEEPS, kept(&queue).await);
}

async fn a_fifo_handle_older_than_the_last_receive_deletes_nothing(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    queue.send_in("g", "a").await;
    let old = queue.poll_one(1).await;
    bench.wait_ms(1_500).await;
    queue.next(2).await;
    // AWS refuses it; what matters is that the message stays.
    let _ = queue.try_delete(handle(&old)).await;
    bench.seen.fact(&OLD_FIFO, kept(&queue).await);
}
