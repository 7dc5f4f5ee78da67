//! Requests that come from other dialects, as Anthropic takes them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::AnthropicCodec;
use crate::conversation::{
    CallEnd, CallResult, ChatMedia, ChatMessage, ChatRequest, ChatRole, ChatTool, Function,
    FunctionCall, GenerationOptions, MediaKind, MediaSource, MessagePart, ParallelCalls,
    PartContent, ResponseFormat, ThoughtSignature, ToolChoice,
};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::format::{DialectCodec, test_fixtures};

fn write(request: &ChatRequest) -> (Value, Vec<String>) {
    let written = AnthropicCodec.write_request(request).unwrap();
    (written.body, written.lost)
}

fn messages(messages: Vec<ChatMessage>) -> Value {
    write(&test_fixtures::request(messages)).0
}

fn text(role: ChatRole, text: &str) -> ChatMessage {
    ChatMessage::text(role, text)
}

fn call(id: &str, arguments: &str) -> MessagePart {
    let id = id.to_owned();
    let name = "t".to_owned();
    let arguments = arguments.to_owned();
    MessagePart::new(PartContent::Call(FunctionCall { id, name, arguments }))
}

fn result(id: &str, text: &str) -> MessagePart {
    let parts = vec![MessagePart::text(text)];
    let call_id = id.to_owned();
    MessagePart::new(PartContent::Result(CallResult {
        call_id,
        name: None,
        parts,
        end: CallEnd::Well,
    }))
}

fn refusal_of(request: &ChatRequest) -> String {
    AnthropicCodec.write_request(request).unwrap_err().message
}

#[test]
fn leading_system_messages_go_to_the_front_in_order() {
    let body = messages(vec![
        text(ChatRole::System, "one"),
        text(ChatRole::Developer, "two"),
        text(ChatRole::User, "hi"),
    ]);
    let blocks = json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]);
    assert_eq!(body["system"], blocks);
    assert_eq!(body["messages"], json!([{"role": "user", "content": "hi"}]));
}

#[test]
fn later_system_messages_stand_behind_a_turn_of_the_user() {
    let body = messages(vec![
        text(ChatRole::User, "a"),
        text(ChatRole::Assistant, "b"),
        text(ChatRole::System, "now in German"),
        text(ChatRole::User, "c"),
        text(ChatRole::Assistant, "d"),
        text(ChatRole::User, "e"),
        text(ChatRole::System, "short"),
    ]);
    let roles: Vec<_> = body["messages"].as_array().unwrap().iter().map(|it| &it["role"]).collect();
    let expected = ["user", "assistant", "user", "system", "assistant", "user", "system"];
    assert_eq!(roles, expected);
    let request = test_fixtures::request(vec![
        text(ChatRole::User, "a"),
        text(ChatRole::Assistant, "b"),
        text(ChatRole::System, "go on"),
    ]);
    let (body, lost) = write(&request);
    assert_eq!(body["messages"][2], json!({"role": "user", "content": "go on"}));
    assert_eq!(lost.len(), 1);
}

#[test]
fn messages_of_one_role_become_one_and_results_come_first_in_the_order_of_calls() {
    let body = messages(vec![
        text(ChatRole::User, "a"),
        text(ChatRole::User, "b"),
        ChatMessage::new(ChatRole::Assistant, vec![MessagePart::text(""), call("1", "{}")]),
        ChatMessage::new(ChatRole::Assistant, vec![call("2", "")]),
        text(ChatRole::User, "meanwhile"),
        ChatMessage::new(ChatRole::User, vec![result("2", "two")]),
        ChatMessage::new(ChatRole::User, vec![result("1", "one")]),
    ]);
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "1", "name": "t", "input": {}},
            {"type": "tool_use", "id": "2", "name": "t", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "1", "content": "one"},
            {"type": "tool_result", "tool_use_id": "2", "content": "two"},
            {"type": "text", "text": "meanwhile"},
        ]},
    ]);
    assert_eq!(body["messages"], expected);
}

