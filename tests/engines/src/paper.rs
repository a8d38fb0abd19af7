//! The page of differences, `docs/engines.md`, from what the tests declare.

use std::fmt::Write;

use crate::case::Case;
use crate::fact::{Engine, Fact};
use crate::journal;

const HEAD: &str = "\
# Engines

Which DynamoDB Everlog runs on, and where they differ. The tables are written from the declarations in `tests/engines`; a test fails if an engine does something else than is declared there, or if this page is not what they say (`EVERLOG_BLESS=1 cargo test --workspace --test engines_paper` writes it).

One list of tests runs on every engine. The embedded one is in the plain `cargo test --workspace`, in process and over HTTP. The others are started by scripts ([how](../localstack/README.md)), and nothing is skipped: without Java or Python 3.13 the tests fail and say so.

```
cargo test --workspace --test journal_list                                               # embedded
cargo test --workspace --test journal_list --features everlog-engine-tests/engines       # on all of them
EVERLOG_DYNAMODB_ENDPOINT=http://127.0.0.1:4600 cargo test --workspace --test journal_list given::
```

The column *AWS* is what AWS documents; no test talks to it. Units are those that the engine reports. An engine given by address is taken for ministack.

How long the list takes, on two busy cores: embedded 3 s in process and 4 s over HTTP, ministack 4 s, DynamoDB Local 40 s, LocalStack 80 s, their start included. Engines of other people are given a minute for an answer here, where the journal's own client gives 1.5 s.

What no engine does: throttle, lose an answer, refuse for a conflict of transactions, let an index lag. Tests put those under the SDK's client.
";

/// The page.
#[must_use]
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    let journal = journal::list();
    let (cost, rest): (Vec<&Fact>, Vec<&Fact>) =
        facts(&journal).into_iter().partition(|fact| fact.what.contains(" units"));
    let rest: Vec<&Fact> = rest.into_iter().chain([journal::left_after_a_kill()]).collect();
    let _ =
        writeln!(page, "\n## What differs\n\n{} tests, through the journal.\n", journal.len() + 1);
    table(&mut page, &rest);
    page.push_str("\n## Units\n\n");
    table(&mut page, &cost);
    page
}

fn facts<B>(list: &[&'static Case<B>]) -> Vec<&'static Fact> {
    list.iter().flat_map(|case| case.facts.iter().copied()).collect()
}

/// A row a fact; `=` is what AWS does. Notes below.
fn table(page: &mut String, facts: &[&Fact]) {
    let engines = [Engine::Embedded, Engine::DynamoDbLocal, Engine::LocalStack, Engine::MiniStack];
    let names: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
    let _ = writeln!(page, "| | AWS | {} |", names.join(" | "));
    let _ = writeln!(page, "|---|---|{}", "---|".repeat(engines.len()));
    for fact in facts {
        let cells = engines.iter().map(|engine| {
            let found = fact.expected(*engine);
            if found == fact.aws { "=".to_owned() } else { format!("**{found}**") }
        });
        let cells: Vec<String> = cells.collect();
        let _ = writeln!(page, "| {} | {} | {} |", fact.what, fact.aws, cells.join(" | "));
    }
    let noted: Vec<&&Fact> = facts.iter().filter(|fact| !fact.note.is_empty()).collect();
    if !noted.is_empty() {
        page.push('\n');
    }
    for fact in noted {
        let _ = writeln!(page, "- *{}*: {}", fact.what, fact.note);
    }
}
