//! Traces from queue to queue: where a span comes from, and what it hands on.
//!
//! A trace follows a workflow through its queues by the message attribute
//! `traceparent` of the W3C. Without a tracer (the feature `otel` is off, or
//! none is installed) a span comes from nowhere and hands nothing on.
//!
//! It promises that nothing in a header can fail anything: what is no
//! `traceparent` is no parent. It deliberately carries no `tracestate` and no
//! baggage: a message is not the place for another party's text.

/// The message attribute, and the header, that carries a trace.
pub const TRACEPARENT: &str = "traceparent";
/// Bytes that the attribute adds to a message: its name, its type, its value.
pub(crate) const TRACEPARENT_BYTES: usize = TRACEPARENT.len() + "String".len() + 55;

/// A new span for something that was received: the child of the span that sent
/// it, if that is known, with a link to the present one; else the child of the
/// present one.
pub(crate) fn received(span: tracing::Span, traceparent: Option<&str>) -> tracing::Span {
    if traceparent.is_some_and(|parent| adopt(&span, parent)) {
        span.follows_from(tracing::Span::current());
    }
    span
}

/// Makes a span that was not entered yet the child of a remote one, named by a
/// `traceparent`. Whether it is.
#[cfg(feature = "otel")]
pub fn adopt(span: &tracing::Span, traceparent: &str) -> bool {
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    let Some(remote) = parsed(traceparent) else { return false };
    let parent = opentelemetry::trace::TraceContextExt::with_remote_span_context(
        &opentelemetry::Context::new(),
        remote,
    );
    span.set_parent(parent).is_ok()
}

/// Makes a span the child of a remote one: not in this build.
#[cfg(not(feature = "otel"))]
pub fn adopt(_span: &tracing::Span, _traceparent: &str) -> bool {
    false
}

/// The `traceparent` of the present span, if a tracer follows it.
#[cfg(feature = "otel")]
pub(crate) fn traceparent() -> Option<String> {
    use opentelemetry::trace::TraceContextExt;
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    let context = tracing::Span::current().context();
    let span = context.span();
    let span = span.span_context();
    let flags = span.trace_flags().to_u8();
    span.is_valid().then(|| format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id()))
}

/// The `traceparent` of the present span: none in this build.
#[cfg(not(feature = "otel"))]
pub(crate) fn traceparent() -> Option<String> {
    None
}

/// What version 00 of the format says, and what a later one must begin with.
#[cfg(feature = "otel")]
fn parsed(traceparent: &str) -> Option<opentelemetry::trace::SpanContext> {
    use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

    let hex = |part: &str, chars: usize| {
        part.len() == chars && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    let mut parts = traceparent.split('-');
    let version = parts.next().filter(|part| hex(part, 2) && *part != "ff")?;
    let trace = parts.next().filter(|part| hex(part, 32))?;
    let span = parts.next().filter(|part| hex(part, 16))?;
    let flags = parts.next().filter(|part| hex(part, 2))?;
    if version == "00" && parts.next().is_some() {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let context = SpanContext::new(trace, span, flags, true, TraceState::default());
    context.is_valid().then_some(context)
}

#[cfg(all(test, feature = "otel"))]
mod tests {
    use super::*;

    const GOOD: &str = "00-5bef4de7ad49b0e87f6ef6c87fc2e700-9a9197af755a6419-01";

    #[test]
    fn a_traceparent_is_read_and_anything_else_is_no_parent() {
        let context = parsed(GOOD).unwrap();
        assert!(context.is_sampled() && context.is_remote());
        assert_eq!(context.span_id().to_string(), "9a9197af755a6419");
        assert!(parsed(&format!("01{}-later", &GOOD[2..])).is_some());
        let zero_trace = format!("00-{}-9a9197af755a6419-01", "0".repeat(32));
        let zero_span = format!("{}{}-01", &GOOD[..36], "0".repeat(16));
        let upper = GOOD.to_uppercase();
        let longer = format!("{GOOD}-more");
        for bad in ["", "00", "\u{1F41D}", &zero_trace, &zero_span, &upper, &longer, &GOOD[1..]] {
            assert!(parsed(bad).is_none(), "{bad}");
        }
        assert_eq!(TRACEPARENT_BYTES, 11 + 6 + GOOD.len());
    }
}
