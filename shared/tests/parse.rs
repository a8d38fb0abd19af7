//! Every way in which a command can be wrong is refused by name: the field,
//! the bound, the value. What could be read of it is kept to answer it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use everlog::answer::Reply;
use everlog::command::{Command, Unreadable, Verb, parse};
use everlog::limits;
use serde_json::{Value, json};

fn body(command: Value) -> String {
    json!({"id": "c", "workflow": "w", "reply_to": "answers", "command": command}).to_string()
}

fn refused(body: &str) -> Unreadable {
    *parse(body).expect_err("it is refused")
}

/// Field, bound and value of the refusal; what can be read is kept.
#[track_caller]
fn check(body: &str, field: &str, limit: &str, value: &str) {
    let unreadable = refused(body);
    let invalid = &unreadable.invalid;
    let found = (invalid.field.as_str(), invalid.limit.as_str(), invalid.value.as_str());
    assert_eq!(found, (field, limit, value));
}

/// The same for what a verb holds.
#[track_caller]
fn check_command(command: Value, field: &str, limit: &str, value: &str) {
    let body = body(command);
    check(&body, field, limit, value);
    let unreadable = refused(&body);
    assert_eq!(unreadable.id.unwrap().as_str(), "c");
    assert_eq!(unreadable.namespace.unwrap().as_str(), "default");
    assert_eq!(unreadable.workflow.unwrap().as_str(), "w");
    assert_eq!(unreadable.reply_to.unwrap().as_str(), "answers");
}

#[track_caller]
fn check_plan(plan: Value, field: &str, limit: &str, value: &str) {
    check_command(json!({"start": {"plan": plan}}), field, limit, value);
}

fn accepted(command: Value) -> Command {
    parse(&body(command)).unwrap_or_else(|unreadable| panic!("{}", unreadable.invalid))
}

const ID_RULE: &str = "1 to 256 bytes of [A-Za-z0-9._:/@-]";
const KEY: &str = "00112233445566778899aabbccddeeff";
const VERBS: &str = "one of `start`, `append`, `claim`, `prepare`, `receipt`, `heartbeat`, \
                     `settle`, `signal`, `pause`, `resume`, `cancel`, `reopen`, `delete`, \
                     `hold`, `release`";
const DURATION: &str = "1 to 315360000000 milliseconds";

fn attempt() -> Value {
    json!({"node": "a", "attempt": 1, "dispatch_key": KEY})
}

/// A plan of one task with these fields.
fn one_task(fields: Value) -> Value {
    let mut task = fields;
    task["id"] = json!("a");
    json!({"tasks": [task]})
}

#[test]
fn what_is_no_json_is_refused_and_nothing_of_it_is_known() {
    check("", "body", "well-formed JSON", "EOF while parsing a value");
    check("{", "body", "well-formed JSON", "EOF while parsing an object");
    check("nonsense", "body", "well-formed JSON", "expected ident");
    check("{\"id\":", "id", "well-formed JSON", "EOF while parsing a value");
    let cut = "{\"id\":\"a\",\"command\":{\"start\":{\"plan\":{\"tasks\":[";
    check(cut, "command.start.plan.tasks", "well-formed JSON", "EOF while parsing a list");
    check("{\"id\":1e999}", "id", "well-formed JSON", "number out of range");
    let unreadable = refused("nonsense");
    assert_eq!((unreadable.id, unreadable.workflow, unreadable.reply_to), (None, None, None));
}

#[test]
fn json_nested_without_end_is_refused_and_a_deep_payload_is_kept_as_it_is() {
    let deep = "[".repeat(100_000);
    let unreadable = refused(&format!("{{\"id\":\"a\",\"command\":{deep}"));
    assert_eq!(unreadable.invalid.limit, "well-formed JSON");
    let deep = format!("{deep}{}", "]".repeat(100_000));
    let body = body(json!({"signal": {"name": "n", "payload": 0}}));
    let command = parse(&body.replace("\"payload\":0", &format!("\"payload\":{deep}"))).unwrap();
    let Verb::Signal(signal) = command.command else { panic!("not a signal") };
    assert_eq!(serde_json::to_string(&signal.payload).unwrap(), deep);
}

