//! Reads the events of a provider's stream. Events and deltas of kinds that are not known are passed
//! over: Anthropic adds new ones without asking.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::conversation::{Content, Part, Signature, Stop};
use crate::delta::{Delta, Opening};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::format::{Broken, Malformed, StreamReader};

use super::answer::{Spent, malformed, stop};
use super::{blocks, errors};

const OWN: Dialect = Dialect::Anthropic;

#[derive(Debug, Default)]
pub(super) struct Reader {
    phase: Phase,
    /// By the index that the provider gave.
    blocks: HashMap<u64, Block>,
    opened: usize,
    spent: Spent,
    stop: Option<Stop>,
    extra: Map<String, Value>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Before,
    Within,
    After,
}

/// A block that has begun and not ended.
#[derive(Debug)]
enum Block {
    Part {
        index: usize,
        /// A part's fields come as a whole, citations one by one.
        citations: Vec<Value>,
    },
    /// A call, whose input may stand in its beginning or come in pieces.
    Call { index: usize, beginning: Option<String> },
    /// One that only Anthropic understands: nothing is said of it before it is whole.
    Opaque { value: Value, json: String },
}

impl StreamReader for Reader {
    fn read(&mut self, name: Option<&str>, data: &str) -> Result<Vec<Delta>, Broken> {
        if self.phase == Phase::After || data.is_empty() {
            return Ok(Vec::new());
        }
        let Ok(Value::Object(event)) = serde_json::from_str(data) else {
            return Err(broken("an event is no JSON object"));
        };
        let kind = event.get("type").and_then(Value::as_str).or(name).unwrap_or_default();
        match kind {
            "message_start" => self.start(&event),
            "error" => Err(Broken::Reported(errors::mid_stream(&Value::Object(event)))),
            "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "message_delta"
            | "message_stop"
                if self.phase == Phase::Before =>
            {
                Err(broken(&format!("`{kind}` comes before `message_start`")))
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

    fn end(&mut self) -> Result<Vec<Delta>, Broken> {
        match self.phase {
            Phase::After => Ok(Vec::new()),
            Phase::Before | Phase::Within => Err(Broken::Short),
        }
    }
}

impl Reader {
    fn start(&mut self, event: &Map<String, Value>) -> Result<Vec<Delta>, Broken> {
        let Some(Value::Object(message)) = event.get("message") else {
            return Err(broken("`message_start` holds no message"));
        };
        if self.phase == Phase::Within {
            return Err(broken("`message_start` comes twice"));
        }
        self.phase = Phase::Within;
        let text = |key: &str| {
            message.get(key).and_then(Value::as_str).map(str::to_owned).unwrap_or_default()
        };
        let (id, model) = (text("id"), text("model"));
        self.spent = Spent::read(message.get("usage").unwrap_or(&Value::Null));
        let mut extra = message.clone();
        let known = ["id", "model", "type", "role", "content", "stop_reason", "stop_sequence"];
        extra.retain(|key, value| !known.contains(&key.as_str()) && !value.is_null());
        let extra = Extra::new(OWN, extra);
        Ok(vec![Delta::Start { id, model, created: 0, extra }])
    }

    fn block_start(&mut self, mut event: Map<String, Value>) -> Result<Vec<Delta>, Broken> {
        let number = number(&event)?;
        if self.blocks.contains_key(&number) {
            return Err(broken(&format!("block {number} begins twice")));
        }
        let value = event.remove("content_block").unwrap_or_default();
        let Part { content, extra } =
            blocks::read(value, "content_block".to_owned()).map_err(malformed)?;
        let index = self.opened;
        let (opening, text, signature) = match content {
            Content::Text(text) => (Opening::Text, text, None),
            Content::Thinking { text, signature } => (Opening::Thinking, text, signature),
            Content::Call(call) => {
                let beginning = Some(call.arguments).filter(|it| it != "{}");
                self.blocks.insert(number, Block::Call { index, beginning });
                self.opened += 1;
                let opening = Opening::Call { id: call.id, name: call.name };
                return Ok(vec![Delta::Open { index, opening, extra }]);
            }
            Content::Opaque { value, .. } => {
                self.blocks.insert(number, Block::Opaque { value, json: String::new() });
                return Ok(Vec::new());
            }
            Content::Refusal(_) | Content::Media(_) | Content::Result(_) => {
                return Err(broken("a block of a kind that answers do not have"));
            }
        };
        let citations = extra.get(OWN, "citations").and_then(Value::as_array).cloned();
        let citations = citations.unwrap_or_default();
        self.blocks.insert(number, Block::Part { index, citations });
        self.opened += 1;
        let mut deltas = vec![Delta::Open { index, opening, extra }];
        if !text.is_empty() {
            deltas.push(Delta::Grow { index, text, extra: Extra::none() });
        }
        deltas.extend(signature.map(|signature| Delta::Sign { index, signature }));
        Ok(deltas)
    }

    fn block_delta(&mut self, event: &Map<String, Value>) -> Result<Vec<Delta>, Broken> {
        let number = number(event)?;
        let Some(block) = self.blocks.get_mut(&number) else {
            return Err(broken(&format!("block {number} grows and has not begun")));
        };
        let Some(Value::Object(delta)) = event.get("delta") else {
            return Err(broken("`content_block_delta` holds no delta"));
        };
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        let grow = |index: usize, text: &str| match text {
            "" => Vec::new(),
            text => vec![Delta::Grow { index, text: text.to_owned(), extra: Extra::none() }],
        };
        Ok(match (block, text("type")) {
            (Block::Part { index, .. }, "text_delta") => grow(*index, text("text")),
            (Block::Part { index, .. }, "thinking_delta") => grow(*index, text("thinking")),
            (Block::Part { index, .. }, "signature_delta") => {
                let signature = Signature { maker: OWN, text: text("signature").to_owned() };
                vec![Delta::Sign { index: *index, signature }]
            }
            (Block::Part { index, citations }, "citations_delta") => {
                citations.extend(delta.get("citation").cloned());
                let mut fields = Map::new();
                fields.insert("citations".to_owned(), citations.clone().into());
                vec![Delta::Extra { index: *index, extra: Extra::new(OWN, fields) }]
            }
            (Block::Call { index, beginning }, "input_json_delta") => {
                *beginning = None;
                grow(*index, text("partial_json"))
            }
            (Block::Opaque { json, .. }, "input_json_delta") => {
                json.push_str(text("partial_json"));
                Vec::new()
            }
            (Block::Opaque { value, .. }, _) => {
                grow_opaque(value, delta);
                Vec::new()
            }
            (Block::Part { .. } | Block::Call { .. }, _) => Vec::new(),
        })
    }

    fn block_stop(&mut self, event: &Map<String, Value>) -> Result<Vec<Delta>, Broken> {
        let number = number(event)?;
        match self.blocks.remove(&number) {
            None => Err(broken(&format!("block {number} ends and has not begun"))),
            Some(block) => Ok(self.close(block)),
        }
    }

    fn close(&mut self, block: Block) -> Vec<Delta> {
        match block {
            Block::Part { index, .. } | Block::Call { index, beginning: None } => {
                vec![Delta::Close { index }]
            }
            Block::Call { index, beginning: Some(text) } => {
                let grow = Delta::Grow { index, text, extra: Extra::none() };
                vec![grow, Delta::Close { index }]
            }
            Block::Opaque { mut value, json } => {
                if let Ok(input @ Value::Object(_)) = serde_json::from_str(&json) {
                    value["input"] = input;
                }
                let index = self.opened;
                self.opened += 1;
                let opening = Opening::Whole(Content::Opaque { dialect: OWN, value });
                let open = Delta::Open { index, opening, extra: Extra::none() };
                vec![open, Delta::Close { index }]
            }
        }
    }

    fn message_delta(&mut self, mut event: Map<String, Value>) {
        self.spent.update(&event.remove("usage").unwrap_or_default());
        event.remove("type");
        if let Some(Value::Object(mut delta)) = event.remove("delta") {
            let (reason, sequence) = (delta.remove("stop_reason"), delta.remove("stop_sequence"));
            if reason.as_ref().is_some_and(|reason| !reason.is_null()) {
                self.stop = Some(stop(reason.as_ref(), sequence.as_ref(), &mut self.extra));
            }
            event.extend(delta);
        }
        self.extra.extend(event.into_iter().filter(|(_, value)| !value.is_null()));
    }

    fn stop(&mut self) -> Vec<Delta> {
        self.phase = Phase::After;
        // A provider that forgets to end its blocks still said all of them.
        let mut open: Vec<(u64, Block)> = self.blocks.drain().collect();
        open.sort_by_key(|(number, _)| *number);
        let mut deltas: Vec<Delta> = Vec::new();
        for (_, block) in open {
            deltas.extend(self.close(block));
        }
        self.spent.rest_into(&mut self.extra);
        let stop = self.stop.take().unwrap_or(Stop::End);
        let extra = Extra::new(OWN, std::mem::take(&mut self.extra));
        deltas.push(Delta::End { stop, usage: self.spent.usage(), extra });
        deltas
    }
}

/// Texts of an unknown delta grow the field of the same name, anything else replaces it.
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

fn number(event: &Map<String, Value>) -> Result<u64, Broken> {
    event.get("index").and_then(Value::as_u64).ok_or_else(|| broken("a block has no `index`"))
}

fn broken(what: &str) -> Broken {
    Broken::Malformed(Malformed(what.to_owned()))
}
