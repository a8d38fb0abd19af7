//! Cards: made once, moved by their rules, taken over by one.

use everlog::id::{Incarnation, WorkflowType};
use everlog::journal::{CardLook, JournalError, LogKey, Opened};
use everlog::labels::Labels;
use everlog::time::Tick;
use futures::future::join_all;

use super::{Bench, STARTED, key};
use crate::case;
use crate::case::Case;

pub(super) const CASES: &[Case<Bench>] = &[
    case!(a_card_is_created_once_and_the_next_start_finds_it),
    case!(an_earlier_alarm_lowers_the_card_and_a_later_one_only_counts),
    case!(sixteen_lowerings_at_once_leave_the_earliest_and_count_each),
    case!(an_alarm_moves_later_only_by_the_revision_that_was_read),
    case!(one_of_sixteen_takes_a_card_over),
    case!(a_card_of_another_life_is_not_touched),
    case!(a_status_lands_only_over_that_of_an_earlier_commit),
    case!(a_mark_is_set_by_the_revision_that_was_read_and_taken_away_once),
];

const NOON: Tick = Tick(STARTED.0 / Tick::MS);

fn later(minutes: u64) -> Tick {
    Tick(NOON.0 + minutes)
}

pub(super) fn look(status: &'static str, as_of: u64) -> CardLook {
    CardLook {
        status,
        workflow_type: WorkflowType::new("order").expect("a type"),
        started_at: STARTED,
        closed_at: (status == "completed").then_some(STARTED.plus_ms(1_000)),
        updated_at: STARTED,
        labels: Labels::default(),
        as_of,
        alarm: None,
    }
}

async fn a_card_is_created_once_and_the_next_start_finds_it(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    assert_eq!(journal.card(&key.partition()).await, Ok(None));
    assert_eq!(journal.open_card(&key, later(1)).await, Ok(Opened::Created));
    let card = journal.card(&key.partition()).await.expect("an answer").expect("a card");
    assert_eq!((card.incarnation, card.alarm_at), (key.incarnation, Some(later(1))));
    assert_eq!((card.alarm_rev, card.as_of, card.status.as_str()), (0, 0, "starting"));
    assert_eq!(journal.open_card(&key, later(9)).await, Ok(Opened::Exists(card)));
}

async fn an_earlier_alarm_lowers_the_card_and_a_later_one_only_counts(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    journal.open_card(&key, later(10)).await.expect("an answer");
    journal.lower_alarm(&key, later(5)).await.expect("an answer");
    let card = journal.card(&key.partition()).await.expect("an answer").expect("a card");
    assert_eq!((card.alarm_at, card.alarm_rev), (Some(later(5)), 1));
    journal.lower_alarm(&key, later(7)).await.expect("an answer");
    journal.lower_alarm(&key, later(5)).await.expect("an answer");
    let card = journal.card(&key.partition()).await.expect("an answer").expect("a card");
    assert_eq!((card.alarm_at, card.alarm_rev), (Some(later(5)), 3));
}

async fn sixteen_lowerings_at_once_leave_the_earliest_and_count_each(bench: Bench) {
    let key = key("w");
    bench.journal().open_card(&key, later(60)).await.expect("an answer");
    let all = (1..=16).map(|minute| {
        let (journal, key) = (bench.journal(), key.clone());
        tokio::spawn(async move { journal.lower_alarm(&key, later(minute)).await })
    });
    for ended in join_all(all).await {
        ended.expect("no panic").expect("an answer");
    }
    let card = bench.journal().card(&key.partition()).await.expect("an answer").expect("a card");
    assert_eq!((card.alarm_at, card.alarm_rev), (Some(later(1)), 16));
}

