//! What the engine must be told from outside.
//!
//! What it is: the wall time at the start, the address that queue URLs carry,
//! and two quotas that a test may want to lower. It promises AWS's values
//! unless told otherwise. It deliberately reads no environment. It can't fail.
//! Next: [`crate::Engine::new`].

use crate::limits;

/// How an [`crate::Engine`] is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Wall time at the engine's creation, in milliseconds since the Unix epoch.
    pub epoch_ms: u64,
    /// Beginning of every queue URL, for instance `http://127.0.0.1:4566`.
    pub base_url: String,
    /// The region named in queue ARNs.
    pub region: String,
    /// Messages of one queue that may be in flight; [`limits::IN_FLIGHT_MAX`].
    pub in_flight_max: usize,
    /// Messages among which a FIFO queue looks for free groups; [`limits::FIFO_WINDOW`].
    pub fifo_window: usize,
}

impl Config {
    /// AWS's quotas, region `us-east-1`, and queue URLs that begin with `base_url`.
    pub fn new(epoch_ms: u64, base_url: impl Into<String>) -> Self {
        let base_url: String = base_url.into();
        Self {
            epoch_ms,
            base_url: base_url.trim_end_matches('/').to_owned(),
            region: "us-east-1".to_owned(),
            in_flight_max: limits::IN_FLIGHT_MAX,
            fifo_window: limits::FIFO_WINDOW,
        }
    }
}
