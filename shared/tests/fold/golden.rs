//! Encodings of schema 1: they decode for ever, and encode to the same bytes.
//!
//! `EVERLOG_BLESS=1` writes `golden/schema-1.hex` if it is absent, and never
//! over it: what was written once is in somebody's table.

use std::collections::BTreeMap;
use std::path::PathBuf;

use everlog::commit::{Alarm, Commit, PlacedNote, SCHEMA_READ_MAX, decode, encode};
use everlog::event::{
    DrivenWork, Ending, Event, Failure, Note, Outcome, Owner, Started, Target, Timeout, Timeouts,
    TimerKey, WaitEnd,
};
use everlog::id::{
    CommandHash, DispatchKey, Kind, NodeId, OwnerId, QueueName, SignalName, TimerId, WorkflowType,
};
use everlog::payload::Payload;
use everlog::plan::{Plan, PlanRef, StoredPlan, compile};
use everlog::state::{Life, Stage, State};
use everlog::time::{Tick, Timestamp};
use serde_json::json;

use crate::support::{HOUR, Log, MINUTE, T0, attempt, intent, owner, spec, writer};

const SCHEMA: u16 = 1;

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/schema-1.hex")
}

#[test]
fn every_encoding_of_schema_1_decodes_and_encodes_to_the_same_bytes() {
    if std::env::var_os("EVERLOG_BLESS").is_some() && !path().exists() {
        bless();
    }
    let golden = read();
    let names: Vec<&str> = golden.keys().map(String::as_str).collect();
    assert_eq!(names, ["commit", "commit without alarm", "plan", "state driven", "state planned"]);
    for (name, bytes) in &golden {
        let again = match name.split(' ').next() {
            Some("commit") => encode(SCHEMA, &decode::<Commit>(bytes, SCHEMA).unwrap()),
            Some("plan") => encode(SCHEMA, &decode::<Plan>(bytes, SCHEMA).unwrap()),
            _ => encode(SCHEMA, &decode::<State>(bytes, SCHEMA).unwrap()),
        };
        assert_eq!(hex(&again), hex(bytes), "{name}");
    }
}

#[test]
fn the_golden_commits_say_what_was_written() {
    let golden = read();
    let commit: Commit = decode(&golden["commit"], SCHEMA_READ_MAX).unwrap();
    assert_eq!(commit, everything(Some(Alarm::At(Tick(30_000_000)))));
    let commit: Commit = decode(&golden["commit without alarm"], SCHEMA_READ_MAX).unwrap();
    assert_eq!(commit, everything(Some(Alarm::Never)));
}

#[test]
fn the_golden_commit_has_every_event_note_and_outcome_that_there_is() {
    let commit: Commit = decode(&read()["commit"], SCHEMA_READ_MAX).unwrap();
    let mut events: Vec<usize> = commit.events.iter().map(event_number).collect();
    events.sort_unstable();
    events.dedup();
    assert_eq!(events, (0..=16).collect::<Vec<_>>());
    let mut notes: Vec<usize> = commit.notes.iter().map(|p| note_number(&p.note)).collect();
    notes.sort_unstable();
    assert_eq!(notes, (0..=5).collect::<Vec<_>>());
    let outcome = |e: &Event| match e {
        Event::Settled(_, _, outcome, _) => Some(outcome_number(outcome)),
        _ => None,
    };
    let mut outcomes: Vec<usize> = commit.events.iter().filter_map(outcome).collect();
    outcomes.sort_unstable();
    outcomes.dedup();
    assert_eq!(outcomes, (0..=4).collect::<Vec<_>>());
}

#[test]
fn the_golden_states_hold_what_was_folded() {
    let golden = read();
    let mut planned: State = decode(&golden["state planned"], SCHEMA_READ_MAX).unwrap();
    let plan = std::sync::Arc::new(compile(&spec(plan_spec())).unwrap());
    assert!(planned.nodes.fits(plan.nodes.len()));
    planned.provide_plan(plan);
    let phases: Vec<&str> = (0..8).map(|at| planned.nodes.phase(at).word()).collect();
    let active = ["active"; 5];
    assert_eq!(phases, [&active[..], &["succeeded", "waiting", "waiting"]].concat());
    let stages: Vec<u8> = planned.attempts.values().map(|a| stage_number(&a.stage)).collect();
    assert_eq!(stages, [0, 1, 2]);
    assert_eq!((planned.life, planned.status()), (Life::Open, "paused"));
    assert_eq!((planned.timers.len(), planned.listening.len(), planned.signals.len()), (1, 1, 1));
    assert!(planned.memory.find(CommandHash::from(&id("golden-pause"))).is_some());
    assert_eq!(planned.run.as_ref().unwrap().deadline, Some(T0.plus_ms(HOUR)));

    let driven: State = decode(&golden["state driven"], SCHEMA_READ_MAX).unwrap();
    assert_eq!((driven.settled.len(), driven.attempts.len(), driven.timers.len()), (2, 1, 0));
    assert_eq!(driven.status(), "cancelling");
    assert_eq!(driven.owner.as_ref().unwrap().generation, 1);
}

