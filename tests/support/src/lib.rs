//! A world for tests: the real engines, fleet and mappings on tokio's paused
//! clock, with faults between the clients and the engines.
//!
//! Nothing here is a stand-in for Everlog's own code: a [`World`] runs the same
//! handlers, invoked by the same queue events, as the embedded fleet. What a
//! test adds is what emulators never do: answers that are lost, instances that
//! die between two writes ([`cuts`]), messages that are lost, doubled, late or
//! out of order ([`network`]). [`proof`] reads the table and says whether what
//! stands there is right.

pub mod cards;
pub mod cuts;
pub mod network;
pub mod plans;
pub mod proof;
pub mod rng;
pub mod scenes;
pub mod worker;
pub mod world;

pub use rng::Rng;
pub use world::{Step, World};
