//! The vectors by which workers in other languages check the groups that they
//! derive: `examples/workers/group-ids.json` says what this code says.

use everlog::fleet::group_id;
use everlog_worker_tests::in_repository;
use serde_json::{Value, json};

#[test]
fn the_published_groups_are_those_that_are_derived_here() {
    let long = "w".repeat(256);
    let names = [
        ("default", "order-17"),
        ("default", &long[..120]), // 128 characters with its namespace
        ("default", &long[..121]), // 129
        (&long[..], &long[..]),
        ("prod.eu/a@b", "orders:2026-12-01/0000000001"),
    ];
    let derived = names.map(|(namespace, workflow)| {
        let group = group_id(&format!("{namespace}#{workflow}"));
        json!({ "namespace": namespace, "workflow": workflow, "group": group })
    });
    let derived = serde_json::to_string_pretty(&derived).expect("JSON") + "\n";
    let path = in_repository("examples/workers/group-ids.json");
    let text = std::fs::read_to_string(&path).expect("the vectors");
    let (published, derived): (Value, Value) =
        (serde_json::from_str(&text).expect("JSON"), serde_json::from_str(&derived).expect("JSON"));
    assert_eq!(published, derived, "write this into {}:\n{derived:#}", path.display());
}
