//! Trace span of one model query, by OpenTelemetry's semantic conventions for generative AI.

use http::Uri;
use tollgate_engine::spans::{SpanAttributes, SpanKind, TraceScope, TraceSpan};

use crate::conversation::{ChatResponse, ResponseDelivery, StopReason, TokenUsage};
use crate::error::LlmError;
use crate::settings::ProviderKind;

/// The model of a query.
pub(super) struct QueriedModel<'m> {
    pub(super) id: &'m str,
    /// `None`: in process.
    pub(super) provider: Option<ProviderKind>,
    /// Of the provider's URL.
    pub(super) origin: Option<&'m Uri>,
}

pub(super) fn begin(
    follow: &TraceScope,
    model: &QueriedModel<'_>,
    delivery: ResponseDelivery,
) -> TraceSpan {
    let id = model.id;
    let kind = match model.provider {
        Some(_) => SpanKind::Client,
        None => SpanKind::Internal,
    };
    let mut span = follow.begin(kind, || format!("chat {id}").into());
    span.tell(|attributes| {
        attributes.set("gen_ai.operation.name", "chat");
        attributes.set("gen_ai.provider.name", provider_name(model.provider));
        attributes.set("gen_ai.request.model", id.to_owned());
        if delivery == ResponseDelivery::Streamed {
            attributes.set("gen_ai.request.stream", true);
        }
        if let Some(url) = model.origin {
            set_server(attributes, url);
        }
    });
    span
}

/// The endpoint that answered, which need not be the first one of the model.
pub(super) fn record_server(span: &mut TraceSpan, url: &Uri) {
    span.tell(|attributes| set_server(attributes, url));
}

fn set_server(attributes: &mut SpanAttributes, url: &Uri) {
    let usual = if url.scheme_str() == Some("https") { 443 } else { 80 };
    attributes.set_some("server.address", url.host().map(str::to_owned));
    attributes.set("server.port", u64::from(url.port_u16().unwrap_or(usual)));
}

/// Provider name in the conventions.
pub(crate) fn provider_name(kind: Option<ProviderKind>) -> &'static str {
    match kind {
        Some(ProviderKind::OpenAi) => "openai",
        Some(ProviderKind::Anthropic) => "anthropic",
        Some(ProviderKind::Gemini) => "gcp.gemini",
        Some(ProviderKind::Deepgram) => "deepgram",
        Some(ProviderKind::Offline) | None => "tollgate",
    }
}

pub(super) fn record_failure(span: &mut TraceSpan, failure: &LlmError) {
    span.fail_quoting(failure.kind.code(), || failure.to_string());
}

pub(super) fn record_response(span: &mut TraceSpan, response: &ChatResponse) {
    span.tell(|attributes| {
        record_identity(attributes, &response.id, &response.model);
        record_end(attributes, &response.stop, &response.usage);
    });
    span.complete();
}

pub(super) fn record_identity(attributes: &mut SpanAttributes, id: &str, model: &str) {
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    attributes.set_some("gen_ai.response.id", some(id));
    attributes.set_some("gen_ai.response.model", some(model));
}

pub(super) fn record_end(attributes: &mut SpanAttributes, stop: &StopReason, usage: &TokenUsage) {
    attributes.set("gen_ai.response.finish_reasons", vec![reason(stop)]);
    record_usage(attributes, usage);
}

/// Counts of 0 are omitted: they mean that nothing was counted.
pub(crate) fn record_usage(attributes: &mut SpanAttributes, usage: &TokenUsage) {
    let some = |count: u64| Some(count).filter(|count| *count > 0);
    attributes.set_some("gen_ai.usage.input_tokens", some(usage.input));
    attributes.set_some("gen_ai.usage.output_tokens", some(usage.output));
    attributes.set_some("gen_ai.usage.cache_read.input_tokens", some(usage.cache_read));
    attributes.set_some("gen_ai.usage.cache_write.input_tokens", some(usage.cache_written));
    attributes.set_some("gen_ai.usage.reasoning.output_tokens", some(usage.reasoning));
}

fn reason(stop: &StopReason) -> String {
    match stop {
        StopReason::End | StopReason::Sequence(_) => "stop",
        StopReason::Length => "length",
        StopReason::Calls => "tool_call",
        StopReason::Filtered | StopReason::Refused => "content_filter",
        StopReason::Other { reason, .. } => reason,
    }
    .to_owned()
}