#[test]
fn what_is_no_object_or_more_than_one_is_refused() {
    check("null", "body", "struct Command", "null");
    check("7", "body", "struct Command", "integer `7`");
    let two = format!("{} {{}}", body(json!({"pause": {}})));
    check(&two, "body", "one JSON object", "more after it");
}

#[test]
fn a_missing_field_is_named() {
    check("{}", "id", "to be given", "nothing");
    let without = |name: &str| {
        let mut command: Value = serde_json::from_str(&body(json!({"pause": {}}))).unwrap();
        command.as_object_mut().unwrap().remove(name);
        command.to_string()
    };
    for name in ["id", "workflow", "command"] {
        check(&without(name), name, "to be given", "nothing");
    }
    let nothing = "nothing";
    check_command(json!({"append": {}}), "command.append.expected_seq", "to be given", nothing);
    check_command(json!({"signal": {}}), "command.signal.name", "to be given", nothing);
    let claim = json!({"claim": {"owner": {"owner": "a"}}});
    check_command(claim, "command.claim.owner.instance", "to be given", nothing);
    let settle = json!({"settle": {"attempt": attempt()}});
    check_command(settle, "command.settle.outcome", "to be given", nothing);
    check_plan(json!({}), "command.start.plan.tasks", "to be given", nothing);
}

#[test]
fn a_field_given_twice_is_named() {
    check("{\"id\":\"a\",\"id\":\"b\"}", "id", "to be given once", "twice");
    let twice = body(json!({"pause": {}})).replace("{}", "{\"reason\":\"a\",\"reason\":\"b\"}");
    check(&twice, "command.pause.reason", "to be given once", "twice");
}

#[test]
fn an_unknown_command_is_refused_with_those_that_there_are() {
    check_command(json!({"explode": {}}), "command", VERBS, "unknown variant `explode`");
    let outcomes = "one of `succeeded`, `failed`, `cancelled`, `lost`";
    for unknown in ["exploded", "timed_out"] {
        let settle = json!({"settle": {"attempt": attempt(), "outcome": {unknown: {}}}});
        let value = format!("unknown variant `{unknown}`");
        check_command(settle, "command.settle.outcome", outcomes, &value);
    }
    let endings = "one of `completed`, `failed`, `cancelled`, `timed_out`";
    let close = json!({"append": {"expected_seq": 0, "close": {"ending": "exploded"}}});
    check_command(close, "command.append.close.ending", endings, "unknown variant `exploded`");
}

#[test]
fn no_command_and_two_commands_are_refused() {
    let (limit, value) = ("exactly one alternative", "none or several");
    check_command(json!({}), "command", limit, value);
    check_command(json!({"pause": {}, "resume": {}}), "command", limit, value);
    assert!(parse(&body(json!("pause"))).is_err());
}

#[test]
fn an_unknown_field_is_refused_at_every_depth() {
    let fields = "one of `id`, `namespace`, `workflow`, `incarnation`, `issued_at`, `after_seq`, \
                  `reply_to`, `command`";
    let extra = json!({"id": "a", "workflow": "w", "x": 1, "command": {"pause": {}}}).to_string();
    check(&extra, "x", fields, "unknown field `x`");
    let why = "unknown field `why`";
    check_command(json!({"pause": {"why": 1}}), "command.pause.why", "`reason`", why);
    check_command(json!({"resume": {"why": 1}}), "command.resume.why", "no fields", why);
    let plan = json!({"tasks": [{"id": "a"}], "why": 1});
    let fields = "one of `name`, `tasks`, `defaults`, `max_concurrency`, `deadline_ms`, \
                  `attempts_max`";
    check_plan(plan, "command.start.plan.why", fields, why);
    let timeouts = "one of `schedule_to_start_ms`, `start_to_close_ms`, `heartbeat_ms`";
    let task = one_task(json!({"timeouts": {"why": 1}}));
    check_plan(task, "command.start.plan.tasks[0].timeouts.why", timeouts, why);
}

