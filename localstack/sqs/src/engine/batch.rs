//! What holds for every batch.
//!
//! What it is: the checks of a batch as a whole. It promises one to ten
//! entries with distinct ids of the right alphabet. It deliberately does not
//! look into the entries. It fails with the batch errors of SQS, and then no
//! entry was done. Next: `engine/send.rs`.

use crate::error::{ErrorKind, SqsError};
use crate::limits;
use crate::message::{BatchOutcome, Entry};
use std::collections::HashSet;

/// Checks number and ids; `shape` is how AWS calls such an entry.
pub(super) fn check<T>(entries: &[Entry<T>], shape: &str) -> Result<(), SqsError> {
    if entries.is_empty() {
        return Err(ErrorKind::EmptyBatchRequest
            .because(format!("There should be at least one {shape} in the request.")));
    }
    if entries.len() > limits::BATCH_ENTRIES_MAX {
        return Err(ErrorKind::TooManyEntriesInBatchRequest.because(format!(
            "Maximum number of entries per request are {}. You have sent {}.",
            limits::BATCH_ENTRIES_MAX,
            entries.len()
        )));
    }
    if !entries.iter().all(|entry| legal_id(&entry.id)) {
        return Err(ErrorKind::InvalidBatchEntryId.because(
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. \
             It can be at most 80 letters long.",
        ));
    }
    let mut ids = HashSet::new();
    match entries.iter().find(|entry| !ids.insert(entry.id.as_str())) {
        Some(entry) => {
            Err(ErrorKind::BatchEntryIdsNotDistinct.because(format!("Id {} repeated.", entry.id)))
        }
        None => Ok(()),
    }
}

/// Does each entry for itself.
pub(super) fn each<T, R>(
    entries: Vec<Entry<T>>,
    mut act: impl FnMut(T) -> Result<R, SqsError>,
) -> BatchOutcome<R> {
    let mut outcome = BatchOutcome { successful: Vec::new(), failed: Vec::new() };
    for Entry { id, item } in entries {
        match act(item) {
            Ok(done) => outcome.successful.push(Entry { id, item: done }),
            Err(error) => outcome.failed.push(Entry { id, item: error }),
        }
    }
    outcome
}

fn legal_id(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= limits::BATCH_ENTRY_ID_CHARS_MAX
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}
