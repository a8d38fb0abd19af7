//! The event store as a library: appends, conflicts, reads, timers, races.

use everlog::command::{Append, Close, ContinueAsNew, NewEvent, Reopen, Start, TimerChange};
use everlog::event::Ending;
use everlog::id::{CommandId, Kind, Namespace, TimerId, WorkflowId};
use everlog::journal::Purpose;
use everlog::query::list::{self, ListQuery};
use everlog::store::{self, Address, ArmedTimer, Reader, Recorder, WriteError};
use everlog_testing::World;
use everlog_testing::world::EPOCH;
use serde_json::json;

const ROUNDS: u64 = 200;

async fn open(world: &World) -> (Reader, Recorder) {
    store::open(world.instance(world.direct()).await)
}

fn at(workflow: &str) -> Address {
    Address::new(Namespace::default(), WorkflowId::new(workflow).expect("an id"))
}

fn id(text: impl Into<String>) -> CommandId {
    CommandId::new(text).expect("an id")
}

fn append(expected_seq: u64, kinds: &[&str]) -> Append {
    let event = |kind: &&str| NewEvent { kind: Kind::new(*kind).expect("an id"), payload: None };
    serde_json::from_value(json!({ "expected_seq": expected_seq }))
        .map(|bare: Append| Append { events: kinds.iter().map(event).collect(), ..bare })
        .expect("an append")
}

fn timer(name: &str, change: serde_json::Value) -> TimerChange {
    let mut all = change;
    all["timer"] = TimerId::new(name).expect("an id").as_str().into();
    serde_json::from_value(all).expect("a change")
}

#[tokio::test(start_paused = true)]
async fn an_append_is_stored_whole_or_not_at_all() {
    let world = World::new().await;
    let (reader, recorder) = open(&world).await;
    let of = at("w");
    assert_eq!(reader.history(&of).await.expect("a read"), [], "unknown is empty, no error");
    assert!(reader.summary(&of).await.expect("a read").is_none());
    recorder.start(id("s"), &of, Start::default()).await.expect("a start");
    let stored = recorder.append(id("a"), &of, append(1, &["x", "y"])).await.expect("stored");
    assert_eq!((stored.head, stored.unchanged), (3, false));
    let again = recorder.append(id("a"), &of, append(1, &["x", "y"])).await.expect("a repeat");
    assert!(again.unchanged, "the same append again is no news");
    let late = recorder.append(id("b"), &of, append(1, &["z"])).await;
    let Err(WriteError::SequenceConflict { expected, found, events }) = late else {
        panic!("{late:?}")
    };
    assert_eq!((expected, found), (1, 3));
    assert_eq!(events.iter().map(|e| e.seq).collect::<Vec<_>>(), [2, 3], "what came in between");
    let early = recorder.append(id("c"), &of, append(9, &["z"])).await;
    assert!(matches!(early, Err(WriteError::SequenceConflict { found: 3, .. })), "{early:?}");
    assert_eq!(reader.history(&of).await.expect("a read").len(), 3);
    let head = recorder.append(id("d"), &of, append(3, &[])).await.expect("the head is right");
    assert!(head.unchanged, "an empty append only checks");
}

