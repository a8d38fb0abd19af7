//! Opaque bytes that belong to the user: inputs, outputs, events, signals.
//!
//! In JSON messages a payload is any JSON value. In the log it is that value's
//! text, or, through the library, bytes of any content type. Everlog never
//! looks inside.

use minicbor::{Decode, Encode};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

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
        let text = std::str::from_utf8(&self.bytes).ok().filter(|_| self.content_type.is_none());
        match text.and_then(|text| RawValue::from_string(text.to_owned()).ok()) {
            Some(raw) => raw.serialize(s),
            None => s.serialize_bytes(&self.bytes),
        }
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        // The text itself, so that no number is read and written differently.
        let raw = Box::<RawValue>::deserialize(d)?;
        Self::opaque(without_spaces(raw.get()), None).map_err(|size| {
            de::Error::invalid_value(
                de::Unexpected::Other(&format!("{size} bytes")),
                &"a payload of at most 262144 bytes",
            )
        })
    }
}

/// JSON without the spaces between its tokens, so that equal content is equal.
fn without_spaces(text: &str) -> Vec<u8> {
    let (mut inside, mut escaped) = (false, false);
    let keep = |byte: &u8| {
        let space = !inside && byte.is_ascii_whitespace();
        match byte {
            b'"' if !escaped => inside = !inside,
            _ => {}
        }
        escaped = inside && *byte == b'\\' && !escaped;
        !space
    };
    text.bytes().filter(keep).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_keeps_its_numbers_and_loses_its_spaces() {
        let text = r#"{ "n" : 12345678901234567890123, "s": " a \" b\\" , "f":1.50 }"#;
        let payload: Payload = serde_json::from_str(text).unwrap();
        let kept = r#"{"n":12345678901234567890123,"s":" a \" b\\","f":1.50}"#;
        assert_eq!(std::str::from_utf8(payload.bytes()).unwrap(), kept);
        assert_eq!(serde_json::to_string(&payload).unwrap(), kept);
    }
}
