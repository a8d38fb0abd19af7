//! Crash cuts: for every write of a scenario, the world stops just before it,
//! just after it, and after it with the answer lost. The list of writes is the
//! one that the scenario itself makes.

use std::sync::Arc;

use everlog::fleet::Function;
use everlog_testing::cuts::{Cut, Cutter};
use everlog_testing::proof;
use everlog_testing::world::command;
use everlog_testing::{Step, World};
use serde_json::json;

/// Virtual seconds in which any of these scenarios ends, whatever is cut.
const LIMIT_S: u64 = 4 * 3_600;

/// Runs `check` in a fresh world for no cut and for each cut at each write.
fn each_cut<F>(steps: &[Step], check: impl Fn(World) -> F)
where
    F: Future<Output = ()>,
{
    let run = |at: Option<(usize, Cut)>| -> Arc<Cutter> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let world = World::new().await;
            let cutter = Cutter::watching(at, &world, "w");
            world.play(&cutter, steps, LIMIT_S).await;
            assert_eq!(cutter.violations(), [""; 0], "the alarm invariant holds after every write");
            check(world).await;
            cutter
        })
    };
    let whole = run(None);
    let names = whole.names();
    println!("{} writes, {} cuts", names.len(), names.len() * Cut::ALL.len());
    assert!(!names.is_empty(), "a scenario without a write cuts nothing");
    for (number, name) in names.iter().enumerate() {
        for cut in Cut::ALL {
            println!("write {number} ({name}): {cut:?}");
            run(Some((number, cut)));
        }
    }
}

fn planned() -> Vec<Step> {
    let plan = json!({
        "tasks": [
            { "id": "first" },
            { "id": "flaky", "after": ["first"], "retry": { "initial_ms": 2000 } },
            { "id": "nap", "after": ["first"], "sleep_ms": 3000 },
            { "id": "word", "after": ["first"], "signal": "go" },
            { "id": "slow", "after": ["first"], "timeouts": { "heartbeat_ms": 600_000 } },
            { "id": "last", "after": ["flaky", "nap", "word", "slow"], "outputs_of": ["flaky"] },
        ],
    });
    vec![
        Step::Command(Function::Append, command("c-start", "w", "start", json!({ "plan": plan }))),
        Step::Pass(1_000),
        Step::Command(Function::Append, command("c-pause", "w", "pause", json!({}))),
        Step::Command(
            Function::Append,
            command("c-go", "w", "signal", json!({ "name": "go", "payload": 1 })),
        ),
        Step::Command(Function::Append, command("c-resume", "w", "resume", json!({}))),
        Step::Closed("w"),
    ]
}

#[test]
fn a_planned_run_ends_right_whatever_write_is_cut() {
    each_cut(&planned(), |world| async move {
        proof::alarm(&world, "w").await;
        let (key, loaded) = proof::at_rest(&world, "w").await;
        let plan = loaded.state.plan().expect("a plan").clone();
        let commits = proof::commits(&world.observer, &key).await;
        let facts = proof::history(&commits, &plan);
        facts.all_succeeded(&plan);
        assert_eq!(facts.attempts, 6, "first, slow, last once and flaky three times");
        let signals = commits.iter().flat_map(|(_, c)| &c.events);
        let signals = signals.filter(|e| matches!(e, everlog::event::Event::Signalled(..)));
        assert_eq!(signals.count(), 1, "the signal was applied once");
    });
}

#[test]
fn a_cancelled_run_ends_right_whatever_write_is_cut() {
    let plan = json!({
        "tasks": [
            { "id": "slow" },
            { "id": "nap", "sleep_ms": 3_600_000 },
            { "id": "never", "after": ["slow", "nap"] },
        ],
    });
    let steps = [
        Step::Command(Function::Append, command("c-start", "w", "start", json!({ "plan": plan }))),
        Step::Pass(5_000),
        Step::Command(
            Function::Append,
            command("c-cancel", "w", "cancel", json!({ "reason": "enough" })),
        ),
        Step::Closed("w"),
    ];
    each_cut(&steps, |world| async move {
        let (_, loaded) = proof::at_rest(&world, "w").await;
        assert_eq!(loaded.state.status(), "cancelled");
    });
}

