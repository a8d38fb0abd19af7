//! The chain of runs, and ranges of a history, read back from a table.

use everlog::answer::Reply;
use everlog::fleet::{Fleet, Function};
use everlog::journal::{JournalError, Loaded, LogKey, Purpose};
use everlog::query::{self, EventPage, HistoryEvent};
use everlog_testing::world::command;
use everlog_testing::{Rng, World};
use serde_json::{Value, json};

async fn ask(fleet: &Fleet, id: &str, verb: &str, content: Value) -> Reply {
    let body = command(id, "w", verb, content).to_string();
    fleet.direct(Function::Append, &body).await.expect("an answer").reply
}

/// A driven workflow with `runs` runs of `events` events each, beside its starts.
async fn chain(world: &World, runs: u64, events: u64) -> (LogKey, Loaded) {
    let fleet = world.instance(world.direct()).await;
    assert_eq!(ask(&fleet, "c-0", "start", json!({ "type": "poll" })).await, Reply::Committed);
    let mut head = 1;
    for run in 1..=runs {
        for _ in 0..events {
            let append = json!({ "expected_seq": head, "events": [{ "kind": "x" }] });
            let id = format!("c-{head}");
            assert_eq!(ask(&fleet, &id, "append", append).await, Reply::Committed);
            head += 1;
        }
        if run < runs {
            let next = json!({ "expected_seq": head, "continue_as_new": { "input": run } });
            let id = format!("c-{head}");
            assert_eq!(ask(&fleet, &id, "append", next).await, Reply::Committed);
            head += 2;
        }
    }
    world.load("w").await
}

