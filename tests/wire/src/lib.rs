//! The wire format against its papers: `docs/wire.md` and `docs/schemas/`.
//!
//! It generates the JSON Schema of each message from the type that the fleet
//! reads or writes. A message that the fleet reads has the schema of what it
//! accepts; a message that it writes has the schema of what readers may rely
//! on, so a field that is always there is *required* in it.
//!
//! It promises nothing about bounds that JSON Schema can't say (a plan without
//! cycles, bytes of a payload): `everlog::command::parse` has the last word, and
//! `docs/wire.md` lists them.
//!
//! It fails with the name of the file and what to do. Next: `tests/`.

use std::path::PathBuf;

use everlog::answer::Answer;
use everlog::command::Command;
use everlog::message::{DeadLetter, Dispatch, LeftOver, Wake};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Every kind of message, as `docs/wire.md` and `docs/schemas/` name it.
pub const MESSAGES: [&str; 6] =
    ["command", "answer", "dispatch", "wake", "left-over", "dead-letter"];

/// The schema of a kind of message; `None` if there is no such kind.
#[must_use]
pub fn schema(message: &str) -> Option<Value> {
    Some(match message {
        "command" => read::<Command>(),
        "answer" => written::<Answer>(),
        "dispatch" => written::<Dispatch>(),
        "wake" => read::<Wake>(),
        "left-over" => read::<LeftOver>(),
        "dead-letter" => written::<DeadLetter>(),
        _ => return None,
    })
}

fn read<T: JsonSchema>() -> Value {
    of::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

fn written<T: JsonSchema>() -> Value {
    of::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn of<T: JsonSchema>(settings: SchemaSettings) -> Value {
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// A file of the repository.
#[must_use]
pub fn in_repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The fenced blocks of a Markdown text: the words after the fence, and the
/// content, in order.
#[must_use]
pub fn fenced(markdown: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in markdown.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => open = Some((info.trim().to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, content))) => {
                content.push_str(line);
                content.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}
