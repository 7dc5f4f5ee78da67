//! Rewrites earlier calls and results as text, for a model that knows neither.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::conversation::{
    CallEnd, CallResult, ChatMessage, FunctionCall, MessageList, MessagePart, PartContent,
};

/// Merges adjacent messages of the same role: some models require alternating roles.
pub(super) fn rewrite(messages: MessageList) -> MessageList {
    let parts = messages.iter().flat_map(|message| &message.parts).filter_map(MessagePart::as_call);
    let names: HashMap<String, String> =
        parts.map(|call| (call.id.clone(), call.name.clone())).collect();
    let mut rewritten: Vec<(Arc<ChatMessage>, HistoryPartOrigin)> =
        Vec::with_capacity(messages.len());
    for mut message in messages {
        let origin = if message.parts.iter().any(|part| is_foreign(&part.content)) {
            HistoryPartOrigin::Rewritten
        } else {
            HistoryPartOrigin::Original
        };
        if origin == HistoryPartOrigin::Rewritten {
            let parts = message.parts.iter().cloned().flat_map(|it| part(it, &names)).collect();
            message =
                Arc::new(ChatMessage { role: message.role, parts, extra: message.extra.clone() });
        }
        match rewritten.last_mut() {
            Some((last, before))
                if last.role == message.role
                    && (origin == HistoryPartOrigin::Rewritten
                        || *before == HistoryPartOrigin::Rewritten) =>
            {
                Arc::make_mut(last).parts.extend_from_slice(&message.parts);
            }
            _ => rewritten.push((message, origin)),
        }
    }
    rewritten.into_iter().map(|(message, _)| message).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HistoryPartOrigin {
    Original,
    Rewritten,
}

fn is_foreign(content: &PartContent) -> bool {
    matches!(content, PartContent::Call(_) | PartContent::Result(_))
}

fn part(part: MessagePart, names: &HashMap<String, String>) -> Vec<MessagePart> {
    match part.content {
        PartContent::Call(call) => vec![MessagePart::text(call_text(&call))],
        PartContent::Result(result) => result_parts(result, names),
        _ => vec![part],
    }
}

/// In the same form in which the model is asked to call.
fn call_text(call: &FunctionCall) -> String {
    let arguments = match serde_json::from_str::<Value>(&call.arguments) {
        Ok(arguments) => arguments,
        Err(_) if call.arguments.trim().is_empty() => json!({}),
        Err(_) => Value::from(call.arguments.as_str()),
    };
    json!({"name": call.name, "arguments": arguments}).to_string()
}

fn result_parts(result: CallResult, names: &HashMap<String, String>) -> Vec<MessagePart> {
    let CallResult { call_id, name, parts, end } = result;
    let name = name.as_deref().or_else(|| names.get(&call_id).map(String::as_str));
    let of = name.map_or_else(String::new, |name| format!(" of {name}"));
    let what = match end {
        CallEnd::Well => "result",
        CallEnd::Failed => "failure",
    };
    let texts: Vec<&str> = parts.iter().filter_map(MessagePart::as_text).collect();
    let texts = format!("Tool {what}{of}: {}", texts.join("\n"));
    let others = parts.iter().filter(|part| part.as_text().is_none()).cloned();
    std::iter::once(MessagePart::text(texts)).chain(others).collect()
}
