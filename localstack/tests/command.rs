//! The `everlog` command as a user runs it: real processes on a real file,
//! killed at random moments, and a second one beside a running one.

mod process;

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use everlog_testing::plans::{MOSAIC, layers, watched};
use process::{everlog, killed, proven, run};

#[tokio::test]
async fn a_mosaic_survives_5_kills() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mosaic.json");
    std::fs::write(&file, layers(&MOSAIC, 1.0).to_string()).expect("a file");
    killed(&file, 5, 1).await;
}

#[tokio::test]
async fn a_mosaic_runs_to_its_end_without_a_spare_attempt() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mosaic.json");
    std::fs::write(&file, layers(&MOSAIC, 1.0).to_string()).expect("a file");
    let db = folder.path().join("everlog.db");
    assert!(run(&db, &file, 0.0).status().expect("it runs").success());
    assert_eq!(proven(&db, &file).await, 0);
}

#[tokio::test]
async fn attempts_with_a_receipt_survive_kills_as_well() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("watched.json");
    std::fs::write(&file, watched(150, "sleep 0.05").to_string()).expect("a file");
    killed(&file, 4, 5).await;
}

#[tokio::test]
async fn a_command_that_leaves_a_process_behind_does_not_hold_its_task() {
    let folder = tempfile::tempdir().expect("a folder");
    let (db, file) = (folder.path().join("everlog.db"), folder.path().join("fork.yaml"));
    std::fs::write(&file, "tasks:\n- id: a\n  command: sleep 30 & echo hi\n").expect("a plan");
    let begun = std::time::Instant::now();
    assert!(run(&db, &file, 1.0).status().expect("it runs").success());
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

/// A child that ends with the test.
struct Kept(Child);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn answer(db: &Path, arguments: &[&str]) -> (i32, serde_json::Value) {
    let output = everlog(db).arg("--json").args(arguments).stdout(Stdio::piped()).output();
    let output = output.expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let code = output.status.code().expect("not killed");
    (code, serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text)))
}

#[tokio::test]
async fn a_second_process_pauses_signals_and_shows_beside_a_running_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("everlog.db");
    let file = folder.path().join("plan.yaml");
    let plan =
        "tasks:\n- id: ask\n  signal: approved\n- id: act\n  after: [ask]\n  command: echo done\n";
    std::fs::write(&file, plan).expect("a plan");
    let child =
        everlog(&db).arg("run").arg(&file).args(["--id", "deal"]).spawn().expect("it starts");
    let mut child = Kept(child);
    loop {
        let (code, shown) = answer(&db, &["show", "deal"]);
        if code == 0 && shown["status"] == "running" {
            break;
        }
        assert!(child.0.try_wait().expect("a child").is_none(), "it goes on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(answer(&db, &["pause", "deal"]).0, 0);
    assert_eq!(answer(&db, &["show", "deal"]).1["status"], "paused");
    assert_eq!(answer(&db, &["signal", "deal", "approved", "{\"by\":\"ada\"}"]).0, 0);
    assert_eq!(answer(&db, &["show", "deal"]).1["nodes"][1]["phase"], "waiting");
    assert_eq!(answer(&db, &["show", "nobody"]).0, 5);
    assert_eq!(answer(&db, &["resume", "deal"]).0, 0);
    let status = child.0.wait().expect("a child");
    assert!(status.success());
    assert_eq!(answer(&db, &["list", "--status", "completed"]).1[0]["workflow"], "deal");
    assert_eq!(answer(&db, &["cancel", "deal"]).0, 6, "it is over");
}

#[tokio::test]
async fn a_plan_that_is_wrong_ends_with_exit_code_2_and_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("everlog.db");
    let file = folder.path().join("plan.yaml");
    std::fs::write(&file, "tasks:\n- id: a\n  after: [ghost]\n").expect("a plan");
    let (code, error) = answer(&db, &["run", &file.display().to_string()]);
    assert_eq!(code, 2);
    assert!(error["error"].as_str().expect("text").contains("tasks[0].after[0]"), "{error}");
    assert!(!db.exists());
}
