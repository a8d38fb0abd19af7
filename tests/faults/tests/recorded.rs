//! The recorded workflows: through the storm, and what the widest one costs.
//!
//! Needs the recordings, so it is behind the feature `recorded`.

use everlog_local::plan_file;
use everlog_testing::plans::{RECORDINGS, recorded};
use everlog_testing::scenes::{through_the_storm, units_a_task};

#[tokio::test(start_paused = true)]
async fn every_recorded_workflow_survives_the_storm() {
    for name in RECORDINGS {
        let plan = plan_file::read(&recorded(name)).expect("a plan");
        through_the_storm(name, &plan.spec, 1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn bwa_large_costs_at_most_two_write_units_a_task() {
    let plan = plan_file::read(&recorded("bwa-chameleon-large-002.json")).expect("a plan");
    let (writes, reads) = units_a_task(&plan.spec).await;
    println!("bwa-large: {writes:.3} write units, {reads:.3} read units a task");
    assert!(writes <= 2.0, "{writes}");
}
