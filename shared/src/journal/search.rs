//! Looking things up in a log: by number, by sequence, by command.

use aws_sdk_dynamodb::types::ReturnConsumedCapacity;

use super::faults::retried;
use super::items::{self, Item, PK, SK};
use super::keys::{COMMIT_MAX, LogKey};
use super::{Journal, JournalError, Purpose};
use crate::commit::Commit;
use crate::id::CommandHash;
use crate::time::Timestamp;

/// Which commits to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub from: u64,
    pub ascending: bool,
    /// At most so many a request; as many as fit a megabyte where absent.
    pub most: Option<usize>,
}

/// Places that are guessed before the search halves what is left.
const GUESSES: u32 = 3;

/// Where `seq` would be between two known places (commit, sequence number) if
/// events were spread evenly; above the lower one, and not above the higher one.
fn guessed(seq: u64, low: (u64, u64), high: (u64, u64)) -> u64 {
    let (commits, events) = (high.0 - low.0, high.1.saturating_sub(low.1).max(1));
    let part = u128::from(seq.saturating_sub(low.1)) * u128::from(commits) / u128::from(events);
    let part = u64::try_from(part).unwrap_or(commits);
    (low.0 + part).clamp(low.0 + 1, high.0)
}

impl Journal {
    /// One page of commits.
    pub(super) async fn query_commits(
        &self,
        key: &LogKey,
        range: Range,
        start: Option<Item>,
        purpose: Purpose,
    ) -> Result<(Vec<Item>, Option<Item>), JournalError> {
        let Range { from, ascending, most } = range;
        let (low, high) = if ascending { (from, COMMIT_MAX) } else { (0, from) };
        let most = most.map(|most| i32::try_from(most).unwrap_or(i32::MAX));
        let query = self
            .db
            .query()
            .table_name(&self.table)
            .consistent_read(true)
            .scan_index_forward(ascending)
            .key_condition_expression("#pk = :pk AND #sk BETWEEN :low AND :high")
            .expression_attribute_names("#pk", PK)
            .expression_attribute_names("#sk", SK)
            .expression_attribute_values(":pk", items::text(key.partition()))
            .expression_attribute_values(":low", items::text(key.commit(low)))
            .expression_attribute_values(":high", items::text(key.commit(high)))
            .set_exclusive_start_key(start)
            .set_limit(most)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let page = retried(async || query.clone().send().await.map_err(|e| self.fault(&e))).await?;
        self.meter.record(purpose, page.consumed_capacity());
        Ok((page.items.unwrap_or_default(), page.last_evaluated_key))
    }

    /// All items of a partition whose sort keys lie between two, both included.
    pub(super) async fn query_between(
        &self,
        partition: &str,
        low: &str,
        high: &str,
    ) -> Result<Vec<Item>, JournalError> {
        let mut all = Vec::new();
        let mut start = None;
        loop {
            let query = self
                .db
                .query()
                .table_name(&self.table)
                .consistent_read(true)
                .key_condition_expression("#pk = :pk AND #sk BETWEEN :low AND :high")
                .expression_attribute_names("#pk", PK)
                .expression_attribute_names("#sk", SK)
                .expression_attribute_values(":pk", items::text(partition))
                .expression_attribute_values(":low", items::text(low))
                .expression_attribute_values(":high", items::text(high))
                .set_exclusive_start_key(start)
                .return_consumed_capacity(ReturnConsumedCapacity::Total);
            let page =
                retried(async || query.clone().send().await.map_err(|e| self.fault(&e))).await?;
            self.meter.record(Purpose::ChunkRead, page.consumed_capacity());
            all.extend(page.items.unwrap_or_default());
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(all);
            }
        }
    }

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

    /// The number of the commit that holds `seq`, in a log of `last` commits
    /// with the head `head`.
    ///
    /// Costs two or three reads where events are spread evenly over the commits,
    /// however long the log is: the place is guessed from both ends, three times.
    /// After that it is found by bisection, in a read for each bit of what is
    /// left, 34 at most.
    ///
    /// # Errors
    /// As reads.
    pub async fn number_of(
        &self,
        key: &LogKey,
        seq: u64,
        (last, head): (u64, u64),
    ) -> Result<u64, JournalError> {
        // The last commit whose first sequence number is not above `seq`, and
        // that has events: commits without events carry the head before them.
        let (mut low, mut high) = ((1, 1), (last, head));
        let mut guesses = GUESSES;
        while low.0 < high.0 {
            let middle = match guesses {
                0 => low.0 + (high.0 - low.0).div_ceil(2),
                _ => guessed(seq, low, high),
            };
            guesses = guesses.saturating_sub(1);
            let commit = self.commit(key, middle).await?;
            let after = commit.first_seq + u64::from(commit.events.is_empty());
            if after > seq {
                high = (middle - 1, after.saturating_sub(1));
                continue;
            }
            // It may well be this one.
            if commit.events.len() as u64 > seq - commit.first_seq && !commit.events.is_empty() {
                return Ok(middle);
            }
            low = (middle, after);
        }
        Ok(low.0)
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

    /// Up to `most` commits from `number` on, in one request; none at the end.
    ///
    /// # Errors
    /// As reads.
    pub(crate) async fn some_commits(
        &self,
        key: &LogKey,
        number: u64,
        most: usize,
    ) -> Result<Vec<(u64, Commit)>, JournalError> {
        let range = Range { from: number, ascending: true, most: Some(most) };
        let (items, _) = self.query_commits(key, range, None, Purpose::Search).await?;
        let read = |item: &Item| self.read_commit_item(item).map(|(n, commit, _)| (n, commit));
        items.iter().map(read).collect()
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
        let range = Range { from: number, ascending, most: None };
        let mut commits = Vec::new();
        let mut page: Option<Item> = None;
        loop {
            let (items, next) = self.query_commits(key, range, page, Purpose::Search).await?;
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
