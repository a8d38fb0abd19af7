//! A model of Everlog's commit, alarm, card and relay protocol, checked exhaustively for small sizes.
//!
//! What it is: the protocol of sections 1, 3 and 4 of the design as a state machine ([`Protocol`]): small [`scenarios`], one program for every process,
//! every interleaving of every single read and write. Each write may be answered, land with its answer lost, be lost, or land late, after others have written and its sender has died.
//!
//! It promises that in every reachable state of the scenarios in the tests all [`properties`] hold, liveness included;
//! and that each of the [`rules`] is needed: left out, the checker finds a schedule that breaks a property.
//!
//! It deliberately does not contain: the content of events; checkpoints and caches (a cached state is a load long ago, and loads may be as old as one likes here);
//! the removal of a deleted log's items; unborn incarnations; batches (one command with several items);
//! ticks of a minute; contention limits; exclusive resources. Sizes are small: two incarnations and a few abandoned ones, four items, four commands, four processes.
//!
//! It fails by printing a schedule of [`Action`]s that can be replayed ([`Protocol::replay`]), on the model or on the real code.
//!
//! Where next: [`vocabulary`] for the words, [`process`] for the program, [`properties`] for what is checked, `tests/` for what is run.
//! A change of the protocol begins here.
//!
//! ```text
//!   scenarios ─┐            ┌─ process ── decide ── fold
//!   rules ─────┴─ protocol ─┤
//!                           └─ store                      check ── properties ── liveness
//! ```
#![forbid(unsafe_code)]

pub mod check;
pub mod decide;
pub mod fold;
pub mod liveness;
pub mod process;
pub mod properties;
pub mod protocol;
pub mod rules;
pub mod scenario;
pub mod scenarios;
pub mod store;
pub mod vocabulary;

pub use protocol::{Process, Protocol, State};
pub use rules::Rules;
pub use scenario::{Begun, Orphaned, Role, Scenario};
pub use store::{Breach, Store};
pub use vocabulary::{
    Action, Card, Command, Commit, Due, Few, ItemKind, Outcome, Reply, Status, Verb, Write, Writer,
};