#[test]
fn b_ch_02_results_that_do_not_fit_are_refused() {
    let ask = |parts: Vec<MessagePart>| {
        let asked = ChatMessage::new(ChatRole::Assistant, vec![call("1", "{}")]);
        test_fixtures::request(vec![asked, ChatMessage::new(ChatRole::User, parts)])
    };
    assert!(refusal_of(&ask(vec![result("1", "a"), result("1", "b")])).contains("already"));
    assert!(refusal_of(&ask(vec![result("2", "a")])).contains("`2`"));
    assert!(refusal_of(&ask(vec![MessagePart::text("so?")])).contains("no result"));
    let open = vec![
        text(ChatRole::User, "a"),
        ChatMessage::new(ChatRole::Assistant, vec![call("1", "{}")]),
    ];
    assert!(refusal_of(&test_fixtures::request(open)).contains("no result"));
    assert!(
        refusal_of(&test_fixtures::request(vec![text(ChatRole::System, "a")])).contains("nothing")
    );
}

#[test]
fn b_ch_06_arguments_that_are_no_object_are_sent_as_text() {
    for arguments in ["not json", "{'a': 1}", "[1]", "{\"a\":", "{\"a\": NaN}", &"[".repeat(1000)] {
        let answer = ChatMessage::new(ChatRole::Assistant, vec![call("1", arguments)]);
        let result = ChatMessage::new(ChatRole::User, vec![result("1", "no")]);
        let (body, lost) = write(&test_fixtures::request(vec![answer, result]));
        assert_eq!(body["messages"][0]["content"][0]["input"], json!({"arguments": arguments}));
        assert_eq!(lost.len(), 1, "{lost:?}");
    }
}

#[test]
fn ids_of_other_dialects_are_written_in_letters_that_anthropic_takes() {
    let answer =
        ChatMessage::new(ChatRole::Assistant, vec![call("functions.t:0", "{}"), call("a b", "{}")]);
    let results = vec![result("a b", "two"), result("functions.t:0", "one")];
    let body = messages(vec![answer, ChatMessage::new(ChatRole::User, results)]);
    let content = |message: usize| body["messages"][message]["content"].as_array().unwrap().clone();
    for (call, result) in content(0).iter().zip(content(1)) {
        let id = call["id"].as_str().unwrap();
        assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{id}");
        assert_eq!(result["tool_use_id"], id);
    }
}

#[test]
fn only_thoughts_that_anthropic_signed_are_sent_to_it() {
    let thought = |maker| {
        let signature = Some(ThoughtSignature::new(maker, "sig"));
        MessagePart::new(PartContent::Thinking { text: "hm".to_owned(), signature })
    };
    let unsigned =
        MessagePart::new(PartContent::Thinking { text: "hm".to_owned(), signature: None });
    let parts = vec![
        thought(Dialect::Anthropic),
        thought(Dialect::Gemini),
        unsigned,
        MessagePart::text("a"),
    ];
    let answer = ChatMessage::new(ChatRole::Assistant, parts);
    let request = test_fixtures::request(vec![
        text(ChatRole::User, "x"),
        answer.clone(),
        text(ChatRole::User, "y"),
    ]);
    let (body, lost) = write(&request);
    assert_eq!(body["messages"][1]["content"].as_array().unwrap().len(), 2);
    assert_eq!(lost, ["reasoning without Anthropic's signature"]);
    let kept = AnthropicCodec.write_history(&[Arc::new(answer.clone())]);
    assert_eq!(kept[0]["content"][1]["signature"], "tollgate:gemini:sig");
    let body = json!({"model": "m", "max_tokens": 1, "messages": kept});
    assert_eq!(super::read(body).messages, vec![answer].into());
}

#[test]
fn what_anthropic_has_no_word_for_is_named() {
    let mut request = test_fixtures::request(vec![text(ChatRole::User, "x")]);
    request.options = GenerationOptions {
        temperature: serde_json::Number::from_f64(1.4),
        seed: Some(7.into()),
        presence_penalty: Some(1.into()),
        frequency_penalty: Some(1.into()),
        candidates: Some(3),
        effort: Some("low".to_owned()),
        output: Some(ResponseFormat::Json),
        top_k: serde_json::Number::from_f64(40.0),
        parallel_calls: Some(ParallelCalls::Forbidden),
        ..GenerationOptions::default()
    };
    request.tool_choice = ToolChoice::Required;
    let (body, lost) = write(&request);
    assert_eq!(lost.len(), 7, "{lost:?}");
    assert_eq!(body["max_tokens"], 4096);
    assert_eq!(body["temperature"], 1);
    assert_eq!(body["top_k"], 40);
    assert_eq!(body["output_config"], json!({"effort": "low"}));
    assert_eq!(body.get("tool_choice"), None);
}

