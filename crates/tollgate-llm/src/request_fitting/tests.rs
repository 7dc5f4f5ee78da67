use std::borrow::Cow;

use serde_json::{Value, json};

use super::{FittedRequest, fit};
use crate::conversation::{ChatRequest, MessagePart};
use crate::delta::{PartOpening, ResponseDelta};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::format::{self, RequestUrlParams};

mod conversations;
mod thoughts;
mod tools;

/// A request as a client of `front` sends it: `fields` beside one message.
fn request(front: Dialect, fields: &Value) -> ChatRequest {
    let mut body = match front {
        Dialect::OpenAiChat => json!({"messages": [{"role": "user", "content": "Hello."}]}),
        Dialect::OpenAiResponses => json!({"input": "Hello."}),
        Dialect::Anthropic => {
            json!({"messages": [{"role": "user", "content": "Hello."}], "max_tokens": 4096})
        }
        Dialect::Gemini => json!({"contents": [{"role": "user", "parts": [{"text": "Hello."}]}]}),
    };
    if front != Dialect::Gemini {
        body["model"] = "m".into();
    }
    for (key, value) in fields.as_object().unwrap() {
        body[key] = value.clone();
    }
    let address = RequestUrlParams { model: Some("m"), delivery: None };
    format::of(front).read_request(body, &address).unwrap()
}

/// What a provider of `dialect` gets for it, and what was changed or lost.
fn convert(front: Dialect, fields: &Value, dialect: Dialect, model: &str) -> (Value, Vec<String>) {
    let FittedRequest { request, mut changes, .. } =
        fit(Cow::Owned(request(front, fields)), dialect, model).unwrap();
    let written = format::of(dialect).write_request(&request).unwrap();
    changes.extend(written.lost);
    (written.body, changes)
}

const CHAT: Dialect = Dialect::OpenAiChat;
const RESPONSES: Dialect = Dialect::OpenAiResponses;
const ANTHROPIC: Dialect = Dialect::Anthropic;
const GEMINI: Dialect = Dialect::Gemini;

#[test]
fn sampling_is_left_out_where_it_is_refused() {
    let both = json!({"temperature": 0.5, "top_p": 0.5});
    for (dialect, model) in
        [(CHAT, "gpt-6-sol"), (RESPONSES, "gpt-6.1-sol"), (ANTHROPIC, "claude-opus-5-5")]
    {
        let (body, lost) = convert(CHAT, &both, dialect, model);
        assert!(body.get("temperature").is_none() && body.get("top_p").is_none(), "{body}");
        let wanted =
            ["`temperature`: the model does not take it", "`top_p`: the model does not take it"];
        assert_eq!(lost, wanted, "{model}");
    }
    let (body, lost) = convert(CHAT, &both, ANTHROPIC, "claude-haiku-4-5");
    assert_eq!((&body["temperature"], body.get("top_p")), (&json!(0.5), None));
    assert_eq!(lost, ["`top_p`: the model takes either it or `temperature`"]);
    let (body, lost) = convert(CHAT, &both, CHAT, "llama3.1");
    assert_eq!((&body["temperature"], &body["top_p"]), (&json!(0.5), &json!(0.5)));
    assert!(lost.is_empty(), "{lost:?}");
    let (body, lost) = convert(CHAT, &json!({"temperature": 1, "top_p": 1.0}), CHAT, "gpt-6-sol");
    assert!(body.get("temperature").is_none() && lost.is_empty(), "defaults: {lost:?}");
}

#[test]
fn a_model_that_need_not_reason_takes_sampling_while_it_does_not() {
    let temperature = json!({"temperature": 0.5});
    assert_eq!(convert(CHAT, &temperature, CHAT, "gpt-5.5").0["temperature"], 0.5);
    let reasoning = json!({"temperature": 0.5, "reasoning_effort": "low", "logprobs": true});
    let (body, lost) = convert(CHAT, &reasoning, RESPONSES, "gpt-5.5");
    assert_eq!((body.get("temperature"), &body["reasoning"]["effort"]), (None, &json!("low")));
    let wanted =
        ["`temperature`: the model does not take it", "`logprobs`: the model does not take it"];
    assert_eq!(lost, wanted);
}

#[test]
fn penalties_and_stops_are_left_out_where_models_refuse_them() {
    let options = json!({"presence_penalty": 0.5, "frequency_penalty": 0, "stop": ["a"]});
    let (body, lost) = convert(CHAT, &options, CHAT, "o4-mini");
    for key in ["presence_penalty", "frequency_penalty", "stop"] {
        assert!(body.get(key).is_none(), "{key}");
    }
    let wanted =
        ["`presence_penalty`: the model does not take it", "`stop`: the model does not take it"];
    assert_eq!(lost, wanted);
}

