//! Nobody owns a shard: two of everything on all of them, one killed
//! (`docs/adr/0012-nobody-owns-a-shard.md`).

use std::collections::BTreeSet;
use std::time::Duration;

use everlog::fleet::Function;
use everlog::journal::keys::{ALARM_SHARDS, alarm_shard};
use everlog_local::mapping;
use everlog_testing::world::command;
use everlog_testing::{Rng, World, proof, worker};
use serde_json::json;

const WORKFLOWS: usize = 96;

async fn start_all(world: &World) {
    let plan = json!({ "plan": { "tasks": [
        { "id": "first" },
        { "id": "nap", "after": ["first"], "sleep_ms": 1_200_000 },
        { "id": "second", "after": ["nap"] },
    ] } });
    let mut shards = BTreeSet::new();
    for n in 0..WORKFLOWS {
        let workflow = format!("w-{n}");
        shards.insert(alarm_shard(&format!("default#{workflow}")));
        let start = command(&format!("c-{n}"), &workflow, "start", plan.clone());
        world.send(Function::Append, &start, &format!("c-{n}")).await;
    }
    assert_eq!(shards.len(), usize::from(ALARM_SHARDS), "every shard has work");
}

/// All end right though one of two fleets dies `after_ms` after the start and
/// nobody replaces it.
async fn one_of_two_is_killed(after_ms: u64) {
    let world = World::new().await;
    let mut killed = mapping::start(&world.instance(world.direct()).await, world.backend.sqs());
    let _survivor = mapping::start(&world.instance(world.direct()).await, world.backend.sqs());
    let _workers = worker::start(&world.observer, world.backend.sqs(), 4);
    start_all(&world).await;
    tokio::time::sleep(Duration::from_millis(after_ms)).await;
    killed.abort_all();
    drop(killed);
    // Longer than a message of the dead one stays hidden, and than any sleep.
    tokio::time::sleep(Duration::from_secs(7_200)).await;
    for n in 0..WORKFLOWS {
        let (key, loaded) = world.load(&format!("w-{n}")).await;
        assert_eq!(loaded.state.status(), "completed", "w-{n}, killed after {after_ms} ms");
        let plan = loaded.state.plan().expect("a plan").clone();
        let commits = proof::commits(&world.observer, &key).await;
        // Gapless, each timer fired once, no attempt before its parents.
        let facts = proof::history(&commits, &plan);
        facts.all_succeeded(&plan);
        assert_eq!(facts.attempts, 2, "w-{n}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_of_everything_on_all_shards_of_which_one_is_killed_end_right() {
    let mut rng = Rng::new(7);
    for _ in 0..8 {
        // Before, at and after the instant at which the timers are due.
        one_of_two_is_killed(rng.below(1_300_000)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_sweep_of_some_shards_wakes_theirs_alone_and_every_shard_together_wakes_all() {
    let world = World::new().await;
    let fleet = world.instance(world.direct()).await;
    for n in 0..WORKFLOWS {
        let start = command(
            &format!("c-{n}"),
            &format!("w-{n}"),
            "start",
            json!({
                "deadline": world.backend.clock().now().0 + 30_000,
            }),
        );
        fleet.direct(Function::Append, &start.to_string()).await.expect("an answer");
    }
    tokio::time::sleep(Duration::from_secs(120)).await;
    let of = |shard: u16| {
        let own = |n: &usize| alarm_shard(&format!("default#w-{n}")) == shard;
        (0..WORKFLOWS).filter(own).count()
    };
    let mut all = 0;
    for shard in 0..ALARM_SHARDS {
        let woken = fleet.sweep_of([shard]).await.expect("a sweep");
        assert_eq!(woken, of(shard), "shard {shard}");
        all += woken;
    }
    assert_eq!(all, WORKFLOWS);
    assert_eq!(fleet.sweep().await.expect("a sweep"), WORKFLOWS, "twice is no harm");
}
