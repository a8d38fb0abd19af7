//! One test of a list, and how it becomes a test of the harness.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::future::BoxFuture;
use libtest_mimic::{Failed, Trial};

use crate::fact::{Fact, Seen};

/// One test, for any engine. `B` is the bench that it works at.
#[derive(Debug)]
pub struct Case<B: 'static> {
    /// Situation and outcome.
    pub name: &'static str,
    /// The test.
    pub run: fn(B) -> BoxFuture<'static, ()>,
    /// What it looks at, where engines may differ.
    pub facts: &'static [&'static Fact],
}

/// A [`Case`] of a function, with its facts.
#[macro_export]
macro_rules! case {
    ($name:ident $(, $fact:path)* $(,)?) => {
        $crate::Case {
            name: stringify!($name),
            run: |bench| Box::pin($name(bench)),
            facts: &[$(&$fact),*],
        }
    };
}

/// What prepares the bench of a test, in the runtime that it returns.
pub type Prepared<B> = Result<(tokio::runtime::Runtime, B, Seen), String>;

/// The test `place::name`. It fails with its panic, and with each fact that
/// was not as declared.
pub fn trial<B: 'static>(
    place: &str,
    case: &'static Case<B>,
    prepare: impl FnOnce(&'static str) -> Prepared<B> + Send + 'static,
) -> Trial {
    Trial::test(format!("{place}::{}", case.name), move || {
        let (runtime, bench, seen) = prepare(case.name).map_err(Failed::from)?;
        let ended = catch_unwind(AssertUnwindSafe(|| runtime.block_on((case.run)(bench))));
        let facts = seen.check(case.facts);
        match (ended, facts) {
            (Ok(()), Ok(())) => Ok(()),
            (Ok(()), Err(facts)) => Err(facts.into()),
            (Err(panic), facts) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                let text = text.unwrap_or("a panic without words");
                Err(format!("{text}\n{}", facts.err().unwrap_or_default()).into())
            }
        }
    })
}
