//! What an invocation comes to is counted where it happens, and each thing
//! under its own name: a conflict is no throttle, a throttle no outage.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use everlog::fleet::{Fleet, Function};
use everlog::telemetry::{Count, Numbers};
use everlog_local::backend::Answer;
use everlog_local::transport::{Call, Handler, NoAnswer};
use everlog_testing::World;
use everlog_testing::world::{EPOCH, command};
use serde_json::{Value, json};

/// What becomes of a request instead of being served.
type Fault = fn() -> Result<Answer, NoAnswer>;

fn no_answer() -> Result<Answer, NoAnswer> {
    Err(NoAnswer)
}

fn throttle() -> Result<Answer, NoAnswer> {
    let kind = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
    let body = json!({ "__type": kind, "message": "too much" }).to_string();
    Ok(Answer { status: 400, headers: Vec::new(), body: body.into_bytes() })
}

/// The next so many requests of this operation have a fault.
#[derive(Clone)]
struct Faults {
    operation: &'static str,
    fault: Fault,
    left: Arc<AtomicUsize>,
}

impl Faults {
    fn of(operation: &'static str, fault: Fault) -> Self {
        Self { operation, fault, left: Arc::default() }
    }

    fn next(&self, count: usize) {
        self.left.store(count, Ordering::SeqCst);
    }

    fn between(&self, inner: Handler) -> Handler {
        let faults = self.clone();
        Arc::new(move |call: Call| {
            let hit = call.target.ends_with(faults.operation)
                && faults
                    .left
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
                    .is_ok();
            let (fault, served) = (faults.fault, inner.clone());
            Box::pin(async move { if hit { fault() } else { served(call).await } })
        })
    }
}

/// One invocation by a batch of one message a body; what it came to.
async fn invoke(fleet: &Fleet, function: Function, bodies: &[Value]) -> Numbers {
    let records = bodies.iter().enumerate().map(|(at, body)| record(at, body));
    invoked(fleet, function, json!({ "Records": records.collect::<Vec<_>>() })).await
}

async fn invoked(fleet: &Fleet, function: Function, event: Value) -> Numbers {
    let measured = fleet.measured(function);
    let answer = measured.invoke(event).await;
    assert!(answer.is_ok(), "{answer:?}");
    measured.numbers()
}

fn record(at: usize, body: &Value) -> Value {
    json!({
        "messageId": format!("m{at}"), "body": body.to_string(),
        "attributes": { "SentTimestamp": EPOCH.0.to_string(), "ApproximateReceiveCount": "1",
            "MessageGroupId": body["workflow"].as_str().unwrap_or("none") },
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:everlog-append.fifo",
    })
}

fn start(workflow: &str) -> Value {
    command(&format!("start-{workflow}"), workflow, "start", json!({}))
}

