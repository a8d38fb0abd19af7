//! The worker library on the embedded world: real engines, functions and
//! queues on a virtual clock, and what goes wrong between them.

mod attempts;
mod lambda;
mod resident;
mod scene;
mod traces;
