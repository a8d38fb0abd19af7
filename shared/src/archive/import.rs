//! Into a table: everything under an incarnation that no card names, then the
//! card.

use super::{Archive, ArchiveError};
use crate::id::Incarnation;
use crate::journal::{Journal, JournalError, Loaded, LogKey};
use crate::state::{Life, State};

/// How far before the present an incarnation of an import lies. A start takes
/// the present one, by a clock that is at most a minute off if it can commit; so
/// it never takes the same.
const BEFORE_MS: u64 = 10 * 60_000;
/// The least of that, where there was a life before.
const BEFORE_MS_MIN: u64 = 2 * 60_000;
/// How long an import may take: long before anybody removes what no card names.
const WITHIN_MS: u64 = 86_400_000;
/// Incarnations that are tried where other archives left something.
const TRIES: u64 = 16;

/// What became of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The life that the history has now.
    pub incarnation: Incarnation,
    /// It was there already: the same import came before.
    pub unchanged: bool,
}

/// Makes an archive a workflow of the table, under its namespace and id.
///
/// Costs a write unit a started KiB of each commit and chunk, and four to five
/// for the claim, the card and a checkpoint.
///
/// # Errors
/// [`ArchiveError`]. After [`ArchiveError::Journal`] import again: if it is
/// there after all, that is found.
pub async fn import(journal: &Journal, archive: &Archive) -> Result<Imported, ArchiveError> {
    let (namespace, workflow) = (&archive.namespace, &archive.workflow);
    let key = |incarnation| LogKey::new(namespace.clone(), workflow.clone(), incarnation);
    let exists =
        || ArchiveError::Exists { namespace: namespace.clone(), workflow: workflow.clone() };
    let state = fold(journal, archive)?;
    let partition = key(Incarnation(0)).partition();
    let now = journal.clock().now();
    let mut earliest = now.0.saturating_sub(BEFORE_MS);
    let card = journal.card(&partition).await?;
    if let Some(card) = card.as_ref().filter(|card| card.gone()) {
        earliest = earliest.max(card.incarnation.0 + 1);
    } else if let Some(card) = &card {
        let key = key(card.incarnation);
        let loaded = journal.load(&key).await?;
        match loaded.state.life {
            Life::Abandoned | Life::Deleted => earliest = earliest.max(card.incarnation.0 + 1),
            _ if same(journal, &key, &loaded, archive).await? => {
                return Ok(Imported { incarnation: key.incarnation, unchanged: true });
            }
            _ => return Err(exists()),
        }
    }
    if earliest > now.0.saturating_sub(BEFORE_MS_MIN) {
        let wait_ms = (earliest + BEFORE_MS_MIN).saturating_sub(now.0);
        return Err(ArchiveError::TooYoung(wait_ms.div_ceil(1_000)));
    }
    for incarnation in (earliest..earliest + TRIES).map(Incarnation) {
        let key = key(incarnation);
        if !write(journal, &key, archive).await? {
            continue;
        }
        let took_ms = journal.clock().now().since(now);
        if took_ms > WITHIN_MS {
            return Err(ArchiveError::TooSlow(took_ms / 1_000));
        }
        let from = card.as_ref().map(|card| card.incarnation);
        return match journal.restore_card(&key, &state, from).await? {
            true => {
                journal.checkpoint_whole(&key).await;
                Ok(Imported { incarnation, unchanged: false })
            }
            false => Err(exists()),
        };
    }
    Err(JournalError::Unavailable("other imports are in the way; again in a minute".into()).into())
}

/// What the archive folds to: it is whole, and it has ended.
fn fold(journal: &Journal, archive: &Archive) -> Result<State, ArchiveError> {
    let state = journal.fold_frames(&archive.chunks, &archive.frames);
    let state = state.map_err(ArchiveError::DoesNotFold)?;
    if state.head != archive.head {
        let why = format!("head {}, expected {}", state.head, archive.head);
        return Err(ArchiveError::DoesNotFold(JournalError::Damaged(why)));
    }
    match state.ending() {
        Some(_) => Ok(state),
        None => Err(ArchiveError::NotEnded(state.status())),
    }
}

/// Writes chunks and commits; false if another archive or log has begun there.
/// The incarnation is this archive's alone: of two that begin alike, one would
/// else go on where the other ends.
async fn write(journal: &Journal, key: &LogKey, archive: &Archive) -> Result<bool, JournalError> {
    if !journal.claim_import(key, &archive.hash).await? {
        return Ok(false);
    }
    for (sort_key, chunk) in &archive.chunks {
        journal.restore_chunk(&key.partition(), sort_key, chunk).await?;
    }
    for (number, frame) in (1..).zip(&archive.frames) {
        if !journal.restore_frame(key, number, frame).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the log is the one of the archive.
async fn same(
    journal: &Journal,
    key: &LogKey,
    loaded: &Loaded,
    archive: &Archive,
) -> Result<bool, JournalError> {
    if loaded.state.commit != archive.frames.len() as u64 {
        return Ok(false);
    }
    let mut next = 1;
    while next <= loaded.state.commit {
        for (number, frame, _) in journal.frames(key, next, super::PAGE).await? {
            let at = usize::try_from(number - 1).unwrap_or(usize::MAX);
            if number != next || archive.frames.get(at) != Some(&frame) {
                return Ok(false);
            }
            next += 1;
        }
    }
    Ok(true)
}
