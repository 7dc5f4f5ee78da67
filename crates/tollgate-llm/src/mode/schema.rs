//! Tool calls through constrained JSON, for models that cannot call tools reliably.
//!
//! The tools become a paragraph of the system prompt and a JSON schema for the answer, earlier
//! calls become text, and the answer is decoded into calls or text.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::delta_writer::DeltaWriter;
use crate::conversation::{
    CallEnd, ChatMessage, ChatRequest, ChatRole, ChatTool, Function, MessageList, MessagePart,
    PartContent, ResponseFormat, ToolChoice,
};

mod history;
mod json_string;
mod reader;
mod refs;

pub(super) use reader::SchemaReplyReader;

/// Without functions only the history is rewritten, and no decoder is needed.
pub(super) fn rewrite(mut request: ChatRequest) -> (ChatRequest, Option<SchemaReplyReader>) {
    let writing = DeltaWriter::new(&request);
    let functions = functions(&request);
    let may = AllowedAnswer::of(&request);
    request.tools.retain(|tool| !matches!(tool, ChatTool::Function(_)));
    request.tool_choice = ToolChoice::Unsaid;
    request.options.parallel_calls = None;
    request.messages = history::rewrite(request.messages);
    if functions.is_empty() {
        return (request, None);
    }
    let output = request.options.output.take();
    let reply = if output.is_some() { SchemaReplyForm::Json } else { SchemaReplyForm::Text };
    prompt(&mut request.messages, &explanation(&functions, may));
    request.options.output = Some(ResponseFormat::Schema {
        name: "answer".to_owned(),
        schema: schema(&functions, may, output),
        strict: None,
    });
    (request, Some(SchemaReplyReader::new(writing, reply)))
}

/// Format of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaReplyForm {
    Text,
    /// The client requested its own format.
    Json,
}

/// What the answer may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AllowedAnswer {
    Call,
    Reply,
    Both,
}

impl AllowedAnswer {
    /// Small models would call tools forever: after a result only a reply is allowed, unless the
    /// call failed for the first time.
    fn of(request: &ChatRequest) -> Self {
        match request.tool_choice {
            ToolChoice::Required | ToolChoice::Named(_) => Self::Call,
            ToolChoice::Unsaid | ToolChoice::Auto | ToolChoice::Opaque { .. } => {
                let ends = ends(&request.messages);
                match ends.as_slice() {
                    [] | [CallEnd::Failed] => Self::Both,
                    _ => Self::Reply,
                }
            }
            ToolChoice::None => Self::Reply,
        }
    }
}

/// How the calls since the last user message ended.
fn ends(messages: &[Arc<ChatMessage>]) -> Vec<CallEnd> {
    let latest = messages.iter().rev().take_while(|message| {
        message.role == ChatRole::Assistant
            || message.parts.iter().any(|part| matches!(part.content, PartContent::Result(_)))
    });
    let parts = latest.flat_map(|message| &message.parts);
    let ends = parts.filter_map(|part| match &part.content {
        PartContent::Result(result) => Some(result.end),
        _ => None,
    });
    ends.collect()
}

/// The functions that the model may choose from.
fn functions(request: &ChatRequest) -> Vec<Function> {
    let all = request.tools.iter().filter_map(|tool| match tool {
        ChatTool::Function(function) => Some(function.clone()),
        ChatTool::Hosted { .. } => None,
    });
    match &request.tool_choice {
        ToolChoice::None => Vec::new(),
        ToolChoice::Named(name) => all.filter(|function| function.name == *name).collect(),
        _ => all.collect(),
    }
}

/// Schema for one call of any of the functions, or a reply.
fn schema(functions: &[Function], may: AllowedAnswer, wanted: Option<ResponseFormat>) -> Value {
    let mut shared = Map::new();
    let mut forms = Vec::new();
    if may != AllowedAnswer::Reply {
        let calls = functions.iter().enumerate().map(|(at, function)| {
            let arguments = match &function.parameters {
                Some(parameters) => {
                    refs::embed_schema(parameters, &format!("tool{at}"), &mut shared)
                }
                None => json!({"type": "object", "properties": {}, "additionalProperties": false}),
            };
            object(&[("name", json!({"const": function.name})), ("arguments", arguments)])
        });
        forms.extend(calls);
    }
    if may != AllowedAnswer::Call {
        let reply = match wanted {
            None => json!({"type": "string"}),
            Some(ResponseFormat::Json) => json!({"type": "object"}),
            Some(ResponseFormat::Schema { schema, .. }) => {
                refs::embed_schema(&schema, "reply", &mut shared)
            }
        };
        forms.push(object(&[("reply", reply)]));
    }
    let mut schema = match forms.len() {
        1 => forms.remove(0),
        // Anthropic refuses `oneOf` here.
        _ => json!({"anyOf": forms}),
    };
    if !shared.is_empty() {
        schema["$defs"] = Value::Object(shared);
    }
    schema
}

fn object(fields: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn explanation(functions: &[Function], may: AllowedAnswer) -> String {
    const REPLY: &str = "{\"reply\": <text>}";
    const CALL: &str = "{\"name\": <tool>, \"arguments\": {...}}";
    if may == AllowedAnswer::Reply {
        return format!(
            "Answer ONLY with JSON: {REPLY} to answer the user, by the tool results that you were \
             given."
        );
    }
    let mut prompt = "You can call tools. Tools:\n".to_owned();
    for function in functions {
        let description = function.description.as_deref().unwrap_or_default();
        let parameters = function.parameters.as_ref();
        let arguments = parameters.and_then(|schema| schema.get("properties"));
        let arguments = arguments.map_or_else(|| "{}".to_owned(), Value::to_string);
        prompt.push_str(&format!("- {}: {description} arguments: {arguments}\n", function.name));
    }
    prompt.push_str("Answer ONLY with JSON: ");
    prompt.push_str(CALL);
    prompt.push_str(" to call a tool");
    match may {
        AllowedAnswer::Both => prompt.push_str(&format!(", or {REPLY} to answer the user.")),
        AllowedAnswer::Call | AllowedAnswer::Reply => prompt.push('.'),
    }
    prompt
}

/// Appends to the existing system prompt: many models accept only one.
fn prompt(messages: &mut MessageList, instructions: &str) {
    let has_prompt = messages.first().is_some_and(|message| message.role == ChatRole::System);
    match messages.first_mut().filter(|_| has_prompt) {
        Some(system) => match system.parts.last_mut().map(|part| &mut part.content) {
            Some(PartContent::Text(text)) => {
                text.push_str("\n\n");
                text.push_str(instructions);
            }
            _ => system.parts.push(MessagePart::text(instructions)),
        },
        None => messages.insert(0, ChatMessage::text(ChatRole::System, instructions)),
    }
}

#[cfg(test)]
mod tests;
