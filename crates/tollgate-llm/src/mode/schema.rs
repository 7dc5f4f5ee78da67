//! Tools through constrained JSON, for models that cannot call them reliably: the tools become a
//! paragraph of the system prompt and a schema that the answer must follow, earlier calls become
//! text, and the answer is read back into calls or words.

use serde_json::{Map, Value, json};

use super::writing::Writing;
use crate::conversation::{
    CallEnd, Content, Function, Message, OutputForm, Part, Request, Role, Tool, ToolChoice,
};

mod history;
mod reader;
mod refs;
mod text;

pub(super) use reader::Reader;

/// Without any function the history alone is rewritten, and there is nothing to read back.
pub(super) fn rewrite(mut request: Request) -> (Request, Option<Reader>) {
    let writing = Writing::new(&request);
    let functions = functions(&request);
    let may = May::of(&request);
    request.tools.retain(|tool| !matches!(tool, Tool::Function(_)));
    request.tool_choice = ToolChoice::Unsaid;
    request.options.parallel_calls = None;
    request.messages = history::rewrite(request.messages);
    if functions.is_empty() {
        return (request, None);
    }
    let wanted = request.options.output.take();
    let reply = if wanted.is_some() { Reply::Json } else { Reply::Text };
    prompt(&mut request.messages, &explanation(&functions, may));
    request.options.output = Some(OutputForm::Schema {
        name: "answer".to_owned(),
        schema: schema(&functions, may, wanted),
        strict: None,
    });
    (request, Some(Reader::new(writing, reply)))
}

/// What a reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    Text,
    /// The client asked for a form of its own.
    Json,
}

/// What the answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum May {
    Call,
    Reply,
    Both,
}

impl May {
    /// Small models go on calling for ever if they are let: what follows a result is the reply,
    /// unless the call failed for the first time.
    fn of(request: &Request) -> Self {
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

/// How the calls ended that were made since the user spoke.
fn ends(messages: &[Message]) -> Vec<CallEnd> {
    let latest = messages.iter().rev().take_while(|message| {
        message.role == Role::Assistant
            || message.parts.iter().any(|part| matches!(part.content, Content::Result(_)))
    });
    let parts = latest.flat_map(|message| &message.parts);
    let ends = parts.filter_map(|part| match &part.content {
        Content::Result(result) => Some(result.end),
        _ => None,
    });
    ends.collect()
}

/// Those that the model may choose from.
fn functions(request: &Request) -> Vec<Function> {
    let all = request.tools.iter().filter_map(|tool| match tool {
        Tool::Function(function) => Some(function.clone()),
        Tool::Hosted { .. } => None,
    });
    match &request.tool_choice {
        ToolChoice::None => Vec::new(),
        ToolChoice::Named(name) => all.filter(|function| function.name == *name).collect(),
        _ => all.collect(),
    }
}

/// One call of any of the functions, or a reply.
fn schema(functions: &[Function], may: May, wanted: Option<OutputForm>) -> Value {
    let mut shared = Map::new();
    let mut forms = Vec::new();
    if may != May::Reply {
        let calls = functions.iter().enumerate().map(|(at, function)| {
            let arguments = match &function.parameters {
                Some(parameters) => refs::placed(parameters, &format!("tool{at}"), &mut shared),
                None => json!({"type": "object", "properties": {}, "additionalProperties": false}),
            };
            object(&[("name", json!({"const": function.name})), ("arguments", arguments)])
        });
        forms.extend(calls);
    }
    if may != May::Call {
        let reply = match wanted {
            None => json!({"type": "string"}),
            Some(OutputForm::Json) => json!({"type": "object"}),
            Some(OutputForm::Schema { schema, .. }) => refs::placed(&schema, "reply", &mut shared),
        };
        forms.push(object(&[("reply", reply)]));
    }
    let mut schema = match forms.len() {
        1 => forms.remove(0),
        _ => json!({"oneOf": forms}),
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

fn explanation(functions: &[Function], may: May) -> String {
    const REPLY: &str = "{\"reply\": <text>}";
    const CALL: &str = "{\"name\": <tool>, \"arguments\": {...}}";
    if may == May::Reply {
        return format!(
            "Answer ONLY with JSON: {REPLY} to answer the user, by the tool results that you were \
             given."
        );
    }
    let mut said = "You can call tools. Tools:\n".to_owned();
    for function in functions {
        let description = function.description.as_deref().unwrap_or_default();
        let parameters = function.parameters.as_ref();
        let arguments = parameters.and_then(|schema| schema.get("properties"));
        let arguments = arguments.map_or_else(|| "{}".to_owned(), Value::to_string);
        said.push_str(&format!("- {}: {description} arguments: {arguments}\n", function.name));
    }
    said.push_str("Answer ONLY with JSON: ");
    said.push_str(CALL);
    said.push_str(" to call a tool");
    match may {
        May::Both => said.push_str(&format!(", or {REPLY} to answer the user.")),
        May::Call | May::Reply => said.push('.'),
    }
    said
}

/// Behind the system prompt that there is: many models take only one.
fn prompt(messages: &mut Vec<Message>, said: &str) {
    match messages.first_mut().filter(|message| message.role == Role::System) {
        Some(system) => match system.parts.last_mut().map(|part| &mut part.content) {
            Some(Content::Text(text)) => {
                text.push_str("\n\n");
                text.push_str(said);
            }
            _ => system.parts.push(Part::text(said)),
        },
        None => messages.insert(0, Message::text(Role::System, said)),
    }
}

#[cfg(test)]
mod tests;
