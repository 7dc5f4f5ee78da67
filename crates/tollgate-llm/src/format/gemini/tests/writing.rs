//! Requests that come from other dialects, as Gemini takes them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::GeminiCodec;
use crate::conversation::{
    CallEnd, CallResult, ChatMedia, ChatMessage, ChatRequest, ChatRole, ChatTool, Function,
    FunctionCall, GenerationOptions, MediaKind, MediaSource, MessagePart, ParallelCalls,
    PartContent, ResponseFormat, ThoughtSignature, ToolChoice,
};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::format::{DialectCodec, test_fixtures};

fn write(request: &ChatRequest) -> (Value, Vec<String>) {
    let written = GeminiCodec.write_request(request).unwrap();
    (written.body, written.lost)
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

fn result(id: &str, text: &str, end: CallEnd) -> MessagePart {
    let call_id = id.to_owned();
    let name = Some("t".to_owned());
    let parts = vec![MessagePart::text(text)];
    MessagePart::new(PartContent::Result(CallResult { call_id, name, parts, end }))
}

fn refusal_of(request: &ChatRequest) -> String {
    GeminiCodec.write_request(request).unwrap_err().message
}

#[test]
fn system_messages_stand_before_all_others() {
    let request = test_fixtures::request(vec![
        text(ChatRole::System, "one"),
        text(ChatRole::User, "hi"),
        text(ChatRole::Developer, "two"),
        text(ChatRole::User, "there"),
    ]);
    let (body, lost) = write(&request);
    assert_eq!(body["systemInstruction"], json!({"parts": [{"text": "one"}, {"text": "two"}]}));
    assert_eq!(
        body["contents"],
        json!([{"role": "user", "parts": [{"text": "hi"}, {"text": "there"}]}])
    );
    assert_eq!(lost.len(), 1, "{lost:?}");
}

#[test]
fn results_come_first_in_the_order_of_calls() {
    let request = test_fixtures::request(vec![
        ChatMessage::new(
            ChatRole::Assistant,
            vec![MessagePart::text(""), call("a", "{}"), call("call_1", "")],
        ),
        text(ChatRole::User, "meanwhile"),
        ChatMessage::new(ChatRole::User, vec![result("call_1", "{\"x\":1}", CallEnd::Well)]),
        ChatMessage::new(ChatRole::User, vec![result("a", "broken", CallEnd::Failed)]),
    ]);
    let expected = json!([
        {"role": "model", "parts": [
            {"functionCall": {"name": "t", "args": {}, "id": "a"}},
            {"functionCall": {"name": "t", "args": {}}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "t", "response": {"error": "broken"}, "id": "a"}},
            {"functionResponse": {"name": "t", "response": {"x": 1}}},
            {"text": "meanwhile"},
        ]},
    ]);
    assert_eq!(write(&request).0["contents"], expected);
}

#[test]
fn b_ch_02_results_that_do_not_fit_are_refused() {
    let ask = |parts: Vec<MessagePart>| {
        let asked = ChatMessage::new(ChatRole::Assistant, vec![call("a", "{}")]);
        test_fixtures::request(vec![asked, ChatMessage::new(ChatRole::User, parts)])
    };
    let well = |id: &str| result(id, "x", CallEnd::Well);
    assert!(refusal_of(&ask(vec![well("a"), well("a")])).contains("already"));
    assert!(refusal_of(&ask(vec![well("b")])).contains("`b`"));
    assert!(refusal_of(&ask(vec![MessagePart::text("so?")])).contains("no result"));
    let open = vec![
        text(ChatRole::User, "x"),
        ChatMessage::new(ChatRole::Assistant, vec![call("a", "{}")]),
    ];
    assert!(refusal_of(&test_fixtures::request(open)).contains("no result"));
    assert!(
        refusal_of(&test_fixtures::request(vec![text(ChatRole::System, "x")])).contains("nothing")
    );
}

#[test]
fn b_ch_06_arguments_that_are_no_object_are_sent_as_text() {
    for arguments in ["not json", "{'a': 1}", "[1]", "{\"a\":"] {
        let answer = ChatMessage::new(ChatRole::Assistant, vec![call("a", arguments)]);
        let result = ChatMessage::new(ChatRole::User, vec![result("a", "no", CallEnd::Failed)]);
        let (body, lost) = write(&test_fixtures::request(vec![answer, result]));
        let args = &body["contents"][0]["parts"][0]["functionCall"]["args"];
        assert_eq!(*args, json!({"arguments": arguments}));
        assert_eq!(lost.len(), 1, "{lost:?}");
    }
}

