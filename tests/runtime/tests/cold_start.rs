//! Start and size of the binaries that go to Lambda, against their limits.
//!
//! It measures what a cold start pays for and a build decides: the time from
//! exec to the first poll of the Runtime API, and the bytes of the archive. It
//! deliberately leaves out what AWS does before (fetching, unpacking).
//!
//! It needs the binaries of `--profile lambda`, whose folder `EVERLOG_LAMBDA_DIR`
//! names; `.ci/cold-start.sh` builds them. It fails if the median start or an
//! archive is over its limit, with the table of all of them.

use std::path::{Path, PathBuf};

use everlog::fleet::Function as Name;
use everlog_runtime_tests::{Collector, Function, Stack};

/// Starts of each binary, beside the first one.
const STARTS: usize = 15;
/// Milliseconds from exec to the first poll, at the median.
const START_MS_MAX: f64 = 20.0;
/// Bytes of the archive that is uploaded.
const ARCHIVE_BYTES_MAX: usize = 4_000_000;
/// Bytes that a zip archive of one file adds to it.
const ZIP_BYTES: usize = 120;

/// A binary as `cargo build` or as `cargo lambda` leaves it.
fn binary(name: &str) -> PathBuf {
    let folder = std::env::var("EVERLOG_LAMBDA_DIR");
    let folder = PathBuf::from(folder.expect("EVERLOG_LAMBDA_DIR: see .ci/cold-start.sh"));
    let places = [folder.join(name).join("bootstrap"), folder.join(name)];
    let found = places.iter().find(|place| place.is_file());
    found.unwrap_or_else(|| panic!("no {name} in {}", folder.display())).clone()
}

fn archive_bytes(binary: &Path) -> usize {
    let bytes = std::fs::read(binary).expect("a binary can be read");
    // The level of `zip` and of cargo-lambda.
    miniz_oxide::deflate::compress_to_vec(&bytes, 6).len() + ZIP_BYTES
}

async fn start_ms(binary: &Path, environment: &[(String, String)]) -> f64 {
    let path = binary.to_str().expect("a path that is text");
    let mut function = Function::start_in(path, environment.to_vec()).await;
    let took = function.exec_to_first_poll().await;
    function.stop().await;
    took.as_secs_f64() * 1_000.0
}

/// The first start, and minimum, median and maximum of those that follow.
async fn starts(binary: &Path, environment: &[(String, String)]) -> [f64; 4] {
    let first = start_ms(binary, environment).await;
    let mut later = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        later.push(start_ms(binary, environment).await);
    }
    later.sort_by(f64::total_cmp);
    [first, later[0], later[STARTS / 2], later[STARTS - 1]]
}

#[tokio::test]
async fn every_function_polls_within_20_ms_and_is_uploaded_in_4_mb() {
    let (stack, collector) = (Stack::start().await, Collector::start().await);
    let plain = stack.environment();
    let mut traced = plain.clone();
    traced.push(("OTEL_EXPORTER_OTLP_ENDPOINT".into(), collector.url().into()));
    println!("| function | traces | first ms | min ms | p50 ms | max ms | archive MB |");
    println!("|---|---|---|---|---|---|---|");
    let mut over = Vec::new();
    for name in Name::ALL.map(Name::name) {
        let binary = binary(name);
        let bytes = archive_bytes(&binary);
        for (traces, environment) in [("no", &plain), ("yes", &traced)] {
            let [first, min, p50, max] = starts(&binary, environment).await;
            println!(
                "| `{name}` | {traces} | {first:.1} | {min:.1} | {p50:.1} | {max:.1} | {}.{:02} |",
                bytes / 1_000_000,
                bytes % 1_000_000 / 10_000,
            );
            if p50 > START_MS_MAX || bytes > ARCHIVE_BYTES_MAX {
                over.push(format!("{name}, traces {traces}: {p50:.1} ms, {bytes} bytes"));
            }
        }
    }
    assert!(over.is_empty(), "over {START_MS_MAX} ms or {ARCHIVE_BYTES_MAX} bytes: {over:#?}");
}
