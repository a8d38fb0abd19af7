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
    let all = tests();
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

/// Names of all functions of the tree, tests among them.
fn tests() -> BTreeSet<String> {
    let name = |line: &str| {
        let (_, rest) = line.split_once("fn ")?;
        Some(rest.split(['(', '<']).next()?.trim().to_owned())
    };
    sources(".rs").iter().flat_map(|(_, text)| text.lines().filter_map(name)).collect()
}

#[test]
fn every_sentence_of_the_event_store_has_a_test_or_is_counted_as_open() {
    let text = std::fs::read_to_string(root().join("docs/event-store.md")).expect("the file");
    let all = tests();
    let (mut open, mut held) = (0, 0);
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| sent"));
    for row in rows {
        let held_by = row.trim_end_matches([' ', '|']).rsplit(" | ").next().unwrap_or_default();
        if held_by == "open" {
            open += 1;
            continue;
        }
        held += 1;
        let names: Vec<&str> = held_by.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test holds: {row}");
        for name in names {
            assert!(all.contains(name), "docs/event-store.md names {name}, which is not there");
        }
    }
    assert!(held > 40, "only {held} sentences have a test");
    assert!(text.contains(&format!("**{open} sentences are open**")), "{open} are open");
}
