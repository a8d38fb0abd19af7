//! One test of the list, and how it becomes a test of the harness.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::future::BoxFuture;
use libtest_mimic::{Failed, Trial};

use crate::bench::Bench;
use crate::fact::{Fact, Seen};
use crate::place::Place;

/// One test, for any engine.
#[derive(Debug)]
pub struct Case {
    /// Situation and outcome.
    pub name: &'static str,
    /// The test.
    pub run: fn(Bench) -> BoxFuture<'static, ()>,
    /// What it looks at, where engines may differ.
    pub facts: &'static [&'static Fact],
}

/// A [`Case`] of a function, with its facts.
macro_rules! case {
    ($name:ident $(, $fact:path)* $(,)?) => {
        $crate::Case {
            name: stringify!($name),
            run: |bench| Box::pin($name(bench)),
            facts: &[$(&$fact),*],
        }
    };
}
pub(crate) use case;

/// The test `place::name`. It fails with its panic, and with each fact that
/// was not as declared.
pub(crate) fn trial(place: &Place, case: &'static Case) -> Trial {
    let name = format!("{}::{}", place.name, case.name);
    let place = place.clone();
    Trial::test(name, move || {
        let (runtime, endpoint, clock) = place.open().map_err(Failed::from)?;
        let seen = Seen::on(place.engine);
        let bench = Bench::new(&endpoint, clock, seen.clone());
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
