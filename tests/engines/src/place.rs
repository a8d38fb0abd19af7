//! Where a list runs: which engines, through which door, on whose time.
//!
//! In process the time is virtual and a test waits for nothing. Over HTTP it is
//! the real one.

use everlog::time::{Clock, Timestamp};
use everlog_local::backend::Backend;
use everlog_local::{stack, transport};
use tokio::runtime::{Builder, Runtime};

use crate::fact::Engine;
use crate::script::Shared;

/// 2026-11-30T00:00Z.
const EPOCH: Timestamp = Timestamp(1_796_000_000_000);

/// An engine and the way to it.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its name in the names of tests.
    pub name: &'static str,
    /// Whose engine it is.
    pub engine: Engine,
    door: Door,
}

#[derive(Debug, Clone)]
enum Door {
    /// A function call, on virtual time; an engine for each test.
    Direct,
    /// A loopback port of this process; an engine for each test.
    Loopback,
    /// A server that a script starts.
    Script(Shared),
    /// A server that somebody started.
    Given(String),
}

/// The way to an engine, opened.
#[derive(Debug, Clone)]
pub enum Endpoint {
    /// A function call.
    Direct(Backend),
    /// An address.
    Url(String),
}

impl Place {
    /// The embedded engine by function calls, on virtual time; one for each test.
    #[must_use]
    pub fn embedded() -> Self {
        Self { name: "embedded", engine: Engine::Embedded, door: Door::Direct }
    }

    /// The embedded engine behind a port of this process; one for each test.
    #[must_use]
    pub fn loopback() -> Self {
        Self { name: "loopback", engine: Engine::Embedded, door: Door::Loopback }
    }

    /// A server that a script of `localstack/` starts, one for all tests.
    #[must_use]
    pub fn script(name: &'static str, engine: Engine, script: &'static str) -> Self {
        Self { name, engine, door: Door::Script(Shared::new(script)) }
    }

    /// A server that somebody started, if this variable names one; it is taken
    /// for ministack.
    #[must_use]
    pub fn given(variable: &str) -> Option<Self> {
        let url = std::env::var(variable).ok()?;
        Some(Self { name: "given", engine: Engine::MiniStack, door: Door::Given(url) })
    }

    /// Opens it: a runtime, and in it the endpoint and its clock.
    ///
    /// # Errors
    /// Why the engine does not start.
    pub fn open(&self) -> Result<(Runtime, Endpoint, Clock), String> {
        let fault = |e: &dyn std::fmt::Display| e.to_string();
        let virtual_time = matches!(self.door, Door::Direct);
        let runtime = if virtual_time {
            Builder::new_current_thread().enable_all().start_paused(true).build()
        } else {
            Builder::new_multi_thread().worker_threads(2).enable_all().build()
        };
        let runtime = runtime.map_err(|e| fault(&e))?;
        let guard = runtime.enter();
        let clock = if virtual_time { Clock::tokio(EPOCH) } else { Clock::System };
        let backend = || Backend::open(None, clock.clone()).map_err(|e| fault(&e));
        let endpoint = match &self.door {
            Door::Direct => Endpoint::Direct(backend()?),
            Door::Loopback => {
                let address = runtime.block_on(loopback(backend()?));
                Endpoint::Url(format!("http://{}", address?))
            }
            Door::Script(shared) => Endpoint::Url(shared.url()?),
            Door::Given(url) => Endpoint::Url(url.clone()),
        };
        drop(guard);
        Ok((runtime, endpoint, clock))
    }
}

/// The embedded engines behind a port.
async fn loopback(backend: Backend) -> Result<std::net::SocketAddr, String> {
    let fleet = stack::embedded_fleet(&backend, transport::direct(&backend), &[]).await;
    let fleet = fleet.map_err(|e| e.to_string())?;
    everlog_local::server::serve(backend, fleet).await.map_err(|e| e.to_string())
}
