//! Removals: planned once, moved by stages, and never a chunk or card of the
//! next life.

use std::sync::Arc;

use everlog::id::Incarnation;
use everlog::journal::{Journal, JournalError, LogKey, Opened, Removal, RemovalStage, keys};
use everlog::plan::{PlanRef, StoredPlan};
use everlog::time::Tick;

use super::{Bench, STARTED, grow, key};
use crate::case;
use crate::case::Case;

pub(super) const CASES: &[Case<Bench>] = &[
    case!(a_removal_is_planned_once_and_moves_from_stage_to_stage_alone),
    case!(a_removal_is_found_by_its_alarm_beside_its_card),
    case!(a_log_is_removed_whole_and_again_without_harm),
    case!(a_chunk_is_removed_only_while_the_card_is_still_that_lifes),
    case!(a_card_is_removed_only_when_it_is_buried_and_still_that_lifes),
];

const NOON: Tick = Tick(STARTED.0 / Tick::MS);

async fn a_removal_is_planned_once_and_moves_from_stage_to_stage_alone(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    assert_eq!(journal.removal(&key).await, Ok(None));
    journal.plan_removal(&key, NOON).await.expect("planned");
    journal.plan_removal(&key, Tick(NOON.0 + 5)).await.expect("it was");
    let planned = Removal { due: NOON, stage: RemovalStage::Planned };
    assert_eq!(journal.removal(&key).await, Ok(Some(planned)));
    let removed = Removal { due: Tick(NOON.0 + 9), stage: RemovalStage::Removed };
    journal.move_removal(&key, RemovalStage::Removing, removed).await.expect("refused");
    assert_eq!(journal.removal(&key).await, Ok(Some(planned)), "it is not at that stage");
    journal.move_removal(&key, RemovalStage::Planned, removed).await.expect("moved");
    assert_eq!(journal.removal(&key).await, Ok(Some(removed)));
    journal.end_removal(&key, RemovalStage::Planned).await.expect("refused");
    assert_eq!(journal.removal(&key).await, Ok(Some(removed)));
    journal.end_removal(&key, RemovalStage::Removed).await.expect("ended");
    journal.end_removal(&key, RemovalStage::Removed).await.expect("and again");
    assert_eq!(journal.removal(&key).await, Ok(None));
}

async fn a_removal_is_found_by_its_alarm_beside_its_card(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    journal.open_card(&key, Tick(NOON.0 + 1)).await.expect("a card");
    journal.plan_removal(&key, NOON).await.expect("planned");
    let shard = keys::alarm_shard(&key.partition());
    for _ in 0..50 {
        let page = journal.due_cards(shard, Tick(NOON.0 + 1), None).await.expect("an answer");
        let found: Vec<_> = page.items.iter().map(|due| due.removes).collect();
        if found == [Some(key.incarnation), None] {
            return;
        }
        // An index lags behind its table.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the index never shows both");
}

async fn a_log_is_removed_whole_and_again_without_harm(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let mut loaded = journal.load(&key).await.expect("an answer");
    for n in 0..30 {
        grow(&journal, &key, &mut loaded, &[n; 200]).await;
    }
    let next = LogKey { incarnation: Incarnation(key.incarnation.0 + 1), ..key.clone() };
    let mut second = journal.load(&next).await.expect("an answer");
    grow(&journal, &next, &mut second, b"").await;
    for _ in 0..2 {
        journal.remove_log(&key).await.expect("removed");
        let left = journal.load(&key).await.expect("an answer");
        assert_eq!((left.state.commit, left.checkpoint), (0, 0));
        let other = bench.journal().load(&next).await.expect("an answer");
        assert_eq!(other.state, second.state, "another life is not touched");
    }
}

async fn chunked(journal: &Journal, key: &LogKey) -> StoredPlan {
    let plan: Arc<_> = super::chunks::plan(1_000);
    let put = journal.put_plan(&key.partition(), super::chunks::SEED, &plan).await;
    let PlanRef::Stored(stored) = put.expect("an answer") else { panic!("it is large") };
    stored
}

async fn a_chunk_is_removed_only_while_the_card_is_still_that_lifes(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let stored = chunked(&journal, &key).await;
    journal.remove_plan(&key, &stored).await.expect("no card, nothing removed");
    journal.open_card(&key, NOON).await.expect("a card");
    let next = LogKey { incarnation: Incarnation(key.incarnation.0 + 1), ..key.clone() };
    journal.take_over_card(key.incarnation, &next, NOON).await.expect("taken over");
    journal.remove_plan(&key, &stored).await.expect("nothing removed");
    bench.journal().stored_plan(&key.partition(), &stored).await.expect("it is whole");
    for _ in 0..2 {
        journal.remove_plan(&next, &stored).await.expect("removed");
        let read = bench.journal().stored_plan(&key.partition(), &stored).await;
        assert!(matches!(read, Err(JournalError::Damaged(_))), "{read:?}");
    }
}

async fn a_card_is_removed_only_when_it_is_buried_and_still_that_lifes(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    journal.open_card(&key, NOON).await.expect("a card");
    journal.remove_card(&key).await.expect("refused");
    assert!(journal.card(&key.partition()).await.expect("an answer").is_some_and(|c| !c.gone()));
    assert_eq!(journal.bury(&key, STARTED).await, Ok(true));
    let card = journal.card(&key.partition()).await.expect("an answer").expect("a card");
    assert_eq!((card.gone(), card.alarm_at, card.updated_at), (true, None, Some(STARTED)));
    let next = LogKey { incarnation: Incarnation(key.incarnation.0 + 1), ..key.clone() };
    assert_eq!(journal.bury(&next, STARTED).await, Ok(false), "it is not that life's");
    journal.remove_card(&next).await.expect("refused");
    assert!(journal.card(&key.partition()).await.expect("an answer").is_some());
    journal.remove_card(&key).await.expect("removed");
    assert_eq!(journal.card(&key.partition()).await, Ok(None));
    assert_eq!(journal.open_card(&next, NOON).await, Ok(Opened::Created));
}
