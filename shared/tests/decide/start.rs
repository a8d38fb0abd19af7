//! Start: planned and driven, repeated, contradicting, and its deadline.

use everlog::Rejection;
use everlog::event::{Ending, Event};
use everlog::plan::{PlanRef, compile};
use everlog::state::Life;
use serde_json::{Value, json};

use crate::support::{Log, MINUTE, T0, reference, spec, task_list};

fn start_with_deadline(deadline: u64) -> Value {
    json!({"start": {"deadline": deadline}})
}

#[test]
fn a_driven_start_opens_the_run_and_prepares_nothing() {
    let log = Log::driven();
    assert_eq!(log.state.life, Life::Open);
    assert_eq!((log.state.head, log.state.status()), (1, "running"));
    assert!(log.state.attempts.is_empty() && log.state.plan().is_none());
    let run = log.state.run.as_ref().unwrap();
    assert_eq!((run.workflow_type.as_str(), run.attempts_max), ("workflow", 1_000));
    assert_eq!((run.number, run.commit, run.started_at), (1, 1, T0));
}

#[test]
fn a_planned_start_prepares_every_task_that_waits_for_none() {
    let log = Log::tasks(&["a", "b", "c:a,b"]);
    assert_eq!(log.phases(), "aaw");
    assert!(matches!(log.events()[0], Event::Started(_)));
    assert_eq!(log.events().len(), 3);
    assert_eq!(log.state.consumed, 2);
}

#[test]
fn the_same_start_again_changes_nothing_and_names_its_commit() {
    let mut log = Log::new();
    let start = json!({"start": {"plan": {"tasks": task_list(&["a"])}}});
    log.tell_as("s", start.clone()).committed();
    let again = log.tell_as("s", start.clone()).unchanged();
    assert_eq!(again.repeat_of, Some(1));
    log.succeed("a");
    assert_eq!(log.state.ending(), Some(Ending::Completed));
    let late = log.tell_as("s", start).unchanged();
    assert_eq!(late.repeat_of, Some(1), "after the end, too");
}

#[test]
fn a_start_by_another_command_is_a_conflict() {
    let mut log = Log::driven();
    let what = log.tell(json!({"start": {}})).conflict();
    assert_eq!(what, "the workflow exists and is running");
    log.tell(json!({"cancel": {}})).committed();
    let what = log.tell(json!({"start": {}})).conflict();
    assert_eq!(what, "the workflow exists and is cancelled");
}

#[test]
fn a_deadline_in_the_past_or_exactly_now_is_refused() {
    for deadline in [T0.0 - 1, T0.0] {
        let mut log = Log::new();
        let Rejection::InvalidInput(invalid) = log.tell(start_with_deadline(deadline)).rejected()
        else {
            panic!("not invalid input");
        };
        assert_eq!(invalid.field, "command.start.deadline");
        assert_eq!(invalid.limit, format!("later than now, {}", T0.0));
        assert_eq!(invalid.value, deadline.to_string());
        assert_eq!(log.state.life, Life::Nothing);
    }
}

#[test]
fn a_deadline_a_millisecond_from_now_is_accepted_and_due_then() {
    let mut log = Log::new();
    log.tell(start_with_deadline(T0.0 + 1)).committed();
    assert_eq!(log.state.run.as_ref().unwrap().deadline, Some(T0.plus_ms(1)));
    assert_eq!(log.state.earliest_due(), Some(T0.plus_ms(1)));
}

#[test]
fn the_earlier_of_the_starts_and_the_plans_deadline_counts() {
    for (own, plans, counts) in [(5, 9, 5), (9, 5, 5)] {
        let mut log = Log::new();
        let plan = json!({"tasks": [{"id": "a"}], "deadline_ms": plans * MINUTE});
        let deadline = T0.0 + own * MINUTE;
        log.tell(json!({"start": {"plan": plan, "deadline": deadline}})).committed();
        let found = log.state.run.as_ref().unwrap().deadline;
        assert_eq!(found, Some(T0.plus_ms(counts * MINUTE)));
    }
}

