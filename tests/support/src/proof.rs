//! Proofs about what the table holds.

use std::collections::{BTreeMap, BTreeSet};

use everlog::commit::Commit;
use everlog::event::{Event, Outcome, Target, TimerKey};
use everlog::fleet::Fleet;
use everlog::journal::{Card, JournalError, Loaded, LogKey};
use everlog::plan::{Plan, Trigger};
use everlog::state::{Life, State};
use everlog_local::stack::TABLE;

use crate::World;

/// All commits of a log, read back.
///
/// # Panics
/// If the log can't be read.
pub async fn commits(fleet: &Fleet, key: &LogKey) -> Vec<(u64, Commit)> {
    fleet.journal().commits_from(key, 1, |_, _| false).await.expect("a readable log")
}

/// Proves a planned run from its history: sequence numbers without gaps, each
/// task at most one success and exactly one if it is to have run, no attempt
/// before all parents had succeeded, attempts counted 1, 2, 3, timers fired once.
///
/// # Panics
/// With what is wrong.
pub fn history(commits: &[(u64, Commit)], plan: &Plan) -> Facts {
    let mut facts = Facts::default();
    let mut next_seq = 1;
    for (at, (number, commit)) in commits.iter().enumerate() {
        assert_eq!(*number, at as u64 + 1, "commits without gaps");
        if !commit.events.is_empty() {
            assert_eq!(commit.first_seq, next_seq, "sequence without gaps");
            next_seq += commit.events.len() as u64;
        }
        for event in &commit.events {
            facts.take(event, plan);
        }
    }
    facts
}

/// What a history says.
#[derive(Debug, Default)]
pub struct Facts {
    /// Tasks that succeeded.
    pub succeeded: BTreeSet<u32>,
    /// Attempts, ever.
    pub attempts: usize,
    /// Attempts that were ended as lost.
    pub lost: usize,
    live: BTreeMap<u32, u32>,
    armed: BTreeSet<TimerKey>,
    closed: bool,
}

impl Facts {
    fn take(&mut self, event: &Event, plan: &Plan) {
        assert!(!self.closed, "nothing follows the end");
        match event {
            Event::Prepared(Target::Planned(at), n, ..) => {
                assert_eq!(*n, 1, "the first attempt of a task is its first");
                self.begin(*at, *n, plan);
            }
            Event::Settled(Target::Planned(at), n, outcome, retry_at) => {
                assert_eq!(self.live.remove(at), Some(*n), "only a live attempt settles");
                self.lost += usize::from(matches!(outcome, Outcome::Lost));
                if matches!(outcome, Outcome::Succeeded(_)) {
                    assert!(self.succeeded.insert(*at), "task {at} succeeded twice");
                }
                if retry_at.is_some() {
                    self.begin(*at, n + 1, plan);
                }
            }
            Event::TimerArmed(timer, _) => assert!(self.armed.insert(timer.clone()), "armed twice"),
            Event::TimerFired(timer) => {
                assert!(self.armed.remove(timer), "{timer:?} fired without being armed");
                if let TimerKey::Node(at) = timer {
                    self.succeeded.insert(*at);
                }
            }
            Event::WaitEnded(at, _) => {
                self.succeeded.insert(*at);
            }
            Event::Closed(..) => self.closed = true,
            _ => {}
        }
    }

    fn begin(&mut self, at: u32, n: u32, plan: &Plan) {
        self.attempts += 1;
        assert!(self.live.insert(at, n).is_none(), "task {at} has one live attempt");
        if plan.node(at).trigger == Trigger::Success {
            for parent in &plan.node(at).parents {
                let allowed = plan.node(*parent).allow_failure;
                assert!(
                    allowed || self.succeeded.contains(parent),
                    "{at} began before {parent} succeeded"
                );
            }
        }
    }

    /// Every task succeeded once, and nothing is left.
    ///
    /// # Panics
    /// If not.
    pub fn all_succeeded(&self, plan: &Plan) {
        assert!(self.closed, "the run is closed");
        assert!(self.live.is_empty(), "nothing is unsettled");
        assert_eq!(self.succeeded.len(), plan.nodes.len(), "each task succeeded");
    }
}

/// What breaks the alarm invariant (DESIGN 4), if anything does:
/// card ≤ state ≤ earliest due.
///
/// # Panics
/// If the table can't be read.
pub async fn alarm(world: &World, workflow: &str) -> Option<String> {
    let (key, card) = world.card(workflow).await?;
    if card.gone() {
        return buried(world, &key, &card).await;
    }
    let loaded = world.observer.journal().load(&key).await.expect("a log that folds");
    let state = &loaded.state;
    if state.commit == 0 {
        return card.alarm_at.is_none().then(|| "a card without a log has no alarm".into());
    }
    let later = |a: Option<everlog::time::Tick>, b: Option<everlog::time::Tick>| match (a, b) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(a), Some(b)) => a > b,
    };
    let due = state.earliest_due().map(everlog::time::Timestamp::tick);
    if later(state.alarm, due) {
        return Some(format!("the state's {:?} is after the earliest due {due:?}", state.alarm));
    }
    later(card.alarm_at, state.alarm)
        .then(|| format!("the card's {:?} is after the state's {:?}", card.alarm_at, state.alarm))
}

/// What is left of a deleted life is *deleted*, damage or nothing, and never a
/// shorter log; its card is in no list and has no alarm.
async fn buried(world: &World, key: &LogKey, card: &Card) -> Option<String> {
    if card.alarm_at.is_some() {
        return Some("the card of a deleted life has an alarm".into());
    }
    match world.observer.journal().load(key).await {
        Ok(loaded) if loaded.state.commit == 0 || loaded.state.life == Life::Deleted => None,
        Ok(loaded) => Some(format!("a deleted log reads as {}", loaded.state.status())),
        Err(JournalError::Damaged(_)) => None,
        Err(error) => Some(error.to_string()),
    }
}

/// The sort keys of everything in the table.
///
/// # Panics
/// If it can't be read.
pub async fn items(world: &World) -> Vec<String> {
    let request = serde_json::json!({ "TableName": TABLE, "ConsistentRead": true });
    let target = "DynamoDB_20120810.Scan";
    let answer = world.backend.answer(target, request.to_string().as_bytes()).await;
    let answer: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert!(answer.get("LastEvaluatedKey").is_none(), "more than a page");
    let items = answer["Items"].as_array().expect("items").iter();
    let mut keys: Vec<String> =
        items.map(|item| item["sk"]["S"].as_str().expect("a key").to_owned()).collect();
    keys.sort_unstable();
    keys
}

/// At rest after the end: the card says what the log says, no alarm is left,
/// and nothing lies in a queue of what was given up.
///
/// # Panics
/// If not.
pub async fn at_rest(world: &World, workflow: &str) -> (LogKey, Loaded) {
    let (key, loaded) = world.load(workflow).await;
    let (_, card) = world.card(workflow).await.expect("a card");
    let state: &State = &loaded.state;
    assert!(state.ending().is_some(), "closed");
    assert_eq!(card.status, state.status(), "the card says what the log says");
    assert_eq!(card.alarm_at, None, "no alarm is left on the card");
    assert_eq!(state.alarm, None, "nor in the state");
    for queue in ["undelivered", "undelivered.fifo"] {
        let url = format!("http://sqs.local/000000000000/everlog-{queue}");
        assert_eq!(world.depth(&url).await, 0, "nothing was given up in {queue}");
    }
    (key, loaded)
}