fn event(id: &str, expected_seq: u64) -> Value {
    let events = json!([{ "kind": "x" }]);
    command(id, "w", "append", json!({ "expected_seq": expected_seq, "events": events }))
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_goes_well_counts_its_commits_its_units_and_a_time_for_each_command() {
    let world = World::new().await;
    tokio::time::sleep(Duration::from_millis(250)).await;
    let age_ms = world.backend.clock().now().since(EPOCH);
    let numbers = invoke(&world.observer, Function::Append, &[start("w"), start("v")]).await;
    assert_eq!(numbers.of(Count::Committed), 2);
    assert_eq!(numbers.command_ms.len(), 2);
    assert_eq!(numbers.oldest_ms, Some(age_ms), "sent at the beginning");
    assert!(numbers.write_units >= 4.0, "two cards and two commits: {numbers:?}");
    assert!(numbers.rejected.is_empty() && numbers.given_back.is_empty());
    let quiet = [Count::Conflict, Count::Throttled, Count::UnknownAtFirst, Count::Unknown];
    assert!(quiet.iter().all(|count| numbers.of(*count) == 0), "{numbers:?}");
    let again = invoke(&world.observer, Function::Append, &[start("w")]).await;
    assert_eq!((again.of(Count::Committed), again.of(Count::Unchanged)), (0, 1));
    assert_eq!(again.write_units, 0.0, "an invocation has its own numbers");
}

#[tokio::test(start_paused = true)]
async fn a_put_that_loses_is_a_conflict_and_neither_throttle_nor_unknown() {
    let world = World::new().await;
    let (one, other) = (world.instance(world.direct()).await, world.instance(world.direct()).await);
    invoke(&one, Function::Append, &[start("w")]).await;
    invoke(&other, Function::Append, &[event("e-1", 1)]).await;
    let signal = command("s-1", "w", "signal", json!({ "name": "poke" }));
    let numbers = invoke(&one, Function::Append, &[signal]).await;
    assert_eq!((numbers.of(Count::Conflict), numbers.of(Count::Committed)), (1, 1));
    assert_eq!((numbers.of(Count::Throttled), numbers.of(Count::UnknownAtFirst)), (0, 0));
    assert!(numbers.rejected.is_empty(), "the signal did not care");
}

#[tokio::test(start_paused = true)]
async fn a_throttle_counts_each_try_and_is_given_back_as_throttled_at_last() {
    let world = World::new().await;
    let faults = Faults::of(".PutItem", throttle);
    let fleet = world.instance(faults.between(world.direct())).await;
    invoke(&fleet, Function::Append, &[start("w")]).await;
    faults.next(2);
    let numbers = invoke(&fleet, Function::Append, &[event("e-1", 1)]).await;
    assert_eq!((numbers.of(Count::Throttled), numbers.of(Count::Committed)), (2, 1));
    faults.next(100);
    let numbers = invoke(&fleet, Function::Append, &[event("e-2", 2)]).await;
    assert_eq!(numbers.given_back.get("throttled"), Some(&1));
    assert_eq!((numbers.of(Count::Committed), numbers.of(Count::Unknown)), (0, 0));
    assert!(numbers.of(Count::Throttled) > 2);
}

#[tokio::test(start_paused = true)]
async fn a_put_without_an_answer_is_unknown_at_first_and_only_unknown_if_it_stays_so() {
    let world = World::new().await;
    let faults = Faults::of(".PutItem", no_answer);
    let fleet = world.instance(faults.between(world.direct())).await;
    invoke(&fleet, Function::Append, &[start("w")]).await;
    faults.next(3);
    let numbers = invoke(&fleet, Function::Append, &[event("e-1", 1)]).await;
    assert_eq!((numbers.of(Count::UnknownAtFirst), numbers.of(Count::Unknown)), (1, 0));
    assert_eq!((numbers.of(Count::Committed), numbers.of(Count::Throttled)), (1, 0));
    faults.next(100);
    let numbers = invoke(&fleet, Function::Append, &[event("e-2", 2)]).await;
    assert_eq!((numbers.of(Count::UnknownAtFirst), numbers.of(Count::Unknown)), (1, 1));
    assert_eq!(numbers.given_back.get("unknown"), Some(&1));
    assert!(numbers.command_ms.is_empty(), "nothing was answered");
}

#[tokio::test(start_paused = true)]
async fn refusals_count_by_kind_and_a_failed_group_by_its_first_reason() {
    let world = World::new().await;
    let fleet = &world.observer;
    let owner = |generation: u64| json!({ "owner": "planner", "instance": "one", "generation": generation, "token": "t" });
    let claim = json!({ "owner": owner(2) });
    invoke(fleet, Function::Append, &[start("w"), command("c", "w", "claim", claim)]).await;
    let mut stale = event("e-1", 2);
    stale["command"]["append"]["owner"] = owner(1);
    let nowhere = command("c-2", "nowhere", "pause", json!({}));
    let mut waits = event("e-2", 9);
    waits["after_seq"] = json!(9);
    let bodies = [stale, nowhere, json!("no command"), waits, event("e-3", 1)];
    let numbers = invoke(fleet, Function::Append, &bodies).await;
    let kinds: Vec<_> = numbers.rejected.iter().map(|(kind, count)| (*kind, *count)).collect();
    assert_eq!(kinds, [("fenced", 1), ("invalid_input", 1), ("not_found", 1)]);
    let reasons: Vec<_> = numbers.given_back.iter().map(|(why, count)| (*why, *count)).collect();
    assert_eq!(reasons, [("after_failure", 1), ("waits", 1)]);
    assert_eq!(numbers.of(Count::DeadLettered), 1);
}

#[tokio::test(start_paused = true)]
async fn a_sweep_says_how_late_it_is_and_a_look_how_late_its_work_is() {
    let world = World::new().await;
    let fleet = &world.observer;
    let schedule = json!({ "source": "aws.scheduler" });
    let numbers = invoked(fleet, Function::TimerSweep, schedule.clone()).await;
    let swept = numbers.swept.expect("each sweep says so, one of nothing too");
    assert_eq!((swept.lag_ms, swept.woken), (0, 0));
    invoke(fleet, Function::Append, &[start("w")]).await;
    let fire_at = EPOCH.plus_ms(3_600_000);
    let timers = json!([{ "timer": "tea", "fire_at": fire_at.0 }]);
    let arm = command("arm", "w", "append", json!({ "expected_seq": 1, "timers": timers }));
    invoke(fleet, Function::Append, &[arm]).await;
    // Nobody looks, so the first alarm stays, of a minute after the start.
    tokio::time::sleep(Duration::from_secs(7_200)).await;
    let looked = world.card("w").await.expect("a card").1.alarm_at.expect("an alarm").start();
    let numbers = invoked(fleet, Function::TimerSweep, schedule).await;
    let swept = numbers.swept.expect("a sweep");
    let now = world.backend.clock().now();
    assert_eq!((swept.lag_ms, swept.woken), (now.since(looked), 1));
    let wake = json!({ "namespace": "default", "workflow": "w" });
    let numbers = invoke(fleet, Function::TimerSweep, &[wake]).await;
    assert_eq!(numbers.oldest_ms, Some(now.since(fire_at)), "not the age of the message");
    assert_eq!((numbers.of(Count::Committed), numbers.swept), (1, None));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_again_is_counted_and_a_fleet_that_nobody_measures_counts_nothing() {
    let world = World::new().await;
    let mut record = record(0, &start("w"));
    record["attributes"]["ApproximateReceiveCount"] = json!("3");
    let batch = json!({ "Records": [record] });
    let numbers = invoked(&world.observer, Function::Append, batch.clone()).await;
    assert_eq!(numbers.of(Count::Redelivered), 1);
    let measured = world.observer.measured(Function::Append);
    world.observer.invoke(Function::Append, batch).await.expect("an answer");
    let mut numbers = measured.numbers();
    // Units are the meter's, which all clones share; nothing else is.
    (numbers.write_units, numbers.read_units) = (0.0, 0.0);
    assert_eq!(numbers, Numbers::default());
}
