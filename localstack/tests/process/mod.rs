//! The `everlog` command as a process, for tests.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use everlog::id::{Namespace, WorkflowId};
use everlog::journal::{LogKey, keys};
use everlog_local::plan_file;
use everlog_local::stack::Stack;
use everlog_testing::{Rng, proof};

const WORKERS: usize = 4;

pub fn everlog(db: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everlog"));
    command.arg("--db").arg(db).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

pub fn run(db: &Path, file: &Path, scale: f64) -> Command {
    let mut command = everlog(db);
    command.args(["--json", "run"]).arg(file);
    command.args(["--time-scale", &scale.to_string(), "--workers", &WORKERS.to_string()]);
    command
}

/// The run is over and right; how many attempts it took beyond one a task.
pub async fn proven(db: &Path, file: &Path) -> usize {
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
pub async fn killed(file: &Path, kills: usize, seed: u64) {
    let name = file.display();
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("everlog.db");
    let mut rng = Rng::new(seed);
    // So slow that every kill finds it at work.
    let scale = match measured_s(file) {
        0.0 => 1.0,
        measured_s => (kills + 2) as f64 * 0.35 * WORKERS as f64 / measured_s,
    };
    let mut found_at_work = 0;
    for kill in 0..kills {
        let mut child = run(&db, file, scale).spawn().expect("it starts");
        tokio::time::sleep(Duration::from_millis(150 + rng.below(250))).await;
        found_at_work += usize::from(child.try_wait().expect("a child").is_none());
        child.kill().expect("SIGKILL");
        child.wait().expect("a child");
        println!("{name}: seed {seed}, kill {kill}");
    }
    let mut child = run(&db, file, 0.0).spawn().expect("it starts");
    assert!(child.wait().expect("a child").success());
    let extra = proven(&db, file).await;
    println!("{name}: {found_at_work} of {kills} kills found it at work, {extra} extra attempts");
    assert!(found_at_work * 2 >= kills, "the kills came too late to mean anything");
    assert!(extra <= kills * WORKERS, "{extra} extra attempts");
}
