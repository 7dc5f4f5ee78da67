//! Encodes a request for a provider that speaks Anthropic's dialect.

use serde_json::{Map, Number, Value, json};

use crate::conversation::{
    ChatRequest, ChatTool, Function, GenerationOptions, ParallelCalls, ResponseDelivery,
    ResponseFormat, ToolChoice,
};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::EncodedRequest;
use crate::format::openai_common::strict_of;
use crate::model_capabilities::{Feature, ModelCapabilities};

use super::history::{AnthropicMessages, compose};
use super::part_writer::{AnthropicBlockWriter, content};
use super::prompt_cache::{self, StableEnd};
use super::thought_binding::{self, THOUGHT_KINDS};

const OWN: Dialect = Dialect::Anthropic;

/// The API requires a limit. Every model supports this many tokens.
const DEFAULT_MAX_TOKENS: u64 = 4096;

pub(super) fn write(request: &ChatRequest) -> Result<EncodedRequest, LlmError> {
    let mut writing = AnthropicBlockWriter::for_provider(request);
    let AnthropicMessages { system, messages } = compose(&request.messages, &mut writing);
    if messages.is_empty() {
        let message = "there is nothing to answer: every message is empty or a system prompt";
        writing.ledger.allow::<()>(Err(LlmError::invalid("messages", message)));
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.clone().into());
    let max_tokens = request.options.max_output.unwrap_or(DEFAULT_MAX_TOKENS);
    body.insert("max_tokens".to_owned(), max_tokens.into());
    if !system.is_empty() {
        body.insert("system".to_owned(), content(system));
    }
    body.insert("messages".to_owned(), messages.into());
    tools(request, &mut body, &mut writing);
    options(request, &mut body, &mut writing);
    if request.delivery == ResponseDelivery::Streamed {
        body.insert("stream".to_owned(), true.into());
    }
    request.extra.write_into(OWN, &mut body);
    leave_out_thinking(&mut body, &mut writing);
    if !ModelCapabilities::of(OWN, &request.model).takes(Feature::ThoughtsOutOfContext) {
        thought_binding::drop_misplaced(&mut body);
    }
    mark_for_cache(request, &mut body, &mut writing);
    let lost = writing.ledger.finish()?;
    Ok(EncodedRequest { body: body.into(), lost })
}

fn mark_for_cache(
    request: &ChatRequest,
    body: &mut Map<String, Value>,
    writing: &mut AnthropicBlockWriter,
) {
    for place in ["messages[]", "messages[].content[]", "tools[]", "tools[].function"] {
        for key in ["", ".type", ".ttl"] {
            writing.ledger.retract(&format!("{place}.{}{key}", prompt_cache::MARK_KEY));
        }
    }
    let removed = prompt_cache::remove_excess_marks(body);
    if removed > 0 {
        writing.ledger.lose(format!("{removed} of the `cache_control` marks: the limit is 4"));
    }
    if request.options.cached_for.is_some() {
        let stable_end = if request.options.ends_in_aside {
            StableEnd::BeforeLastBlock
        } else {
            StableEnd::LastBlock
        };
        prompt_cache::mark_prefix(body, stable_end);
    }
}

/// With thinking enabled by hand, a turn that goes on after tool calls must begin with a thought of
/// this model. It has none if another model made the calls: the turn then ends without thinking.
fn leave_out_thinking(body: &mut Map<String, Value>, writing: &mut AnthropicBlockWriter) {
    let is_by_hand = body.get("thinking").is_some_and(|thinking| thinking["type"] == "enabled");
    let messages = body.get("messages").and_then(Value::as_array);
    let mut answers = messages.into_iter().flatten().rev().filter(|it| it["role"] == "assistant");
    let blocks = answers.next().and_then(|answer| answer["content"].as_array());
    let has = |block: &Value, kinds: &[&str]| {
        block["type"].as_str().is_some_and(|kind| kinds.contains(&kind))
    };
    let needs_thought = blocks.is_some_and(|blocks| {
        blocks.iter().any(|block| has(block, &["tool_use"]))
            && !blocks.first().is_some_and(|it| has(it, &THOUGHT_KINDS))
    });
    if is_by_hand && needs_thought {
        body.shift_remove("thinking");
        writing.ledger.lose("`thinking`: another model began this turn");
    }
}

fn tools(request: &ChatRequest, body: &mut Map<String, Value>, writing: &mut AnthropicBlockWriter) {
    let numbered = request.tools.iter().enumerate();
    let tools: Vec<Value> =
        numbered.filter_map(|(index, it)| writing.ledger.allow(tool(it, index))).collect();
    if tools.is_empty() {
        // The API rejects a `tool_choice` without tools.
        if matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_)) {
            writing.ledger.lose("`tool_choice`: there are no tools");
        }
        return;
    }
    for field in ["tools[].function.strict", "tools[].strict"] {
        writing.ledger.retract(field);
    }
    body.insert("tools".to_owned(), tools.into());
    if let Some(choice) = choice(request, writing) {
        body.insert("tool_choice".to_owned(), choice);
    }
}

