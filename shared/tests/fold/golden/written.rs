//! What the golden files say: one of everything, and states that hold it.

use everlog::commit::{Alarm, Commit, PlacedNote};
use everlog::event::{
    DrivenWork, Ending, Event, Failure, Note, Outcome, Owner, RunStart, Started, Target, Timeout,
    Timeouts, TimerKey, WaitEnd,
};
use everlog::id::{
    AttributeName, CommandHash, DispatchKey, Kind, NodeId, OwnerId, PackageHash, QueueName,
    SignalName, TimerId, WorkflowId, WorkflowType,
};
use everlog::labels::{AttributeChanges, AttributeValue, Labels};
use everlog::payload::Payload;
use everlog::plan::{PlanRef, StoredPlan};
use everlog::state::State;
use everlog::time::Timestamp;
use serde_json::json;

use crate::support::{HOUR, Log, MINUTE, T0, attempt, intent, owner, writer};

pub(super) fn id(text: &str) -> everlog::id::CommandId {
    everlog::id::CommandId::new(text).unwrap()
}

/// A commit that no decision would make: one of everything.
pub(super) fn everything(alarm: Option<Alarm>) -> Commit {
    let notes = [
        Note::HandedOver(T0),
        Note::Heartbeat(activity(), 4),
        Note::Looked,
        Note::Opened,
        Note::Abandoned,
        Note::Deleted,
    ];
    let notes = (0_u32..).zip(notes).map(|(after, note)| PlacedNote { after, note }).collect();
    Commit {
        writer: writer(7),
        time: T0,
        first_seq: 41,
        events: [starts(), attempts(), waits(), ends()].concat(),
        notes,
        answers: vec![CommandHash([3; 16]), CommandHash([4; 16])],
        checkpoint: 40,
        continues: true,
        alarm,
    }
}

/// What came with the chain of runs.
pub(super) fn of_runs() -> Commit {
    let previous = Some(RunStart { commit: 3, seq: 9 });
    Commit {
        events: vec![
            Event::ContinuedAsNew(json_payload()),
            Event::ContinuedAsNew(None),
            Event::Started(Box::new(Started { run: 2, previous, ..started(None) })),
            Event::Reopened(Some("too early".into()), Some(T0)),
            Event::Reopened(None, None),
        ],
        notes: Vec::new(),
        ..everything(None)
    }
}

/// What came with packages.
pub(super) fn of_packages() -> Commit {
    let package = Some(PackageHash([7; 32]));
    Commit {
        events: vec![Event::Started(Box::new(Started { package, ..started(None) }))],
        notes: Vec::new(),
        ..everything(None)
    }
}

/// What came with labels.
pub(super) fn of_labels() -> Commit {
    let name = |name: &str| AttributeName::new(name).unwrap();
    let attributes = [
        (name("customer"), AttributeValue::Text("Ada".into())),
        (name("amount"), AttributeValue::Number(-7)),
        (name("rush"), AttributeValue::Flag(true)),
    ];
    let labels = Some(Box::new(Labels {
        display_name: Some("Ada's order".into()),
        parent: Some(WorkflowId::new("parent").unwrap()),
        attributes: attributes.clone().into(),
    }));
    let mut changes: AttributeChanges =
        attributes.into_iter().map(|(name, value)| (name, Some(value))).collect();
    changes.insert(name("gone"), None);
    Commit {
        events: vec![
            Event::Started(Box::new(Started { labels, ..started(None) })),
            Event::AttributesChanged(changes),
        ],
        notes: Vec::new(),
        ..everything(None)
    }
}

/// What came with deletion.
pub(super) fn of_keeping() -> Commit {
    let notes = [
        Note::HoldPlaced(Some("a lawsuit".into())),
        Note::HoldPlaced(None),
        Note::HoldLifted,
        Note::Expires(T0),
    ];
    let notes = notes.map(|note| PlacedNote { after: 0, note });
    Commit { events: Vec::new(), notes: notes.into(), ..everything(None) }
}

/// A driven run that has ended, and is on hold.
pub(super) fn kept() -> State {
    let mut log = Log::new();
    log.retention_ms = Some(HOUR);
    log.tell(json!({ "start": {} })).committed();
    let close = json!({ "expected_seq": 1, "close": { "ending": "completed" } });
    log.tell(json!({ "append": close })).committed();
    log.tell(json!({ "hold": {} })).committed();
    log.state
}

