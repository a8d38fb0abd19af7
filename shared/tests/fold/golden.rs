//! Encodings of schema 1: they decode for ever, and encode to the same bytes.
//!
//! `EVERLOG_BLESS=1` writes a file of `golden/` if it is absent, and never over
//! it: what was written once is in somebody's table.

#[path = "golden/written.rs"]
mod written;

use std::collections::BTreeMap;
use std::path::PathBuf;

use everlog::commit::{Alarm, Commit, SCHEMA_READ_MAX, decode, encode};
use everlog::event::{Event, Note, Outcome, RunStart};
use everlog::id::{CommandHash, PackageHash};
use everlog::plan::{Plan, compile};
use everlog::state::{Life, Stage, State};
use everlog::time::Tick;

use crate::support::{HOUR, T0, spec};
use written::{
    driven, everything, id, kept, labelled, of_keeping, of_labels, of_packages, of_runs, pinned,
    plan_spec, planned, reopened,
};

const SCHEMA: u16 = 1;

/// Each file has what was new when it was written.
const FILES: [&str; 5] = [
    "schema-1.hex",
    "schema-1-runs.hex",
    "schema-1-packages.hex",
    "schema-1-labels.hex",
    "schema-1-keeping.hex",
];

fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file)
}

#[test]
fn every_encoding_of_schema_1_decodes_and_encodes_to_the_same_bytes() {
    if std::env::var_os("EVERLOG_BLESS").is_some() {
        bless();
    }
    let golden = read();
    let names: Vec<&str> = golden.keys().map(String::as_str).collect();
    let wanted = [
        "commit",
        "commit of keeping",
        "commit of labels",
        "commit of packages",
        "commit of runs",
        "commit without alarm",
        "plan",
        "state driven",
        "state of a kept run",
        "state of a labelled run",
        "state of a pinned run",
        "state of a reopened run",
        "state planned",
    ];
    assert_eq!(names, wanted);
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
    let commit: Commit = decode(&golden["commit of runs"], SCHEMA_READ_MAX).unwrap();
    assert_eq!(commit, of_runs());
    let commit: Commit = decode(&golden["commit of packages"], SCHEMA_READ_MAX).unwrap();
    assert_eq!(commit, of_packages());
    let commit: Commit = decode(&golden["commit of labels"], SCHEMA_READ_MAX).unwrap();
    assert_eq!(commit, of_labels());
    let commit: Commit = decode(&golden["commit of keeping"], SCHEMA_READ_MAX).unwrap();
    assert_eq!(commit, of_keeping());
}

#[test]
fn the_golden_commit_has_every_event_note_and_outcome_that_there_is() {
    let of = |name| decode::<Commit>(&read()[name], SCHEMA_READ_MAX).unwrap();
    let (commit, runs, labels) = (of("commit"), of("commit of runs"), of("commit of labels"));
    let all = commit.events.iter().chain(&runs.events).chain(&labels.events);
    let mut events: Vec<usize> = all.map(event_number).collect();
    events.sort_unstable();
    events.dedup();
    assert_eq!(events, (0..=19).collect::<Vec<_>>());
    let keeping = of("commit of keeping");
    let all = commit.notes.iter().chain(&keeping.notes);
    let mut notes: Vec<usize> = all.map(|p| note_number(&p.note)).collect();
    notes.sort_unstable();
    notes.dedup();
    assert_eq!(notes, (0..=8).collect::<Vec<_>>());
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
    assert_eq!(driven.run.as_ref().unwrap().start(), RunStart { commit: 1, seq: 1 });

    let reopened: State = decode(&golden["state of a reopened run"], SCHEMA_READ_MAX).unwrap();
    let run = reopened.run.as_ref().unwrap();
    assert_eq!((run.number, run.previous), (2, Some(RunStart { commit: 1, seq: 1 })));
    assert_eq!((reopened.status(), reopened.settled.len()), ("cancelling", 1));
    assert_eq!(reopened.held.as_ref().unwrap().len(), 1);

    let pinned: State = decode(&golden["state of a pinned run"], SCHEMA_READ_MAX).unwrap();
    assert_eq!(pinned.run.as_ref().unwrap().package, Some(PackageHash([7; 32])));

    let state: State = decode(&golden["state of a labelled run"], SCHEMA_READ_MAX).unwrap();
    let labels = state.labels.unwrap();
    assert_eq!(labels.display_name.as_deref(), Some("é"));
    let attributes: Vec<String> =
        labels.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(attributes, ["a=1", "c=false"]);

    let kept: State = decode(&golden["state of a kept run"], SCHEMA_READ_MAX).unwrap();
    assert_eq!((kept.legal_hold, kept.expires_at), (Some(3), Some(T0.plus_ms(HOUR))));
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
        Event::ContinuedAsNew(_) => 17,
        Event::Reopened(..) => 18,
        Event::AttributesChanged(_) => 19,
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
        Note::HoldPlaced(_) => 6,
        Note::HoldLifted => 7,
        Note::Expires(_) => 8,
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sections: a line `# name`, then hexadecimal lines.
fn read() -> BTreeMap<String, Vec<u8>> {
    let mut sections: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut name = String::new();
    for file in FILES {
        let text = std::fs::read_to_string(path(file)).expect("the golden files are there");
        for line in text.lines() {
            match line.strip_prefix("# ") {
                Some(begins) => name = begins.to_owned(),
                None => sections.entry(name.clone()).or_default().extend(bytes(line)),
            }
        }
    }
    sections
}

fn bytes(line: &str) -> impl Iterator<Item = u8> {
    line.as_bytes()
        .chunks(2)
        .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).expect("hexadecimal"))
}

fn bless() {
    let plan = compile(&spec(plan_spec())).unwrap();
    let first = vec![
        ("commit", encode(SCHEMA, &everything(Some(Alarm::At(Tick(30_000_000)))))),
        ("commit without alarm", encode(SCHEMA, &everything(Some(Alarm::Never)))),
        ("plan", encode(SCHEMA, &plan)),
        ("state planned", encode(SCHEMA, &planned())),
        ("state driven", encode(SCHEMA, &driven())),
    ];
    let runs = vec![
        ("commit of runs", encode(SCHEMA, &of_runs())),
        ("state of a reopened run", encode(SCHEMA, &reopened())),
    ];
    let packages = vec![
        ("commit of packages", encode(SCHEMA, &of_packages())),
        ("state of a pinned run", encode(SCHEMA, &pinned())),
    ];
    let labels = vec![
        ("commit of labels", encode(SCHEMA, &of_labels())),
        ("state of a labelled run", encode(SCHEMA, &labelled())),
    ];
    let keeping = vec![
        ("commit of keeping", encode(SCHEMA, &of_keeping())),
        ("state of a kept run", encode(SCHEMA, &kept())),
    ];
    for (file, sections) in FILES.into_iter().zip([first, runs, packages, labels, keeping]) {
        if path(file).exists() {
            continue;
        }
        let mut text = String::new();
        for (name, bytes) in sections {
            text.push_str(&format!("# {name}\n"));
            for line in hex(&bytes).as_bytes().chunks(96) {
                text.push_str(std::str::from_utf8(line).unwrap());
                text.push('\n');
            }
        }
        std::fs::write(path(file), text).expect("the golden file is written");
    }
}
