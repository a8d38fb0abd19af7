//! What a workflow is found by beside its id: a display name, the workflow that
//! it belongs to, and search attributes.
//!
//! They are facts of the history, folded over all of it: of an attribute the
//! last write wins, and a null takes it away. Lists show them as of the index.
//! All of a workflow's labels stand on its card, so they are bounded: 32
//! attributes, and [`limits::LABELS_BYTES_MAX`] bytes of them.

use std::collections::BTreeMap;
use std::fmt;

use minicbor::{Decode, Encode};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::answer::{InvalidInput, Rejection};
use crate::id::{AttributeName, WorkflowId};
use crate::limits;

/// The value of a search attribute.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode, Serialize, JsonSchema,
)]
#[serde(untagged)]
#[cbor(flat)]
pub enum AttributeValue {
    /// Yes or no.
    #[n(0)]
    Flag(#[n(0)] bool),
    /// A whole number.
    #[n(1)]
    Number(#[n(0)] i64),
    /// A text.
    #[n(2)]
    Text(#[n(0)] String),
}

impl fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for AttributeValue {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = AttributeValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a whole number of 64 bits, true or false")
            }

            fn visit_bool<E: de::Error>(self, flag: bool) -> Result<AttributeValue, E> {
                Ok(AttributeValue::Flag(flag))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<AttributeValue, E> {
                Ok(AttributeValue::Number(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<AttributeValue, E> {
                let found = de::Unexpected::Unsigned(number);
                let fits = i64::try_from(number).map_err(|_| E::invalid_value(found, &self))?;
                Ok(AttributeValue::Number(fits))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<AttributeValue, E> {
                Ok(AttributeValue::Text(text.to_owned()))
            }
        }
        d.deserialize_any(Visitor)
    }
}

/// Search attributes by their names.
pub type Attributes = BTreeMap<AttributeName, AttributeValue>;

/// Search attributes to set, or, where null, to take away.
pub type AttributeChanges = BTreeMap<AttributeName, Option<AttributeValue>>;

/// What a workflow is found by beside its id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Labels {
    /// What people call it.
    #[n(0)]
    pub display_name: Option<String>,
    /// The workflow that it belongs to, of the same namespace.
    #[n(1)]
    pub parent: Option<WorkflowId>,
    /// Its search attributes.
    #[n(2)]
    pub attributes: Attributes,
}

impl Labels {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Sets and takes away attributes.
    pub fn change(&mut self, changes: &AttributeChanges) {
        for (name, value) in changes {
            match value {
                Some(value) => self.attributes.insert(name.clone(), value.clone()),
                None => self.attributes.remove(name),
            };
        }
    }

    /// Those of `changes` that change anything.
    #[must_use]
    pub fn differing(&self, changes: &AttributeChanges) -> AttributeChanges {
        let differs = |(name, value): &(&AttributeName, &Option<AttributeValue>)| {
            self.attributes.get(name) != value.as_ref()
        };
        changes.iter().filter(differs).map(|(n, v)| (n.clone(), v.clone())).collect()
    }

    /// Whether that many fit a card.
    ///
    /// # Errors
    /// [`Rejection::Exhausted`], with the bound.
    pub(crate) fn fit(&self) -> Result<(), Rejection> {
        let exhausted = |what: &str, limit: usize| {
            Err(Rejection::Exhausted { what: what.into(), limit: limit as u64 })
        };
        if self.attributes.len() > limits::ATTRIBUTES_MAX {
            return exhausted("the number of search attributes", limits::ATTRIBUTES_MAX);
        }
        if bytes(self.attributes.iter().map(|(name, value)| (name, Some(value))))
            > limits::LABELS_BYTES_MAX
        {
            return exhausted("the size of the search attributes", limits::LABELS_BYTES_MAX);
        }
        Ok(())
    }
}

fn bytes<'a>(
    attributes: impl Iterator<Item = (&'a AttributeName, Option<&'a AttributeValue>)>,
) -> usize {
    let of = |value: &AttributeValue| match value {
        AttributeValue::Text(text) => text.len(),
        AttributeValue::Number(_) | AttributeValue::Flag(_) => 8,
    };
    attributes.map(|(name, value)| name.as_str().len() + value.map_or(0, of)).sum()
}

/// Checks what one command says of attributes.
pub(crate) fn check_attributes<'a>(
    attributes: impl ExactSizeIterator<Item = (&'a AttributeName, Option<&'a AttributeValue>)> + Clone,
) -> Result<(), InvalidInput> {
    let count = attributes.len();
    if count > limits::ATTRIBUTES_MAX {
        let limit = format!("at most {} at once", limits::ATTRIBUTES_MAX);
        return Err(InvalidInput::new("attributes", limit, count));
    }
    for (name, value) in attributes.clone() {
        if name.as_str().len() > limits::ATTRIBUTE_NAME_BYTES_MAX {
            let limit = format!("names of at most {} bytes", limits::ATTRIBUTE_NAME_BYTES_MAX);
            return Err(InvalidInput::new("attributes", limit, name));
        }
        let text = value.and_then(|value| match value {
            AttributeValue::Text(text) => Some(text),
            _ => None,
        });
        if let Some(text) = text.filter(|text| text.len() > limits::ATTRIBUTE_BYTES_MAX) {
            let (field, found) = (format!("attributes.{name}"), format!("{} bytes", text.len()));
            let limit = format!("at most {} bytes", limits::ATTRIBUTE_BYTES_MAX);
            return Err(InvalidInput::new(field, limit, found));
        }
    }
    Ok(())
}

/// Checks a display name.
pub(crate) fn check_display_name(name: Option<&str>) -> Result<(), InvalidInput> {
    match name {
        Some(name) if name.is_empty() || name.len() > limits::DISPLAY_NAME_BYTES_MAX => {
            let limit = format!("1 to {} bytes", limits::DISPLAY_NAME_BYTES_MAX);
            Err(InvalidInput::new("display_name", limit, format!("{} bytes", name.len())))
        }
        _ => Ok(()),
    }
}
