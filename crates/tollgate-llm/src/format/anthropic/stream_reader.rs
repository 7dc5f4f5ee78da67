//! Decodes the events of a provider's stream. Events and deltas of unknown types are ignored:
//! Anthropic adds new ones without notice.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::conversation::{MessagePart, PartContent, StopReason, ThoughtSignature};
use crate::delta::{PartOpening, ResponseDelta};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::format::{BrokenStreamError, MalformedResponseError, StreamReader};

use super::response::{AnthropicUsage, malformed_response, stop};
use super::{errors, part_reader};

const OWN: Dialect = Dialect::Anthropic;

#[derive(Debug, Default)]
pub(super) struct AnthropicStreamReader {
    phase: AnthropicStreamPhase,
    /// Keyed by the provider's index.
    blocks: HashMap<u64, AnthropicOpenBlock>,
    opened: usize,
    spent: AnthropicUsage,
    stop: Option<StopReason>,
    extra: Map<String, Value>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum AnthropicStreamPhase {
    #[default]
    Before,
    Within,
    After,
}

/// A block that has started and not ended.
#[derive(Debug)]
enum AnthropicOpenBlock {
    Part {
        index: usize,
        /// Citations arrive one by one, but a part's fields are written as a whole.
        citations: Vec<Value>,
    },
    /// A call, whose input may be in its start event or follow in pieces.
    Call { index: usize, beginning: Option<String> },
    /// A block that only Anthropic understands: emitted when it is complete.
    Opaque { value: Value, json: String },
}

impl StreamReader for AnthropicStreamReader {
    fn read(
        &mut self,
        name: Option<&str>,
        data: &str,
    ) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
        if self.phase == AnthropicStreamPhase::After || data.is_empty() {
            return Ok(Vec::new());
        }
        let Ok(Value::Object(event)) = serde_json::from_str(data) else {
            return Err(malformed_stream("an event is not a JSON object"));
        };
        let kind = event.get("type").and_then(Value::as_str).or(name).unwrap_or_default();
        match kind {
            "message_start" => self.start(&event),
            "error" => Err(BrokenStreamError::Reported(errors::mid_stream(&Value::Object(event)))),
            "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "message_delta"
            | "message_stop"
                if self.phase == AnthropicStreamPhase::Before =>
            {
                Err(malformed_stream(&format!("`{kind}` comes before `message_start`")))
            }
            "content_block_start" => self.block_start(event),
            "content_block_delta" => self.block_delta(&event),
            "content_block_stop" => self.block_stop(&event),
            "message_delta" => {
                self.message_delta(event);
                Ok(Vec::new())
            }
            "message_stop" => Ok(self.stop()),
            _ => Ok(Vec::new()),
        }
    }

    fn end(&mut self) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
        match self.phase {
            AnthropicStreamPhase::After => Ok(Vec::new()),
            AnthropicStreamPhase::Before | AnthropicStreamPhase::Within => {
                Err(BrokenStreamError::Short)
            }
        }
    }
}