async fn an_alarm_moves_later_only_by_the_revision_that_was_read(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    journal.open_card(&key, later(1)).await.expect("an answer");
    journal.lower_alarm(&key, later(1)).await.expect("an answer");
    assert_eq!(journal.move_alarm(&key, Some(later(9)), 0).await, Ok(false));
    assert_eq!(journal.move_alarm(&key, Some(later(9)), 1).await, Ok(true));
    assert_eq!(journal.move_alarm(&key, None, 0).await, Ok(false));
    assert_eq!(journal.move_alarm(&key, None, 1).await, Ok(true));
    let card = journal.card(&key.partition()).await.expect("an answer").expect("a card");
    assert_eq!((card.alarm_at, card.alarm_rev), (None, 1));
    journal.lower_alarm(&key, later(3)).await.expect("an answer");
    let card = journal.card(&key.partition()).await.expect("an answer").expect("a card");
    assert_eq!((card.alarm_at, card.alarm_rev), (Some(later(3)), 2), "from never to then");
}

async fn one_of_sixteen_takes_a_card_over(bench: Bench) {
    let old = key("w");
    bench.journal().open_card(&old, later(1)).await.expect("an answer");
    let all = (1..=16).map(|n| {
        let (journal, old) = (bench.journal(), old.clone());
        let new = LogKey { incarnation: Incarnation(old.incarnation.0 + n), ..old.clone() };
        tokio::spawn(async move {
            let taken = journal.take_over_card(old.incarnation, &new, later(2)).await;
            taken.expect("an answer").then_some(new.incarnation)
        })
    });
    let ended = join_all(all).await.into_iter().map(|ended| ended.expect("no panic"));
    let winners: Vec<Incarnation> = ended.flatten().collect();
    let card = bench.journal().card(&old.partition()).await.expect("an answer").expect("a card");
    assert_eq!(winners, [card.incarnation], "one has it, and the card says so");
    assert_eq!((card.alarm_at, card.alarm_rev), (Some(later(2)), 1));
}

async fn a_card_of_another_life_is_not_touched(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let none = journal.lower_alarm(&key, later(1)).await;
    assert_eq!(none, Err(JournalError::OtherIncarnation), "nothing but a start makes a card");
    journal.open_card(&key, later(5)).await.expect("an answer");
    let before = journal.card(&key.partition()).await;
    let other = LogKey { incarnation: Incarnation(7), ..key.clone() };
    let lowered = journal.lower_alarm(&other, later(1)).await;
    assert_eq!(lowered, Err(JournalError::OtherIncarnation));
    assert_eq!(journal.move_alarm(&other, None, 0).await, Ok(false));
    assert_eq!(journal.show(&other, &look("running", 9), None).await, Ok(false));
    assert_eq!(journal.card(&key.partition()).await, before);
}

async fn a_status_lands_only_over_that_of_an_earlier_commit(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    journal.open_card(&key, later(5)).await.expect("an answer");
    assert_eq!(journal.show(&key, &look("running", 1), None).await, Ok(true));
    assert_eq!(journal.show(&key, &look("running", 5), None).await, Ok(true));
    assert_eq!(journal.show(&key, &look("paused", 4), None).await, Ok(false));
    assert_eq!(journal.show(&key, &look("completed", 6), Some(3)).await, Ok(false));
    assert_eq!(journal.show(&key, &look("completed", 6), Some(0)).await, Ok(true));
    let card = journal.card(&key.partition()).await.expect("an answer").expect("a card");
    assert_eq!((card.status.as_str(), card.as_of, card.alarm_at), ("completed", 6, None));
}

async fn a_mark_is_set_by_the_revision_that_was_read_and_taken_away_once(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    journal.open_card(&key, later(5)).await.expect("an answer");
    let card = journal.card(&key.partition()).await.expect("an answer").expect("a card");
    journal.lower_alarm(&key, later(5)).await.expect("an answer");
    assert_eq!(journal.quarantine(&key, &card, "why", STARTED).await, Ok(false));
    let card = journal.card(&key.partition()).await.expect("an answer").expect("a card");
    assert_eq!(journal.quarantine(&key, &card, "why", STARTED).await, Ok(true));
    let card = journal.card(&key.partition()).await.expect("an answer").expect("a card");
    assert_eq!(card.quarantine.as_deref(), Some("why"));
    assert_eq!((card.quarantine_min, card.alarm_at), (15, Some(later(15))));
    assert_eq!(journal.release(&key).await, Ok(true));
    assert_eq!(journal.release(&key).await, Ok(false));
}
