//! What the dialect says for others, and what it keeps from clients.

use std::sync::Arc;

use serde_json::Map;

use super::*;
use crate::conversation::{
    CallEnd, CallResult, ChatMedia, ChatMessage, ChatRole, ChatTool, Function, FunctionCall,
    MediaKind, MediaSource, MessagePart, PartContent, StopReason, ThoughtSignature, TokenUsage,
    ToolChoice,
};
use crate::dialect::Dialect;
use crate::format::openai_chat::OpenAiChatCodec;
use crate::gateway_report::{GatewayReport, LoopEnd};

fn response(parts: Vec<MessagePart>, stop: StopReason) -> ChatResponse {
    ChatResponse {
        id: "chatcmpl-1".into(),
        model: "m".into(),
        created: 1,
        parts,
        stop,
        usage: TokenUsage::default(),
        extra: Extra::none(),
    }
}

fn input_of(messages: Vec<ChatMessage>) -> (Value, Vec<String>) {
    let written = OpenAiResponsesCodec.write_request(&test_fixtures::request(messages)).unwrap();
    (written.body["input"].clone(), written.lost)
}

#[test]
fn equivalent_spellings_are_read_alike() {
    let list = |item: Value| read(json!({"model": "m", "input": [item]}));
    assert_eq!(make_request(), list(json!({"role": "user", "content": "hi"})));
    let part = json!({"role": "user", "content": [{"type": "input_text", "text": "hi"}]});
    assert_eq!(make_request(), list(part));
    assert_eq!(
        make_request(),
        read(json!({"model": "m", "input": "hi", "stream": false, "text": null}))
    );
}

#[test]
fn what_an_assistant_does_in_one_go_is_one_message() {
    let (_, body) = test_fixtures::json(FOLDER, "request_items").remove(0);
    let shapes: Vec<String> = read(body)
        .messages
        .iter()
        .map(|message| format!("{:?} {}", message.role, message.parts.len()))
        .collect();
    assert_eq!(
        shapes,
        [
            "User 1",
            "Assistant 5",
            "User 1",
            "User 1",
            "User 1",
            "Assistant 3",
            "Assistant 1",
            "Assistant 2",
            "User 1",
            "User 1",
            "User 1"
        ]
    );
}

#[test]
fn nothing_is_stored_unless_the_request_allows_it() {
    let mut request = test_fixtures::request(vec![ChatMessage::text(ChatRole::User, "hi")]);
    assert_eq!(encode(&request)["store"], false);
    assert_eq!(encode(&make_request())["store"], false);
    request.options.store = Some(true);
    assert_eq!(encode(&request)["store"], true);
}

#[test]
fn what_needs_a_stored_response_is_refused_without_one() {
    for (key, value) in [("conversation", json!("conv_1")), ("background", json!(true))] {
        let mut request = read(json!({"model": "m", "input": "hi", key: value}));
        let refused = OpenAiResponsesCodec.write_request(&request).unwrap_err();
        assert_eq!(refused.at.as_deref(), Some(key));
        assert!(refused.message.contains("store: true"), "{}", refused.message);
        request.options.store = Some(true);
        assert_eq!(encode(&request)[key], value);
    }
    let request = read(json!({"model": "m", "input": "hi", "background": false}));
    assert_eq!(encode(&request)["background"], false);
}

#[test]
fn reasoning_is_asked_for_in_a_form_that_can_be_sent_back() {
    let sealed = "reasoning.encrypted_content";
    let include = |model: &str, include: Value| {
        let mut request = read(json!({"model": "m", "input": "hi", "include": include}));
        request.model = model.to_owned();
        encode(&request).get("include").cloned()
    };
    for model in ["gpt-6.1-sol", "gpt-5", "o3", "local"] {
        assert_eq!(include(model, json!([])), Some(json!([sealed])), "{model}");
    }
    for model in ["gpt-4.1", "gpt-4o-mini", "gpt-5-chat-latest", "openai/gpt-4.1"] {
        assert_eq!(include(model, json!([sealed])), None, "{model} refuses it");
    }
    let more = "message.input_image.image_url";
    assert_eq!(include("gpt-6.1-sol", json!([more])), Some(json!([more, sealed])));
    assert_eq!(include("gpt-6.1-sol", json!([sealed, more])), Some(json!([more, sealed])), "once");
}

