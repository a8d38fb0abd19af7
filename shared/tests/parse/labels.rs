//! Display names and search attributes.

use serde_json::{Value, json};

use super::{accepted, check_command};

#[test]
fn labels_outside_their_bounds_are_refused_and_those_at_it_are_not() {
    let start = |fields: Value| json!({"start": fields});
    let limit = "1 to 256 bytes";
    let field = "command.start.display_name";
    check_command(start(json!({"display_name": ""})), field, limit, "0 bytes");
    check_command(start(json!({"display_name": "é".repeat(129)})), field, limit, "258 bytes");
    accepted(start(json!({"display_name": "é".repeat(128)})));
    let field = "command.start.attributes.a";
    let scalar = "a text, a whole number of 64 bits, true or false";
    check_command(start(json!({"attributes": {"a": 1.5}})), field, scalar, "floating point `1.5`");
    check_command(start(json!({"attributes": {"a": null}})), field, scalar, "null");
    check_command(start(json!({"attributes": {"a": [1]}})), field, scalar, "sequence");
    let huge = u64::MAX.to_string();
    let found = format!("integer `{huge}`");
    check_command(start(json!({"attributes": {"a": u64::MAX}})), field, scalar, &found);
    let long = json!({"attributes": {"a": "x".repeat(257)}});
    check_command(start(long), field, "at most 256 bytes", "257 bytes");
    let append =
        |attributes: Value| json!({"append": {"expected_seq": 1, "attributes": attributes}});
    accepted(append(json!({"a": null, "b": "x".repeat(256), "c": i64::MIN})));
    let many: serde_json::Map<_, _> = (0..33).map(|n| (format!("a{n}"), Value::Null)).collect();
    let field = "command.append.attributes";
    check_command(append(json!(many)), field, "at most 32 at once", "33");
    let name = "n".repeat(65);
    check_command(append(json!({name.clone(): 1})), field, "names of at most 64 bytes", &name);
}
