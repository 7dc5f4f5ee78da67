//! Encodes spans as OTLP.

use std::time::SystemTime;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event as SpanEvent, SpanKind as OtlpSpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, SpanFlags, Status};
use tollgate_engine::spans::{Event, FinishedSpan, SpanKind};

use super::message::{attributes, mask, nanos, scope};

/// A request to `/v1/traces`.
pub(super) fn request(resource: &Resource, spans: &[FinishedSpan]) -> ExportTraceServiceRequest {
    let spans = spans.iter().map(span).collect();
    let scoped = ScopeSpans { scope: Some(scope()), spans, ..Default::default() };
    let of_resource = ResourceSpans {
        resource: Some(resource.clone()),
        scope_spans: vec![scoped],
        ..Default::default()
    };
    ExportTraceServiceRequest { resource_spans: vec![of_resource] }
}

fn span(span: &FinishedSpan) -> Span {
    let context = &span.context;
    Span {
        trace_id: context.trace.bytes().to_vec(),
        span_id: context.span.bytes().to_vec(),
        trace_state: context.state.as_ref().map(|state| mask(state.as_ref())).unwrap_or_default(),
        parent_span_id: span.parent.map(|it| it.bytes().to_vec()).unwrap_or_default(),
        name: mask(&span.name),
        kind: kind(span.kind).into(),
        start_time_unix_nano: nanos(span.began),
        end_time_unix_nano: nanos(span.began + span.took),
        attributes: attributes(&span.attributes),
        events: span.events.iter().map(|event| span_event(span.began, event)).collect(),
        status: span
            .error
            .as_ref()
            .map(|words| Status { message: mask(words), code: StatusCode::Error.into() }),
        // The bits about a remote parent are not set.
        flags: u32::from(context.flags.bits()) & SpanFlags::TraceFlagsMask as u32,
        ..Default::default()
    }
}

fn kind(kind: SpanKind) -> OtlpSpanKind {
    match kind {
        SpanKind::Internal => OtlpSpanKind::Internal,
        SpanKind::Server => OtlpSpanKind::Server,
        SpanKind::Client => OtlpSpanKind::Client,
    }
}

fn span_event(began: SystemTime, event: &Event) -> SpanEvent {
    SpanEvent {
        time_unix_nano: nanos(began + event.after),
        name: mask(event.name),
        attributes: attributes(&event.attributes),
        ..Default::default()
    }
}