#[test]
fn a_driven_run_ends_right_whatever_write_is_cut() {
    let owner = json!({ "owner": "engine", "instance": "a", "generation": 1, "token": "t" });
    let append =
        |id: &str, content| Step::Command(Function::Append, command(id, "w", "append", content));
    let steps = [
        Step::Command(Function::Append, command("c-start", "w", "start", json!({}))),
        Step::Command(
            Function::Append,
            command("c-claim", "w", "claim", json!({ "owner": owner })),
        ),
        append(
            "c-1",
            json!({
                "expected_seq": 2, "owner": owner,
                "events": [{ "kind": "decided", "payload": { "n": 1 } }],
                "prepare": [{ "node": "act", "type": "work", "input": 7 }],
                "timers": [{ "timer": "later", "fire_at": everlog_testing::world::EPOCH.0 + 20_000 }],
            }),
        ),
        Step::Command(
            Function::Prepare,
            command(
                "c-2",
                "w",
                "prepare",
                json!({
                    "owner": owner, "intent": { "node": "slow-act", "type": "work" },
                }),
            ),
        ),
        Step::Pass(120_000),
        append(
            "c-3",
            json!({
                "expected_seq": 10, "owner": owner, "close": { "ending": "completed", "result": "done" },
            }),
        ),
        Step::Closed("w"),
    ];
    each_cut(&steps, |world| async move {
        let (key, loaded) = proof::at_rest(&world, "w").await;
        let commits = proof::commits(&world.observer, &key).await;
        let events = everlog::query::events_of(&commits, None);
        let kinds: Vec<&str> = events.iter().map(|e| e.event.as_str()).collect();
        assert_eq!(kinds.iter().filter(|k| **k == "timer_fired").count(), 1, "{kinds:?}");
        assert_eq!(kinds.iter().filter(|k| **k == "attempt_settled").count(), 2, "{kinds:?}");
        assert_eq!(kinds.last(), Some(&"closed"), "{kinds:?}");
        assert_eq!(loaded.state.head, 11, "{kinds:?}");
    });
}

#[test]
fn a_run_that_is_continued_closed_and_reopened_ends_right_whatever_write_is_cut() {
    let append =
        |id: &str, content| Step::Command(Function::Append, command(id, "w", "append", content));
    let at = |ms: u64| everlog_testing::world::EPOCH.0 + ms;
    let act = json!({ "node": "act", "type": "work" });
    let steps = [
        Step::Command(Function::Append, command("c-start", "w", "start", json!({}))),
        append(
            "c-1",
            json!({ "expected_seq": 1, "prepare": [act],
                    "timers": [{ "timer": "old", "fire_at": at(3_600_000) }] }),
        ),
        Step::Pass(600_000),
        append(
            "c-2",
            json!({ "expected_seq": 4, "continue_as_new": {}, "prepare": [act],
                    "timers": [{ "timer": "t", "fire_at": at(7_200_000) }] }),
        ),
        Step::Pass(600_000),
        append("c-3", json!({ "expected_seq": 9, "close": { "ending": "failed" } })),
        Step::Pass(60_000),
        Step::Command(Function::Append, command("c-4", "w", "reopen", json!({}))),
        Step::Pass(7_200_000),
        append("c-5", json!({ "expected_seq": 13, "close": { "ending": "completed" } })),
        Step::Closed("w"),
    ];
    each_cut(&steps, |world| async move {
        let (key, loaded) = proof::at_rest(&world, "w").await;
        let commits = proof::commits(&world.observer, &key).await;
        let events = everlog::query::events_of(&commits, None);
        let kinds: Vec<&str> = events.iter().map(|e| e.event.as_str()).collect();
        let wanted = [
            "started",
            "attempt_prepared",
            "timer_armed",
            "attempt_settled",
            "continued_as_new",
            "started",
            "attempt_prepared",
            "timer_armed",
            "attempt_settled",
            "closed",
            "reopened",
            "timer_armed",
            "timer_fired",
            "closed",
        ];
        assert_eq!(kinds, wanted);
        let runs = everlog::query::runs(world.observer.journal(), &key, &loaded, None, 10).await;
        let runs = runs.expect("a chain");
        let chain: Vec<_> = runs.runs.iter().map(|run| (run.run, run.start_seq)).collect();
        assert_eq!(chain, [(2, 6), (1, 1)]);
        let (_, card) = world.card("w").await.expect("a card");
        assert_eq!(card.status, "completed");
    });
}
