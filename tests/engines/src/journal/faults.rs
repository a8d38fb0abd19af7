//! What failures of the engine, and of the way to it, mean to the journal.

use aws_sdk_dynamodb::types::AttributeValue;
use everlog::journal::{JournalError, Put};
use everlog::time::{Clock, Tick};

use super::values::{outcome, put};
use super::{Bench, STARTED, grow, key, next};
use crate::case;
use crate::case::Case;
use crate::fact::Fact;
use crate::proxy::{Loss, Weather};

pub(super) const CASES: &[Case<Bench>] = &[
    case!(a_put_whose_answer_is_lost_has_landed),
    case!(a_put_without_any_answer_is_unknown_and_the_same_again_settles_it),
    case!(a_put_that_never_arrived_is_unknown_and_loses_to_who_came_between),
    case!(a_card_step_whose_answer_is_lost_is_done_again_without_harm),
    case!(a_read_without_an_answer_is_asked_again),
    case!(a_read_that_is_never_answered_is_unavailable),
    case!(a_missing_table_is_unavailable_and_nothing_was_written, MISSING),
    case!(a_table_that_is_created_again_is_found),
    case!(a_refused_expression_is_a_validation_error, EXPRESSION),
    case!(an_instance_whose_clock_is_two_minutes_off_does_not_commit),
];

const MISSING: Fact = Fact {
    what: "error of a table that is not there",
    aws: "ResourceNotFoundException",
    except: &[],
    note: "",
};

const EXPRESSION: Fact = Fact {
    what: "error of an expression that does not parse",
    aws: "ValidationException",
    except: &[],
    note: "",
};

/// More than the journal tries.
const ALL: u32 = 1_000;

async fn a_put_whose_answer_is_lost_has_landed(bench: Bench) {
    let (weather, key) = (Weather::default(), key("w"));
    let journal = bench.journal_in(&weather).await;
    let loaded = journal.load(&key).await.expect("an answer");
    let commit = next(&loaded, b"");
    weather.set(Loss::Answer, 1);
    let (put, _) = journal.put(&key, &loaded, 1, &commit).await.expect("it is settled");
    assert!(matches!(put, Put::Landed), "{put:?}");
    assert_eq!(bench.journal().commit(&key, 1).await, Ok(commit));
}

async fn a_put_without_any_answer_is_unknown_and_the_same_again_settles_it(bench: Bench) {
    let (weather, key) = (Weather::default(), key("w"));
    let journal = bench.journal_in(&weather).await;
    let loaded = journal.load(&key).await.expect("an answer");
    let commit = next(&loaded, b"");
    weather.set(Loss::Answer, ALL);
    let unknown = journal.put(&key, &loaded, 1, &commit).await;
    assert!(matches!(unknown, Err(JournalError::OutcomeUnknown(_))), "{unknown:?}");
    weather.set(Loss::None, 0);
    let (put, _) = journal.put(&key, &loaded, 1, &commit).await.expect("it is settled");
    assert!(matches!(put, Put::Landed), "{put:?}");
    let all = bench.journal().commits_from(&key, 1, |_, _| false).await.expect("a log");
    assert_eq!(all, [(1, commit)]);
}

async fn a_put_that_never_arrived_is_unknown_and_loses_to_who_came_between(bench: Bench) {
    let (weather, key) = (Weather::default(), key("w"));
    let journal = bench.journal_in(&weather).await;
    let mut loaded = journal.load(&key).await.expect("an answer");
    let commit = next(&loaded, b"");
    weather.set(Loss::Request, ALL);
    let unknown = journal.put(&key, &loaded, 1, &commit).await;
    assert!(matches!(unknown, Err(JournalError::OutcomeUnknown(_))), "{unknown:?}");
    assert_eq!(bench.journal().load(&key).await.expect("an answer").state.commit, 0);
    let mine = loaded.clone();
    grow(&bench.journal(), &key, &mut loaded, b"").await;
    weather.set(Loss::None, 0);
    let (put, _) = journal.put(&key, &mine, 1, &commit).await.expect("it is settled");
    let Put::Lost(winner) = put else { panic!("{put:?}") };
    assert_eq!(Some(winner.writer), loaded.state.writer);
}

