//! Decodes the chunks of a provider's stream. Each chunk is a response of its own; consecutive
//! texts form one part. No chunk is marked as the last: a stream with a finish reason is complete.

use serde_json::{Map, Value};
use tollgate_core::digest::DigestBuilder;

use crate::conversation::{MessagePart, PartContent, StopReason};
use crate::delta::{PartOpening, ResponseDelta};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::format::{BrokenStreamError, MalformedResponseError, StreamReader};

use super::response::{GeminiCandidate, is_blocked, read_usage, stop, usage_rest};
use super::{errors, spelling};

const OWN: Dialect = Dialect::Gemini;

#[derive(Debug, Default)]
pub(super) struct GeminiStreamReader {
    phase: GeminiStreamPhase,
    opened: usize,
    calls: usize,
    /// Digest of the last chunk with a call, to recognize one that is sent again.
    call_chunk: Option<[u8; 32]>,
    current: Option<(GeminiTextKind, usize)>,
    reason: Option<String>,
    usage: Value,
    candidate: Map<String, Value>,
    extra: Map<String, Value>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum GeminiStreamPhase {
    #[default]
    Before,
    Within,
    After,
}

/// Kind of a part to which text can be appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GeminiTextKind {
    Text,
    Thinking,
}

impl StreamReader for GeminiStreamReader {
    fn read(
        &mut self,
        _: Option<&str>,
        data: &str,
    ) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
        if data.is_empty() || data == "[DONE]" || self.phase == GeminiStreamPhase::After {
            return Ok(Vec::new());
        }
        let Ok(Value::Object(mut chunk)) = serde_json::from_str(data) else {
            return Err(malformed_stream("a chunk is not a JSON object"));
        };
        if chunk.contains_key("error") {
            return Err(BrokenStreamError::Reported(errors::read(500, data.as_bytes())));
        }
        if data.contains("functionCall") {
            let digest = DigestBuilder::default().with(data).finish();
            // A call may have no id here, so a repeated chunk would run its tools twice.
            if self.call_chunk.replace(digest) == Some(digest) {
                return Ok(Vec::new());
            }
        }
        let mut deltas = Vec::new();
        self.begin(&mut chunk, &mut deltas);
        if let Some(usage @ Value::Object(_)) = chunk.remove("usageMetadata") {
            self.usage = usage;
        }
        let candidates = chunk.remove("candidates");
        self.extra.extend(chunk.into_iter().filter(|(_, value)| !value.is_null()));
        let first = match candidates {
            Some(Value::Array(list)) => list.into_iter().find(is_first),
            _ => None,
        };
        if let Some(candidate) = first {
            let GeminiCandidate { parts, reason, rest } = GeminiCandidate::read(candidate)?;
            for part in parts {
                self.part(part, &mut deltas);
            }
            self.reason = reason.or(self.reason.take());
            self.candidate.extend(rest);
        }
        Ok(deltas)
    }

    fn end(&mut self) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
        if std::mem::replace(&mut self.phase, GeminiStreamPhase::After) == GeminiStreamPhase::After
        {
            return Ok(Vec::new());
        }
        let blocked = self.extra.get("promptFeedback").is_some_and(is_blocked);
        let mut deltas = Vec::new();
        self.close(&mut deltas);
        let stop = match self.reason.take() {
            Some(reason) => stop(Some(&reason), self.calls),
            None if blocked => StopReason::Filtered,
            None => return Err(BrokenStreamError::Short),
        };
        let mut extra = std::mem::take(&mut self.extra);
        if !self.candidate.is_empty() {
            let candidate = std::mem::take(&mut self.candidate);
            extra.insert("candidates".to_owned(), Value::Array(vec![candidate.into()]));
        }
        let mut extra = Extra::new(OWN, extra);
        extra.merge(usage_rest(&self.usage));
        deltas.push(ResponseDelta::End { stop, usage: read_usage(&self.usage), extra });
        Ok(deltas)
    }
}

impl GeminiStreamReader {
    fn begin(&mut self, chunk: &mut Map<String, Value>, deltas: &mut Vec<ResponseDelta>) {
        let mut text = |key: &str| match chunk.remove(key) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let id = text("responseId");
        let model = text("modelVersion");
        if std::mem::replace(&mut self.phase, GeminiStreamPhase::Within)
            == GeminiStreamPhase::Before
        {
            deltas.push(ResponseDelta::Start { id, model, created: 0, extra: Extra::none() });
        }
    }

