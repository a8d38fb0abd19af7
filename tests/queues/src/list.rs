//! The list: one test for each behaviour of SQS that a fleet relies on, or that
//! one of its tests does.

mod batches;
mod contents;
mod dead_letters;
mod deduplication;
mod delays;
mod groups;
mod handles;
mod polls;
mod standing;
mod visibility;

use crate::Case;

/// All tests, by subject.
#[must_use]
pub fn list() -> Vec<&'static Case> {
    let lists: [&'static [Case]; 10] = [
        visibility::CASES,
        handles::CASES,
        dead_letters::CASES,
        delays::CASES,
        polls::CASES,
        groups::CASES,
        deduplication::CASES,
        batches::CASES,
        contents::CASES,
        standing::CASES,
    ];
    lists.into_iter().flatten().collect()
}
