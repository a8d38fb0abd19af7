//! One attempt: receipt, heartbeat, outcome, and every way in which they fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use everlog::fleet::Function;
use everlog::worker::{Context, Deadline, Failure, Fate, Interrupt, Output, Task};
use everlog_local::transport::{Handler, NoAnswer};
use everlog_testing::world::command;
use serde_json::{Value, json};

use crate::scene::{Scene, is_settle, losing, pass};

fn receipt(dispatch: &everlog::message::Dispatch, worker: &str) -> Value {
    let evidence = json!({ "attempt": dispatch.attempt_id(), "worker": worker });
    command(&format!("receipt-of-{worker}"), "w", "receipt", evidence)
}

#[tokio::test(start_paused = true)]
async fn the_output_of_one_task_is_the_input_of_the_next() {
    let scene = Scene::new().await;
    scene
        .start(json!([
            { "id": "a", "type": "double", "input": 21 },
            { "id": "b", "after": ["a"], "type": "show", "outputs_of": ["a"] },
        ]))
        .await;
    let work = async |task: Task, _| match task.kind.as_str() {
        "double" => Output::json(&(2 * task.input::<u64>()?)),
        "show" => Output::json(&format!("{}", task.output_of::<u64>("a")?)),
        _ => Err(Failure::unknown_type(&task)),
    };
    let worker = scene.worker("w-1", &scene.direct, work).await;
    let _serving = scene.serve(&worker, &scene.direct);
    assert_eq!(scene.ending(10).await, "completed");
    let settled = scene.events("attempt_settled").await;
    assert_eq!(settled[1].fields["output"], json!("42"));
    assert_eq!(scene.depth().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_another_worker_has_is_dropped_without_running() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a", "timeouts": { "start_to_close_ms": 600_000 } }])).await;
    let dispatch = Scene::dispatch(&scene.receive().await[0]);
    scene.ask(Function::Settle, &receipt(&dispatch, "another")).await;
    let worker = scene.worker("w-1", &scene.direct, async |_, _| panic!("it must not run")).await;
    let fate = worker.perform(dispatch, &Deadline::never()).await;
    assert_eq!(fate, Fate::Done);
    assert!(scene.outcomes().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_receipt_that_nobody_answers_gives_the_dispatch_back_and_is_no_second_workers_later() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a", "timeouts": { "start_to_close_ms": 600_000 } }])).await;
    let dispatch = Scene::dispatch(&scene.receive().await[0]);
    // The receipt lands, and then there is no answer to anything for a minute.
    let (inner, clock) = (scene.direct.clone(), scene.world.backend.clock().clone());
    let (until, landed) = (clock.now().plus_ms(60_000), AtomicBool::new(false));
    let handler: Handler = Arc::new(move |call| {
        let out = call.target.starts_with("DynamoDB") && clock.now() < until;
        let put = call.target.ends_with(".PutItem");
        if out && landed.fetch_or(put, Ordering::SeqCst) {
            return Box::pin(async { Err(NoAnswer) });
        }
        let answer = inner(call);
        Box::pin(async move {
            let answer = answer.await;
            if out && put { Err(NoAnswer) } else { answer }
        })
    });
    let worker = scene.worker("w-1", &handler, async |_, _| Ok(Output::NONE)).await;
    let fate = worker.perform(dispatch.clone(), &Deadline::never()).await;
    assert!(matches!(fate, Fate::Again(_)), "{fate:?}");
    pass(60).await;
    assert_eq!(worker.perform(dispatch, &Deadline::never()).await, Fate::Done);
    assert_eq!(scene.ending(10).await, "completed");
    assert_eq!(scene.events("attempt_taken").await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_runs_past_20_seconds_says_so_and_a_second_worker_is_refused() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a" }])).await;
    let dispatch = Scene::dispatch(&scene.receive().await[0]);
    let work = async |_, _| {
        pass(100).await;
        Ok(Output::NONE)
    };
    let worker = scene.worker("w-1", &scene.direct, work).await;
    let never = Deadline::never();
    let (fate, ()) = tokio::join!(worker.perform(dispatch.clone(), &never), async {
        pass(30).await;
        let refused = scene.ask(Function::Settle, &receipt(&dispatch, "another")).await;
        assert!(matches!(refused.reply, everlog::answer::Reply::Rejected { .. }), "{refused:?}");
    });
    assert_eq!(fate, Fate::Done);
    assert_eq!(scene.ending(10).await, "completed");
    assert_eq!(scene.events("attempt_taken").await[0].fields["worker"], json!("w-1"));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_dispatch_does_not_begin_and_is_settled_as_cancelled() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a" }])).await;
    let mut dispatch = Scene::dispatch(&scene.receive().await[0]);
    dispatch.cancelled = true;
    let worker = scene.worker("w-1", &scene.direct, async |_, _| panic!("it must not run")).await;
    assert_eq!(worker.perform(dispatch, &Deadline::never()).await, Fate::Done);
    scene.ending(10).await;
    assert_eq!(scene.outcomes().await, ["cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_a_running_handler_by_its_heartbeat_and_ends_one_that_ignores_it() {
    let heartbeats = json!({ "heartbeat_ms": 30_000 });
    let scene = Scene::new().await;
    scene
        .start(json!([
            { "id": "heeds", "type": "heeds", "timeouts": heartbeats },
            { "id": "ignores", "type": "ignores", "timeouts": heartbeats },
        ]))
        .await;
    let work = async |task: Task, context: Context| {
        if task.kind.as_str() == "ignores" {
            std::future::pending::<()>().await;
        }
        assert_eq!(context.cancelled().await, Interrupt::Cancelled);
        Err(Failure::Cancelled)
    };
    let worker = scene.worker("w-1", &scene.direct, work).await;
    let _serving = scene.serve(&worker, &scene.direct);
    pass(60).await;
    scene.ask(Function::Append, &command("cancel", "w", "cancel", json!({}))).await;
    assert_eq!(scene.ending(20).await, "cancelled");
    assert_eq!(scene.outcomes().await, ["cancelled", "cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_over_stops_its_handler_and_nothing_more_is_said() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a", "timeouts": { "heartbeat_ms": 30_000 } }])).await;
    let dispatch = Scene::dispatch(&scene.receive().await[0]);
    let work = async |_, context: Context| {
        assert_eq!(context.cancelled().await, Interrupt::Over);
        Output::json("too late")
    };
    let worker = scene.worker("w-1", &scene.direct, work).await;
    let never = Deadline::never();
    let (fate, ()) = tokio::join!(worker.perform(dispatch.clone(), &never), async {
        pass(12).await;
        let settle = json!({ "attempt": dispatch.attempt_id(), "outcome": { "lost": {} } });
        scene.ask(Function::Settle, &command("lost", "w", "settle", settle)).await;
    });
    assert_eq!(fate, Fate::Done);
    pass(5).await;
    assert_eq!(scene.outcomes().await, ["lost"]);
}

#[tokio::test(start_paused = true)]
async fn heartbeats_that_are_lost_for_a_while_end_nothing() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a", "timeouts": { "heartbeat_ms": 30_000 } }])).await;
    let clock = scene.world.backend.clock().clone();
    let (from, to) = (clock.now().plus_ms(15_000), clock.now().plus_ms(35_000));
    let out = move |call: &everlog_local::transport::Call| {
        call.target.starts_with("DynamoDB") && (from..to).contains(&clock.now())
    };
    let (handler, lost) = losing(&scene.direct, out);
    let work = async |_, _| {
        pass(400).await;
        Ok(Output::NONE)
    };
    let worker = scene.worker("w-1", &handler, work).await;
    let _serving = scene.serve(&worker, &handler);
    assert_eq!(scene.ending(600).await, "completed");
    assert_eq!(scene.outcomes().await, ["succeeded"]);
    assert!(lost.load(Ordering::SeqCst) > 0, "heartbeats were lost");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_fails_its_own_attempt_and_the_next_one_may_succeed() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a", "retry": { "max_attempts": 2 } }, { "id": "b" }])).await;
    let work = async |task: Task, _| {
        assert!(task.node.as_str() != "a" || task.attempt > 1, "the first one panics");
        Ok(Output::NONE)
    };
    let worker = scene.worker("w-1", &scene.direct, work).await;
    let _serving = scene.serve(&worker, &scene.direct);
    assert_eq!(scene.ending(60).await, "completed");
    let mut outcomes = scene.outcomes().await;
    outcomes.sort();
    assert_eq!(outcomes, ["failed: panicked", "succeeded", "succeeded"]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_exceeds_start_to_close_is_ended_as_timed_out_by_its_worker() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a", "timeouts": { "start_to_close_ms": 5_000 } }])).await;
    let dispatch = Scene::dispatch(&scene.receive().await[0]);
    let work = async |_, context: Context| {
        assert_eq!(context.remaining(), Some(Duration::from_secs(5)));
        pass(3_600).await;
        Ok(Output::NONE)
    };
    let worker = scene.worker("w-1", &scene.direct, work).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(worker.perform(dispatch, &Deadline::never()).await, Fate::Done);
    assert!(begun.elapsed() < Duration::from_secs(6));
    pass(2).await;
    assert_eq!(scene.outcomes().await, ["failed: timeout"]);
}

#[tokio::test(start_paused = true)]
async fn a_settle_that_the_queue_refuses_is_repeated_until_it_is_accepted() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a" }])).await;
    let clock = scene.world.backend.clock().clone();
    let until = clock.now().plus_ms(120_000);
    let (handler, lost) = losing(&scene.direct, move |call| is_settle(call) && clock.now() < until);
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let work = move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(Output::NONE) }
    };
    let worker = scene.worker("w-1", &handler, work).await;
    let _serving = scene.serve(&worker, &handler);
    assert_eq!(scene.ending(300).await, "completed");
    assert_eq!(runs.load(Ordering::SeqCst), 1, "the message stayed hidden meanwhile");
    assert!(lost.load(Ordering::SeqCst) > 10);
}