/// A driven run with labels.
pub(super) fn labelled() -> State {
    let mut log = Log::new();
    let start = json!({ "display_name": "é", "parent": "p", "attributes": { "a": 1, "b": "x" } });
    log.tell(json!({ "start": start })).committed();
    let change = json!({ "expected_seq": 1, "attributes": { "b": null, "c": false } });
    log.tell(json!({ "append": change })).committed();
    log.state
}

/// A driven run that is pinned to a package.
pub(super) fn pinned() -> State {
    let mut log = Log::new();
    let package = PackageHash([7; 32]);
    log.tell(json!({ "start": { "package": package } })).committed();
    log.state
}

pub(super) fn activity() -> Target {
    Target::Driven(NodeId::new("activity").unwrap(), 2)
}

pub(super) fn json_payload() -> Option<Payload> {
    Some(Payload::json(&json!({"a": [1, null, "é"]})).unwrap())
}

pub(super) fn bytes_payload() -> Option<Payload> {
    Some(Payload::opaque(vec![0, 255, 7], Some("image/png".into())).unwrap())
}

pub(super) fn starts() -> Vec<Event> {
    let (upload, hash) = (DispatchKey([1; 16]), DispatchKey([2; 16]));
    let stored = PlanRef::Stored(StoredPlan { upload, hash, chunks: 3 });
    let bare = Started { input: None, deadline: None, concurrency: None, ..started(None) };
    vec![
        Event::Started(Box::new(started(Some(PlanRef::Inline(vec![1, 2, 3]))))),
        Event::Started(Box::new(started(Some(stored)))),
        Event::Started(Box::new(bare)),
        Event::Appended(Kind::new("ordered").unwrap(), json_payload()),
        Event::Appended(Kind::new("ordered").unwrap(), bytes_payload()),
        Event::Claimed(Owner {
            owner: OwnerId::new("engine").unwrap(),
            instance: OwnerId::new("i1").unwrap(),
            generation: 1,
            token: OwnerId::new("t1").unwrap(),
        }),
    ]
}

pub(super) fn attempts() -> Vec<Event> {
    let failure = |details| {
        let kind = Kind::new("broken").unwrap();
        Outcome::Failed(Failure { kind, message: "it broke".into(), details })
    };
    let settled = |outcome| Event::Settled(activity(), 3, outcome, None);
    let timed_out = |timeout| settled(Outcome::TimedOut(timeout));
    vec![
        Event::Prepared(Target::Planned(7), 1, None, None),
        Event::Prepared(activity(), 300, Some(T0), Some(Box::new(work()))),
        Event::Receipt(Target::Planned(70_000), 2, OwnerId::new("worker-1").unwrap()),
        Event::Settled(Target::Planned(0), 1, failure(bytes_payload()), Some(T0)),
        settled(failure(None)),
        settled(Outcome::Succeeded(json_payload())),
        settled(Outcome::Succeeded(None)),
        settled(Outcome::Cancelled),
        timed_out(Timeout::ScheduleToStart),
        timed_out(Timeout::StartToClose),
        timed_out(Timeout::Heartbeat),
        settled(Outcome::Lost),
    ]
}

pub(super) fn waits() -> Vec<Event> {
    let named = || TimerKey::Named(TimerId::new("timer").unwrap());
    vec![
        Event::TimerArmed(TimerKey::Node(3), Timestamp(u64::from(u32::MAX))),
        Event::TimerArmed(named(), T0),
        Event::TimerFired(named()),
        Event::TimerCancelled(TimerKey::Node(3)),
        Event::Signalled(SignalName::new("go").unwrap(), bytes_payload()),
        Event::Listening(4, Some(T0)),
        Event::Listening(5, None),
        Event::WaitEnded(4, WaitEnd::Signal(12)),
        Event::WaitEnded(5, WaitEnd::TimedOut),
    ]
}

pub(super) fn ends() -> Vec<Event> {
    vec![
        Event::Paused(Some("lunch".into())),
        Event::Resumed,
        Event::CancelRequested(None),
        Event::DeadlineReached,
        Event::Closed(Ending::Completed, json_payload()),
        Event::Closed(Ending::Failed, None),
        Event::Closed(Ending::Cancelled, None),
        Event::Closed(Ending::TimedOut, None),
    ]
}

