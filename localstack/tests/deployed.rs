//! The `everlog` command against a deployed fleet: `localstack/stack.sh run`
//! starts one, and its environment says where it is.

use std::process::{Command, Output};

use everlog_local::deployed::{Address, Deployed};
use serde_json::Value;

fn everlog(arguments: &[&str]) -> Output {
    let found = std::env::var("EVERLOG_TABLE");
    assert!(found.is_ok(), "no stack: `localstack/stack.sh run` starts one");
    Command::new(env!("CARGO_BIN_EXE_everlog")).args(arguments).output().expect("a command")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {output:?}");
    })
}

#[test]
fn the_example_runs_on_the_deployed_functions() {
    let ran = everlog(&["--json", "example"]);
    assert!(ran.status.success(), "{ran:?}");
    let summary = json(&ran);
    assert_eq!(summary["ending"], "completed");
    // One of its tasks fails twice before it succeeds.
    assert_eq!(summary["attempts"], 12);
    let workflow = summary["workflow"].as_str().expect("an id");
    let shown = json(&everlog(&["--json", "show", workflow]));
    assert_eq!(shown["status"], "completed");
    let listed = json(&everlog(&["--json", "list", "--status", "completed", "--limit", "1000"]));
    let listed = listed.as_array().expect("a list");
    assert!(listed.iter().any(|entry| entry["workflow"] == workflow), "{listed:?}");
}

#[test]
fn the_example_that_fails_undoes_what_it_did_on_the_deployed_functions() {
    let ran = everlog(&["--json", "example", "--fail"]);
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    assert_eq!(json(&ran)["ending"], "failed");
}

#[test]
fn a_signal_and_a_cancel_reach_a_run_of_the_deployed_fleet() {
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().expect("a file");
    let plan = "name: wait\ntasks:\n  - { id: heard, signal: go }\n  - { id: never, signal: no, after: [heard] }\n";
    std::fs::write(file.path(), plan).expect("a plan");
    let id = format!("signalled-{}", std::process::id());
    let running = Command::new(env!("CARGO_BIN_EXE_everlog"))
        .args(["--json", "run", "--id", &id])
        .arg(file.path())
        .spawn()
        .expect("a command");
    let until = |what: &str, arguments: &[&str]| {
        for _ in 0..100 {
            if everlog(arguments).status.success() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        panic!("{what} was never accepted");
    };
    until("the signal", &["signal", &id, "go"]);
    until("the cancel", &["cancel", &id]);
    let ended = running.wait_with_output().expect("an end");
    assert_eq!(ended.status.code(), Some(3), "it was cancelled");
    let history = everlog(&["--json", "history", &id]);
    let text = String::from_utf8(history.stdout).expect("text");
    assert!(text.contains("wait_ended") || text.contains("signal"), "{text}");
}

#[tokio::test]
async fn doctor_finds_a_whole_fleet_well_and_names_what_is_broken() {
    let well = everlog(&["doctor"]);
    assert!(well.status.success(), "{well:?}");
    let table = std::env::var("EVERLOG_TABLE").expect("a table");
    let address = Address { table: table.clone(), ..Address::default() };
    let deployed = Deployed::find(&address).await.expect("a stack");
    let name = deployed.function_name("settle");
    let lambda = &deployed.lambda;
    let mappings = lambda.list_event_source_mappings().function_name(&name).send().await;
    let mappings = mappings.expect("mappings").event_source_mappings.unwrap_or_default();
    let uuid = mappings[0].uuid().expect("an id").to_owned();
    let set = |enabled: bool| {
        lambda.update_event_source_mapping().uuid(uuid.clone()).enabled(enabled).send()
    };
    set(false).await.expect("a disabled mapping");
    let ill = everlog(&["--json", "doctor"]);
    set(true).await.expect("an enabled mapping");
    assert_eq!(ill.status.code(), Some(1), "{ill:?}");
    let findings = json(&ill);
    let faults: Vec<&Value> = findings
        .as_array()
        .expect("findings")
        .iter()
        .filter(|finding| finding["level"] == "fault")
        .collect();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0]["part"], name);
    assert!(faults[0]["advice"].as_str().is_some_and(|advice| advice.contains("enable")));
}

#[test]
fn a_fleet_that_is_not_there_is_said_to_be_missing() {
    let missing = everlog(&["--table", "no-such-fleet", "list"]);
    assert_eq!(missing.status.code(), Some(70), "{missing:?}");
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(said.contains("no-such-fleet-append"), "{said}");
}
