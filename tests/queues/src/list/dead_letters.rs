//! Dead-letter queues.

use aws_sdk_sqs::types::{MessageSystemAttributeName, QueueAttributeName};

use crate::Case;
use crate::bench::Bench;
use crate::queue::{Queue, bodies, code, receives, system};
use everlog_engine_tests::case;
use everlog_engine_tests::fact::{Fact, localstack, ministack};

pub(super) const CASES: &[Case] = &[
    case!(a_receive_beyond_the_count_moves_the_message, MOVED_AFTER, COUNT, SOURCE),
    case!(a_count_may_be_a_number_or_text, AS_NUMBER, AS_TEXT),
    case!(a_receive_that_moves_one_message_returns_the_others),
    case!(a_fifo_move_keeps_the_group_and_frees_it, FIFO_FREED),
    case!(what_is_in_the_dead_letter_queue_stays_there_until_it_is_deleted),
    case!(wrong_redrive_policies_are_refused, ZERO, OVER, NO_COUNT, NO_TARGET, ABSENT),
    case!(a_dead_letter_queue_of_the_other_type_is_refused, OTHER_TYPE),
];

const MOVED_AFTER: Fact =
    Fact::alike("empty receives beyond the count until the message is a dead letter", "1");
const COUNT: Fact =
    Fact::alike("receive count of a dead letter after two receives and its first", "3");
const SOURCE: Fact = Fact::alike("DeadLetterQueueSourceArn of a dead letter", "the source's");
const AS_NUMBER: Fact = Fact::alike("maxReceiveCount as a number", "accepted");
const AS_TEXT: Fact = Fact::alike("maxReceiveCount as text", "accepted");
const FIFO_FREED: Fact =
    Fact::alike("what the receive that moves the head of a FIFO group returns", "2");
const ZERO: Fact = Fact::alike("maxReceiveCount 0", "InvalidParameterValue")
    .but(&[ministack("InvalidAttributeValue")], "Another code for the same refusal.");
const OVER: Fact = Fact::alike("maxReceiveCount 1001", "InvalidParameterValue")
    .but(&[ministack("InvalidAttributeValue")], "Another code for the same refusal.");
const NO_COUNT: Fact = Fact::alike("a redrive policy without a count", "InvalidParameterValue")
    .but(&[ministack("InvalidAttributeValue")], "Another code for the same refusal.");
const NO_TARGET: Fact = Fact::alike("a redrive policy without a target", "InvalidParameterValue")
    .but(&[ministack("InvalidAttributeValue")], "Another code for the same refusal.");
const ABSENT: Fact =
    Fact::alike("a redrive policy whose target is not there", "InvalidParameterValue").but(&[localstack("accepted"), ministack("InvalidAttributeValue")], "LocalStack finds out when it would move a message. `everlog functions --create` makes the dead-letter queue first.");
const OTHER_TYPE: Fact =
    Fact::alike("a FIFO queue with a standard dead-letter queue", "InvalidParameterValue").but(
        &[localstack("accepted"), ministack("accepted")],
        "AWS refuses to deploy it. The template pairs like with like.",
    );

async fn arn(queue: &Queue) -> String {
    queue.attribute(QueueAttributeName::QueueArn).await.expect("an ARN")
}