#[test]
fn the_first_system_prompt_becomes_the_instructions() {
    let system = |text: &str| ChatMessage::text(ChatRole::System, text);
    let messages = vec![system("agent"), system("client"), ChatMessage::text(ChatRole::User, "hi")];
    let body = encode(&test_fixtures::request(messages));
    assert_eq!(body["instructions"], "agent");
    assert_eq!(body["input"][0], json!({"role": "system", "content": "client"}));
    let item = json!({"model": "m", "input": [{"role": "system", "content": "x"}]});
    assert_eq!(encode(&read(item)).get("instructions"), None);
}

#[test]
fn functions_of_others_are_not_strict_unless_they_said_so() {
    let tool = |extra: Extra| {
        ChatTool::Function(Function {
            name: "f".into(),
            description: None,
            parameters: None,
            extra,
        })
    };
    let strict = json!({"function": {"strict": true}}).as_object().cloned().unwrap();
    let tools = vec![tool(Extra::none())];
    let body = encode(&ChatRequest { tools, ..make_request() });
    assert_eq!(
        body["tools"][0],
        json!({"type": "function", "name": "f", "parameters": null, "strict": false})
    );
    let tools = vec![tool(Extra::new(Dialect::OpenAiChat, strict))];
    assert_eq!(encode(&ChatRequest { tools, ..make_request() })["tools"][0]["strict"], true);
    let own = json!([{"type": "function", "name": "f", "parameters": {}}]);
    let request = read(json!({"model": "m", "input": "hi", "tools": own}));
    assert_eq!(encode(&request)["tools"], own);
    let value = json!({"type": "web_search_20250305"});
    let tools = vec![ChatTool::Hosted { dialect: Dialect::Anthropic, value }];
    assert!(OpenAiResponsesCodec.write_request(&ChatRequest { tools, ..make_request() }).is_err());
}

#[test]
fn a_choice_among_some_is_carried_from_chat() {
    let value = json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto",
        "tools": [{"type": "function", "function": {"name": "roll"}}]}});
    let tool_choice = ToolChoice::Opaque { dialect: Dialect::OpenAiChat, value };
    assert_eq!(
        encode(&ChatRequest { tool_choice, ..make_request() })["tool_choice"],
        json!({"type": "allowed_tools", "mode": "auto",
            "tools": [{"type": "function", "name": "roll"}]})
    );
}

#[test]
fn only_a_providers_own_thoughts_are_sent_to_it() {
    let thought = |text: &str, maker| {
        let signature = ThoughtSignature::new(maker, "sig");
        MessagePart::new(PartContent::Thinking { text: text.into(), signature: Some(signature) })
    };
    let own = thought("b", Dialect::OpenAiResponses);
    let parts = vec![thought("a", Dialect::Anthropic), own, MessagePart::text("hi")];
    let message = ChatMessage::new(ChatRole::Assistant, parts);
    let (input, lost) = input_of(vec![message.clone()]);
    let sealed = json!({"type": "reasoning", "encrypted_content": "sig",
        "summary": [{"type": "summary_text", "text": "b"}]});
    assert_eq!(input, json!([sealed, {"role": "assistant", "content": "hi"}]), "without an id");
    assert_eq!(lost, ["reasoning of another model"]);

    let kept = OpenAiResponsesCodec.write_history(&[Arc::new(message.clone())]);
    assert_eq!(kept[0]["encrypted_content"], "tollgate:anthropic:sig");
    assert_eq!(kept[1]["encrypted_content"], "sig");
    let again = read(json!({"model": "m", "input": kept}));
    let contents = |message: &ChatMessage| -> Vec<PartContent> {
        message.parts.iter().map(|part| part.content.clone()).collect()
    };
    assert_eq!(contents(&again.messages[0]), contents(&message));
    assert_eq!(encode(&again)["input"], input, "those of others are not sent");
}

