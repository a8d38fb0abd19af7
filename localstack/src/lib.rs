//! Everlog on this machine: DynamoDB and SQS in process, the fleet on top, and
//! workers that run commands.
//!
//! It runs the same handlers that Lambda runs, invoked by queue events through
//! the same SDK clients; only the transport under the clients is a function
//! call instead of a connection. The database is one file and survives; the
//! queues are in memory and need not, since the log is the truth: a new owner
//! of the file looks at every open workflow at once.
//!
//! One process owns a file. Others talk to it through a loopback port.
//!
//! [`backend`] holds the engines, [`transport`] puts clients on them,
//! [`server`] puts a port before them, [`invoke`] answers direct invocations on it, [`owner`] decides who owns a file,
//! [`stack`] is all of it together, [`mapping`] plays Lambda's event source
//! mappings, [`worker`] runs tasks.

pub mod backend;
pub mod cli;
pub mod deployed;
pub mod doctor;
pub mod invoke;
pub mod letters;
pub mod mapping;
pub mod owner;
pub mod plan_file;
pub mod resident;
pub mod server;
pub mod stack;
pub mod transport;
pub mod worker;
