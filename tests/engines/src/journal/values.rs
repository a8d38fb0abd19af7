//! Values come back as they were put, and items have the size that AWS says.

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use everlog::journal::{JournalError, Purpose};

use super::{Bench, grow, key, next};
use crate::case;
use crate::case::Case;
use crate::fact::Fact;

pub(super) const CASES: &[Case<Bench>] = &[
    case!(every_byte_comes_back_as_it_was_put),
    case!(numbers_of_thirteen_and_of_thirty_eight_digits_are_exact, DIGITS),
    case!(an_item_of_400_kib_is_taken_and_one_byte_more_is_refused, SIZE_CODE),
    case!(a_commit_that_fits_no_item_is_refused_before_it_is_sent),
    case!(an_item_that_grows_beyond_400_kib_is_refused, GROWN),
    case!(keys_that_are_empty_or_too_long_are_refused, EMPTY_KEY, LONG_KEY, LONGEST_KEY),
    case!(a_refused_condition_hands_back_the_whole_old_item),
];

const DIGITS: Fact =
    Fact { what: "38 digits of a number come back", aws: "exact", except: &[], note: "" };

const SIZE_CODE: Fact = Fact {
    what: "error of an item one byte above 400 KiB",
    aws: "ValidationException",
    except: &[],
    note: "",
};

const GROWN: Fact = Fact {
    what: "error of an update that makes an item larger than 400 KiB",
    aws: "ValidationException",
    except: &[],
    note: "",
};

const EMPTY_KEY: Fact =
    Fact { what: "an empty sort key", aws: "ValidationException", except: &[], note: "" };

const LONGEST_KEY: Fact =
    Fact { what: "a sort key of 1,024 bytes", aws: "accepted", except: &[], note: "" };

const LONG_KEY: Fact =
    Fact { what: "a sort key of 1,025 bytes", aws: "ValidationException", except: &[], note: "" };

/// `accepted`, or the code of the refusal.
pub(super) fn outcome<T, E: ProvideErrorMetadata, R>(
    result: Result<T, aws_sdk_dynamodb::error::SdkError<E, R>>,
) -> String {
    let Err(error) = result else { return "accepted".into() };
    let code = error.as_service_error().and_then(ProvideErrorMetadata::code);
    code.unwrap_or("no answer").to_owned()
}

