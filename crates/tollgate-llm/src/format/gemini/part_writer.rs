//! Encodes parts and records what could not be encoded. Used for requests, responses and history.

use std::borrow::Cow;

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

use super::part_reader::response_text;
use super::spelling::{is_numbered, is_watched, media_type_of};

const OWN: Dialect = Dialect::Gemini;

#[derive(Debug)]
pub(super) struct GeminiPartWriter {
    pub(super) ledger: EncodingLog,
    /// Signature of a thought without text: it goes onto the next part.
    signature: Option<String>,
}

impl GeminiPartWriter {
    pub(super) fn for_provider(request: &ChatRequest) -> Self {
        Self { ledger: EncodingLog::for_provider(request, OWN), signature: None }
    }

    pub(super) fn for_client() -> Self {
        Self { ledger: EncodingLog::for_client(), signature: None }
    }

    /// `None`: the part is omitted, or deferred.
    pub(super) fn part(&mut self, part: &MessagePart, at: &str) -> Option<Value> {
        let written = match &part.content {
            PartContent::Text(text) | PartContent::Refusal(text) => {
                let has_text =
                    self.ledger.is_for_client() || self.signature.is_some() || !text.is_empty();
                (has_text || !part.extra.is_empty()).then(|| json!({"text": text}))?
            }
            PartContent::Thinking { text, signature } => self.thinking(text, signature.as_ref())?,
            PartContent::Media(media) => {
                let written = media_part(media, &part.extra, at);
                self.ledger.allow(written)?
            }
            PartContent::Call(call) => self.call(call),
            PartContent::Result(result) => return Some(self.result(result, &part.extra, at)),
            PartContent::Opaque { dialect: OWN, value } => value.clone(),
            PartContent::Opaque { dialect, .. } => {
                self.ledger.lose(format!("a part that only {dialect} understands"));
                return None;
            }
        };
        Some(self.sign(with(written, &part.extra)))
    }

    /// A signature without a following part goes onto an empty one, as Gemini does it.
    pub(super) fn rest(&mut self) -> Option<Value> {
        self.signature.take().map(|it| json!({"text": "", "thoughtSignature": it}))
    }

    pub(super) fn sign(&mut self, mut part: Value) -> Value {
        if part.get("thoughtSignature").is_none()
            && let Some(signature) = self.signature.take()
        {
            part["thoughtSignature"] = signature.into();
        }
        part
    }

    /// Holds the signature of a thought without text. A provider only gets its own signatures.
    pub(super) fn keep(&mut self, signature: &ThoughtSignature) {
        if self.ledger.is_for_client() || signature.maker == OWN {
            self.signature = Some(self.signature_text(signature));
        } else {
            self.ledger.lose("reasoning without Gemini's signature");
        }
    }

    fn signature_text(&self, signature: &ThoughtSignature) -> String {
        if self.ledger.is_for_client() { signature.for_client(OWN) } else { signature.text.clone() }
    }

    fn thinking(&mut self, text: &str, signature: Option<&ThoughtSignature>) -> Option<Value> {
        if let (true, Some(signature)) = (text.is_empty(), signature) {
            self.keep(signature);
            return None;
        }
        let mut part = json!({"text": text, "thought": true});
        match signature {
            Some(signature) if self.ledger.is_for_client() || signature.maker == OWN => {
                part["thoughtSignature"] = self.signature_text(signature).into();
            }
            Some(_) => {
                self.ledger.lose("reasoning without Gemini's signature");
                return None;
            }
            None => {}
        }
        Some(part)
    }

    fn call(&mut self, call: &FunctionCall) -> Value {
        let args = arguments(&call.arguments).unwrap_or_else(|| {
            let name = &call.name;
            self.ledger
                .lose(format!("the form of the arguments of `{name}`: they are not a JSON object"));
            json!({"arguments": call.arguments})
        });
        let mut function = json!({"name": call.name, "args": args});
        if let Some(id) = self.id(&call.id) {
            function["id"] = id.into();
        }
        json!({"functionCall": function})
    }

