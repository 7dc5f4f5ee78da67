//! Encodes the events of a client's stream. Blocks never overlap in this dialect: a part that
//! starts while another is open waits until that one is closed.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::conversation::{MessagePart, PartContent, StopReason, TokenUsage};
use crate::delta::{PartOpening, ResponseDelta};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::{ChatSseEvent, StreamWriter};
use crate::gateway_report::GatewayReport;

use super::part_writer::{AnthropicBlockWriter, as_text, with};
use super::response::{stop_words, usage_json};
use super::{errors, history};

const OWN: Dialect = Dialect::Anthropic;

/// Usage fields that are sent only with the start of the message.
const START_ONLY_USAGE_KEYS: [&str; 4] =
    ["cache_creation", "inference_geo", "service_tier", "speed"];

#[derive(Debug)]
pub(super) struct AnthropicStreamWriter {
    /// The client's name of the model, until a delta has a better one.
    model: String,
    begun: bool,
    /// Number of blocks started.
    blocks: usize,
    current: Option<AnthropicOpenPart>,
    waiting: VecDeque<DeferredPart>,
    ended: Option<(StopReason, TokenUsage, Extra)>,
    /// Events to send next.
    frames: Vec<ChatSseEvent>,
}

/// The part that is being written.
#[derive(Debug)]
struct AnthropicOpenPart {
    part: usize,
    /// `None`: this dialect has no block for the part.
    block: Option<usize>,
    growth: BlockDeltaKind,
    /// Number of citations written.
    citations: usize,
}

/// How the text of a part is encoded.
#[derive(Debug)]
enum BlockDeltaKind {
    Text,
    /// Text of which nothing came yet: the API refuses empty blocks when the client sends them back.
    EmptyText,
    Thinking,
    /// Arguments that are not a JSON object must not be streamed as if they were: the SDKs parse
    /// them incrementally. Text that does not start like an object is held until the end.
    Arguments {
        held_back: String,
        object: bool,
    },
    None,
}

/// A part that waits because another one is open.
#[derive(Debug)]
struct DeferredPart {
    part: usize,
    steps: Vec<ResponseDelta>,
}

impl AnthropicStreamWriter {
    pub(super) fn new(model: &str) -> Self {
        let model = model.to_owned();
        let waiting = VecDeque::new();
        Self {
            model,
            begun: false,
            blocks: 0,
            current: None,
            waiting,
            ended: None,
            frames: Vec::new(),
        }
    }
}

impl StreamWriter for AnthropicStreamWriter {
    fn write(&mut self, delta: &ResponseDelta) -> Vec<ChatSseEvent> {
        match delta {
            ResponseDelta::Start { id, model, extra, .. } => {
                let model = if model.is_empty() { self.model.clone() } else { model.clone() };
                self.begin(id, &model, extra);
            }
            ResponseDelta::Open { index, .. } => {
                self.begin_unasked();
                if self.current.is_some() {
                    let part = *index;
                    let steps = vec![delta.clone()];
                    self.waiting.push_back(DeferredPart { part, steps });
                } else {
                    self.step(delta);
                }
            }
            ResponseDelta::Grow { index, .. }
            | ResponseDelta::Sign { index, .. }
            | ResponseDelta::Extra { index, .. }
            | ResponseDelta::Close { index } => {
                if let Some(waiting) = self.waiting.iter_mut().find(|it| it.part == *index) {
                    waiting.steps.push(delta.clone());
                } else if self.current.as_ref().is_some_and(|current| current.part == *index) {
                    self.step(delta);
                    self.let_in();
                }
            }
            ResponseDelta::End { stop, usage, extra } => {
                self.ended = Some((stop.clone(), usage.clone(), extra.clone()));
            }
        }
        std::mem::take(&mut self.frames)
    }

    fn end(&mut self, report: Option<&GatewayReport>) -> Vec<ChatSseEvent> {
        self.begin_unasked();
        while self.current.is_some() {
            self.close();
            self.let_in();
        }
        let ended = self.ended.take();
        let (stop, usage, extra) =
            ended.unwrap_or_else(|| (StopReason::End, TokenUsage::default(), Extra::none()));
        self.frames
            .push(ChatSseEvent::with_name("message_delta", &last(&stop, &usage, &extra, report)));
        self.frames.push(ChatSseEvent::with_name("message_stop", &json!({"type": "message_stop"})));
        std::mem::take(&mut self.frames)
    }

