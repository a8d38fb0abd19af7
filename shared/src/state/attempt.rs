//! One unsettled attempt.
//!
//! ```text
//!            hand-over                receipt, heartbeat
//!  Staged ──────────────▶ Sent ───────────────────────▶ Taken
//!    │  prepare, retry      │ ▲ look: hand-over again      │
//!    │                      └─┘ (15 min, doubling to 12 h) │
//!    └──── cancel ────┐     │ settle, time-out, lost       │ settle, time-out, lost
//!                     ▼     ▼                              ▼
//!                    gone: `Settled` in the node or in `state.settled`
//! ```

use minicbor::{Decode, Encode};

use crate::event::{Timeout, Timeouts};
use crate::id::{Kind, OwnerId, QueueName};
use crate::limits;
use crate::time::Timestamp;

/// What the state keeps of a driven attempt; its input stays in the commit.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct DrivenAttempt {
    /// The task queue.
    #[n(0)]
    pub queue: QueueName,
    /// What kind of work.
    #[n(1)]
    pub kind: Kind,
    /// Its time-outs.
    #[n(2)]
    pub timeouts: Timeouts,
    /// Hash of all that makes a repeated prepare the same.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub content: [u8; 16],
    /// Whether a repetition may do harm.
    #[n(4)]
    pub mutating: bool,
}

/// Where an attempt stands.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum Stage {
    /// It goes out then; held while paused.
    #[n(0)]
    Staged {
        /// No sooner than this.
        #[n(0)]
        not_before: Timestamp,
    },
    /// It was handed to its queue; nobody has taken it up.
    #[n(1)]
    Sent {
        /// The commit that did it last.
        #[n(0)]
        commit: u64,
        /// When it was handed over first.
        #[n(1)]
        since: Timestamp,
        /// When it is handed over again.
        #[n(2)]
        look_at: Timestamp,
        /// How often it was handed over.
        #[n(3)]
        count: u32,
    },
    /// A worker has it.
    #[n(2)]
    Taken {
        /// Who.
        #[n(0)]
        worker: OwnerId,
        /// Since when.
        #[n(1)]
        since: Timestamp,
        /// The last sign of life.
        #[n(2)]
        beat_at: Timestamp,
        /// The commit of the receipt.
        #[n(3)]
        commit: u64,
    },
}

/// One unsettled attempt.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Attempt {
    /// Which attempt of its target, from 1.
    #[n(0)]
    pub n: u32,
    /// The commit that reserved it, which holds its input.
    #[n(1)]
    pub born: u64,
    /// Where it stands.
    #[n(2)]
    pub stage: Stage,
    /// What a plan would say.
    #[n(3)]
    pub driven: Option<Box<DrivenAttempt>>,
}

impl Stage {
    /// Handed over for the first time.
    #[must_use]
    pub fn sent(commit: u64, now: Timestamp) -> Self {
        let look_at = now.plus_ms(limits::LOOK_FIRST_MS);
        Self::Sent { commit, since: now, look_at, count: 1 }
    }

    /// Hands over what was due by `upto`; whether it did.
    pub fn hand_over(&mut self, commit: u64, upto: Timestamp) -> bool {
        match self {
            Self::Staged { not_before } if *not_before <= upto => {
                *self = Self::sent(commit, upto);
                true
            }
            Self::Sent { commit: by, look_at, count, .. } if *look_at <= upto => {
                *by = commit;
                *count += 1;
                let doubled = limits::LOOK_FIRST_MS << (*count - 1).min(10);
                *look_at = upto.plus_ms(doubled.min(limits::LOOK_MS_MAX));
                true
            }
            _ => false,
        }
    }
}

impl Attempt {
    /// When somebody must look at it.
    #[must_use]
    pub fn due(&self, timeouts: &Timeouts) -> Timestamp {
        match &self.stage {
            Stage::Staged { not_before } => *not_before,
            Stage::Sent { look_at, .. } => match self.timeout_at(timeouts) {
                Some((at, _)) => at.min(*look_at),
                None => *look_at,
            },
            Stage::Taken { since, .. } => self
                .timeout_at(timeouts)
                .map_or_else(|| since.plus_ms(limits::DURATION_MS_MAX), |(at, _)| at),
        }
    }

    /// When it times out, and how.
    #[must_use]
    pub fn timeout_at(&self, timeouts: &Timeouts) -> Option<(Timestamp, Timeout)> {
        match &self.stage {
            Stage::Staged { .. } => None,
            Stage::Sent { since, .. } => timeouts
                .schedule_to_start_ms
                .map(|ms| (since.plus_ms(ms), Timeout::ScheduleToStart)),
            Stage::Taken { since, beat_at, .. } => {
                let close_ms =
                    timeouts.start_to_close_ms.unwrap_or(limits::START_TO_CLOSE_DEFAULT_MS);
                let close = (since.plus_ms(close_ms), Timeout::StartToClose);
                let beat =
                    timeouts.heartbeat_ms.map(|ms| (beat_at.plus_ms(ms), Timeout::Heartbeat));
                beat.into_iter().chain([close]).min_by_key(|(at, _)| *at)
            }
        }
    }
}
