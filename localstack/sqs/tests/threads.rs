//! The engine between threads.
//!
//! What it is: many senders and many long polls on a runtime with threads, in
//! real time. It promises that every message is received by one poll and that
//! no poll sleeps through a message: one that ends empty has missed its wake.
//! It deliberately sleeps nowhere; the schedule differs from run to run, the
//! outcome does not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use everlog_sqs::{Config, Engine, OutgoingMessage, Receive};
use std::collections::{BTreeMap, HashSet};

const SENDERS: usize = 4;
const POLLERS: usize = 8;
const MESSAGES_PER_SENDER: usize = 2_000;
const STOP: &str = "stop";

async fn send(engine: Engine, url: String, sender: usize, fifo: bool) {
    for number in 0..MESSAGES_PER_SENDER {
        let body = format!("{sender}-{number}");
        let mut message = OutgoingMessage::new(&body);
        if fifo {
            message = message.in_group(format!("g{}", number % 16), &body);
        }
        engine.send(&url, message).await.unwrap();
        // Lets the polls fall asleep in between.
        tokio::task::yield_now().await;
    }
}

async fn poll(engine: Engine, url: String, poller: usize) -> Vec<String> {
    let receive = Receive { max_messages: 2, wait_s: Some(20), visibility_s: Some(600) };
    let mut bodies = Vec::new();
    loop {
        let messages = engine.receive(&url, receive).await.unwrap();
        assert!(!messages.is_empty(), "a poll slept through a message");
        let mut stops = 0;
        for message in messages {
            engine.delete(&url, &message.receipt_handle).await.unwrap();
            if &*message.body == STOP {
                stops += 1;
            } else {
                bodies.push(message.body.to_string());
            }
        }
        if stops > 0 {
            for spare in 1..stops {
                stop(&engine, &url, &format!("spare-{poller}-{spare}")).await;
            }
            return bodies;
        }
    }
}

async fn stop(engine: &Engine, url: &str, id: &str) {
    let mut message = OutgoingMessage::new(STOP);
    if url.ends_with(".fifo") {
        message = message.in_group(id, id);
    }
    engine.send(url, message).await.unwrap();
}

async fn run(name: &str, fifo: bool) {
    let engine = Engine::new(Config::new(1_750_000_000_000, "http://127.0.0.1:1"));
    let mut attributes = BTreeMap::new();
    if fifo {
        attributes.insert("FifoQueue".to_owned(), "true".to_owned());
    }
    let url = engine.create_queue(name, &attributes).await.unwrap();
    let pollers: Vec<_> = (0..POLLERS)
        .map(|poller| tokio::spawn(poll(engine.clone(), url.clone(), poller)))
        .collect();
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| tokio::spawn(send(engine.clone(), url.clone(), sender, fifo)))
        .collect();
    for sender in senders {
        sender.await.unwrap();
    }
    for poller in 0..POLLERS {
        stop(&engine, &url, &format!("stop-{poller}")).await;
    }
    let mut seen = HashSet::new();
    for poller in pollers {
        for body in poller.await.unwrap() {
            assert!(seen.insert(body), "a message was received twice");
        }
    }
    // A poll may stop while messages are left, never the last one of them.
    let left = engine.attributes(&url).await.unwrap();
    let left: usize = left["ApproximateNumberOfMessages"].parse().unwrap();
    assert_eq!(seen.len() + left, SENDERS * MESSAGES_PER_SENDER);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_message_of_a_standard_queue_reaches_one_poll() {
    run("work", false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_message_of_a_fifo_queue_reaches_one_poll() {
    run("work.fifo", true).await;
}
