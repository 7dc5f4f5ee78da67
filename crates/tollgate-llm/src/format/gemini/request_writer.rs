//! Encodes a request for a provider that speaks Gemini's dialect. The model is in the URL.

use serde_json::{Map, Number, Value, json};

use crate::conversation::{
    ChatRequest, ChatTool, Function, GenerationOptions, ParallelCalls, ResponseFormat, ToolChoice,
};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::EncodedRequest;
use crate::model_capabilities::{Effort, Feature, ModelCapabilities};

use super::history::{GeminiContents, compose, excuse_unsigned};
use super::part_writer::GeminiPartWriter;

const OWN: Dialect = Dialect::Gemini;

pub(super) fn write(request: &ChatRequest) -> Result<EncodedRequest, LlmError> {
    let mut writing = GeminiPartWriter::for_provider(request);
    let GeminiContents { system, mut contents } = compose(&request.messages, &mut writing);
    if contents.is_empty() {
        let message = "there is nothing to answer: every message is empty or a system prompt";
        writing.ledger.allow::<()>(Err(LlmError::invalid("contents", message)));
    }
    if !ModelCapabilities::of(OWN, &request.model).takes(Feature::UnsignedCalls) {
        excuse_unsigned(&mut contents);
    }
    let mut body = Map::new();
    body.insert("contents".to_owned(), contents.into());
    if !system.is_empty() {
        body.insert("systemInstruction".to_owned(), json!({"parts": system}));
    }
    tools(request, &mut body, &mut writing);
    let config = config(request, &mut writing);
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), config.into());
    }
    request.extra.write_into(OWN, &mut body);
    body.retain(|key, _| !key.starts_with(GENERATION_CONFIG_PREFIX));
    let lost = writing.ledger.finish()?;
    Ok(EncodedRequest { body: body.into(), lost })
}

/// Prefix of unread fields of `generationConfig`.
const GENERATION_CONFIG_PREFIX: &str = "generationConfig.";

fn tools(request: &ChatRequest, body: &mut Map<String, Value>, writing: &mut GeminiPartWriter) {
    let mut functions = Vec::new();
    let mut tools = Vec::new();
    for (index, tool) in request.tools.iter().enumerate() {
        match tool {
            ChatTool::Function(function) => functions.push(declaration(function)),
            ChatTool::Hosted { dialect: OWN, value } => tools.push(value.clone()),
            ChatTool::Hosted { dialect, .. } => {
                let at = format!("tools[{index}]");
                let message = format!(
                    "`{at}` is run only by providers of the {dialect} API; this model's provider \
                     has the {OWN} API"
                );
                writing.ledger.allow::<()>(Err(LlmError::invalid(at, message)));
            }
        }
    }
    if functions.is_empty() {
        // The API rejects a tool choice without tools.
        if matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_)) {
            writing.ledger.lose("`tool_choice`: there are no tools");
        }
    } else {
        tools.insert(0, json!({"functionDeclarations": functions}));
        if let Some(choice) = choice(&request.tool_choice, writing) {
            let config = json!({"functionCallingConfig": choice});
            body.insert("toolConfig".to_owned(), config);
        }
    }
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.into());
    }
}

fn declaration(function: &Function) -> Value {
    let mut declared = Map::new();
    declared.insert("name".to_owned(), function.name.clone().into());
    if let Some(description) = &function.description {
        declared.insert("description".to_owned(), description.clone().into());
    }
    let own = function.extra.get(OWN, "parameters").is_some();
    if let Some(parameters) = function.parameters.as_ref().filter(|_| !own) {
        declared.insert("parametersJsonSchema".to_owned(), parameters.clone());
    }
    function.extra.write_into(OWN, &mut declared);
    declared.into()
}

fn choice(choice: &ToolChoice, writing: &mut GeminiPartWriter) -> Option<Value> {
    match choice {
        ToolChoice::Unsaid => None,
        ToolChoice::Auto => Some(json!({"mode": "AUTO"})),
        ToolChoice::None => Some(json!({"mode": "NONE"})),
        ToolChoice::Required => Some(json!({"mode": "ANY"})),
        ToolChoice::Named(name) => Some(json!({"mode": "ANY", "allowedFunctionNames": [name]})),
        ToolChoice::Opaque { dialect: OWN, value } => Some(value.clone()),
        ToolChoice::Opaque { dialect, .. } => {
            writing.ledger.lose(format!("`tool_choice`, in a form that only {dialect} has"));
            None
        }
    }
}

fn config(request: &ChatRequest, writing: &mut GeminiPartWriter) -> Map<String, Value> {
    let mut config = Map::new();
    let options = &request.options;
    if let Some(count) = options.max_output {
        config.insert("maxOutputTokens".to_owned(), count.into());
    }
    let numbers: [(&str, &Option<Number>); 6] = [
        ("temperature", &options.temperature),
        ("topP", &options.top_p),
        ("topK", &options.top_k),
        ("seed", &options.seed),
        ("presencePenalty", &options.presence_penalty),
        ("frequencyPenalty", &options.frequency_penalty),
    ];
    for (key, number) in numbers {
        if let Some(number) = number {
            config.insert(key.to_owned(), number.clone().into());
        }
    }
    if !options.stop.is_empty() {
        config.insert("stopSequences".to_owned(), options.stop.clone().into());
    }
    if let Some(candidates) = options.candidates {
        config.insert("candidateCount".to_owned(), candidates.into());
    }
    let own = request.extra.get(OWN, "generationConfig.responseSchema").is_some();
    if let Some(output) = &options.output {
        config.insert("responseMimeType".to_owned(), "application/json".into());
        if let ResponseFormat::Schema { schema, .. } = output
            && !own
        {
            config.insert("responseJsonSchema".to_owned(), schema.clone());
        }
    }
    if let Some(thinking) = thinking(request) {
        config.insert("thinkingConfig".to_owned(), thinking);
    }
    report_unsupported(options, writing);
    let mut rest = Map::new();
    for (key, value) in request.extra.fields(OWN).into_iter().flatten() {
        if let Some(key) = key.strip_prefix(GENERATION_CONFIG_PREFIX) {
            rest.insert(key.to_owned(), value.clone());
        }
    }
    Extra::new(OWN, rest).write_into(OWN, &mut config);
    config
}

/// `None` if the client set the thinking budget itself, or the model has no levels.
fn thinking(request: &ChatRequest) -> Option<Value> {
    let takes = ModelCapabilities::of(OWN, &request.model);
    let effort = Effort::parse(request.options.effort.as_deref()?)?;
    Some(thinking_config(takes.efforts.nearest(effort)?, takes.min_thinking_budget))
}

/// The `thinkingConfig` of a Gemini model for an effort.
fn thinking_config(effort: Effort, min_budget: Option<u32>) -> Value {
    let mut config = Map::new();
    match min_budget {
        Some(least) => {
            drop(config.insert("thinkingBudget".to_owned(), json!(effort.budget().max(least))))
        }
        None => {
            let level = effort.as_str().to_ascii_uppercase();
            config.insert("thinkingLevel".to_owned(), level.into());
        }
    }
    config.into()
}

fn report_unsupported(options: &GenerationOptions, writing: &mut GeminiPartWriter) {
    if options.user.is_some() {
        writing.ledger.lose("`user`");
    }
    if options.parallel_calls == Some(ParallelCalls::Forbidden) {
        writing.ledger.lose("the limit to one call at a time");
    }
}
