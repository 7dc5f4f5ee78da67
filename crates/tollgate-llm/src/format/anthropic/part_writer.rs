//! Encodes parts as content blocks and records what could not be encoded. Used for requests,
//! responses and history.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use crate::conversation::{
    CallEnd, CallResult, ChatMedia, ChatRequest, FunctionCall, MediaKind, MediaSource, MessagePart,
    PartContent, ThoughtSignature,
};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::encoding_log::EncodingLog;
use crate::format::result_media;

use super::prompt_cache;

const OWN: Dialect = Dialect::Anthropic;

#[derive(Debug)]
pub(super) struct AnthropicBlockWriter {
    pub(super) ledger: EncodingLog,
}

impl AnthropicBlockWriter {
    pub(super) fn for_provider(request: &ChatRequest) -> Self {
        Self { ledger: EncodingLog::for_provider(request, OWN) }
    }

    pub(super) fn for_client() -> Self {
        Self { ledger: EncodingLog::for_client() }
    }

    /// `None`: the part is omitted.
    pub(super) fn block(&mut self, part: &MessagePart, at: &str) -> Option<Value> {
        let block = match &part.content {
            PartContent::Text(text) | PartContent::Refusal(text) => self.text(text, &part.extra)?,
            PartContent::Thinking { text, signature } => self.thinking(text, signature.as_ref())?,
            PartContent::Media(media) => {
                let block = media_block(media, at);
                self.ledger.allow(block)?
            }
            PartContent::Call(call) => self.call(call),
            PartContent::Result(result) => self.result(result, at),
            PartContent::Opaque { dialect: OWN, value } => return Some(value.clone()),
            PartContent::Opaque { dialect, .. } => {
                self.ledger.lose(format!("a part that only {dialect} understands"));
                return None;
            }
        };
        Some(with(block, &part.extra))
    }

    /// Anthropic rejects empty and blank texts, which other dialects put beside calls. A client
    /// gets back the empty blocks that it sent itself.
    fn text(&self, text: &str, extra: &Extra) -> Option<Value> {
        let is_kept = if self.ledger.is_for_client() {
            !text.is_empty() || extra.fields(OWN).is_some()
        } else {
            !text.trim().is_empty()
        };
        is_kept.then(|| json!({"type": "text", "text": text}))
    }

    /// A provider accepts only thoughts that it signed itself.
    fn thinking(&mut self, text: &str, signature: Option<&ThoughtSignature>) -> Option<Value> {
        let own = signature.is_some_and(|signature| signature.maker == OWN);
        if !self.ledger.is_for_client() && !own {
            self.ledger.lose("reasoning without Anthropic's signature");
            return None;
        }
        let signature = match signature {
            Some(signature) if self.ledger.is_for_client() => signature.for_client(OWN),
            Some(signature) => signature.text.clone(),
            None => String::new(),
        };
        Some(json!({"type": "thinking", "thinking": text, "signature": signature}))
    }

    fn call(&mut self, call: &FunctionCall) -> Value {
        let input = input(&call.arguments).unwrap_or_else(|| {
            let name = &call.name;
            self.ledger
                .lose(format!("the form of the arguments of `{name}`: they are not a JSON object"));
            as_text(&call.arguments)
        });
        json!({"type": "tool_use", "id": self.id(&call.id), "name": call.name, "input": input})
    }

    fn result(&mut self, result: &CallResult, at: &str) -> Value {
        let mut block = Map::new();
        block.insert("type".to_owned(), "tool_result".into());
        block.insert("tool_use_id".to_owned(), self.id(&result.call_id).into());
        let numbered = result.parts.iter().enumerate();
        let parts: Vec<Value> = numbered
            .filter_map(|(index, part)| self.in_result(part, &format!("{at}.content[{index}]")))
            .collect();
        if !parts.is_empty() {
            block.insert("content".to_owned(), content(parts));
        }
        if result.end == CallEnd::Failed {
            block.insert("is_error".to_owned(), true.into());
        }
        block.into()
    }