#[tokio::test(start_paused = true)]
async fn a_settle_that_no_queue_takes_leaves_the_message() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a" }])).await;
    let dispatch = Scene::dispatch(&scene.receive().await[0]);
    let (handler, _) = losing(&scene.direct, is_settle);
    let worker = scene.worker("w-1", &handler, async |_, _| Ok(Output::NONE)).await;
    let fate = worker.perform(dispatch, &Deadline::never()).await;
    assert!(matches!(fate, Fate::Again(_)), "{fate:?}");
}

#[tokio::test(start_paused = true)]
async fn an_input_too_large_to_carry_is_read_from_the_log_or_fails_as_not_carried() {
    let scene = Scene::new().await;
    let input = "x".repeat(220_000);
    scene.start(json!([{ "id": "a", "input": input }, { "id": "b", "input": input }])).await;
    let work = async |task: Task, _| Output::json(&task.input::<String>()?.len());
    let without = scene.worker("w-1", &scene.direct, work).await;
    let with = without.clone().with_journal(scene.world.observer.journal().clone());
    for message in scene.receive().await {
        let dispatch = Scene::dispatch(&message);
        assert!(dispatch.claim);
        let worker = if dispatch.node.as_str() == "a" { &without } else { &with };
        assert_eq!(worker.perform(dispatch, &Deadline::never()).await, Fate::Done);
    }
    pass(2).await;
    let mut outcomes = scene.outcomes().await;
    outcomes.sort();
    assert_eq!(outcomes, ["failed: not-carried", "succeeded"]);
}
