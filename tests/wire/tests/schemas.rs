//! The schemas in `docs/schemas/` are those of the types.

use everlog_wire_tests::{MESSAGES, in_repository, schema};
use serde_json::Value;

/// Set it to rewrite what differs.
const BLESS: &str = "EVERLOG_BLESS";

#[test]
fn the_published_schemas_are_those_of_the_types() {
    let bless = std::env::var(BLESS).is_ok_and(|value| value == "1");
    let mut differ = Vec::new();
    for message in MESSAGES {
        let path = in_repository("docs/schemas").join(format!("{message}.json"));
        let generated = schema(message).expect("a kind of message");
        let published = std::fs::read_to_string(&path).unwrap_or_default();
        if serde_json::from_str::<Value>(&published).is_ok_and(|value| value == generated) {
            continue;
        }
        if bless {
            std::fs::write(&path, format!("{generated:#}\n")).expect("docs/schemas is writable");
        } else {
            differ.push(format!("docs/schemas/{message}.json"));
        }
    }
    assert!(
        differ.is_empty(),
        "{} no longer says what the types say. If the change of the wire format is meant, run\n\n    \
         {BLESS}=1 cargo test -p everlog-wire-tests\n\nand say in docs/wire.md and CHANGELOG.md \
         what users must know.",
        differ.join(", "),
    );
}
