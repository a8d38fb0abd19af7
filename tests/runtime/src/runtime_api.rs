//! The Lambda Runtime API, as a function sees it.
//!
//! `GET …/invocation/next` waits for an event; `POST …/response`, `…/error` and
//! `…/init/error` take what became of it. Paths and headers:
//! <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html> (2018-06-01).

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use everlog::time::Clock;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use crate::endpoint::{body_of, respond, serve};

const PREFIX: &str = "/2018-06-01/runtime/";
/// Milliseconds that an invocation may take.
const TIMEOUT_MS: u64 = 60_000;

/// What became of an invocation.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The function answered.
    Answered(Value),
    /// The function said that the invocation failed.
    Failed {
        /// Its `errorType`.
        kind: String,
        /// Its `errorMessage`.
        message: String,
    },
}

/// The server of one function.
pub(crate) struct RuntimeApi {
    address: SocketAddr,
    events: mpsc::Sender<Value>,
    outcomes: mpsc::Receiver<(String, Outcome)>,
    first_poll: watch::Receiver<Option<Instant>>,
    /// Invocations so far.
    count: u64,
}

struct Shared {
    events: tokio::sync::Mutex<mpsc::Receiver<Value>>,
    outcomes: mpsc::Sender<(String, Outcome)>,
    first_poll: watch::Sender<Option<Instant>>,
    handed_out: Mutex<u64>,
}

impl RuntimeApi {
    pub(crate) async fn start() -> Self {
        let (events, to_hand_out) = mpsc::channel(1);
        let (to_report, outcomes) = mpsc::channel(1);
        let (to_see, first_poll) = watch::channel(None);
        let shared = Arc::new(Shared {
            events: tokio::sync::Mutex::new(to_hand_out),
            outcomes: to_report,
            first_poll: to_see,
            handed_out: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = serve(listener, move |request| {
            let shared = shared.clone();
            async move { shared.answer(request).await }
        });
        Self { address, events, outcomes, first_poll, count: 0 }
    }

    /// For `AWS_LAMBDA_RUNTIME_API`.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// When the function first asked for an event.
    pub(crate) async fn first_poll(&mut self) -> Instant {
        let seen = self.first_poll.wait_for(Option::is_some).await;
        (*seen.expect("the server lives")).expect("waited for")
    }

    /// Hands out `event`; what became of it.
    pub(crate) async fn invoke(&mut self, event: Value) -> Outcome {
        self.count += 1;
        self.events.send(event).await.expect("the server lives");
        let (id, outcome) = self.outcomes.recv().await.expect("the server lives");
        assert_eq!(id, request_id(self.count), "the answer is for another invocation");
        outcome
    }
}

/// Lambda's are UUIDs; the number makes a mix-up visible.
fn request_id(number: u64) -> String {
    format!("8476a536-e9f4-11e8-9739-{number:012}")
}

impl Shared {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path().strip_prefix(PREFIX).unwrap_or_default().to_owned();
        let parts: Vec<&str> = path.split('/').collect();
        match (request.method(), parts.as_slice()) {
            (&Method::GET, ["invocation", "next"]) => self.next().await,
            (&Method::POST, ["invocation", id, "response"]) => {
                let body = body_of(request).await;
                let answer = serde_json::from_slice(&body).expect("a function answers JSON");
                self.report(id, Outcome::Answered(answer)).await
            }
            (&Method::POST, ["invocation", id, "error"]) => {
                self.report(id, failed(&body_of(request).await)).await
            }
            (&Method::POST, ["init", "error"]) => {
                self.report("init", failed(&body_of(request).await)).await
            }
            _ => respond(404, &[], Vec::new()),
        }
    }

    async fn next(&self) -> Response<Full<Bytes>> {
        self.first_poll.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert_with(Instant::now);
            is_first
        });
        let Some(event) = self.events.lock().await.recv().await else {
            return respond(410, &[], Vec::new());
        };
        let id = {
            let mut handed_out = self.handed_out.lock().expect("nothing panics here");
            *handed_out += 1;
            request_id(*handed_out)
        };
        let deadline_ms = Clock::System.now().plus_ms(TIMEOUT_MS).0.to_string();
        let headers = [
            ("Content-Type", "application/json"),
            ("Lambda-Runtime-Aws-Request-Id", id.as_str()),
            ("Lambda-Runtime-Deadline-Ms", deadline_ms.as_str()),
            (
                "Lambda-Runtime-Invoked-Function-Arn",
                "arn:aws:lambda:us-east-2:123456789012:function:everlog-test",
            ),
            (
                "Lambda-Runtime-Trace-Id",
                "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=1",
            ),
        ];
        respond(200, &headers, event.to_string().into_bytes())
    }

    async fn report(&self, id: &str, outcome: Outcome) -> Response<Full<Bytes>> {
        // Nobody listens any more only when the test is over.
        let _ = self.outcomes.send((id.to_owned(), outcome)).await;
        respond(202, &[], json!({ "status": "OK" }).to_string().into_bytes())
    }
}

fn failed(body: &[u8]) -> Outcome {
    let body: Value = serde_json::from_slice(body).expect("an error is JSON");
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    Outcome::Failed { kind: text("errorType"), message: text("errorMessage") }
}
