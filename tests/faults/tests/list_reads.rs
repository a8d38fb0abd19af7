//! What lists read: their cost, their bounds, and how each stands now.

use std::sync::Arc;
use std::time::Duration;

use everlog::fleet::Function;
use everlog::journal::{Journal, JournalError, Listed};
use everlog::query::list::{self, CARDS_MAX, Count, ListPage, ListQuery, QueryError, Sort};
use everlog::time::Timestamp;
use everlog_local::transport::{Handler, NoAnswer};
use everlog_testing::World;
use everlog_testing::cards::{BEGAN, made, make};
use everlog_testing::world::command;
use serde_json::json;

async fn page(journal: &Journal, query: &ListQuery) -> ListPage {
    list::list(journal, query).await.expect("a list").value
}

fn names(items: &[Listed]) -> Vec<String> {
    items.iter().map(|listed| listed.workflow.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_page_by_start_costs_the_same_however_many_there_are() {
    let mut units = Vec::new();
    for count in [100, 1_000, 4_000] {
        let world = World::new().await;
        let journal = world.observer.journal();
        for n in 0..count {
            make(journal, &made(format!("w-{n:05}"), "running", n)).await;
        }
        let query = ListQuery { statuses: vec!["running".into()], ..ListQuery::default() };
        let first = list::list(journal, &query).await.expect("a list");
        assert_eq!(first.value.items.len(), 50);
        assert_eq!(first.value.items[0].workflow.as_str(), format!("w-{:05}", count - 1));
        let middle = ListQuery {
            started_to: Some(Timestamp(BEGAN + count / 2)),
            limit: 40,
            ..query.clone()
        };
        let middle = list::list(journal, &middle).await.expect("a list");
        assert_eq!(middle.value.items.len(), 40);
        units.push((first.units, middle.units));
    }
    println!("units of a page of 50, first and middle, of 100, 1,000, 4,000: {units:?}");
    for (first, middle) in &units {
        assert!(*first <= 1.2 * units[0].0 && *middle <= 1.2 * units[0].1, "{units:?}");
        assert!(*first <= 6.0, "some 4 units: {units:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_query_that_reads_more_than_10_000_cards_is_too_broad_and_its_count_at_least() {
    let world = World::new().await;
    let journal = world.observer.journal();
    let broad = u64::try_from(CARDS_MAX).expect("small") + 1_200;
    for n in 0..broad {
        make(journal, &made(format!("w-{n:05}"), "running", n)).await;
    }
    let by_id = ListQuery { sort: Sort::Id, ..ListQuery::default() };
    let answer = list::list(journal, &by_id).await;
    assert!(matches!(answer, Err(QueryError::TooBroad { read }) if read > CARDS_MAX), "{answer:?}");
    let rare = ListQuery { id_prefix: Some("none".into()), ..ListQuery::default() };
    let answer = list::list(journal, &rare).await;
    assert!(matches!(answer, Err(QueryError::TooBroad { .. })), "{answer:?}");
    let count = list::count(journal, &ListQuery::default()).await.expect("a count");
    assert!(matches!(count.value, Count::AtLeast(found) if found > CARDS_MAX), "{count:?}");
    assert!(count.units < 250.0, "{count:?}");
    let narrow = ListQuery { started_to: Some(Timestamp(BEGAN + 99)), ..by_id };
    assert_eq!(page(journal, &narrow).await.items.len(), 50, "a condition on the start helps");
    let first = page(journal, &ListQuery::default()).await;
    assert_eq!(first.items.len(), 50, "sorted by start nothing is too broad");
}

#[tokio::test(start_paused = true)]
async fn the_exact_variant_says_how_each_stands_now_and_leaves_out_what_is_not_meant() {
    let world = World::new().await;
    // Card writes that show a close never arrive.
    let inner = world.direct();
    let hiding: Handler = Arc::new(move |call| {
        let body = String::from_utf8_lossy(&call.body).into_owned();
        let hidden = call.target.ends_with("UpdateItem") && body.contains("completed");
        if hidden {
            return Box::pin(async { Err(NoAnswer) });
        }
        inner(call)
    });
    let fleet = world.instance(hiding).await;
    for workflow in ["stays", "ends"] {
        let start = command(&format!("s-{workflow}"), workflow, "start", json!({}));
        fleet.direct(Function::Append, &start.to_string()).await.expect("an answer");
    }
    let close = json!({ "expected_seq": 1, "close": { "ending": "completed" } });
    let close = command("c", "ends", "append", close).to_string();
    // Its card is not shown, so it is given back; the commit is in the log.
    let _ = fleet.direct(Function::Append, &close).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let journal = world.observer.journal();
    let running = ListQuery { statuses: vec!["running".into()], ..ListQuery::default() };
    let listed = page(journal, &running).await;
    let mut shown = names(&listed.items);
    shown.sort();
    assert_eq!(shown, ["ends", "stays"], "as of the index");
    let exact = list::exactly(journal, &running, &listed).await.expect("folded");
    assert_eq!(names(&exact), ["stays"]);
    let any = list::exactly(journal, &ListQuery::default(), &listed).await.expect("folded");
    let ended = any.iter().find(|listed| listed.workflow.as_str() == "ends").expect("it is there");
    assert_eq!(ended.status, "completed");
    assert!(ended.closed_at.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_an_error_and_never_an_empty_list() {
    let world = World::new().await;
    let journal = world.observer.journal();
    make(journal, &made("w", "running", 1)).await;
    let dead: Handler = Arc::new(|_| Box::pin(async { Err(NoAnswer) }));
    let inner = world.direct();
    let failing: Handler =
        Arc::new(
            move |call| {
                if call.target.ends_with(".Query") { dead(call) } else { inner(call) }
            },
        );
    let fleet = world.instance(failing).await;
    let answer = list::list(fleet.journal(), &ListQuery::default()).await;
    assert!(matches!(answer, Err(QueryError::Journal(JournalError::Unavailable(_)))), "{answer:?}");
}