fn tool(tool: &ChatTool, index: usize) -> Result<Value, LlmError> {
    match tool {
        ChatTool::Function(function) => Ok(self::function(function)),
        ChatTool::Hosted { dialect: OWN, value } => Ok(value.clone()),
        ChatTool::Hosted { dialect, .. } => {
            let at = format!("tools[{index}]");
            let message = format!(
                "`{at}` is run only by providers of the {dialect} API; this model's provider has \
                 the {OWN} API"
            );
            Err(LlmError::invalid(at, message))
        }
    }
}

fn function(function: &Function) -> Value {
    let mut tool = Map::new();
    tool.insert("name".to_owned(), function.name.clone().into());
    if let Some(description) = &function.description {
        tool.insert("description".to_owned(), description.clone().into());
    }
    let mut schema = match &function.parameters {
        Some(Value::Object(schema)) => schema.clone(),
        Some(_) | None => Map::new(),
    };
    if !schema.contains_key("type") {
        schema.insert("type".to_owned(), "object".into());
    }
    tool.insert("input_schema".to_owned(), schema.into());
    if strict_of(function) == Some(true) {
        tool.insert("strict".to_owned(), true.into());
    }
    function.extra.write_into(OWN, &mut tool);
    prompt_cache::carry_mark(&function.extra, &mut tool);
    tool.into()
}

fn choice(request: &ChatRequest, writing: &mut AnthropicBlockWriter) -> Option<Value> {
    let parallel = request.options.parallel_calls;
    let mut choice = match &request.tool_choice {
        ToolChoice::Unsaid => {
            parallel?;
            json!({"type": "auto"})
        }
        ToolChoice::Auto => json!({"type": "auto"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Named(name) => json!({"type": "tool", "name": name}),
        ToolChoice::None => return Some(json!({"type": "none"})),
        ToolChoice::Opaque { dialect: OWN, value } => return Some(value.clone()),
        ToolChoice::Opaque { dialect, .. } => {
            writing.ledger.lose(format!("`tool_choice`, in a form that only {dialect} has"));
            return None;
        }
    };
    if let Some(parallel) = parallel {
        choice["disable_parallel_tool_use"] = (parallel == ParallelCalls::Forbidden).into();
    }
    Some(choice)
}

fn options(
    request: &ChatRequest,
    body: &mut Map<String, Value>,
    writing: &mut AnthropicBlockWriter,
) {
    let GenerationOptions { temperature, top_p, top_k, stop, user, .. } = &request.options;
    if let Some(temperature) = temperature {
        body.insert("temperature".to_owned(), clamp_temperature(temperature, writing).into());
    }
    for (key, number) in [("top_p", top_p), ("top_k", top_k)] {
        if let Some(number) = number {
            body.insert(key.to_owned(), without_fraction(number).into());
        }
    }
    if !stop.is_empty() {
        body.insert("stop_sequences".to_owned(), stop.clone().into());
    }
    if let Some(user) = user {
        body.insert("metadata".to_owned(), json!({"user_id": user}));
    }
    output_config(request, body, writing);
    let GenerationOptions { seed, presence_penalty, frequency_penalty, candidates, .. } =
        &request.options;
    let unsayable = [
        ("seed", seed.is_some()),
        ("presence_penalty", presence_penalty.is_some()),
        ("frequency_penalty", frequency_penalty.is_some()),
        ("more than one answer", candidates.is_some_and(|count| count > 1)),
    ];
    for (what, _) in unsayable.iter().filter(|(_, said)| *said) {
        writing.ledger.lose(format!("`{what}`"));
    }
}

/// Anthropic's scale ends at 1, that of others at 2.
fn clamp_temperature(temperature: &Number, writing: &mut AnthropicBlockWriter) -> Number {
    if temperature.as_f64().is_some_and(|it| it > 1.0) {
        writing.ledger.lose(format!("`temperature` above 1: {temperature} is sent as 1"));
        return 1.into();
    }
    temperature.clone()
}

/// Other dialects write 40.0 where Anthropic expects 40.
fn without_fraction(number: &Number) -> Number {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && (1.0..1e9).contains(&float) => {
            format!("{float:.0}").parse().unwrap_or_else(|_| number.clone())
        }
        _ => number.clone(),
    }
}

fn output_config(
    request: &ChatRequest,
    body: &mut Map<String, Value>,
    writing: &mut AnthropicBlockWriter,
) {
    let mut config = Map::new();
    match request.options.effort.as_deref() {
        None => {}
        // Anthropic has no such effort.
        Some("none") => {
            body.insert("thinking".to_owned(), json!({"type": "disabled"}));
        }
        Some(effort) => {
            config.insert("effort".to_owned(), effort.into());
        }
    }
    match &request.options.output {
        None => {}
        Some(ResponseFormat::Json) => {
            writing.ledger.lose("JSON as the form of the answer, without a schema")
        }
        Some(ResponseFormat::Schema { schema, .. }) => {
            let format = json!({"type": "json_schema", "schema": schema});
            config.insert("format".to_owned(), format);
        }
    }
    if !config.is_empty() {
        body.insert("output_config".to_owned(), config.into());
    }
}