#[test]
fn tools_and_choices_are_written_as_anthropic_takes_them() {
    let mut request = test_fixtures::request(vec![text(ChatRole::User, "x")]);
    request.tools = vec![ChatTool::Function(Function {
        name: "t".to_owned(),
        description: None,
        parameters: None,
        extra: Extra::none(),
    })];
    request.options.parallel_calls = Some(ParallelCalls::Forbidden);
    for (choice, expected) in [
        (ToolChoice::Unsaid, json!({"type": "auto", "disable_parallel_tool_use": true})),
        (ToolChoice::Required, json!({"type": "any", "disable_parallel_tool_use": true})),
        (ToolChoice::None, json!({"type": "none"})),
        (
            ToolChoice::Named("t".to_owned()),
            json!({"type": "tool", "name": "t", "disable_parallel_tool_use": true}),
        ),
    ] {
        request.tool_choice = choice;
        let (body, _) = write(&request);
        assert_eq!(body["tool_choice"], expected);
        assert_eq!(body["tools"], json!([{"name": "t", "input_schema": {"type": "object"}}]));
    }
    let value = json!({"google_search": {}});
    request.tools.push(ChatTool::Hosted { dialect: Dialect::Gemini, value });
    assert!(refusal_of(&request).contains("`tools[1]` is run only by providers of the gemini API"));
}

#[test]
fn media_that_anthropic_does_not_take_is_refused() {
    let media = |kind, media_type: &str, data: &str| {
        let media_type = media_type.to_owned();
        let data = data.to_owned();
        let source = MediaSource::Base64 { media_type, data };
        let part = MessagePart::new(PartContent::Media(ChatMedia { kind, source, name: None }));
        test_fixtures::request(vec![ChatMessage::new(ChatRole::User, vec![part])])
    };
    assert!(
        refusal_of(&media(MediaKind::Audio, "audio/wav", "AA==")).contains("does not accept audio")
    );
    assert!(
        refusal_of(&media(MediaKind::Video, "video/mp4", "AA==")).contains("does not accept video")
    );
    let table = media(MediaKind::Document, "application/vnd.ms-excel", "AA==");
    assert!(refusal_of(&table).contains("vnd.ms-excel"));
    assert!(refusal_of(&media(MediaKind::Document, "text/plain", "%")).contains("not base64 text"));
    let (body, _) = write(&media(MediaKind::Document, "text/markdown", "aGk="));
    let source = &body["messages"][0]["content"][0]["source"];
    assert_eq!(*source, json!({"type": "text", "media_type": "text/plain", "data": "hi"}));
}

/// Another model made the calls, so there is no thought that the turn could begin with.
#[test]
fn a_turn_that_another_model_began_goes_on_without_thinking() {
    let thought = |maker| {
        let signature = Some(ThoughtSignature::new(maker, "sig"));
        MessagePart::new(PartContent::Thinking { text: "hm".to_owned(), signature })
    };
    let sent = |maker, kind: &str, calls: Vec<MessagePart>| {
        let answered: Vec<MessagePart> =
            calls.iter().filter_map(MessagePart::as_call).map(|it| result(&it.id, "4")).collect();
        let answer = [vec![thought(maker)], calls].concat();
        let mut request = test_fixtures::request(vec![
            text(ChatRole::User, "x"),
            ChatMessage::new(ChatRole::Assistant, answer),
            if answered.is_empty() {
                text(ChatRole::User, "y")
            } else {
                ChatMessage::new(ChatRole::User, answered)
            },
        ]);
        let thinking = json!({"thinking": {"type": kind, "budget_tokens": 1024}});
        request.extra = Extra::new(Dialect::Anthropic, thinking.as_object().unwrap().clone());
        let (body, lost) = write(&request);
        let is_named = lost.iter().any(|it| it.contains("`thinking`"));
        assert_eq!(is_named, body.get("thinking").is_none());
        body.get("thinking").is_some()
    };
    let calls = || vec![call("a", "{}")];
    assert!(!sent(Dialect::Gemini, "enabled", calls()));
    assert!(sent(Dialect::Anthropic, "enabled", calls()), "its own turn");
    assert!(sent(Dialect::Gemini, "adaptive", calls()), "it need not begin with a thought");
    assert!(sent(Dialect::Gemini, "enabled", vec![MessagePart::text("a")]), "no call waits");
}
