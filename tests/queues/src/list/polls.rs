//! Long polls: how long they wait, and what ends them.

use tokio::task::JoinHandle;

use crate::Case;
use crate::bench::Bench;
use crate::queue::{Queue, code, handle};
use everlog_engine_tests::case;
use everlog_engine_tests::fact::{Fact, localstack, ministack};

pub(super) const CASES: &[Case] = &[
    case!(a_poll_of_an_empty_queue_ends_after_its_wait),
    case!(a_poll_without_a_wait_takes_the_queues),
    case!(a_message_that_is_there_ends_the_poll_at_once),
    case!(a_send_wakes_the_poll),
    case!(the_end_of_a_delay_wakes_the_poll),
    case!(the_end_of_a_visibility_wakes_the_poll),
    case!(a_message_given_back_wakes_the_poll, GIVEN_BACK),
    case!(a_group_that_is_freed_wakes_the_poll, FREED),
    case!(a_batch_wakes_as_many_polls_as_it_has_messages),
    case!(a_poll_that_waits_too_long_or_for_too_many_is_refused, WAIT, NONE, ELEVEN),
];

const GIVEN_BACK: Fact =
    Fact::alike("a waiting poll, when a message is given back", "woken within 2 s");
const FREED: Fact =
    Fact::alike("a waiting poll, when the lock of a FIFO group ends", "woken within 2 s");
const WAIT: Fact = Fact::alike("a wait of 21 s", "InvalidParameterValue").but(
    &[ministack("accepted")],
    "The bound is not checked. Everlog asks for 20 seconds at most.",
);
const NONE: Fact = Fact::alike("a receive of 0 messages", "InvalidParameterValue")
    .but(&[localstack("accepted")], "It is taken for one.");
const ELEVEN: Fact = Fact::alike("a receive of 11 messages", "InvalidParameterValue");

/// A poll in the background: what it found, and after how many milliseconds.
fn sleeper(bench: &Bench, queue: &Queue, wait_s: i32) -> JoinHandle<(Vec<String>, u64)> {
    let (bench, queue) = (bench.clone(), queue.clone());
    tokio::spawn(async move {
        let begun = bench.now_ms();
        let found = queue.try_receive(1, wait_s, 60).await.expect("an answer");
        let found = found.into_iter().filter_map(|message| message.body).collect();
        (found, bench.now_ms() - begun)
    })
}

/// When a poll of 10 seconds that should end after `due_ms` did, in words.
fn woken(found: &[String], body: &str, due_ms: u64, waited_ms: u64) -> &'static str {
    match found {
        [one] if one == body && waited_ms <= due_ms + 2_000 => "woken within 2 s",
        [one] if one == body => "woken later",
        _ => "not woken",
    }
}

async fn a_poll_of_an_empty_queue_ends_after_its_wait(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let (found, waited) = sleeper(&bench, &queue, 2).await.expect("no panic");
    assert_eq!(found, [""; 0]);
    assert!((1_500..=5_000).contains(&waited), "{waited} ms");
}

async fn a_poll_without_a_wait_takes_the_queues(bench: Bench) {
    let queue = bench.standard(&[("ReceiveMessageWaitTimeSeconds", "2")]).await;
    let begun = bench.now_ms();
    let receive = queue.sqs.receive_message().queue_url(&queue.url);
    assert!(receive.send().await.expect("an answer").messages().is_empty());
    let waited = bench.now_ms() - begun;
    assert!((1_500..=5_000).contains(&waited), "{waited} ms");
}

async fn a_message_that_is_there_ends_the_poll_at_once(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    let (found, waited) = sleeper(&bench, &queue, 20).await.expect("no panic");
    assert_eq!(found, ["a"]);
    assert!(waited < 3_000, "{waited} ms");
}

async fn a_send_wakes_the_poll(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let poll = sleeper(&bench, &queue, 10);
    bench.wait_ms(1_000).await;
    queue.send("a").await;
    let (found, waited) = poll.await.expect("no panic");
    assert_eq!(woken(&found, "a", 1_000, waited), "woken within 2 s", "{waited} ms");
}

async fn the_end_of_a_delay_wakes_the_poll(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let poll = sleeper(&bench, &queue, 10);
    bench.wait_ms(500).await;
    queue.try_send("a", |m| m.delay_seconds(2)).await.expect("accepted");
    let (found, waited) = poll.await.expect("no panic");
    assert_eq!(woken(&found, "a", 2_500, waited), "woken within 2 s", "{waited} ms");
}

async fn the_end_of_a_visibility_wakes_the_poll(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    queue.poll_one(2).await;
    let (found, waited) = sleeper(&bench, &queue, 10).await.expect("no panic");
    assert_eq!(woken(&found, "a", 2_000, waited), "woken within 2 s", "{waited} ms");
}

async fn a_message_given_back_wakes_the_poll(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    let message = queue.poll_one(600).await;
    let poll = sleeper(&bench, &queue, 10);
    bench.wait_ms(1_000).await;
    queue.change(handle(&message), 0).await.expect("changed");
    let (found, waited) = poll.await.expect("no panic");
    bench.seen.fact(&GIVEN_BACK, woken(&found, "a", 1_000, waited));
}

async fn a_group_that_is_freed_wakes_the_poll(bench: Bench) {
    let queue = bench.fifo(&[]).await;
    queue.send_in("g", "1").await;
    let first = queue.poll_one(600).await;
    queue.send_in("g", "2").await;
    let poll = sleeper(&bench, &queue, 10);
    bench.wait_ms(1_000).await;
    queue.delete(&first).await;
    let (found, waited) = poll.await.expect("no panic");
    bench.seen.fact(&FREED, woken(&found, "2", 1_000, waited));
}

async fn a_batch_wakes_as_many_polls_as_it_has_messages(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let polls: Vec<_> = (0..3).map(|_| sleeper(&bench, &queue, 10)).collect();
    bench.wait_ms(500).await;
    let sent = super::batches::send(&queue, &["a", "b", "c"]).await.expect("accepted");
    assert_eq!(sent.successful().len(), 3);
    let mut all = Vec::new();
    for poll in polls {
        let (found, waited) = poll.await.expect("no panic");
        assert!(waited < 5_000, "{waited} ms");
        all.extend(found);
    }
    all.sort();
    assert_eq!(all, ["a", "b", "c"]);
}

async fn a_poll_that_waits_too_long_or_for_too_many_is_refused(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    bench.seen.fact(&WAIT, code(queue.try_receive(1, 21, 0).await));
    bench.seen.fact(&NONE, code(queue.try_receive(0, 0, 0).await));
    bench.seen.fact(&ELEVEN, code(queue.try_receive(11, 0, 0).await));
}
