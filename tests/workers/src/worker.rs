//! The process of a worker.

use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::process::Child;

/// How long a worker may take to end once it was told to.
const END: Duration = Duration::from_secs(30);

/// A running worker; killed when dropped.
pub struct Worker(Child);

impl Worker {
    /// Starts it.
    ///
    /// # Panics
    /// If it can't be started.
    #[must_use]
    pub fn start(command: Command, environment: &[(&'static str, String)]) -> Self {
        let mut command = tokio::process::Command::from(command);
        command.envs(environment.iter().cloned()).kill_on_drop(true);
        Self(command.spawn().expect("the worker starts"))
    }

    /// Tells it to end, and waits until it has.
    ///
    /// # Panics
    /// If it does not end in half a minute.
    pub async fn end(mut self) -> ExitStatus {
        let pid = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let pid = pid.expect("it has not ended by itself");
        rustix::process::kill_process(pid, Signal::TERM).expect("a signal is sent");
        let ended = tokio::time::timeout(END, self.0.wait()).await;
        ended.expect("it ends when it is told to").expect("a child can be waited for")
    }
}
