//! The shards of a list, merged by start.
//!
//! Each shard is read as far as the page needs it. What started in the same
//! millisecond comes together, by id: the index has it so in one direction only.

use std::collections::VecDeque;

use futures::future::try_join_all;

use super::cursor::Place;
use super::{CARDS_MAX, ListQuery, QueryError, Sort};
use crate::journal::keys::LIST_SHARDS;
use crate::journal::{Journal, JournalError, ListShard, Listed, ShardPage};
use crate::time::Timestamp;

/// Cards that one request reads at least.
const READ_MIN: usize = 16;
/// And at most; a page of the index has room for thousands.
const READ_MAX: usize = 1_000;

pub(super) struct Merge<'a> {
    journal: &'a Journal,
    descending: bool,
    from: Timestamp,
    to: Timestamp,
    shards: Vec<Shard>,
    read: usize,
    units: f64,
}

struct Shard {
    which: ListShard,
    buffer: VecDeque<Listed>,
    /// Where to read on: `None` before the first read.
    next: Option<ShardPage>,
    /// Cards that the next request reads: twice as many each time.
    at_once: usize,
}

impl Shard {
    /// Whether there may be more than what is buffered.
    fn more(&self) -> bool {
        self.next.as_ref().is_none_or(|page| page.next.is_some())
    }
}

impl<'a> Merge<'a> {
    /// From `after` on, if the list is sorted by start; else, and for a `whole`
    /// list in any case, from the beginning to the end.
    pub(super) fn new(
        journal: &'a Journal,
        query: &ListQuery,
        after: Option<&Place>,
        whole: bool,
    ) -> Self {
        let whole = whole || query.sort != Sort::Started;
        let place = after.filter(|_| !whole).and_then(Place::started_at);
        // The place's own millisecond is read again: others of it may follow.
        let (mut from, mut to) = (query.started_from, query.started_to);
        match (place, query.descending) {
            (Some(place), true) => to = Some(to.map_or(place, |to| to.min(place))),
            (Some(place), false) => from = Some(from.map_or(place, |from| from.max(place))),
            (None, _) => {}
        }
        let statuses = query.statuses();
        let share = 2 * query.limit / (statuses.len() * usize::from(LIST_SHARDS)).max(1);
        let at_once = if whole { READ_MAX } else { share.clamp(READ_MIN, READ_MAX) };
        let shards: Vec<Shard> = statuses
            .iter()
            .flat_map(|status| (0..LIST_SHARDS).map(move |shard| (status, shard)))
            .map(|(status, shard)| Shard {
                which: ListShard {
                    namespace: query.namespace.clone(),
                    status: (*status).to_owned(),
                    shard,
                },
                buffer: VecDeque::new(),
                next: None,
                at_once,
            })
            .collect();
        Self {
            journal,
            descending: whole || query.descending,
            from: from.unwrap_or_default(),
            to: to.unwrap_or(Timestamp(crate::limits::TIME_MS_MAX)),
            shards,
            read: 0,
            units: 0.0,
        }
    }

    pub(super) fn units(&self) -> f64 {
        self.units
    }

    /// Whether more was read than a query may.
    pub(super) fn too_broad(&self) -> Result<(), QueryError> {
        match self.read > CARDS_MAX {
            true => Err(QueryError::TooBroad { read: self.read }),
            false => Ok(()),
        }
    }

    /// Some of what is left, in no order; nothing at the end.
    pub(super) async fn some(&mut self) -> Result<Vec<Listed>, JournalError> {
        self.fill().await?;
        Ok(self.shards.iter_mut().flat_map(|shard| std::mem::take(&mut shard.buffer)).collect())
    }

    /// All that started in the next millisecond that something started in, by id.
    pub(super) async fn next_group(&mut self) -> Result<Option<Vec<Listed>>, QueryError> {
        self.fill().await?;
        self.too_broad()?;
        let heads = self.shards.iter().filter_map(|shard| shard.buffer.front());
        let starts = heads.map(|listed| listed.started_at);
        let next = if self.descending { starts.max() } else { starts.min() };
        let Some(at) = next else { return Ok(None) };
        let mut group = Vec::new();
        loop {
            for shard in &mut self.shards {
                while let Some(listed) = shard.buffer.pop_front_if(|l| l.started_at == at) {
                    group.push(listed);
                }
            }
            let more = |shard: &Shard| shard.buffer.is_empty() && shard.more();
            if !self.shards.iter().any(more) {
                break;
            }
            self.fill().await?;
            self.too_broad()?;
        }
        group.sort_by(|a, b| a.workflow.cmp(&b.workflow));
        Ok(Some(group))
    }

    /// Reads on wherever nothing is buffered, side by side.
    async fn fill(&mut self) -> Result<(), JournalError> {
        let (journal, descending) = (self.journal, self.descending);
        let (from, to) = (self.from, self.to);
        let reads = self.shards.iter_mut().filter(|s| s.buffer.is_empty() && s.more()).map(
            |shard| async move {
                // A page may be empty and yet not be the last.
                let (mut read, mut units) = (0, 0.0);
                while shard.buffer.is_empty() && shard.more() {
                    let start = shard.next.take().and_then(|page| page.next);
                    let mut page = journal
                        .list_shard(&shard.which, (from, to), descending, shard.at_once, start)
                        .await?;
                    shard.at_once = (2 * shard.at_once).min(READ_MAX);
                    read += page.items.len();
                    units += page.units;
                    shard.buffer.extend(std::mem::take(&mut page.items));
                    shard.next = Some(page);
                }
                Ok::<_, JournalError>((read, units))
            },
        );
        for (read, units) in try_join_all(reads).await? {
            self.read += read;
            self.units += units;
        }
        Ok(())
    }
}
