//! Earlier calls and their results as text, for a model that knows neither.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::conversation::{Call, CallEnd, CallResult, Content, Message, Part};

/// Messages of one role that come to stand beside one another become one: some models insist on
/// turns.
pub(super) fn rewrite(messages: Vec<Message>) -> Vec<Message> {
    let parts = messages.iter().flat_map(|message| &message.parts).filter_map(Part::as_call);
    let names: HashMap<String, String> =
        parts.map(|call| (call.id.clone(), call.name.clone())).collect();
    let mut rewritten: Vec<(Message, Origin)> = Vec::with_capacity(messages.len());
    for mut message in messages {
        let origin = match message.parts.iter().any(|part| is_foreign(&part.content)) {
            true => Origin::Rewritten,
            false => Origin::Kept,
        };
        if origin == Origin::Rewritten {
            message.parts = message.parts.into_iter().flat_map(|it| part(it, &names)).collect();
        }
        match rewritten.last_mut() {
            Some((last, before))
                if last.role == message.role
                    && (origin == Origin::Rewritten || *before == Origin::Rewritten) =>
            {
                last.parts.extend(message.parts);
            }
            _ => rewritten.push((message, origin)),
        }
    }
    rewritten.into_iter().map(|(message, _)| message).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Kept,
    Rewritten,
}

fn is_foreign(content: &Content) -> bool {
    matches!(content, Content::Call(_) | Content::Result(_))
}

fn part(part: Part, names: &HashMap<String, String>) -> Vec<Part> {
    match part.content {
        Content::Call(call) => vec![Part::text(called(&call))],
        Content::Result(result) => returned(result, names),
        _ => vec![part],
    }
}

/// In the very form in which the model is to call.
fn called(call: &Call) -> String {
    let arguments = match serde_json::from_str::<Value>(&call.arguments) {
        Ok(arguments) => arguments,
        Err(_) if call.arguments.trim().is_empty() => json!({}),
        Err(_) => Value::from(call.arguments.as_str()),
    };
    json!({"name": call.name, "arguments": arguments}).to_string()
}

fn returned(result: CallResult, names: &HashMap<String, String>) -> Vec<Part> {
    let CallResult { call_id, name, parts, end } = result;
    let name = name.as_deref().or_else(|| names.get(&call_id).map(String::as_str));
    let of = name.map_or_else(String::new, |name| format!(" of {name}"));
    let what = match end {
        CallEnd::Well => "result",
        CallEnd::Failed => "failure",
    };
    let said: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    let said = format!("Tool {what}{of}: {}", said.join("\n"));
    let others = parts.iter().filter(|part| part.as_text().is_none()).cloned();
    std::iter::once(Part::text(said)).chain(others).collect()
}
