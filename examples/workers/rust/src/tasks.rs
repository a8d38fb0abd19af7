//! The work itself: one async function a task type, payload in, payload out.
//!
//! A task ends by its output or by a failure, whose kind a retry policy may
//! call final. A task that takes long also waits for `cancelled`. None of them
//! blocks its thread.

use std::time::Duration;

use everlog::worker::{Context, Failure, Output, Task};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The type that may run longer than 20 seconds, so that it begins with a receipt.
pub const RENDER: &str = "render";

/// Does what the type of a task says.
pub async fn perform(task: Task, context: Context) -> Result<Output, Failure> {
    match task.kind.as_str() {
        "price" => price(&task),
        "charge" => charge(&task, &context),
        RENDER => render(&task, &context).await,
        _ => Err(Failure::unknown_type(&task)),
    }
}

#[derive(Deserialize)]
struct Order {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    cents: u64,
    count: u64,
}

#[derive(Serialize, Deserialize)]
struct Price {
    cents: u64,
}

/// Adds up an order: `{"items": [{"sku", "cents", "count"}]}`.
fn price(task: &Task) -> Result<Output, Failure> {
    let order: Order = task.input()?;
    let lines = order.items.iter().map(|item| match item.count {
        0 => Err(Failure::new("invalid-order", "each item must be ordered at least once")),
        count => Ok(item.cents * count),
    });
    Output::json(&Price { cents: lines.sum::<Result<u64, Failure>>()? })
}

#[derive(Deserialize)]
struct Gateway {
    #[serde(default)]
    outage: u32,
}

/// Charges a card by a gateway that is down for the first `outage` attempts.
fn charge(task: &Task, context: &Context) -> Result<Output, Failure> {
    let gateway: Gateway = task.input()?;
    let Price { cents } = task.output_of("price")?;
    if task.attempt <= gateway.outage {
        let failure = Failure::new("gateway", "502 from the gateway");
        return Err(failure.with_details(&json!({ "status": 502 })));
    }
    // A real gateway takes the idempotency key: charged once, however often this runs.
    let charge = context.idempotency_key().to_string();
    Output::json(&json!({ "charge": charge, "cents": cents }))
}

#[derive(Deserialize)]
struct Pages {
    pages: u32,
    page_ms: u64,
}

/// Renders `pages`, each in `page_ms` milliseconds.
async fn render(task: &Task, context: &Context) -> Result<Output, Failure> {
    let Pages { pages, page_ms } = task.input()?;
    for _ in 0..pages {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(page_ms)) => {}
            _ = context.cancelled() => return Err(Failure::Cancelled),
        }
    }
    Output::json(&json!({ "pages": pages }))
}