#[test]
fn an_unknown_field_of_an_outcome_is_refused_and_no_output_gets_lost() {
    let settle = |outcome: Value| json!({"settle": {"attempt": attempt(), "outcome": outcome}});
    let outcome = "command.settle.outcome";
    let (field, value) = (format!("{outcome}.succeeded.result"), "unknown field `result`");
    check_command(settle(json!({"succeeded": {"result": 1}})), &field, "`output`", value);
    let (field, value) = (format!("{outcome}.cancelled.why"), "unknown field `why`");
    check_command(settle(json!({"cancelled": {"why": 1}})), &field, "no fields", value);
}

#[test]
fn ids_outside_their_bound_are_refused_and_those_at_it_are_not() {
    let with = |name: &str, value: &str| {
        let mut command: Value = serde_json::from_str(&body(json!({"pause": {}}))).unwrap();
        command[name] = json!(value);
        command.to_string()
    };
    for name in ["id", "workflow", "namespace", "reply_to"] {
        check(&with(name, &"a".repeat(257)), name, ID_RULE, "257 bytes");
        check(&with(name, ""), name, ID_RULE, "0 bytes");
        check(&with(name, "a#b"), name, ID_RULE, "character '#'");
        check(&with(name, "é"), name, ID_RULE, "character 'é'");
        check(&with(name, "a b"), name, ID_RULE, "character ' '");
        assert!(parse(&with(name, &"a".repeat(256))).is_ok());
        assert!(parse(&with(name, "aZ09._:/@-")).is_ok());
    }
    check_command(json!({"signal": {"name": 5}}), "command.signal.name", "a string", "integer `5`");
    let kind = json!({"append": {"expected_seq": 0, "events": [{"kind": "k"}, {"kind": ""}]}});
    check_command(kind, "command.append.events[1].kind", ID_RULE, "0 bytes");
    let mut short = attempt();
    short["dispatch_key"] = json!("zz");
    let receipt = json!({"receipt": {"attempt": short, "worker": "w"}});
    let field = "command.receipt.attempt.dispatch_key";
    check_command(receipt, field, "32 hexadecimal digits", "2 characters");
}

#[test]
fn what_can_be_read_of_a_refused_command_is_kept_to_answer_it() {
    let body = json!({
        "id": "c1", "namespace": "n1", "workflow": "w1", "reply_to": "r1", "command": {"no": {}},
    });
    let unreadable = refused(&body.to_string());
    let answer = unreadable.answer();
    assert_eq!(answer.command.unwrap().as_str(), "c1");
    assert_eq!(answer.namespace.unwrap().as_str(), "n1");
    assert_eq!(answer.workflow.unwrap().as_str(), "w1");
    assert_eq!(unreadable.reply_to.unwrap().as_str(), "r1");
    let Reply::Rejected { rejection, retryable } = answer.reply else { panic!("not rejected") };
    assert_eq!((rejection.kind(), retryable), ("invalid_input", false));

    let mut half = body.clone();
    half["id"] = json!("a b");
    half["workflow"] = json!(7);
    let unreadable = refused(&half.to_string());
    assert_eq!((unreadable.id, unreadable.workflow), (None, None));
    assert_eq!(unreadable.reply_to.unwrap().as_str(), "r1");

    let mut other = body;
    other["namespace"] = json!("a b");
    assert_eq!(refused(&other.to_string()).namespace, None, "never that of somebody else");
}

