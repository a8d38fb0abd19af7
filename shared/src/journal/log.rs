//! The log: cold and warm load, and the one conditional put.
//!
//! ```text
//!            put n+1 if absent ──▶ landed
//!                 │
//!                 ├── taken, writer is me ──▶ landed (the answer was lost)
//!                 ├── taken by another ─────▶ lost: the caller folds the winner, decides again
//!                 ├── throttled ────────────▶ not written, unless an earlier try went unanswered
//!                 └── no answer ────────────▶ unknown: the same commit again
//! ```

use std::sync::Arc;

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure,
};
use tokio::time::Instant;

use super::faults::{Fault, TRIES, back_off, retried};
use super::items::{self, BODY, Item, PK, SK};
use super::keys::{self, LogKey};
use super::search::Range;
use super::{Journal, JournalError, Purpose};
use crate::commit::{self, Commit};
use crate::event::Event;
use crate::limits;
use crate::plan::{Plan, PlanRef};
use crate::state::State;
use crate::telemetry::Count;
use crate::time::Timestamp;

/// The state of a log, and when it was known to be its latest.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The state.
    pub state: State,
    /// The wall clock when it was last known to be the latest.
    pub confirmed_at: Timestamp,
    /// The same on the monotonic clock.
    pub confirmed: Instant,
    /// Number of the newest checkpoint that was found or written.
    pub checkpoint: u64,
    /// Encoded bytes of the commits after it.
    pub bytes_since: usize,
}

/// How a put ended.
#[derive(Debug)]
pub enum Put {
    /// The commit is in the log.
    Landed,
    /// Another one is, with this number.
    Lost(Box<Commit>),
}

impl Loaded {
    /// Milliseconds since it was known to be the latest, by the clock that says more.
    #[must_use]
    pub fn age_ms(&self, now: Timestamp) -> u64 {
        let passed = u64::try_from(self.confirmed.elapsed().as_millis()).unwrap_or(u64::MAX);
        now.since(self.confirmed_at).max(passed)
    }

    /// Takes over the state that a landed commit of `bytes` leads to.
    pub fn advance(&mut self, state: State, bytes: usize, now: Timestamp) {
        self.state = state;
        self.bytes_since += bytes;
        self.confirm(now, Instant::now());
    }

    /// It was the latest at that instant.
    pub(super) fn confirm(&mut self, at: Timestamp, instant: Instant) {
        self.confirmed_at = at;
        self.confirmed = instant;
    }
}

impl Journal {
    /// Loads a log from its checkpoint and what follows, consistently. A log
    /// that does not exist has a state of commit 0.
    ///
    /// Costs a read unit for a checkpoint of up to 4 KiB, and one a started
    /// 4 KiB of commits after it; two round trips (a stored plan, that is not
    /// cached, one more).
    ///
    /// # Errors
    /// Any [`JournalError`] but `OutcomeUnknown`.
    #[tracing::instrument(level = "debug", skip_all, fields(workflow = %key.workflow))]
    pub async fn load(&self, key: &LogKey) -> Result<Loaded, JournalError> {
        let checkpoint = match self.read_checkpoint(key).await {
            Ok(found) => found,
            Err(JournalError::Damaged(why)) => {
                tracing::warn!(workflow = %key.workflow, why, "checkpoint ignored");
                None
            }
            Err(other) => return Err(other),
        };
        if let Some(state) = checkpoint {
            let number = state.commit;
            let mut loaded = self.empty(state, number);
            if self.follow(key, &mut loaded, true).await? {
                return Ok(loaded);
            }
            tracing::warn!(workflow = %key.workflow, commit = number, "checkpoint of another writer ignored");
        }
        let mut loaded = self.empty(State::default(), 0);
        self.follow(key, &mut loaded, false).await?;
        Ok(loaded)
    }

    /// Reads what was committed since; whether anything was. A state that was
    /// last confirmed more than 15 minutes ago is loaded anew: what followed it
    /// may have been removed, and absence would prove nothing.
    ///
    /// Costs one read unit where nothing was.
    ///
    /// # Errors
    /// Any [`JournalError`] but `OutcomeUnknown`.
    #[tracing::instrument(level = "debug", name = "load", skip_all, fields(workflow = %key.workflow, warm = true))]
    pub async fn refresh(&self, key: &LogKey, loaded: &mut Loaded) -> Result<bool, JournalError> {
        let before = loaded.state.commit;
        if loaded.age_ms(self.clock.now()) > limits::CACHE_MS_MAX {
            *loaded = self.load(key).await?;
        } else {
            self.follow(key, loaded, false).await?;
        }
        Ok(loaded.state.commit != before)
    }

