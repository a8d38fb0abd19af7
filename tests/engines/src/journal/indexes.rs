//! The two indexes: order, pages, who is in and what is shown.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use everlog::id::AttributeName;
use everlog::journal::{CardLook, Journal, Listed, LogKey, keys};
use everlog::labels::{self, Labels};
use everlog::query::list::{self, ListQuery};
use everlog::time::Tick;

use super::cards::look;
use super::values::outcome;
use super::{Bench, STARTED, key};
use crate::case;
use crate::case::Case;
use crate::fact::Fact;

pub(super) const CASES: &[Case<Bench>] = &[
    case!(due_cards_come_in_the_order_of_their_alarms_up_to_the_asked_one),
    case!(pages_of_an_index_go_on_from_their_key_among_equal_alarms),
    case!(a_card_without_an_alarm_is_in_no_alarm_index),
    case!(a_card_moves_from_list_to_list_with_its_status),
    case!(labels_come_and_go_with_the_card_and_stand_in_its_list),
    case!(an_index_holds_what_it_was_told_to_and_no_more),
    case!(an_index_can_not_be_read_consistently, CONSISTENT),
];

const CONSISTENT: Fact = Fact {
    what: "a consistent read of an index",
    aws: "ValidationException",
    except: &[],
    note: "",
};

/// Workflows of one alarm shard.
fn neighbours(count: usize) -> Vec<LogKey> {
    let all = (0..).map(|n| key(&format!("w-{n}")));
    all.filter(|key| keys::alarm_shard(&key.partition()) == 0).take(count).collect()
}

