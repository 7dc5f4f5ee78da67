//! Log probabilities of an answer, which OpenAI's two dialects write at different places: Chat
//! Completions beside the message, Responses in each text.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::conversation::{ChatResponse, PartContent};
use crate::dialect::Dialect;
use crate::extra::Extra;

const LOGPROBS: &str = "logprobs";

/// From a chunk or an answer of Chat Completions: one entry per token.
pub(in crate::format) fn of_chat(extra: &Extra) -> Option<&Value> {
    let choice = extra.get(Dialect::OpenAiChat, "choices")?.get(0)?;
    choice.get(LOGPROBS)?.get("content").filter(|tokens| tokens.get(0).is_some())
}

/// From a text of Responses, in the form of Chat Completions.
pub(in crate::format) fn for_chat(extra: &Extra) -> Option<Value> {
    let tokens = extra.get(Dialect::OpenAiResponses, LOGPROBS)?;
    tokens.get(0).is_some().then(|| json!({"content": tokens, "refusal": null}))
}

/// All of an answer of Responses, in the form of Chat Completions.
pub(in crate::format) fn whole_for_chat(response: &ChatResponse) -> Option<Value> {
    let texts = response.parts.iter().filter_map(|part| {
        part.extra.get(Dialect::OpenAiResponses, LOGPROBS).and_then(Value::as_array)
    });
    let tokens: Vec<&Value> = texts.flatten().collect();
    (!tokens.is_empty()).then(|| json!({"content": tokens, "refusal": null}))
}

/// An answer of Chat Completions with its log probabilities where Responses has them.
pub(in crate::format) fn placed_in_text(response: &ChatResponse) -> Cow<'_, ChatResponse> {
    let is_text = |content: &PartContent| matches!(content, PartContent::Text(_));
    let at = response.parts.iter().position(|part| is_text(&part.content));
    let (Some(at), Some(tokens)) = (at, of_chat(&response.extra)) else {
        return Cow::Borrowed(response);
    };
    let tokens = tokens.clone();
    let mut placed = response.clone();
    placed.parts[at].extra.merge(in_text(tokens));
    Cow::Owned(placed)
}

/// As a field of a text of Responses.
pub(in crate::format) fn in_text(tokens: Value) -> Extra {
    Extra::new(Dialect::OpenAiResponses, Map::from_iter([(LOGPROBS.to_owned(), tokens)]))
}
