//! A commit: what one decision adds to the log, written once and never changed.
//!
//! Its frame is a magic byte, the schema that a reader must know, and CBOR. A
//! reader that meets a newer schema learns just that ([`DecodeError::Newer`])
//! and stays away; anything else that does not decode is damage.

use minicbor::{Decode, Encode};

use crate::event::{Event, Note};
use crate::id::{CommandHash, WriterId};
use crate::time::{Tick, Timestamp};

/// The newest schema that this code reads.
pub const SCHEMA_READ_MAX: u16 = 1;

const MAGIC: u8 = 0xE1;

/// Bytes of a frame before its content.
pub const FRAME_BYTES: usize = 3;

/// What one decision adds to the log.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Commit {
    /// The decision that wrote it.
    #[n(0)]
    pub writer: WriterId,
    /// When, never before the commit under it.
    #[n(1)]
    pub time: Timestamp,
    /// The sequence number of its first event, or the head if it has none.
    #[n(2)]
    pub first_seq: u64,
    /// The facts that it adds to the history.
    #[n(3)]
    pub events: Vec<Event>,
    /// The bookkeeping that it does.
    #[n(4)]
    pub notes: Vec<PlacedNote>,
    /// The commands that it answers.
    #[n(5)]
    pub answers: Vec<CommandHash>,
    /// The number of the last checkpoint that its writer knew, 0 for none.
    #[n(6)]
    pub checkpoint: u64,
    /// Whether the decision was cut short and goes on at once.
    #[n(7)]
    pub continues: bool,
    /// The new alarm, if this commit changes it.
    #[n(8)]
    pub alarm: Option<Alarm>,
}

/// A note, and how many of the commit's events are folded before it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct PlacedNote {
    /// Events before it.
    #[n(0)]
    pub after: u32,
    /// The note.
    #[n(1)]
    pub note: Note,
}

/// A change of `state.alarm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum Alarm {
    /// Nothing is outstanding.
    #[n(0)]
    Never,
    /// Somebody must look in this minute.
    #[n(1)]
    At(#[n(0)] Tick),
}

impl From<Option<Tick>> for Alarm {
    fn from(tick: Option<Tick>) -> Self {
        tick.map_or(Self::Never, Self::At)
    }
}

impl Alarm {
    /// The minute, if there is one.
    #[must_use]
    pub fn tick(self) -> Option<Tick> {
        match self {
            Self::Never => None,
            Self::At(tick) => Some(tick),
        }
    }
}

/// Why stored bytes could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A newer version wrote it; don't write, don't answer, give back.
    #[error("schema {found} is newer than {known}")]
    Newer {
        /// The schema of the bytes.
        found: u16,
        /// The newest that the reader knows.
        known: u16,
    },
    /// Not what was written; never an empty answer.
    #[error("damaged: {0}")]
    Damaged(String),
}

/// Puts `value` into a frame that says `schema`.
///
/// # Panics
/// Never: encoding into memory can't fail.
pub fn encode<T: Encode<()>>(schema: u16, value: &T) -> Vec<u8> {
    let mut bytes = vec![MAGIC];
    bytes.extend(schema.to_be_bytes());
    match minicbor::encode(value, &mut bytes) {
        Ok(()) => bytes,
        Err(impossible) => unreachable!("a Vec takes every byte: {impossible}"),
    }
}

/// Whether a frame is of a schema up to `known`.
///
/// # Errors
/// [`DecodeError::Newer`] and [`DecodeError::Damaged`].
pub fn check_frame(bytes: &[u8], known: u16) -> Result<(), DecodeError> {
    let [MAGIC, high, low, ..] = bytes else {
        return Err(DecodeError::Damaged("no frame".into()));
    };
    let found = u16::from_be_bytes([*high, *low]);
    if found > known { Err(DecodeError::Newer { found, known }) } else { Ok(()) }
}

/// Reads a frame of a schema up to `known`.
///
/// # Errors
/// [`DecodeError::Newer`] and [`DecodeError::Damaged`].
pub fn decode<T: for<'b> Decode<'b, ()>>(bytes: &[u8], known: u16) -> Result<T, DecodeError> {
    check_frame(bytes, known)?;
    let body = &bytes[FRAME_BYTES..];
    let mut decoder = minicbor::Decoder::new(body);
    let value = decoder.decode().map_err(|e| DecodeError::Damaged(e.to_string()))?;
    if decoder.position() != body.len() {
        return Err(DecodeError::Damaged("bytes after the end".into()));
    }
    Ok(value)
}
