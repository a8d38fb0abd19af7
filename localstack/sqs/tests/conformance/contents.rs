//! What a message may hold.

use crate::setup::*;
use everlog_sqs::{AttributeValue, ErrorKind, MessageAttribute, OutgoingMessage};

const MIB: usize = 1_048_576;

fn text(data_type: &str, value: &str) -> MessageAttribute {
    MessageAttribute {
        data_type: data_type.to_owned(),
        value: AttributeValue::Text(value.to_owned()),
    }
}

fn with_attribute(name: &str, attribute: MessageAttribute) -> OutgoingMessage {
    let mut message = OutgoingMessage::new("body");
    message.attributes.insert(name.to_owned(), attribute);
    message
}

#[tokio::test(start_paused = true)]
async fn body_of_one_mebibyte_is_accepted_and_one_byte_more_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    engine.send(&url, OutgoingMessage::new("x".repeat(MIB))).await.unwrap();
    let refused = engine.send(&url, OutgoingMessage::new("x".repeat(MIB + 1))).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::InvalidParameterValue);
    assert!(refused.message.ends_with("Message must be shorter than 1048576 bytes."));
}

#[tokio::test(start_paused = true)]
async fn size_counts_bytes_not_characters() {
    let engine = engine();
    let url = standard(&engine, &[("MaximumMessageSize", "1024")]).await;
    engine.send(&url, OutgoingMessage::new("ä".repeat(512))).await.unwrap();
    let refused = engine.send(&url, OutgoingMessage::new("ä".repeat(513))).await;
    assert_eq!(kind(refused), ErrorKind::InvalidParameterValue);
}

#[tokio::test(start_paused = true)]
async fn names_types_and_values_of_attributes_count_to_the_size() {
    let engine = engine();
    let url = standard(&engine, &[("MaximumMessageSize", "1024")]).await;
    // 1 (name) + 6 (type) + 7 (value), and the body.
    let attribute = || text("String", "1234567");
    let mut message = with_attribute("a", attribute());
    message.body = "x".repeat(1_024 - 14);
    engine.send(&url, message).await.unwrap();
    let mut message = with_attribute("a", attribute());
    message.body = "x".repeat(1_024 - 13);
    assert_eq!(kind(engine.send(&url, message).await), ErrorKind::InvalidParameterValue);
}

#[tokio::test(start_paused = true)]
async fn trace_header_does_not_count_to_the_size() {
    let engine = engine();
    let url = standard(&engine, &[("MaximumMessageSize", "1024")]).await;
    let mut message = OutgoingMessage::new("x".repeat(1_024));
    message.trace_header = Some("Root=1-5759e988-bd862e3fe1be46a994272793".to_owned());
    let sent = engine.send(&url, message).await.unwrap();
    assert!(sent.md5_of_system_attributes.is_some());
    let received = poll_one(&engine, &url, 5).await;
    assert_eq!(received.trace_header.as_deref(), Some("Root=1-5759e988-bd862e3fe1be46a994272793"));
}

#[tokio::test(start_paused = true)]
async fn characters_outside_the_set_are_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    for character in ['\u{0}', '\u{8}', '\u{b}', '\u{c}', '\u{1f}', '\u{fffe}', '\u{ffff}'] {
        let refused = engine.send(&url, OutgoingMessage::new(format!("a{character}b"))).await;
        assert_eq!(kind(refused), ErrorKind::InvalidMessageContents, "{character:?}");
    }
    assert!(poll(&engine, &url, 5).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn characters_at_the_edges_of_the_set_are_carried() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let edges = "\t\n\r \u{7f}\u{80}\u{d7ff}\u{e000}\u{fffd}\u{10000}\u{10ffff}";
    send(&engine, &url, edges).await;
    assert_eq!(&*poll_one(&engine, &url, 5).await.body, edges);
}

#[tokio::test(start_paused = true)]
async fn empty_body_is_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let refused = engine.send(&url, OutgoingMessage::new("")).await;
    assert_eq!(kind(refused), ErrorKind::MissingParameter);
}