    fn fail(&mut self, failure: &LlmError) -> Vec<ChatSseEvent> {
        vec![ChatSseEvent::with_name("error", &errors::write(failure))]
    }
}

impl AnthropicStreamWriter {
    fn begin_unasked(&mut self) {
        let model = std::mem::take(&mut self.model);
        self.begin("", &model, &Extra::none());
    }

    fn begin(&mut self, id: &str, model: &str, extra: &Extra) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let usage = extra.get(OWN, "usage").filter(|usage| usage["input_tokens"].is_u64());
        let usage = usage.cloned().unwrap_or_else(|| usage_json(&TokenUsage::default()));
        let message = json!({
            "id": id,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": usage,
        });
        let event = json!({"type": "message_start", "message": with(message, extra)});
        self.frames.push(ChatSseEvent::with_name("message_start", &event));
    }

    /// Encodes one delta of the current part, or the first delta of a new one.
    fn step(&mut self, delta: &ResponseDelta) {
        match delta {
            ResponseDelta::Open { index, opening, extra } => self.open(*index, opening, extra),
            ResponseDelta::Grow { text, .. } => self.grow(text),
            ResponseDelta::Sign { signature, .. } => {
                let delta =
                    json!({"type": "signature_delta", "signature": signature.for_client(OWN)});
                self.delta(&delta);
            }
            ResponseDelta::Extra { extra, .. } => self.cite(extra),
            ResponseDelta::Close { .. } => self.close(),
            ResponseDelta::Start { .. } | ResponseDelta::End { .. } => {}
        }
    }

    fn open(&mut self, part: usize, opening: &PartOpening, extra: &Extra) {
        let (block, growth) = match opening {
            PartOpening::Text | PartOpening::Refusal if extra.fields(OWN).is_none() => {
                (None, BlockDeltaKind::EmptyText)
            }
            PartOpening::Text | PartOpening::Refusal => {
                (Some(json!({"type": "text", "text": ""})), BlockDeltaKind::Text)
            }
            PartOpening::Thinking => {
                let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                (Some(block), BlockDeltaKind::Thinking)
            }
            PartOpening::Call { id, name } => {
                let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                (Some(block), BlockDeltaKind::Arguments { held_back: String::new(), object: false })
            }
            PartOpening::Whole(PartContent::Opaque { dialect: OWN, value }) => {
                (Some(value.clone()), BlockDeltaKind::None)
            }
            PartOpening::Whole(content) => (whole_block(content), BlockDeltaKind::None),
        };
        let number = block.map(|block| self.block(with(block, extra)));
        self.current = Some(AnthropicOpenPart { part, block: number, growth, citations: 0 });
        self.cite(extra);
    }

    /// Starts a block. Input and citations follow as separate deltas, as Anthropic sends them.
    fn block(&mut self, mut block: Value) -> usize {
        let number = self.blocks;
        self.blocks += 1;
        let input = match block.get_mut("input") {
            Some(Value::Object(input)) if !input.is_empty() => Some(std::mem::take(input)),
            _ => None,
        };
        if let Some(citations @ Value::Array(_)) = block.get_mut("citations") {
            *citations = json!([]);
        }
        let event = json!({"type": "content_block_start", "index": number, "content_block": block});
        self.frames.push(ChatSseEvent::with_name("content_block_start", &event));
        if let Some(input) = input {
            let text = Value::Object(input).to_string();
            self.frames.push(block_delta(
                number,
                &json!({"type": "input_json_delta", "partial_json": text}),
            ));
        }
        number
    }

    /// Starts the block of a text, if it was not yet.
    fn begin_text(&mut self) {
        let is_empty =
            |current: &&mut AnthropicOpenPart| matches!(current.growth, BlockDeltaKind::EmptyText);
        if self.current.as_mut().filter(is_empty).is_none() {
            return;
        }
        let block = Some(self.block(json!({"type": "text", "text": ""})));
        if let Some(current) = &mut self.current {
            current.block = block;
            current.growth = BlockDeltaKind::Text;
        }
    }

    fn grow(&mut self, text: &str) {
        if !text.is_empty() {
            self.begin_text();
        }
        let Some(current) = &mut self.current else { return };
        let delta = match &mut current.growth {
            BlockDeltaKind::Text => json!({"type": "text_delta", "text": text}),
            BlockDeltaKind::Thinking => json!({"type": "thinking_delta", "thinking": text}),
            BlockDeltaKind::Arguments { held_back: kept, object: false } => {
                kept.push_str(text);
                if !kept.trim_start().starts_with('{') {
                    return;
                }
                let text = std::mem::take(kept);
                current.growth =
                    BlockDeltaKind::Arguments { held_back: String::new(), object: true };
                json!({"type": "input_json_delta", "partial_json": text})
            }
            BlockDeltaKind::Arguments { object: true, .. } => {
                json!({"type": "input_json_delta", "partial_json": text})
            }
            BlockDeltaKind::EmptyText | BlockDeltaKind::None => return,
        };
        self.delta(&delta);
    }

    /// Writes the citations that were not written yet. No other field can arrive late in this
    /// dialect.
    fn cite(&mut self, extra: &Extra) {
        let Some(Value::Array(all)) = extra.get(OWN, "citations") else { return };
        self.begin_text();
        let Some(current) = &mut self.current else { return };
        let new = all.get(current.citations..).unwrap_or_default();
        current.citations = all.len();
        for citation in new {
            self.delta(&json!({"type": "citations_delta", "citation": citation}));
        }
    }

    fn delta(&mut self, delta: &Value) {
        if let Some(AnthropicOpenPart { block: Some(number), .. }) = &self.current {
            self.frames.push(block_delta(*number, delta));
        }
    }

    fn close(&mut self) {
        let Some(current) = self.current.take() else { return };
        let Some(number) = current.block else { return };
        if let BlockDeltaKind::Arguments { held_back: kept, object: false } = current.growth
            && !kept.trim().is_empty()
        {
            let text = as_text(&kept).to_string();
            self.frames.push(block_delta(
                number,
                &json!({"type": "input_json_delta", "partial_json": text}),
            ));
        }
        let event = json!({"type": "content_block_stop", "index": number});
        self.frames.push(ChatSseEvent::with_name("content_block_stop", &event));
    }

    /// Writes waiting parts while none is open.
    fn let_in(&mut self) {
        while self.current.is_none()
            && let Some(waiting) = self.waiting.pop_front()
        {
            for delta in &waiting.steps {
                self.step(delta);
            }
        }
    }
}

