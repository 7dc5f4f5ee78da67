//! Counts the tokens of a request that is not sent: `count_tokens` of Anthropic's API and
//! `countTokens` of Gemini's, for models whose provider cannot be asked.

use serde_json::{Value, json};

use crate::conversation::ChatRequest;
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::{self, RequestUrlParams, gemini};
use crate::tokens::{self, CountPrecision};

/// Reads the body of Anthropic's `count_tokens`: a request without `max_tokens`.
pub fn read_anthropic(mut body: Value) -> Result<ChatRequest, LlmError> {
    if let Some(fields) = body.as_object_mut() {
        fields.entry("max_tokens").or_insert_with(|| json!(1));
    }
    format::of(Dialect::Anthropic).read_request(body, &RequestUrlParams::default())
}

/// Reads the body of Gemini's `countTokens`: contents alone, or a whole request.
pub fn read_gemini(body: Value, model: &str) -> Result<ChatRequest, LlmError> {
    const WHOLE: &str = "generateContentRequest";
    let mut fields = gemini::fields(body, "")?;
    if fields.has(WHOLE) && fields.has("contents") {
        let message = format!("`contents` and `{WHOLE}` exclude each other");
        return Err(LlmError::invalid(WHOLE, message));
    }
    let body = fields.take(WHOLE).unwrap_or_else(|| fields.into_value());
    let address = RequestUrlParams { model: Some(model), delivery: None };
    format::of(Dialect::Gemini).read_request(body, &address)
}

/// Tokens of messages and tools, with what a provider of this dialect adds around them.
pub fn count(request: &ChatRequest, dialect: Dialect) -> u64 {
    let (system, others) = tokens::conversation(request, CountPrecision::Exact);
    let tools = tokens::tools(&request.tools, CountPrecision::Exact);
    system + others + tools + tokens::around_tools(request.tools.len(), dialect)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{count, read_anthropic, read_gemini};
    use crate::dialect::Dialect;

    #[test]
    fn the_forms_of_one_request_have_the_same_tokens() {
        let messages = json!([{"role": "user", "content": "How many tokens are these words?"}]);
        let request = read_anthropic(json!({"model": "m", "messages": messages})).unwrap();
        let text = json!({"role": "user", "parts": [{"text": "How many tokens are these words?"}]});
        let bare = read_gemini(json!({"contents": [text]}), "m").unwrap();
        let whole = json!({"generate_content_request": {"model": "models/m", "contents": [text]}});
        let whole = read_gemini(whole, "m").unwrap();
        let tokens = count(&request, Dialect::OpenAiChat);
        assert_eq!(tokens, 4 + 7);
        assert_eq!(count(&bare, Dialect::OpenAiChat), tokens);
        assert_eq!(count(&whole, Dialect::OpenAiChat), tokens);
    }

    #[test]
    fn system_prompts_and_tools_count() {
        let plain = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        let mut full = plain.clone();
        full["system"] = json!("Answer in one word.");
        full["tools"] = json!([{"name": "roll", "input_schema": {"type": "object"}}]);
        let plain = count(&read_anthropic(plain).unwrap(), Dialect::Anthropic);
        let full = count(&read_anthropic(full).unwrap(), Dialect::Anthropic);
        assert!(full > plain + 346, "{plain} and {full}: the tools have a prompt of their own");
    }

    #[test]
    fn a_body_in_two_forms_at_once_is_refused() {
        let body = json!({"contents": [], "generateContentRequest": {"contents": []}});
        let refused = read_gemini(body, "m").unwrap_err();
        assert_eq!(refused.at.as_deref(), Some("generateContentRequest"));
    }
}
