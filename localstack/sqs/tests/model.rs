//! The engine against a naive model, over random calls.
//!
//! What it is: the rules of SQS once more, written as linear scans over a
//! list, and long random walks on which engine and model must agree. It
//! promises to notice any message that is lost, doubled, out of order or
//! visible at the wrong millisecond, and any wrong count. It deliberately
//! leaves free which group a FIFO receive serves first. A failure prints the
//! seed of its walk.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "model/rules.rs"]
mod rules;

use everlog_sqs::{Config, Engine, ErrorKind, OutgoingMessage, Receive, ReceivedMessage};
use rules::{Kind, Known, Model, RETENTION_MS, SMALL_WINDOW};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

const EPOCH_MS: u64 = 1_750_000_000_000;
const RECEIVES_MAX: u32 = 3;
const DEDUPLICATION_MS: u64 = 300_000;
const WALKS: u64 = 60;
const STEPS: u64 = 600;

/// SplitMix64: a walk is its seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

struct Walk {
    engine: Engine,
    url: String,
    dead_url: String,
    model: Model,
    dice: Dice,
    handles: Vec<(String, String)>,
}

impl Walk {
    async fn start(kind: Kind, seed: u64) -> Self {
        let mut config = Config::new(EPOCH_MS, "http://127.0.0.1:1");
        if kind == Kind::SmallWindow {
            config.fifo_window = SMALL_WINDOW;
        }
        let engine = Engine::new(config);
        let fifo = kind != Kind::Standard;
        let suffix = if fifo { ".fifo" } else { "" };
        let mut attributes = BTreeMap::new();
        if fifo {
            attributes.insert("FifoQueue".to_owned(), "true".to_owned());
        }
        let dead_url = engine.create_queue(&format!("dead{suffix}"), &attributes).await.unwrap();
        if kind != Kind::SmallWindow {
            let policy = format!(
                r#"{{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead{suffix}","maxReceiveCount":{RECEIVES_MAX}}}"#
            );
            attributes.insert("RedrivePolicy".to_owned(), policy);
        }
        let retention_s = (RETENTION_MS / 1_000).to_string();
        attributes.insert("MessageRetentionPeriod".to_owned(), retention_s);
        let url = engine.create_queue(&format!("work{suffix}"), &attributes).await.unwrap();
        let model = Model { kind, fifo, messages: Vec::new(), seen: HashMap::new(), numbers: 0 };
        Self { engine, url, dead_url, model, dice: Dice(seed), handles: Vec::new() }
    }

    async fn step(&mut self) {
        let choice = self.dice.below(100);
        if choice >= 95 {
            let ms = self.dice.below(20_000);
            tokio::time::advance(Duration::from_millis(ms)).await;
        } else if choice >= 80 {
            let ms = self.dice.below(1_500);
            tokio::time::advance(Duration::from_millis(ms)).await;
        }
        self.model.let_time_pass(self.engine.now_ms());
        match choice {
            0..35 => self.send().await,
            35..60 => self.receive().await,
            60..75 => self.delete().await,
            75..80 => self.change_visibility().await,
            _ => {}
        }
        self.compare_counts().await;
    }

    async fn send(&mut self) {
        let now_ms = self.engine.now_ms();
        let number = self.model.numbers;
        let group = format!("g{}", self.dice.below(4));
        let deduplication = format!("d{}", self.dice.below(200));
        let delay_s = if self.model.fifo { 0 } else { self.dice.below(4) };
        let mut message = OutgoingMessage::new(number.to_string());
        if self.model.fifo {
            message = message.in_group(&group, &deduplication);
        } else {
            message.delay_s = Some(u32::try_from(delay_s).unwrap());
        }
        let id = self.engine.send(&self.url, message).await.unwrap().message_id;
        if self.model.fifo
            && let Some((sent_ms, first)) = self.model.seen.get(&deduplication)
            && sent_ms + DEDUPLICATION_MS > now_ms
        {
            assert_eq!(&id, first, "a duplicate answers the first message");
            return;
        }
        self.model.seen.insert(deduplication, (now_ms, id.clone()));
        self.model.numbers += 1;
        self.model.messages.push(Known {
            id,
            number,
            group,
            sent_ms: now_ms,
            visible_at_ms: now_ms + delay_s * 1_000,
            in_flight: false,
            receives: 0,
            handle: String::new(),
        });
    }

    async fn receive(&mut self) {
        let max_messages = u32::try_from(self.dice.below(4)).unwrap() + 1;
        let visibility_s = [0, 1, 3, 10][usize::try_from(self.dice.below(4)).unwrap()];
        let now_ms = self.engine.now_ms();
        let receive = Receive { max_messages, wait_s: Some(0), visibility_s: Some(visibility_s) };
        let ready = self.model.ready(now_ms);
        let got = self.engine.receive(&self.url, receive).await.unwrap();
        let moved = self.drain_dead_letters().await;
        self.judge(&ready, &got, &moved, max_messages as usize);
        self.model.messages.retain(|message| !moved.contains(&message.id));
        for message in got {
            let known = self.model.find(&message.message_id).unwrap();
            known.receives += 1;
            assert_eq!(message.receive_count, known.receives);
            assert_eq!(message.sent_ms, known.sent_ms);
            known.in_flight = true;
            known.visible_at_ms = now_ms + u64::from(visibility_s) * 1_000;
            known.handle.clone_from(&message.receipt_handle);
            self.handles.push((message.message_id, message.receipt_handle));
        }
        self.model.let_time_pass(now_ms);
    }

