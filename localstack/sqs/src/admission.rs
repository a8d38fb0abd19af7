//! What a message must be before any queue is asked.
//!
//! What it is: the checks of a message that depend on nothing but the message,
//! and its digests. It promises that an [`Admitted`] message has legal
//! characters, attributes and ids, and knows its size. What depends on the
//! queue (largest size, delay, deduplication) it deliberately leaves to
//! `engine/send.rs`. All of it happens outside the engine's lock. It fails
//! with the error that AWS gives, and nothing was changed. Next: `queue.rs`.

use crate::digest;
use crate::error::{ErrorKind, SqsError, invalid_value};
use crate::limits;
use crate::message::{AttributeValue, MessageAttribute, MessageAttributes, OutgoingMessage};
use std::sync::Arc;

/// A message that is legal by itself.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub body: Arc<str>,
    pub md5_of_body: Arc<str>,
    pub attributes: Arc<MessageAttributes>,
    pub md5_of_attributes: Option<String>,
    pub trace_header: Option<Arc<str>>,
    pub md5_of_system_attributes: Option<String>,
    pub delay_s: Option<u32>,
    pub group_id: Option<Arc<str>>,
    pub deduplication_id: Option<Arc<str>>,
    pub size_bytes: usize,
}

/// Bytes that count against the limits: body, and names, types and values of attributes.
pub(crate) fn size_bytes(message: &OutgoingMessage) -> usize {
    let attributes: usize = message
        .attributes
        .iter()
        .map(|(name, attribute)| {
            let value_bytes = match &attribute.value {
                AttributeValue::Text(text) => text.len(),
                AttributeValue::Binary(bytes) => bytes.len(),
            };
            name.len() + attribute.data_type.len() + value_bytes
        })
        .sum();
    message.body.len() + attributes
}

/// Checks a message and digests it.
///
/// # Errors
/// [`ErrorKind::MissingParameter`], [`ErrorKind::InvalidMessageContents`],
/// [`ErrorKind::InvalidParameterValue`]: as `SendMessage` of SQS.
pub(crate) fn admit(message: OutgoingMessage) -> Result<Admitted, SqsError> {
    if message.body.is_empty() {
        return Err(ErrorKind::MissingParameter
            .because("The request must contain the parameter MessageBody."));
    }
    if !legal_characters(&message.body) {
        return Err(illegal_characters());
    }
    check_attributes(&message.attributes)?;
    check_fifo_id(message.group_id.as_deref(), "MessageGroupId")?;
    check_fifo_id(message.deduplication_id.as_deref(), "MessageDeduplicationId")?;
    if let Some(delay_s) = message.delay_s.filter(|delay_s| *delay_s > limits::DELAY_S_MAX) {
        return Err(invalid_value(
            delay_s,
            "DelaySeconds",
            "DelaySeconds must be >= 0 and <= 900.",
        ));
    }
    let size_bytes = size_bytes(&message);
    Ok(Admitted {
        md5_of_body: digest::md5_of_body(&message.body).into(),
        md5_of_attributes: digest::md5_of_attributes(&message.attributes),
        md5_of_system_attributes: message.trace_header.as_deref().and_then(md5_of_trace_header),
        body: message.body.into(),
        attributes: Arc::new(message.attributes),
        trace_header: message.trace_header.map(Arc::from),
        delay_s: message.delay_s,
        group_id: message.group_id.map(Arc::from),
        deduplication_id: message.deduplication_id.map(Arc::from),
        size_bytes,
    })
}

fn md5_of_trace_header(header: &str) -> Option<String> {
    let attribute = MessageAttribute {
        data_type: "String".to_owned(),
        value: AttributeValue::Text(header.to_owned()),
    };
    digest::md5_of_attributes(&MessageAttributes::from([("AWSTraceHeader".to_owned(), attribute)]))
}

fn illegal_characters() -> SqsError {
    ErrorKind::InvalidMessageContents.because(
        "Invalid characters found. Valid unicode characters are \
         #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF",
    )
}

/// XML 1.0's characters: no controls but tab, line feed and carriage return, no U+FFFE and U+FFFF.
fn legal_characters(text: &str) -> bool {
    text.chars().all(|character| match character {
        '\t' | '\n' | '\r' => true,
        '\u{FFFE}' | '\u{FFFF}' => false,
        _ => character >= ' ',
    })
}

fn check_fifo_id(id: Option<&str>, parameter: &str) -> Result<(), SqsError> {
    let Some(id) = id else { return Ok(()) };
    let legal = !id.is_empty()
        && id.len() <= limits::FIFO_ID_CHARS_MAX
        && id.bytes().all(|byte| byte.is_ascii_graphic());
    if legal {
        return Ok(());
    }
    Err(invalid_value(
        id,
        parameter,
        &format!(
            "{parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length."
        ),
    ))
}

fn check_attributes(attributes: &MessageAttributes) -> Result<(), SqsError> {
    if attributes.len() > limits::MESSAGE_ATTRIBUTES_MAX {
        return Err(ErrorKind::InvalidParameterValue.because(format!(
            "Number of message attributes [{}] exceeds the allowed maximum [{}].",
            attributes.len(),
            limits::MESSAGE_ATTRIBUTES_MAX
        )));
    }
    attributes.iter().try_for_each(|(name, attribute)| check_attribute(name, attribute))
}

fn check_attribute(name: &str, attribute: &MessageAttribute) -> Result<(), SqsError> {
    let refuse = |reason: String| Err(ErrorKind::InvalidParameterValue.because(reason));
    if !legal_attribute_name(name) {
        return refuse(format!("Invalid message attribute name '{name}'."));
    }
    let data_type = attribute.data_type.as_str();
    let base_type = data_type.split('.').next().unwrap_or_default();
    let too_long = data_type.len() > limits::ATTRIBUTE_NAME_CHARS_MAX;
    match (&attribute.value, base_type) {
        _ if too_long => {
            refuse(format!("The type of message (user) attribute '{name}' is too long."))
        }
        (AttributeValue::Text(text), "String" | "Number") if text.is_empty() => refuse(format!(
            "Message (user) attribute '{name}' must contain a non-empty value of type 'String'."
        )),
        (AttributeValue::Text(text), "String" | "Number") if !legal_characters(text) => {
            Err(illegal_characters())
        }
        (AttributeValue::Text(_), "String" | "Number") => Ok(()),
        (AttributeValue::Binary(bytes), "Binary") if bytes.is_empty() => refuse(format!(
            "Message (user) attribute '{name}' must contain a non-empty value of type 'Binary'."
        )),
        (AttributeValue::Binary(_), "Binary") => Ok(()),
        (_, "String" | "Number" | "Binary") => refuse(format!(
            "The message attribute '{name}' with type '{data_type}' must use field '{base_type}'."
        )),
        _ => refuse(format!(
            "The message attribute '{name}' has an invalid message attribute type, the set of \
             supported type prefixes is Binary, Number, and String."
        )),
    }
}

fn legal_attribute_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    !name.is_empty()
        && name.len() <= limits::ATTRIBUTE_NAME_CHARS_MAX
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        && !name.starts_with('.')
        && !name.ends_with('.')
        && !name.contains("..")
        && !lower.starts_with("aws.")
        && !lower.starts_with("amazon.")
}
