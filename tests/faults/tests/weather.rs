//! A network that loses 10 %, doubles 10 %, delays and reorders messages, on a
//! virtual clock: every workflow of `shared/data` ends right.

use std::path::PathBuf;
use std::time::Duration;

use everlog::fleet::Function;
use everlog_local::{mapping, plan_file};
use everlog_testing::network::{self, Weather};
use everlog_testing::world::command;
use everlog_testing::{World, proof, worker};
use serde_json::json;

const WEATHER: Weather = Weather { lost: 10, doubled: 10, late_ms: 20_000 };

/// Where the WfFormat files lie: `EVERLOG_DATA`, or beside the checkout.
fn data() -> PathBuf {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    std::env::var_os("EVERLOG_DATA").map_or_else(beside, PathBuf::from).join("wfformat")
}

async fn carried_through(file: PathBuf, seed: u64) {
    let plan = plan_file::read(&file).expect("a plan");
    let world = World::new().await;
    network::make_limbo(&world.backend).await;
    let handler = network::between(world.direct(), &world.backend, WEATHER, seed);
    let fleet = world.instance(handler.clone()).await;
    let mapping = mapping::start(&fleet, world.backend.sqs());
    let workers = worker::start(&world.instance(handler).await, world.backend.sqs(), 8);
    let mut start = everlog::command::Start::default();
    let compiled = everlog::plan::compile(&plan.spec).expect("a plan");
    let upload = everlog::id::DispatchKey([7; 16]);
    let journal = world.observer.journal();
    let stored = journal.put_plan("default#w", upload, &std::sync::Arc::new(compiled)).await;
    match stored.expect("chunks") {
        everlog::plan::PlanRef::Stored(stored) => start.stored_plan = Some(stored),
        everlog::plan::PlanRef::Inline(_) => start.plan = Some(plan.spec.clone()),
    }
    let start = command("c-start", "w", "start", json!(start));
    // Nobody answers for the client: it sends its start until the workflow is there.
    while world.card("w").await.is_none_or(|(_, card)| card.as_of == 0) {
        let chance = world.backend.clock().now().0.to_string();
        world.send(Function::Append, &start, &chance).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let mut hours = 0;
    loop {
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let (_, loaded) = world.load("w").await;
        if loaded.state.ending().is_some() {
            break;
        }
        hours += 1;
        assert!(hours < 24 * 14, "not done after two weeks: {:?}", loaded.state.nodes.unfinished());
    }
    // Latecomers come in, and find that it is over.
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    drop((mapping, workers));
    let (key, loaded) = proof::at_rest(&world, "w").await;
    let plan = loaded.state.plan().expect("a plan").clone();
    let facts = proof::history(&proof::commits(&world.observer, &key).await, &plan);
    facts.all_succeeded(&plan);
    println!(
        "{}: seed {seed}, {} tasks, {} attempts, {} commits, {hours} virtual hours",
        file.display(),
        plan.nodes.len(),
        facts.attempts,
        loaded.state.commit
    );
    assert_eq!(facts.attempts, plan.nodes.len(), "a lost message costs no attempt");
}

macro_rules! through_bad_weather {
    ($($name:ident: $file:literal,)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $name() {
            carried_through(data().join($file), 1).await;
        }
    )*};
}

through_bad_weather! {
    helloworld_survives_the_weather: "helloworld-forkjoin-10-chameleon.json",
    srasearch_survives_the_weather: "srasearch-chameleon-20a-001.json",
    blast_survives_the_weather: "blast-chameleon-small-001.json",
    genome_survives_the_weather: "1000genome-chameleon-4ch-100k-001.json",
    epigenomics_survives_the_weather: "epigenomics-chameleon-hep-4seq-100k-001.json",
    seismology_survives_the_weather: "seismology-chameleon-700p-001.json",
    bwa_survives_the_weather: "bwa-chameleon-large-002.json",
    montage_survives_the_weather: "montage-chameleon-2mass-05d-001.json",
}
