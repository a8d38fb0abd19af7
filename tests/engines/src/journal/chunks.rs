//! Stored plans: chunks of 350 KiB, put once and read by another instance.

use std::sync::Arc;

use everlog::id::DispatchKey;
use everlog::journal::{JournalError, Purpose};
use everlog::plan::{Plan, PlanRef, PlanSpec, compile};
use serde_json::json;

use super::{Bench, key};
use crate::case;
use crate::case::Case;

pub(super) const CASES: &[Case<Bench>] = &[
    case!(a_large_plan_is_put_in_chunks_and_read_by_another_instance),
    case!(chunks_that_are_put_again_stay_as_they_are),
    case!(a_missing_chunk_is_damage),
];

pub(super) const SEED: DispatchKey = DispatchKey([5; 16]);

/// A plan that does not deflate well: its commands are noise.
pub(super) fn plan(tasks: u32) -> Arc<Plan> {
    let noise = |n: u32| {
        let words = (0..64_u64).map(|at| {
            let word = (u64::from(n) * 64 + at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            format!("{:016x}", word ^ (word >> 29))
        });
        words.collect::<String>()
    };
    let tasks = (0..tasks).map(|n| json!({ "id": format!("t-{n}"), "command": noise(n) }));
    let spec = json!({ "tasks": tasks.collect::<Vec<_>>() });
    let spec: PlanSpec = serde_json::from_value(spec).expect("a plan");
    Arc::new(compile(&spec).expect("a plan that holds"))
}

async fn stored(bench: &Bench) -> (Arc<Plan>, everlog::plan::StoredPlan) {
    let plan = plan(1_000);
    let put = bench.journal().put_plan(&key("w").partition(), SEED, &plan).await;
    let PlanRef::Stored(stored) = put.expect("an answer") else { panic!("it is large") };
    assert!(stored.chunks >= 2, "{} chunks", stored.chunks);
    (plan, stored)
}

async fn a_large_plan_is_put_in_chunks_and_read_by_another_instance(bench: Bench) {
    let (plan, stored) = stored(&bench).await;
    let reader = bench.journal();
    let read = reader.stored_plan(&key("w").partition(), &stored).await.expect("it is whole");
    assert_eq!(read.to_bytes(), plan.to_bytes());
    assert_eq!(reader.meter().of(Purpose::ChunkRead).requests, u64::from(stored.chunks));
}

async fn chunks_that_are_put_again_stay_as_they_are(bench: Bench) {
    let (plan, stored) = stored(&bench).await;
    let journal = bench.journal();
    let again = journal.put_plan(&key("w").partition(), SEED, &plan).await.expect("an answer");
    assert_eq!(again, PlanRef::Stored(stored.clone()));
    let written = journal.meter().of(Purpose::ChunkWrite);
    assert_eq!(written.refused, u64::from(stored.chunks), "each stood there");
    let read = bench.journal().stored_plan(&key("w").partition(), &stored).await;
    assert_eq!(read.expect("it is whole").to_bytes(), plan.to_bytes());
}

async fn a_missing_chunk_is_damage(bench: Bench) {
    let (_, mut stored) = stored(&bench).await;
    stored.chunks += 1;
    let read = bench.journal().stored_plan(&key("w").partition(), &stored).await;
    assert!(matches!(read, Err(JournalError::Damaged(_))), "{read:?}");
}
