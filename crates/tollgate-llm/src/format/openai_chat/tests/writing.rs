//! What the dialect says for others: legacy clients, other dialects' providers and clients.

use std::sync::Arc;
use std::time::Duration;

use tollgate_core::call::CallStatus;

use super::*;
use crate::conversation::{
    CallEnd, CallResult, ChatMedia, ChatMessage, ChatRole, ChatTool, FunctionCall, MediaKind,
    MediaSource, MessagePart, ResponseDelivery, StopReason, ThoughtSignature, ToolChoice,
};
use crate::gateway_report::{ExecutedCall, GatewayReport, LoopEnd};

fn chat(fields: Value) -> ChatRequest {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let Value::Object(fields) = fields else { panic!("an object") };
    body.as_object_mut().unwrap().extend(fields);
    read(body)
}

fn messages_of(messages: Vec<ChatMessage>) -> (Value, Vec<String>) {
    let written = OpenAiChatCodec.write_request(&test_fixtures::request(messages)).unwrap();
    (written.body["messages"].clone(), written.lost)
}

#[test]
fn equivalent_spellings_are_read_alike() {
    let stop = chat(json!({"stop": "END"}));
    assert_eq!(stop, chat(json!({"stop": ["END"]})));
    assert_eq!(chat(json!({"stop": null, "tools": null, "stream": null})), make_request());
    let part = |url: Value| json!([{"role": "user", "content": [{"type": "image_url", "image_url": url}]}]);
    let short = chat(json!({"messages": part(json!("https://e.com/a"))}));
    assert_eq!(short, chat(json!({"messages": part(json!({"url": "https://e.com/a"}))})));
    let call = |arguments: Value| {
        let function = json!({"name": "f", "arguments": arguments});
        let calls = json!([{"id": "c", "function": function}]);
        chat(json!({"messages": [{"role": "assistant", "content": "", "tool_calls": calls}]}))
    };
    assert_eq!(call(json!({"a": 1})), call(json!("{\"a\":1}")));
}

#[test]
fn the_limit_keeps_its_name_and_gets_the_one_that_the_model_knows() {
    let limit = |model: &str, fields: Value| {
        let mut request = chat(fields);
        request.model = model.to_owned();
        request.options.max_output = Some(7);
        let body = encode(&request);
        (body["max_tokens"].as_u64(), body["max_completion_tokens"].as_u64())
    };
    assert_eq!(limit("gpt-5.2", json!({})), (None, Some(7)));
    assert_eq!(limit("o3-mini", json!({})), (None, Some(7)));
    assert_eq!(limit("olmo", json!({})), (Some(7), None));
    assert_eq!(limit("mistral-large", json!({})), (Some(7), None));
    assert_eq!(limit("gpt-4o", json!({"max_tokens": 9})), (Some(7), None));
}

#[test]
fn streams_are_asked_for_their_usage_and_others_are_not() {
    let mut request = chat(json!({"stream": true}));
    assert_eq!(encode(&request)["stream_options"], json!({"include_usage": true}));
    request = chat(json!({"stream": true, "stream_options": {"include_usage": false, "x": 1}}));
    assert_eq!(encode(&request)["stream_options"], json!({"include_usage": true, "x": 1}));
    request.delivery = ResponseDelivery::Whole;
    assert_eq!(encode(&request).get("stream_options"), None);
    assert_eq!(encode(&request).get("stream"), None);
}

#[test]
fn tools_of_other_providers_are_refused() {
    let value = json!({"type": "web_search_20250305", "name": "web_search"});
    let tools = vec![ChatTool::Hosted { dialect: Dialect::Anthropic, value }];
    let failure =
        OpenAiChatCodec.write_request(&ChatRequest { tools, ..make_request() }).unwrap_err();
    assert_eq!(failure.at.as_deref(), Some("tools"));
    assert!(failure.message.contains("`web_search_20250305`"), "{}", failure.message);
}

