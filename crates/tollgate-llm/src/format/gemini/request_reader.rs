//! Decodes a client's request and reports the location of errors.

use serde_json::Value;

use crate::conversation::{
    ChatMessage, ChatRequest, ChatRole, MessagePart, PartContent, ResponseDelivery,
};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::RequestUrlParams;
use crate::format::fields::{FieldReader, unknown, wrong};
use crate::format::pairing::CallPairing;

use super::{part_reader, spelling};

mod config;

const OWN: Dialect = Dialect::Gemini;

pub(super) fn read(body: Value, address: &RequestUrlParams<'_>) -> Result<ChatRequest, LlmError> {
    let mut fields = spelling::fields(body, "")?;
    let named = fields.text("model")?;
    let named = named.map(|model| model.trim_start_matches("models/").to_owned());
    let Some(model) = address.model.map(str::to_owned).or(named) else {
        return Err(fields.missing("model"));
    };
    let mut messages: Vec<ChatMessage> = system(&mut fields)?.into_iter().collect();
    messages.extend(contents(&mut fields)?);
    let tools = config::tools(&mut fields)?;
    let tool_choice = config::tool_choice(&mut fields)?;
    let (options, config) = config::options(&mut fields)?;
    let mut extra = fields.rest(OWN);
    extra.merge(config);
    let delivery = address.delivery.unwrap_or(ResponseDelivery::Whole);
    let messages = messages.into();
    Ok(ChatRequest { model, messages, tools, tool_choice, options, delivery, extra })
}

fn system(fields: &mut FieldReader) -> Result<Option<ChatMessage>, LlmError> {
    const AT: &str = "systemInstruction";
    let mut content = match fields.take(AT) {
        None => return Ok(None),
        Some(Value::String(text)) => return Ok(Some(ChatMessage::text(ChatRole::System, text))),
        Some(value) => spelling::fields(value, AT)?,
    };
    content.take("role");
    let at = content.place("parts");
    let mut all = Vec::new();
    for (index, value) in content.list("parts")?.unwrap_or_default().into_iter().enumerate() {
        let at = format!("{at}[{index}]");
        let read = part_reader::read(value, at.clone())?;
        if read.iter().any(|part| part.as_text().is_none()) {
            let message = format!("`{at}` must be text: instructions contain nothing else");
            return Err(LlmError::invalid(at, message));
        }
        all.extend(read);
    }
    let extra = content.rest(OWN);
    Ok((!all.is_empty()).then(|| ChatMessage { role: ChatRole::System, parts: all, extra }))
}

fn contents(fields: &mut FieldReader) -> Result<Vec<ChatMessage>, LlmError> {
    let Some(list) = fields.list("contents")? else { return Err(fields.missing("contents")) };
    if list.is_empty() {
        return Err(LlmError::invalid("contents", "`contents` must contain at least one content"));
    }
    let mut reader = GeminiContentsReader::default();
    let mut messages = Vec::with_capacity(list.len());
    for (index, value) in list.into_iter().enumerate() {
        messages.push(reader.message(value, format!("contents[{index}]"))?);
    }
    reader.pairing.check_all_answered()?;
    Ok(messages)
}

#[derive(Default)]
struct GeminiContentsReader {
    pairing: CallPairing,
    /// Calls so far, with or without their own id.
    calls: usize,
}

impl GeminiContentsReader {
    fn message(&mut self, value: Value, at: String) -> Result<ChatMessage, LlmError> {
        let mut fields = spelling::fields(value, at)?;
        let role = match fields.text("role")?.as_deref() {
            None | Some("" | "user" | "function") => ChatRole::User,
            Some("model") => ChatRole::Assistant,
            Some(other) => return Err(unknown(&fields.place("role"), other, &["user", "model"])),
        };
        self.pairing.turn(role)?;
        let at = fields.place("parts");
        let list = match fields.take("parts") {
            Some(Value::Array(list)) if !list.is_empty() => list,
            Some(Value::Array(_)) => {
                return Err(LlmError::invalid(
                    &at,
                    format!("`{at}` must contain at least one part"),
                ));
            }
            Some(other) => return Err(wrong(&at, "a list", &other)),
            None => return Err(fields.missing("parts")),
        };
        let mut all = Vec::with_capacity(list.len());
        for (index, value) in list.into_iter().enumerate() {
            let at = format!("{at}[{index}]");
            let mut read = part_reader::read(value, at.clone())?;
            read.iter_mut().try_for_each(|part| self.pair(part, role, &at))?;
            all.append(&mut read);
        }
        Ok(ChatMessage { role, parts: all, extra: fields.rest(OWN) })
    }

    fn pair(&mut self, part: &mut MessagePart, role: ChatRole, at: &str) -> Result<(), LlmError> {
        match &mut part.content {
            PartContent::Call(call) if role == ChatRole::Assistant => {
                if call.id.is_empty() {
                    call.id = spelling::numbered_id(self.calls);
                }
                self.calls += 1;
                self.pairing.call(call, at)
            }
            PartContent::Call(_) => {
                let message = format!("`{at}`: only the model calls functions");
                Err(LlmError::invalid(at, message))
            }
            PartContent::Result(result) if role == ChatRole::User => {
                let name = result.name.clone().unwrap_or_default();
                // The client does not know ids that were generated here, and cannot answer by them.
                let open = self.pairing.open_for(&name);
                let free = result.call_id.is_empty() || open.is_some_and(spelling::is_numbered);
                if free && !self.pairing.knows(&result.call_id) {
                    let Some(open) = open else {
                        let message = format!("`{at}`: no call of `{name}` waits for a result");
                        return Err(LlmError::invalid(at, message));
                    };
                    result.call_id = open.to_owned();
                }
                self.pairing.result(result, at)
            }
            PartContent::Result(_) => {
                let message = format!("`{at}`: function results belong in user contents");
                Err(LlmError::invalid(at, message))
            }
            _ => Ok(()),
        }
    }
}