#[tokio::test(start_paused = true)]
async fn digests_are_those_that_aws_answers() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let sent = engine.send(&url, OutgoingMessage::new("msg")).await.unwrap();
    assert_eq!(sent.md5_of_body, "6e2baaf3b97dbeef01c0043275f9a0e7");
    assert_eq!(sent.md5_of_attributes, None);
    let mut message = OutgoingMessage::new("msg");
    for (name, value) in [("Hello", "There"), ("General", "Kenobi"), ("Help.Me", "Me")] {
        message.attributes.insert(name.to_owned(), text("String", value));
    }
    let sent = engine.send(&url, message).await.unwrap();
    assert_eq!(sent.md5_of_attributes.as_deref(), Some("4c360f3fdafd970e05fae2f149d997f5"));
    let bytes = b"traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01".to_vec();
    let binary =
        MessageAttribute { data_type: "Binary".to_owned(), value: AttributeValue::Binary(bytes) };
    let sent = engine.send(&url, with_attribute("attr1", binary)).await.unwrap();
    assert_eq!(sent.md5_of_attributes.as_deref(), Some("8cbe4db156db8a94db8b801b7addb984"));
}

#[tokio::test(start_paused = true)]
async fn attributes_come_back_as_they_were_sent() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let mut message = with_attribute("number", text("Number.int", "42"));
    let bytes = MessageAttribute {
        data_type: "Binary.png".to_owned(),
        value: AttributeValue::Binary(vec![0, 255]),
    };
    message.attributes.insert("bytes".to_owned(), bytes);
    engine.send(&url, message.clone()).await.unwrap();
    assert_eq!(*poll_one(&engine, &url, 5).await.attributes, message.attributes);
}

#[tokio::test(start_paused = true)]
async fn wrong_attributes_are_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let binary = |data_type: &str, bytes: &[u8]| MessageAttribute {
        data_type: data_type.to_owned(),
        value: AttributeValue::Binary(bytes.to_vec()),
    };
    let wrong = [
        ("", text("String", "x")),
        ("a b", text("String", "x")),
        (".a", text("String", "x")),
        ("a.", text("String", "x")),
        ("a..b", text("String", "x")),
        ("AWS.a", text("String", "x")),
        ("amazon.a", text("String", "x")),
        (&"a".repeat(257), text("String", "x")),
        ("a", text("String", "")),
        ("a", text("Text", "x")),
        ("a", text("", "x")),
        ("a", text("Binary", "x")),
        ("a", binary("String", b"x")),
        ("a", binary("Binary", b"")),
        ("a", text(&format!("String.{}", "x".repeat(250)), "x")),
    ];
    for (name, attribute) in wrong {
        let shown = format!("{name} {attribute:?}");
        let refused = engine.send(&url, with_attribute(name, attribute)).await;
        assert_eq!(kind(refused), ErrorKind::InvalidParameterValue, "{shown}");
    }
    let bad_text = engine.send(&url, with_attribute("a", text("String", "\u{1}"))).await;
    assert_eq!(kind(bad_text), ErrorKind::InvalidMessageContents);
}

#[tokio::test(start_paused = true)]
async fn eleventh_attribute_is_refused() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let mut message = OutgoingMessage::new("a");
    for number in 0..10 {
        message.attributes.insert(format!("a{number}"), text("String", "x"));
    }
    engine.send(&url, message.clone()).await.unwrap();
    message.attributes.insert("b".to_owned(), text("String", "x"));
    assert_eq!(kind(engine.send(&url, message).await), ErrorKind::InvalidParameterValue);
}

#[tokio::test(start_paused = true)]
async fn message_ids_differ() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    let mut ids = std::collections::HashSet::new();
    for _ in 0..1_000 {
        let id = send(&engine, &url, "a").await;
        assert_eq!(id.len(), 36);
        assert!(ids.insert(id));
    }
}