    /// Whether SQS could have answered so.
    fn judge(
        &self,
        ready: &[Known],
        got: &[ReceivedMessage],
        moved: &BTreeSet<String>,
        max_messages: usize,
    ) {
        let is_dead = |message: &&Known| {
            self.model.kind != Kind::SmallWindow && message.receives >= RECEIVES_MAX
        };
        let alive: Vec<&str> =
            ready.iter().filter(|m| !is_dead(m)).map(|m| m.id.as_str()).collect();
        let dead: BTreeSet<&str> = ready.iter().filter(is_dead).map(|m| m.id.as_str()).collect();
        assert_eq!(got.len(), max_messages.min(alive.len()), "as many as there are");
        assert!(moved.iter().all(|id| dead.contains(id.as_str())), "only what is due moves");
        if got.len() < max_messages {
            assert_eq!(moved.len(), dead.len(), "an exhausted queue has moved all that is due");
        }
        let got_ids: Vec<&str> = got.iter().map(|m| m.message_id.as_str()).collect();
        if !self.model.fifo {
            assert_eq!(got_ids, alive[..got_ids.len()], "in the order of visibility");
            return;
        }
        let mut by_group: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut runs = 0;
        let mut last = "";
        for message in got {
            let group = message.group_id.as_deref().unwrap();
            runs += usize::from(group != last);
            last = group;
            by_group.entry(group).or_default().push(&message.message_id);
        }
        assert_eq!(runs, by_group.len(), "one group after the other");
        for (group, ids) in by_group {
            let of_group = ready.iter().filter(|m| m.group == group);
            let expected: Vec<&str> =
                of_group.filter(|m| !is_dead(m)).map(|m| m.id.as_str()).collect();
            assert_eq!(ids, expected[..ids.len()], "a group is served from its head");
            assert!(ids.len() == expected.len() || group == last, "and to its end");
        }
    }

    /// Takes everything out of the dead-letter queue.
    async fn drain_dead_letters(&self) -> BTreeSet<String> {
        let mut ids = BTreeSet::new();
        let receive = Receive { max_messages: 10, wait_s: Some(0), visibility_s: Some(30) };
        loop {
            let messages = self.engine.receive(&self.dead_url, receive).await.unwrap();
            if messages.is_empty() {
                return ids;
            }
            for message in messages {
                self.engine.delete(&self.dead_url, &message.receipt_handle).await.unwrap();
                assert!(ids.insert(message.message_id), "moved once");
            }
        }
    }

    fn any_handle(&mut self) -> Option<(String, String)> {
        let recent = self.handles.len().min(12) as u64;
        if recent == 0 {
            return None;
        }
        let back = usize::try_from(self.dice.below(recent)).unwrap() + 1;
        Some(self.handles[self.handles.len() - back].clone())
    }

    async fn delete(&mut self) {
        let Some((id, handle)) = self.any_handle() else {
            return;
        };
        let answered = self.engine.delete(&self.url, &handle).await;
        let exists = self.model.messages.iter().any(|message| message.id == id);
        let current = self.model.is_current(&handle).cloned();
        match current {
            Some(message) if !self.model.fifo || message.in_flight => {
                answered.unwrap();
                self.model.messages.retain(|message| message.id != id);
            }
            _ if exists && self.model.fifo => {
                assert_eq!(answered.unwrap_err().kind, ErrorKind::InvalidParameterValue);
            }
            _ => answered.unwrap(),
        }
    }

    async fn change_visibility(&mut self) {
        let Some((id, handle)) = self.any_handle() else {
            return;
        };
        let visibility_s = u32::try_from(self.dice.below(5)).unwrap();
        let now_ms = self.engine.now_ms();
        let answered = self.engine.change_visibility(&self.url, &handle, visibility_s).await;
        match self.model.is_current(&handle).map(|message| message.in_flight) {
            Some(true) => {
                answered.unwrap();
                let known = self.model.find(&id).unwrap();
                known.visible_at_ms = now_ms + u64::from(visibility_s) * 1_000;
                self.model.let_time_pass(now_ms);
            }
            Some(false) => assert_eq!(answered.unwrap_err().kind, ErrorKind::MessageNotInflight),
            None => assert_eq!(answered.unwrap_err().kind, ErrorKind::InvalidParameterValue),
        }
    }

    async fn compare_counts(&self) {
        let now_ms = self.engine.now_ms();
        let attributes = self.engine.attributes(&self.url).await.unwrap();
        let count = |suffix: &str| {
            attributes[&format!("ApproximateNumberOfMessages{suffix}")].parse::<usize>().unwrap()
        };
        let waiting = self.model.messages.iter().filter(|m| !m.in_flight);
        let visible = waiting.filter(|m| m.visible_at_ms <= now_ms).count();
        let in_flight = self.model.messages.iter().filter(|m| m.in_flight).count();
        let delayed = self.model.messages.len() - visible - in_flight;
        assert_eq!(
            [count(""), count("Delayed"), count("NotVisible")],
            [visible, delayed, in_flight]
        );
    }
}

async fn walk(kind: Kind) {
    for seed in 0..WALKS {
        println!("{kind:?}, seed {seed}");
        let mut walk = Walk::start(kind, seed).await;
        for _ in 0..STEPS {
            walk.step().await;
        }
        assert!(walk.model.numbers > 50, "the walk went somewhere");
    }
}

#[tokio::test(start_paused = true)]
async fn standard_queue_agrees_with_the_model_on_random_walks() {
    walk(Kind::Standard).await;
}

#[tokio::test(start_paused = true)]
async fn fifo_queue_agrees_with_the_model_on_random_walks() {
    walk(Kind::Fifo).await;
}

#[tokio::test(start_paused = true)]
async fn fifo_queue_with_a_small_window_agrees_with_the_model_on_random_walks() {
    walk(Kind::SmallWindow).await;
}
