//! What an error says, for people: itself and its causes, each once.
//!
//! The SDKs' errors say little by themselves ("dispatch failure") and too much
//! in their debug form; the causes have the words.

use std::error::Error;

/// The error and its causes, joined by colons; what one repeats of the one
/// before it is left out.
#[must_use]
pub fn said(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let own = error.to_string();
        if !text.ends_with(&own) {
            text.push_str(": ");
            text.push_str(&own);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Link(&'static str, #[source] Option<Box<Link>>);

    #[test]
    fn causes_are_said_and_repetitions_are_not() {
        let inner = Link("no route", None);
        let middle = Link("connect: no route", Some(Box::new(inner)));
        let outer = Link("dispatch failure", Some(Box::new(middle)));
        assert_eq!(said(&outer), "dispatch failure: connect: no route");
        assert_eq!(said(&Link("alone", None)), "alone");
    }
}
