//! Opaque bytes that belong to the user: inputs, outputs, events, signals.
//!
//! In JSON messages a payload is any JSON value. In the log it is that value's
//! text, or, through the library, bytes of any content type. Everlog never
//! looks inside.

use minicbor::{Decode, Encode};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::limits;

/// A payload of at most [`limits::PAYLOAD_BYTES_MAX`] bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Payload {
    #[cbor(n(0), with = "minicbor::bytes")]
    bytes: Vec<u8>,
    /// Absent for JSON.
    #[n(1)]
    content_type: Option<String>,
}

impl Payload {
    /// A payload of JSON.
    ///
    /// # Errors
    /// The size in bytes, if it is above [`limits::PAYLOAD_BYTES_MAX`].
    pub fn json(value: &serde_json::Value) -> Result<Self, usize> {
        Self::opaque(value.to_string().into_bytes(), None)
    }

    /// A payload of any content type; `None` stands for JSON.
    ///
    /// # Errors
    /// The size in bytes, if it is above [`limits::PAYLOAD_BYTES_MAX`].
    pub fn opaque(bytes: Vec<u8>, content_type: Option<String>) -> Result<Self, usize> {
        if bytes.len() > limits::PAYLOAD_BYTES_MAX {
            return Err(bytes.len());
        }
        Ok(Self { bytes, content_type })
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The content type; `None` stands for JSON.
    #[must_use]
    pub fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    /// The value, if this is JSON.
    #[must_use]
    pub fn to_json(&self) -> Option<serde_json::Value> {
        if self.content_type.is_some() {
            return None;
        }
        serde_json::from_slice(&self.bytes).ok()
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.to_json() {
            Some(value) => value.serialize(s),
            None => s.serialize_bytes(&self.bytes),
        }
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(d)?;
        Self::json(&value).map_err(|size| {
            de::Error::invalid_value(
                de::Unexpected::Other(&format!("{size} bytes")),
                &"a payload of at most 262144 bytes",
            )
        })
    }
}

impl JsonSchema for Payload {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Payload".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Any JSON value of at most 262144 bytes; Everlog never looks inside.",
        })
    }
}
