//! Display name, parent and search attributes.

use everlog::Rejection;
use everlog::event::Event;
use serde_json::{Value, json};

use crate::support::Log;

fn labelled(labels: Value) -> Log {
    let mut log = Log::new();
    log.tell(json!({ "start": labels })).committed();
    log
}

fn change(log: &mut Log, attributes: Value) -> crate::support::Told {
    let head = log.state.head;
    log.tell(json!({ "append": { "expected_seq": head, "attributes": attributes } }))
}

fn attributes(log: &Log) -> Value {
    json!(log.state.labels.as_ref().map(|labels| &labels.attributes))
}

#[test]
fn attributes_are_folded_over_the_whole_history_and_the_last_write_wins() {
    let mut log = labelled(json!({ "display_name": "n", "parent": "p",
                                   "attributes": { "a": 1, "b": "x", "c": true } }));
    change(&mut log, json!({ "a": 2, "b": null, "d": "new" })).committed();
    assert_eq!(attributes(&log), json!({ "a": 2, "c": true, "d": "new" }));
    let head = log.state.head;
    let next = json!({ "expected_seq": head, "attributes": { "d": "newer" },
                       "continue_as_new": {} });
    log.tell(json!({ "append": next })).committed();
    assert_eq!(attributes(&log), json!({ "a": 2, "c": true, "d": "newer" }));
    let labels = log.state.labels.clone().unwrap();
    assert_eq!(labels.display_name.as_deref(), Some("n"), "the next run is called the same");
    assert_eq!(labels.parent.map(|p| p.to_string()), Some("p".into()));
    change(&mut log, json!({ "a": null, "c": null, "d": null })).committed();
    assert_eq!(attributes(&log), json!({}));
}

#[test]
fn a_change_shows_on_the_card_and_what_changes_nothing_is_no_event() {
    let mut log = labelled(json!({ "attributes": { "a": 1 } }));
    change(&mut log, json!({ "a": 1, "absent": null })).unchanged();
    assert_eq!(log.state.head, 1);
    change(&mut log, json!({ "a": 1, "b": 2 })).committed();
    let [Event::AttributesChanged(changes)] = log.events() else { panic!("{:?}", log.events()) };
    assert_eq!(json!(changes), json!({ "b": 2 }), "only what differs");
    assert_eq!(log.state.card_commit, log.state.commit);
    change(&mut log, json!({ "a": null, "b": null })).committed();
    assert_eq!(log.state.labels, None, "a state without labels is as small as before");
}

#[test]
fn more_attributes_than_a_card_has_room_for_are_refused_and_nothing_is_stored() {
    let many = |from: usize, to: usize| {
        let one = |n: usize| (format!("a-{n}"), json!(n));
        (from..to).map(one).collect::<serde_json::Map<_, _>>()
    };
    let mut log = labelled(json!({ "attributes": many(0, 32) }));
    let refused = change(&mut log, json!(many(32, 33))).rejected();
    let what = "the number of search attributes".to_owned();
    assert_eq!(refused, Rejection::Exhausted { what, limit: 32 });
    let head = log.state.head;
    let with_event = json!({ "expected_seq": head, "events": [{ "kind": "k" }],
                             "attributes": many(40, 41) });
    log.tell(json!({ "append": with_event })).rejected();
    assert_eq!(log.state.head, head, "nor the event beside it");
    let mut swap = many(32, 33);
    swap.insert("a-0".into(), Value::Null);
    change(&mut log, json!(swap)).committed();

    // Names of 3 and 4 bytes, texts of 253 and 252: 256 each.
    let long = |from: usize, to: usize| {
        let one = |n: usize| (format!("n{n:02}"), json!("x".repeat(253)));
        (from..to).map(one).collect::<serde_json::Map<_, _>>()
    };
    let mut log = labelled(json!({ "attributes": long(0, 8) }));
    let refused = change(&mut log, json!({ "y": false })).rejected();
    let what = "the size of the search attributes".to_owned();
    assert_eq!(refused, Rejection::Exhausted { what, limit: 2_048 });
}