async fn a_card_step_whose_answer_is_lost_is_done_again_without_harm(bench: Bench) {
    let (weather, key) = (Weather::default(), key("w"));
    let journal = bench.journal_in(&weather).await;
    weather.set(Loss::Answer, 1);
    let opened = journal.open_card(&key, Tick(50)).await;
    assert!(opened.is_ok(), "found as its own or as new: {opened:?}");
    weather.set(Loss::Answer, 1);
    journal.lower_alarm(&key, Tick(40)).await.expect("an answer");
    let card = bench.journal().card(&key.partition()).await.expect("an answer").expect("a card");
    assert_eq!(card.alarm_at, Some(Tick(40)));
    assert_eq!(card.alarm_rev, 2, "counted once too often, which only keeps the alarm early");
    weather.set(Loss::Answer, 1);
    let to = everlog::journal::LogKey {
        incarnation: everlog::id::Incarnation(key.incarnation.0 + 1),
        ..key.clone()
    };
    let taken = journal.take_over_card(key.incarnation, &to, Tick(60)).await;
    assert_eq!(taken, Ok(true), "refused by itself, and knows it");
}

async fn a_read_without_an_answer_is_asked_again(bench: Bench) {
    let (weather, key) = (Weather::default(), key("w"));
    let journal = bench.journal_in(&weather).await;
    let mut loaded = bench.journal().load(&key).await.expect("an answer");
    grow(&bench.journal(), &key, &mut loaded, b"").await;
    weather.set(Loss::Request, 2);
    assert_eq!(journal.load(&key).await.expect("an answer").state, loaded.state);
    weather.set(Loss::Answer, 2);
    assert_eq!(journal.load(&key).await.expect("an answer").state, loaded.state);
}

async fn a_read_that_is_never_answered_is_unavailable(bench: Bench) {
    let (weather, key) = (Weather::default(), key("w"));
    let journal = bench.journal_in(&weather).await;
    weather.set(Loss::Request, ALL);
    let failed = journal.load(&key).await;
    assert!(matches!(failed, Err(JournalError::Unavailable(_))), "{failed:?}");
    let failed = journal.due_cards(0, Tick(1), None).await;
    assert!(matches!(failed, Err(JournalError::Unavailable(_))), "{failed:?}");
}

async fn a_missing_table_is_unavailable_and_nothing_was_written(bench: Bench) {
    let (journal, key) = (bench.journal_on("nowhere"), key("w"));
    let loaded = bench.journal().load(&key).await.expect("an answer");
    let failed = journal.load(&key).await;
    let Err(JournalError::Unavailable(why)) = failed else { panic!("{failed:?}") };
    let code = ["ResourceNotFoundException", "ValidationException"];
    let code = code.into_iter().find(|code| why.contains(code));
    bench.seen.fact(&MISSING, code.unwrap_or(&why));
    let failed = journal.put(&key, &loaded, 1, &next(&loaded, b"")).await;
    assert!(matches!(failed, Err(JournalError::Unavailable(_))), "{failed:?}");
    let failed = journal.lower_alarm(&key, Tick(1)).await;
    assert!(matches!(failed, Err(JournalError::Unavailable(_))), "{failed:?}");
}

async fn a_table_that_is_created_again_is_found(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let mut loaded = journal.load(&key).await.expect("an answer");
    grow(&journal, &key, &mut loaded, b"").await;
    let again = everlog::journal::create_table(&bench.client(), &bench.table).await;
    assert_eq!(again, Ok(()));
    assert_eq!(journal.load(&key).await.expect("an answer").state, loaded.state);
}

async fn a_refused_expression_is_a_validation_error(bench: Bench) {
    let value = AttributeValue::S("v".into());
    let refused = put(&bench, "x", "v", value).condition_expression("attribute_not_exists(");
    bench.seen.fact(&EXPRESSION, outcome(refused.send().await));
}

/// The engine's own time stands in the Date header of each answer.
async fn an_instance_whose_clock_is_two_minutes_off_does_not_commit(bench: Bench) {
    let key = key("w");
    for (ahead, commits) in [(true, false), (false, false), (true, true)] {
        let now = bench.clock.now();
        let off_ms = if commits { 20_000 } else { 120_000 };
        let wrong = if ahead { now.plus_ms(off_ms) } else { now.minus_ms(off_ms) };
        let journal = bench.journal_by(Clock::tokio(wrong));
        let loaded = journal.load(&key).await.expect("reading is allowed");
        let mut commit = next(&loaded, b"");
        commit.time = STARTED;
        let put = journal.put(&key, &loaded, 1, &commit).await;
        match put {
            Err(JournalError::ClockSkewed(ms)) => {
                assert!(!commits && (118_000..122_000).contains(&ms), "{ms} ms");
            }
            put => assert!(commits && put.is_ok(), "{put:?}"),
        }
    }
}
