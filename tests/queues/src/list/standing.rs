//! Queues themselves: names, attributes, counts, listing and purging.

use aws_sdk_sqs::types::QueueAttributeName;

use crate::Case;
use crate::bench::Bench;
use crate::queue::{Queue, answered, bodies, code};
use everlog_engine_tests::case;
use everlog_engine_tests::fact::{Fact, ministack};

pub(super) const CASES: &[Case] = &[
    case!(creating_a_queue_again_finds_it_or_is_refused, OTHER),
    case!(a_queue_that_is_not_there_is_said_to_be_absent, ABSENT_NAME, ABSENT_URL),
    case!(a_queue_is_found_by_its_name_and_by_a_prefix),
    case!(the_host_of_a_queues_url_does_not_matter, HOST),
    case!(a_queue_counts_what_it_holds),
    case!(a_fleets_retention_and_visibility_are_kept),
    case!(a_purged_queue_is_empty),
    case!(wrong_names_are_refused, LONG_NAME, SPACED_NAME, FIFO_NAME),
];

const OTHER: Fact =
    Fact::alike("creating a queue again with another attribute", "QueueAlreadyExists");
const ABSENT_NAME: Fact =
    Fact::alike("the URL of a queue that is not there", "AWS.SimpleQueueService.NonExistentQueue");
const ABSENT_URL: Fact =
    Fact::alike("a send to a queue that is not there", "AWS.SimpleQueueService.NonExistentQueue");
const HOST: Fact = Fact::alike("a queue URL with the host of AWS", "accepted");
const LONG_NAME: Fact = Fact::alike("a queue name of 81 characters", "InvalidParameterValue")
    .but(&[ministack("accepted")], "Names are not checked. CloudFormation says so on AWS.");
const SPACED_NAME: Fact = Fact::alike("a queue name with a space", "InvalidParameterValue")
    .but(&[ministack("accepted")], "As above.");
const FIFO_NAME: Fact =
    Fact::alike("a FIFO queue whose name does not end in .fifo", "InvalidParameterValue");

async fn creating_a_queue_again_finds_it_or_is_refused(bench: Bench) {
    let queue = bench.standard(&[("DelaySeconds", "1")]).await;
    let again = Queue::create(&queue.sqs, &queue.name, &[("DelaySeconds", "1")]).await;
    assert_eq!(again.expect("the same").url, queue.url);
    let other = Queue::create(&queue.sqs, &queue.name, &[("DelaySeconds", "2")]).await;
    bench.seen.fact(&OTHER, code(other));
}

async fn a_queue_that_is_not_there_is_said_to_be_absent(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let name = format!("{}-absent", queue.name);
    let found = queue.sqs.get_queue_url().queue_name(&name).send().await;
    bench.seen.fact(&ABSENT_NAME, code(answered(found)));
    let absent = Queue { url: format!("{}-absent", queue.url), name, ..queue };
    bench.seen.fact(&ABSENT_URL, code(absent.try_send("a", |m| m).await));
}

async fn a_queue_is_found_by_its_name_and_by_a_prefix(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let longer = Queue::create(&queue.sqs, &format!("{}-b", queue.name), &[]).await;
    let longer = longer.expect("a queue");
    let found = queue.sqs.get_queue_url().queue_name(&queue.name).send().await;
    assert_eq!(answered(found).expect("found").queue_url(), Some(&*queue.url));
    let listed = queue.sqs.list_queues().queue_name_prefix(&queue.name).send().await;
    let mut listed = answered(listed).expect("a list").queue_urls.unwrap_or_default();
    listed.sort();
    assert_eq!(listed, [queue.url, longer.url]);
}

async fn the_host_of_a_queues_url_does_not_matter(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let url = format!("https://sqs.us-east-1.amazonaws.com/000000000000/{}", queue.name);
    let elsewhere = Queue { url, ..queue };
    bench.seen.fact(&HOST, code(elsewhere.try_send("a", |m| m).await));
}

async fn a_queue_counts_what_it_holds(bench: Bench) {
    let queue = bench.standard(&[]).await;
    for _ in 0..3 {
        queue.send("a").await;
    }
    queue.try_send("late", |m| m.delay_seconds(900)).await.expect("accepted");
    queue.try_receive(1, 0, 600).await.expect("an answer");
    assert_eq!(queue.counts().await, ["2", "1", "1"]);
}

async fn a_fleets_retention_and_visibility_are_kept(bench: Bench) {
    let queue =
        bench.fifo(&[("VisibilityTimeout", "180"), ("MessageRetentionPeriod", "1209600")]).await;
    let attribute = async |name| queue.attribute(name).await;
    assert_eq!(attribute(QueueAttributeName::VisibilityTimeout).await.as_deref(), Some("180"));
    let retention = attribute(QueueAttributeName::MessageRetentionPeriod).await;
    assert_eq!(retention.as_deref(), Some("1209600"));
    assert_eq!(attribute(QueueAttributeName::FifoQueue).await.as_deref(), Some("true"));
    queue.set(&[("VisibilityTimeout", "60")]).await.expect("set");
    assert_eq!(attribute(QueueAttributeName::VisibilityTimeout).await.as_deref(), Some("60"));
}

async fn a_purged_queue_is_empty(bench: Bench) {
    let queue = bench.standard(&[]).await;
    queue.send("a").await;
    queue.send("b").await;
    queue.try_receive(1, 0, 600).await.expect("an answer");
    answered(queue.sqs.purge_queue().queue_url(&queue.url).send().await).expect("purged");
    assert_eq!(bodies(&queue.poll(30).await), [""; 0]);
    queue.send("c").await;
    assert_eq!(bodies(&queue.poll(30).await), ["c"]);
}

async fn wrong_names_are_refused(bench: Bench) {
    let sqs = bench.standard(&[]).await.sqs;
    let long = "x".repeat(81);
    bench.seen.fact(&LONG_NAME, code(Queue::create(&sqs, &long, &[]).await));
    bench.seen.fact(&SPACED_NAME, code(Queue::create(&sqs, "a b", &[]).await));
    let name = format!("list-{:016x}", rand::random::<u64>());
    let fifo = Queue::create(&sqs, &name, &[("FifoQueue", "true")]).await;
    bench.seen.fact(&FIFO_NAME, code(fifo));
}
