//! Installs the examples, each into a folder of the build.
//!
//! Nothing is written into the repository. An installation is kept as long as
//! what it was made of is the same, letter for letter. What is missing on the
//! machine fails with its name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::in_repository;

/// The Python worker, installed beneath `folder` and checked by its linters.
///
/// # Panics
/// Without python3 (3.11 or later), or if a step fails.
#[must_use]
pub fn python(folder: &Path) -> Command {
    let example = in_repository("examples/workers/python");
    let environment = folder.join("python");
    let wanted = contents(&example, &["requirements.txt", "requirements-check.txt"]);
    let bin = environment.join("bin");
    if !made_of(&environment, &wanted) {
        present("python3", "a Python of 3.11 or later");
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment));
        let mut install = Command::new(bin.join("python"));
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        install.args(["-r", "requirements.txt", "-r", "requirements-check.txt"]);
        run(install.current_dir(&example));
        note(&environment, &wanted);
    }
    // By module: programs of an environment name it by its path, and it may move.
    let here = |arguments: &[&str]| {
        let mut command = Command::new(bin.join("python"));
        command.current_dir(&example).env("PYTHONDONTWRITEBYTECODE", "1").args(arguments);
        command
    };
    run(&mut here(&["-m", "ruff", "check", "--no-cache", "."]));
    run(&mut here(&["-m", "ruff", "format", "--no-cache", "--check", "."]));
    run(here(&["-m", "mypy", "."]).arg("--cache-dir").arg(environment.join("mypy")));
    run(&mut here(&["-m", "unittest", "--quiet"]));
    here(&["worker.py"])
}

/// The TypeScript worker, installed and compiled beneath `folder`.
///
/// # Panics
/// Without node (20 or later) and npm, or if a step fails.
#[must_use]
pub fn typescript(folder: &Path) -> Command {
    let root = folder.join("typescript");
    let example = root.join("examples/workers/typescript");
    let source = in_repository("examples/workers/typescript");
    copy(&in_repository("docs/schemas"), &root.join("docs/schemas"));
    copy(&source.join("src"), &example.join("src"));
    let files = ["package.json", "package-lock.json", "tsconfig.json"];
    for file in files {
        fs::copy(source.join(file), example.join(file)).expect("a file is copied");
    }
    let vectors = "examples/workers/group-ids.json";
    fs::copy(in_repository(vectors), root.join(vectors)).expect("a file is copied");
    let npm = |arguments: &[&str]| {
        let mut command = Command::new("npm");
        command.args(arguments).args(["--silent", "--no-audit", "--no-fund"]).current_dir(&example);
        command
    };
    let wanted = contents(&source, &files);
    if !made_of(&root, &wanted) {
        present("node", "Node.js 20 or later");
        present("npm", "npm, which comes with Node.js");
        run(&mut npm(&["ci"]));
        note(&root, &wanted);
    }
    run(&mut npm(&["run", "build"]));
    run(&mut npm(&["test"]));
    let mut worker = Command::new("node");
    worker.arg("build/worker.js").current_dir(&example);
    worker
}

fn present(program: &str, what: &str) {
    let asked = Command::new(program).arg("--version").output();
    assert!(asked.is_ok(), "this test needs {what}: `{program}` is not on the PATH");
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (&output.stdout, &output.stderr);
    let said = format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err));
    assert!(output.status.success(), "{command:?} failed:\n{said}");
}

fn contents(folder: &Path, files: &[&str]) -> String {
    let read = |file: &&str| fs::read_to_string(folder.join(file)).expect("a file of the example");
    files.iter().map(read).collect()
}

fn stamp(folder: &Path) -> PathBuf {
    folder.join("installed-from")
}

fn made_of(folder: &Path, wanted: &str) -> bool {
    fs::read_to_string(stamp(folder)).is_ok_and(|found| found == wanted)
}

fn note(folder: &Path, wanted: &str) {
    fs::write(stamp(folder), wanted).expect("the stamp is written");
}

/// Copies the files of a folder; what stood there before is gone.
fn copy(from: &Path, to: &Path) {
    if to.exists() {
        fs::remove_dir_all(to).expect("a folder of the build");
    }
    fs::create_dir_all(to).expect("a folder of the build");
    for entry in fs::read_dir(from).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let name = path.file_name().expect("a name");
            fs::copy(&path, to.join(name)).expect("a file is copied");
        }
    }
}
