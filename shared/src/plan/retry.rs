//! When a failed attempt is tried again.

use minicbor::{Decode, Encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Failure;
use crate::id::{DispatchKey, Kind};

/// Exponential backoff with jitter, as published for SQS consumers and SDKs:
/// delay = min(max, initial × multiplier^(failures − 1)), less up to `jitter` of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Encode, Decode, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetryPolicy {
    /// Attempts in all, the first one included; 1 to 1000.
    #[n(0)]
    #[schemars(range(min = 1, max = 1000))]
    pub max_attempts: u32,
    /// Milliseconds before the second attempt.
    #[n(1)]
    pub initial_ms: u64,
    /// Milliseconds that no delay exceeds.
    #[n(2)]
    pub max_ms: u64,
    /// Factor from one delay to the next; 1 to 10.
    #[n(3)]
    #[schemars(range(min = 1.0, max = 10.0))]
    pub multiplier: f64,
    /// The part of a delay that chance may take away; 0 to 1.
    #[n(4)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub jitter: f64,
    /// Kinds of failure that are final.
    #[n(5)]
    pub non_retryable: Vec<Kind>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 4,
            initial_ms: 1_000,
            max_ms: 60_000,
            multiplier: 2.0,
            jitter: 0.2,
            non_retryable: Vec::new(),
        }
    }
}

impl RetryPolicy {
    /// Whether this failure, after so many counted attempts, is tried again.
    #[must_use]
    pub fn allows(&self, counted: u32, failure: Option<&Failure>) -> bool {
        let fatal = failure.is_some_and(|f| self.non_retryable.contains(&f.kind));
        counted < self.max_attempts && !fatal
    }

    /// Milliseconds until the attempt after `counted` others. `seed` stands for
    /// chance: the key of the next attempt, so that a decision stays a function.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "delays are far below 2^52 milliseconds and never negative"
    )]
    pub fn delay_ms(&self, counted: u32, seed: DispatchKey) -> u64 {
        let max = self.max_ms as f64;
        let mut delay = self.initial_ms as f64;
        for _ in 1..counted {
            delay = (delay * self.multiplier).min(max);
        }
        let chance = f64::from(u16::from_be_bytes([seed.0[0], seed.0[1]])) / 65_536.0;
        (delay.min(max) * (1.0 - self.jitter * chance)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum_and_jitter_only_shortens() {
        let policy = RetryPolicy { max_ms: 3_000, ..RetryPolicy::default() };
        let none = DispatchKey([0; 16]);
        let most = DispatchKey([255; 16]);
        let delays = [1, 2, 3, 4].map(|n| policy.delay_ms(n, none));
        assert_eq!(delays, [1_000, 2_000, 3_000, 3_000]);
        assert_eq!(policy.delay_ms(1, most), 800);
    }

    #[test]
    fn a_non_retryable_kind_is_final_at_once() {
        let kind = Kind::new("bad-input").unwrap();
        let policy = RetryPolicy { non_retryable: vec![kind.clone()], ..RetryPolicy::default() };
        let failure = Failure { kind, message: String::new(), details: None };
        assert!(!policy.allows(1, Some(&failure)));
        assert!(policy.allows(3, None));
        assert!(!policy.allows(4, None));
    }
}