    fn empty(&self, state: State, checkpoint: u64) -> Loaded {
        let confirmed_at = self.clock.now();
        Loaded { state, confirmed_at, confirmed: Instant::now(), checkpoint, bytes_since: 0 }
    }

    /// Folds what follows, page by page until no key is left. With
    /// `check_writer` the commit that the state stands on is read again; false
    /// if it has another writer.
    async fn follow(
        &self,
        key: &LogKey,
        loaded: &mut Loaded,
        check_writer: bool,
    ) -> Result<bool, JournalError> {
        let (asked_at, asked) = (self.clock.now(), Instant::now());
        let from = loaded.state.commit + u64::from(!check_writer);
        let mut unchecked = check_writer;
        let mut page = None;
        loop {
            let range = Range { from, ascending: true, most: None };
            let (items, next) = self.query_commits(key, range, page, Purpose::Load).await?;
            for item in &items {
                let (number, found, bytes) = self.read_commit_item(item)?;
                if unchecked {
                    unchecked = false;
                    if number != loaded.state.commit || Some(found.writer) != loaded.state.writer {
                        return Ok(false);
                    }
                    continue;
                }
                self.fold(key, loaded, number, &found, bytes).await?;
            }
            page = next;
            if page.is_none() {
                break;
            }
        }
        loaded.confirm(asked_at, asked);
        Ok(!unchecked)
    }

    /// Folds one commit that was read, or that won.
    ///
    /// # Errors
    /// [`JournalError::Damaged`], or what reading its plan may say.
    pub async fn fold(
        &self,
        key: &LogKey,
        loaded: &mut Loaded,
        number: u64,
        found: &Commit,
        bytes: usize,
    ) -> Result<(), JournalError> {
        for event in &found.events {
            if let Event::Started(started) = event
                && let Some(plan) = &started.plan
            {
                loaded.state.provide_plan(self.plan(key, plan).await?);
            }
        }
        loaded.state.apply(number, found)?;
        loaded.bytes_since += bytes;
        if found.checkpoint > loaded.checkpoint {
            loaded.checkpoint = found.checkpoint;
            loaded.bytes_since = bytes;
        }
        Ok(())
    }

    pub(super) async fn plan(
        &self,
        key: &LogKey,
        plan: &PlanRef,
    ) -> Result<Arc<Plan>, JournalError> {
        match plan {
            PlanRef::Inline(bytes) => Ok(Arc::new(Plan::from_bytes(bytes)?)),
            PlanRef::Stored(stored) => self.stored_plan(&key.partition(), stored).await,
        }
    }

    /// The number and content of a commit item, with its size.
    pub(super) fn read_commit_item(
        &self,
        item: &Item,
    ) -> Result<(u64, Commit, usize), JournalError> {
        let number = items::read_text(item, SK).and_then(keys::commit_number);
        let number =
            number.ok_or_else(|| JournalError::Damaged("a commit without a number".into()))?;
        let body = items::read_binary(item, BODY)
            .ok_or_else(|| JournalError::Damaged(format!("commit {number} has no body")))?;
        let found = commit::decode(body, self.schemas.reads).map_err(|error| match error {
            commit::DecodeError::Damaged(what) => {
                JournalError::Damaged(format!("commit {number}: {what}"))
            }
            newer @ commit::DecodeError::Newer { .. } => newer.into(),
        })?;
        Ok((number, found, body.len()))
    }

