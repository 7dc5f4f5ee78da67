//! Shared between OpenAI's two dialects: fields that both have in their own form, translated from
//! one to the other.

use serde_json::{Map, Value, json};

use crate::conversation::{ChatRequest, ChatTool, Function, MessagePart};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::encoding_losses::EncodingLosses;
use crate::format::fields::wrong;

pub(super) mod errors;
pub(super) mod logprobs;
pub(super) mod media;

const CACHE_KEY: &str = "prompt_cache_key";
/// Fields with the same meaning in both dialects.
const ALIKE: &[&str] =
    &["metadata", CACHE_KEY, "prompt_cache_retention", "safety_identifier", "service_tier"];

/// Writes the fields that a client sent in the `other` of the two dialects.
pub(super) fn carry(
    request: &ChatRequest,
    other: Dialect,
    body: &mut Map<String, Value>,
    lost: &mut EncodingLosses,
) {
    for key in ALIKE {
        if let Some(value) = request.extra.get(other, key) {
            body.insert((*key).to_owned(), value.clone());
            lost.retract(key);
        }
    }
    // Images keep it.
    lost.retract("messages[].content[].image_url.detail");
    lost.retract("messages[].content[].detail");
    carry_verbosity(request, other, body, lost);
    carry_logprobs(request, other, body, lost);
    let strict = |tool: &ChatTool| match tool {
        ChatTool::Function(function) => strict_of(function).is_some(),
        ChatTool::Hosted { .. } => false,
    };
    if request.tools.iter().any(strict) {
        lost.retract("tools[].function.strict");
        lost.retract("tools[].strict");
    }
}

/// Content is a string, or a list of parts.
pub(super) fn read_content(
    content: Value,
    at: &str,
    read_part: fn(Value, String) -> Result<MessagePart, LlmError>,
) -> Result<Vec<MessagePart>, LlmError> {
    match content {
        Value::String(text) => Ok(vec![MessagePart::text(text)]),
        Value::Array(list) => {
            let numbered = list.into_iter().enumerate();
            numbered.map(|(index, part)| read_part(part, format!("{at}[{index}]"))).collect()
        }
        other => Err(wrong(at, "a string or a list of parts", &other)),
    }
}

/// OpenAI refuses an empty list of tools.
pub(super) fn write_tools(
    tools: &[ChatTool],
    write_tool: fn(&ChatTool) -> Result<Value, LlmError>,
    body: &mut Map<String, Value>,
) -> Result<(), LlmError> {
    if !tools.is_empty() {
        let tools: Result<Vec<Value>, LlmError> = tools.iter().map(write_tool).collect();
        body.insert("tools".to_owned(), tools?.into());
    }
    Ok(())
}

/// Longest key that the API takes.
const MAX_CACHE_KEY_CHARS: usize = 64;

/// Requests of one agent have the same key, so that they reach a machine which has their beginning
/// in its cache. Servers of others may refuse the field. A client's own key stays.
pub(super) fn write_cache_key(request: &ChatRequest, body: &mut Map<String, Value>) {
    if let Some(agent) = &request.options.cached_for
        && is_openais(&request.model)
        && !body.contains_key(CACHE_KEY)
    {
        let key: String = format!("tollgate-{agent}").chars().take(MAX_CACHE_KEY_CHARS).collect();
        body.insert(CACHE_KEY.to_owned(), key.into());
    }
}

/// Whether it is a model of OpenAI itself, by its name. Its newer models refuse what many other
/// servers need, and the other way round.
pub(crate) fn is_openais(model: &str) -> bool {
    let reasoning = model.strip_prefix('o').is_some_and(|rest| rest.starts_with(char::is_numeric));
    let open_weights = model.starts_with("gpt-oss");
    reasoning
        || !open_weights
            && ["gpt-", "chatgpt-", "codex-"].iter().any(|name| model.starts_with(name))
}

/// The value of Responses' `include` for log probabilities.
const INCLUDE_LOGPROBS: &str = "message.output_text.logprobs";

/// `verbosity` in Chat Completions, `text.verbosity` in Responses.
fn carry_verbosity(
    request: &ChatRequest,
    other: Dialect,
    body: &mut Map<String, Value>,
    lost: &mut EncodingLosses,
) {
    if other == Dialect::OpenAiChat {
        if let Some(verbosity) = request.extra.get(other, "verbosity") {
            let text = body.entry("text").or_insert_with(|| json!({}));
            text["verbosity"] = verbosity.clone();
            lost.retract("verbosity");
        }
    } else if let Some(verbosity) =
        request.extra.get(other, "text").and_then(|it| it.get("verbosity"))
    {
        body.insert("verbosity".to_owned(), verbosity.clone());
        lost.retract("text.verbosity");
    }
}