#[test]
fn a_small_plan_travels_in_the_start_and_a_large_one_is_referred_to() {
    let small = Log::tasks(&["a", "b:a"]);
    let Event::Started(started) = &small.events()[0] else { panic!("no start") };
    assert!(matches!(started.plan, Some(PlanRef::Inline(_))));

    let names: Vec<String> = (0..600).map(|at| format!("task-{}", at * 7_919)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let large = Log::tasks(&names);
    let Event::Started(started) = &large.events()[0] else { panic!("no start") };
    assert!(matches!(started.plan, Some(PlanRef::Stored(_))));
    let plan = compile(&spec(json!({"tasks": task_list(&names)}))).unwrap();
    assert!(matches!(reference(&plan), PlanRef::Stored(_)));
}

#[test]
fn caps_come_from_the_start_then_the_plan_then_the_defaults() {
    let attempts_max = |start: Value| {
        let mut log = Log::new();
        log.tell(json!({ "start": start })).committed();
        log.state.run.unwrap().attempts_max
    };
    let tasks =
        |count: usize| -> Value { (0..count).map(|at| json!({"id": at.to_string()})).collect() };
    assert_eq!(attempts_max(json!({"plan": {"tasks": tasks(1)}})), 1_000);
    assert_eq!(attempts_max(json!({"plan": {"tasks": tasks(300)}})), 1_200, "four a node");
    assert_eq!(attempts_max(json!({"plan": {"tasks": tasks(1), "attempts_max": 5}})), 5);
    let both = json!({"plan": {"tasks": tasks(1), "attempts_max": 5}, "attempts_max": 9});
    assert_eq!(attempts_max(both), 9);
}

#[test]
fn the_smaller_of_the_starts_and_the_plans_concurrency_counts() {
    for (own, plans) in [(1, 2), (2, 1)] {
        let mut log = Log::new();
        let plan = json!({"tasks": task_list(&["a", "b", "c"]), "max_concurrency": plans});
        log.tell(json!({"start": {"plan": plan, "max_concurrency": own}})).committed();
        assert_eq!(log.phases(), "aww");
    }
}

#[test]
fn the_type_is_the_starts_or_the_plans_or_workflow() {
    let type_of = |start: Value| {
        let mut log = Log::new();
        log.tell(json!({ "start": start })).committed();
        log.state.run.unwrap().workflow_type.to_string()
    };
    let plan = json!({"name": "from-plan", "tasks": [{"id": "a"}]});
    assert_eq!(type_of(json!({"type": "own", "plan": plan})), "own");
    assert_eq!(type_of(json!({"plan": plan})), "from-plan");
    assert_eq!(type_of(json!({})), "workflow");
}

#[test]
fn a_plan_of_nothing_but_passed_waits_ends_in_the_commit_that_starts_it() {
    let log = Log::planned(json!({"tasks": [
        {"id": "s", "sleep_ms": 0}, {"id": "t", "sleep_ms": 0, "after": ["s"]},
    ]}));
    assert_eq!(log.commits.len(), 1);
    assert_eq!(log.state.ending(), Some(Ending::Completed));
}

#[test]
fn every_other_command_for_what_was_never_started_is_not_found() {
    let commands = [
        json!({"append": {"expected_seq": 0}}),
        json!({"claim": {"owner": crate::support::owner(1)}}),
        json!({"prepare": {"intent": crate::support::intent("a", 1)}}),
        json!({"receipt": {"attempt": crate::support::attempt("a", 1), "worker": "w"}}),
        json!({"heartbeat": {"attempt": crate::support::attempt("a", 1), "worker": "w"}}),
        json!({"settle": {"attempt": crate::support::attempt("a", 1), "outcome": {"lost": {}}}}),
        json!({"pause": {}}),
        json!({"resume": {}}),
        json!({"cancel": {}}),
    ];
    for command in commands {
        let rejection = Log::new().tell(command.clone()).rejected();
        assert_eq!(rejection.kind(), "not_found", "{command}");
    }
}
