//! A resident worker on the library `everlog::worker`: receipts, heartbeats,
//! cancels, redelivery and settling are the library's; the work is in [`tasks`].
//!
//! It takes its queues, its function and its credentials from the environment
//! (the README of this folder lists the variables) and serves until SIGTERM or
//! Ctrl-C; then tasks at hand may end within a grace. It deliberately can't run
//! without the function `settle`: whoever has no right to invoke it can't send
//! receipts. A variable that is missing or wrong ends it at once, by its name.

mod tasks;

use std::error::Error;
use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use everlog::client::{self, Client};
use everlog::config::{Queues, SETTLE};
use everlog::relay::{self, Relay};
use everlog::worker::{self, TaskQueue, Worker};
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let function = required("EVERLOG_SETTLE_FUNCTION")?;
    let fleet = function.strip_suffix("-settle").ok_or("EVERLOG_SETTLE_FUNCTION: no `-settle`")?;
    let settle = (SETTLE.to_owned(), required("EVERLOG_SETTLE_QUEUE_URL")?);
    let grace = Duration::from_secs(number("EVERLOG_GRACE_S", 20)?);
    let concurrency = usize::try_from(number("EVERLOG_CONCURRENCY", 4)?)?;

    let tls = Provider::Rustls(CryptoMode::Ring);
    let https = aws_smithy_http_client::Builder::new().tls_provider(tls).build_https();
    let aws = aws_config::defaults(BehaviorVersion::v2026_01_12()).http_client(https).load().await;
    let client = Client::lambda(client::configure((&aws).into()), fleet);
    let relay = Relay::new(relay::configure((&aws).into()), Queues::new([settle]));
    let tasks =
        TaskQueue::new(worker::configure((&aws).into()), required("EVERLOG_TASK_QUEUE_URL")?)
            .with_wait_s(u32::try_from(number("EVERLOG_WAIT_S", 20)?)?);

    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("no more tasks are taken");
    };
    Worker::new(worker::unique_name("rust"), client, relay, tasks::perform)?
        .with_long_types(|kind| kind.as_str() == tasks::RENDER)
        .serve(&tasks, concurrency, stop, grace)
        .await;
    Ok(())
}

fn required(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|why| format!("{name}: {why}"))
}

fn number(name: &str, otherwise: u64) -> Result<u64, String> {
    let Ok(text) = std::env::var(name) else { return Ok(otherwise) };
    text.parse().map_err(|why| format!("{name}: {why}"))
}
