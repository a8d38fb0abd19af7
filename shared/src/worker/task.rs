//! What a handler is given, and what it gives back.
//!
//! All of it is plain data and a few questions. It does no I/O; a payload that
//! is not what the handler expects is a [`Failure`] with a fixed kind.

use std::fmt::Display;
use std::ops::Deref;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::event;
use crate::id::{DispatchKey, Kind};
use crate::limits::ID_BYTES_MAX;
use crate::message::Dispatch;
use crate::payload::Payload;

/// Work to do: a dispatch, whole. Its fields are those of [`Dispatch`].
#[derive(Debug, Clone, PartialEq)]
pub struct Task(pub Dispatch);

impl Deref for Task {
    type Target = Dispatch;

    fn deref(&self) -> &Dispatch {
        &self.0
    }
}

impl Task {
    /// The input, read from JSON; a task without input has `null`.
    ///
    /// # Errors
    /// [`Failure`] of kind `bad-input`.
    pub fn input<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        read(self.0.input.as_ref()).map_err(|why| Failure::new("bad-input", why))
    }

    /// The output of an earlier task that the plan hands on, read from JSON;
    /// one without output has `null`.
    ///
    /// # Errors
    /// [`Failure`] of kind `bad-input`, also if the plan does not hand it on.
    pub fn output_of<T: DeserializeOwned>(&self, node: &str) -> Result<T, Failure> {
        let found = self.0.outputs.iter().find(|(id, _)| id.as_str() == node);
        let (_, output) = found.ok_or_else(|| {
            Failure::new("bad-input", format_args!("the plan hands on no output of {node}"))
        })?;
        read(output.as_ref())
            .map_err(|why| Failure::new("bad-input", format_args!("the output of {node}: {why}")))
    }
}

fn read<T: DeserializeOwned>(payload: Option<&Payload>) -> Result<T, serde_json::Error> {
    serde_json::from_slice(payload.map_or(b"null", Payload::bytes))
}

/// What came of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output(pub Option<Payload>);

impl Output {
    /// Nothing but success.
    pub const NONE: Self = Self(None);

    /// A value, as JSON.
    ///
    /// # Errors
    /// [`Failure`] of kind `bad-output`: it is no JSON, or above 256 KiB.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, Failure> {
        let bytes = serde_json::to_vec(value).map_err(|why| Failure::new("bad-output", why))?;
        let size = |size| Failure::new("bad-output", format_args!("it has {size} bytes"));
        Payload::opaque(bytes, None).map(|payload| Self(Some(payload))).map_err(size)
    }
}

/// Why a task did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// It failed. The retry policy of the task looks at the kind.
    Failed(event::Failure),
    /// It stopped because it was told to; never tried again.
    Cancelled,
}

impl Failure {
    /// A failure of a kind. What ids don't allow in `kind` becomes `-`.
    #[must_use]
    pub fn new(kind: &str, message: impl Display) -> Self {
        let kind = match Kind::new(cleaned(kind, ID_BYTES_MAX)) {
            Ok(kind) => kind,
            Err(impossible) => unreachable!("cleaned text is an id: {impossible}"),
        };
        Self::Failed(event::Failure { kind, message: message.to_string(), details: None })
    }

    /// No handler knows this type of task: kind `unknown-type`.
    #[must_use]
    pub fn unknown_type(task: &Task) -> Self {
        Self::new("unknown-type", format_args!("this worker has no handler for {}", task.kind))
    }

    /// With details, as JSON; left out above 256 KiB.
    #[must_use]
    pub fn with_details(self, details: &serde_json::Value) -> Self {
        match self {
            Self::Failed(failure) => {
                let details = Payload::json(details).ok();
                Self::Failed(event::Failure { details, ..failure })
            }
            Self::Cancelled => Self::Cancelled,
        }
    }
}

/// `text` as an id: at most `most` bytes, others than an id's become `-`, and
/// nothing becomes `-` as well.
pub(super) fn cleaned(text: &str, most: usize) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._:/@-".contains(c);
    let clean = text.chars().take(most).map(|c| if allowed(c) { c } else { '-' });
    let clean: String = clean.collect();
    if clean.is_empty() { "-".to_owned() } else { clean }
}

/// Why a handler should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// The run is to end.
    Cancelled,
    /// The attempt is over, or another worker has it. What the handler says
    /// now is not sent.
    Over,
}

/// A handler's view of its attempt while it runs. Heartbeats need nothing of it.
#[derive(Debug, Clone)]
pub struct Context {
    pub(super) key: DispatchKey,
    pub(super) interrupt: watch::Receiver<Option<Interrupt>>,
    pub(super) end: Option<Instant>,
}

impl Context {
    /// Names this attempt towards the world: the same however often it is performed.
    #[must_use]
    pub fn idempotency_key(&self) -> DispatchKey {
        self.key
    }

    /// Waits until the handler should stop; for ever if it never should. It is
    /// dropped after a grace of [`Worker::with_cancel_grace`](super::Worker::with_cancel_grace).
    pub async fn cancelled(&self) -> Interrupt {
        let mut interrupt = self.interrupt.clone();
        let told = interrupt.wait_for(Option::is_some).await.map(|told| *told);
        match told {
            Ok(Some(interrupt)) => interrupt,
            // The sender lives as long as the attempt.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    /// Why the handler should stop, if it should.
    #[must_use]
    pub fn interrupted(&self) -> Option<Interrupt> {
        *self.interrupt.borrow()
    }

    /// Time until the handler is dropped: by the task's `start_to_close_ms` or
    /// Lambda's deadline less the reserve. `None` if nothing bounds it; a stop
    /// signal may still shorten it.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.end.map(|end| end.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_no_id_is_made_one() {
        let Failure::Failed(failure) = Failure::new("card declined!", "no") else { panic!() };
        assert_eq!(failure.kind.as_str(), "card-declined-");
        assert_eq!(cleaned("", 8), "-");
        assert_eq!(cleaned("ääää", 3), "---");
    }

    #[test]
    fn an_output_of_more_than_256_kib_is_a_failure_of_kind_bad_output() {
        let Err(Failure::Failed(failure)) = Output::json(&"x".repeat(300_000)) else { panic!() };
        assert_eq!(failure.kind.as_str(), "bad-output");
    }
}
