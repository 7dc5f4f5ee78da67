//! Whole answers, both ways. One choice is neutral; further ones, and all that is not known, stay
//! behind as a skeleton of the answer in its extra fields, and come back into the same places.

use serde_json::{Map, Value, json};

use super::message::THOUGHTS_SIGNATURE;
use super::request::LEGACY;
use super::{DIALECT, history, message, part, told_json, tool, usage};
use crate::conversation::{Content, MediaKind, Part, Request, Response, Stop, Usage};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::format::Malformed;
use crate::format::fields::Fields;
use crate::told::Told;

pub(super) fn read(body: Value) -> Result<Response, Malformed> {
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        let message = error["message"].as_str().or(error.as_str()).unwrap_or("no reason is given");
        return Err(Malformed(format!("it is an error: {message}")));
    }
    Ok(read_body(body)?)
}

fn read_body(body: Value) -> Result<Response, Failure> {
    let mut fields = Fields::new(body, "")?;
    let id = fields.text("id")?.unwrap_or_default();
    let model = fields.text("model")?.unwrap_or_default();
    let created = fields.take("created").and_then(|at| at.as_u64()).unwrap_or(0);
    fields.take("object");
    let usage = fields.peek("usage").map_or_else(Usage::default, usage::read);
    let mut choices = fields.list("choices")?.unwrap_or_default();
    if choices.is_empty() {
        return Err(fields.missing("choices"));
    }
    let mut choice = Fields::new(choices.remove(0), "choices[0]")?;
    choice.take("index");
    let reason = choice.text("finish_reason")?;
    let mut said = choice.object("message")?.ok_or_else(|| choice.missing("message"))?;
    said.take("role");
    let mut parts = message::read_assistant(&mut said)?;
    said.take("content");
    for part in &mut parts {
        if let Content::Opaque { value, .. } = &part.content
            && let Some(text) = part::thought(value)
        {
            part.content = Content::Thinking { text, signature: None };
            part.extra = message::said_as(message::CONTENT);
        }
    }
    parts.extend(read_images(&mut said)?);
    choice.put_back("message", said);
    choices.insert(0, choice.into_value());
    fields.put("choices", choices);
    let stop = read_stop(reason.as_deref(), plain_stop(&parts));
    let extra = fields.rest(DIALECT);
    Ok(Response { id, model, created, parts, stop, usage, extra })
}

/// Pictures that a model makes; OpenAI has no place for them, OpenRouter has this one.
pub(super) fn read_images(said: &mut Fields) -> Result<Vec<Part>, Failure> {
    let at = said.place("images");
    said.take("images").map_or_else(|| Ok(Vec::new()), |images| part::read_all(images, &at))
}

/// `stop` is what an answer comes to that just ends.
pub(super) fn read_stop(reason: Option<&str>, stop: Stop) -> Stop {
    match reason {
        Some("length") => Stop::Length,
        Some("content_filter") => Stop::Filtered,
        Some("tool_calls" | "function_call") => Stop::Calls,
        Some("stop") | None => stop,
        Some(other) => Stop::Other { dialect: DIALECT, reason: other.to_owned() },
    }
}

/// A call that the client forced ends with `stop` too, and so does a refusal.
fn plain_stop(parts: &[Part]) -> Stop {
    let has = |wanted: fn(&Content) -> bool| parts.iter().any(|part| wanted(&part.content));
    if has(|content| matches!(content, Content::Call(_))) {
        Stop::Calls
    } else if has(|content| matches!(content, Content::Refusal(_))) {
        Stop::Refused
    } else {
        Stop::End
    }
}

/// Whether a client knows functions only.
pub(super) fn is_legacy(request: &Request) -> bool {
    request.extra.get(DIALECT, LEGACY).is_some()
}

pub(super) fn write(response: &Response, request: &Request, told: Option<&Told>) -> Value {
    let legacy = is_legacy(request);
    let refused = response.parts.iter().any(|part| matches!(part.content, Content::Refusal(_)));
    let reason = match (&response.stop, write_stop(&response.stop)) {
        (_, "tool_calls") if legacy => "function_call",
        (Stop::Refused, _) if refused => "stop",
        (_, reason) => reason,
    };
    let mut said = said_json(&response.parts);
    if legacy {
        only_function(&mut said);
    }
    let mut body = Map::from_iter([
        ("id".to_owned(), response.id.clone().into()),
        ("object".to_owned(), "chat.completion".into()),
        ("created".to_owned(), response.created.into()),
        ("model".to_owned(), response.model.clone().into()),
        ("choices".to_owned(), json!([{"index": 0, "message": said, "finish_reason": reason}])),
        ("usage".to_owned(), usage::write(&response.usage)),
    ]);
    response.extra.write_into(DIALECT, &mut body);
    if let Some(choice) = body["choices"][0].as_object_mut() {
        choice.entry("logprobs").or_insert(Value::Null);
    }
    if let Some(told) = told {
        body.insert("tollgate".to_owned(), told_json(told));
    }
    Value::Object(body)
}

/// A refusal in its own words is an end like any other here; whoever has seen one says so.
pub(super) fn write_stop(stop: &Stop) -> &str {
    match stop {
        Stop::Length => "length",
        Stop::Calls => "tool_calls",
        Stop::Filtered | Stop::Refused => "content_filter",
        Stop::Other { dialect: Dialect::OpenAiChat, reason } => reason,
        Stop::End | Stop::Sequence(_) | Stop::Other { .. } => "stop",
    }
}

fn said_json(parts: &[Part]) -> Map<String, Value> {
    let mut said = Map::from_iter([("role".to_owned(), "assistant".into())]);
    let (mut text, mut refusal) = (None::<String>, None::<String>);
    let (mut calls, mut images) = (Vec::new(), Vec::new());
    let (mut thoughts, mut signatures) = (None::<(&str, String)>, Vec::new());
    for part in parts {
        match &part.content {
            Content::Text(more) => text.get_or_insert_default().push_str(more),
            Content::Refusal(more) => refusal.get_or_insert_default().push_str(more),
            Content::Thinking { text, signature } => {
                let key = history::thoughts_key(&part.extra);
                thoughts.get_or_insert_with(|| (key, String::new())).1.push_str(text);
                signatures.push(signature);
            }
            Content::Call(call) => calls.push(tool::write_call(call, part)),
            Content::Opaque { dialect: DIALECT, value } if tool::is_call(value) => {
                calls.push(value.clone());
            }
            Content::Media(media) if media.kind == MediaKind::Image => {
                images.extend(part::media(media, &part.extra));
            }
            Content::Media(_) | Content::Result(_) | Content::Opaque { .. } => {}
        }
    }
    let nothing = calls.is_empty() && refusal.is_none() && images.is_empty();
    let content = text.map_or_else(|| if nothing { "".into() } else { Value::Null }, Value::from);
    said.insert("content".to_owned(), content);
    said.insert("refusal".to_owned(), refusal.into());
    said.extend(thoughts.map(|(key, text)| (key.to_owned(), text.into())));
    if let [Some(signature)] = &signatures[..] {
        said.insert(THOUGHTS_SIGNATURE.to_owned(), signature.for_client(DIALECT).into());
    }
    for (key, list) in [("tool_calls", calls), ("images", images)] {
        if !list.is_empty() {
            said.insert(key.to_owned(), list.into());
        }
    }
    said
}

/// For a client that asked for functions: the first call, as one.
fn only_function(said: &mut Map<String, Value>) {
    if let Some(mut calls) = said.shift_remove("tool_calls") {
        said.insert("function_call".to_owned(), calls[0]["function"].take());
    }
}