pub(super) fn started(plan: Option<PlanRef>) -> Started {
    Started {
        workflow_type: WorkflowType::new("order").unwrap(),
        run: 1,
        plan,
        input: Some(Payload::json(&json!(1)).unwrap()),
        deadline: Some(T0),
        concurrency: Some(10),
        attempts_max: 1_000,
        command: CommandHash([5; 16]),
        previous: None,
        package: None,
        labels: None,
    }
}

pub(super) fn work() -> DrivenWork {
    DrivenWork {
        queue: QueueName::default(),
        kind: Kind::new("work").unwrap(),
        input: Some(Payload::json(&json!("in")).unwrap()),
        timeouts: Timeouts {
            schedule_to_start_ms: Some(1),
            start_to_close_ms: Some(2),
            heartbeat_ms: None,
        },
        mutating: true,
    }
}

pub(super) fn plan_spec() -> serde_json::Value {
    let retry = json!({"max_attempts": 3, "initial_ms": MINUTE, "jitter": 0.5,
                       "non_retryable": ["fatal"]});
    let timeouts = json!({"schedule_to_start_ms": HOUR, "heartbeat_ms": MINUTE});
    json!({
        "tasks": [
            {"id": "staged", "retry": retry, "command": ["true"]},
            {"id": "sent", "input": {"a": 1}, "queue": "gpu"},
            {"id": "taken", "timeouts": timeouts, "type": "render"},
            {"id": "sleeps", "sleep_ms": HOUR},
            {"id": "listens", "signal": "go", "signal_timeout_ms": HOUR},
            {"id": "done"},
            {"id": "waits", "after": ["taken", "sent"], "outputs_of": ["sent"], "when": "always"},
            {"id": "handler", "after": ["sent"], "when": "failure", "allow_failure": true},
        ],
        "max_concurrency": 50, "deadline_ms": HOUR, "attempts_max": 99,
    })
}

/// Open, paused, with attempts in every stage, a timer, a wait, a signal.
pub(super) fn planned() -> State {
    let mut log = Log::planned(plan_spec());
    log.settle("staged", 1, json!({"failed": {"kind": "flaky"}})).committed();
    log.receipt("taken", 1, "w1").committed();
    log.succeed("done");
    log.signal("other").committed();
    log.tell(json!({"claim": {"owner": owner(1)}})).committed();
    log.tell_as("golden-pause", json!({"pause": {"reason": "golden"}})).committed();
    log.state
}

/// Driven and cancelling, with settled, withdrawn and unsettled attempts.
pub(super) fn driven() -> State {
    let mut log = Log::owned();
    let mut later = intent("later", 1);
    later["not_before"] = json!(T0.0 + HOUR);
    let append = json!({
        "expected_seq": 2, "owner": owner(1), "prepare": [intent("a", 1), intent("b", 1), later],
        "timers": [{"timer": "t", "fire_at": T0.0 + MINUTE}],
    });
    log.tell(json!({ "append": append })).committed();
    let lost = json!({"attempt": attempt("a", 1), "outcome": {"lost": {}}});
    log.tell(json!({ "settle": lost })).committed();
    log.tell(json!({"cancel": {}})).committed();
    log.state
}

/// The second run, reopened and being cancelled: a withdrawn attempt, a live
/// one, and a timer that is held.
pub(super) fn reopened() -> State {
    let mut log = Log::owned();
    let append = |log: &mut Log, rest: serde_json::Value| {
        let mut append = rest;
        append["expected_seq"] = log.state.head.into();
        append["owner"] = owner(1);
        log.tell(json!({ "append": append })).committed();
    };
    append(&mut log, json!({ "continue_as_new": {}, "prepare": [intent("a", 1)] }));
    append(&mut log, json!({ "close": { "ending": "failed" } }));
    log.tell(json!({ "reopen": {} })).committed();
    let timers = json!([{ "timer": "t", "fire_at": T0.0 + MINUTE }]);
    append(&mut log, json!({ "prepare": [intent("b", 1)], "timers": timers }));
    log.tell(json!({ "cancel": {} })).committed();
    log.state
}
