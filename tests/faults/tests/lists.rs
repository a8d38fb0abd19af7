//! Lists: conditions, orders, pages, counts. `list_reads` has what they cost.

use everlog::id::{AttributeName, Namespace, WorkflowId, WorkflowType};
use everlog::journal::{Journal, Listed};
use everlog::labels::{AttributeValue, Labels};
use everlog::query::list::{
    self, Count, ListPage, ListQuery, PAGE_MAX, QueryError, STATUSES, Sort,
};
use everlog::time::Timestamp;
use everlog_testing::cards::{BEGAN, Made, made, make};
use everlog_testing::{Rng, World};

async fn ids(journal: &Journal, query: &ListQuery) -> Vec<String> {
    names(&page(journal, query).await.items)
}

async fn page(journal: &Journal, query: &ListQuery) -> ListPage {
    list::list(journal, query).await.expect("a list").value
}

fn names(items: &[Listed]) -> Vec<String> {
    items.iter().map(|listed| listed.workflow.to_string()).collect()
}

/// All pages of a query, by its cursors.
async fn all(journal: &Journal, query: &ListQuery) -> Vec<String> {
    let (mut found, mut query) = (Vec::new(), query.clone());
    loop {
        let page = page(journal, &query).await;
        assert!(page.items.len() <= query.limit);
        found.extend(names(&page.items));
        query.after = page.next;
        if query.after.is_none() {
            return found;
        }
    }
}

/// 60 workflows of all statuses, three types and few instants, so that there are ties.
fn many() -> Vec<Made> {
    let mut rng = Rng::new(5);
    (0..60)
        .map(|n| {
            let status = *rng.pick_of(&STATUSES);
            let ended = (!["running", "paused", "cancelling"].contains(&status))
                .then(|| 100 + rng.below(5));
            let kind = *rng.pick_of(&["order", "poll", "zip"]);
            let id = format!("w-{:02}", (n * 37) % 60);
            let labels = Labels {
                display_name: rng.percent(70).then(|| {
                    format!("{} of {}", rng.pick_of(&["Order", "poll~é", "order"]), rng.below(9))
                }),
                parent: rng.percent(50).then(|| id_of("w-", rng.below(3))),
                attributes: [("a", rng.below(3)), ("b", rng.below(2))]
                    .into_iter()
                    .filter(|(_, value)| *value > 0)
                    .map(|(name, value)| attribute(name, value))
                    .collect(),
            };
            let updated = rng.below(20);
            Made { kind, ended, updated, labels, ..made(id, status, rng.below(12)) }
        })
        .collect()
}

fn id_of(prefix: &str, n: u64) -> WorkflowId {
    WorkflowId::new(format!("{prefix}{n}")).expect("an id")
}

fn attribute(name: &str, value: u64) -> (AttributeName, AttributeValue) {
    let number = i64::try_from(value).expect("small");
    (AttributeName::new(name).expect("a name"), AttributeValue::Number(number))
}

trait Pick {
    fn pick_of<'a, T>(&mut self, items: &'a [T]) -> &'a T;
}

impl Pick for Rng {
    fn pick_of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[usize::try_from(self.below(items.len() as u64)).expect("small")]
    }
}

