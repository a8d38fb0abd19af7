//! The name of an archive: what it holds.

use std::fmt;

use minicbor::{Decode, Encode};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

use super::InvalidId;

/// The SHA-256 of an archive, 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct PackageHash(#[cbor(n(0), with = "minicbor::bytes")] pub [u8; 32]);

impl PackageHash {
    /// Of these bytes.
    #[must_use]
    pub fn of(archive: &[u8]) -> Self {
        Self(Sha256::digest(archive).into())
    }
}

impl fmt::Display for PackageHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::str::FromStr for PackageHash {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let bad = || InvalidId { found: format!("{} characters", text.len()) };
        if text.len() != 64 || !text.bytes().all(digit) {
            return Err(bad());
        }
        let mut hash = [0; 32];
        for (at, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| bad())?;
        }
        Ok(Self(hash))
    }
}

impl Serialize for PackageHash {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PackageHash {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        text.parse().map_err(|bad: InvalidId| {
            de::Error::invalid_value(de::Unexpected::Other(&bad.found), &"64 hexadecimal digits")
        })
    }
}

impl JsonSchema for PackageHash {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PackageHash".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Names an archive of workflow code: its SHA-256.",
            "type": "string",
            "pattern": "^[0-9a-f]{64}$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_as_it_is_written_and_nothing_else_is_one() {
        let hash = PackageHash::of(b"abc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), text, "FIPS 180-2, appendix B.1");
        assert_eq!(text.parse(), Ok(hash));
        for wrong in ["", "ba78", &text.to_uppercase(), &format!("{}g", &text[1..])] {
            assert!(wrong.parse::<PackageHash>().is_err(), "{wrong}");
        }
    }
}
