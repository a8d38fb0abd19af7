//! `everlog functions`: the fleet where no Lambda runs it.

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::{Failure, Global};
use crate::deployed::Deployed;
use crate::resident;

#[derive(Debug, Args)]
pub(crate) struct FunctionsArgs {
    /// Batches of each queue that are served at once.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=100))]
    pollers: u16,
    /// Make the table and the queues first, where they are missing.
    #[arg(long)]
    create: bool,
    /// Days after which what has ended is deleted; 0 is never.
    #[arg(long, env = "EVERLOG_RETENTION_DAYS", default_value = "0", value_parser = retention)]
    retention_days: Retention,
    /// A task queue to make beside `default`.
    #[arg(long, value_name = "NAME", requires = "create")]
    queue: Vec<String>,
}

/// Milliseconds of retention.
#[derive(Debug, Clone, Copy)]
struct Retention(Option<u64>);

fn retention(text: &str) -> Result<Retention, String> {
    everlog::config::retention_ms(text).map(Retention).map_err(|error| error.why)
}

/// Serves the queues until a signal comes; what is under way then is finished.
pub(super) async fn functions(global: &Global, args: &FunctionsArgs) -> Result<u8, Failure> {
    let address = global
        .address()
        .ok_or_else(|| Failure::Usage("the functions of a deployed fleet: give --table".into()))?;
    let deployed = match args.create {
        true => Deployed::create(&address, &args.queue).await,
        false => Deployed::find(&address).await,
    };
    let deployed = deployed.map_err(|e| Failure::stack(&e))?;
    let mut terminate = signal(SignalKind::terminate()).map_err(|e| Failure::stack(&e))?;
    let fleet = deployed.fleet().keeping(args.retention_days.0);
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let pollers = usize::from(args.pollers);
    let serving = tokio::spawn(resident::serve(fleet, deployed, pollers, stopped));
    if !global.json {
        eprintln!("serving {}; Ctrl-C ends it", address.table);
    }
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    let _ = stop.send(true);
    serving.await.map_err(|e| Failure::stack(&e))?;
    Ok(0)
}
