//! Encodes a request for a provider. Called by the provider through the codec.

use serde_json::{Map, Value, json};

use super::request_reader::LEGACY_FUNCTIONS_KEY;
use super::{DIALECT, history, tool};
use crate::conversation::{
    ChatRequest, GenerationOptions, ParallelCalls, ResponseDelivery, ResponseFormat, ToolChoice,
};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::encoding_losses::EncodingLosses;
use crate::format::{EncodedRequest, openai_common};
use crate::model_capabilities::{Feature, ModelCapabilities};

pub(super) fn write(request: &ChatRequest) -> Result<EncodedRequest, LlmError> {
    let mut lost = EncodingLosses::of(request, DIALECT);
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.clone().into());
    let messages = history::for_provider(request, &mut lost);
    body.insert("messages".to_owned(), messages.into());
    openai_common::write_tools(&request.tools, tool::write, &mut body)?;
    match tool::write_choice(&request.tool_choice) {
        Ok(choice) => body.extend(choice.map(|choice| ("tool_choice".to_owned(), choice))),
        Err(inexpressible) => lost.say(inexpressible.to_string()),
    }
    options(&request.options, &mut body);
    if request.delivery == ResponseDelivery::Streamed {
        body.insert("stream".to_owned(), true.into());
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    openai_common::carry(request, Dialect::OpenAiResponses, &mut body, &mut lost);
    request.extra.write_into(DIALECT, &mut body);
    openai_common::write_cache_key(request, &mut body);
    settle(request, &mut body);
    if request.options.top_k.is_some() && !body.contains_key("top_k") {
        lost.say("field `top_k`");
    }
    Ok(EncodedRequest { body: Value::Object(body), lost: lost.into_list() })
}

fn options(options: &GenerationOptions, body: &mut Map<String, Value>) {
    let GenerationOptions { temperature, top_p, seed, presence_penalty, frequency_penalty, .. } =
        options;
    let numbers = [
        ("temperature", temperature),
        ("top_p", top_p),
        ("seed", seed),
        ("presence_penalty", presence_penalty),
        ("frequency_penalty", frequency_penalty),
    ];
    for (key, number) in numbers {
        body.extend(number.clone().map(|number| (key.to_owned(), number.into())));
    }
    if !options.stop.is_empty() {
        body.insert("stop".to_owned(), options.stop.clone().into());
    }
    if let Some(parallel) = options.parallel_calls {
        body.insert("parallel_tool_calls".to_owned(), (parallel == ParallelCalls::Allowed).into());
    }
    if let Some(output) = &options.output {
        body.insert("response_format".to_owned(), output_json(output));
    }
    let texts = [("reasoning_effort", &options.effort), ("user", &options.user)];
    for (key, text) in texts {
        body.extend(text.clone().map(|text| (key.to_owned(), text.into())));
    }
    body.extend(options.candidates.map(|count| ("n".to_owned(), count.into())));
}

fn output_json(output: &ResponseFormat) -> Value {
    let ResponseFormat::Schema { name, schema, strict } = output else {
        return json!({"type": "json_object"});
    };
    let mut form = Map::from_iter([("name".to_owned(), name.clone().into())]);
    if schema.is_object() {
        form.insert("schema".to_owned(), schema.clone());
    }
    form.extend(strict.map(|strict| ("strict".to_owned(), strict.into())));
    json!({"type": "json_schema", "json_schema": form})
}

/// Removes client fields that no longer apply. OpenAI rejects requests with tool options but no
/// tools, or with stream options but no stream.
fn settle(request: &ChatRequest, body: &mut Map<String, Value>) {
    body.shift_remove(LEGACY_FUNCTIONS_KEY);
    if request.delivery == ResponseDelivery::Whole {
        body.shift_remove("stream_options");
    }
    if request.tools.is_empty() {
        body.shift_remove("parallel_tool_calls");
        if matches!(request.tool_choice, ToolChoice::Auto | ToolChoice::None) {
            body.shift_remove("tool_choice");
        }
    }
    let before = body.shift_remove("max_tokens");
    if let Some(count) = request.options.max_output {
        let takes = ModelCapabilities::of(DIALECT, &request.model);
        let old = takes.takes(Feature::MaxTokens)
            && (before.is_some() || !openai_common::is_openais(&request.model));
        let key = if old { "max_tokens" } else { "max_completion_tokens" };
        body.insert(key.to_owned(), count.into());
    }
}
