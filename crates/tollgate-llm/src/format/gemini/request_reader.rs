//! Reads a client's request, and says where it is wrong.

use serde_json::Value;

use crate::conversation::{Content, Delivery, Message, Part, Request, Role};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::format::Address;
use crate::format::fields::{Fields, unknown, wrong};
use crate::format::pairing::Pairing;

use super::{config_reader, parts, spelling};

const OWN: Dialect = Dialect::Gemini;

pub(super) fn read(body: Value, address: &Address<'_>) -> Result<Request, Failure> {
    let mut fields = spelling::fields(body, "")?;
    let named = fields.text("model")?;
    let named = named.map(|model| model.trim_start_matches("models/").to_owned());
    let Some(model) = address.model.map(str::to_owned).or(named) else {
        return Err(fields.missing("model"));
    };
    let mut messages: Vec<Message> = system(&mut fields)?.into_iter().collect();
    messages.extend(contents(&mut fields)?);
    let tools = config_reader::tools(&mut fields)?;
    let tool_choice = config_reader::tool_choice(&mut fields)?;
    let (options, config) = config_reader::options(&mut fields)?;
    let mut extra = fields.rest(OWN);
    extra.merge(config);
    let delivery = address.delivery.unwrap_or(Delivery::Whole);
    Ok(Request { model, messages, tools, tool_choice, options, delivery, extra })
}

fn system(fields: &mut Fields) -> Result<Option<Message>, Failure> {
    const AT: &str = "systemInstruction";
    let mut content = match fields.take(AT) {
        None => return Ok(None),
        Some(Value::String(text)) => return Ok(Some(Message::text(Role::System, text))),
        Some(value) => spelling::fields(value, AT)?,
    };
    content.take("role");
    let at = content.place("parts");
    let mut all = Vec::new();
    for (index, value) in content.list("parts")?.unwrap_or_default().into_iter().enumerate() {
        let at = format!("{at}[{index}]");
        let read = parts::read(value, at.clone())?;
        if read.iter().any(|part| part.as_text().is_none()) {
            let message = format!("`{at}` must be text: instructions hold nothing else");
            return Err(Failure::invalid(at, message));
        }
        all.extend(read);
    }
    let extra = content.rest(OWN);
    Ok((!all.is_empty()).then(|| Message { role: Role::System, parts: all, extra }))
}

fn contents(fields: &mut Fields) -> Result<Vec<Message>, Failure> {
    let Some(list) = fields.list("contents")? else { return Err(fields.missing("contents")) };
    if list.is_empty() {
        return Err(Failure::invalid("contents", "`contents` must hold at least one content"));
    }
    let mut reader = Contents::default();
    let mut messages = Vec::with_capacity(list.len());
    for (index, value) in list.into_iter().enumerate() {
        messages.push(reader.message(value, format!("contents[{index}]"))?);
    }
    reader.pairing.settled()?;
    Ok(messages)
}

#[derive(Default)]
struct Contents {
    pairing: Pairing,
    /// Calls so far, with an id of their own or without.
    calls: usize,
}

impl Contents {
    fn message(&mut self, value: Value, at: String) -> Result<Message, Failure> {
        let mut fields = spelling::fields(value, at)?;
        let role = match fields.text("role")?.as_deref() {
            None | Some("" | "user" | "function") => Role::User,
            Some("model") => Role::Assistant,
            Some(other) => return Err(unknown(&fields.place("role"), other, &["user", "model"])),
        };
        self.pairing.turn(role)?;
        let at = fields.place("parts");
        let list = match fields.take("parts") {
            Some(Value::Array(list)) if !list.is_empty() => list,
            Some(Value::Array(_)) => {
                return Err(Failure::invalid(&at, format!("`{at}` must hold at least one part")));
            }
            Some(other) => return Err(wrong(&at, "a list", &other)),
            None => return Err(fields.missing("parts")),
        };
        let mut all = Vec::with_capacity(list.len());
        for (index, value) in list.into_iter().enumerate() {
            let at = format!("{at}[{index}]");
            let mut read = parts::read(value, at.clone())?;
            read.iter_mut().try_for_each(|part| self.pair(part, role, &at))?;
            all.append(&mut read);
        }
        Ok(Message { role, parts: all, extra: fields.rest(OWN) })
    }

    fn pair(&mut self, part: &mut Part, role: Role, at: &str) -> Result<(), Failure> {
        match &mut part.content {
            Content::Call(call) if role == Role::Assistant => {
                if call.id.is_empty() {
                    call.id = spelling::numbered_id(self.calls);
                }
                self.calls += 1;
                self.pairing.call(call, at)
            }
            Content::Call(_) => {
                let message = format!("`{at}`: only the model calls functions");
                Err(Failure::invalid(at, message))
            }
            Content::Result(result) if role == Role::User => {
                let name = result.name.clone().unwrap_or_default();
                // The ids that are given here are not the client's: by them it cannot answer.
                let open = self.pairing.open_for(&name);
                let free = result.call_id.is_empty() || open.is_some_and(spelling::is_numbered);
                if free && !self.pairing.knows(&result.call_id) {
                    let Some(open) = open else {
                        let message = format!("`{at}`: no call of `{name}` waits for a result");
                        return Err(Failure::invalid(at, message));
                    };
                    result.call_id = open.to_owned();
                }
                self.pairing.result(result, at)
            }
            Content::Result(_) => {
                let message = format!("`{at}`: results of functions stand in contents of the user");
                Err(Failure::invalid(at, message))
            }
            _ => Ok(()),
        }
    }
}