#[tokio::test(start_paused = true)]
async fn a_chain_of_runs_is_read_the_latest_first_page_by_page() {
    let world = World::new().await;
    let (key, loaded) = chain(&world, 5, 2).await;
    let journal = world.observer.journal();
    let whole = query::runs(journal, &key, &loaded, None, 10).await.expect("a chain");
    let of = |runs: &[query::RunView]| {
        runs.iter().map(|r| (r.run, r.parent, r.start_seq, r.status)).collect::<Vec<_>>()
    };
    let wanted = [
        (5, Some(4), 17, "running"),
        (4, Some(3), 13, "continued_as_new"),
        (3, Some(2), 9, "continued_as_new"),
        (2, Some(1), 5, "continued_as_new"),
        (1, None, 1, "continued_as_new"),
    ];
    assert_eq!(of(&whole.runs), wanted);
    assert_eq!(whole.next, None);
    assert_eq!(whole.runs[0].closed_at, None);
    for pair in whole.runs.windows(2) {
        assert_eq!(pair[1].closed_at, Some(pair[0].started_at), "it ended as the next one began");
    }
    let (mut paged, mut from) = (Vec::new(), None);
    loop {
        let page = query::runs(journal, &key, &loaded, from, 2).await.expect("a chain");
        paged.extend(page.runs);
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    assert_eq!(paged, whole.runs);
}

#[tokio::test(start_paused = true)]
async fn a_history_without_a_start_has_no_run_and_a_broken_chain_is_damage() {
    let world = World::new().await;
    let (key, mut loaded) = chain(&world, 2, 1).await;
    let journal = world.observer.journal();
    if let Some(run) = &mut loaded.state.run {
        run.previous = Some(everlog::event::RunStart { commit: 1, seq: 2 });
    }
    let broken = query::runs(journal, &key, &loaded, None, 10).await;
    assert!(matches!(broken, Err(JournalError::Damaged(_))), "{broken:?}");
    loaded.state.run = None;
    let none = query::runs(journal, &key, &loaded, None, 10).await.expect("an answer");
    assert_eq!(none, query::RunPage::default());
}

async fn range(world: &World, key: &LogKey, loaded: &Loaded, from: u64, most: usize) -> EventPage {
    let journal = world.observer.journal();
    query::events_from(journal, key, loaded, from, most).await.expect("a range")
}

fn seqs(events: &[HistoryEvent]) -> Vec<u64> {
    events.iter().map(|event| event.seq).collect()
}

#[tokio::test(start_paused = true)]
async fn a_range_begins_anywhere_and_ends_at_the_head() {
    let world = World::new().await;
    let (key, loaded) = chain(&world, 3, 4).await;
    let head = loaded.state.head;
    let whole = range(&world, &key, &loaded, 1, 1_000).await;
    assert_eq!(seqs(&whole.events), (1..=head).collect::<Vec<_>>());
    assert_eq!(whole.next, None);
    for from in 0..=head + 2 {
        for most in [0, 1, 3, 100] {
            let page = range(&world, &key, &loaded, from, most).await;
            let first = from.max(1);
            let wanted: Vec<u64> = (first..=head).take(most).collect();
            assert_eq!(seqs(&page.events), wanted, "{most} from {from}");
            let next = wanted.last().map_or(first, |last| last + 1);
            assert_eq!(page.next, (next <= head).then_some(next), "{most} from {from}");
        }
    }
}

/// A driven workflow whose appends have as many events as `sizes` says.
async fn uneven(world: &World, sizes: impl IntoIterator<Item = u64>) -> (LogKey, Loaded) {
    let fleet = world.instance(world.direct()).await;
    assert_eq!(ask(&fleet, "c-0", "start", json!({})).await, Reply::Committed);
    let mut head = 1;
    for size in sizes {
        let events: Vec<Value> = (0..size).map(|_| json!({ "kind": "x" })).collect();
        let append = json!({ "expected_seq": head, "events": events });
        assert_eq!(ask(&fleet, &format!("c-{head}"), "append", append).await, Reply::Committed);
        head += size;
    }
    world.load("w").await
}

#[tokio::test(start_paused = true)]
async fn a_place_is_found_however_unevenly_events_are_spread() {
    let mut rng = Rng::new(3);
    let sizes: [Vec<u64>; 4] = [
        (0..120).map(|_| 1 + rng.below(30)).collect(),
        (0..120).map(|n| if n < 100 { 1 } else { 100 }).collect(),
        (0..120).map(|n| if n > 100 { 1 } else { 50 }).collect(),
        (0..120).map(|n| if n == 60 { 100 } else { 1 }).collect(),
    ];
    for sizes in sizes {
        let world = World::new().await;
        let (key, loaded) = uneven(&world, sizes.clone()).await;
        let (journal, head) = (world.observer.journal(), loaded.state.head);
        let meter = journal.meter();
        let mut most: f64 = 0.0;
        for seq in (1..=head).step_by(7).chain([head]) {
            let before = meter.of(Purpose::Search).units;
            let number = journal.number_of(&key, seq, (loaded.state.commit, head)).await;
            most = most.max(meter.of(Purpose::Search).units - before);
            let commit = journal.commit(&key, number.expect("a place")).await.expect("a commit");
            let held = commit.first_seq..commit.first_seq + commit.events.len() as u64;
            assert!(held.contains(&seq), "{seq} of {sizes:?}");
        }
        assert!(most <= 10.0, "three guesses and seven halves of 121 commits: {most}");
    }
}

/// The read units of a page of 100 from the middle.
async fn page_units(world: &World, key: &LogKey, loaded: &Loaded) -> f64 {
    let meter = world.observer.journal().meter();
    let before = meter.of(Purpose::Search).units;
    let page = range(world, key, loaded, loaded.state.head / 2, 100).await;
    assert_eq!(page.events.len(), 100);
    meter.of(Purpose::Search).units - before
}

#[tokio::test(start_paused = true)]
async fn a_page_from_the_middle_costs_what_it_returns_however_long_the_history_is() {
    let mut units = Vec::new();
    for commits in [10, 100, 1_000] {
        let world = World::new().await;
        let (key, loaded) = uneven(&world, (0..commits).map(|_| 100)).await;
        units.push(page_units(&world, &key, &loaded).await);
    }
    println!("a page of 100 from the middle of 1,000, 10,000, 100,000 events: {units:?} units");
    assert!(units.iter().all(|units_of| *units_of <= 1.2 * units[0]), "{units:?}");
    assert!(units[0] <= 6.0, "two or three reads and the page: {units:?}");
}

#[tokio::test(start_paused = true)]
async fn appends_and_conflicts_cost_the_same_at_100_000_events() {
    let mut costs = Vec::new();
    for commits in [10, 1_000] {
        let world = World::new().await;
        let (_, loaded) = uneven(&world, (0..commits).map(|_| 100)).await;
        let head = loaded.state.head;
        let fleet = world.instance(world.direct()).await;
        let append =
            |expected: u64| json!({ "expected_seq": expected, "events": [{ "kind": "x" }] });
        let units = || {
            let meter = fleet.journal().meter();
            Purpose::ALL
                .iter()
                .filter(|purpose| **purpose != Purpose::Checkpoint)
                .map(|purpose| meter.of(*purpose).units)
                .sum::<f64>()
        };
        let mut cost = Vec::new();
        for (id, expected, reply) in [
            ("cold", head, "committed"),
            ("warm", head + 1, "committed"),
            ("stale", head / 2, "rejected"),
        ] {
            let before = units();
            let answer = ask(&fleet, id, "append", append(expected)).await;
            assert_eq!(serde_json::to_value(&answer).expect("JSON")["outcome"], reply);
            cost.push(units() - before);
        }
        costs.push(cost);
    }
    println!("append cold, append warm, conflict in the middle, of 1,000 and 100,000: {costs:?}");
    for (long, short) in costs[1].iter().zip(&costs[0]) {
        assert!(*long <= 1.2 * short, "{costs:?}");
    }
}