#[test]
fn only_sealed_reasoning_that_an_output_follows_is_sent() {
    let sealed = json!({"type": "reasoning", "id": "rs_1", "summary": [], "status": null,
        "encrypted_content": "gAAAA"});
    let plain = json!({"type": "reasoning", "id": "rs_2", "summary": []});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"});
    let result = json!({"type": "function_call_output", "call_id": "c", "output": "4"});
    let user = json!({"role": "user", "content": "x"});
    let kinds = |input: Value| {
        let body = encode(&read(json!({"model": "m", "store": true, "input": input})));
        let items = body["input"].as_array().cloned().unwrap();
        assert!(items.iter().all(|item| item.get("id").is_none() && item.get("status").is_none()));
        let kind = |item: &Value| item["type"].as_str().unwrap_or("message").to_owned();
        items.iter().map(kind).collect::<Vec<_>>()
    };
    let loop_kinds = ["reasoning", "function_call", "function_call_output"];
    assert_eq!(kinds(json!([sealed, call, result])), loop_kinds);
    assert_eq!(kinds(json!([plain, call, result])), &loop_kinds[1..]);
    assert_eq!(
        kinds(json!([call, result, sealed, user])),
        [loop_kinds[1], loop_kinds[2], "message"]
    );
    assert_eq!(kinds(json!([call, result, sealed])), &loop_kinds[1..]);
}

#[test]
fn ids_that_were_made_here_are_for_clients_only() {
    let call = FunctionCall { id: "c".into(), name: "f".into(), arguments: "{}".into() };
    let parts = vec![MessagePart::text("hi"), MessagePart::new(PartContent::Call(call))];
    let written_response = OpenAiResponsesCodec.write_response(
        &response(parts, StopReason::Calls),
        &make_request(),
        None,
    );
    let output = written_response["output"].as_array().cloned().unwrap();
    assert_eq!(output[0]["id"], "msg_tollgate_0_chatcmpl1");
    assert_eq!(output[1]["id"], "fc_tollgate_1_chatcmpl1");
    let result = json!({"type": "function_call_output", "call_id": "c", "output": "4"});
    let input = json!([output[0], output[1], result]);
    let body = encode(&read(json!({"model": "m", "input": input})));
    assert_eq!(body["input"][0].get("id"), None);
    assert_eq!(body["input"][1].get("id"), None);
    assert_eq!(body["input"][1]["call_id"], "c");
}

#[test]
fn an_answer_repeats_the_clients_request_and_nothing_of_the_gateways() {
    let (_, body) = test_fixtures::json(FOLDER, "response_tools").remove(0);
    let read_back = OpenAiResponsesCodec.read_response(body).unwrap();
    let request = json!({"model": "sage", "input": "hi",
        "tools": [{"type": "function", "name": "own", "parameters": null}]});
    let written = OpenAiResponsesCodec.write_response(&read_back, &read(request.clone()), None);
    assert_eq!(written["instructions"], Value::Null);
    assert_eq!(written["tools"], request["tools"]);
    assert_eq!(written["tool_choice"], "auto");
    let steps = delta::steps(&read_back);
    let all =
        encode_stream(&read(request), &steps).into_iter().map(|(_, data)| data).collect::<String>();
    assert!(!all.contains("web_search") && !all.contains("Rolls"), "{all}");
}

#[test]
fn stops_become_statuses() {
    let ending = |stop: StopReason, parts: Vec<MessagePart>| {
        let body =
            OpenAiResponsesCodec.write_response(&response(parts, stop), &make_request(), None);
        let reason = body["incomplete_details"]["reason"].as_str().unwrap_or("").to_owned();
        format!("{} {reason}", body["status"].as_str().unwrap()).trim_end().to_owned()
    };
    let refusal = || vec![MessagePart::new(PartContent::Refusal("no".into()))];
    assert_eq!(ending(StopReason::End, vec![]), "completed");
    assert_eq!(ending(StopReason::Sequence(None), vec![]), "completed");
    assert_eq!(ending(StopReason::Length, vec![]), "incomplete max_output_tokens");
    assert_eq!(ending(StopReason::Filtered, vec![]), "incomplete content_filter");
    assert_eq!(ending(StopReason::Refused, vec![]), "incomplete content_filter");
    assert_eq!(ending(StopReason::Refused, refusal()), "completed");
    // The model did not come to an end.
    let other = StopReason::Other { dialect: Dialect::Anthropic, reason: "pause_turn".into() };
    assert_eq!(ending(other, vec![]), "incomplete max_output_tokens");
}

