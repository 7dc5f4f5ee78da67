//! The span of one question to a model, by the conventions for generative AI.

use tollgate_engine::spans::{Attributes, Follow, Kind, Span};

use super::model::Model;
use crate::conversation::{Delivery, Response, Stop, Usage};
use crate::failure::Failure;
use crate::settings::ProviderKind;

pub(super) fn begin(follow: &Follow, model: &Model, delivery: Delivery) -> Span {
    let id = &model.settings.id;
    let kind = match model.provider_kind() {
        Some(_) => Kind::Client,
        None => Kind::Internal,
    };
    let mut span = follow.begin(kind, || format!("chat {id}").into());
    span.tell(|said| {
        said.set("gen_ai.operation.name", "chat");
        said.set("gen_ai.provider.name", provider_name(model.provider_kind()));
        said.set("gen_ai.request.model", id.clone());
        if delivery == Delivery::Streamed {
            said.set("gen_ai.request.stream", true);
        }
        if let Some(url) = model.origin() {
            let usual = if url.scheme_str() == Some("https") { 443 } else { 80 };
            said.set_some("server.address", url.host().map(str::to_owned));
            said.set("server.port", u64::from(url.port_u16().unwrap_or(usual)));
        }
    });
    span
}

/// As the conventions call it.
pub(crate) fn provider_name(kind: Option<ProviderKind>) -> &'static str {
    match kind {
        Some(ProviderKind::OpenAi) => "openai",
        Some(ProviderKind::Anthropic) => "anthropic",
        Some(ProviderKind::Gemini) => "gcp.gemini",
        Some(ProviderKind::Deepgram) => "deepgram",
        Some(ProviderKind::Offline) | None => "tollgate",
    }
}

pub(super) fn failed(span: &mut Span, failure: &Failure) {
    span.refused(failure.kind.code(), || failure.to_string());
}

pub(super) fn answered(span: &mut Span, response: &Response) {
    span.tell(|said| {
        named(said, (&response.id, &response.model));
        ended(said, &response.stop, &response.usage);
    });
    span.done();
}

pub(super) fn named(said: &mut Attributes, (id, model): (&str, &str)) {
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    said.set_some("gen_ai.response.id", some(id));
    said.set_some("gen_ai.response.model", some(model));
}

pub(super) fn ended(said: &mut Attributes, stop: &Stop, usage: &Usage) {
    said.set("gen_ai.response.finish_reasons", vec![reason(stop)]);
    spent(said, usage);
}

/// Nothing is said of tokens that nobody counted.
pub(crate) fn spent(said: &mut Attributes, usage: &Usage) {
    let some = |count: u64| Some(count).filter(|count| *count > 0);
    said.set_some("gen_ai.usage.input_tokens", some(usage.input));
    said.set_some("gen_ai.usage.output_tokens", some(usage.output));
    said.set_some("gen_ai.usage.cache_read.input_tokens", some(usage.cache_read));
    said.set_some("gen_ai.usage.cache_write.input_tokens", some(usage.cache_written));
    said.set_some("gen_ai.usage.reasoning.output_tokens", some(usage.reasoning));
}

fn reason(stop: &Stop) -> String {
    match stop {
        Stop::End | Stop::Sequence(_) => "stop",
        Stop::Length => "length",
        Stop::Calls => "tool_call",
        Stop::Filtered | Stop::Refused => "content_filter",
        Stop::Other { reason, .. } => reason,
    }
    .to_owned()
}
