//! Dead letters on the embedded queues: shown without being taken, sent again,
//! and none that holds up the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_config::SdkConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region, SharedCredentialsProvider};
use everlog::config::{APPEND, DEAD_LETTER};
use everlog::message::DeadLetter;
use everlog::time::{Clock, Timestamp};
use everlog_local::backend::Backend;
use everlog_local::deployed::Deployed;
use everlog_local::letters::Letters;
use everlog_local::stack;
use everlog_local::transport::{self, Handler, NoAnswer};
use everlog_sqs::{OutgoingMessage, Receive, ReceivedMessage};

const EPOCH: Timestamp = Timestamp(1_796_000_000_000);

struct Scene {
    backend: Backend,
    deployed: Deployed,
}

impl Scene {
    async fn new(between: impl FnOnce(Handler) -> Handler) -> Self {
        let backend = Backend::open(None, Clock::tokio(EPOCH)).expect("engines in memory");
        let direct = transport::direct(&backend);
        let fleet = stack::embedded_fleet(&backend, direct.clone(), &[]).await;
        let fleet = fleet.expect("a table and queues");
        let http = transport::client(between(direct), backend.clock().clone());
        let credentials = Credentials::new("test", "test", None, None, "everlog-tests");
        let aws = SdkConfig::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("us-east-1"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .endpoint_url("http://aws.local")
            .http_client(http)
            .build();
        let deployed = Deployed {
            table: "everlog".into(),
            queues: fleet.relay().queues().clone(),
            functions: false,
            lambda: aws_sdk_lambda::Client::new(&aws),
            sqs: aws_sdk_sqs::Client::new(&aws),
            aws,
        };
        Self { backend, deployed }
    }

    fn letters(&self) -> Letters<'_> {
        Letters::given_up(&self.deployed).expect("a queue")
    }

    async fn give_up(&self, queue: &str, body: &str, cut: bool) {
        let letter = DeadLetter {
            queue: queue.into(),
            message_id: format!("m-{body}"),
            reason: "no reason".into(),
            body: body.into(),
            cut,
        };
        let url = self.deployed.queues.url(DEAD_LETTER).expect("a queue");
        let mut message = OutgoingMessage::new(serde_json::to_string(&letter).expect("JSON"));
        if url.ends_with(".fifo") {
            message = message.in_group("dead-letter", format!("d-{body}"));
        }
        self.backend.sqs().send(url, message).await.expect("accepted");
    }

    async fn lies_in(&self, queue: &str) -> Vec<ReceivedMessage> {
        let url = self.deployed.queues.url(queue).expect("a queue");
        let mut all = Vec::new();
        loop {
            let receive = Receive { max_messages: 10, wait_s: Some(0), visibility_s: Some(600) };
            let some = self.backend.sqs().receive(url, receive).await.expect("an answer");
            if some.is_empty() {
                return all;
            }
            all.extend(some);
        }
    }
}

