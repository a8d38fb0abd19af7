//! Digests: the MD5 that the SDK verifies, the SHA-256 of deduplication.
//!
//! What it is: the three digests of SQS, in lower-case hex. It promises the
//! very bytes AWS digests (developer guide, "Calculating the MD5 message
//! digest for message attributes"). MD5 is deliberately no protection here,
//! only what the protocol asks for. It can't fail. Next: `admission.rs`.

use crate::message::{AttributeValue, MessageAttributes};
use md5::{Digest, Md5};
use sha2::Sha256;

const TEXT_MARK: u8 = 1;
const BINARY_MARK: u8 = 2;

/// MD5 of a body.
pub(crate) fn md5_of_body(body: &str) -> String {
    hex(&Md5::digest(body.as_bytes()))
}

/// What content-based deduplication takes for the id.
pub(crate) fn content_deduplication_id(body: &str) -> String {
    hex(&Sha256::digest(body.as_bytes()))
}

/// MD5 of message attributes, sorted by name; nothing if there are none.
pub(crate) fn md5_of_attributes(attributes: &MessageAttributes) -> Option<String> {
    if attributes.is_empty() {
        return None;
    }
    let mut md5 = Md5::new();
    for (name, attribute) in attributes {
        add(&mut md5, name.as_bytes());
        add(&mut md5, attribute.data_type.as_bytes());
        match &attribute.value {
            AttributeValue::Text(text) => {
                md5.update([TEXT_MARK]);
                add(&mut md5, text.as_bytes());
            }
            AttributeValue::Binary(bytes) => {
                md5.update([BINARY_MARK]);
                add(&mut md5, bytes);
            }
        }
    }
    Some(hex(&md5.finalize()))
}

fn add(md5: &mut Md5, bytes: &[u8]) {
    // A message is at most 1 MiB, so the length fits.
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    md5.update(length.to_be_bytes());
    md5.update(bytes);
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}
