//! Metering of requests to models: estimates a request, takes room for it in the limits, and reports
//! what its provider counted. Called by the agent loop and by fronts that pass a request through.

use std::sync::Arc;

use tollgate_core::model_usage::ModelLimitExceededError;
use tollgate_engine::model_usage::{
    ModelCaller, ModelDemand, ModelReservation, ModelTokens, ModelUsageMeter,
};

use crate::conversation::{ChatRequest, ChatResponse, PartContent, TokenUsage};
use crate::delta::ResponseDelta;
use crate::error::{LlmError, LlmErrorKind};
use crate::provider::{ModelHandle, PassThroughRequest};
use crate::tokens::{self, CountPrecision};

mod text_meter;

pub use text_meter::AnswerTextMeter;

/// Bytes of a passed body in one token.
const BYTES_PER_TOKEN: u64 = 4;
/// A longer word in a passed body is a file, not a text.
const MAX_WORD_BYTES: usize = 4 << 10;

/// Who pays for the requests of a completion.
#[derive(Clone)]
pub struct ModelUsageContext {
    pub meter: Arc<ModelUsageMeter>,
    pub caller: ModelCaller,
}

impl ModelUsageContext {
    /// Takes room for a request as it will be sent to this model.
    pub fn reserve(
        &self,
        model: &ModelHandle,
        request: &ChatRequest,
    ) -> Result<ModelReservation, LlmError> {
        let (system, others) = tokens::conversation(request, CountPrecision::Estimated);
        let tools = tokens::tools(&request.tools, CountPrecision::Estimated);
        let max_output = request.options.max_output.unwrap_or(model.settings.max_output.into());
        let answers = request.options.candidates.unwrap_or(1).max(1);
        let input = system.saturating_add(others).saturating_add(tools);
        self.reserve_tokens(model, input, max_output.saturating_mul(answers))
    }

    /// Takes room for a request that is passed on unread.
    pub fn reserve_passed(
        &self,
        model: &ModelHandle,
        passed: &PassThroughRequest,
    ) -> Result<ModelReservation, LlmError> {
        let max_output = passed.max_output.unwrap_or(model.settings.max_output.into());
        self.reserve_tokens(model, estimate_body(passed.body()), max_output)
    }

    /// Takes room for a request that no text is generated for. `text` is what its provider charges
    /// for, as far as it is known.
    pub fn reserve_text(
        &self,
        model: &ModelHandle,
        text: &[u8],
    ) -> Result<ModelReservation, LlmError> {
        self.reserve_tokens(model, if text.is_empty() { 0 } else { estimate_body(text) }, 0)
    }

    fn reserve_tokens(
        &self,
        model: &ModelHandle,
        input: u64,
        max_output: u64,
    ) -> Result<ModelReservation, LlmError> {
        let settings = &model.settings;
        let demand = ModelDemand { name: &settings.name, id: &settings.id, input, max_output };
        self.meter.reserve(&self.caller, &demand).map_err(|refused| limit_error(&refused))
    }
}

/// The error of a request that was not sent, because a limit has no room for it.
pub(crate) fn limit_error(refused: &ModelLimitExceededError) -> LlmError {
    LlmError::new(LlmErrorKind::ModelLimit, refused.to_string()).after(refused.retry_after)
}

/// Settles a complete answer.
pub fn settle_response(mut reserved: ModelReservation, response: &ChatResponse) {
    for part in &response.parts {
        match &part.content {
            PartContent::Text(text)
            | PartContent::Refusal(text)
            | PartContent::Thinking { text, .. } => reserved.note_arrived(text.len()),
            PartContent::Call(call) => reserved.note_arrived(call.arguments.len()),
            PartContent::Media(_) | PartContent::Result(_) | PartContent::Opaque { .. } => {}
        }
    }
    reserved.settle(&model_tokens(&response.usage));
}

/// A request in flight whose answer is streamed. Dropped before its end, it is settled with what
/// had arrived.
pub struct StreamReservation(Option<ModelReservation>);

impl StreamReservation {
    pub fn new(reserved: Option<ModelReservation>) -> Self {
        Self(reserved)
    }

    pub fn note(&mut self, delta: &ResponseDelta) {
        match delta {
            ResponseDelta::Grow { text, .. } => {
                if let Some(reserved) = &mut self.0 {
                    reserved.note_arrived(text.len());
                }
            }
            ResponseDelta::End { usage, .. } => {
                if let Some(reserved) = self.0.take() {
                    reserved.settle(&model_tokens(usage));
                }
            }
            _ => {}
        }
    }
}

pub fn model_tokens(usage: &TokenUsage) -> ModelTokens {
    let TokenUsage { input, output, cache_read, cache_written, .. } = *usage;
    ModelTokens { input, output, cache_read, cache_written, ..ModelTokens::default() }
}

/// Estimated tokens of a JSON body, without parsing it.
fn estimate_body(body: &[u8]) -> u64 {
    let words = body.split(|byte| matches!(byte, b' ' | b'"' | b'\n' | b'\t' | b'\r'));
    words.fold(0, |sum: u64, word| {
        sum.saturating_add(match word.len() {
            long if long > MAX_WORD_BYTES => tokens::TOKENS_PER_IMAGE,
            length => (length as u64 + 1).div_ceil(BYTES_PER_TOKEN),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::estimate_body;

    #[test]
    fn a_passed_body_is_estimated_by_its_length_and_a_picture_as_one() {
        let text = format!(r#"{{"content":"{}"}}"#, "four ".repeat(1_000));
        let tokens = estimate_body(text.as_bytes());
        assert!((1_000..2_500).contains(&tokens), "{tokens}");
        let picture = format!(r#"{{"data":"{}"}}"#, "A".repeat(4 << 20));
        let tokens = estimate_body(picture.as_bytes());
        assert!((1_600..1_700).contains(&tokens), "{tokens}");
        assert_eq!(estimate_body(b""), 1);
    }
}
