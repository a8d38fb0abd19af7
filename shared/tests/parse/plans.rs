//! Plans that are refused, each by the path of its field.

use everlog::limits;
use serde_json::{Value, json};

use super::{DURATION, ID_RULE, accepted, check_plan, one_task};

fn field(path: &str) -> String {
    format!("command.start.plan.{path}")
}

#[track_caller]
fn check(plan: Value, path: &str, limit: &str, value: &str) {
    check_plan(plan, &field(path), limit, value);
}

fn numbered(count: usize) -> Vec<Value> {
    (0..count).map(|at| json!({"id": at.to_string()})).collect()
}

fn after(id: &str, after: &[&str]) -> Value {
    json!({"id": id, "after": after})
}

#[test]
fn an_empty_plan_and_one_above_its_bound_are_refused_and_one_at_it_is_not() {
    check(json!({"tasks": []}), "tasks", "1 to 10000 tasks", "0");
    check(json!({"tasks": numbered(10_001)}), "tasks", "1 to 10000 tasks", "10001");
    accepted(json!({"start": {"plan": {"tasks": numbered(10_000)}}}));
}

#[test]
fn edges_above_their_bound_are_refused_and_at_it_are_not() {
    let first: Vec<String> = (0..200).map(|at| at.to_string()).collect();
    let plan = |edges: usize| {
        let mut tasks = numbered(200);
        for at in 0..edges.div_ceil(200) {
            let count = (edges - at * 200).min(200);
            tasks.push(json!({"id": format!("x{at}"), "after": first[..count]}));
        }
        json!({ "tasks": tasks })
    };
    check(plan(100_001), "tasks", "at most 100000 edges", "100001");
    accepted(json!({"start": {"plan": plan(100_000)}}));
}

#[test]
fn a_name_given_twice_is_refused_with_where_it_was_first() {
    let plan = json!({"tasks": [{"id": "a"}, {"id": "b"}, {"id": "a"}]});
    check(plan, "tasks[2].id", "a name of its own (tasks[0] has it)", "a");
    let plan = json!({"tasks": [{"id": "a"}, {"id": "b c"}]});
    check(plan, "tasks[1].id", ID_RULE, "character ' '");
}

#[test]
fn an_unknown_or_repeated_parent_is_refused() {
    let known = "the id of a task of this plan";
    let plan = json!({"tasks": [after("a", &[]), after("b", &["a", "no"])]});
    check(plan, "tasks[1].after[1]", known, "no");
    let plan = json!({"tasks": [after("a", &[]), after("b", &["a", "a"])]});
    check(plan, "tasks[1].after", "each task once", "a task twice");
}

#[test]
fn a_cycle_is_refused_and_shown() {
    let acyclic = "a graph without cycles";
    check(json!({"tasks": [after("a", &["a"])]}), "tasks", acyclic, "a -> a");
    let two = json!({"tasks": [after("a", &["b"]), after("b", &["a"])]});
    check(two, "tasks", acyclic, "a -> b -> a");
    let three = json!({"tasks": [
        after("start", &[]), after("a", &["start", "c"]), after("b", &["a"]), after("c", &["b"]),
        after("end", &["c"]),
    ]});
    check(three, "tasks", acyclic, "a -> b -> c -> a");
}

#[test]
fn a_long_cycle_is_shown_shortened() {
    let tasks: Vec<Value> =
        (0..100).map(|at| after(&format!("t{at}"), &[&format!("t{}", (at + 99) % 100)])).collect();
    let shown = "t0 -> t1 -> t2 -> t3 -> t4 -> t5 -> t6 -> … -> t0";
    check(json!({"tasks": tasks}), "tasks", "a graph without cycles", shown);
}