#[test]
fn efforts_are_fitted() {
    let effort = |level: &str| json!({"reasoning_effort": level});
    let (body, lost) = convert(CHAT, &effort("minimal"), CHAT, "gpt-5.5");
    assert_eq!(body["reasoning_effort"], "low");
    assert_eq!(lost, ["effort `minimal`: sent as `low`"]);
    let (body, lost) = convert(CHAT, &effort("low"), ANTHROPIC, "claude-haiku-4-5");
    assert_eq!(body.get("output_config"), None);
    assert_eq!(lost, ["effort `low`: the model does not have it"]);
    let (body, lost) = convert(CHAT, &effort("made-up"), CHAT, "some-server");
    assert_eq!(body["reasoning_effort"], "made-up");
    assert!(lost.is_empty());
    assert_eq!(convert(CHAT, &effort("made-up"), CHAT, "gpt-5.5").0.get("reasoning_effort"), None);
    let gemini = convert(CHAT, &effort("none"), GEMINI, "gemini-2.5-flash").0;
    assert_eq!(gemini["generationConfig"]["thinkingConfig"], json!({"thinkingBudget": 0}));
    let gemini = convert(CHAT, &effort("xhigh"), GEMINI, "gemini-3.8-flash").0;
    assert_eq!(gemini["generationConfig"]["thinkingConfig"], json!({"thinkingLevel": "HIGH"}));
}

#[test]
fn effort_none_switches_the_thinking_of_a_claude_off() {
    let none = json!({"reasoning_effort": "none"});
    let (body, lost) = convert(CHAT, &none, ANTHROPIC, "claude-sonnet-5");
    assert_eq!(
        (&body["thinking"], body.get("output_config")),
        (&json!({"type": "disabled"}), None)
    );
    assert!(lost.is_empty(), "{lost:?}");
    let (body, lost) = convert(CHAT, &none, ANTHROPIC, "claude-opus-4-8");
    assert_eq!((body.get("thinking"), lost.len()), (None, 0), "it does not think by itself");
    let (body, _) = convert(CHAT, &none, ANTHROPIC, "claude-fable-5-2");
    assert_eq!(body["output_config"]["effort"], "low", "it always thinks");
}

#[test]
fn thinking_becomes_what_a_model_takes() {
    let budget = json!({"thinking": {"type": "enabled", "budget_tokens": 2048}});
    let (body, lost) = convert(ANTHROPIC, &budget, ANTHROPIC, "claude-opus-4-8");
    assert_eq!(body["thinking"], json!({"type": "adaptive"}));
    assert_eq!(body["output_config"]["effort"], "low");
    assert_eq!(lost, ["`thinking.type` `enabled`: sent as `adaptive`"]);
    let kept = convert(ANTHROPIC, &budget, ANTHROPIC, "claude-haiku-4-5").0;
    assert_eq!(kept["thinking"], budget["thinking"]);
    let disabled = json!({"thinking": {"type": "disabled"}});
    let (body, lost) = convert(ANTHROPIC, &disabled, ANTHROPIC, "claude-opus-5-5");
    assert_eq!(body.get("thinking"), None);
    assert_eq!(lost, ["`thinking.type` `disabled`: the model does not take it"]);
    let high = json!({"thinking": {"type": "disabled"}, "output_config": {"effort": "max"}});
    let body = convert(ANTHROPIC, &high, ANTHROPIC, "claude-opus-5").0;
    assert_eq!(
        (&body["thinking"]["type"], &body["output_config"]["effort"]),
        (&json!("disabled"), &json!("high"))
    );
    let responses = convert(ANTHROPIC, &budget, RESPONSES, "gpt-6.1-sol").0;
    assert_eq!(responses["reasoning"]["effort"], "low");
}

#[test]
fn a_thinking_budget_of_gemini_becomes_a_level() {
    let budget = json!({"generationConfig": {"thinkingConfig": {"thinkingBudget": 20_000, "includeThoughts": true}}});
    let (body, lost) = convert(GEMINI, &budget, GEMINI, "gemini-4-argon");
    let config = json!({"thinkingLevel": "HIGH", "includeThoughts": true});
    assert_eq!(body["generationConfig"]["thinkingConfig"], config);
    assert_eq!(lost, ["`thinkingBudget` 20000: sent as effort `high`"]);
    let kept = convert(GEMINI, &budget, GEMINI, "gemini-2.5-flash").0;
    assert_eq!(kept["generationConfig"]["thinkingConfig"]["thinkingBudget"], 20_000);
    let (body, lost) = convert(GEMINI, &budget, CHAT, "gpt-5.5");
    assert_eq!(body["reasoning_effort"], "high");
    assert_eq!(lost, ["field `generationConfig.thinkingConfig.includeThoughts`"]);
}

