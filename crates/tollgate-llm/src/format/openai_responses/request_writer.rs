//! Encodes a request for a provider. Called by the provider through the codec.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{DIALECT, SEALED_REASONING, history, item_of, tool};
use crate::conversation::{
    ChatMessage, ChatRequest, ChatRole, GenerationOptions, MessagePart, ParallelCalls,
    ResponseDelivery, ResponseFormat, ToolChoice,
};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::encoding_losses::EncodingLosses;
use crate::format::{EncodedRequest, openai_common};
use crate::model_capabilities::ModelCapabilities;

pub(super) fn write(request: &ChatRequest) -> Result<EncodedRequest, LlmError> {
    let mut lost = EncodingLosses::of(request, DIALECT);
    let mut body = Map::from_iter([("model".to_owned(), request.model.clone().into())]);
    let (instructions, messages) = instructions(&request.messages);
    if let Some(instructions) = instructions {
        body.insert("instructions".to_owned(), instructions.into());
    }
    store(request, &mut body)?;
    include_sealed_reasoning(request, &mut body);
    let items = history::for_provider(messages, &mut lost);
    body.insert("input".to_owned(), items.into());
    openai_common::write_tools(&request.tools, tool::write, &mut body)?;
    match tool::write_choice(&request.tool_choice) {
        Ok(choice) => body.extend(choice.map(|choice| ("tool_choice".to_owned(), choice))),
        Err(inexpressible) => lost.say(inexpressible.to_string()),
    }
    options(&request.options, &mut body);
    lose(&request.options, &mut lost);
    if request.delivery == ResponseDelivery::Streamed {
        body.insert("stream".to_owned(), true.into());
    }
    openai_common::carry(request, Dialect::OpenAiChat, &mut body, &mut lost);
    request.extra.write_into(DIALECT, &mut body);
    openai_common::write_cache_key(request, &mut body);
    settle(request, &mut body);
    Ok(EncodedRequest { body: Value::Object(body), lost: lost.into_list() })
}

/// The first system prompt, unless it came as an item, and the remaining messages.
pub(super) fn instructions(messages: &[Arc<ChatMessage>]) -> (Option<String>, &[Arc<ChatMessage>]) {
    match messages {
        [first, rest @ ..] if first.role == ChatRole::System && item_of(&first.extra).is_none() => {
            let texts: Option<Vec<&str>> = first.parts.iter().map(MessagePart::as_text).collect();
            match texts {
                Some(texts) => (Some(texts.join("\n\n")), rest),
                None => (None, messages),
            }
        }
        _ => (None, messages),
    }
}

/// Fields that only make sense if the provider stores the response.
const STORAGE_KEYS: &[&str] = &["conversation", "background"];

/// The provider keeps nothing unless the config allows it: the gateway keeps what a client wants to
/// continue.
fn store(request: &ChatRequest, body: &mut Map<String, Value>) -> Result<(), LlmError> {
    let store = request.options.store == Some(true);
    let asks = |key: &&&str| match request.extra.get(DIALECT, key) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(_) => true,
    };
    if let Some(key) = STORAGE_KEYS.iter().find(asks).filter(|_| !store) {
        let message = format!(
            "`{key}` needs responses that the provider stores, and this model's are not stored: \
             remove it, or ask the operator for `store: true` at the model"
        );
        return Err(LlmError::invalid(*key, message));
    }
    body.insert("store".to_owned(), store.into());
    Ok(())
}

/// The next round needs the model's reasoning, which can only be sent back sealed.
fn include_sealed_reasoning(request: &ChatRequest, body: &mut Map<String, Value>) {
    let mut include = match request.extra.get(DIALECT, "include") {
        Some(Value::Array(wanted)) => wanted.clone(),
        _ => Vec::new(),
    };
    // Models that do not reason refuse to be asked for it.
    if ModelCapabilities::of(DIALECT, &request.model).reasons {
        include.push(SEALED_REASONING.into());
    }
    if !include.is_empty() {
        body.insert("include".to_owned(), include.into());
    }
}

fn options(options: &GenerationOptions, body: &mut Map<String, Value>) {
    body.extend(options.max_output.map(|count| ("max_output_tokens".to_owned(), count.into())));
    let numbers = [("temperature", &options.temperature), ("top_p", &options.top_p)];
    for (key, number) in numbers {
        body.extend(number.clone().map(|number| (key.to_owned(), number.into())));
    }
    if let Some(parallel) = options.parallel_calls {
        body.insert("parallel_tool_calls".to_owned(), (parallel == ParallelCalls::Allowed).into());
    }
    if let Some(output) = &options.output {
        body.insert("text".to_owned(), json!({"format": output_json(output)}));
    }
    if let Some(effort) = &options.effort {
        body.insert("reasoning".to_owned(), json!({"effort": effort}));
    }
    body.extend(options.user.clone().map(|user| ("user".to_owned(), user.into())));
}

pub(super) fn output_json(output: &ResponseFormat) -> Value {
    let ResponseFormat::Schema { name, schema, strict } = output else {
        return json!({"type": "json_object"});
    };
    let schema = if schema.is_object() { schema.clone() } else { json!({}) };
    let mut form = json!({"type": "json_schema", "name": name, "schema": schema});
    if let Some(strict) = strict {
        form["strict"] = (*strict).into();
    }
    form
}

/// Records options that this dialect does not have.
fn lose(options: &GenerationOptions, lost: &mut EncodingLosses) {
    let fields = [
        ("top_k", options.top_k.is_some()),
        ("seed", options.seed.is_some()),
        ("presence_penalty", options.presence_penalty.is_some()),
        ("frequency_penalty", options.frequency_penalty.is_some()),
        ("stop", !options.stop.is_empty()),
        ("n", options.candidates.is_some_and(|count| count > 1)),
    ];
    for (field, _) in fields.into_iter().filter(|(_, said)| *said) {
        lost.say(format!("field `{field}`"));
    }
}

/// OpenAI rejects requests with a tool choice but no tools, or with stream options but no stream.
fn settle(request: &ChatRequest, body: &mut Map<String, Value>) {
    if request.delivery == ResponseDelivery::Whole {
        body.shift_remove("stream_options");
    }
    if request.tools.is_empty()
        && matches!(request.tool_choice, ToolChoice::Auto | ToolChoice::None)
    {
        body.shift_remove("tool_choice");
    }
}