#[test]
fn a_task_does_one_thing() {
    let limit = "one of work, sleep_ms and signal";
    for task in [
        json!({"sleep_ms": 1, "signal": "s"}),
        json!({"sleep_ms": 1, "input": 1}),
        json!({"signal": "s", "command": "true"}),
        json!({"sleep_ms": 1, "type": "work"}),
    ] {
        check(one_task(task), "tasks[0]", limit, "more than one");
    }
    let alone = one_task(json!({"signal_timeout_ms": 1}));
    check(alone, "tasks[0].signal_timeout_ms", "only beside a signal", "no signal");
    let empty = one_task(json!({"command": []}));
    check(empty, "tasks[0].command", "at least a program", "an empty list");
    accepted(json!({"start": {"plan": one_task(json!({"command": "true", "input": 1}))}}));
}

#[test]
fn waits_are_bounded() {
    let sleep = |ms: i64| one_task(json!({"sleep_ms": ms}));
    let late = i64::try_from(limits::DURATION_MS_MAX).unwrap() + 1;
    check(sleep(-1), "tasks[0].sleep_ms", "u64", "integer `-1`");
    let limit = "0 to 315360000000 milliseconds";
    check(sleep(late), "tasks[0].sleep_ms", limit, "315360000001");
    accepted(json!({"start": {"plan": sleep(0)}}));
    accepted(json!({"start": {"plan": sleep(late - 1)}}));
    let wait = |ms: i64| one_task(json!({"signal": "s", "signal_timeout_ms": ms}));
    check(wait(0), "tasks[0].signal_timeout_ms", DURATION, "0");
    check(wait(late), "tasks[0].signal_timeout_ms", DURATION, "315360000001");
}

#[test]
fn a_retry_policy_is_bounded_in_a_task_and_in_the_defaults() {
    let cases = [
        ("max_attempts", json!(0), "1 to 1000", "0"),
        ("max_attempts", json!(1_001), "1 to 1000", "1001"),
        ("max_attempts", json!(-1), "u32", "integer `-1`"),
        ("multiplier", json!(0.5), "1 to 10", "0.5"),
        ("multiplier", json!(10.5), "1 to 10", "10.5"),
        ("jitter", json!(1.5), "0 to 1", "1.5"),
        ("jitter", json!(-0.1), "0 to 1", "-0.1"),
        ("initial_ms", json!(-1), "u64", "integer `-1`"),
        (
            "max_ms",
            json!(limits::DURATION_MS_MAX + 1),
            "0 to 315360000000 milliseconds",
            "315360000001",
        ),
    ];
    for (name, value, limit, text) in cases {
        let retry = json!({ name: value });
        let own = one_task(json!({ "retry": retry }));
        check(own, &format!("tasks[0].retry.{name}"), limit, text);
        let shared = json!({"tasks": [{"id": "a"}], "defaults": {"retry": retry}});
        check(shared, &format!("defaults.retry.{name}"), limit, text);
    }
}

#[test]
fn time_outs_are_bounded_in_a_task_and_in_the_defaults() {
    let timeouts = json!({"heartbeat_ms": 0});
    let own = one_task(json!({ "timeouts": timeouts }));
    check(own, "tasks[0].timeouts.heartbeat_ms", DURATION, "0");
    let shared = json!({"tasks": [{"id": "a"}], "defaults": {"timeouts": timeouts}});
    check(shared, "defaults.timeouts.heartbeat_ms", DURATION, "0");
}

#[test]
fn caps_of_a_plan_are_bounded() {
    for (name, limit) in [
        ("max_concurrency", "at least 1"),
        ("attempts_max", "at least 1"),
        ("deadline_ms", DURATION),
    ] {
        check(json!({"tasks": [{"id": "a"}], name: 0}), name, limit, "0");
    }
}

#[test]
fn outputs_are_those_of_tasks_before() {
    let known = "the id of a task of this plan";
    let unknown = one_task(json!({"outputs_of": ["no"]}));
    check(unknown, "tasks[0].outputs_of[0]", known, "no");
    let plan = json!({"tasks": [{"id": "b"}, {"id": "a", "outputs_of": ["b"]}]});
    check(plan, "tasks[1].outputs_of", "a task that this one comes after", "b");
}

#[test]
fn an_unknown_trigger_is_refused() {
    let limit = "one of `success`, `failure`, `always`";
    let never = one_task(json!({"when": "never"}));
    check(never, "tasks[0].when", limit, "unknown variant `never`");
}
