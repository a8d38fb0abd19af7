//! A network that loses 10 %, doubles 10 %, delays and reorders messages, on a
//! virtual clock. `recorded.rs` does the same with the recorded workflows.

use everlog_local::plan_file;
use everlog_testing::plans::{MOSAIC, layers};
use everlog_testing::scenes::through_the_storm;

#[tokio::test(start_paused = true)]
async fn a_mosaic_survives_the_storm() {
    let text = layers(&MOSAIC, 0.0).to_string();
    let spec = plan_file::parse("mosaic", &text).expect("a plan");
    for seed in 1..=5 {
        through_the_storm("mosaic", &spec, seed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_fan_out_of_a_thousand_survives_the_storm() {
    let text = layers(&[1, 1_000, 1], 0.0).to_string();
    let spec = plan_file::parse("fan-out", &text).expect("a plan");
    through_the_storm("fan-out", &spec, 1).await;
}