#[test]
fn pictures_of_results_stay_in_their_results() {
    let source = MediaSource::Base64 { media_type: "image/png".into(), data: "AA".into() };
    let image = ChatMedia { kind: MediaKind::Image, source, name: None };
    let parts = vec![MessagePart::text("look"), MessagePart::new(PartContent::Media(image))];
    let result = CallResult { call_id: "c".into(), name: None, parts, end: CallEnd::Failed };
    let message = ChatMessage::new(
        ChatRole::User,
        vec![MessagePart::new(PartContent::Result(result)), MessagePart::text("?")],
    );
    let (input, lost) = input_of(vec![message]);
    assert_eq!(
        input,
        json!([
            {"type": "function_call_output", "call_id": "c", "output": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA", "detail": "auto"}]},
            {"role": "user", "content": "?"},
        ])
    );
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn what_has_no_words_here_is_named() {
    let mut request = test_fixtures::request(vec![ChatMessage::text(ChatRole::User, "hi")]);
    request.options.stop = vec!["x".into()];
    request.options.top_k = Some(3.into());
    request.options.candidates = Some(2);
    let lost = OpenAiResponsesCodec.write_request(&request).unwrap().lost;
    assert_eq!(lost, ["field `top_k`", "field `stop`", "field `n`"]);
}

#[test]
fn the_form_that_a_provider_was_asked_for_is_not_told() {
    let provider = Map::from_iter([
        ("text".to_owned(), json!({"format": {"type": "json_schema", "schema": {"tools": 1}}})),
        ("metadata".to_owned(), json!({"a": "b"})),
    ]);
    let mut whole = response(vec![MessagePart::text("4")], StopReason::End);
    whole.extra = Extra::new(Dialect::OpenAiResponses, provider);
    let body = OpenAiResponsesCodec.write_response(&whole, &make_request(), None);
    assert_eq!(body["text"], json!({"format": {"type": "text"}}));
    assert_eq!(body["metadata"], json!({"a": "b"}));
    let text = json!({"format": {"type": "json_object"}, "verbosity": "low"});
    let request = read(json!({"model": "m", "input": "hi", "text": text}));
    assert_eq!(OpenAiResponsesCodec.write_response(&whole, &request, None)["text"], text);
}

#[test]
fn what_was_done_is_told_in_the_last_answer() {
    let told = GatewayReport {
        ended: LoopEnd::MaxDepth,
        model: "m".to_owned(),
        rounds: 10,
        calls: Vec::new(),
        history: vec![ChatMessage::text(ChatRole::Assistant, "4")].into(),
    };
    let whole = response(vec![MessagePart::text("4")], StopReason::End);
    let body = OpenAiResponsesCodec.write_response(&whole, &make_request(), Some(&told));
    assert_eq!(
        body["tollgate"],
        json!({"ended": "max_depth", "model": "m", "rounds": 10, "calls": [],
            "history": [{"role": "assistant", "content": "4"}]})
    );
    let mut writer = OpenAiResponsesCodec.stream_writer(&make_request());
    for step in delta::steps(&whole) {
        writer.write(&step);
    }
    let frames = writer.end(Some(&told));
    let last: Value = serde_json::from_str(&frames[frames.len() - 1].data).unwrap();
    assert_eq!(last["response"], body);
}

#[test]
fn what_both_of_openais_dialects_know_is_carried() {
    let chat = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}],
        "metadata": {"a": "b"}, "service_tier": "flex", "verbosity": "low", "store": false,
        "tools": [{"type": "function", "function": {"name": "f", "strict": true}}]});
    let request = OpenAiChatCodec.read_request(chat, &RequestUrlParams::default()).unwrap();
    let written = OpenAiResponsesCodec.write_request(&request).unwrap();
    assert_eq!(written.body["metadata"], json!({"a": "b"}));
    assert_eq!(written.body["service_tier"], "flex");
    assert_eq!(written.body["tools"][0]["strict"], true);
    assert_eq!(written.body["text"]["verbosity"], "low");
    assert!(written.lost.is_empty(), "{:?}", written.lost);
    let back = OpenAiChatCodec.write_request(&read(written.body)).unwrap();
    assert_eq!(back.body["metadata"], json!({"a": "b"}));
    assert_eq!(back.body["tools"][0]["function"]["strict"], true);
    assert!(back.lost.is_empty(), "{:?}", back.lost);
}