/// Everything that is due in shard 0, once the index shows `count` of it.
async fn due(journal: &Journal, until: u64, count: usize) -> Vec<String> {
    for _ in 0..50 {
        let page = journal.due_cards(0, Tick(until), None).await.expect("an answer");
        let found: Vec<String> = page.items.iter().map(|due| due.workflow.to_string()).collect();
        if found.len() == count {
            return found;
        }
        // An index lags behind its table.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the index never shows {count} cards that are due by {until}");
}

fn names(keys: &[&LogKey]) -> Vec<String> {
    keys.iter().map(|key| key.workflow.to_string()).collect()
}

async fn due_cards_come_in_the_order_of_their_alarms_up_to_the_asked_one(bench: Bench) {
    let journal = bench.journal();
    let [a, b, c, d] = neighbours(4).try_into().expect("four");
    // Ticks of different lengths as text: the order is that of numbers.
    for (key, at) in [(&a, 100), (&b, 99), (&c, 9), (&d, 1_000)] {
        journal.open_card(key, Tick(at)).await.expect("an answer");
    }
    assert_eq!(due(&journal, 1_000, 4).await, names(&[&c, &b, &a, &d]));
    assert_eq!(due(&journal, 100, 3).await, names(&[&c, &b, &a]));
    assert_eq!(due(&journal, 98, 1).await, names(&[&c]));
    assert_eq!(due(&journal, 8, 0).await, Vec::<String>::new());
    let other = journal.due_cards(1, Tick(1_000), None).await.expect("an answer");
    assert!(other.items.is_empty(), "another shard");
}

async fn pages_of_an_index_go_on_from_their_key_among_equal_alarms(bench: Bench) {
    let journal = bench.journal();
    let all = neighbours(10);
    for key in &all {
        journal.open_card(key, Tick(50)).await.expect("an answer");
    }
    due(&journal, 50, 10).await;
    let mut found = Vec::new();
    let mut start: Option<HashMap<String, AttributeValue>> = None;
    for _ in 0..3 {
        let page = shard_query(&bench).limit(3).set_exclusive_start_key(start.take());
        let page = page.send().await.expect("an answer");
        assert_eq!(page.items().len(), 3);
        found.extend(page.items().iter().map(|item| text(item, "pk")));
        start = page.last_evaluated_key;
        let key: BTreeSet<&str> = start.iter().flatten().map(|(name, _)| name.as_str()).collect();
        let both = BTreeSet::from(["pk", "sk", "alarm_shard", "alarm_at"]);
        assert_eq!(key, both, "a full page has a key: that of the table and that of the index");
    }
    let last = journal.due_cards(0, Tick(50), start).await.expect("an answer");
    assert_eq!((last.items.len(), last.next), (1, None), "the journal goes on from the same key");
    found.extend(last.items.iter().map(|due| keys::partition(&due.namespace, &due.workflow)));
    let found: BTreeSet<String> = found.into_iter().collect();
    assert_eq!(found, all.iter().map(LogKey::partition).collect(), "each once");
}

fn shard_query(bench: &Bench) -> aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder {
    bench
        .client()
        .query()
        .table_name(&bench.table)
        .index_name("alarms")
        .key_condition_expression("alarm_shard = :shard")
        .expression_attribute_values(":shard", AttributeValue::N("0".into()))
}

fn text(item: &HashMap<String, AttributeValue>, name: &str) -> String {
    item[name].as_s().expect("text").clone()
}

async fn a_card_without_an_alarm_is_in_no_alarm_index(bench: Bench) {
    let journal = bench.journal();
    let [a, b, c] = neighbours(3).try_into().expect("three");
    for key in [&a, &b, &c] {
        journal.open_card(key, Tick(50)).await.expect("an answer");
    }
    due(&journal, 50, 3).await;
    assert_eq!(journal.move_alarm(&a, None, 0).await, Ok(true));
    assert_eq!(journal.show(&b, &look("completed", 3), Some(0)).await, Ok(true));
    assert_eq!(due(&journal, 50, 1).await, names(&[&c]));
    journal.lower_alarm(&a, Tick(10)).await.expect("an answer");
    assert_eq!(due(&journal, 50, 2).await, names(&[&a, &c]), "it is back");
}

async fn page_of(journal: &Journal, status: &str, limit: usize) -> Vec<Listed> {
    let query = ListQuery {
        namespace: key("w").namespace,
        statuses: vec![status.into()],
        limit,
        ..ListQuery::default()
    };
    list::list(journal, &query).await.expect("an answer").value.items
}

async fn listed(journal: &Journal, status: &str, count: usize) -> Vec<String> {
    for _ in 0..50 {
        let page = page_of(journal, status, 100).await;
        if page.len() == count {
            return page.iter().map(|listed| listed.workflow.to_string()).collect();
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the list of {status} never shows {count}");
}

async fn a_card_moves_from_list_to_list_with_its_status(bench: Bench) {
    let journal = bench.journal();
    let all: Vec<LogKey> = (0..12).map(|n| key(&format!("w-{n:02}"))).collect();
    for (key, n) in all.iter().zip(0..) {
        journal.open_card(key, Tick(50)).await.expect("an answer");
        let mut look = look("running", 1);
        look.started_at = STARTED.plus_ms(n * 1_000);
        assert_eq!(journal.show(key, &look, None).await, Ok(true));
    }
    let newest_first: Vec<&LogKey> = all.iter().rev().collect();
    assert_eq!(listed(&journal, "running", 12).await, names(&newest_first));
    let three = page_of(&journal, "running", 3).await;
    let three: Vec<String> = three.iter().map(|l| l.workflow.to_string()).collect();
    assert_eq!(three, names(&newest_first[..3]));
    assert_eq!(journal.show(&all[4], &look("completed", 2), Some(0)).await, Ok(true));
    assert_eq!(listed(&journal, "running", 11).await.len(), 11);
    assert_eq!(listed(&journal, "completed", 1).await, names(&[&all[4]]));
}

async fn labels_come_and_go_with_the_card_and_stand_in_its_list(bench: Bench) {
    let journal = bench.journal();
    let one = key("w");
    journal.open_card(&one, Tick(50)).await.expect("an answer");
    let attributes = [
        ("customer", labels::AttributeValue::Text("Ada \"the\" first, é".into())),
        ("amount", labels::AttributeValue::Number(i64::MIN)),
        ("rush", labels::AttributeValue::Flag(true)),
    ];
    let named = |(name, value): (&str, labels::AttributeValue)| {
        (AttributeName::new(name).expect("a name"), value)
    };
    let labels = Labels {
        display_name: Some("An order".into()),
        parent: Some(key("parent").workflow),
        attributes: attributes.into_iter().map(named).collect(),
    };
    let with = |as_of, labels: &Labels| CardLook {
        labels: labels.clone(),
        updated_at: STARTED.plus_ms(as_of),
        ..look("running", as_of)
    };
    assert_eq!(journal.show(&one, &with(1, &labels), None).await, Ok(true));
    listed(&journal, "running", 1).await;
    let page = page_of(&journal, "running", 1).await;
    assert_eq!(page[0].display_name, labels.display_name);
    assert_eq!(page[0].parent, labels.parent);
    assert_eq!(page[0].attributes, labels.attributes);
    assert_eq!(page[0].updated_at, STARTED.plus_ms(1));
    // A reopened one has no end any more, and what was taken away is gone.
    let closed = CardLook { status: "failed", closed_at: Some(STARTED), ..with(2, &labels) };
    assert_eq!(journal.show(&one, &closed, Some(0)).await, Ok(true));
    assert_eq!(listed(&journal, "failed", 1).await.len(), 1);
    assert_eq!(journal.show(&one, &with(3, &Labels::default()), None).await, Ok(true));
    listed(&journal, "running", 1).await;
    let page = page_of(&journal, "running", 1).await;
    let bare = (&page[0].display_name, &page[0].parent, page[0].closed_at);
    assert_eq!(bare, (&None, &None, None));
    assert!(page[0].attributes.is_empty());
}

async fn an_index_holds_what_it_was_told_to_and_no_more(bench: Bench) {
    let journal = bench.journal();
    let [one] = neighbours(1).try_into().expect("one");
    journal.open_card(&one, Tick(50)).await.expect("an answer");
    journal.show(&one, &look("running", 1), None).await.expect("an answer");
    due(&journal, 50, 1).await;
    listed(&journal, "running", 1).await;
    let names =
        |item: &HashMap<String, AttributeValue>| item.keys().cloned().collect::<BTreeSet<String>>();
    let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<String>>();
    let alarms = shard_query(&bench).send().await.expect("an answer");
    assert_eq!(names(&alarms.items()[0]), set(&["pk", "sk", "alarm_shard", "alarm_at"]));
    let lists = bench.client().scan().table_name(&bench.table).index_name("lists");
    let lists = lists.send().await.expect("an answer");
    let shown =
        ["pk", "sk", "list_key", "list_at", "status", "workflow_type", "started_at", "updated_at"];
    assert_eq!(names(&lists.items()[0]), set(&shown));
}

async fn an_index_can_not_be_read_consistently(bench: Bench) {
    let read = shard_query(&bench).consistent_read(true).send().await;
    bench.seen.fact(&CONSISTENT, outcome(read));
}