#[test]
fn limits_are_fitted() {
    let (body, lost) = convert(CHAT, &json!({"max_tokens": 5}), RESPONSES, "gpt-4.1");
    assert_eq!(body["max_output_tokens"], 16);
    assert_eq!(lost, ["the limit of 5 output tokens: sent as 16"]);
    let body = convert(CHAT, &json!({"max_tokens": 5}), CHAT, "gpt-5.5").0;
    assert_eq!((body.get("max_tokens"), &body["max_completion_tokens"]), (None, &json!(5)));
    let body = convert(CHAT, &json!({"max_tokens": 5}), CHAT, "llama3.1").0;
    assert_eq!(body["max_tokens"], 5);
    let five = json!({"stop_sequences": ["a", "b", "c", "d", "e"]});
    let (body, lost) = convert(ANTHROPIC, &five, CHAT, "gpt-4.1");
    assert_eq!(body["stop"], json!(["a", "b", "c", "d"]));
    assert_eq!(lost, ["`stop`: only the first 4 of 5 sequences are sent"]);
    assert_eq!(convert(ANTHROPIC, &five, CHAT, "vllm").0["stop"], five["stop_sequences"]);
    let warm = convert(ANTHROPIC, &json!({"max_tokens": 0}), ANTHROPIC, "claude-opus-4-8").0;
    assert_eq!(warm["max_tokens"], 0, "writes the cache only");
}

#[test]
fn json_without_a_schema_is_asked_for_in_words() {
    let json = json!({"generationConfig": {"responseMimeType": "application/json"}});
    for dialect in [CHAT, RESPONSES] {
        let (body, lost) = convert(GEMINI, &json, dialect, "gpt-4.1");
        let input = body.get("messages").or(body.get("input")).unwrap();
        assert!(input.to_string().contains("JSON"), "{body}");
        assert!(lost.is_empty(), "{lost:?}");
    }
    let (body, lost) = convert(GEMINI, &json, ANTHROPIC, "claude-opus-4-8");
    assert_eq!(body["system"], "Answer with one JSON object and nothing else.");
    assert_eq!(lost, ["JSON as the form of the answer: sent as an instruction"]);
    let said = json!({"response_format": {"type": "json_object"}, "messages": [{"role": "user", "content": "As JSON."}]});
    assert_eq!(convert(CHAT, &said, CHAT, "gpt-4.1").0["messages"].as_array().unwrap().len(), 1);
}

fn with_schema(schema: &Value) -> Value {
    json!({"response_format": {"type": "json_schema", "json_schema": {"name": "it", "schema": schema}}})
}

#[test]
fn the_schema_of_an_answer_is_closed_for_claude() {
    let open = json!({
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1, "description": "How many."},
            "minimum": {"oneOf": [{"type": "object", "properties": {}}, {"type": "null"}]},
            "d": {"type": "string", "format": "date"},
            "p": {"type": "string", "format": "regex"},
            "l": {"type": "array", "items": {"type": "string"}, "minItems": 3},
        },
    });
    let (body, lost) = convert(CHAT, &with_schema(&open), ANTHROPIC, "claude-opus-4-8");
    let wanted = json!({
        "type": "object",
        "properties": {
            "n": {"type": "integer", "description": "How many. (minimum: 1)"},
            "minimum": {"anyOf": [
                {"type": "object", "properties": {}, "additionalProperties": false},
                {"type": "null"},
            ]},
            "d": {"type": "string", "format": "date"},
            "p": {"type": "string", "description": "(format: \"regex\")"},
            "l": {"type": "array", "items": {"type": "string"}, "description": "(minItems: 3)"},
        },
        "additionalProperties": false,
    });
    assert_eq!(body["output_config"]["format"]["schema"], wanted);
    assert_eq!(lost, ["keywords of the answer's schema: sent as its description"]);
    let closed = json!({"type": "object", "properties": {}, "additionalProperties": false});
    assert!(convert(CHAT, &with_schema(&closed), ANTHROPIC, "claude-opus-4-8").1.is_empty());
}

#[test]
fn a_recursive_schema_becomes_an_instruction_for_claude() {
    let list = json!({
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
    });
    let (body, lost) = convert(CHAT, &with_schema(&list), ANTHROPIC, "claude-opus-4-8");
    assert_eq!(body.get("output_config"), None);
    assert!(body["system"].as_str().unwrap().contains("$defs"), "{body}");
    assert_eq!(lost, ["the answer's schema: sent as an instruction"]);
}

