//! Every decision with its negative: situation in, outcome out.
//!
//! No I/O, no clock, no chance. Each command is read from the JSON that a
//! caller would send, and each commit is encoded, decoded and folded into a
//! second state (`support`), so these tests hold the fold to the decisions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

#[path = "decide/append.rs"]
mod append;
#[path = "decide/barriers.rs"]
mod barriers;
#[path = "decide/evidence.rs"]
mod evidence;
#[path = "decide/keep.rs"]
mod keep;
#[path = "decide/labels.rs"]
mod labels;
#[path = "decide/look.rs"]
mod look;
#[path = "decide/plans.rs"]
mod plans;
#[path = "decide/prepare.rs"]
mod prepare;
#[path = "decide/retry.rs"]
mod retry;
#[path = "decide/runs.rs"]
mod runs;
#[path = "decide/seal.rs"]
mod seal;
#[path = "decide/settle.rs"]
mod settle;
#[path = "decide/signals.rs"]
mod signals;
#[path = "decide/start.rs"]
mod start;