    fn result(&mut self, result: &CallResult, extra: &Extra, at: &str) -> Value {
        let (texts, others) = self.in_result(&result.parts, at);
        let response = response(&texts.join("\n"), result.end, extra);
        let name = result.name.clone().unwrap_or_else(|| result.call_id.clone());
        let mut function = json!({"name": name, "response": response});
        if let Some(id) = self.id(&result.call_id) {
            function["id"] = id.into();
        }
        if !others.is_empty() {
            function["parts"] = others.into();
        }
        let mut fields = extra.fields(OWN).cloned().unwrap_or_default();
        fields.remove("response");
        with(json!({"functionResponse": function}), &Extra::new(OWN, fields))
    }

    /// Texts of a result, and its other parts.
    fn in_result<'p>(
        &mut self,
        parts: &'p [MessagePart],
        at: &str,
    ) -> (Vec<Cow<'p, str>>, Vec<Value>) {
        let mut texts = Vec::new();
        let mut others = Vec::new();
        for part in parts {
            let at = format!("{at}.parts[{}]", others.len());
            match &part.content {
                PartContent::Text(text) => texts.push(Cow::from(text)),
                PartContent::Media(media) if !may_be_in_result(media, &part.extra, &at) => {
                    self.ledger.lose_content(&part.content);
                    texts.push(result_media::instead(media).into());
                }
                _ => others.extend(self.part(part, &at)),
            }
        }
        (texts, others)
    }

    /// Providers do not get ids that were generated here; clients do, to refer to them in results.
    fn id<'i>(&self, id: &'i str) -> Option<&'i str> {
        (self.ledger.is_for_client() || !is_numbered(id)).then_some(id).filter(|id| !id.is_empty())
    }
}

/// Parses the arguments of a call, if they are an object. Missing arguments are an empty object.
pub(super) fn arguments(arguments: &str) -> Option<Value> {
    if arguments.trim().is_empty() {
        return Some(json!({}));
    }
    serde_json::from_str(arguments).ok().filter(Value::is_object)
}

/// Uses the original form if its content is unchanged.
fn response(text: &str, end: CallEnd, extra: &Extra) -> Value {
    if let Some(Value::Object(own)) = extra.get(OWN, "response")
        && response_text(own) == (Some(text.to_owned()), end)
    {
        return own.clone().into();
    }
    let object: Option<Map<String, Value>> = serde_json::from_str(text).ok();
    match (end, object) {
        (CallEnd::Failed, _) => json!({"error": text}),
        (CallEnd::Well, Some(object)) if response_text(&object).0.as_deref() == Some(text) => {
            object.into()
        }
        (CallEnd::Well, _) => json!({"output": text}),
    }
}

pub(super) fn with(mut part: Value, extra: &Extra) -> Value {
    if let Value::Object(part) = &mut part {
        extra.write_into(OWN, part);
    }
    part
}

/// A result has bytes: of an address the model is told, unless Google's client sent it there.
fn may_be_in_result(media: &ChatMedia, extra: &Extra, at: &str) -> bool {
    let is_addressed = matches!(media.source, MediaSource::Url(_));
    let is_own = extra.get(OWN, "fileData").is_some();
    (!is_addressed || is_own) && media_part(media, extra, at).is_ok()
}

fn media_part(media: &ChatMedia, extra: &Extra, at: &str) -> Result<Value, LlmError> {
    let uri = match &media.source {
        MediaSource::Base64 { media_type, data } => {
            return Ok(json!({"inlineData": {"mimeType": media_type, "data": data}}));
        }
        MediaSource::File(uri) if uri.contains("://") || uri.starts_with("files/") => uri,
        MediaSource::File(_) => {
            let message = format!(
                "`{at}`: the file is stored by another provider, but the model's provider is Google"
            );
            return Err(LlmError::invalid(at, message));
        }
        MediaSource::Url(uri) => uri,
    };
    let mut data = json!({"fileUri": uri});
    let has_mime_type = extra.get(OWN, "fileData").is_some_and(|it| it.get("mimeType").is_some());
    if !has_mime_type && !is_watched(uri) {
        data["mimeType"] = media_type(uri, media.kind).into();
    }
    Ok(json!({"fileData": data}))
}

/// Gemini requires the media type of a URI.
fn media_type(uri: &str, kind: MediaKind) -> &'static str {
    media_type_of(uri).unwrap_or(match kind {
        MediaKind::Image => "image/jpeg",
        MediaKind::Audio => "audio/wav",
        MediaKind::Video => "video/mp4",
        MediaKind::Document => "application/pdf",
    })
}
