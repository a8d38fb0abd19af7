//! Plans for tests: the recorded workflows, and shapes like theirs.

use std::path::PathBuf;

use serde_json::{Value, json};

/// A recorded workflow, by the name of its file.
///
/// The recordings are no part of this repository. They lie in the folder that
/// `EVERLOG_DATA` names, else in `shared/data` beside the checkout; only tests
/// behind the feature `recorded` need them.
///
/// # Panics
/// If it is not there.
#[must_use]
pub fn recorded(name: &str) -> PathBuf {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("EVERLOG_DATA").map_or_else(beside, PathBuf::from);
    let file = folder.join("wfformat").join(name);
    assert!(
        file.exists(),
        "{} is missing: set EVERLOG_DATA to the folder of recordings",
        file.display()
    );
    file
}

/// All eight recordings.
pub const RECORDINGS: [&str; 8] = [
    "helloworld-forkjoin-10-chameleon.json",
    "srasearch-chameleon-20a-001.json",
    "blast-chameleon-small-001.json",
    "1000genome-chameleon-4ch-100k-001.json",
    "epigenomics-chameleon-hep-4seq-100k-001.json",
    "seismology-chameleon-700p-001.json",
    "bwa-chameleon-large-002.json",
    "montage-chameleon-2mass-05d-001.json",
];

/// A WfFormat workflow in layers: each task of a layer comes after all of the
/// layer before it if that is narrow, else after three of it.
#[must_use]
pub fn layers(widths: &[usize], runtime_s: f64) -> Value {
    let name = |layer: usize, at: usize| format!("layer{layer}_{at:04}");
    let mut tasks = Vec::new();
    let mut runs = Vec::new();
    for (layer, &width) in widths.iter().enumerate() {
        for at in 0..width {
            let before = layer.checked_sub(1).map_or(0, |before| widths[before]);
            let narrow = before <= 3 || width == 1;
            let parents: Vec<String> = match (before, narrow) {
                (0, _) => Vec::new(),
                (_, true) => (0..before).map(|p| name(layer - 1, p)).collect(),
                (_, false) => {
                    let some: std::collections::BTreeSet<usize> =
                        [at % before, (at + 1) % before, (at * 7) % before].into();
                    some.into_iter().map(|p| name(layer - 1, p)).collect()
                }
            };
            runs.push(json!({ "id": name(layer, at), "runtimeInSeconds": runtime_s }));
            tasks.push(json!({ "id": name(layer, at), "parents": parents, "children": [] }));
        }
    }
    json!({
        "name": "layers", "schemaVersion": "1.5",
        "workflow": { "specification": { "tasks": tasks }, "execution": { "tasks": runs } },
    })
}

/// The shape of a mosaic: fan-outs, fan-ins, and a tail.
pub const MOSAIC: [usize; 7] = [1, 60, 120, 1, 60, 1, 1];

/// A plan of commands under time-outs: each attempt has a receipt.
#[must_use]
pub fn watched(tasks: usize, command: &str) -> Value {
    let tasks = (0..tasks).map(|n| {
        json!({ "id": format!("task{n:04}"), "command": command, "timeouts": { "start_to_close_ms": 600_000 } })
    });
    json!({ "tasks": tasks.collect::<Vec<Value>>() })
}