#[test]
fn negative_huge_and_broken_numbers_are_refused() {
    let with = |name: &str, number: &str| {
        body(json!({"pause": {}})).replacen('{', &format!("{{\"{name}\":{number},"), 1)
    };
    for name in ["issued_at", "after_seq", "incarnation"] {
        check(&with(name, "-1"), name, "u64", "integer `-1`");
        check(&with(name, "1.5"), name, "u64", "floating point `1.5`");
        check(&with(name, "99999999999999999999999"), name, "u64", "floating point `1e+23`");
        check(&with(name, "\"x, expected y\""), name, "u64", "string \"x, expected y\"");
    }
    let ceiling = "at most 32503680000000 milliseconds since 1970";
    let late = limits::TIME_MS_MAX + 1;
    let value = format!("integer `{late}`");
    check(&with("issued_at", &late.to_string()), "issued_at", ceiling, &value);
    assert!(parse(&with("issued_at", &limits::TIME_MS_MAX.to_string())).is_ok());
    check_command(json!({"start": {"deadline": late}}), "command.start.deadline", ceiling, &value);
    let start = |field: &str, number: i64| json!({"start": {field: number}});
    let field = "command.start.max_concurrency";
    check_command(start("max_concurrency", -1), field, "u32", "integer `-1`");
    check_command(start("max_concurrency", 1 << 32), field, "u32", "integer `4294967296`");
    check_command(start("max_concurrency", 0), field, "at least 1", "0");
    check_command(start("attempts_max", 0), "command.start.attempts_max", "at least 1", "0");
}

#[test]
fn a_payload_above_its_bound_is_refused_and_one_at_it_is_not() {
    // The quotes of a JSON string count.
    let signal = |bytes: usize| json!({"signal": {"name": "n", "payload": "x".repeat(bytes - 2)}});
    let limit = "a payload of at most 262144 bytes";
    let most = limits::PAYLOAD_BYTES_MAX;
    check_command(signal(most + 1), "command.signal.payload", limit, "262145 bytes");
    accepted(signal(most));
    let task = one_task(json!({"input": "x".repeat(300_000)}));
    check_plan(task, "command.start.plan.tasks[0].input", limit, "300002 bytes");
}

#[test]
fn an_append_above_its_bounds_is_refused() {
    let many = |item: Value| vec![item; 101];
    let append =
        |field: &str, items: Vec<Value>| json!({"append": {"expected_seq": 0, field: items}});
    let intent = json!({"node": "a", "type": "t"});
    for (field, item) in [
        ("events", json!({"kind": "k"})),
        ("prepare", intent.clone()),
        ("timers", json!({"timer": "t"})),
    ] {
        let name = format!("command.append.{field}");
        check_command(append(field, many(item.clone())), &name, "at most 100", "101");
        accepted(append(field, vec![item; 100]));
    }
    let half = "x".repeat(200_000);
    let events = vec![json!({"kind": "k", "payload": half}), json!({"kind": "k", "payload": half})];
    let limit = "at most 323584 bytes together";
    check_command(append("events", events), "command.append.events", limit, "400004");
    let mut wrong = intent;
    wrong["attempt"] = json!(0);
    let field = "command.append.prepare[0].attempt";
    check_command(append("prepare", vec![wrong]), field, "1 to 1000", "0");
}

