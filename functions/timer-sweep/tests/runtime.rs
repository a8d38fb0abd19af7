//! The binary `timer-sweep` on the Lambda Runtime API, with a table and queues.

use everlog::fleet::Function as Name;
use everlog_runtime_tests::{Function, Outcome, Record, Stack, batch, command, event};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_timer-sweep");
const NONE: [&str; 0] = [];

/// `count` driven workflows from `w-0` on, each with a timer that is overdue,
/// and the function.
async fn fleet(count: u32) -> (Stack, Function) {
    let stack = Stack::start().await;
    for n in 0..count {
        let workflow = format!("w-{n}");
        stack.setup(Name::Append, &command("start", &workflow, json!({ "start": {} }))).await;
        let timer = json!({ "timer": "tea", "fire_at": 1 });
        let arm = json!({ "append": { "expected_seq": 1, "timers": [timer] } });
        stack.setup(Name::Append, &command("arm", &workflow, arm)).await;
        assert_eq!(stack.history(&workflow).await, ["started", "timer_armed"]);
    }
    let sweep = Function::start(BINARY, &stack).await;
    (stack, sweep)
}

fn wake(workflow: &str) -> Value {
    json!({ "namespace": "default", "workflow": workflow })
}

fn names(wakes: &[Value]) -> Vec<&str> {
    let mut names: Vec<&str> = wakes.iter().filter_map(|wake| wake["workflow"].as_str()).collect();
    names.sort_unstable();
    names
}

async fn fired(stack: &Stack, workflow: &str) -> bool {
    stack.history(workflow).await.last().is_some_and(|event| event == "timer_fired")
}

#[tokio::test]
async fn the_schedule_of_a_rule_wakes_every_workflow_whose_alarm_is_due() {
    let (stack, mut sweep) = fleet(3).await;
    assert_eq!(sweep.answer(event("schedule-rule")).await, json!({ "woken": 3 }));
    assert_eq!(names(&stack.bodies("wake").await), ["w-0", "w-1", "w-2"]);
    assert!(!fired(&stack, "w-0").await, "a sweep only lists and sends");
}

#[tokio::test]
async fn the_schedule_of_the_scheduler_wakes_every_workflow_whose_alarm_is_due() {
    let (stack, mut sweep) = fleet(2).await;
    assert_eq!(sweep.answer(event("schedule-scheduler")).await, json!({ "woken": 2 }));
    assert_eq!(names(&stack.bodies("wake").await), ["w-0", "w-1"]);
}

#[tokio::test]
async fn a_sweep_of_nothing_wakes_nobody() {
    let (stack, mut sweep) = fleet(0).await;
    assert_eq!(sweep.answer(event("schedule-rule")).await, json!({ "woken": 0 }));
    assert!(stack.bodies("wake").await.is_empty());
}

#[tokio::test]
async fn what_a_sweep_sends_makes_the_timers_fire_and_the_next_sweep_finds_nothing() {
    let (stack, mut sweep) = fleet(2).await;
    sweep.answer(event("schedule-rule")).await;
    let wakes = stack.receive("wake").await;
    let records = wakes.iter().map(|message| Record {
        receipt_handle: Some(message.receipt_handle.clone()),
        ..Record::new(&message.message_id, &message.body)
    });
    assert_eq!(sweep.serve(batch("wake", records)).await, NONE);
    for workflow in ["w-0", "w-1"] {
        assert_eq!(stack.history(workflow).await, ["started", "timer_armed", "timer_fired"]);
    }
    assert_eq!(sweep.answer(event("schedule-rule")).await, json!({ "woken": 0 }));
}

#[tokio::test]
async fn a_wake_that_is_not_json_is_kept_with_the_reason_and_its_nine_neighbours_are_served() {
    let (stack, mut sweep) = fleet(10).await;
    let records = (0..10).map(|n| match n {
        4 => Record::new("m-4", "{\"namespace\": \"default\"}"),
        n => Record::new(format!("m-{n}"), wake(&format!("w-{n}"))),
    });
    assert_eq!(sweep.serve(batch("wake", records)).await, NONE);
    for n in 0..10 {
        assert_eq!(fired(&stack, &format!("w-{n}")).await, n != 4, "w-{n}");
    }
    let letters = stack.bodies("dead-letter").await;
    assert_eq!(letters.len(), 1);
    assert_eq!((&letters[0]["queue"], &letters[0]["message_id"]), (&json!("wake"), &json!("m-4")));
}

#[tokio::test]
async fn a_wake_in_an_outage_of_its_workflow_is_reported_alone_and_visible_again_soon() {
    let (stack, mut sweep) = fleet(3).await;
    for n in 0..3 {
        stack.send("wake", "", "", &wake(&format!("w-{n}"))).await;
    }
    let received = stack.receive("wake").await;
    let records = received.iter().map(|message| Record {
        receipt_handle: Some(message.receipt_handle.clone()),
        ..Record::new(&message.message_id, &message.body)
    });
    let bad = received.iter().find(|message| message.body.contains("w-1")).unwrap();
    stack.outage_of("w-1");
    assert_eq!(sweep.serve(batch("wake", records)).await, [bad.message_id.as_str()]);
    stack.end_outage();
    assert!(fired(&stack, "w-0").await && fired(&stack, "w-2").await);
    assert!(!fired(&stack, "w-1").await);
    let again = stack.receive_within("wake", 20).await;
    assert_eq!(again.iter().map(|m| &m.message_id).collect::<Vec<_>>(), [&bad.message_id]);
}

#[tokio::test]
async fn a_sweep_in_an_outage_fails_and_the_next_one_does_the_same_work() {
    let (stack, mut sweep) = fleet(1).await;
    stack.outage(|target, _| target.starts_with("DynamoDB"));
    let outcome = sweep.invoke(event("schedule-rule")).await;
    assert!(matches!(&outcome, Outcome::Failed { kind, .. } if kind == "GivenBack"), "{outcome:?}");
    stack.end_outage();
    assert_eq!(sweep.answer(event("schedule-rule")).await, json!({ "woken": 1 }));
}

#[tokio::test]
async fn a_direct_command_is_refused() {
    let (stack, mut sweep) = fleet(0).await;
    let outcome = sweep.invoke(command("c-1", "w-9", json!({ "start": {} }))).await;
    let unreadable = matches!(&outcome, Outcome::Failed { kind, .. } if kind == "Unreadable");
    assert!(unreadable, "{outcome:?}");
    assert_eq!(stack.history("w-9").await, NONE);
}

#[tokio::test]
async fn a_message_without_an_id_fails_the_invocation_before_anything_is_written() {
    let (stack, mut sweep) = fleet(1).await;
    let mut bad = batch("wake", [Record::new("m-1", wake("w-0"))]);
    bad["Records"][0].as_object_mut().unwrap().remove("messageId");
    let outcome = sweep.invoke(bad).await;
    let unreadable = matches!(&outcome, Outcome::Failed { kind, .. } if kind == "Unreadable");
    assert!(unreadable, "{outcome:?}");
    assert!(!fired(&stack, "w-0").await);
}
