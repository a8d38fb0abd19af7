//! Rules of the house that a machine can check.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Lines of a source file; more needs the word `tidy-long-file:` and a reason in it.
const FILE_LINES_MAX: usize = 400;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            files(&path, ending, found);
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

fn sources(ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(&root(), ending, &mut found);
    assert!(!found.is_empty());
    found.sort();
    found.into_iter().map(|p| (p.clone(), std::fs::read_to_string(&p).expect("text"))).collect()
}

#[test]
fn no_source_file_is_longer_than_400_lines() {
    let long = sources(".rs").into_iter().filter(|(_, text)| {
        text.lines().count() > FILE_LINES_MAX && !text.contains("tidy-long-file:")
    });
    let long: Vec<PathBuf> = long.map(|(path, _)| path).collect();
    assert!(long.is_empty(), "look for the seam in {long:?}");
}

#[test]
fn every_module_begins_with_an_introduction() {
    let bare = sources(".rs").into_iter().filter(|(_, text)| !text.starts_with("//!"));
    let bare: Vec<PathBuf> = bare.map(|(path, _)| path).collect();
    assert!(bare.is_empty(), "{bare:?}");
}

#[test]
fn attribute_names_of_the_table_stand_in_one_file() {
    let names = ["\"alarm_rev\"", "\"alarm_shard\"", "\"list_key\"", "\"list_at\""];
    for (path, text) in sources(".rs") {
        let here = path.ends_with("journal/items.rs") || path.ends_with("tests/tree.rs");
        let test = path.to_string_lossy().contains("/tests/");
        let found: Vec<&&str> = names.iter().filter(|name| text.contains(**name)).collect();
        assert!(here || test || found.is_empty(), "{}: {found:?}", path.display());
    }
}

/// Each invariant of ARCHITECTURE.md names its test as `file::test` or `test`
/// in backquotes after "Test" or "Tests"; all of them must exist.
#[test]
fn every_test_that_the_architecture_names_exists() {
    let text = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("the file");
    let all: BTreeSet<String> = sources(".rs")
        .iter()
        .flat_map(|(_, text)| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|line| {
            let (_, rest) = line.split_once("fn ")?;
            let name = rest.split(['(', '<']).next()?;
            Some(name.trim().to_owned())
        })
        .collect();
    let mut named = 0;
    for line in text.lines().filter(|line| line.to_lowercase().contains("test")) {
        for quoted in line.split('`').skip(1).step_by(2) {
            let name = quoted.rsplit("::").next().unwrap_or_default();
            if name.len() > 12 && name.contains('_') && quoted.contains("::") {
                named += 1;
                assert!(all.contains(name), "ARCHITECTURE.md names {quoted}, which is not there");
            }
        }
    }
    assert!(named >= 10, "only {named} tests are named");
}
