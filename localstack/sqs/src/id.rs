//! Ids: message ids, sequence numbers, receipt handles.
//!
//! What it is: how a place in the engine becomes a text and a handle a place
//! again. It promises that message ids differ within an engine and between
//! engines of different start times, that sequence numbers grow and sort as
//! texts, and that a handle that this engine did not write is recognised.
//! Deliberately without randomness: the same calls give the same ids. A handle
//! that can't be read is [`ErrorKind::ReceiptHandleIsInvalid`]. Next:
//! `engine/acknowledge.rs`.

use crate::error::{ErrorKind, SqsError};

/// The first sequence number: twenty digits, so that all have twenty.
const SEQUENCE_BASE: u64 = 10_000_000_000_000_000_000;
const HANDLE_PREFIX: &str = "AQEB";

/// The receive of a message that a handle stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Receipt {
    /// The queue, as one creation of it.
    pub queue: u64,
    /// The message's place.
    pub place: u64,
    /// Which receive of the message it was, from 1 on.
    pub receive: u64,
}

impl Receipt {
    pub(crate) fn handle(self) -> String {
        format!(
            "{HANDLE_PREFIX}{:016x}{:016x}{:016x}{:016x}",
            self.queue,
            self.place,
            self.receive,
            self.check()
        )
    }

    /// Reads a handle.
    ///
    /// # Errors
    /// [`ErrorKind::ReceiptHandleIsInvalid`]: not one of an engine's handles.
    pub(crate) fn read(handle: &str) -> Result<Self, SqsError> {
        Self::parse(handle).ok_or_else(|| {
            ErrorKind::ReceiptHandleIsInvalid.because(format!(
                "The input receipt handle \"{handle}\" is not a valid receipt handle."
            ))
        })
    }

    fn parse(handle: &str) -> Option<Self> {
        let digits = handle.strip_prefix(HANDLE_PREFIX).filter(|digits| digits.len() == 64)?;
        let part = |index: usize| {
            let digits = digits.get(index * 16..(index + 1) * 16)?;
            u64::from_str_radix(digits, 16).ok()
        };
        let receipt = Self { queue: part(0)?, place: part(1)?, receive: part(2)? };
        (receipt.check() == part(3)?).then_some(receipt)
    }

    fn check(self) -> u64 {
        mixed(self.queue ^ mixed(self.place ^ mixed(self.receive)))
    }
}

/// The sequence number of a place.
pub(crate) fn sequence_number(place: u64) -> String {
    SEQUENCE_BASE.saturating_add(place).to_string()
}

/// The `count`th message id of an engine that started at `epoch_ms`, as a UUID.
pub(crate) fn message_id(epoch_ms: u64, count: u64) -> String {
    let high = mixed(epoch_ms.rotate_left(20) ^ count);
    let low = mixed(high ^ mixed(count));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | ((low >> 48) & 0x3fff),
        low & 0xffff_ffff_ffff
    )
}

/// The finalizer of SplitMix64: one to one, and every bit depends on all.
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
