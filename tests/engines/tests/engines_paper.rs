//! `docs/engines.md` is what the declarations of the tests say.

use std::collections::BTreeSet;
use std::path::Path;

use everlog_engine_tests::{journal, paper};

#[test]
fn the_page_of_engines_is_what_the_tests_declare() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/engines.md");
    let page = paper::page();
    if std::env::var_os("EVERLOG_BLESS").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/engines.md is out of date; EVERLOG_BLESS=1 cargo test --workspace --test engines_paper"
    );
}

#[test]
fn every_declared_difference_has_a_reason_and_every_name_is_there_once() {
    let facts = journal::list().into_iter().flat_map(|case| case.facts.iter().copied());
    let facts = facts.chain([journal::left_after_a_kill()]);
    let mut whats = BTreeSet::new();
    for fact in facts {
        assert!(whats.insert(fact.what), "{} is declared twice", fact.what);
        assert_eq!(fact.except.is_empty(), fact.note.is_empty(), "{}: a reason", fact.what);
        for except in fact.except {
            assert_ne!(except.value, fact.aws, "{}: no difference", fact.what);
        }
    }
    let names: Vec<&str> = journal::list().into_iter().map(|case| case.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "a name is there twice");
}
