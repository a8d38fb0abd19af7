//! The fold against chance, time and damage: random histories, encodings that
//! must decode for ever, and bytes that nobody wrote.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

#[path = "fold/damage.rs"]
mod damage;
#[path = "fold/golden.rs"]
mod golden;
#[path = "fold/histories.rs"]
mod histories;
#[path = "fold/plans.rs"]
mod plans;
