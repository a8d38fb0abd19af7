//! Durable workflows on DynamoDB, SQS and Lambda: one log per workflow, one
//! conditional put per step.
//!
//! The layers, from the bottom: the vocabulary ([`id`], [`time`], [`event`],
//! [`command`], [`plan`]), the pure middle ([`state`] folds, [`decide`]
//! decides).

#![cfg_attr(docsrs, feature(doc_auto_cfg))]

pub mod answer;
pub mod archive;
pub mod client;
pub mod command;
pub mod commit;
pub mod config;
pub mod decide;
pub mod event;
pub mod fleet;
pub mod id;
pub mod journal;
pub mod labels;
pub mod limits;
pub mod message;
pub mod payload;
pub mod plan;
pub mod query;
pub mod relay;
mod said;
pub mod state;
pub mod store;
pub mod telemetry;
pub mod time;
pub mod worker;

pub use answer::Rejection;
pub use said::said;
