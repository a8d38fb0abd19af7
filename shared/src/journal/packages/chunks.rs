//! The chunks of archives.

use super::Package;
use crate::id::{PackageHash, WorkflowType};
use crate::journal::faults::retried;
use crate::journal::items::{self, BODY, Item, PK, SK};
use crate::journal::{Journal, JournalError, Purpose};
use crate::limits::CHUNK_BYTES_MAX;
use crate::time::Timestamp;

/// Chunks that nobody names go after a day: an upload may still be under way.
const ORPHAN_MS: u64 = 24 * 3_600_000;

fn partition(workflow_type: &WorkflowType, hash: PackageHash) -> String {
    format!("#package#{workflow_type}#{hash}")
}

fn chunk(upload: &str, at: u32) -> String {
    format!("x#{upload}#{at:04}")
}

/// When an upload began.
fn begun(upload: &str) -> Option<Timestamp> {
    upload.split_once('-')?.0.parse().ok().map(Timestamp)
}

impl Journal {
    /// Puts the chunks; how many they are.
    pub(super) async fn put_archive(
        &self,
        workflow_type: &WorkflowType,
        hash: PackageHash,
        upload: &str,
        archive: &[u8],
    ) -> Result<u32, JournalError> {
        let mut at = 0;
        for part in archive.chunks(CHUNK_BYTES_MAX) {
            let item = Item::from([
                (PK.to_owned(), items::text(partition(workflow_type, hash))),
                (SK.to_owned(), items::text(chunk(upload, at))),
                (BODY.to_owned(), items::binary(part.to_vec())),
            ]);
            // Nobody else has this upload: what stands there is the same.
            retried(|| self.put_if_absent(item.clone(), Purpose::ChunkWrite)).await?;
            at += 1;
        }
        Ok(at)
    }

    pub(super) async fn read_archive(&self, package: &Package) -> Result<Vec<u8>, JournalError> {
        let partition = partition(&package.workflow_type, package.hash);
        let mut archive = Vec::with_capacity(usize::try_from(package.bytes).unwrap_or_default());
        for at in 0..package.chunks {
            let sort_key = chunk(&package.upload, at);
            let item = self.get(&partition, &sort_key, Purpose::ChunkRead).await?;
            let part = item.as_ref().and_then(|item| items::read_binary(item, BODY));
            let missing = || JournalError::Damaged(format!("package: chunk {at} is missing"));
            archive.extend(part.ok_or_else(missing)?);
        }
        if PackageHash::of(&archive) != package.hash {
            return Err(JournalError::Damaged("package: its hash is another".into()));
        }
        Ok(archive)
    }

    /// Removes the chunks of an upload that nobody names any more.
    pub(super) async fn drop_archive(&self, package: &Package) -> Result<(), JournalError> {
        let partition = partition(&package.workflow_type, package.hash);
        for at in 0..package.chunks {
            self.remove(&partition, &chunk(&package.upload, at)).await?;
        }
        Ok(())
    }

    /// Removes the chunks of one version that no upload of today and no package
    /// names: what a process left that died while it put or deleted. How many.
    ///
    /// Costs a read unit a started 4 KiB of the version's chunks, and a
    /// write unit a started KiB of what is removed.
    ///
    /// # Errors
    /// As writes: do it again.
    pub async fn tidy_packages(
        &self,
        workflow_type: &WorkflowType,
        hash: PackageHash,
    ) -> Result<usize, JournalError> {
        let partition = partition(workflow_type, hash);
        let chunks = self.query_between(&partition, "!", "~").await?;
        // Read after the chunks: an upload that is named by now is kept.
        let named = self.find(workflow_type, hash).await?.map(|package| package.upload);
        let now = self.clock.now();
        let mut removed = 0;
        for item in &chunks {
            let sort_key = items::read_text(item, SK).unwrap_or_default();
            let Some((upload, _)) = sort_key.strip_prefix("x#").and_then(|k| k.rsplit_once('#'))
            else {
                continue;
            };
            let old = begun(upload).is_some_and(|at| now.since(at) > ORPHAN_MS);
            if old && named.as_deref() != Some(upload) {
                self.remove(&partition, sort_key).await?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}