    fn in_result(&mut self, part: &MessagePart, at: &str) -> Option<Value> {
        let PartContent::Media(media) = &part.content else { return self.block(part, at) };
        let seen = media.kind != MediaKind::Image || result_media::is_picture(media);
        let block = media_block(media, at).ok().filter(|_| seen);
        if block.is_none() {
            self.ledger.lose_content(&part.content);
        }
        let instead = || json!({"type": "text", "text": result_media::instead(media)});
        Some(with(block.unwrap_or_else(instead), &part.extra))
    }

    /// Towards a provider, restricts the id to the characters that it accepts: other dialects allow
    /// more.
    fn id(&self, id: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if self.ledger.is_for_client() || (!id.is_empty() && id.chars().all(plain)) {
            return id.to_owned();
        }
        // The FNV-1a hash distinguishes ids that differ only in replaced characters.
        let hash = id
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let id: String = id.chars().map(|c| if plain(c) { c } else { '_' }).collect();
        format!("{id}_{hash:08x}")
    }
}

/// Parses the arguments of a call, if they are an object. Missing arguments are an empty object.
pub(super) fn input(arguments: &str) -> Option<Value> {
    if arguments.trim().is_empty() {
        return Some(json!({}));
    }
    serde_json::from_str(arguments).ok().filter(Value::is_object)
}

/// Wraps arguments that are not an object in one, so that they can be sent and still show what the
/// model wrote.
pub(super) fn as_text(arguments: &str) -> Value {
    json!({"arguments": arguments})
}

pub(super) fn with(mut block: Value, extra: &Extra) -> Value {
    if let Value::Object(block) = &mut block {
        extra.write_into(OWN, block);
        prompt_cache::carry_mark(extra, block);
    }
    block
}

fn media_block(media: &ChatMedia, at: &str) -> Result<Value, LlmError> {
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::Document => "document",
        MediaKind::Audio => return Err(unfit(at, "audio")),
        MediaKind::Video => return Err(unfit(at, "video")),
    };
    let source = match &media.source {
        MediaSource::Url(url) => json!({"type": "url", "url": url}),
        MediaSource::File(id) if !id.contains('/') => json!({"type": "file", "file_id": id}),
        MediaSource::File(_) => return Err(unfit(at, "file stored by another provider")),
        MediaSource::Base64 { media_type, data } => match media.kind {
            MediaKind::Document if media_type.starts_with("text/") => plain_text(data, at)?,
            MediaKind::Document if media_type != "application/pdf" => {
                return Err(unfit(at, &format!("document of type `{media_type}`")));
            }
            _ => json!({"type": "base64", "media_type": media_type, "data": data}),
        },
    };
    let mut block = json!({"type": kind, "source": source});
    if let (MediaKind::Document, Some(name)) = (media.kind, &media.name) {
        block["title"] = name.clone().into();
    }
    Ok(block)
}

fn plain_text(data: &str, at: &str) -> Result<Value, LlmError> {
    let bytes = BASE64_STANDARD.decode(data).unwrap_or_default();
    match String::from_utf8(bytes) {
        Ok(text) if !text.is_empty() || data.is_empty() => {
            Ok(json!({"type": "text", "media_type": "text/plain", "data": text}))
        }
        _ => Err(LlmError::invalid(at, format!("`{at}`: the document is not base64 text"))),
    }
}

fn unfit(at: &str, what: &str) -> LlmError {
    LlmError::invalid(
        at,
        format!("`{at}`: the model's provider, Anthropic, does not accept {what}"),
    )
}

/// A single plain text is written as a string instead of a list.
pub(super) fn content(mut blocks: Vec<Value>) -> Value {
    let plain = |block: &Value| {
        block["type"] == "text" && block.as_object().is_some_and(|block| block.len() == 2)
    };
    if blocks.len() == 1 && plain(&blocks[0]) {
        return blocks[0]["text"].take();
    }
    blocks.into()
}