/// `logprobs` in Chat Completions, a value of `include` in Responses.
fn carry_logprobs(
    request: &ChatRequest,
    other: Dialect,
    body: &mut Map<String, Value>,
    lost: &mut EncodingLosses,
) {
    let is_wanted = match other {
        Dialect::OpenAiChat => request.extra.get(other, "logprobs") == Some(&Value::Bool(true)),
        _ => {
            let include = request.extra.get(other, "include").and_then(Value::as_array);
            include.is_some_and(|include| include.iter().any(|it| it == INCLUDE_LOGPROBS))
        }
    };
    if !is_wanted {
        return;
    }
    if other == Dialect::OpenAiChat {
        let include = body.entry("include").or_insert_with(|| json!([]));
        if let Value::Array(include) = include {
            include.push(INCLUDE_LOGPROBS.into());
        }
        lost.retract("logprobs");
    } else {
        body.insert("logprobs".to_owned(), true.into());
        lost.retract("include");
    }
    if let Some(count) = request.extra.get(other, "top_logprobs") {
        body.insert("top_logprobs".to_owned(), count.clone());
        lost.retract("top_logprobs");
    }
}

/// Whether the schema is strict, as the client set it in its dialect.
pub(crate) fn strict_of(function: &Function) -> Option<bool> {
    let chat = || function.extra.get(Dialect::OpenAiChat, "function")?.get("strict")?.as_bool();
    let responses = || function.extra.get(Dialect::OpenAiResponses, "strict")?.as_bool();
    let anthropic = || function.extra.get(Dialect::Anthropic, "strict")?.as_bool();
    chat().or_else(responses).or_else(anthropic)
}

/// Removes what the client said of it.
pub(crate) fn drop_strict(function: &mut Function) {
    for own in [Dialect::OpenAiResponses, Dialect::Anthropic] {
        function.extra.take(own, "strict");
    }
    let chat = Dialect::OpenAiChat;
    if let Some(Value::Object(mut fields)) = function.extra.take(chat, "function") {
        fields.shift_remove("strict");
        let rest = (!fields.is_empty()).then(|| ("function".to_owned(), fields.into()));
        function.extra.merge(Extra::new(chat, rest.into_iter().collect()));
    }
}

/// A tool choice of another dialect that this one has no word for. The message names the field, for
/// the list of what was not sent.
#[derive(Debug, thiserror::Error)]
#[error("field `tool_choice`")]
pub(super) struct InexpressibleToolChoiceError;

/// A tool choice that allows only some of the tools.
#[derive(Debug)]
pub(crate) struct AllowedTools<'a> {
    mode: &'a str,
    names: Vec<&'a str>,
}

impl<'a> AllowedTools<'a> {
    /// `None`: it is another kind of choice, or allows tools that only its own dialect has.
    pub(crate) fn read(dialect: Dialect, choice: &'a Value) -> Option<Self> {
        let (body, name): (_, fn(&Value) -> &Value) = match dialect {
            Dialect::OpenAiChat => (&choice["allowed_tools"], |tool| &tool["function"]["name"]),
            Dialect::OpenAiResponses => (choice, |tool| &tool["name"]),
            Dialect::Gemini => return Self::read_gemini(choice),
            Dialect::Anthropic => return None,
        };
        if choice["type"] != "allowed_tools" {
            return None;
        }
        let tools = body["tools"].as_array()?.iter();
        let names = tools.map(|tool| (tool["type"] == "function").then(|| name(tool).as_str())?);
        Some(Self { mode: body["mode"].as_str()?, names: names.collect::<Option<_>>()? })
    }

    fn read_gemini(choice: &'a Value) -> Option<Self> {
        let names = choice["allowedFunctionNames"].as_array()?.iter().map(Value::as_str);
        let mode = if choice["mode"] == "ANY" { "required" } else { "auto" };
        Some(Self { mode, names: names.collect::<Option<_>>()? })
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.names.iter().copied()
    }

    pub(crate) fn is_required(&self) -> bool {
        self.mode == "required"
    }

    pub(super) fn chat(&self) -> Value {
        let tool = |name: &&str| json!({"type": "function", "function": {"name": name}});
        let tools: Vec<Value> = self.names.iter().map(tool).collect();
        json!({"type": "allowed_tools", "allowed_tools": {"mode": self.mode, "tools": tools}})
    }

    pub(super) fn responses(&self) -> Value {
        let tool = |name: &&str| json!({"type": "function", "name": name});
        let tools: Vec<Value> = self.names.iter().map(tool).collect();
        json!({"type": "allowed_tools", "mode": self.mode, "tools": tools})
    }
}

/// Error: a hosted tool that providers of the other dialect do not have.
pub(super) fn unsupported_hosted_tool(dialect: Dialect, value: &Value) -> LlmError {
    let kind = value["type"].as_str().unwrap_or("hosted");
    let message = format!(
        "the tool `{kind}` is run only by providers of the {dialect} API, and this model's \
         provider has another API: remove it, or use another model"
    );
    LlmError::invalid("tools", message)
}