/// The block of a part that arrived in one piece.
fn whole_block(content: &PartContent) -> Option<Value> {
    if matches!(content, PartContent::Media(_) | PartContent::Result(_)) {
        return None;
    }
    AnthropicBlockWriter::for_client().block(&MessagePart::new(content.clone()), "content")
}

fn block_delta(number: usize, delta: &Value) -> ChatSseEvent {
    let event = json!({"type": "content_block_delta", "index": number, "delta": delta});
    ChatSseEvent::with_name("content_block_delta", &event)
}

fn last(
    stop: &StopReason,
    usage: &TokenUsage,
    extra: &Extra,
    report: Option<&GatewayReport>,
) -> Value {
    let (reason, sequence) = stop_words(stop, extra);
    let mut delta = json!({"stop_reason": reason, "stop_sequence": sequence});
    let mut event = Map::new();
    event.insert("type".to_owned(), "message_delta".into());
    event.insert("usage".to_owned(), usage_json(usage));
    extra.write_into(OWN, &mut event);
    for key in START_ONLY_USAGE_KEYS {
        if let Some(Value::Object(usage)) = event.get_mut("usage") {
            usage.shift_remove(key);
        }
    }
    event.remove("stop_reason");
    for key in ["container", "stop_details"] {
        if let Some(value) = event.remove(key) {
            delta[key] = value;
        }
    }
    event.insert("delta".to_owned(), delta);
    if let Some(report) = report {
        event.insert("tollgate".to_owned(), report.json(history::history(&report.history)));
    }
    event.into()
}
