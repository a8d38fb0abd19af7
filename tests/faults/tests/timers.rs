//! Timers through the whole fleet: never early, about a second late, whatever
//! side of SQS's fifteen minutes they lie on.

use std::collections::BTreeMap;
use std::time::Duration;

use everlog::event::{Event, TimerKey};
use everlog::fleet::Function;
use everlog_local::mapping;
use everlog_testing::world::{EPOCH, command};
use everlog_testing::{World, proof};
use serde_json::{Value, json};

/// Milliseconds from the start to each timer.
const DUES_MS: [u64; 12] = [
    1, 999, 3_000, 59_999, 60_000, 61_234, 899_000, 900_000, 900_001, 901_500, 2_400_000, 4_200_500,
];

async fn fired(keep_wakes: bool) -> BTreeMap<String, u64> {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    let mapping = mapping::start(&fleet, world.backend.sqs());
    let timers: Vec<Value> = DUES_MS
        .iter()
        .map(|ms| json!({ "timer": format!("t-{ms}"), "fire_at": EPOCH.0 + ms }))
        .collect();
    for body in [
        command("c-0", "w", "start", json!({})),
        command("c-1", "w", "append", json!({ "expected_seq": 1, "timers": timers })),
    ] {
        fleet.direct(Function::Append, &body.to_string()).await.expect("an answer");
    }
    if !keep_wakes {
        let url = everlog_local::stack::queue_url("wake");
        world.backend.sqs().purge(&url).await.expect("a queue");
    }
    tokio::time::sleep(Duration::from_secs(2 * 3_600)).await;
    drop(mapping);
    let (key, loaded) = world.load("w").await;
    assert!(loaded.state.timers.is_empty());
    assert_eq!(loaded.state.alarm, None, "nothing is left to look at");
    let mut fired = BTreeMap::new();
    for (_, commit) in proof::commits(&world.observer, &key).await {
        for event in &commit.events {
            if let Event::TimerFired(TimerKey::Named(name)) = event {
                let due: u64 = name.as_str()[2..].parse().expect("a number");
                assert!(commit.time.0 >= EPOCH.0 + due, "{name} fired early");
                let late_ms = commit.time.0 - EPOCH.0 - due;
                assert!(fired.insert(name.to_string(), late_ms).is_none(), "{name} fired twice");
            }
        }
    }
    assert_eq!(fired.len(), DUES_MS.len());
    fired
}

#[tokio::test(start_paused = true)]
async fn timers_on_either_side_of_fifteen_minutes_fire_once_and_about_a_second_late() {
    let fired = fired(true).await;
    println!("late by, in milliseconds: {fired:?}");
    assert!(fired.values().all(|late_ms| *late_ms <= 1_100), "{fired:?}");
}

/// The first wakes are lost: the alarm is sharp to its period and the minute ahead.
#[tokio::test(start_paused = true)]
async fn timers_whose_wakes_are_lost_fire_by_the_alarm() {
    let fired = fired(false).await;
    println!("late by, in milliseconds: {fired:?}");
    assert!(fired.values().all(|late_ms| *late_ms <= 121_000), "{fired:?}");
}
