//! Checkpoints: a state beside the log, so that a cold load need not replay.
//!
//! A checkpoint may be lost, late or damaged, and then costs a replay and
//! nothing else. It is overwritten only by that of a later commit, and load
//! ignores one whose commit has another writer. It is due when what a cold
//! load would have to read has outgrown a read unit, and when enough commits
//! have come to pay for it (at most 0.2 write units a commit).

use aws_sdk_dynamodb::types::ReturnConsumedCapacity;

use super::faults::Fault;
use super::items::{self, BODY, COMMIT, PK, SK};
use super::keys::LogKey;
use super::{Journal, JournalError, Loaded, Purpose};
use crate::commit;
use crate::limits;
use crate::state::State;

/// Bytes of commits that one read unit covers, less a reserve for keys.
const BYTES_SINCE_MAX: usize = 3_000;
/// Commits that pay for one write unit.
const COMMITS_A_UNIT: u64 = 5;
/// Bytes of state above which no checkpoint fits an item.
const STATE_BYTES_MAX: usize = limits::COMMIT_BYTES_MAX;

impl Journal {
    /// Writes a checkpoint if one is due. Never fails: it is only lost.
    pub async fn checkpoint_if_due(&self, key: &LogKey, loaded: &mut Loaded) {
        let commits = loaded.state.commit - loaded.checkpoint;
        // Keys and the item's overhead count as well as the frames.
        let bytes = loaded.bytes_since + usize::try_from(commits).unwrap_or(usize::MAX) * 80;
        if bytes < BYTES_SINCE_MAX || commits < COMMITS_A_UNIT {
            return;
        }
        let body = encode(self.schemas.writes, &loaded.state);
        let units = (body.len() + 100).div_ceil(1024) as u64;
        if commits < COMMITS_A_UNIT * units || body.len() > STATE_BYTES_MAX {
            return;
        }
        match self.put_checkpoint(key, loaded.state.commit, body).await {
            Ok(()) => {
                loaded.checkpoint = loaded.state.commit;
                loaded.bytes_since = 0;
                loaded.state.checkpoint = loaded.state.commit;
            }
            Err(fault) => {
                tracing::debug!(workflow = %key.workflow, ?fault, "checkpoint not written")
            }
        }
    }

    /// Writes a checkpoint of a log that was put there as a whole. Never fails:
    /// it is only lost.
    pub(crate) async fn checkpoint_whole(&self, key: &LogKey) {
        let Ok(mut loaded) = self.load(key).await else { return };
        // What older checkpoints its commits speak of were never put here.
        loaded.checkpoint = 0;
        loaded.bytes_since = BYTES_SINCE_MAX;
        self.checkpoint_if_due(key, &mut loaded).await;
    }

    #[expect(clippy::disallowed_methods, reason = "the journal is where puts belong; conditional")]
    async fn put_checkpoint(&self, key: &LogKey, number: u64, body: Vec<u8>) -> Result<(), Fault> {
        let answer = self
            .db
            .put_item()
            .table_name(&self.table)
            .item(PK, items::text(key.partition()))
            .item(SK, items::text(key.checkpoint()))
            .item(COMMIT, items::number(number))
            .item(BODY, items::binary(body))
            .condition_expression("attribute_not_exists(#pk) OR #commit < :commit")
            .expression_attribute_names("#pk", PK)
            .expression_attribute_names("#commit", COMMIT)
            .expression_attribute_values(":commit", items::number(number))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await
            .map_err(|error| self.fault(&error))?;
        self.meter.record(Purpose::Checkpoint, answer.consumed_capacity());
        Ok(())
    }

    /// The state of the checkpoint, with its plan, if there is one.
    pub(super) async fn read_checkpoint(
        &self,
        key: &LogKey,
    ) -> Result<Option<State>, JournalError> {
        let found = self.get(&key.partition(), &key.checkpoint(), Purpose::Load).await?;
        let Some(item) = found else { return Ok(None) };
        let damaged = |what: &str| JournalError::Damaged(format!("checkpoint: {what}"));
        let body = items::read_binary(&item, BODY).ok_or_else(|| damaged("no body"))?;
        let mut state = decode(body, self.schemas.reads)?;
        if items::read_number(&item, COMMIT) != Some(state.commit) {
            return Err(damaged("it is of another commit"));
        }
        let plan = state.run.as_ref().and_then(|run| run.plan.clone());
        match plan {
            Some(plan) => {
                let plan = self.plan(key, &plan).await?;
                if !state.fits(&plan) {
                    return Err(damaged("it does not fit the plan"));
                }
                state.provide_plan(plan);
            }
            None if state.nodes.is_empty() => {}
            None => return Err(damaged("nodes without a plan")),
        }
        Ok(Some(state))
    }
}

/// The frame of a checkpoint: schema in the clear, the state deflated behind it.
fn encode(schema: u16, state: &State) -> Vec<u8> {
    let frame = commit::encode(schema, state);
    let mut body = frame[..commit::FRAME_BYTES].to_vec();
    body.extend(miniz_oxide::deflate::compress_to_vec(&frame[commit::FRAME_BYTES..], 6));
    body
}

fn decode(body: &[u8], known: u16) -> Result<State, JournalError> {
    let damaged = |what: String| JournalError::Damaged(format!("checkpoint: {what}"));
    if body.len() < commit::FRAME_BYTES {
        return Err(damaged("no frame".into()));
    }
    commit::check_frame(body, known)?;
    let plain = miniz_oxide::inflate::decompress_to_vec_with_limit(
        &body[commit::FRAME_BYTES..],
        limits::PLAN_BYTES_MAX,
    )
    .map_err(|e| damaged(e.to_string()))?;
    let mut frame = body[..commit::FRAME_BYTES].to_vec();
    frame.extend(plain);
    Ok(commit::decode(&frame, known)?)
}

/// The stored size of a state, in bytes.
#[must_use]
pub fn state_bytes(state: &State) -> usize {
    encode(commit::SCHEMA_READ_MAX, state).len()
}