#[test]
fn attempts_activations_and_generations_begin_at_1() {
    let prepare = |field: &str, value: u64| {
        let mut intent = json!({"node": "a", "type": "t"});
        intent[field] = json!(value);
        json!({"prepare": {"intent": intent}})
    };
    let field = "command.prepare.intent.attempt";
    for (value, text) in [(0, "0"), (1_001, "1001")] {
        check_command(prepare("attempt", value), field, "1 to 1000", text);
    }
    check_command(prepare("attempt", 1 << 32), field, "u32", "integer `4294967296`");
    let field = "command.prepare.intent.activation";
    check_command(prepare("activation", 0), field, "at least 1", "0");
    accepted(prepare("attempt", 1_000));
    for part in ["attempt", "activation"] {
        let mut wrong = attempt();
        wrong[part] = json!(0);
        let evidence = json!({"attempt": wrong, "worker": "w"});
        let settle = json!({"settle": {"attempt": wrong, "outcome": {"lost": {}}}});
        let field = |verb: &str| format!("command.{verb}.attempt.{part}");
        check_command(json!({"receipt": evidence}), &field("receipt"), "at least 1", "0");
        check_command(json!({"heartbeat": evidence}), &field("heartbeat"), "at least 1", "0");
        check_command(settle, &field("settle"), "at least 1", "0");
    }
    let owner = |generation: i64| {
        let owner = json!({"owner": "a", "instance": "b", "generation": generation, "token": "t"});
        json!({"claim": {"owner": owner}})
    };
    let field = "command.claim.owner.generation";
    check_command(owner(0), field, "at least 1", "0");
    check_command(owner(-1), field, "u64", "integer `-1`");
}

#[test]
fn reasons_and_time_outs_are_bounded() {
    for verb in ["pause", "cancel"] {
        let with = |bytes: usize| json!({verb: {"reason": "x".repeat(bytes)}});
        let field = format!("command.{verb}.reason");
        check_command(with(1_025), &field, "at most 1024 bytes", "1025 bytes");
        accepted(with(1_024));
    }
    for name in ["schedule_to_start_ms", "start_to_close_ms", "heartbeat_ms"] {
        let with = |ms: u64| {
            let timeouts = json!({ name: ms });
            json!({"prepare": {"intent": {"node": "a", "type": "t", "timeouts": timeouts}}})
        };
        let field = format!("command.prepare.intent.timeouts.{name}");
        check_command(with(0), &field, DURATION, "0");
        let late = limits::DURATION_MS_MAX + 1;
        check_command(with(late), &field, DURATION, &late.to_string());
        accepted(with(limits::DURATION_MS_MAX));
    }
}

#[test]
fn a_stored_plan_is_bounded_and_excludes_another() {
    let stored = |chunks: u64| json!({"upload": KEY, "hash": KEY, "chunks": chunks});
    let field = "command.start.stored_plan.chunks";
    for (chunks, text) in [(0, "0"), (101, "101")] {
        let start = json!({"start": {"stored_plan": stored(chunks)}});
        check_command(start, field, "1 to 100", text);
    }
    let both = json!({"start": {"stored_plan": stored(1), "plan": {"tasks": [{"id": "a"}]}}});
    check_command(both, "command.start.plan", "one of plan and stored_plan", "both");
}

#[test]
fn a_well_formed_command_is_read_with_its_defaults() {
    let command = accepted(json!({"prepare": {"intent": {"node": "a", "type": "t"}}}));
    assert_eq!(command.namespace.as_str(), "default");
    assert_eq!((command.incarnation, command.issued_at, command.after_seq), (None, None, None));
    let Verb::Prepare(prepare) = command.command else { panic!("not a prepare") };
    let intent = &prepare.intent;
    assert_eq!((intent.activation, intent.attempt, intent.queue.as_str()), (1, 1, "default"));
}

#[path = "parse/labels.rs"]
mod labels;
#[path = "parse/plans.rs"]
mod plans;

#[test]
fn bounds_of_a_continuation_and_of_a_reopening_are_named() {
    let append = |next: Value| json!({"append": {"expected_seq": 1, "continue_as_new": next}});
    for field in ["max_concurrency", "attempts_max"] {
        let path = format!("command.append.continue_as_new.{field}");
        check_command(append(json!({field: 0})), &path, "at least 1", "0");
    }
    let mut both = append(json!({}));
    both["append"]["close"] = json!({"ending": "completed"});
    check_command(both, "command.append.continue_as_new", "no close beside it", "both");
    let reopen = json!({"reopen": {"reason": "x".repeat(1025)}});
    check_command(reopen, "command.reopen.reason", "at most 1024 bytes", "1025 bytes");
}