#[tokio::test(start_paused = true)]
async fn every_sort_in_both_directions_has_its_ties_by_id_ascending_on_one_page_and_on_many() {
    let world = World::new().await;
    let journal = world.observer.journal();
    let all_made = many();
    for made in &all_made {
        make(journal, made).await;
    }
    let sorts =
        [Sort::Started, Sort::Updated, Sort::Ended, Sort::Name, Sort::Type, Sort::Status, Sort::Id];
    for sort in sorts {
        for descending in [false, true] {
            let key = |made: &Made| match sort {
                Sort::Started => format!("{:014}", made.started),
                Sort::Updated => format!("{:014}", made.updated),
                Sort::Name => made.labels.display_name.clone().unwrap_or_default(),
                Sort::Ended => made.ended.map(|at| format!("{at:014}")).unwrap_or_default(),
                Sort::Type => made.kind.to_owned(),
                Sort::Status => made.status.to_owned(),
                Sort::Id => made.id.clone(),
            };
            let mut wanted: Vec<&Made> = all_made.iter().collect();
            wanted.sort_by(|a, b| {
                let keys = key(a).cmp(&key(b));
                let keys = if descending { keys.reverse() } else { keys };
                keys.then_with(|| a.id.cmp(&b.id))
            });
            let wanted: Vec<String> = wanted.iter().map(|made| made.id.clone()).collect();
            for limit in [1_000, 7, 1] {
                let query = ListQuery { sort, descending, limit, ..ListQuery::default() };
                assert_eq!(all(journal, &query).await, wanted, "{sort:?} {descending} {limit}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn all_conditions_hold_together_and_before_the_limit() {
    let world = World::new().await;
    let journal = world.observer.journal();
    let all_made = many();
    for made in &all_made {
        make(journal, made).await;
    }
    let mut rng = Rng::new(6);
    for _ in 0..200 {
        let query = ListQuery {
            statuses: match rng.below(3) {
                0 => Vec::new(),
                n => (0..n).map(|_| (*rng.pick_of(&STATUSES)).to_owned()).collect(),
            },
            workflow_type: rng.percent(50).then(|| WorkflowType::new("poll").expect("an id")),
            started_from: rng.percent(50).then(|| Timestamp(BEGAN + rng.below(12))),
            started_to: rng.percent(50).then(|| Timestamp(BEGAN + rng.below(12))),
            id_prefix: rng.percent(50).then(|| format!("w-{}", rng.below(6))),
            updated_from: rng.percent(30).then(|| Timestamp(BEGAN + rng.below(20))),
            updated_to: rng.percent(30).then(|| Timestamp(BEGAN + rng.below(20))),
            text: rng.percent(30).then(|| (*rng.pick_of(&["order", "of 1", "w-1", "é"])).into()),
            parent: rng.percent(30).then(|| id_of("w-", rng.below(3))),
            attributes: [("a", 1 + rng.below(2)), ("b", 1)]
                .into_iter()
                .filter(|_| rng.percent(25))
                .map(|(name, value)| attribute(name, value))
                .collect(),
            sort: if rng.percent(50) { Sort::Started } else { Sort::Id },
            limit: usize::try_from(1 + rng.below(20)).expect("small"),
            ..ListQuery::default()
        };
        let keeps = |made: &&Made| {
            let started = Timestamp(BEGAN + made.started);
            (query.statuses.is_empty() || query.statuses.iter().any(|s| s == made.status))
                && query.workflow_type.as_ref().is_none_or(|t| t.as_str() == made.kind)
                && query.started_from.is_none_or(|from| started >= from)
                && query.started_to.is_none_or(|to| started <= to)
                && query.id_prefix.as_ref().is_none_or(|prefix| made.id.starts_with(prefix))
                && query.updated_from.is_none_or(|from| Timestamp(BEGAN + made.updated) >= from)
                && query.updated_to.is_none_or(|to| Timestamp(BEGAN + made.updated) <= to)
                && query.parent.as_ref().is_none_or(|p| made.labels.parent.as_ref() == Some(p))
                && query.text.as_ref().is_none_or(|text| {
                    let name = made.labels.display_name.as_ref();
                    name.is_some_and(|name| name.contains(text)) || made.id.starts_with(text)
                })
                && query.attributes.iter().all(|(n, v)| made.labels.attributes.get(n) == Some(v))
        };
        let mut wanted: Vec<String> =
            all_made.iter().filter(keeps).map(|made| made.id.clone()).collect();
        let mut found = all(journal, &query).await;
        wanted.sort();
        found.sort();
        assert_eq!(found, wanted, "{query:?}");
        let count = list::count(journal, &query).await.expect("a count").value;
        assert_eq!(count, Count::Exactly(wanted.len()), "whatever the limit says");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_are_stable_while_workflows_are_added() {
    for descending in [false, true] {
        let world = World::new().await;
        let journal = world.observer.journal();
        for n in 0..40 {
            make(journal, &made(format!("w-{n:02}"), "running", n / 4)).await;
        }
        let mut query = ListQuery { limit: 6, descending, ..ListQuery::default() };
        let (mut found, mut added) = (Vec::new(), 0);
        loop {
            let page = page(journal, &query).await;
            found.extend(names(&page.items));
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
            // Before, at and behind the place of the cursor.
            for started in 0..10 {
                added += 1;
                make(journal, &made(format!("x-{added:03}"), "running", started)).await;
            }
        }
        let mut old: Vec<&String> = found.iter().filter(|id| id.starts_with("w-")).collect();
        let count = old.len();
        old.sort();
        old.dedup();
        assert_eq!((count, old.len()), (40, 40), "each once, descending: {descending}");
        let mut unique = found.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), found.len(), "no new one twice either");
    }
}

fn invalid<T: std::fmt::Debug>(answer: Result<T, QueryError>) -> (String, String) {
    match answer {
        Err(QueryError::InvalidQuery(invalid)) => (invalid.field, invalid.value),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_cursor_of_another_query_garbage_and_a_limit_of_0_are_invalid_queries() {
    let world = World::new().await;
    let journal = world.observer.journal();
    for n in 0..5 {
        make(journal, &made(format!("w-{n}"), "running", n)).await;
    }
    let query = ListQuery { limit: 2, ..ListQuery::default() };
    let next = page(journal, &query).await.next;
    assert!(next.is_some());
    let larger = ListQuery { limit: 3, after: next.clone(), ..query.clone() };
    assert_eq!(ids(journal, &larger).await, ["w-2", "w-1", "w-0"], "only the limit may differ");
    let others = [
        ListQuery { namespace: Namespace::new("other").expect("an id"), ..query.clone() },
        ListQuery { statuses: vec!["running".into()], ..query.clone() },
        ListQuery { workflow_type: Some(WorkflowType::new("t").expect("an id")), ..query.clone() },
        ListQuery { started_from: Some(Timestamp(1)), ..query.clone() },
        ListQuery { started_to: Some(Timestamp(1)), ..query.clone() },
        ListQuery { id_prefix: Some("w".into()), ..query.clone() },
        ListQuery { updated_from: Some(Timestamp(1)), ..query.clone() },
        ListQuery { updated_to: Some(Timestamp(1)), ..query.clone() },
        ListQuery { text: Some("w".into()), ..query.clone() },
        ListQuery { parent: Some(id_of("w-", 1)), ..query.clone() },
        ListQuery { attributes: [attribute("a", 1)].into(), ..query.clone() },
        ListQuery { sort: Sort::Id, ..query.clone() },
        ListQuery { descending: false, ..query.clone() },
    ];
    for other in others {
        let other = ListQuery { after: next.clone(), ..other };
        let (field, value) = invalid(list::list(journal, &other).await);
        assert_eq!((field.as_str(), value.as_str()), ("after", "one of another query"));
    }
    let cursor = next.expect("a cursor");
    let (hash, _) = cursor.split_once('~').expect("parts");
    let garbage = [
        "".to_owned(),
        "garbage".into(),
        "~~".into(),
        format!("{hash}~x~w-1"),
        format!("{hash}~00000000000001~"),
        format!("{hash}~00000000000001~a#b"),
        format!("{cursor}~more"),
    ];
    for text in garbage {
        let query = ListQuery { after: Some(text.clone()), ..query.clone() };
        let (field, _) = invalid(list::list(journal, &query).await);
        assert_eq!(field, "after", "{text}");
    }
    for limit in [0, PAGE_MAX + 1] {
        let (field, value) =
            invalid(list::list(journal, &ListQuery { limit, ..query.clone() }).await);
        assert_eq!((field, value), ("limit".into(), limit.to_string()));
    }
    let unknown = ListQuery { statuses: vec!["starting".into()], ..query.clone() };
    assert_eq!(invalid(list::count(journal, &unknown).await).0, "statuses");
}

#[tokio::test(start_paused = true)]
async fn namespaces_never_leak_into_each_other() {
    let world = World::new().await;
    let journal = world.observer.journal();
    // Each a prefix of another, and of what the index makes of it.
    let namespaces = ["a", "a-b", "a/running", "a:0", "default"];
    for namespace in namespaces {
        for status in ["running", "paused"] {
            let id = format!("{}-{status}", namespace.replace(['/', ':'], "."));
            make(journal, &Made { namespace, ..made(id, status, 1) }).await;
        }
    }
    for namespace in namespaces {
        for (sort, statuses) in [
            (Sort::Started, vec![]),
            (Sort::Id, vec![]),
            (Sort::Started, vec!["running".to_owned()]),
        ] {
            let query = ListQuery {
                namespace: Namespace::new(namespace).expect("an id"),
                statuses: statuses.clone(),
                sort,
                ..ListQuery::default()
            };
            let items = page(journal, &query).await.items;
            assert_eq!(items.len(), if statuses.is_empty() { 2 } else { 1 }, "{namespace}");
            assert!(items.iter().all(|listed| listed.namespace.as_str() == namespace));
        }
    }
}
