//! Configuration, read from the environment once, at start.
//!
//! | variable | meaning |
//! |---|---|
//! | `EVERLOG_TABLE` | name of the table |
//! | `EVERLOG_QUEUES` | JSON object: logical queue name → queue URL |
//! | `EVERLOG_FLEET` | name of the deployment, for metrics; the table's where absent |
//! | `EVERLOG_SCHEMA` | schema to write; the newest where absent |
//! | `EVERLOG_RETENTION_DAYS` | days after which what has ended is deleted; 0 or absent: never |
//!
//! Messages name queues by logical names alone, so nobody can make the fleet
//! send anywhere else.

use std::collections::BTreeMap;

use crate::commit::SCHEMA_READ_MAX;
use crate::id::QueueName;
use crate::limits::RETENTION_DAYS_MAX;

/// The queue of `append`.
pub const APPEND: &str = "append";
/// The queue of `prepare`.
pub const PREPARE: &str = "prepare";
/// The queue of `settle`.
pub const SETTLE: &str = "settle";
/// The queue of wakes; a standard one.
pub const WAKE: &str = "wake";
/// The queue of what relay could not hand over.
pub const OUTBOX: &str = "outbox";
/// The queue of what was given up.
pub const DEAD_LETTER: &str = "dead-letter";

/// The queue of messages for workflows whose log does not fold; FIFO.
pub const QUARANTINE: &str = "quarantine";

/// The fleet's own queues. All others are task and reply queues.
pub const OWN: [&str; 7] = [APPEND, PREPARE, SETTLE, WAKE, OUTBOX, DEAD_LETTER, QUARANTINE];

/// What the environment must say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The deployment.
    pub fleet: String,
    /// The table.
    pub table: String,
    /// Addresses of the queues.
    pub queues: Queues,
    /// The schema to write.
    pub schema: u16,
    /// Milliseconds after which what has ended is deleted; never where absent.
    pub retention_ms: Option<u64>,
}

/// Addresses of queues by logical name.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(transparent)]
pub struct Queues(BTreeMap<String, String>);

/// A variable that is missing or wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("environment variable {name}: {why}")]
pub struct ConfigError {
    /// Which one.
    pub name: &'static str,
    /// What is wrong with it.
    pub why: String,
}

impl Config {
    /// Reads the environment.
    ///
    /// # Errors
    /// [`ConfigError`] names the variable.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_lookup(|name| std::env::var(name).ok())
    }

    /// Reads variables through `lookup`.
    ///
    /// # Errors
    /// [`ConfigError`] names the variable.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let need = |name: &'static str| {
            lookup(name)
                .filter(|v| !v.is_empty())
                .ok_or(ConfigError { name, why: "is not set".into() })
        };
        let queues = Queues::from_json(&need("EVERLOG_QUEUES")?)?;
        let schema = match lookup("EVERLOG_SCHEMA") {
            None => SCHEMA_READ_MAX,
            Some(text) => {
                let parsed = text.parse().ok().filter(|s| (1..=SCHEMA_READ_MAX).contains(s));
                parsed.ok_or(ConfigError {
                    name: "EVERLOG_SCHEMA",
                    why: format!("expected 1 to {SCHEMA_READ_MAX}, found {text}"),
                })?
            }
        };
        let retention_ms = match lookup("EVERLOG_RETENTION_DAYS").filter(|text| !text.is_empty()) {
            None => None,
            Some(text) => retention_ms(&text)?,
        };
        let table = need("EVERLOG_TABLE")?;
        let fleet = need("EVERLOG_FLEET").unwrap_or_else(|_| table.clone());
        Ok(Self { fleet, table, queues, schema, retention_ms })
    }
}

/// Days as `EVERLOG_RETENTION_DAYS` has them, in milliseconds; 0 is never.
///
/// # Errors
/// [`ConfigError`] names the variable and its bounds.
pub fn retention_ms(days: &str) -> Result<Option<u64>, ConfigError> {
    let parsed = days.parse::<u64>().ok().filter(|days| *days <= RETENTION_DAYS_MAX);
    let days = parsed.ok_or_else(|| ConfigError {
        name: "EVERLOG_RETENTION_DAYS",
        why: format!("expected 0 to {RETENTION_DAYS_MAX}, found {days}"),
    })?;
    Ok(Some(days * 24 * 3_600_000).filter(|ms| *ms > 0))
}

impl Queues {
    /// Queues from pairs of logical name and URL.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().collect())
    }

    /// Queues as `EVERLOG_QUEUES` has them.
    ///
    /// # Errors
    /// [`ConfigError`] names the variable.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        serde_json::from_str(text).map_err(|e| ConfigError {
            name: "EVERLOG_QUEUES",
            why: format!("must be a JSON object of queue URLs: {e}"),
        })
    }

    /// The URL of a queue.
    #[must_use]
    pub fn url(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether there is such a queue for dispatches and answers: the fleet's
    /// own queues take messages of other kinds, and no function may send there
    /// what a caller names.
    #[must_use]
    pub fn offers(&self, name: &QueueName) -> bool {
        self.0.contains_key(name.as_str()) && !OWN.contains(&name.as_str())
    }

    /// The logical name of the queue whose URL ends with this physical name.
    #[must_use]
    pub fn named(&self, physical: &str) -> Option<&str> {
        let is = |url: &String| url.rsplit('/').next() == Some(physical);
        self.0.iter().find(|(_, url)| is(url)).map(|(name, _)| name.as_str())
    }

    /// All logical names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(table: &str, queues: &str) -> Result<Config, ConfigError> {
        Config::from_lookup(|name| match name {
            "EVERLOG_TABLE" => Some(table.to_owned()),
            "EVERLOG_QUEUES" => Some(queues.to_owned()),
            _ => None,
        })
    }

    #[test]
    fn a_missing_variable_is_named() {
        assert_eq!(lookup("", "{}").unwrap_err().name, "EVERLOG_TABLE");
        assert_eq!(lookup("t", "[]").unwrap_err().name, "EVERLOG_QUEUES");
    }

    #[test]
    fn days_of_retention_are_0_to_3650_and_0_is_never() {
        assert_eq!(retention_ms("0"), Ok(None));
        assert_eq!(retention_ms("1"), Ok(Some(86_400_000)));
        assert_eq!(retention_ms("3650"), Ok(Some(3_650 * 86_400_000)));
        for wrong in ["3651", "-1", "1.5", "a week"] {
            assert_eq!(retention_ms(wrong).unwrap_err().name, "EVERLOG_RETENTION_DAYS", "{wrong}");
        }
    }

    #[test]
    fn queues_are_found_by_logical_and_physical_name() {
        let config = lookup("t", r#"{"append":"https://sqs/1/prod-append.fifo"}"#).unwrap();
        assert_eq!(config.queues.url("append"), Some("https://sqs/1/prod-append.fifo"));
        assert_eq!(config.queues.named("prod-append.fifo"), Some("append"));
        assert_eq!(config.queues.url("other"), None);
    }
}