#[test]
fn signatures_go_back_to_the_part_that_they_stood_on() {
    let signed = |maker| {
        let signature = Some(ThoughtSignature::new(maker, "CiQB"));
        MessagePart::new(PartContent::Thinking { text: String::new(), signature })
    };
    let results = ChatMessage::new(ChatRole::User, vec![result("a", "x", CallEnd::Well)]);
    let ask = |maker, model: &str| {
        let answer = ChatMessage::new(ChatRole::Assistant, vec![signed(maker), call("a", "{}")]);
        let mut request = test_fixtures::request(vec![answer, results.clone()]);
        request.model = model.to_owned();
        let (body, lost) = write(&request);
        (body["contents"][0]["parts"][0]["thoughtSignature"].clone(), lost.len())
    };
    assert_eq!(ask(Dialect::Gemini, "gemini-3.8-flash"), (json!("CiQB"), 0));
    assert_eq!(ask(Dialect::Gemini, "gemini-2.5-flash"), (json!("CiQB"), 0));
    let excused = json!("skip_thought_signature_validator");
    assert_eq!(ask(Dialect::Anthropic, "gemini-3.8-flash"), (excused, 1));
    assert_eq!(ask(Dialect::Anthropic, "gemini-2.5-flash"), (Value::Null, 1));
}

#[test]
fn clients_keep_the_signatures_of_others_in_bytes() {
    let signature = Some(ThoughtSignature::new(Dialect::Anthropic, "Eq:+/"));
    let thought = MessagePart::new(PartContent::Thinking { text: "hm".to_owned(), signature });
    let answer = ChatMessage::new(ChatRole::Assistant, vec![thought, MessagePart::text("a")]);
    let kept = GeminiCodec.write_history(&[Arc::new(answer.clone())]);
    let packed = kept[0]["parts"][0]["thoughtSignature"].as_str().unwrap();
    assert!(
        packed.bytes().all(|it| it.is_ascii_alphanumeric() || b"+/=".contains(&it)),
        "{packed}"
    );
    assert_eq!(super::read(json!({"contents": kept})).messages, vec![answer].into());
}

#[test]
fn what_gemini_has_no_word_for_is_named() {
    let mut request = test_fixtures::request(vec![text(ChatRole::User, "x")]);
    request.options = GenerationOptions {
        parallel_calls: Some(ParallelCalls::Forbidden),
        user: Some("me".to_owned()),
        effort: Some("high".to_owned()),
        output: Some(ResponseFormat::Json),
        ..GenerationOptions::default()
    };
    request.tool_choice = ToolChoice::Required;
    request.model = "gemini-2.5-pro".to_owned();
    let (body, lost) = write(&request);
    assert_eq!(lost.len(), 3, "{lost:?}");
    let config = json!({
        "responseMimeType": "application/json",
        "thinkingConfig": {"thinkingBudget": 24_576},
    });
    assert_eq!(body["generationConfig"], config);
    assert_eq!(body.get("toolConfig"), None);
}

#[test]
fn functions_carry_their_json_schema() {
    let mut request = test_fixtures::request(vec![text(ChatRole::User, "x")]);
    let schema = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}});
    request.tools = vec![ChatTool::Function(Function {
        name: "t".to_owned(),
        description: Some("does".to_owned()),
        parameters: Some(schema.clone()),
        extra: Extra::none(),
    })];
    for (choice, expected) in [
        (ToolChoice::Auto, json!({"mode": "AUTO"})),
        (ToolChoice::None, json!({"mode": "NONE"})),
        (ToolChoice::Required, json!({"mode": "ANY"})),
        (ToolChoice::Named("t".to_owned()), json!({"mode": "ANY", "allowedFunctionNames": ["t"]})),
    ] {
        request.tool_choice = choice;
        let (body, _) = write(&request);
        assert_eq!(body["toolConfig"]["functionCallingConfig"], expected);
        let declared = json!({"name": "t", "description": "does", "parametersJsonSchema": schema});
        assert_eq!(body["tools"], json!([{"functionDeclarations": [declared]}]));
    }
    let value = json!({"type": "web_search_20260209", "name": "web_search"});
    request.tools.push(ChatTool::Hosted { dialect: Dialect::Anthropic, value });
    assert!(
        refusal_of(&request).contains("`tools[1]` is run only by providers of the anthropic API")
    );
}

#[test]
fn media_says_what_it_is() {
    let media = |kind, source| {
        let part = MessagePart::new(PartContent::Media(ChatMedia {
            kind,
            source,
            name: Some("n".to_owned()),
        }));
        test_fixtures::request(vec![ChatMessage::new(ChatRole::User, vec![part])])
    };
    let url = |url: &str| MediaSource::Url(url.to_owned());
    for (kind, address, expected) in [
        (MediaKind::Image, "https://example.com/a.png?x=1", "image/png"),
        (MediaKind::Image, "https://example.com/a", "image/jpeg"),
        (MediaKind::Document, "https://example.com/a", "application/pdf"),
    ] {
        let (body, _) = write(&media(kind, url(address)));
        let data = json!({"fileUri": address, "mimeType": expected});
        assert_eq!(body["contents"][0]["parts"][0], json!({"fileData": data}));
    }
    let kept = MediaSource::File("file_011CNha8".to_owned());
    assert!(refusal_of(&media(MediaKind::Image, kept)).contains("another provider"));
}
