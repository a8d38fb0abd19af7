//! What a run cost: exact units, and dollars at published prices.
//!
//! Prices, US East (N. Virginia), read 2026-11-30:
//! - DynamoDB on demand, <https://aws.amazon.com/dynamodb/pricing/on-demand/>:
//!   $0.625 a million write request units, $0.125 a million read request units.
//! - Step Functions Standard, <https://aws.amazon.com/step-functions/pricing/>:
//!   $25 a million state transitions.
//! - Lambda durable functions, <https://aws.amazon.com/lambda/pricing/>:
//!   $8 a million durable operations.

use everlog::journal::{Meter, Purpose};
use serde_json::{Value, json};

/// Dollars a million write request units.
const WRITE_USD: f64 = 0.625;
/// Dollars a million read request units.
const READ_USD: f64 = 0.125;
/// Dollars a million transitions of Step Functions Standard.
const STEP_FUNCTIONS_USD: f64 = 25.0;
/// Dollars a million operations of Lambda durable functions.
const DURABLE_FUNCTIONS_USD: f64 = 8.0;

/// What one process consumed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    commits: u64,
    refused: u64,
    write_units: f64,
    read_units: f64,
}

impl Cost {
    pub(super) fn of(meter: &Meter) -> Self {
        let commits = meter.of(Purpose::Commit);
        Self {
            commits: commits.requests - commits.refused,
            refused: commits.refused,
            write_units: meter.write_units(),
            read_units: meter.read_units(),
        }
    }

    pub(super) fn to_json(self) -> Value {
        json!({
            "commits": self.commits,
            "lost_puts": self.refused,
            "write_units": self.write_units,
            "read_units": self.read_units,
        })
    }

    /// Dollars for a million steps like these.
    fn usd_a_million(self, steps: usize) -> f64 {
        (self.write_units * WRITE_USD + self.read_units * READ_USD) / steps.max(1) as f64
    }

    pub(super) fn print(self, steps: usize) {
        println!();
        println!(
            "cost   (this process) {} commits, {} write units, {} read units (DynamoDB, exact)",
            self.commits, self.write_units, self.read_units
        );
        if self.commits == 0 {
            return;
        }
        let usd = self.usd_a_million(steps);
        println!(
            "       ${usd:.2} a million steps in DynamoDB on demand; SQS and Lambda come on top"
        );
        println!(
            "beside ${DURABLE_FUNCTIONS_USD:.2} a million operations, Lambda durable functions"
        );
        println!("       ${STEP_FUNCTIONS_USD:.2} a million transitions, Step Functions Standard");
        println!(
            "       (aws.amazon.com: dynamodb/pricing/on-demand, lambda/pricing, step-functions/pricing; 2026-11-30)"
        );
    }
}
