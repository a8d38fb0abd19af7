//! Logs as bytes: read for an archive, and put back from one.
//!
//! What is put back stands under an incarnation that no card names until
//! [`Journal::restore_card`] names it, in one conditional write.

use std::collections::HashMap;
use std::sync::Arc;

use super::faults::retried;
use super::items::{self, ALARM_AT, ALARM_REV, ALARM_SHARD, BODY, INCARNATION, Item, PK, SK};
use super::items::{QUARANTINE, QUARANTINE_MIN};
use super::keys::{self, LogKey};
use super::search::Range;
use super::{CardLook, Journal, JournalError, Purpose};
use crate::commit::{self, Commit};
use crate::event::Event;
use crate::id::Incarnation;
use crate::plan::{Plan, PlanRef, StoredPlan};
use crate::state::State;

impl Journal {
    /// Up to `most` commits from `number` on, with their bytes, in one request.
    ///
    /// # Errors
    /// As reads; [`JournalError::Damaged`] where the log ends before `number`.
    pub(crate) async fn frames(
        &self,
        key: &LogKey,
        number: u64,
        most: usize,
    ) -> Result<Vec<(u64, Vec<u8>, Commit)>, JournalError> {
        let range = Range { from: number, ascending: true, most: Some(most) };
        let (found, _) = self.query_commits(key, range, None, Purpose::Search).await?;
        if found.is_empty() {
            return Err(JournalError::Damaged(format!("commit {number} is missing")));
        }
        let read = |item: &Item| {
            let (number, commit, _) = self.read_commit_item(item)?;
            let bytes = items::read_binary(item, BODY).unwrap_or_default().to_vec();
            Ok((number, bytes, commit))
        };
        found.iter().map(read).collect()
    }

    /// The chunks of a stored plan, by their sort keys.
    ///
    /// # Errors
    /// As reads; [`JournalError::Damaged`] if one is missing.
    pub(crate) async fn plan_chunks(
        &self,
        partition: &str,
        stored: &StoredPlan,
    ) -> Result<Vec<(String, Vec<u8>)>, JournalError> {
        let mut chunks = Vec::new();
        for at in 0..stored.chunks {
            let sort_key = keys::chunk(&stored.upload, at);
            let item = self.get(partition, &sort_key, Purpose::ChunkRead).await?;
            let chunk = item.as_ref().and_then(|item| items::read_binary(item, BODY));
            let missing = || JournalError::Damaged(format!("plan: chunk {at} is missing"));
            chunks.push((sort_key, chunk.ok_or_else(missing)?.to_vec()));
        }
        Ok(chunks)
    }

    /// What commits fold to that are in no table yet, with the chunks of their plans.
    ///
    /// # Errors
    /// [`JournalError::Damaged`] and `Newer`.
    pub(crate) fn fold_frames(
        &self,
        chunks: &[(String, Vec<u8>)],
        frames: &[Vec<u8>],
    ) -> Result<State, JournalError> {
        let chunks: HashMap<&str, &[u8]> =
            chunks.iter().map(|(key, bytes)| (key.as_str(), bytes.as_slice())).collect();
        let mut state = State::default();
        for (number, frame) in (1..).zip(frames) {
            if frame.len() > crate::limits::COMMIT_BYTES_MAX {
                let why = format!("commit {number} has {} bytes", frame.len());
                return Err(JournalError::Damaged(why));
            }
            let commit: Commit = commit::decode(frame, self.schemas.reads)?;
            for event in &commit.events {
                if let Event::Started(started) = event
                    && let Some(PlanRef::Stored(stored)) = &started.plan
                {
                    state.provide_plan(Arc::new(assembled(stored, &chunks)?));
                }
            }
            state.apply(number, &commit)?;
        }
        Ok(state)
    }

    /// Gives an incarnation that no card names to one archive, by its hash; false
    /// if it is another's. One write unit.
    ///
    /// # Errors
    /// As a write that may be repeated.
    pub(crate) async fn claim_import(
        &self,
        key: &LogKey,
        hash: &str,
    ) -> Result<bool, JournalError> {
        self.restore(key.partition(), key.import(), hash.as_bytes(), Purpose::ChunkWrite).await
    }

