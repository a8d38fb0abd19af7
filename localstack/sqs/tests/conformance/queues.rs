//! Queues: names, attributes, purging and deleting.

use crate::setup::*;
use everlog_sqs::{Config, Engine, ErrorKind};
use std::collections::BTreeMap;

#[tokio::test(start_paused = true)]
async fn url_names_the_base_the_account_and_the_queue() {
    let engine = Engine::new(Config::new(EPOCH_MS, "http://localhost:9/"));
    let url = standard(&engine, &[]).await;
    assert_eq!(url, "http://localhost:9/000000000000/work");
    assert_eq!(engine.get_queue_url("work").await.unwrap(), url);
}

#[tokio::test(start_paused = true)]
async fn host_of_the_url_is_not_compared() {
    let engine = engine();
    standard(&engine, &[]).await;
    send(&engine, "https://sqs.us-east-1.amazonaws.com/000000000000/work", "a").await;
}

#[tokio::test(start_paused = true)]
async fn url_without_an_account_is_an_invalid_address() {
    let engine = engine();
    standard(&engine, &[]).await;
    for url in [
        "work",
        "",
        "http://127.0.0.1:4566/work",
        "http://h/111111111111/work",
        "http://h/000000000000/",
    ] {
        assert_eq!(kind(engine.attributes(url).await), ErrorKind::InvalidAddress, "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn absent_queue_does_not_exist() {
    let engine = engine();
    let url = format!("{BASE_URL}/000000000000/absent");
    let absent = ErrorKind::QueueDoesNotExist;
    assert_eq!(kind(engine.get_queue_url("absent").await), absent);
    assert_eq!(kind(engine.delete_queue(&url).await), absent);
    assert_eq!(kind(engine.purge(&url).await), absent);
    assert_eq!(kind(engine.delete(&url, "h").await), absent);
    assert_eq!(kind(engine.receive(&url, Default::default()).await), absent);
    assert_eq!(kind(engine.set_attributes(&url, &BTreeMap::new()).await), absent);
    let message = everlog_sqs::OutgoingMessage::new("a");
    assert_eq!(kind(engine.send(&url, message).await), absent);
}

#[tokio::test(start_paused = true)]
async fn wrong_names_are_refused() {
    let engine = engine();
    let none = BTreeMap::new();
    let fifo = attributes(&[("FifoQueue", "true")]);
    let wrong = [
        ("", &none),
        ("a b", &none),
        ("a.b", &none),
        ("work.fifo", &none),
        ("work", &fifo),
        (".fifo", &fifo),
    ];
    for (name, attributes) in wrong {
        let refused = engine.create_queue(name, attributes).await;
        assert_eq!(kind(refused), ErrorKind::InvalidParameterValue, "{name}");
    }
    let longest = "x".repeat(80);
    engine.create_queue(&longest, &none).await.unwrap();
    let longer = "x".repeat(81);
    assert_eq!(kind(engine.create_queue(&longer, &none).await), ErrorKind::InvalidParameterValue);
    let longest = format!("{}.fifo", "x".repeat(75));
    engine.create_queue(&longest, &fifo).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn creating_again_with_the_same_attributes_finds_the_queue() {
    let engine = engine();
    let url = standard(&engine, &[("DelaySeconds", "1")]).await;
    send(&engine, &url, "a").await;
    assert_eq!(standard(&engine, &[("DelaySeconds", "1")]).await, url);
    assert_eq!(standard(&engine, &[]).await, url);
    assert_eq!(counts(&engine, &url).await, [0, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn creating_again_with_other_attributes_is_refused() {
    let engine = engine();
    standard(&engine, &[("DelaySeconds", "1")]).await;
    let refused = engine.create_queue("work", &attributes(&[("DelaySeconds", "2")])).await;
    assert_eq!(kind(refused), ErrorKind::QueueNameExists);
}

#[tokio::test(start_paused = true)]
async fn queue_can_be_created_again_a_minute_after_it_was_deleted() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    send(&engine, &url, "a").await;
    engine.delete_queue(&url).await.unwrap();
    advance_ms(59_999).await;
    let refused = engine.create_queue("work", &BTreeMap::new()).await;
    assert_eq!(kind(refused), ErrorKind::QueueDeletedRecently);
    advance_ms(1).await;
    let url = standard(&engine, &[]).await;
    assert!(poll(&engine, &url, 5).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn second_purge_within_a_minute_is_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    engine.purge(&url).await.unwrap();
    advance_ms(59_999).await;
    send(&engine, &url, "a").await;
    let refused = engine.purge(&url).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::PurgeQueueInProgress);
    assert_eq!(
        refused.message,
        "Only one PurgeQueue operation on work is allowed every 60 seconds."
    );
    poll_one(&engine, &url, 0).await;
    advance_ms(1).await;
    engine.purge(&url).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn attributes_have_awss_defaults() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let expected = attributes(&[
        ("ApproximateNumberOfMessages", "0"),
        ("ApproximateNumberOfMessagesDelayed", "0"),
        ("ApproximateNumberOfMessagesNotVisible", "0"),
        ("CreatedTimestamp", "1750000000"),
        ("DelaySeconds", "0"),
        ("LastModifiedTimestamp", "1750000000"),
        ("MaximumMessageSize", "1048576"),
        ("MessageRetentionPeriod", "345600"),
        ("QueueArn", "arn:aws:sqs:us-east-1:000000000000:work"),
        ("ReceiveMessageWaitTimeSeconds", "0"),
        ("SqsManagedSseEnabled", "true"),
        ("VisibilityTimeout", "30"),
    ]);
    assert_eq!(engine.attributes(&url).await.unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn fifo_attributes_have_awss_defaults() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    let all = engine.attributes(&url).await.unwrap();
    let expected = attributes(&[
        ("ContentBasedDeduplication", "false"),
        ("DeduplicationScope", "queue"),
        ("FifoQueue", "true"),
        ("FifoThroughputLimit", "perQueue"),
    ]);
    assert!(expected.iter().all(|(name, value)| all.get(name) == Some(value)), "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn set_attributes_come_back() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    advance_s(10).await;
    let set = attributes(&[
        ("DelaySeconds", "900"),
        ("MaximumMessageSize", "1024"),
        ("MessageRetentionPeriod", "1209600"),
        ("ReceiveMessageWaitTimeSeconds", "20"),
        ("VisibilityTimeout", "43200"),
        ("ContentBasedDeduplication", "true"),
        ("DeduplicationScope", "messageGroup"),
        ("FifoThroughputLimit", "perMessageGroupId"),
        ("Policy", "{}"),
    ]);
    engine.set_attributes(&url, &set).await.unwrap();
    let all = engine.attributes(&url).await.unwrap();
    assert!(set.iter().all(|(name, value)| all.get(name) == Some(value)), "{all:?}");
    assert_eq!(all["LastModifiedTimestamp"], "1750000010");
    assert_eq!(all["CreatedTimestamp"], "1750000000");
}

#[tokio::test(start_paused = true)]
async fn values_out_of_range_are_refused_and_change_nothing() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let before = engine.attributes(&url).await.unwrap();
    let wrong = [
        ("DelaySeconds", "901"),
        ("DelaySeconds", "-1"),
        ("DelaySeconds", "soon"),
        ("MaximumMessageSize", "1023"),
        ("MaximumMessageSize", "1048577"),
        ("MessageRetentionPeriod", "59"),
        ("MessageRetentionPeriod", "1209601"),
        ("ReceiveMessageWaitTimeSeconds", "21"),
        ("VisibilityTimeout", "43201"),
    ];
    for (name, value) in wrong {
        let set = attributes(&[("DelaySeconds", "5"), (name, value)]);
        let refused = engine.set_attributes(&url, &set).await;
        assert_eq!(kind(refused), ErrorKind::InvalidAttributeValue, "{name} {value}");
    }
    assert_eq!(engine.attributes(&url).await.unwrap(), before);
}

#[tokio::test(start_paused = true)]
async fn attributes_that_do_not_exist_or_not_for_this_type_are_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    for name in
        ["Unknown", "QueueArn", "FifoQueue", "ContentBasedDeduplication", "DeduplicationScope"]
    {
        let refused = engine.set_attributes(&url, &attributes(&[(name, "true")])).await;
        assert_eq!(kind(refused), ErrorKind::InvalidAttributeName, "{name}");
    }
    let url = fifo(&engine, &[]).await;
    let refused = engine.set_attributes(&url, &attributes(&[("FifoQueue", "false")])).await;
    assert_eq!(kind(refused), ErrorKind::InvalidAttributeValue);
}

#[tokio::test(start_paused = true)]
async fn queues_are_listed_by_prefix_in_order() {
    let engine = engine();
    for name in ["b", "a2", "a1"] {
        engine.create_queue(name, &BTreeMap::new()).await.unwrap();
    }
    let url = |name: &str| format!("{BASE_URL}/000000000000/{name}");
    assert_eq!(engine.list_queues("").await, [url("a1"), url("a2"), url("b")]);
    assert_eq!(engine.list_queues("a").await, [url("a1"), url("a2")]);
    assert!(engine.list_queues("c").await.is_empty());
}
