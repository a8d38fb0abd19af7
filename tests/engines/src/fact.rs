//! What engines do alike, and where one is known to do something else.
//!
//! A [`Fact`] is declared beside the test that sees it. The test reports what it
//! saw; a value that was not declared for that engine fails the test, as does a
//! declared fact that the test never came to see.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::{Arc, Mutex};

/// Whose engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// Everlog's own: dynoxide and `everlog-sqs`, in process.
    Embedded,
    /// Amazon's DynamoDB Local, which has no queues.
    DynamoDbLocal,
    /// LocalStack.
    LocalStack,
    /// ministack.
    MiniStack,
}

impl Engine {
    /// Its name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::DynamoDbLocal => "DynamoDB Local",
            Self::LocalStack => "LocalStack",
            Self::MiniStack => "ministack",
        }
    }
}

/// One engine that does something else.
#[derive(Debug, Clone, Copy)]
pub struct Except {
    /// Which one.
    pub engine: Engine,
    /// What it does.
    pub value: &'static str,
}

/// Something that a test sees, and that need not be the same on each engine.
#[derive(Debug, Clone, Copy)]
pub struct Fact {
    /// What is looked at.
    pub what: &'static str,
    /// What AWS does, as documented, and every engine that is not excepted.
    pub aws: &'static str,
    /// The engines that do something else.
    pub except: &'static [Except],
    /// Why that is so, and what it means for Everlog. Empty without exceptions.
    pub note: &'static str,
}

/// On LocalStack it is otherwise.
#[must_use]
pub const fn localstack(value: &'static str) -> Except {
    Except { engine: Engine::LocalStack, value }
}

/// On ministack it is otherwise.
#[must_use]
pub const fn ministack(value: &'static str) -> Except {
    Except { engine: Engine::MiniStack, value }
}

impl Fact {
    /// One in which every engine does as AWS does.
    #[must_use]
    pub const fn alike(what: &'static str, aws: &'static str) -> Self {
        Self { what, aws, except: &[], note: "" }
    }

    /// The same, but for these engines; `note` says why, and what of it.
    #[must_use]
    pub const fn but(self, except: &'static [Except], note: &'static str) -> Self {
        Self { except, note, ..self }
    }

    /// What is expected of an engine.
    #[must_use]
    pub fn expected(&self, engine: Engine) -> &'static str {
        let except = self.except.iter().find(|except| except.engine == engine);
        except.map_or(self.aws, |except| except.value)
    }
}

#[derive(Debug, Default)]
struct Notes {
    seen: BTreeSet<&'static str>,
    wrong: Vec<String>,
}

/// What one test saw on one engine.
#[derive(Debug, Clone)]
pub struct Seen {
    engine: Engine,
    notes: Arc<Mutex<Notes>>,
}

impl Seen {
    /// Nothing yet.
    #[must_use]
    pub fn on(engine: Engine) -> Self {
        Self { engine, notes: Arc::default() }
    }

    /// Notes what was seen of a fact.
    ///
    /// # Panics
    /// If another thread of this test panicked.
    pub fn fact(&self, fact: &'static Fact, found: impl Display) {
        let (found, expected) = (found.to_string(), fact.expected(self.engine));
        let mut notes = self.notes.lock().expect("no panic");
        notes.seen.insert(fact.what);
        if found != expected {
            let what = fact.what;
            notes.wrong.push(format!("{what}: declared is {expected:?}, found {found:?}"));
        }
    }

    /// Whether all of `facts` were seen, and as declared.
    ///
    /// # Errors
    /// What was not, one a line.
    ///
    /// # Panics
    /// If a thread of this test panicked.
    pub fn check(&self, facts: &[&'static Fact]) -> Result<(), String> {
        let notes = self.notes.lock().expect("no panic");
        let declared: BTreeSet<&str> = facts.iter().map(|fact| fact.what).collect();
        let unseen = facts.iter().filter(|fact| !notes.seen.contains(fact.what));
        let unseen = unseen.map(|fact| format!("{}: was never looked at", fact.what));
        let foreign = notes.seen.iter().filter(|what| !declared.contains(**what));
        let foreign = foreign.map(|what| format!("{what}: is not declared for this test"));
        let all: Vec<String> = notes.wrong.iter().cloned().chain(unseen).chain(foreign).collect();
        if all.is_empty() { Ok(()) } else { Err(all.join("\n")) }
    }
}