    /// Puts a chunk back, as it was.
    ///
    /// # Errors
    /// As a write that may be repeated.
    pub(crate) async fn restore_chunk(
        &self,
        partition: &str,
        sort_key: &str,
        chunk: &[u8],
    ) -> Result<(), JournalError> {
        let item = frame_item(partition.to_owned(), sort_key.to_owned(), chunk);
        retried(|| self.put_if_absent(item.clone(), Purpose::ChunkWrite)).await.map(drop)
    }

    /// Puts a commit back, as it was; false if another one stands there.
    ///
    /// # Errors
    /// As a write that may be repeated: the same bytes again are a success.
    pub(crate) async fn restore_frame(
        &self,
        key: &LogKey,
        number: u64,
        frame: &[u8],
    ) -> Result<bool, JournalError> {
        self.restore(key.partition(), key.commit(number), frame, Purpose::Commit).await
    }

    /// Puts bytes where nothing is; false if other bytes stand there.
    async fn restore(
        &self,
        partition: String,
        sort_key: String,
        body: &[u8],
        purpose: Purpose,
    ) -> Result<bool, JournalError> {
        let item = frame_item(partition.clone(), sort_key.clone(), body);
        let found = match retried(|| self.put_if_absent(item.clone(), purpose)).await? {
            None => return Ok(true),
            Some(Some(found)) => Some(found),
            Some(None) => self.get(&partition, &sort_key, Purpose::Search).await?,
        };
        Ok(found.as_ref().and_then(|item| items::read_binary(item, BODY)) == Some(body))
    }

    /// Names the incarnation on the card: from here on it is the workflow. `from`
    /// is the dead life whose card it takes over, if there is one. False if
    /// somebody else was there first.
    ///
    /// Costs two to three write units.
    ///
    /// # Errors
    /// As a write that may be repeated.
    pub(crate) async fn restore_card(
        &self,
        key: &LogKey,
        state: &State,
        from: Option<Incarnation>,
    ) -> Result<bool, JournalError> {
        let Some(look) = CardLook::of(state) else { return Ok(false) };
        let (update, mut set, mut remove) = self.shown(key, &look);
        set.extend([
            format!("{INCARNATION} = :inc"),
            format!("{ALARM_REV} = if_not_exists({ALARM_REV}, :zero) + :one"),
        ]);
        remove.extend([ALARM_AT, ALARM_SHARD, QUARANTINE, QUARANTINE_MIN].map(str::to_owned));
        let update = match from {
            None => update.condition_expression(format!("attribute_not_exists({PK})")),
            Some(from) => update
                .condition_expression(format!("{INCARNATION} = :from"))
                .expression_attribute_values(":from", items::number(from.0)),
        };
        let update = update
            .update_expression(format!("SET {} REMOVE {}", set.join(", "), remove.join(", ")))
            .expression_attribute_values(":inc", items::number(key.incarnation.0))
            .expression_attribute_values(":zero", items::number(0))
            .expression_attribute_values(":one", items::number(1));
        if self.landed(update).await? {
            return Ok(true);
        }
        // An answer may have been lost: it may be ours already.
        let card = self.card(&key.partition()).await?;
        Ok(card.is_some_and(|card| card.incarnation == key.incarnation))
    }
}

fn assembled(stored: &StoredPlan, chunks: &HashMap<&str, &[u8]>) -> Result<Plan, JournalError> {
    let mut bytes = Vec::new();
    for at in 0..stored.chunks {
        let chunk = chunks.get(keys::chunk(&stored.upload, at).as_str());
        let missing = || JournalError::Damaged(format!("plan: chunk {at} is missing"));
        bytes.extend_from_slice(chunk.ok_or_else(missing)?);
    }
    if Plan::hash(&bytes) != stored.hash {
        return Err(JournalError::Damaged("plan: its hash is another".into()));
    }
    Ok(Plan::from_bytes(&bytes)?)
}

fn frame_item(partition: String, sort_key: String, body: &[u8]) -> Item {
    Item::from([
        (PK.to_owned(), items::text(partition)),
        (SK.to_owned(), items::text(sort_key)),
        (BODY.to_owned(), items::binary(body.to_vec())),
    ])
}
