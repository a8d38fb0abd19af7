//! `docs/engines-sqs.md`, from what the tests declare.
//!
//! It has a row for each fact in which some engine differs from AWS, and for no
//! other. It promises to be what the tests hold: a difference that comes or goes
//! fails a test first, and changes the page with its declaration.

use std::fmt::Write;

use everlog_engine_tests::fact::{Engine, Fact};

use crate::list::list;

/// The engines that have queues, in the order of the page.
const ENGINES: [Engine; 3] = [Engine::Embedded, Engine::LocalStack, Engine::MiniStack];

/// The page, as it must stand.
#[must_use]
pub fn page() -> String {
    let facts: Vec<&Fact> = list().into_iter().flat_map(|case| case.facts).copied().collect();
    let different: Vec<&&Fact> = facts.iter().filter(|fact| !fact.except.is_empty()).collect();
    let mut text = String::from(HEAD);
    let _ = writeln!(
        text,
        "The list has {} tests. They look at {} facts in which engines might differ; in these {} one does.\n",
        list().len(),
        facts.len(),
        different.len(),
    );
    text.push_str("| what | AWS |");
    for engine in ENGINES {
        let _ = write!(text, " {} |", engine.name());
    }
    text.push_str(" why, and what of it |\n|---|---|---|---|---|---|\n");
    for fact in different {
        let _ = write!(text, "| {} | {} |", fact.what, value(fact.aws));
        for engine in ENGINES {
            let found = fact.expected(engine);
            let shown = if found == fact.aws { "as AWS".to_owned() } else { value(found) };
            let _ = write!(text, " {shown} |");
        }
        let _ = writeln!(text, " {} |", fact.note);
    }
    text.push_str(TAIL);
    text
}

/// Codes are code, words are words.
fn value(found: &str) -> String {
    let code = !found.contains(' ') && found.contains(char::is_uppercase);
    if code { format!("`{found}`") } else { found.to_owned() }
}

const HEAD: &str = "# SQS: where the engines differ

Everlog runs on Amazon SQS. Its tests and its stacks on one machine run on others: the embedded queues (`everlog-sqs`), LocalStack 4.14.0 and ministack 1.5.33.
One list of tests runs on all of them. What AWS does stands there as it is documented; what another engine does instead is declared in the test, so that a change of an engine fails it.
This page is written from those declarations (`EVERLOG_BLESS=1 cargo test --workspace --test queues_page`); don't edit it by hand.

";

const TAIL: &str = "
None of the engines throttles, loses answers, doubles messages or reorders a standard queue by itself. Everlog's own tests add that in front of them.
What takes longer to see than a few seconds (five minutes of deduplication, retention, the limits of messages in flight) is tested on the embedded queues alone, where time is turned by hand: `localstack/sqs/tests`.
";