#[test]
fn a_newer_schema_is_said_to_be_newer_and_nothing_else_of_it_is_read() {
    use everlog::commit::DecodeError;
    for bytes in read().values() {
        let mut newer = bytes.clone();
        newer[1..3].copy_from_slice(&(SCHEMA_READ_MAX + 1).to_be_bytes());
        newer.truncate(3);
        let (found, known) = (SCHEMA_READ_MAX + 1, SCHEMA_READ_MAX);
        let answer = decode::<Commit>(&newer, SCHEMA_READ_MAX);
        assert_eq!(answer, Err(DecodeError::Newer { found, known }));
    }
}

/// The exhaustive matches below fail to compile when a variant is added: give
/// it the next number, and its encoding a golden file of the schema that has it.
fn event_number(event: &Event) -> usize {
    match event {
        Event::Started(_) => 0,
        Event::Appended(..) => 1,
        Event::Claimed(_) => 2,
        Event::Prepared(..) => 3,
        Event::Receipt(..) => 4,
        Event::Settled(..) => 5,
        Event::TimerArmed(..) => 6,
        Event::TimerFired(_) => 7,
        Event::TimerCancelled(_) => 8,
        Event::Signalled(..) => 9,
        Event::Listening(..) => 10,
        Event::WaitEnded(..) => 11,
        Event::Paused(_) => 12,
        Event::Resumed => 13,
        Event::CancelRequested(_) => 14,
        Event::DeadlineReached => 15,
        Event::Closed(..) => 16,
    }
}

fn note_number(note: &Note) -> usize {
    match note {
        Note::HandedOver(_) => 0,
        Note::Heartbeat(..) => 1,
        Note::Looked => 2,
        Note::Opened => 3,
        Note::Abandoned => 4,
        Note::Deleted => 5,
    }
}

fn outcome_number(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Succeeded(_) => 0,
        Outcome::Failed(_) => 1,
        Outcome::Cancelled => 2,
        Outcome::TimedOut(_) => 3,
        Outcome::Lost => 4,
    }
}

fn stage_number(stage: &Stage) -> u8 {
    match stage {
        Stage::Staged { .. } => 0,
        Stage::Sent { .. } => 1,
        Stage::Taken { .. } => 2,
    }
}

fn id(text: &str) -> everlog::id::CommandId {
    everlog::id::CommandId::new(text).unwrap()
}

/// A commit that no decision would make: one of everything.
fn everything(alarm: Option<Alarm>) -> Commit {
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

fn activity() -> Target {
    Target::Driven(NodeId::new("activity").unwrap(), 2)
}

fn json_payload() -> Option<Payload> {
    Some(Payload::json(&json!({"a": [1, null, "é"]})).unwrap())
}

fn bytes_payload() -> Option<Payload> {
    Some(Payload::opaque(vec![0, 255, 7], Some("image/png".into())).unwrap())
}

fn starts() -> Vec<Event> {
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

fn attempts() -> Vec<Event> {
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

fn waits() -> Vec<Event> {
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

fn ends() -> Vec<Event> {
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

fn started(plan: Option<PlanRef>) -> Started {
    Started {
        workflow_type: WorkflowType::new("order").unwrap(),
        run: 1,
        plan,
        input: Some(Payload::json(&json!(1)).unwrap()),
        deadline: Some(T0),
        concurrency: Some(10),
        attempts_max: 1_000,
        command: CommandHash([5; 16]),
    }
}

fn work() -> DrivenWork {
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

fn plan_spec() -> serde_json::Value {
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
fn planned() -> State {
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
fn driven() -> State {
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sections: a line `# name`, then hexadecimal lines.
fn read() -> BTreeMap<String, Vec<u8>> {
    let text = std::fs::read_to_string(path()).expect("tests/golden/schema-1.hex is there");
    let mut sections: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        match line.strip_prefix("# ") {
            Some(begins) => name = begins.to_owned(),
            None => {
                let digits = line.as_bytes().chunks(2);
                let bytes = digits.map(|two| {
                    u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).expect("hexadecimal")
                });
                sections.entry(name.clone()).or_default().extend(bytes);
            }
        }
    }
    sections
}

fn bless() {
    let plan = compile(&spec(plan_spec())).unwrap();
    let sections = [
        ("commit", encode(SCHEMA, &everything(Some(Alarm::At(Tick(30_000_000)))))),
        ("commit without alarm", encode(SCHEMA, &everything(Some(Alarm::Never)))),
        ("plan", encode(SCHEMA, &plan)),
        ("state planned", encode(SCHEMA, &planned())),
        ("state driven", encode(SCHEMA, &driven())),
    ];
    let mut text = String::new();
    for (name, bytes) in sections {
        text.push_str(&format!("# {name}\n"));
        for line in hex(&bytes).as_bytes().chunks(96) {
            text.push_str(std::str::from_utf8(line).unwrap());
            text.push('\n');
        }
    }
    std::fs::write(path(), text).expect("the golden file is written");
}