fn policy(target: &str, count: &str) -> String {
    format!(r#"{{"deadLetterTargetArn":"{target}","maxReceiveCount":{count}}}"#)
}

/// A queue that gives up after `count` receives, and its dead-letter queue.
async fn pair(bench: &Bench, count: &str) -> (Queue, Queue) {
    let dead = bench.standard(&[]).await;
    let policy = policy(&arn(&dead).await, count);
    (bench.standard(&[("RedrivePolicy", &policy)]).await, dead)
}

async fn a_receive_beyond_the_count_moves_the_message(bench: Bench) {
    let (queue, dead) = pair(&bench, "\"2\"").await;
    let id = queue.send("a").await;
    for count in ["1", "2"] {
        assert_eq!(receives(&queue.next(1).await), count);
        assert_eq!(bodies(&dead.poll(0).await), [""; 0], "not before the count is full");
        bench.wait_ms(2_500).await;
    }
    let mut polls = 0;
    let moved = loop {
        assert!(polls < 10, "never moved");
        polls += 1;
        assert_eq!(bodies(&queue.poll(1).await), [""; 0], "received a third time");
        if let Some(moved) = dead.poll(60).await.into_iter().next() {
            break moved;
        }
        bench.wait_ms(500).await;
    };
    assert_eq!(moved.message_id, Some(id));
    bench.seen.fact(&MOVED_AFTER, polls);
    bench.seen.fact(&COUNT, receives(&moved));
    let source = system(&moved, MessageSystemAttributeName::DeadLetterQueueSourceArn);
    let own = arn(&queue).await;
    let told = if source == Some(own.as_str()) { "the source's" } else { "absent" };
    bench.seen.fact(&SOURCE, told);
}

async fn a_count_may_be_a_number_or_text(bench: Bench) {
    for (fact, count) in [(&AS_NUMBER, "3"), (&AS_TEXT, "\"3\"")] {
        let dead = bench.standard(&[]).await;
        let policy = policy(&arn(&dead).await, count);
        let made = bench.try_queue("", &[("RedrivePolicy", &policy)]).await;
        bench.seen.fact(fact, code(made));
    }
}

async fn a_receive_that_moves_one_message_returns_the_others(bench: Bench) {
    let (queue, dead) = pair(&bench, "1").await;
    queue.send("old").await;
    queue.next(0).await;
    queue.send("new").await;
    assert_eq!(bodies(&queue.try_receive(10, 2, 30).await.expect("an answer")), ["new"]);
    queue.poll(30).await;
    assert_eq!(dead.next(30).await.body(), Some("old"));
}

async fn a_fifo_move_keeps_the_group_and_frees_it(bench: Bench) {
    let dead = bench.fifo(&[]).await;
    let policy = policy(&arn(&dead).await, "1");
    let queue = bench.fifo(&[("RedrivePolicy", &policy)]).await;
    let id = queue.send_in("g", "1").await;
    queue.send_in("g", "2").await;
    assert_eq!(queue.try_receive(1, 0, 1).await.expect("an answer")[0].body(), Some("1"));
    bench.wait_ms(2_000).await;
    let after = queue.poll(30).await;
    bench.seen.fact(&FIFO_FREED, bodies(&after).join(" "));
    if after.is_empty() {
        assert_eq!(queue.next(30).await.body(), Some("2"));
    }
    let moved = dead.next(30).await;
    assert_eq!(moved.message_id, Some(id));
    assert_eq!(system(&moved, MessageSystemAttributeName::MessageGroupId), Some("g"));
}

async fn what_is_in_the_dead_letter_queue_stays_there_until_it_is_deleted(bench: Bench) {
    let (queue, dead) = pair(&bench, "1").await;
    queue.send("a").await;
    queue.next(0).await;
    queue.poll(0).await;
    bench.wait_ms(500).await;
    queue.poll(0).await;
    for _ in 0..4 {
        assert_eq!(dead.next(0).await.body(), Some("a"));
    }
    let last = dead.next(30).await;
    dead.delete(&last).await;
    assert_eq!(dead.counts().await, ["0", "0", "0"]);
}

async fn wrong_redrive_policies_are_refused(bench: Bench) {
    let dead = arn(&bench.standard(&[]).await).await;
    let absent = format!("{dead}-absent");
    let wrong = [
        (&ZERO, policy(&dead, "0")),
        (&OVER, policy(&dead, "1001")),
        (&NO_COUNT, format!(r#"{{"deadLetterTargetArn":"{dead}"}}"#)),
        (&NO_TARGET, r#"{"maxReceiveCount":1}"#.to_owned()),
        (&ABSENT, policy(&absent, "1")),
    ];
    for (fact, policy) in wrong {
        let queue = bench.standard(&[]).await;
        bench.seen.fact(fact, code(queue.set(&[("RedrivePolicy", &policy)]).await));
    }
}

async fn a_dead_letter_queue_of_the_other_type_is_refused(bench: Bench) {
    let dead = bench.standard(&[]).await;
    let policy = policy(&arn(&dead).await, "1");
    let made = bench.try_queue(".fifo", &[("RedrivePolicy", &policy)]).await;
    bench.seen.fact(&OTHER_TYPE, code(made));
}