/// An item of raw attributes.
#[expect(clippy::disallowed_methods, reason = "a test of the engine; conditional")]
pub(super) fn put(
    bench: &Bench,
    sk: &str,
    name: &str,
    value: AttributeValue,
) -> aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder {
    bench
        .client()
        .put_item()
        .table_name(&bench.table)
        .item("pk", AttributeValue::S("default#raw".into()))
        .item("sk", AttributeValue::S(sk.into()))
        .item(name, value)
        .condition_expression("attribute_not_exists(pk)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
}

async fn get(bench: &Bench, sk: &str, name: &str) -> AttributeValue {
    let got = bench
        .client()
        .get_item()
        .table_name(&bench.table)
        .key("pk", AttributeValue::S("default#raw".into()))
        .key("sk", AttributeValue::S(sk.into()))
        .consistent_read(true)
        .send()
        .await
        .expect("an answer");
    got.item.expect("it is there").remove(name).expect("it has that")
}

async fn every_byte_comes_back_as_it_was_put(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let mut loaded = journal.load(&key).await.expect("an answer");
    grow(&journal, &key, &mut loaded, b"").await;
    let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
    let commit = next(&loaded, &all);
    journal.put(&key, &loaded, 2, &commit).await.expect("an answer");
    assert_eq!(bench.journal().commit(&key, 2).await, Ok(commit));
    for bytes in [vec![0], vec![255; 3], all] {
        let sk = format!("raw-{}", bytes.len());
        let value = AttributeValue::B(Blob::new(bytes));
        put(&bench, &sk, "body", value.clone()).send().await.expect("an answer");
        assert_eq!(get(&bench, &sk, "body").await, value);
    }
}

async fn numbers_of_thirteen_and_of_thirty_eight_digits_are_exact(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    journal.open_card(&key, everlog::time::Tick(1_234_567_890_123)).await.expect("an answer");
    let card = journal.card(&key.partition()).await.expect("an answer").expect("a card");
    assert_eq!(card.incarnation.0, 1_796_083_200_123);
    assert_eq!(card.alarm_at.map(|tick| tick.0), Some(1_234_567_890_123));
    let digits = "12345678901234567890123456789012345678";
    put(&bench, "n", "n", AttributeValue::N(digits.into())).send().await.expect("an answer");
    let found = get(&bench, "n", "n").await;
    let same = found == AttributeValue::N(digits.into());
    bench.seen.fact(&DIGITS, if same { "exact".to_owned() } else { format!("{found:?}") });
}

async fn an_item_of_400_kib_is_taken_and_one_byte_more_is_refused(bench: Bench) {
    // Names count: pk, sk, body; and the values of the two keys.
    let rest = 400 * 1024 - (2 + "default#raw".len() + 2 + "large".len() + 4);
    let whole = AttributeValue::B(Blob::new(vec![7; rest]));
    put(&bench, "large", "body", whole.clone()).send().await.expect("it fits");
    assert_eq!(get(&bench, "large", "body").await, whole);
    let more = AttributeValue::B(Blob::new(vec![7; rest + 1]));
    bench.seen.fact(&SIZE_CODE, outcome(put(&bench, "larger", "body", more).send().await));
}

#[expect(clippy::disallowed_methods, reason = "a test of the engine; conditional")]
async fn an_item_that_grows_beyond_400_kib_is_refused(bench: Bench) {
    let half = AttributeValue::B(Blob::new(vec![7; 210_000]));
    put(&bench, "x", "body", half.clone()).send().await.expect("it fits");
    let grown = bench
        .client()
        .update_item()
        .table_name(&bench.table)
        .key("pk", AttributeValue::S("default#raw".into()))
        .key("sk", AttributeValue::S("x".into()))
        .update_expression("SET another = :half")
        .condition_expression("attribute_exists(pk)")
        .expression_attribute_values(":half", half.clone());
    bench.seen.fact(&GROWN, outcome(grown.send().await));
    assert_eq!(get(&bench, "x", "body").await, half, "it stays as it was");
}

async fn keys_that_are_empty_or_too_long_are_refused(bench: Bench) {
    let send =
        async |sk: &str| outcome(put(&bench, sk, "n", AttributeValue::N("1".into())).send().await);
    bench.seen.fact(&EMPTY_KEY, send("").await);
    bench.seen.fact(&LONGEST_KEY, send(&"k".repeat(1_024)).await);
    bench.seen.fact(&LONG_KEY, send(&"k".repeat(1_025)).await);
}

async fn a_commit_that_fits_no_item_is_refused_before_it_is_sent(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let mut loaded = journal.load(&key).await.expect("an answer");
    grow(&journal, &key, &mut loaded, b"").await;
    let sent = journal.meter().of(Purpose::Commit).requests;
    let mut commit = next(&loaded, &[1; 200_000]);
    commit.events.push(super::appended(&[2; 200_000]));
    let refused = journal.put(&key, &loaded, 2, &commit).await;
    assert!(matches!(refused, Err(JournalError::Unavailable(_))), "{refused:?}");
    assert_eq!(journal.meter().of(Purpose::Commit).requests, sent);
}

async fn a_refused_condition_hands_back_the_whole_old_item(bench: Bench) {
    let old = AttributeValue::B(Blob::new(vec![9; 350_000]));
    put(&bench, "x", "body", old.clone()).send().await.expect("an answer");
    let new = AttributeValue::B(Blob::new(vec![1]));
    let refused = put(&bench, "x", "body", new).send().await.expect_err("it is taken");
    let refused = refused.into_service_error();
    assert_eq!(refused.code(), Some("ConditionalCheckFailedException"));
    let aws_sdk_dynamodb::operation::put_item::PutItemError::ConditionalCheckFailedException(
        failed,
    ) = refused
    else {
        panic!("{refused:?}")
    };
    let item = failed.item.expect("ALL_OLD");
    assert_eq!((item.len(), &item["body"]), (3, &old));
    assert_eq!(get(&bench, "x", "body").await, old, "nothing was written");
}
