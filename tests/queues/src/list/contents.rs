//! What a message may hold.

use aws_sdk_sqs::operation::send_message::builders::SendMessageFluentBuilder;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::MessageAttributeValue;

use crate::Case;
use crate::bench::Bench;
use crate::queue::code;
use everlog_engine_tests::case;
use everlog_engine_tests::fact::{Fact, localstack, ministack};

pub(super) const CASES: &[Case] = &[
    case!(a_body_of_a_mebibyte_is_carried_and_a_byte_more_refused, MEBIBYTE, MORE),
    case!(size_counts_bytes_and_attributes, BYTES, ATTRIBUTES),
    case!(characters_outside_the_set_are_refused, NUL, BACKSPACE, NONCHARACTER),
    case!(characters_at_the_edges_of_the_set_are_carried),
    case!(an_empty_body_is_refused, EMPTY),
    case!(digests_are_those_of_aws),
    case!(attributes_come_back_as_they_were_sent),
    case!(wrong_attributes_are_refused, NO_TYPE, NO_VALUE, NAME, ELEVEN),
];

const MEBIBYTE: Fact = Fact::alike("a body of 1,048,576 bytes", "accepted");
const MORE: Fact = Fact::alike("a body of 1,048,577 bytes", "InvalidParameterValue");
const BYTES: Fact =
    Fact::alike("a body of 513 umlauts where 1,024 bytes are the limit", "InvalidParameterValue");
const ATTRIBUTES: Fact = Fact::alike(
    "a body of 1,011 bytes and 14 of attributes where 1,024 are the limit",
    "InvalidParameterValue",
)
.but(&[ministack("accepted")], "Attributes do not count. Everlog counts its one itself.");
const NUL: Fact = Fact::alike("U+0000 in a body", "InvalidMessageContents");
const BACKSPACE: Fact = Fact::alike("U+0008 in a body", "InvalidMessageContents");
const NONCHARACTER: Fact = Fact::alike("U+FFFE in a body", "InvalidMessageContents");
const EMPTY: Fact = Fact::alike("an empty body", "MissingParameter");
const NO_TYPE: Fact = Fact::alike("an attribute of the type \"Text\"", "InvalidParameterValue")
    .but(&[ministack("accepted")], "Attributes are not checked. Everlog sends one, `traceparent`.");
const NO_VALUE: Fact = Fact::alike("an attribute with an empty value", "InvalidParameterValue")
    .but(&[ministack("accepted")], "As above.");
const NAME: Fact = Fact::alike("an attribute named \"AWS.a\"", "InvalidParameterValue")
    .but(&[ministack("accepted")], "As above.");
const ELEVEN: Fact = Fact::alike("eleven attributes", "InvalidParameterValue")
    .but(&[localstack("accepted"), ministack("accepted")], "Everlog sends one.");

fn text(kind: &str, value: &str) -> MessageAttributeValue {
    let value = MessageAttributeValue::builder().data_type(kind).string_value(value);
    value.build().expect("complete")
}

fn plain(message: SendMessageFluentBuilder) -> SendMessageFluentBuilder {
    message
}

async fn a_body_of_a_mebibyte_is_carried_and_a_byte_more_refused(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let sent = queue.try_send("x".repeat(1_048_576), plain).await;
    let carried = sent.is_ok();
    bench.seen.fact(&MEBIBYTE, code(sent));
    if carried {
        assert_eq!(queue.poll_one(30).await.body().map(str::len), Some(1_048_576));
    }
    bench.seen.fact(&MORE, code(queue.try_send("x".repeat(1_048_577), plain).await));
}

async fn size_counts_bytes_and_attributes(bench: Bench) {
    let queue = bench.standard(&[("MaximumMessageSize", "1024")]).await;
    queue.try_send("ä".repeat(512), plain).await.expect("accepted");
    bench.seen.fact(&BYTES, code(queue.try_send("ä".repeat(513), plain).await));
    // 1 (name) + 6 (type) + 7 (value).
    let with = |m: SendMessageFluentBuilder| m.message_attributes("a", text("String", "1234567"));
    queue.try_send("x".repeat(1_010), with).await.expect("accepted");
    bench.seen.fact(&ATTRIBUTES, code(queue.try_send("x".repeat(1_011), with).await));
}

async fn characters_outside_the_set_are_refused(bench: Bench) {
    let queue = bench.standard(&[]).await;
    for (fact, character) in [(&NUL, '\u{0}'), (&BACKSPACE, '\u{8}'), (&NONCHARACTER, '\u{fffe}')] {
        bench.seen.fact(fact, code(queue.try_send(format!("a{character}b"), plain).await));
    }
}

async fn characters_at_the_edges_of_the_set_are_carried(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let edges = "\t\n\r \u{7f}\u{80}\u{d7ff}\u{e000}\u{fffd}\u{10000}\u{10ffff} {\"a\":1.50}";
    queue.send(edges).await;
    assert_eq!(queue.poll_one(30).await.body(), Some(edges));
}

async fn an_empty_body_is_refused(bench: Bench) {
    let queue = bench.standard(&[]).await;
    bench.seen.fact(&EMPTY, code(queue.try_send("", plain).await));
}

async fn digests_are_those_of_aws(bench: Bench) {
    let queue = bench.standard(&[]).await;
    // As AWS was seen to answer them.
    let sent = queue.try_send("msg", |m| {
        m.message_attributes("Hello", text("String", "There"))
            .message_attributes("General", text("String", "Kenobi"))
            .message_attributes("Help.Me", text("String", "Me"))
    });
    let sent = sent.await.expect("accepted");
    assert_eq!(sent.md5_of_message_body(), Some("6e2baaf3b97dbeef01c0043275f9a0e7"));
    assert_eq!(sent.md5_of_message_attributes(), Some("4c360f3fdafd970e05fae2f149d997f5"));
}

async fn attributes_come_back_as_they_were_sent(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let bytes = MessageAttributeValue::builder().data_type("Binary.png");
    let bytes = bytes.binary_value(Blob::new([0, 255])).build().expect("complete");
    let all = [
        ("text", text("String", "ä")),
        ("number", text("Number.int", "9007199254740993")),
        ("bytes", bytes),
    ];
    let sent = queue.try_send("a", |m| {
        all.iter().fold(m, |m, (name, value)| m.message_attributes(*name, value.clone()))
    });
    sent.await.expect("accepted");
    let message = queue.poll_one(30).await;
    let found = message.message_attributes().expect("attributes");
    assert_eq!(found.len(), 3);
    for (name, value) in &all {
        assert_eq!(found.get(*name), Some(value), "{name}");
    }
}

async fn wrong_attributes_are_refused(bench: Bench) {
    let queue = bench.standard(&[]).await;
    let one = |name: &'static str, value: MessageAttributeValue| {
        queue.try_send("a", move |m| m.message_attributes(name, value))
    };
    bench.seen.fact(&NO_TYPE, code(one("a", text("Text", "x")).await));
    bench.seen.fact(&NO_VALUE, code(one("a", text("String", "")).await));
    bench.seen.fact(&NAME, code(one("AWS.a", text("String", "x")).await));
    let eleven = queue.try_send("a", |m| {
        (0..11).fold(m, |m, n| m.message_attributes(format!("a{n}"), text("String", "x")))
    });
    bench.seen.fact(&ELEVEN, code(eleven.await));
}
