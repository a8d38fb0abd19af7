//! Looking things up in a log: by number, by sequence, by command.

use super::items::Item;
use super::keys::LogKey;
use super::{Journal, JournalError, Purpose};
use crate::commit::Commit;
use crate::id::CommandHash;
use crate::time::Timestamp;

impl Journal {
    /// Reads one commit that must exist. One read unit a started 4 KiB.
    ///
    /// # Errors
    /// [`JournalError::Damaged`] if it does not exist.
    pub async fn commit(&self, key: &LogKey, number: u64) -> Result<Commit, JournalError> {
        let item = self.get(&key.partition(), &key.commit(number), Purpose::Search).await?;
        let item =
            item.ok_or_else(|| JournalError::Damaged(format!("commit {number} is missing")))?;
        self.read_commit_item(&item).map(|(_, commit, _)| commit)
    }

    /// The number of the commit that holds `seq`, found by bisection: at most
    /// 34 reads, one for each bit of `last`.
    ///
    /// # Errors
    /// As reads.
    pub async fn number_of(&self, key: &LogKey, seq: u64, last: u64) -> Result<u64, JournalError> {
        // The last commit whose first sequence number is not above `seq`, and
        // that has events: commits without events carry the head before them.
        let (mut low, mut high) = (1, last);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let commit = self.commit(key, middle).await?;
            let after = commit.first_seq + u64::from(commit.events.is_empty());
            if after > seq { high = middle - 1 } else { low = middle }
        }
        Ok(low)
    }

    /// Commits from `number` on, until `enough` says so or the log ends.
    ///
    /// # Errors
    /// As reads.
    pub async fn commits_from(
        &self,
        key: &LogKey,
        number: u64,
        mut enough: impl FnMut(u64, &Commit) -> bool + Send,
    ) -> Result<Vec<(u64, Commit)>, JournalError> {
        self.scan(key, number, true, &mut enough).await
    }

    /// The commit that answers `command`, looked for backwards from `last` until
    /// commits are older than `not_before`.
    ///
    /// # Errors
    /// As reads.
    pub async fn find_command(
        &self,
        key: &LogKey,
        command: CommandHash,
        last: u64,
        not_before: Timestamp,
    ) -> Result<Option<u64>, JournalError> {
        let mut found = None;
        self.scan(key, last, false, &mut |number, commit: &Commit| {
            if commit.answers.contains(&command) {
                found = Some(number);
            }
            found.is_some() || commit.time < not_before
        })
        .await?;
        Ok(found)
    }

    async fn scan(
        &self,
        key: &LogKey,
        number: u64,
        ascending: bool,
        enough: &mut (impl FnMut(u64, &Commit) -> bool + Send),
    ) -> Result<Vec<(u64, Commit)>, JournalError> {
        let mut commits = Vec::new();
        let mut page: Option<Item> = None;
        loop {
            let (items, next) =
                self.query_commits(key, number, page, ascending, Purpose::Search).await?;
            for item in &items {
                let (number, commit, _) = self.read_commit_item(item)?;
                let done = enough(number, &commit);
                commits.push((number, commit));
                if done {
                    return Ok(commits);
                }
            }
            page = next;
            if page.is_none() {
                return Ok(commits);
            }
        }
    }
}