impl AnthropicStreamReader {
    fn start(
        &mut self,
        event: &Map<String, Value>,
    ) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
        let Some(Value::Object(message)) = event.get("message") else {
            return Err(malformed_stream("`message_start` has no message"));
        };
        if self.phase == AnthropicStreamPhase::Within {
            return Err(malformed_stream("`message_start` comes twice"));
        }
        self.phase = AnthropicStreamPhase::Within;
        let text = |key: &str| {
            message.get(key).and_then(Value::as_str).map(str::to_owned).unwrap_or_default()
        };
        let id = text("id");
        let model = text("model");
        self.spent = AnthropicUsage::read(message.get("usage").unwrap_or(&Value::Null));
        let mut extra = message.clone();
        let known = ["id", "model", "type", "role", "content", "stop_reason", "stop_sequence"];
        extra.retain(|key, value| !known.contains(&key.as_str()) && !value.is_null());
        let extra = Extra::new(OWN, extra);
        Ok(vec![ResponseDelta::Start { id, model, created: 0, extra }])
    }

    fn block_start(
        &mut self,
        mut event: Map<String, Value>,
    ) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
        let number = number(&event)?;
        if self.blocks.contains_key(&number) {
            return Err(malformed_stream(&format!("block {number} begins twice")));
        }
        let value = event.remove("content_block").unwrap_or_default();
        let MessagePart { content, extra } =
            part_reader::read(value, "content_block".to_owned()).map_err(malformed_response)?;
        let index = self.opened;
        let (opening, text, signature) = match content {
            PartContent::Text(text) => (PartOpening::Text, text, None),
            PartContent::Thinking { text, signature } => (PartOpening::Thinking, text, signature),
            PartContent::Call(call) => {
                let beginning = Some(call.arguments).filter(|it| it != "{}");
                self.blocks.insert(number, AnthropicOpenBlock::Call { index, beginning });
                self.opened += 1;
                let opening = PartOpening::Call { id: call.id, name: call.name };
                return Ok(vec![ResponseDelta::Open { index, opening, extra }]);
            }
            PartContent::Opaque { value, .. } => {
                self.blocks
                    .insert(number, AnthropicOpenBlock::Opaque { value, json: String::new() });
                return Ok(Vec::new());
            }
            PartContent::Refusal(_) | PartContent::Media(_) | PartContent::Result(_) => {
                return Err(malformed_stream("a block of an unexpected kind"));
            }
        };
        let citations = extra.get(OWN, "citations").and_then(Value::as_array).cloned();
        let citations = citations.unwrap_or_default();
        self.blocks.insert(number, AnthropicOpenBlock::Part { index, citations });
        self.opened += 1;
        let mut deltas = vec![ResponseDelta::Open { index, opening, extra }];
        if !text.is_empty() {
            deltas.push(ResponseDelta::Grow { index, text, extra: Extra::none() });
        }
        deltas.extend(signature.map(|signature| ResponseDelta::Sign { index, signature }));
        Ok(deltas)
    }

    fn block_delta(
        &mut self,
        event: &Map<String, Value>,
    ) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
        let number = number(event)?;
        let Some(block) = self.blocks.get_mut(&number) else {
            return Err(malformed_stream(&format!("block {number} has a delta before its start")));
        };
        let Some(Value::Object(delta)) = event.get("delta") else {
            return Err(malformed_stream("`content_block_delta` has no delta"));
        };
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        let grow = |index: usize, text: &str| match text {
            "" => Vec::new(),
            text => {
                vec![ResponseDelta::Grow { index, text: text.to_owned(), extra: Extra::none() }]
            }
        };
        Ok(match (block, text("type")) {
            (AnthropicOpenBlock::Part { index, .. }, "text_delta") => grow(*index, text("text")),
            (AnthropicOpenBlock::Part { index, .. }, "thinking_delta") => {
                grow(*index, text("thinking"))
            }
            (AnthropicOpenBlock::Part { index, .. }, "signature_delta") => {
                let signature = ThoughtSignature::new(OWN, text("signature"));
                vec![ResponseDelta::Sign { index: *index, signature }]
            }
            (AnthropicOpenBlock::Part { index, citations }, "citations_delta") => {
                citations.extend(delta.get("citation").cloned());
                let mut fields = Map::new();
                fields.insert("citations".to_owned(), citations.clone().into());
                vec![ResponseDelta::Extra { index: *index, extra: Extra::new(OWN, fields) }]
            }
            (AnthropicOpenBlock::Call { index, beginning }, "input_json_delta") => {
                *beginning = None;
                grow(*index, text("partial_json"))
            }
            (AnthropicOpenBlock::Opaque { json, .. }, "input_json_delta") => {
                json.push_str(text("partial_json"));
                Vec::new()
            }
            (AnthropicOpenBlock::Opaque { value, .. }, _) => {
                grow_opaque(value, delta);
                Vec::new()
            }
            (AnthropicOpenBlock::Part { .. } | AnthropicOpenBlock::Call { .. }, _) => Vec::new(),
        })
    }

    fn block_stop(
        &mut self,
        event: &Map<String, Value>,
    ) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
        let number = number(event)?;
        match self.blocks.remove(&number) {
            None => Err(malformed_stream(&format!("block {number} ends before its start"))),
            Some(block) => Ok(self.close(block)),
        }
    }

    fn close(&mut self, block: AnthropicOpenBlock) -> Vec<ResponseDelta> {
        match block {
            AnthropicOpenBlock::Part { index, .. }
            | AnthropicOpenBlock::Call { index, beginning: None } => {
                vec![ResponseDelta::Close { index }]
            }
            AnthropicOpenBlock::Call { index, beginning: Some(text) } => {
                let grow = ResponseDelta::Grow { index, text, extra: Extra::none() };
                vec![grow, ResponseDelta::Close { index }]
            }
            AnthropicOpenBlock::Opaque { mut value, json } => {
                if let Ok(input @ Value::Object(_)) = serde_json::from_str(&json) {
                    value["input"] = input;
                }
                let index = self.opened;
                self.opened += 1;
                let opening = PartOpening::Whole(PartContent::Opaque { dialect: OWN, value });
                let open = ResponseDelta::Open { index, opening, extra: Extra::none() };
                vec![open, ResponseDelta::Close { index }]
            }
        }
    }

    fn message_delta(&mut self, mut event: Map<String, Value>) {
        self.spent.update(&event.remove("usage").unwrap_or_default());
        event.remove("type");
        if let Some(Value::Object(mut delta)) = event.remove("delta") {
            let reason = delta.remove("stop_reason");
            let sequence = delta.remove("stop_sequence");
            if reason.as_ref().is_some_and(|reason| !reason.is_null()) {
                self.stop = Some(stop(reason.as_ref(), sequence.as_ref(), &mut self.extra));
            }
            event.extend(delta);
        }
        self.extra.extend(event.into_iter().filter(|(_, value)| !value.is_null()));
    }

    fn stop(&mut self) -> Vec<ResponseDelta> {
        self.phase = AnthropicStreamPhase::After;
        // Accept a provider that does not close its blocks.
        let mut open: Vec<(u64, AnthropicOpenBlock)> = self.blocks.drain().collect();
        open.sort_by_key(|(number, _)| *number);
        let mut deltas: Vec<ResponseDelta> = Vec::new();
        for (_, block) in open {
            deltas.extend(self.close(block));
        }
        self.spent.rest_into(&mut self.extra);
        let stop = self.stop.take().unwrap_or(StopReason::End);
        let extra = Extra::new(OWN, std::mem::take(&mut self.extra));
        deltas.push(ResponseDelta::End { stop, usage: self.spent.usage(), extra });
        deltas
    }
}

/// In an unknown delta, strings are appended to the field of the same name; other values replace
/// it.
fn grow_opaque(value: &mut Value, delta: &Map<String, Value>) {
    let Value::Object(block) = value else { return };
    for (key, more) in delta.iter().filter(|(key, _)| *key != "type") {
        match (block.get_mut(key), more) {
            (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
            _ => {
                block.insert(key.clone(), more.clone());
            }
        }
    }
}

fn number(event: &Map<String, Value>) -> Result<u64, BrokenStreamError> {
    event
        .get("index")
        .and_then(Value::as_u64)
        .ok_or_else(|| malformed_stream("a block has no `index`"))
}

fn malformed_stream(what: &str) -> BrokenStreamError {
    BrokenStreamError::Malformed(MalformedResponseError(what.to_owned()))
}