#[test]
fn a_choice_among_some_is_carried_from_responses() {
    let value = json!({"type": "allowed_tools", "mode": "required",
        "tools": [{"type": "function", "name": "roll"}]});
    let tool_choice = ToolChoice::Opaque { dialect: Dialect::OpenAiResponses, value };
    let request = ChatRequest { tool_choice, ..make_request() };
    assert_eq!(
        encode(&request)["tool_choice"],
        json!({"type": "allowed_tools", "allowed_tools": {"mode": "required",
            "tools": [{"type": "function", "function": {"name": "roll"}}]}})
    );
    let value = json!({"type": "mcp", "server_label": "x"});
    let tool_choice = ToolChoice::Opaque { dialect: Dialect::OpenAiResponses, value };
    let lost =
        OpenAiChatCodec.write_request(&ChatRequest { tool_choice, ..make_request() }).unwrap().lost;
    assert_eq!(lost, ["field `tool_choice`"]);
}

#[test]
fn results_come_first_and_their_pictures_behind_them() {
    let image = ChatMedia {
        kind: MediaKind::Image,
        source: MediaSource::Base64 { media_type: "image/png".into(), data: "AA".into() },
        name: None,
    };
    let result = |id: &str, part: MessagePart| {
        MessagePart::new(PartContent::Result(CallResult {
            call_id: id.into(),
            name: None,
            parts: vec![part],
            end: CallEnd::Well,
        }))
    };
    let picture = MessagePart::new(PartContent::Media(image));
    let parts = vec![
        MessagePart::text("look"),
        result("a", picture),
        result("b", MessagePart::text("two")),
    ];
    let (messages, lost) = messages_of(vec![ChatMessage::new(ChatRole::User, parts)]);
    assert_eq!(
        messages,
        json!([
            {"role": "tool", "tool_call_id": "a", "content": "(the result follows as a file)"},
            {"role": "tool", "tool_call_id": "b", "content": "two"},
            {"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]},
            {"role": "user", "content": "look"},
        ])
    );
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn thoughts_of_others_are_left_out_for_providers_and_kept_by_clients() {
    let signature = ThoughtSignature::new(Dialect::Anthropic, "sig");
    let content = PartContent::Thinking { text: "hm".into(), signature: Some(signature) };
    let message = ChatMessage::new(
        ChatRole::Assistant,
        vec![MessagePart::new(content), MessagePart::text("yes")],
    );
    let (messages, lost) = messages_of(vec![message.clone()]);
    assert_eq!(messages, json!([{"role": "assistant", "content": "yes"}]));
    assert_eq!(lost, ["reasoning of another model"]);
    let kept = OpenAiChatCodec.write_history(&[Arc::new(message.clone())]);
    assert_eq!(
        kept,
        json!([{"role": "assistant", "reasoning_content": "hm", "content": "yes",
            "reasoning_details": [{"type": "reasoning.text", "text": "hm",
                "signature": "tollgate:anthropic:sig", "index": 0}]}])
    );
    let again = chat(json!({"messages": kept}));
    assert_eq!(again.messages[0].parts[0].content, message.parts[0].content);
}

#[test]
fn what_has_no_words_here_is_named() {
    let video = ChatMedia {
        kind: MediaKind::Video,
        source: MediaSource::Url("https://e.com/v".into()),
        name: None,
    };
    let foreign = PartContent::Opaque { dialect: Dialect::Gemini, value: json!({"type": "code"}) };
    let cached = MessagePart {
        extra: Extra::new(
            Dialect::Anthropic,
            json!({"cache_control": {"type": "ephemeral"}}).as_object().cloned().unwrap(),
        ),
        ..MessagePart::text("x")
    };
    let parts =
        vec![MessagePart::new(PartContent::Media(video)), MessagePart::new(foreign), cached];
    let (messages, lost) = messages_of(vec![ChatMessage::new(ChatRole::User, parts)]);
    assert_eq!(messages, json!([{"role": "user", "content": "x"}]));
    assert_eq!(
        lost,
        [
            "field `messages[].content[].cache_control`",
            "a video by its address",
            "a part of kind `code` that only gemini has"
        ]
    );
}

#[test]
fn clients_that_know_functions_only_get_functions() {
    let legacy = chat(json!({
        "functions": [{"name": "roll", "parameters": {"type": "object"}}],
        "function_call": {"name": "roll"},
        "messages": [
            {"role": "assistant", "content": null, "function_call": {"name": "roll", "arguments": "{}"}},
            {"role": "function", "name": "roll", "content": "4"},
        ],
    }));
    let body = encode(&legacy);
    assert_eq!(body["tools"][0]["function"]["name"], "roll");
    assert_eq!(body["tool_choice"], json!({"type": "function", "function": {"name": "roll"}}));
    assert_eq!(body["parallel_tool_calls"], false);
    assert_eq!((body.get("functions"), body.get("function_call")), (None, None));
    assert_eq!(body["messages"][0]["tool_calls"][0]["id"], body["messages"][1]["tool_call_id"]);

    let call = FunctionCall { id: "c".into(), name: "roll".into(), arguments: "{}".into() };
    let response = ChatResponse {
        id: "r".into(),
        model: "m".into(),
        created: 1,
        parts: vec![MessagePart::new(PartContent::Call(call))],
        stop: StopReason::Calls,
        usage: crate::conversation::TokenUsage::default(),
        extra: Extra::none(),
    };
    let custom = json!({"id": "c", "type": "custom", "custom": {"name": "x", "input": ""}});
    let custom = PartContent::Opaque { dialect: Dialect::OpenAiChat, value: custom };
    let other = ChatResponse { parts: vec![MessagePart::new(custom)], ..response.clone() };
    let mut writer = OpenAiChatCodec.stream_writer(&legacy);
    for step in delta::steps(&other) {
        let said: String = writer.write(&step).into_iter().map(|frame| frame.data).collect();
        assert!(!said.contains("function_call"), "the old form has no word for it: {said}");
    }
    let choice = &OpenAiChatCodec.write_response(&response, &legacy, None)["choices"][0];
    assert_eq!(choice["finish_reason"], "function_call");
    assert_eq!(choice["message"]["function_call"], json!({"name": "roll", "arguments": "{}"}));
    assert_eq!(choice["message"].get("tool_calls"), None);
    let events = encode_stream(&legacy, &delta::steps(&response));
    assert!(events.iter().all(|(_, data)| !data.contains("tool_calls")));
    let again = test_fixtures::whole(&test_fixtures::steps(&OpenAiChatCodec, &events).unwrap());
    assert_eq!(again.calls().next().map(|call| call.name.as_str()), Some("roll"));
    assert_eq!(again.stop, StopReason::Calls);
}

#[test]
fn what_was_done_is_told_in_the_answer_and_in_the_last_chunk() {
    let told = GatewayReport {
        ended: LoopEnd::Answered,
        model: "m".to_owned(),
        rounds: 2,
        calls: vec![ExecutedCall {
            id: "c".into(),
            name: "roll".into(),
            status: CallStatus::Ok,
            took: Duration::from_millis(3),
        }],
        history: vec![ChatMessage::text(ChatRole::Assistant, "4")].into(),
    };
    let expected = json!({"ended": "answered", "model": "m", "rounds": 2,
        "calls": [{"id": "c", "name": "roll", "status": "ok", "duration_ms": 3}],
        "history": [{"role": "assistant", "content": "4"}]});
    let (_, body) = test_fixtures::json(FOLDER, "response_text").remove(0);
    let response = OpenAiChatCodec.read_response(body).unwrap();
    let whole = OpenAiChatCodec.write_response(&response, &make_request(), Some(&told));
    assert_eq!(whole["tollgate"], expected);

    let mut writer = OpenAiChatCodec.stream_writer(&request_with_usage());
    for step in delta::steps(&response) {
        writer.write(&step);
    }
    let frames = test_fixtures::to_events(&writer.end(Some(&told)));
    assert_eq!(frames.len(), 3);
    let [last, usage] = [0, 1].map(|at| serde_json::from_str::<Value>(&frames[at].1).unwrap());
    assert_eq!(last["tollgate"], expected);
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(usage["usage"]["total_tokens"], 29);
    assert_eq!(frames[2].1, "[DONE]");
}
