//! `reasoning_details`: signed thoughts beside the text of a message. OpenAI has no field for them;
//! this is OpenRouter's, which many clients send back with the message.
//!
//! A detail names the call that the thought led to, because all calls come after the text here.

use serde_json::{Map, Value, json};

use super::DIALECT;
use crate::conversation::{MessagePart, PartContent, ThoughtSignature};
use crate::format::fields::FieldReader;

pub(super) const DETAILS_KEY: &str = "reasoning_details";

/// A signed thought.
#[derive(Debug)]
pub(super) struct ReasoningDetail<'a> {
    pub(super) text: &'a str,
    /// As the reader is to get it.
    pub(super) signature: String,
    /// Id of the call that follows it.
    pub(super) call: Option<&'a str>,
}

impl ReasoningDetail<'_> {
    /// `index` counts the details of a message.
    pub(super) fn json(&self, index: usize) -> Value {
        let Self { text, signature, call } = self;
        let mut detail = json!({"type": "reasoning.text", "text": text, "signature": signature,
            "index": index});
        if let Some(call) = call {
            detail["id"] = (*call).into();
        }
        detail
    }
}

/// The details of the thoughts for which `sign` gives a signature.
pub(super) fn write_all(
    parts: &[MessagePart],
    sign: impl Fn(&ThoughtSignature) -> Option<String>,
) -> Vec<Value> {
    let signed = parts.iter().enumerate().filter_map(|(at, part)| {
        let PartContent::Thinking { text, signature: Some(signature) } = &part.content else {
            return None;
        };
        let call = parts.get(at + 1).and_then(MessagePart::as_call).map(|call| call.id.as_str());
        Some(ReasoningDetail { text, signature: sign(signature)?, call })
    });
    signed.enumerate().map(|(index, detail)| detail.json(index)).collect()
}

/// A thought that a client sent back, and the call before which it belongs.
#[derive(Debug)]
pub(super) struct ReturnedThought {
    part: MessagePart,
    call: Option<String>,
}

/// Takes the thoughts that were signed here. Details of others stay in the field.
pub(super) fn take(fields: &mut FieldReader) -> Vec<ReturnedThought> {
    let details = match fields.take(DETAILS_KEY) {
        Some(Value::Array(details)) => details,
        Some(other) => {
            fields.put(DETAILS_KEY, other);
            return Vec::new();
        }
        None => return Vec::new(),
    };
    let mut thoughts = Vec::new();
    let mut others = Vec::new();
    for detail in details {
        match read(&detail) {
            Some(thought) => thoughts.push(thought),
            None => others.push(detail),
        }
    }
    if !others.is_empty() {
        fields.put(DETAILS_KEY, others);
    }
    thoughts
}

fn read(detail: &Value) -> Option<ReturnedThought> {
    let detail: &Map<String, Value> = detail.as_object()?;
    let text = |key: &str| detail.get(key).and_then(Value::as_str).map(str::to_owned);
    let signature = text("signature").filter(|kept| ThoughtSignature::is_encoded(kept))?;
    let signature = Some(ThoughtSignature::from_client(DIALECT, signature));
    let content = PartContent::Thinking { text: text("text").unwrap_or_default(), signature };
    Some(ReturnedThought { part: MessagePart::new(content), call: text("id") })
}

/// Puts thoughts where they were: before their call, or before everything.
pub(super) fn place(thoughts: Vec<ReturnedThought>, parts: &mut Vec<MessagePart>) {
    let mut first = 0;
    for ReturnedThought { part, call } in thoughts {
        let is_its =
            |it: &MessagePart| it.as_call().is_some_and(|it| Some(&it.id) == call.as_ref());
        let at = parts.iter().position(is_its).unwrap_or_else(|| {
            first += 1;
            first - 1
        });
        parts.insert(at, part);
    }
}