fn command(n: usize) -> String {
    format!(r#"{{"id":"c-{n}","workflow":"w-{n}","command":{{"pause":{{}}}}}}"#)
}

#[tokio::test(start_paused = true)]
async fn letters_that_are_shown_stay_and_are_shown_again() {
    let scene = Scene::new(|direct| direct).await;
    for n in 0..25 {
        scene.give_up(APPEND, &command(n), false).await;
    }
    for _ in 0..2 {
        let shown = scene.letters().read(1_000).await.expect("letters");
        assert_eq!(shown.len(), 25);
        assert_eq!(shown[0].letter.reason, "no reason");
    }
    assert_eq!(scene.letters().read(7).await.expect("letters").len(), 7, "the limit is kept");
    assert_eq!(scene.lies_in(APPEND).await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn every_letter_is_sent_once_where_it_was_and_is_gone() {
    let scene = Scene::new(|direct| direct).await;
    for n in 0..25 {
        scene.give_up(APPEND, &command(n), false).await;
    }
    let done = scene.letters().redrive(1_000, None).await.expect("an answer");
    assert_eq!((done.sent, done.stay.len()), (25, 0));
    let sent = scene.lies_in(APPEND).await;
    let mut bodies: Vec<String> = sent.iter().map(|m| m.body.to_string()).collect();
    bodies.sort();
    let mut wanted: Vec<String> = (0..25).map(command).collect();
    wanted.sort();
    assert_eq!(bodies, wanted);
    assert_eq!(scene.lies_in(DEAD_LETTER).await.len(), 0);
    let nothing = scene.letters().redrive(1_000, None).await.expect("an answer");
    assert_eq!(nothing.sent, 0);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_sent_stays_says_why_and_holds_nothing_up() {
    let scene = Scene::new(|direct| direct).await;
    scene.give_up("nowhere", "to a queue that is not there", false).await;
    scene.give_up(APPEND, "only a begin", true).await;
    let url = scene.deployed.queues.url(DEAD_LETTER).expect("a queue");
    let mut foreign = OutgoingMessage::new("no letter");
    if url.ends_with(".fifo") {
        foreign = foreign.in_group("dead-letter", "foreign");
    }
    scene.backend.sqs().send(url, foreign).await.expect("accepted");
    for n in 0..12 {
        scene.give_up(APPEND, &command(n), false).await;
    }
    let done = scene.letters().redrive(1_000, None).await.expect("an answer");
    assert_eq!(done.sent, 12);
    let mut why: Vec<&str> = done.stay.iter().map(|(_, why)| why.as_str()).collect();
    why.sort_unstable();
    let wanted = [
        "no queue \"\"",
        "no queue \"nowhere\"",
        "only its beginning is here: send the whole of it yourself",
    ];
    assert_eq!(why, wanted);
    assert_eq!(scene.letters().read(10).await.expect("letters").len(), 3, "visible at once");
}

#[tokio::test(start_paused = true)]
async fn a_letter_whose_removal_is_lost_is_sent_again_and_never_lost() {
    let removed = Arc::new(AtomicUsize::new(0));
    let counted = removed.clone();
    let scene = Scene::new(move |direct| {
        Arc::new(move |call: transport::Call| {
            // The first letter's removal never arrives, however often it is tried.
            let first = call.target.ends_with(".DeleteMessage")
                && counted.fetch_add(1, Ordering::SeqCst) < 3;
            if first {
                return Box::pin(async { Err(NoAnswer) }) as transport::Outcome;
            }
            direct(call)
        })
    })
    .await;
    for n in 0..2 {
        scene.give_up(APPEND, &command(n), false).await;
    }
    let done = scene.letters().redrive(10, None).await.expect("an answer");
    assert_eq!((done.sent, done.stay.len()), (1, 1), "{done:?}");
    assert!(done.stay[0].1.starts_with("sent, and not removed"), "{done:?}");
    let again = scene.letters().redrive(10, None).await.expect("an answer");
    assert_eq!(again.sent, 1);
    assert_eq!(scene.lies_in(APPEND).await.len(), 2, "the queue knows the repeat for what it is");
    assert_eq!(scene.lies_in(DEAD_LETTER).await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_letter_that_comes_back_at_once_is_sent_once_and_stays() {
    let scene = Scene::new(|direct| direct).await;
    scene.give_up(APPEND, "hopeless", false).await;
    let back = async {
        loop {
            let came = scene.lies_in(APPEND).await.len();
            for _ in 0..came {
                scene.give_up(APPEND, "hopeless", false).await;
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    };
    let letters = scene.letters();
    let done = tokio::select! {
        done = letters.redrive(50, None) => done.expect("an answer"),
        () = back => unreachable!("it goes on for ever"),
    };
    assert_eq!((done.sent, done.stay.len()), (1, 1), "{done:?}");
    assert!(done.stay[0].1.starts_with("it came back"), "{done:?}");
}
