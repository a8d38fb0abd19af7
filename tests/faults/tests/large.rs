//! 100,000 workflows in one table cost what a hundred do.

use everlog::journal::Purpose;
use everlog::query::list::{self, ListQuery};
use everlog::time::Timestamp;
use everlog_testing::World;
use everlog_testing::cards::{BEGAN, made, make, make_quiet};

/// Workflows that are due, however many there are.
const DUE: u64 = 10;

/// Read units of a page by start, at its beginning and in the middle, of a count
/// of 50 among all, and of a sweep.
async fn units_of(workflows: u64) -> [f64; 4] {
    let world = World::new().await;
    let journal = world.observer.journal();
    for n in 0..workflows {
        let made = made(format!("w-{n:06}"), "running", n);
        match n < DUE {
            true => make(journal, &made).await,
            false => make_quiet(journal, &made).await,
        }
    }
    let query = ListQuery { statuses: vec!["running".into()], ..ListQuery::default() };
    let first = list::list(journal, &query).await.expect("a list");
    assert_eq!(first.value.items.len(), 50);
    let middle = Timestamp(BEGAN + workflows / 2);
    let middle = ListQuery { started_to: Some(middle), ..query.clone() };
    let middle_page = list::list(journal, &middle).await.expect("a list");
    assert_eq!(middle_page.value.items.len(), 50);
    let from = Timestamp(BEGAN + workflows / 2 - 49);
    let few = ListQuery { started_from: Some(from), ..middle };
    let few = list::count(journal, &few).await.expect("a count");
    assert_eq!(few.value, list::Count::Exactly(50));
    let swept = journal.meter().of(Purpose::List).units;
    assert_eq!(world.observer.sweep().await.expect("a sweep") as u64, DUE);
    let swept = journal.meter().of(Purpose::List).units - swept;
    [first.units, middle_page.units, few.units, swept]
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_workflows_cost_what_a_hundred_do() {
    let (few, many) = (units_of(100).await, units_of(100_000).await);
    println!(
        "page, page in the middle, count of 50, sweep of 10: {few:?} of 100, {many:?} of 100,000"
    );
    for (many, few) in many.iter().zip(few) {
        assert!(*many <= 1.2 * few, "{many} units against {few}");
    }
}
