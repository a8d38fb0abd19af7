//! The identities of Everlog, each a type of its own with a checked constructor.
//!
//! A text id is 1 to 256 bytes of `[A-Za-z0-9._:/@-]`, checked once, at the
//! edge; what is inside the system is never checked again. The alphabet leaves
//! out `#`, which separates the parts of a partition key (see `docs/table.md`).
//!
//! A [`DispatchKey`] is derived, never chosen: it is the idempotency key that a
//! worker gets, equal for equal attempts and for nothing else. A [`WriterId`]
//! is new for each decision and tells an answer that was lost from a race that
//! was lost.
//!
//! Nothing here does I/O. Where ids become keys of the table: `journal::keys`.

mod package;

use std::fmt;

use minicbor::{Decode, Encode};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

use crate::limits;

pub use package::PackageHash;

/// What a text id must look like, in the words of an error message.
pub const TEXT_ID_RULE: &str = "1 to 256 bytes of [A-Za-z0-9._:/@-]";

/// A text that is no id; says what was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid id: {found}, expected {TEXT_ID_RULE}")]
pub struct InvalidId {
    /// The text, or its length where it is too long to repeat.
    pub found: String,
}

fn check(text: &str) -> Result<(), InvalidId> {
    if text.is_empty() || text.len() > limits::ID_BYTES_MAX {
        return Err(InvalidId { found: format!("{} bytes", text.len()) });
    }
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"._:/@-".contains(&b);
    match text.chars().find(|c| !c.is_ascii() || !legal(*c as u8)) {
        Some(bad) => Err(InvalidId { found: format!("character {bad:?}") }),
        None => Ok(()),
    }
}

macro_rules! text_id {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// 1 to 256 bytes of `[A-Za-z0-9._:/@-]`.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode, JsonSchema)]
        #[cbor(transparent)]
        pub struct $name(
            #[schemars(length(min = 1, max = 256), regex(pattern = "^[A-Za-z0-9._:/@-]+$"))]
            #[n(0)] String,
        );

        impl $name {
            /// Checks `text` and makes it an id.
            ///
            /// # Errors
            /// [`InvalidId`]: the text is empty, too long, or has a character
            /// outside the alphabet.
            pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
                let text = text.into();
                check(&text).map(|()| Self(text))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = String::deserialize(d)?;
                Self::new(text).map_err(|bad| {
                    de::Error::invalid_value(de::Unexpected::Other(&bad.found), &TEXT_ID_RULE)
                })
            }
        }
    )*};
}

text_id! {
    /// A tenant or stage that never sees the workflows of another.
    Namespace;
    /// The owner of one append-only log.
    WorkflowId;
    /// The caller's name for one command; a repeat carries the same.
    CommandId;
    /// What kind of workflow this is.
    WorkflowType;
    /// A task of a plan, or an activity of a driven workflow.
    NodeId;
    /// A logical queue name; the configuration knows its address.
    QueueName;
    /// A timer of a driven workflow.
    TimerId;
    /// The name of a signal.
    SignalName;
    /// A worker, or the owner of a workflow.
    OwnerId;
    /// The kind of an event that the user's engine appends, or of a task.
    Kind;
    /// The name of a search attribute.
    AttributeName;
}

impl Default for Namespace {
    fn default() -> Self {
        Self("default".into())
    }
}

impl Default for QueueName {
    fn default() -> Self {
        Self("default".into())
    }
}

/// One life of a workflow id; grows with each delete and start, never recurs.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    Encode,
    Decode,
    JsonSchema,
)]
#[serde(transparent)]
#[cbor(transparent)]
pub struct Incarnation(#[n(0)] pub u64);

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names the decision that wrote a commit: 16 random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct WriterId(#[cbor(n(0), with = "minicbor::bytes")] pub [u8; 16]);

impl WriterId {
    /// A new one from the operating system's randomness.
    #[must_use]
    pub fn random() -> Self {
        Self(rand::random())
    }
}

/// The first 16 bytes of the SHA-256 of a [`CommandId`], as the log keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct CommandHash(#[cbor(n(0), with = "minicbor::bytes")] pub [u8; 16]);

impl From<&CommandId> for CommandHash {
    fn from(id: &CommandId) -> Self {
        Self(hash16(&[id.as_str().as_bytes()]))
    }
}

/// Identifies one attempt for ever; a worker's idempotency key.
///
/// Derived from (incarnation, run, node, activation, n), each part with its
/// length before it, so that no two attempts share a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct DispatchKey(#[cbor(n(0), with = "minicbor::bytes")] pub [u8; 16]);

impl DispatchKey {
    /// Derives the key of an attempt.
    #[must_use]
    pub fn derive(
        partition: &str,
        incarnation: Incarnation,
        run: u32,
        node: &NodeId,
        activation: u32,
        n: u32,
    ) -> Self {
        Self(hash16(&[
            partition.as_bytes(),
            &incarnation.0.to_be_bytes(),
            &run.to_be_bytes(),
            node.as_str().as_bytes(),
            &activation.to_be_bytes(),
            &n.to_be_bytes(),
        ]))
    }
}

impl fmt::Display for DispatchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl std::str::FromStr for DispatchKey {
    type Err = InvalidId;
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let bad = || InvalidId { found: format!("{} characters", text.len()) };
        if text.len() != 32
            || !text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        {
            return Err(bad());
        }
        let mut key = [0; 16];
        for (byte, pair) in key.iter_mut().zip(0..) {
            *byte = u8::from_str_radix(&text[2 * pair..2 * pair + 2], 16).map_err(|_| bad())?;
        }
        Ok(Self(key))
    }
}

impl Serialize for DispatchKey {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DispatchKey {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        text.parse().map_err(|bad: InvalidId| {
            de::Error::invalid_value(de::Unexpected::Other(&bad.found), &"32 hexadecimal digits")
        })
    }
}

impl JsonSchema for DispatchKey {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DispatchKey".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Identifies one attempt for ever; use it as idempotency key.",
            "type": "string",
            "pattern": "^[0-9a-f]{32}$",
        })
    }
}

/// The first 16 bytes of a SHA-256 over length-prefixed parts.
#[must_use]
pub fn hash16(parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let mut out = [0; 16];
    out.copy_from_slice(&hasher.finalize()[..16]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_1_and_256_bytes_are_accepted_and_0_and_257_are_not() {
        assert!(WorkflowId::new("a").is_ok());
        assert!(WorkflowId::new("a".repeat(256)).is_ok());
        assert!(WorkflowId::new("").is_err());
        let bad = WorkflowId::new("a".repeat(257)).unwrap_err();
        assert_eq!(bad.found, "257 bytes");
        assert!(WorkflowId::new("a#b").is_err());
        assert!(WorkflowId::new("é").is_err());
    }

    #[test]
    fn dispatch_keys_do_not_collide_where_joined_parts_would() {
        let node = |s: &str| NodeId::new(s).unwrap();
        let key = |p: &str, n: &str| DispatchKey::derive(p, Incarnation(1), 1, &node(n), 1, 1);
        assert_ne!(key("a", "bc"), key("ab", "c"));
        let text = key("a", "bc").to_string();
        assert_eq!(text.parse::<DispatchKey>().unwrap(), key("a", "bc"));
    }
}