    /// Puts commit `number`, if it does not exist.
    ///
    /// Costs one write unit a started KiB, one round trip; `base` is the state
    /// that it was decided on.
    ///
    /// # Errors
    /// [`JournalError::OutcomeUnknown`]: it may be in the log; give the
    /// commands back, the next decision will see. [`JournalError::Throttled`],
    /// `Unavailable`, `ClockSkewed`, `Stale`: it is not.
    #[tracing::instrument(level = "debug", name = "commit", skip_all, fields(commit = number, outcome))]
    pub async fn put(
        &self,
        key: &LogKey,
        base: &Loaded,
        number: u64,
        new: &Commit,
    ) -> Result<(Put, usize), JournalError> {
        if self.skew.too_large() {
            return Err(JournalError::ClockSkewed(self.skew.ms()));
        }
        if base.age_ms(self.clock.now()) > limits::CACHE_MS_MAX {
            return Err(JournalError::Stale);
        }
        let body = commit::encode(self.schemas.writes, new);
        if body.len() > limits::COMMIT_BYTES_MAX {
            return Err(JournalError::Unavailable(format!("a commit of {} bytes", body.len())));
        }
        let bytes = body.len();
        let item = Item::from([
            (PK.to_owned(), items::text(key.partition())),
            (SK.to_owned(), items::text(key.commit(number))),
            (BODY.to_owned(), items::binary(body)),
        ]);
        let put = self.put_until_known(key, number, new, item).await;
        self.count(&put);
        put.map(|put| (put, bytes))
    }

    async fn put_until_known(
        &self,
        key: &LogKey,
        number: u64,
        new: &Commit,
        item: Item,
    ) -> Result<Put, JournalError> {
        let mut unanswered = None;
        for attempt in 1..=TRIES {
            match self.put_if_absent(item.clone(), Purpose::Commit).await {
                Ok(None) => return Ok(Put::Landed),
                Ok(Some(winner)) => {
                    let winner = match winner {
                        Some(item) => self.read_commit_item(&item)?.1,
                        None => self.commit(key, number).await?,
                    };
                    let mine = winner.writer == new.writer;
                    return Ok(if mine { Put::Landed } else { Put::Lost(Box::new(winner)) });
                }
                Err(Fault::Unanswered(why)) => {
                    self.tally.add(Count::UnknownAtFirst, usize::from(unanswered.is_none()));
                    unanswered = Some(why);
                }
                Err(Fault::Throttled) => {}
                Err(fault) => match unanswered {
                    Some(why) => return Err(JournalError::OutcomeUnknown(why)),
                    None => return Err(fault.into_error()),
                },
            }
            if attempt < TRIES {
                back_off(attempt).await;
            }
        }
        Err(unanswered.map_or(JournalError::Throttled, JournalError::OutcomeUnknown))
    }

    /// Each end of a put is another number, and none of them is folded into another.
    fn count(&self, put: &Result<Put, JournalError>) {
        let (outcome, count) = match put {
            Ok(Put::Landed) => ("landed", Some(Count::Committed)),
            Ok(Put::Lost(_)) => ("lost", Some(Count::Conflict)),
            Err(unknown @ JournalError::OutcomeUnknown(_)) => {
                (unknown.name(), Some(Count::Unknown))
            }
            Err(other) => (other.name(), None),
        };
        tracing::Span::current().record("outcome", outcome);
        if let Some(count) = count {
            self.tally.add(count, 1);
        }
    }

    /// One conditional put: `None` if it landed, else what stands there (if
    /// the store says so).
    #[expect(clippy::disallowed_methods, reason = "the journal is where puts belong; conditional")]
    pub(super) async fn put_if_absent(
        &self,
        item: Item,
        purpose: Purpose,
    ) -> Result<Option<Option<Item>>, Fault> {
        let sent = self
            .db
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(#pk)")
            .expression_attribute_names("#pk", PK)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await;
        match sent {
            Ok(answer) => {
                self.meter.record(purpose, answer.consumed_capacity());
                Ok(None)
            }
            Err(error) => match (self.fault(&error), error.into_service_error()) {
                (Fault::Condition, PutItemError::ConditionalCheckFailedException(failed)) => {
                    self.meter.refused(purpose);
                    Ok(Some(failed.item))
                }
                (fault, _) => Err(fault),
            },
        }
    }

    /// Reads one item, consistently.
    pub(super) async fn get(
        &self,
        partition: &str,
        sort_key: &str,
        purpose: Purpose,
    ) -> Result<Option<Item>, JournalError> {
        let get = self
            .db
            .get_item()
            .table_name(&self.table)
            .key(PK, AttributeValue::S(partition.to_owned()))
            .key(SK, AttributeValue::S(sort_key.to_owned()))
            .consistent_read(true)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let answer = retried(async || get.clone().send().await.map_err(|e| self.fault(&e))).await?;
        self.meter.record(purpose, answer.consumed_capacity());
        Ok(answer.item)
    }
}
