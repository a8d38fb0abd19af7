//! `docs/engines-sqs.md` is what the tests declare.

use std::path::Path;

use everlog_queue_tests::page::page;

#[test]
fn the_page_of_differences_is_what_the_tests_declare() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/engines-sqs.md");
    let page = page();
    if std::env::var_os("EVERLOG_BLESS").is_some() {
        std::fs::write(&path, &page).expect("docs/ can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/engines-sqs.md is not what the tests declare: EVERLOG_BLESS=1 writes it anew"
    );
}
