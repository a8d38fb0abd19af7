//! Time: instants, the minute ticks of alarms, and the one clock.
//!
//! All instants are milliseconds since 1970. The system clock is read here and
//! nowhere else (`clippy.toml` forbids it), and never inside the fold or a
//! decision: both get `now` as an argument. [`Clock::tokio`] follows tokio's
//! clock, so a paused runtime gives tests a virtual one.

use minicbor::{Decode, Encode};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::limits;

/// Milliseconds since 1970-01-01T00:00Z, at most [`limits::TIME_MS_MAX`].
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    Serialize,
    Encode,
    Decode,
    JsonSchema,
)]
#[serde(transparent)]
#[cbor(transparent)]
pub struct Timestamp(#[n(0)] pub u64);

impl Timestamp {
    /// This instant `ms` milliseconds later; saturates at the ceiling.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms).min(limits::TIME_MS_MAX))
    }

    /// This instant `ms` milliseconds earlier; saturates at 1970.
    #[must_use]
    pub fn minus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_sub(ms))
    }

    /// Milliseconds from `earlier` to here, 0 if it is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The minute that this instant lies in, rounded down.
    #[must_use]
    pub fn tick(self) -> Tick {
        Tick(self.0 / Tick::MS)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let ms = u64::deserialize(d)?;
        if ms > limits::TIME_MS_MAX {
            return Err(de::Error::invalid_value(
                de::Unexpected::Unsigned(ms),
                &"at most 32503680000000 milliseconds since 1970",
            ));
        }
        Ok(Self(ms))
    }
}

/// A minute since 1970, the unit of alarms. Always rounded down: an alarm may
/// be early, never late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct Tick(#[n(0)] pub u64);

impl Tick {
    /// Milliseconds of a tick.
    pub const MS: u64 = 60_000;

    /// The instant at which the tick begins.
    #[must_use]
    pub fn start(self) -> Timestamp {
        Timestamp(self.0.saturating_mul(Self::MS))
    }

    /// The instant at which the next tick begins.
    #[must_use]
    pub fn end(self) -> Timestamp {
        Timestamp((self.0 + 1).saturating_mul(Self::MS))
    }
}

/// Where the time comes from.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The machine's clock.
    System,
    /// A fixed instant plus what tokio's clock has advanced since.
    Tokio {
        /// The wall time at `start`.
        epoch: Timestamp,
        /// The instant of tokio's clock that `epoch` belongs to.
        start: tokio::time::Instant,
    },
}

impl Clock {
    /// A clock that reads `epoch` now and advances with tokio's clock.
    #[must_use]
    pub fn tokio(epoch: Timestamp) -> Self {
        Self::Tokio { epoch, start: tokio::time::Instant::now() }
    }

    /// The current time.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the system clock")]
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => {
                let since = std::time::SystemTime::now()
                    .duration_since(std::time::UNIX_EPOCH)
                    .unwrap_or_default();
                Timestamp(u64::try_from(since.as_millis()).unwrap_or(limits::TIME_MS_MAX))
            }
            Self::Tokio { epoch, start } => {
                let passed = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
                epoch.plus_ms(passed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_round_down_so_that_an_alarm_is_never_late() {
        assert_eq!(Timestamp(59_999).tick(), Tick(0));
        assert_eq!(Timestamp(60_000).tick(), Tick(1));
        assert!(Timestamp(61_234).tick().start() <= Timestamp(61_234));
    }

    #[test]
    fn a_time_beyond_the_ceiling_is_refused() {
        assert!(serde_json::from_str::<Timestamp>("32503680000000").is_ok());
        assert!(serde_json::from_str::<Timestamp>("32503680000001").is_err());
        assert!(serde_json::from_str::<Timestamp>("-1").is_err());
    }
}