#[tokio::test(start_paused = true)]
async fn sixteen_appenders_at_one_head_have_one_winner_and_fifteen_conflicts_with_its_head() {
    let world = World::new().await;
    let (_, recorder) = open(&world).await;
    let of = at("w");
    recorder.start(id("s"), &of, Start::default()).await.expect("a start");
    let mut racers = Vec::new();
    for _ in 0..16 {
        racers.push(open(&world).await.1);
    }
    for round in 0..ROUNDS {
        let head = round + 1;
        let race = racers.iter().enumerate().map(|(n, recorder)| {
            recorder.append(id(format!("r-{round}-{n}")), &of, append(head, &["x"]))
        });
        let ended = futures::future::join_all(race).await;
        let won = ended.iter().filter(|ended| ended.is_ok()).count();
        assert_eq!(won, 1, "round {round}: {ended:?}");
        for lost in ended.iter().filter_map(|ended| ended.as_ref().err()) {
            let WriteError::SequenceConflict { expected, found, events } = lost else {
                panic!("round {round}: never another class of error: {lost:?}")
            };
            assert_eq!((*expected, *found, events.len()), (head, head + 1, 1), "round {round}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn sixteen_creators_of_one_workflow_have_one_winner() {
    let world = World::new().await;
    let mut racers = Vec::new();
    for _ in 0..16 {
        racers.push(open(&world).await.1);
    }
    for round in 0..20 {
        let of = at(&format!("w-{round}"));
        let race = racers.iter().enumerate().map(|(n, recorder)| {
            recorder.start(id(format!("s-{round}-{n}")), &of, Start::default())
        });
        let ended = futures::future::join_all(race).await;
        assert_eq!(ended.iter().filter(|ended| ended.is_ok()).count(), 1, "{ended:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn labels_stand_in_summary_and_list_and_a_reopened_run_has_no_end_in_either() {
    let world = World::new().await;
    let (reader, recorder) = open(&world).await;
    let of = at("w");
    let labels = json!({ "display_name": "An order", "parent": "p", "attributes": { "a": 1 } });
    let start: Start = serde_json::from_value(labels).expect("a start");
    recorder.start(id("s"), &of, start).await.expect("a start");
    let change: Append = serde_json::from_value(json!({
        "expected_seq": 1, "attributes": { "a": null, "b": "x" },
    }))
    .expect("an append");
    tokio::time::sleep(std::time::Duration::from_millis(70)).await;
    recorder.append(id("a"), &of, change.clone()).await.expect("changed");
    let again = recorder.append(id("a"), &of, change).await.expect("its repeat");
    assert!(again.unchanged && again.head == 2);
    let close = Some(Close { ending: Ending::Failed, result: None });
    recorder.append(id("c"), &of, Append { close, ..append(2, &[]) }).await.expect("closed");
    recorder.reopen(id("r"), &of, Reopen::default()).await.expect("reopened");
    let summary = reader.summary(&of).await.expect("a read").expect("it is known");
    let page = list::list(reader.journal(), &ListQuery::default()).await.expect("a list").value;
    let [listed] = &page.items[..] else { panic!("{page:?}") };
    assert_eq!(summary.labels.display_name.as_deref(), Some("An order"));
    assert_eq!(listed.display_name, summary.labels.display_name);
    assert_eq!(listed.parent, summary.labels.parent);
    assert_eq!(json!(listed.attributes), json!({ "b": "x" }));
    assert_eq!(listed.attributes, summary.labels.attributes);
    assert_eq!((listed.status.as_str(), listed.closed_at), ("running", None));
    assert_eq!(listed.updated_at, summary.updated_at);
    assert!(listed.updated_at > listed.started_at);
    // What no list shows is not written to the card: only an exact read has it.
    tokio::time::sleep(std::time::Duration::from_millis(70)).await;
    recorder.append(id("e"), &of, append(4, &["k"])).await.expect("appended");
    let exact = list::exactly(reader.journal(), &ListQuery::default(), &page).await;
    let exact = exact.expect("folded");
    assert!(exact[0].updated_at > listed.updated_at);
    let page = list::list(reader.journal(), &ListQuery::default()).await.expect("a list").value;
    assert_eq!(page.items[0].updated_at, listed.updated_at);
}

#[tokio::test(start_paused = true)]
async fn a_summary_says_what_the_log_says_of_its_last_lease_of_life() {
    let world = World::new().await;
    let (reader, recorder) = open(&world).await;
    let of = at("w");
    let kind = Start { workflow_type: Some("poll".parse().expect("an id")), ..Start::default() };
    recorder.start(id("s"), &of, kind).await.expect("a start");
    let next =
        Append { continue_as_new: Some(Box::new(ContinueAsNew::default())), ..append(1, &[]) };
    recorder.append(id("n"), &of, next).await.expect("continued");
    let why = everlog::payload::Payload::json(&json!("the card was declined")).expect("it fits");
    let close = Some(Close { ending: Ending::Failed, result: Some(why.clone()) });
    recorder.append(id("c"), &of, Append { close, ..append(3, &[]) }).await.expect("closed");
    let closed = reader.summary(&of).await.expect("a read").expect("it is known");
    assert_eq!((closed.status, closed.run, closed.head), ("failed", 2, 4));
    assert_eq!(closed.ended.map(|(_, ending)| ending), Some(Ending::Failed));
    assert_eq!(closed.failure, Some(why.clone()));
    assert_eq!(closed.workflow_type.as_ref().map(|t| t.as_str()), Some("poll"));
    recorder.reopen(id("r"), &of, Reopen::default()).await.expect("reopened");
    let open = reader.summary(&of).await.expect("a read").expect("it is known");
    assert_eq!((open.status, open.ended, open.head), ("running", None, 5));
    assert_eq!(open.failure, None, "it has not failed any more");
    let close = Some(Close { ending: Ending::Completed, result: Some(why) });
    recorder.append(id("d"), &of, Append { close, ..append(5, &[]) }).await.expect("closed");
    let completed = reader.summary(&of).await.expect("a read").expect("it is known");
    assert_eq!((completed.status, completed.failure), ("completed", None));
    let runs = reader.runs(&of, None, 10).await.expect("a chain").runs;
    assert_eq!(runs.iter().map(|run| run.run).collect::<Vec<_>>(), [2, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_timer_is_retired_by_its_exact_arming_and_a_newer_one_is_left_alone() {
    let world = World::new().await;
    let (reader, recorder) = open(&world).await;
    let of = at("w");
    recorder.start(id("s"), &of, Start::default()).await.expect("a start");
    let (soon, later) = (EPOCH.0 + 1_000_000, EPOCH.0 + 2_000_000);
    let arm = |at: u64| vec![timer("t", json!({ "fire_at": at }))];
    let retire = |at: u64, start_seq: u64| {
        vec![timer("t", json!({ "arming": { "fire_at": at, "start_seq": start_seq } }))]
    };
    let change = async |n: u64, head: u64, timers| {
        let append = Append { timers, ..append(head, &[]) };
        recorder.append(id(format!("t-{n}")), &of, append).await.expect("an answer")
    };
    change(1, 1, arm(soon)).await;
    change(2, 2, arm(later)).await;
    assert!(change(3, 3, retire(soon, 1)).await.unchanged, "a newer arming is left alone");
    let armed = reader.timers(&of, None).await.expect("a read");
    let wanted = ArmedTimer {
        timer: TimerId::new("t").expect("an id"),
        fire_at: everlog::time::Timestamp(later),
        start_seq: 1,
    };
    assert_eq!(armed, [wanted]);
    let due = |at| reader.timers(&of, Some(everlog::time::Timestamp(at)));
    assert_eq!(due(later - 1).await.expect("a read"), []);
    assert_eq!(due(later).await.expect("a read").len(), 1, "the instant itself is due");
    assert!(!change(4, 3, retire(later, 1)).await.unchanged);
    assert!(change(5, 4, retire(later, 1)).await.unchanged, "absent is a success");
    let again = Append {
        continue_as_new: Some(Box::new(ContinueAsNew::default())),
        timers: arm(later),
        ..append(4, &[])
    };
    recorder.append(id("n"), &of, again).await.expect("continued");
    assert!(change(6, 7, retire(later, 1)).await.unchanged, "the same instant in another run");
    assert!(!change(7, 7, retire(later, 6)).await.unchanged);
}

#[tokio::test(start_paused = true)]
async fn rearming_against_retiring_leaves_the_newer_arming_whoever_wins() {
    let world = World::new().await;
    let (reader, one) = open(&world).await;
    let (_, two) = open(&world).await;
    let of = at("w");
    one.start(id("s"), &of, Start::default()).await.expect("a start");
    let mut head = 1;
    for round in 0..ROUNDS {
        let (old, new) = (EPOCH.0 + 10_000_000 + round, EPOCH.0 + 20_000_000 + round);
        let arm = |at: u64| vec![timer("t", json!({ "fire_at": at }))];
        let armed = Append { timers: arm(old), ..append(head, &[]) };
        head = one.append(id(format!("a-{round}")), &of, armed).await.expect("armed").head;
        let arming = json!({ "arming": { "fire_at": old, "start_seq": 1 } });
        let retire = Append { timers: vec![timer("t", arming)], ..append(head, &[]) };
        let rearm = Append { timers: arm(new), ..append(head, &[]) };
        let (retired, rearmed) = tokio::join!(
            one.append(id(format!("b-{round}")), &of, retire.clone()),
            two.append(id(format!("c-{round}")), &of, rearm.clone()),
        );
        // Whoever lost decides anew, at the head that it was told.
        let found = |ended: &Result<store::Recorded, WriteError>| match ended {
            Err(WriteError::SequenceConflict { found, .. }) => Some(*found),
            Ok(_) => None,
            Err(other) => panic!("round {round}: {other}"),
        };
        if let Some(expected_seq) = found(&retired) {
            let retire = Append { expected_seq, ..retire };
            one.append(id(format!("d-{round}")), &of, retire).await.expect("a newer one stays");
        }
        if let Some(expected_seq) = found(&rearmed) {
            let rearm = Append { expected_seq, ..rearm };
            two.append(id(format!("e-{round}")), &of, rearm).await.expect("armed again");
        }
        let timers = reader.timers(&of, None).await.expect("a read");
        assert_eq!(timers.iter().map(|t| t.fire_at.0).collect::<Vec<_>>(), [new], "round {round}");
        head = reader.summary(&of).await.expect("a read").expect("it is known").head;
    }
}

#[tokio::test(start_paused = true)]
async fn an_append_by_the_library_costs_one_write_unit_and_no_read() {
    let world = World::new().await;
    let (reader, recorder) = open(&world).await;
    let of = at("w");
    recorder.start(id("s"), &of, Start::default()).await.expect("a start");
    let meter = reader.journal().meter();
    let units = || Purpose::ALL.map(|purpose| meter.of(purpose).units);
    let before = units();
    for n in 1..=10 {
        recorder.append(id(format!("a-{n}")), &of, append(n, &["x"])).await.expect("stored");
    }
    let spent: Vec<_> = Purpose::ALL
        .into_iter()
        .zip(units().into_iter().zip(before).map(|(after, before)| after - before))
        .filter(|(purpose, units)| *units > 0.0 && *purpose != Purpose::Checkpoint)
        .collect();
    assert_eq!(spent, [(Purpose::Commit, 10.0)]);
}

/// The method that a reader lacks, resolved as the compiler would: a trait's
/// blanket method is taken only where the type has none of its own.
#[test]
fn a_reader_has_no_way_to_write() {
    trait NoneOfItsOwn {
        fn append(&self) -> bool {
            true
        }
        fn record(&self) -> bool {
            true
        }
    }
    impl NoneOfItsOwn for Reader {}
    fn lacks(reader: &Reader) -> bool {
        // Neither would compile if `Reader` had a method of that name: it would
        // be found first, and takes arguments.
        reader.append() && reader.record()
    }
    let _: fn(&Reader) -> bool = lacks;
}
