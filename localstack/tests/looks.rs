//! `everlog` looks: runs, ranges, lists and packages, as a user asks for them.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use everlog::fleet::Function;
use everlog_local::stack::Stack;
use everlog_testing::world::command;
use serde_json::{Value, json};

/// A driven workflow `poll` of two runs, the second one ended as failed, and
/// `other`, which runs.
async fn two_runs(db: &Path) {
    let stack = Stack::open(db, &[]).await.expect("the file opens");
    for (id, workflow, verb, content) in [
        ("c-1", "poll", "start", json!({ "type": "poller" })),
        ("c-2", "poll", "append", json!({ "expected_seq": 1, "events": [{ "kind": "x" }] })),
        ("c-3", "poll", "append", json!({ "expected_seq": 2, "continue_as_new": {} })),
        ("c-4", "poll", "append", json!({ "expected_seq": 4, "close": { "ending": "failed" } })),
        (
            "c-5",
            "other",
            "start",
            json!({
                "display_name": "Ada's order", "parent": "poll", "attributes": { "rush": true, "n": 1 },
            }),
        ),
    ] {
        let body = command(id, workflow, verb, content).to_string();
        stack.fleet.direct(Function::Append, &body).await.expect("an answer");
    }
}

fn everlog(db: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everlog"));
    command.arg("--db").arg(db).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// The exit code and what is said, by lines.
fn told(db: &Path, arguments: &[&str]) -> (i32, Vec<String>) {
    let output = everlog(db).args(arguments).stdout(Stdio::piped()).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    (output.status.code().expect("not killed"), text.lines().map(str::to_owned).collect())
}

fn read(db: &Path, arguments: &[&str]) -> Value {
    let (code, lines) = told(db, &[&["--json"], arguments].concat());
    assert_eq!(code, 0, "{arguments:?}: {lines:?}");
    serde_json::from_str(&lines.concat()).expect("JSON")
}

#[tokio::test]
async fn runs_and_ranges_of_a_history_are_shown_and_a_run_is_reopened_and_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("everlog.db");
    two_runs(&db).await;
    let runs = read(&db, &["runs", "poll"]);
    let runs: Vec<_> = runs.as_array().expect("runs").iter().map(|r| &r["start_seq"]).collect();
    assert_eq!(runs, [&json!(4), &json!(1)]);
    let (_, lines) = told(&db, &["--json", "history", "poll", "--from", "2", "--limit", "2"]);
    let of = |line: &String| serde_json::from_str::<Value>(line).expect("JSON")["event"].clone();
    assert_eq!(lines.iter().map(of).collect::<Vec<_>>(), ["appended", "continued_as_new"]);
    let (code, lines) = told(&db, &["history", "poll", "--from", "6"]);
    assert_eq!((code, lines.len()), (0, 0), "past the head is empty");

    assert_eq!(told(&db, &["reopen", "poll", "--reason", "oh"]), (0, vec!["reopen: done".into()]));
    assert_eq!(told(&db, &["reopen", "poll"]), (0, vec!["reopen: it was so already".into()]));
    assert_eq!(told(&db, &["reopen", "nobody"]).0, 5);
    let following = everlog(&db)
        .args(["--json", "history", "poll", "--follow", "--from", "5"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    assert_eq!(told(&db, &["cancel", "poll"]).0, 0);
    let followed = following.wait_with_output().expect("it ends with the workflow");
    let text = String::from_utf8(followed.stdout).expect("text");
    let events: Vec<_> = text.lines().map(|line| of(&line.to_owned())).collect();
    assert_eq!(events, ["closed", "reopened", "cancel_requested", "closed"]);
}

#[tokio::test]
async fn a_history_is_followed_on_when_the_owner_of_the_file_goes_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("everlog.db");
    two_runs(&db).await;
    let follow = || {
        let mut process = everlog(&db)
            .args(["--json", "history", "other", "--follow"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let first = lines.next().expect("a line").expect("text");
        assert!(first.contains("started"), "{first}");
        (process, lines)
    };
    let (mut owner, _) = follow();
    let (mut guest, lines) = follow();
    owner.kill().expect("killed");
    owner.wait().expect("it has ended");
    assert_eq!(told(&db, &["cancel", "other"]).0, 0);
    let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
    assert_eq!(rest.len(), 2, "each event once: {rest:?}");
    assert!(guest.wait().expect("it ends").success());
}

#[tokio::test]
async fn lists_are_asked_for_by_flags_and_wrong_ones_end_with_exit_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("everlog.db");
    two_runs(&db).await;
    let ids = |flags: &[&str]| {
        let listed = read(&db, &[&["list"], flags].concat());
        let id = |listed: &Value| listed["workflow"].as_str().expect("an id").to_owned();
        listed.as_array().expect("a list").iter().map(id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&[]), ["other", "poll"], "the last started first");
    assert_eq!(ids(&["--reverse"]), ["poll", "other"]);
    assert_eq!(ids(&["--status", "failed", "--status", "paused"]), ["poll"]);
    assert_eq!(ids(&["--type", "poller"]), ["poll"]);
    assert_eq!(ids(&["--prefix", "ot"]), ["other"]);
    assert_eq!(ids(&["--sort", "id"]), ["other", "poll"]);
    assert_eq!(ids(&["--exact"]), ["other", "poll"]);
    assert_eq!(ids(&["--text", "s order"]), ["other"]);
    assert_eq!(ids(&["--parent", "poll"]), ["other"]);
    assert_eq!(ids(&["--attribute", "rush=true", "--attribute", "n=1"]), ["other"]);
    assert_eq!(ids(&["--attribute", "n=\"1\""]), [""; 0], "a text is no number");
    assert_eq!(ids(&["--sort", "updated"]), ["other", "poll"]);
    assert_eq!(ids(&["--sort", "name"]), ["poll", "other"]);
    assert_eq!(ids(&["--updated-until", "2026-01-01"]), [""; 0]);
    assert_eq!(read(&db, &["show", "other"])["attributes"], json!({ "rush": true, "n": 1 }));
    let (_, lines) = told(&db, &["show", "other"]);
    assert!(lines.contains(&"name         Ada's order".to_owned()), "{lines:?}");
    assert_eq!(ids(&["--since", "2026-01-01", "--until", "2999-12-31T23:59:59"]).len(), 2);
    assert_eq!(ids(&["--until", "2026-01-01"]), [""; 0]);
    assert_eq!(told(&db, &["list", "--count"]), (0, vec!["2".into()]));
    assert_eq!(ids(&["--limit", "1"]), ["other"]);
    let output = everlog(&db).args(["list", "--limit", "1"]).stderr(Stdio::piped()).output();
    let said = String::from_utf8(output.expect("it runs").stderr).expect("text");
    let cursor = said.trim().strip_prefix("and more: --after ").expect("a cursor").to_owned();
    assert_eq!(ids(&["--limit", "1", "--after", &cursor]), ["poll"]);
    for wrong in [
        &["--after", "garbage"][..],
        &["--after", &cursor, "--sort", "id"],
        &["--limit", "0"],
        &["--since", "yesterday"],
        &["--status", "asleep"],
        &["--attribute", "rush"],
        &["--attribute", "=1"],
    ] {
        assert_eq!(told(&db, &[&["list"], wrong].concat()).0, 2, "{wrong:?}");
    }
}

#[tokio::test]
async fn a_package_is_put_listed_fetched_routed_and_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (db, file) = (folder.path().join("everlog.db"), folder.path().join("code.zip"));
    let (file, back) = (file.to_str().expect("text"), folder.path().join("back.zip"));
    let back = back.to_str().expect("text");
    std::fs::write(file, "first").expect("a file");
    let first = read(&db, &["package", "put", "order", file])[0]["hash"].clone();
    std::fs::write(file, "second").expect("a file");
    let second = read(&db, &["package", "put", "order", file])[0]["hash"].clone();
    let (first, second) = (first.as_str().expect("a hash"), second.as_str().expect("a hash"));
    assert_eq!(told(&db, &["package", "route", "order"]).1, [second]);
    assert_eq!(read(&db, &["package", "list"]).as_array().map(Vec::len), Some(2));
    assert_eq!(told(&db, &["package", "route", "order", first]).0, 0);
    assert_eq!(told(&db, &["package", "route", "order"]).1, [first]);
    assert_eq!(told(&db, &["package", "get", "order", first, back]).0, 0);
    assert_eq!(std::fs::read_to_string(back).expect("a file"), "first");
    assert_eq!(told(&db, &["package", "delete", "order", second]).1, ["deleted"]);
    assert_eq!(told(&db, &["package", "delete", "order", second]).1, ["it was not there"]);
    assert_eq!(told(&db, &["package", "get", "order", second, back]).0, 2);
    assert_eq!(told(&db, &["package", "put", "order", "/nowhere"]).0, 2);
}

#[tokio::test]
async fn a_workflow_is_exported_and_imported_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let (db, other) = (folder.path().join("one.db"), folder.path().join("two.db"));
    two_runs(&db).await;
    let file = folder.path().join("poll.jsonl");
    let file = file.to_str().expect("text");
    assert_eq!(told(&db, &["export", "poll", "--out", file]), (0, vec![]));
    let written = std::fs::read_to_string(file).expect("a file");
    let (code, printed) = told(&db, &["export", "poll"]);
    assert_eq!((code, printed.join("\n") + "\n"), (0, written.clone()), "or as it is printed");
    let appended = |line: &&str| line.contains(r#""event":"appended""#);
    assert_eq!(written.lines().filter(appended).count(), 1, "people can read it");
    let commits = written.lines().count() - 2;
    assert_eq!(told(&other, &["import", file]), (0, vec![format!("poll: {commits} commits")]));
    assert_eq!(told(&other, &["import", file]).1, ["poll: it was there already"]);
    assert_eq!(read(&other, &["import", file])["unchanged"], json!(true));
    let history = |db: &Path| told(db, &["--json", "history", "poll"]);
    assert_eq!(history(&other), history(&db));
    assert_eq!(told(&other, &["reopen", "poll"]).0, 0, "and it goes on there");
    let open = folder.path().join("open.jsonl");
    let open = open.to_str().expect("text");
    assert_eq!(told(&db, &["export", "other", "--out", open]).0, 0);
    for (wrong, why) in [
        (&["import", open][..], "it runs"),
        (&["import", file], "another history is there by now"),
        (&["--namespace", "n", "import", file], "it is of another namespace"),
        (&["import", "/nowhere"], "there is no file"),
        (&["import", "Cargo.toml"], "it is no archive"),
        (&["export", "poll", "--out", "/nowhere/poll"], "it can't be written"),
    ] {
        assert_eq!(told(&other, wrong).0, 2, "{why}");
    }
    assert_eq!(told(&other, &["export", "nobody"]).0, 5);
}

#[tokio::test]
async fn a_workflow_is_held_released_and_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("everlog.db");
    two_runs(&db).await;
    assert_eq!(told(&db, &["delete", "other"]).0, 6, "it runs");
    assert_eq!(
        told(&db, &["hold", "poll", "--reason", "a lawsuit"]),
        (0, vec!["hold: done".into()])
    );
    assert_eq!(read(&db, &["show", "poll"])["legal_hold"], json!(true));
    assert_eq!(told(&db, &["delete", "poll"]).0, 6, "it is held");
    assert_eq!(told(&db, &["release", "poll"]), (0, vec!["release: done".into()]));
    assert_eq!(told(&db, &["release", "poll"]), (0, vec!["release: it was so already".into()]));
    assert_eq!(told(&db, &["delete", "poll"]), (0, vec!["delete: done".into()]));
    for gone in
        [&["delete", "poll"][..], &["show", "poll"], &["history", "poll"], &["export", "poll"]]
    {
        assert_eq!(told(&db, gone).0, 5, "{gone:?}");
    }
    assert_eq!(read(&db, &["list"]).as_array().map(Vec::len), Some(1));
}
