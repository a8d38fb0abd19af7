//! Visibility time-outs and receive counts.

use aws_sdk_sqs::types::MessageSystemAttributeName;

use crate::Case;
use crate::bench::Bench;
use crate::queue::{bodies, code, handle, receives, system};
use everlog_engine_tests::case;
use everlog_engine_tests::fact::{Fact, localstack, ministack};

pub(super) const CASES: &[Case] = &[
    case!(a_received_message_is_hidden_until_its_time_out),
    case!(a_receive_without_a_visibility_takes_the_queues),
    case!(a_visibility_of_zero_shows_it_to_the_next_receive),
    case!(receives_are_counted_and_the_first_is_remembered),
    case!(a_prolonged_message_stays_hidden_from_then_on),
    case!(a_message_given_back_is_visible_at_once),
    case!(a_visibility_beyond_twelve_hours_is_refused, BEYOND_RECEIVE, BEYOND_CHANGE),
    case!(the_visibility_of_what_is_not_in_flight_is_not_changed, NOT_IN_FLIGHT, GONE),
    case!(a_stale_handle_leaves_the_new_receive_hidden, STALE),
    case!(a_poison_message_given_back_does_not_starve_the_others, AFTER_POISON),
];

const BEYOND_RECEIVE: Fact =
    Fact::alike("a receive with a visibility of 43,201 s", "InvalidParameterValue").but(
        &[localstack("accepted"), ministack("accepted")],
        "The bound is not checked. Everlog asks for 12 hours at most.",
    );
const BEYOND_CHANGE: Fact =
    Fact::alike("a change of visibility to 43,201 s", "InvalidParameterValue")
        .but(&[localstack("accepted"), ministack("accepted")], "As above.");
const NOT_IN_FLIGHT: Fact = Fact::alike(
    "a change of visibility after the time-out",
    "AWS.SimpleQueueService.MessageNotInflight",
)
.but(
    &[localstack("accepted"), ministack("accepted")],
    "A function that was too slow hides a message that is somebody else's by now. It costs time.",
);
const GONE: Fact =
    Fact::alike("a change of visibility of a deleted message", "InvalidParameterValue")
        .but(&[ministack("ReceiptHandleIsInvalid")], "Refused either way.");
const STALE: Fact =
    Fact::alike("what a stale handle's change to 0 s does to the new receive", "nothing").but(
        &[localstack("shows the message")],
        "A late giver-back shows what another is at: a message comes twice, which Everlog bears.",
    );

const AFTER_POISON: Fact = Fact::alike(
    "the next receive, when a message was given back and another waits",
    "the other",
)
.but(
    &[localstack("the same"), ministack("the same")],
    "They order strictly. A message that fails at once holds up its neighbours until it is a dead letter; Everlog gives back with a delay.",
);

async fn a_received_message_is_hidden_until_its_time_out(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let id = queue.send("a").await;
    assert_eq!(queue.poll_one(3).await.message_id, Some(id.clone()));
    bench.wait_ms(1_500).await;
    assert_eq!(bodies(&queue.poll(3).await), [""; 0]);
    assert_eq!(queue.next(3).await.message_id, Some(id));
}

async fn a_receive_without_a_visibility_takes_the_queues(bench: Bench) {
    let queue = bench.standard(&[("VisibilityTimeout", "2")]).await;
    queue.send("a").await;
    let receive = queue.sqs.receive_message().queue_url(&queue.url);
    assert_eq!(receive.send().await.expect("an answer").messages().len(), 1);
    assert_eq!(bodies(&queue.poll(30).await), [""; 0]);
    queue.next(30).await;
}

async fn a_visibility_of_zero_shows_it_to_the_next_receive(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    assert_eq!(receives(&queue.next(0).await), "1");
    assert_eq!(receives(&queue.next(0).await), "2");
}

async fn receives_are_counted_and_the_first_is_remembered(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let before = bench.now_ms();
    queue.send("a").await;
    bench.wait_ms(1_000).await;
    queue.poll_one(0).await;
    bench.wait_ms(1_000).await;
    let second = queue.next(30).await;
    assert_eq!(receives(&second), "2");
    let at = |name| {
        let text = system(&second, name).expect("an instant");
        text.parse::<u64>().expect("milliseconds")
    };
    let sent = at(MessageSystemAttributeName::SentTimestamp);
    let first = at(MessageSystemAttributeName::ApproximateFirstReceiveTimestamp);
    // A second of tolerance: some engines keep whole seconds.
    assert!(sent + 1_000 >= before && sent < bench.now_ms(), "{before} {sent}");
    assert!((500..=2_500).contains(&(first - sent)), "sent {sent}, first received {first}");
}

async fn a_prolonged_message_stays_hidden_from_then_on(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    let message = queue.poll_one(2).await;
    bench.wait_ms(1_000).await;
    queue.change(handle(&message), 4).await.expect("changed");
    bench.wait_ms(2_000).await;
    assert_eq!(bodies(&queue.poll(30).await), [""; 0], "beyond the first time-out");
    queue.next(30).await;
}

async fn a_message_given_back_is_visible_at_once(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    let message = queue.poll_one(600).await;
    queue.change(handle(&message), 0).await.expect("changed");
    assert_eq!(receives(&queue.poll_one(600).await), "2");
}

async fn a_visibility_beyond_twelve_hours_is_refused(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    bench.seen.fact(&BEYOND_RECEIVE, code(queue.try_receive(1, 0, 43_201).await));
    // It may have been received by that.
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    let message = queue.poll_one(43_200).await;
    bench.seen.fact(&BEYOND_CHANGE, code(queue.change(handle(&message), 43_201).await));
}

async fn the_visibility_of_what_is_not_in_flight_is_not_changed(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    let message = queue.poll_one(1).await;
    bench.wait_ms(2_500).await;
    bench.seen.fact(&NOT_IN_FLIGHT, code(queue.change(handle(&message), 60).await));
    let queue = bench.standard(&[]).await;
    queue.send("b").await;
    let message = queue.poll_one(60).await;
    queue.delete(&message).await;
    bench.seen.fact(&GONE, code(queue.change(handle(&message), 60).await));
}

async fn a_stale_handle_leaves_the_new_receive_hidden(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    let old = queue.poll_one(1).await;
    bench.wait_ms(2_000).await;
    queue.next(60).await;
    // Refused or not, the new receive is not touched.
    let _ = queue.change(handle(&old), 0).await;
    let shown = !queue.poll(60).await.is_empty();
    bench.seen.fact(&STALE, if shown { "shows the message" } else { "nothing" });
}

async fn a_poison_message_given_back_does_not_starve_the_others(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("poison").await;
    bench.wait_ms(10).await;
    queue.send("good").await;
    let poison = queue.try_receive(1, 2, 600).await.expect("an answer").remove(0);
    assert_eq!(poison.body(), Some("poison"));
    bench.wait_ms(10).await;
    queue.change(handle(&poison), 0).await.expect("changed");
    let next = queue.try_receive(1, 2, 600).await.expect("an answer").remove(0);
    let next = if next.body() == Some("good") { "the other" } else { "the same" };
    bench.seen.fact(&AFTER_POISON, next);
}
