//! The `everlog` command as a user runs it: real processes on a real file,
//! killed at random moments, and a second one beside a running one.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use everlog::id::{Namespace, WorkflowId};
use everlog::journal::{LogKey, keys};
use everlog_local::plan_file;
use everlog_local::stack::Stack;
use everlog_testing::{Rng, proof};

const WORKERS: usize = 4;

fn data() -> PathBuf {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    std::env::var_os("EVERLOG_DATA").map_or_else(beside, PathBuf::from).join("wfformat")
}

fn everlog(db: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everlog"));
    command.arg("--db").arg(db).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn run(db: &Path, file: &Path, scale: f64) -> Command {
    let mut command = everlog(db);
    command.args(["--json", "run"]).arg(file);
    command.args(["--time-scale", &scale.to_string(), "--workers", &WORKERS.to_string()]);
    command
}

/// The run is over and right; how many attempts it took beyond one a task.
async fn proven(db: &Path, file: &Path) -> usize {
    let stack = Stack::open(db, &[]).await.expect("the file opens");
    let id = WorkflowId::new(plan_file::read(file).expect("a plan").default_id).expect("an id");
    let journal = stack.observer.journal();
    let card = journal.card(&keys::partition(&Namespace::default(), &id)).await.expect("readable");
    let card = card.expect("a card");
    assert_eq!(card.status, "completed");
    let key = LogKey::new(Namespace::default(), id, card.incarnation);
    let loaded = journal.load(&key).await.expect("a log that folds");
    let plan = loaded.state.plan().expect("a plan").clone();
    let facts = proof::history(&proof::commits(&stack.observer, &key).await, &plan);
    facts.all_succeeded(&plan);
    facts.attempts - plan.nodes.len()
}

fn measured_s(file: &Path) -> f64 {
    let plan = plan_file::read(file).expect("a plan");
    let inputs = plan.spec.tasks.iter().filter_map(|t| t.input.as_ref()?.to_json());
    inputs.filter_map(|i| i["runtime_s"].as_f64()).sum()
}

/// Kills the process `kills` times, each time after a while, and goes on.
async fn killed(name: &str, kills: usize, seed: u64) {
    let file = data().join(name);
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("everlog.db");
    let mut rng = Rng::new(seed);
    // So slow that every kill finds it at work.
    let scale = (kills + 2) as f64 * 0.35 * WORKERS as f64 / measured_s(&file);
    let mut found_at_work = 0;
    for kill in 0..kills {
        let mut child = run(&db, &file, scale).spawn().expect("it starts");
        tokio::time::sleep(Duration::from_millis(150 + rng.below(250))).await;
        found_at_work += usize::from(child.try_wait().expect("a child").is_none());
        child.kill().expect("SIGKILL");
        child.wait().expect("a child");
        println!("{name}: seed {seed}, kill {kill}");
    }
    let mut child = run(&db, &file, 0.0).spawn().expect("it starts");
    assert!(child.wait().expect("a child").success());
    let extra = proven(&db, &file).await;
    println!("{name}: {found_at_work} of {kills} kills found it at work, {extra} extra attempts");
    assert!(found_at_work * 2 >= kills, "the kills came too late to mean anything");
    assert!(extra <= kills * WORKERS, "{extra} extra attempts");
}

macro_rules! killed_and_carried_on {
    ($($name:ident: $file:literal, $kills:literal;)*) => {$(
        #[tokio::test]
        async fn $name() {
            killed($file, $kills, 1).await;
        }
    )*};
}

killed_and_carried_on! {
    helloworld_survives_3_kills: "helloworld-forkjoin-10-chameleon.json", 3;
    srasearch_survives_3_kills: "srasearch-chameleon-20a-001.json", 3;
    blast_survives_3_kills: "blast-chameleon-small-001.json", 3;
    genome_survives_3_kills: "1000genome-chameleon-4ch-100k-001.json", 3;
    epigenomics_survives_3_kills: "epigenomics-chameleon-hep-4seq-100k-001.json", 3;
    seismology_survives_3_kills: "seismology-chameleon-700p-001.json", 3;
    bwa_survives_20_kills: "bwa-chameleon-large-002.json", 20;
    montage_survives_20_kills: "montage-chameleon-2mass-05d-001.json", 20;
}

#[tokio::test]
async fn every_recorded_workflow_runs_to_its_end_without_a_spare_attempt() {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(data()).expect("the data").map(|f| f.expect("a file").path()).collect();
    files.sort();
    assert_eq!(files.len(), 8);
    for file in files {
        let folder = tempfile::tempdir().expect("a folder");
        let db = folder.path().join("everlog.db");
        let status = run(&db, &file, 0.0).status().expect("it runs");
        assert!(status.success(), "{}", file.display());
        assert_eq!(proven(&db, &file).await, 0, "{}", file.display());
    }
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
