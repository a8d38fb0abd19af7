//! The built-in example: a fan-out, a flaky task, a wait, and, when asked to
//! fail, a compensation.

use clap::Args;
use everlog::id::WorkflowId;
use everlog::labels::Attributes;
use everlog::plan::PlanSpec;
use serde_json::json;

use super::run::{Job, carry};
use super::{Failure, Global};
use crate::plan_file;
use crate::worker::Pace;

#[derive(Debug, Default, Args)]
pub(crate) struct ExampleArgs {
    /// Let the payment fail, so that the reservation is released again.
    #[arg(long)]
    fail: bool,
}

pub(super) async fn example(global: &Global, args: &ExampleArgs) -> Result<u8, Failure> {
    let plan: PlanSpec = serde_json::from_value(plan(args.fail)).map_err(|e| Failure::stack(&e))?;
    let chance: u32 = rand::random();
    let id = format!("example-{chance:08x}");
    let id = WorkflowId::new(id).map_err(|e| Failure::stack(&e))?;
    let plan = plan_file::built_in(id.as_str(), plan);
    let job = Job {
        plan,
        id: id.clone(),
        workers: 4,
        pace: Pace(1.0),
        name: None,
        attributes: Attributes::new(),
    };
    carry(global, job).await.inspect(|_| {
        if !global.json {
            println!();
            println!("look   everlog show {id}");
            println!("       everlog history {id}");
            if !args.fail {
                println!(
                    "       everlog example --fail    a payment that fails, and what is undone"
                );
            }
        }
    })
}

fn plan(fail: bool) -> serde_json::Value {
    let resize = |n: u32, seconds: f32| {
        json!({
            "id": format!("resize-{n}"), "after": ["fetch"],
            "command": format!("sleep {seconds}; echo resized image {n}"),
        })
    };
    let pay =
        if fail { "sleep 0.3; echo card declined >&2; exit 1" } else { "sleep 0.3; echo paid" };
    json!({
        "name": "photo-book",
        "tasks": [
            { "id": "fetch", "command": "sleep 0.4; echo '{\"images\": 5}'" },
            resize(1, 0.5), resize(2, 0.8), resize(3, 0.3), resize(4, 0.9), resize(5, 0.4),
            {
                "id": "flaky-upload", "after": ["fetch"],
                "command": "sleep 0.2; [ \"$EVERLOG_ATTEMPT\" -ge 3 ] || { echo connection reset >&2; exit 7; }",
                "retry": { "max_attempts": 5, "initial_ms": 300 },
            },
            { "id": "reserve-printer", "after": ["fetch"], "command": "sleep 0.2; echo printer 12" },
            { "id": "let-colours-settle", "after": ["resize-1", "resize-2", "resize-3", "resize-4", "resize-5"], "sleep_ms": 1500 },
            {
                "id": "pay", "after": ["let-colours-settle", "flaky-upload", "reserve-printer"],
                "command": pay, "retry": { "max_attempts": 1 },
            },
            { "id": "print", "after": ["pay"], "command": "sleep 0.5; echo printed" },
            {
                "id": "release-printer", "after": ["reserve-printer", "pay"], "when": "failure",
                "command": "sleep 0.2; echo printer 12 is free again",
            },
        ],
    })
}
