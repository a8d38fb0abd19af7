//! Plans that are too large for the start event: chunks under an upload id.
//!
//! The chunks are put before the start that names them. An upload's id is
//! derived from the command's, so that a start that comes again puts nothing
//! new. Chunks never change.

use std::sync::Arc;

use super::faults::retried;
use super::items::{self, BODY, Item, PK, SK};
use super::{Journal, JournalError, Purpose, keys};
use crate::id::{CommandId, DispatchKey, hash16};
use crate::limits;
use crate::plan::{Plan, PlanRef, StoredPlan};

/// Plans that an instance keeps, by count.
const PLANS_CACHED_MAX: usize = 64;

/// What stands for a start in the ids of its uploads.
#[must_use]
pub fn upload_id(command: &CommandId) -> DispatchKey {
    DispatchKey(hash16(&[b"upload", command.as_str().as_bytes()]))
}

impl Journal {
    /// Puts a plan where a start can name it: small ones nowhere (they travel
    /// in the start), larger ones in chunks of the workflow's partition.
    ///
    /// `seed` stands for whoever uploads (the start's command); with the plan's
    /// hash it makes the upload's id, so that another plan never meets chunks
    /// of this one.
    ///
    /// Costs one write unit a started KiB of the deflated plan, if it is larger
    /// than [`limits::PLAN_INLINE_BYTES_MAX`].
    ///
    /// # Errors
    /// [`JournalError::Unavailable`] and `Throttled`: do it again, nothing is named yet.
    pub async fn put_plan(
        &self,
        partition: &str,
        seed: DispatchKey,
        plan: &Arc<Plan>,
    ) -> Result<PlanRef, JournalError> {
        let bytes = plan.to_bytes();
        if bytes.len() <= limits::PLAN_INLINE_BYTES_MAX {
            return Ok(PlanRef::Inline(bytes));
        }
        let hash = Plan::hash(&bytes);
        let upload = DispatchKey(hash16(&[b"upload", &seed.0, &hash.0]));
        let mut chunks = 0;
        for chunk in bytes.chunks(limits::CHUNK_BYTES_MAX) {
            let item = Item::from([
                (PK.to_owned(), items::text(partition)),
                (SK.to_owned(), items::text(keys::chunk(&upload, chunks))),
                (BODY.to_owned(), items::binary(chunk.to_vec())),
            ]);
            self.put_chunk(item).await?;
            chunks += 1;
        }
        let stored = StoredPlan { upload, hash, chunks };
        self.remember_plan(partition, &stored, plan.clone());
        Ok(PlanRef::Stored(stored))
    }

    /// Equal content under one id: whether it stood there before does not matter.
    async fn put_chunk(&self, item: Item) -> Result<(), JournalError> {
        retried(|| self.put_if_absent(item.clone(), Purpose::ChunkWrite)).await.map(drop)
    }

    /// Reads a stored plan and checks its hash; remembers it.
    ///
    /// # Errors
    /// [`JournalError::Damaged`]: a chunk is missing, or the hash is another.
    pub async fn stored_plan(
        &self,
        partition: &str,
        stored: &StoredPlan,
    ) -> Result<Arc<Plan>, JournalError> {
        let place = (partition.to_owned(), stored.clone());
        let known = self.plans.lock().ok().and_then(|plans| plans.get(&place).cloned());
        if let Some(plan) = known {
            return Ok(plan);
        }
        let mut bytes = Vec::new();
        for at in 0..stored.chunks {
            let sort_key = keys::chunk(&stored.upload, at);
            let item = self.get(partition, &sort_key, Purpose::ChunkRead).await?;
            let chunk = item.as_ref().and_then(|item| items::read_binary(item, BODY));
            let missing = || JournalError::Damaged(format!("plan: chunk {at} is missing"));
            bytes.extend(chunk.ok_or_else(missing)?);
        }
        if Plan::hash(&bytes) != stored.hash {
            return Err(JournalError::Damaged("plan: its hash is another".into()));
        }
        let plan = Arc::new(Plan::from_bytes(&bytes)?);
        self.remember_plan(partition, stored, plan.clone());
        Ok(plan)
    }

    fn remember_plan(&self, partition: &str, stored: &StoredPlan, plan: Arc<Plan>) {
        if let Ok(mut plans) = self.plans.lock() {
            if plans.len() >= PLANS_CACHED_MAX {
                plans.clear();
            }
            plans.insert((partition.to_owned(), stored.clone()), plan);
        }
    }
}
