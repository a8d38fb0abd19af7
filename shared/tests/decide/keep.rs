//! How long it is kept: delete, legal hold, retention.

use everlog::Rejection;
use everlog::answer::InvalidInput;
use everlog::decide::Look;
use everlog::event::Note;
use everlog::state::Life;
use everlog::time::Timestamp;
use serde_json::{Value, json};

use crate::support::{HOUR, Log, MINUTE, T0};

const DAY: u64 = 24 * HOUR;

fn append(log: &Log, rest: Value) -> Value {
    let mut append = rest;
    append["expected_seq"] = log.state.head.into();
    json!({ "append": append })
}

fn closed() -> Log {
    closed_after(None)
}

fn closed_after(retention_ms: Option<u64>) -> Log {
    let mut log = Log::driven();
    log.retention_ms = retention_ms;
    let close = append(&log, json!({ "close": { "ending": "completed" } }));
    log.tell(close).committed();
    log
}

fn state_of(told: crate::support::Told) -> String {
    match told.rejected() {
        Rejection::WrongState { state } => state,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_what_has_ended_is_deleted_and_a_delete_that_comes_again_changes_nothing() {
    let mut log = Log::driven();
    assert_eq!(state_of(log.tell(json!({ "delete": {} }))), "running");
    let mut log = closed();
    let head = log.state.head;
    log.tell(json!({ "delete": {} })).committed();
    assert_eq!((log.state.life, log.state.head), (Life::Deleted, head), "no event, a note");
    assert!(matches!(log.notes()[..], [Note::Deleted]));
    assert_eq!((log.state.alarm, log.state.earliest_due()), (None, None));
    log.tell(json!({ "delete": {} })).unchanged();
    for verb in [json!({ "reopen": {} }), json!({ "hold": {} }), json!({ "release": {} })] {
        assert_eq!(state_of(log.tell(verb)), "deleted", "nothing follows");
    }
}

#[test]
fn a_legal_hold_keeps_a_workflow_from_removal_by_command_and_by_time() {
    let mut log = closed_after(Some(DAY));
    let expires = log.state.expires_at;
    log.tell(json!({ "hold": { "reason": "a lawsuit" } })).committed();
    assert!(matches!(log.notes()[..], [Note::HoldPlaced(Some(_))]));
    log.tell(json!({ "hold": {} })).unchanged();
    assert_eq!(state_of(log.tell(json!({ "delete": {} }))), "under legal hold");
    log.now = T0.plus_ms(10 * DAY);
    assert_eq!(log.state.earliest_due(), None);
    log.look(Look::Alarm);
    assert_eq!(log.state.life, Life::Closed(everlog::event::Ending::Completed));
    log.tell(json!({ "release": {} })).committed();
    log.tell(json!({ "release": {} })).unchanged();
    assert_eq!(log.state.earliest_due(), expires, "what was due meanwhile is due at once");
    log.look(Look::Wake);
    assert_eq!(log.state.life, Life::Deleted);
}

#[test]
fn a_hold_and_a_release_that_come_again_change_nothing_whatever_came_since() {
    let mut log = closed();
    let told = |log: &mut Log, id: &str, verb: &str| log.tell_as(id, json!({ verb: {} }));
    told(&mut log, "h-1", "hold").committed();
    told(&mut log, "r-1", "release").committed();
    told(&mut log, "h-1", "hold").unchanged();
    assert_eq!(log.state.legal_hold, None, "the release stands");
    told(&mut log, "h-2", "hold").committed();
    told(&mut log, "r-1", "release").unchanged();
    assert!(log.state.legal_hold.is_some(), "the second hold stands");
}

#[test]
fn a_hold_on_an_open_workflow_stands_over_its_end() {
    let mut log = Log::driven();
    log.retention_ms = Some(DAY);
    log.tell(json!({ "hold": {} })).committed();
    let close = append(&log, json!({ "close": { "ending": "failed" } }));
    log.tell(close).committed();
    assert_eq!((log.state.alarm, log.state.earliest_due()), (None, None));
    assert_eq!(state_of(log.tell(json!({ "delete": {} }))), "under legal hold");
    log.tell(json!({ "release": {} })).committed();
    log.tell(json!({ "delete": {} })).committed();
}

#[test]
fn what_has_ended_is_deleted_when_its_retention_is_over_and_not_before() {
    let mut log = closed_after(Some(DAY));
    let due = T0.plus_ms(DAY);
    assert!(matches!(log.notes()[..], [Note::Expires(then)] if *then == due));
    assert_eq!((log.state.earliest_due(), log.state.alarm), (Some(due), Some(due.tick())));
    log.now = Timestamp(due.0 - 1);
    assert_eq!(log.look(Look::Wake), None);
    log.now = due;
    log.look(Look::Wake).expect("a commit");
    assert_eq!(log.state.life, Life::Deleted);
}

#[test]
fn a_reopened_run_does_not_expire_and_its_next_end_begins_the_time_anew() {
    let mut log = closed_after(Some(DAY));
    log.tell(json!({ "reopen": {} })).committed();
    assert_eq!((log.state.expires_at, log.state.earliest_due()), (None, None));
    log.now = T0.plus_ms(2 * DAY);
    log.look(Look::Alarm);
    assert!(log.state.open());
    let close = append(&log, json!({ "close": { "ending": "completed" } }));
    log.tell(close).committed();
    assert_eq!(log.state.expires_at, Some(T0.plus_ms(3 * DAY)));
}

#[test]
fn without_retention_and_between_runs_nothing_expires() {
    let mut log = closed();
    log.now = T0.plus_ms(3_650 * DAY);
    assert_eq!((log.state.expires_at, log.look(Look::Wake)), (None, None));
    let mut log = Log::driven();
    log.retention_ms = Some(MINUTE);
    let continued = append(&log, json!({ "continue_as_new": {} }));
    log.tell(continued).committed();
    assert_eq!((log.state.expires_at, log.state.open()), (None, true));
}

#[test]
fn a_reason_of_a_hold_is_at_most_1024_bytes() {
    let body = |reason: &str| {
        let hold = json!({ "hold": { "reason": reason } });
        json!({ "id": "c", "workflow": "w", "command": hold }).to_string()
    };
    assert!(everlog::command::parse(&body(&"x".repeat(1_024))).is_ok());
    let refused = everlog::command::parse(&body(&"x".repeat(1_025))).unwrap_err().invalid;
    let wanted = InvalidInput::new("command.hold.reason", "at most 1024 bytes", "1025 bytes");
    assert_eq!(refused, wanted);
}