#[test]
fn b_ch_03_many_references_to_one_definition_are_followed_once() {
    let refer = |name: usize| json!({"$ref": format!("#/$defs/{name}")});
    let both = |name: usize| json!({"anyOf": [refer(name), refer(name), refer(name)]});
    let last = 60;
    let mut definitions: Value = (0..last).map(|name| (name.to_string(), both(name + 1))).collect();
    definitions[last.to_string()] = json!({"type": "integer"});
    let wide = json!({"type": "object", "properties": {"a": refer(0)}, "$defs": definitions});
    let (body, _) = convert(CHAT, &with_schema(&wide), ANTHROPIC, "claude-opus-4-8");
    assert_eq!(body["output_config"]["format"]["schema"]["properties"]["a"], refer(0));
}

#[test]
fn gemini_gets_bare_references() {
    let referring = json!({
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/N", "title": "A number", "description": "It."}},
        "$defs": {"N": {"type": "integer"}},
    });
    let body = convert(CHAT, &with_schema(&referring), GEMINI, "gemini-3.8-flash").0;
    let wanted = json!({"$ref": "#/$defs/N", "description": "It. (title: \"A number\")"});
    assert_eq!(body["generationConfig"]["responseJsonSchema"]["properties"]["n"], wanted);
    let tool = json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": referring}}]});
    let body = convert(CHAT, &tool, GEMINI, "gemini-3.8-flash").0;
    let declared = &body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"];
    assert_eq!(declared["properties"]["n"], wanted);
}

#[test]
fn openai_fields_pass_between_its_two_apis() {
    let chat = json!({
        "verbosity": "low", "logprobs": true, "top_logprobs": 3,
        "messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
        ]}],
    });
    let (body, lost) = convert(CHAT, &chat, RESPONSES, "gpt-4.1");
    assert_eq!(body["text"]["verbosity"], "low");
    assert_eq!(body["include"], json!(["message.output_text.logprobs"]));
    assert_eq!(body["top_logprobs"], 3);
    assert_eq!(body["input"][0]["content"][0]["detail"], "low");
    assert!(lost.is_empty(), "{lost:?}");
    let responses = json!({
        "text": {"verbosity": "low"}, "include": ["message.output_text.logprobs"], "top_logprobs": 3,
        "input": [{"role": "user", "content": [
            {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "low"},
        ]}],
    });
    let (body, lost) = convert(RESPONSES, &responses, CHAT, "gpt-4.1");
    assert_eq!((&body["verbosity"], &body["logprobs"]), (&json!("low"), &json!(true)));
    assert_eq!(body["top_logprobs"], 3);
    assert_eq!(body["messages"][0]["content"][0]["image_url"]["detail"], "low");
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn names_are_restored_in_answers() {
    let tool = json!({"tools": [{"functionDeclarations": [{"name": "a.b"}, {"name": "a:b"}]}]});
    let fitted = fit(Cow::Owned(request(GEMINI, &tool)), CHAT, "gpt-4.1").unwrap();
    let known: Vec<&str> = fitted.request.client_tools().collect();
    assert!(known.iter().all(|name| name.starts_with("a_b_")) && known[0] != known[1], "{known:?}");
    for (name, own) in known.iter().zip(["a.b", "a:b"]) {
        let call = |name: &str| crate::conversation::FunctionCall {
            id: "1".to_owned(),
            name: name.to_owned(),
            arguments: "{}".to_owned(),
        };
        let part =
            |name: &str| MessagePart::new(crate::conversation::PartContent::Call(call(name)));
        let mut parts = vec![part(name), part("other")];
        fitted.names.restore(&mut parts);
        assert_eq!(parts, [part(own), part("other")]);
        let open = |name: &str| ResponseDelta::Open {
            index: 0,
            opening: PartOpening::Call { id: "1".to_owned(), name: name.to_owned() },
            extra: Extra::none(),
        };
        let mut delta = open(name);
        fitted.names.restore_in(&mut delta);
        assert_eq!(delta, open(own));
    }
}

#[test]
fn a_request_that_fits_is_not_copied() {
    let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let fields = json!({
        "messages": [{"role": "user", "content": "Roll."}],
        "tools": [{"type": "function", "function": {"name": "roll", "parameters": closed}}],
    });
    for (dialect, model) in [
        (CHAT, "gpt-5.5"),
        (RESPONSES, "gpt-6.1-sol"),
        (ANTHROPIC, "claude-opus-5-5"),
        (GEMINI, "gemini-3.8-flash"),
        (CHAT, "some-server"),
    ] {
        let request = ChatRequest { model: model.to_owned(), ..request(CHAT, &fields) };
        let fitted = fit(Cow::Borrowed(&request), dialect, model).unwrap();
        assert!(matches!(fitted.request, Cow::Borrowed(_)), "{model}");
        let elsewhere = fit(Cow::Borrowed(&request), dialect, "another").unwrap();
        assert_eq!(elsewhere.request.model, "another");
    }
}