    fn part(&mut self, part: MessagePart, deltas: &mut Vec<ResponseDelta>) {
        let MessagePart { content, extra } = part;
        match content {
            // The last chunk often has an empty text beside the finish reason.
            PartContent::Text(text) if text.is_empty() && extra.is_empty() => {}
            PartContent::Text(text) => {
                let index = self.open_text_part(GeminiTextKind::Text, extra, deltas);
                grow(index, text, deltas);
            }
            PartContent::Thinking { text, signature } => {
                // A signature alone belongs to the next part, not to the previous thought.
                if text.is_empty() {
                    self.close(deltas);
                }
                let alone = text.is_empty();
                let index = self.open_text_part(GeminiTextKind::Thinking, extra, deltas);
                grow(index, text, deltas);
                let signed = signature.is_some();
                deltas.extend(signature.map(|signature| ResponseDelta::Sign { index, signature }));
                if alone || signed {
                    self.close(deltas);
                }
            }
            PartContent::Call(mut call) => {
                self.close(deltas);
                if call.id.is_empty() {
                    call.id = spelling::numbered_id(self.calls);
                }
                self.calls += 1;
                let opening = PartOpening::Call { id: call.id, name: call.name };
                let index = self.open(opening, extra, deltas);
                grow(index, call.arguments, deltas);
                deltas.push(ResponseDelta::Close { index });
            }
            whole => {
                self.close(deltas);
                let index = self.open(PartOpening::Whole(whole), extra, deltas);
                deltas.push(ResponseDelta::Close { index });
            }
        }
    }

    /// The part for text of this kind: the open one, or a new one. Text with its own extra fields
    /// gets its own part.
    fn open_text_part(
        &mut self,
        kind: GeminiTextKind,
        extra: Extra,
        deltas: &mut Vec<ResponseDelta>,
    ) -> usize {
        if let Some((open, index)) = self.current
            && open == kind
            && extra.is_empty()
        {
            return index;
        }
        self.close(deltas);
        let opening = match kind {
            GeminiTextKind::Text => PartOpening::Text,
            GeminiTextKind::Thinking => PartOpening::Thinking,
        };
        let index = self.open(opening, extra, deltas);
        self.current = Some((kind, index));
        index
    }

    fn open(
        &mut self,
        opening: PartOpening,
        extra: Extra,
        deltas: &mut Vec<ResponseDelta>,
    ) -> usize {
        let index = self.opened;
        self.opened += 1;
        deltas.push(ResponseDelta::Open { index, opening, extra });
        index
    }

    fn close(&mut self, deltas: &mut Vec<ResponseDelta>) {
        deltas.extend(self.current.take().map(|(_, index)| ResponseDelta::Close { index }));
    }
}

fn grow(index: usize, text: String, deltas: &mut Vec<ResponseDelta>) {
    if !text.is_empty() {
        deltas.push(ResponseDelta::Grow { index, text, extra: Extra::none() });
    }
}

fn is_first(candidate: &Value) -> bool {
    candidate.get("index").and_then(Value::as_u64).unwrap_or(0) == 0
}

fn malformed_stream(what: &str) -> BrokenStreamError {
    BrokenStreamError::Malformed(MalformedResponseError(what.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::GeminiStreamReader;
    use crate::delta::{PartOpening, ResponseDelta};
    use crate::format::StreamReader;

    fn calls(chunks: &[&str]) -> usize {
        let mut reader = GeminiStreamReader::default();
        let deltas = chunks.iter().flat_map(|chunk| reader.read(None, chunk).unwrap());
        let is_call = |delta: &ResponseDelta| {
            matches!(delta, ResponseDelta::Open { opening: PartOpening::Call { .. }, .. })
        };
        deltas.filter(is_call).count()
    }

    #[test]
    fn a_chunk_that_is_sent_twice_calls_its_tools_once() {
        let chunk = |parts: &serde_json::Value| {
            json!({"candidates": [{"content": {"role": "model", "parts": parts}}]}).to_string()
        };
        let call = json!({"functionCall": {"name": "roll", "args": {}}});
        let one = chunk(&json!([call]));
        assert_eq!(calls(&[&one, &one]), 1);
        let two = chunk(&json!([call, call]));
        assert_eq!(calls(&[&two]), 2, "a model may make the same call twice");
        let text = chunk(&json!([{"text": "and"}]));
        assert_eq!(calls(&[&one, &text, &two]), 3);
    }
}
