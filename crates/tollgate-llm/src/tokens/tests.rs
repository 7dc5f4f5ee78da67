use serde_json::json;
use tollgate_core::code_mode::MetaTool;

use super::CountPrecision::{Estimated, Exact};
use super::{
    TOKENS_PER_AUDIO, TOKENS_PER_DOCUMENT, TOKENS_PER_IMAGE, TOKENS_PER_VIDEO, around_tools,
    conversation, estimate, function, message, text, tools,
};
use crate::conversation::{
    CallEnd, CallResult, ChatMedia, ChatMessage, ChatRequest, ChatRole, ChatTool, Function,
    FunctionCall, GenerationOptions, MediaKind, MediaSource, MessagePart, PartContent,
    ResponseDelivery, ToolChoice,
};
use crate::dialect::Dialect;
use crate::extra::Extra;

fn of(content: PartContent) -> u64 {
    message(&ChatMessage::new(ChatRole::User, vec![MessagePart::new(content)]), Exact)
}

fn request(messages: Vec<ChatMessage>) -> ChatRequest {
    ChatRequest {
        model: String::new(),
        messages: messages.into(),
        tools: Vec::new(),
        tool_choice: ToolChoice::Unsaid,
        options: GenerationOptions::default(),
        delivery: ResponseDelivery::Whole,
        extra: Extra::none(),
    }
}

fn weather(description: &str) -> Function {
    Function {
        name: "get_weather".to_owned(),
        description: Some(description.to_owned()),
        parameters: Some(json!({
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Name of the city"}},
            "required": ["city"],
        })),
        extra: Extra::none(),
    }
}

#[test]
fn an_estimate_is_near_for_prose_and_not_far_for_other_scripts() {
    for (message, off) in [
        ("The keeper of the gate asks for a word, and lets nobody pass who does not know it. ", 15),
        ("Der Wächter am Tor fragt nach dem Losungswort und lässt niemanden vorbei. ", 35),
        ("守门人要求说出口令，不知道口令的人一律不得通过。", 35),
        ("Хранитель ворот спрашивает пароль и никого не пропускает без него. ", 40),
    ] {
        let message = message.repeat(20);
        let estimated = estimate(&message);
        let exact = text(&message, Exact);
        let difference = estimated.abs_diff(exact) * 100 / exact;
        assert!(difference <= off, "{estimated} for {exact}: {message:.40}");
    }
    assert_eq!(estimate(""), 0);
    assert_eq!(estimate("a"), 1);
}

#[test]
fn what_is_beyond_a_mebibyte_of_a_request_is_estimated() {
    let text_of = |letter: &&str| ChatMessage::text(ChatRole::User, letter.repeat(400 << 10));
    let count =
        |letters: &[&str]| conversation(&request(letters.iter().map(text_of).collect()), Exact).1;
    let one = count(&["a"]);
    assert!(one < estimate(&"a".repeat(400 << 10)), "counted");
    assert_eq!(count(&["a", "a"]), 2 * one);
    let third = 4 + estimate(&"b".repeat(400 << 10));
    assert_eq!(count(&["a", "a", "b"]), 2 * one + third);
    let described = weather(&"a".repeat(2 << 20));
    let tool = ChatTool::Function(described.clone());
    assert_eq!(tools(&[tool], Exact), function(&described, Estimated));
}

#[test]
fn parts_of_every_kind_count() {
    let media = |kind| {
        let source = MediaSource::Url("https://example.com/x".to_owned());
        of(PartContent::Media(ChatMedia { kind, source, name: None }))
    };
    assert_eq!(of(PartContent::Text("hello world".to_owned())), 4 + 2);
    assert_eq!(of(PartContent::Refusal("hello world".to_owned())), 4 + 2);
    assert_eq!(
        of(PartContent::Thinking { text: "hello world".to_owned(), signature: None }),
        4 + 2
    );
    assert_eq!(media(MediaKind::Image), 4 + TOKENS_PER_IMAGE);
    assert_eq!(media(MediaKind::Audio), 4 + TOKENS_PER_AUDIO);
    assert_eq!(media(MediaKind::Video), 4 + TOKENS_PER_VIDEO);
    assert_eq!(media(MediaKind::Document), 4 + TOKENS_PER_DOCUMENT);
    let call = |arguments: &str| {
        let id = "call_1".to_owned();
        let name = "roll".to_owned();
        of(PartContent::Call(FunctionCall { id, name, arguments: arguments.to_owned() }))
    };
    assert!(call("{\"sides\":20}") > call("{}"));
    let result = |parts| {
        let call_id = "call_1".to_owned();
        let name = None;
        let end = CallEnd::Well;
        of(PartContent::Result(CallResult { call_id, name, parts, end }))
    };
    assert_eq!(result(vec![MessagePart::text("hello world")]), result(Vec::new()) + 2);
    let opaque =
        PartContent::Opaque { dialect: Dialect::Anthropic, value: json!({"x": "y".repeat(42)}) };
    assert_eq!(of(opaque), 4 + 12);
}

#[test]
fn the_system_prompt_is_counted_apart() {
    let request = request(vec![
        ChatMessage::text(ChatRole::System, "hello world"),
        ChatMessage::text(ChatRole::User, "hello world"),
        ChatMessage::text(ChatRole::Developer, "hello world"),
        ChatMessage::text(ChatRole::Assistant, "hello world hello world"),
    ]);
    assert_eq!(conversation(&request, Exact), (12, 14));
}

#[test]
fn tools_count_by_what_they_say() {
    let short = function(&weather("Weather"), Exact);
    let long = function(&weather(&"Weather of a city. ".repeat(40)), Exact);
    assert!(long > short + 100, "{long} {short}");
    assert_eq!(function(&weather("Weather"), Exact), short, "the second time it is remembered");
    let estimated = function(&weather("Weather"), Estimated);
    assert!(estimated.abs_diff(short) * 4 <= short, "{estimated} for {short}");
    let hosted =
        ChatTool::Hosted { dialect: Dialect::Anthropic, value: json!({"type": "web_search"}) };
    let both = [ChatTool::Function(weather("Weather")), hosted];
    assert_eq!(tools(&both, Exact), short + 5);
}

#[test]
fn nothing_stands_around_no_tools() {
    for dialect in Dialect::ALL {
        assert_eq!(around_tools(0, dialect), 0);
        assert!(around_tools(2, dialect) > around_tools(1, dialect));
    }
    assert!(around_tools(1, Dialect::Anthropic) > around_tools(1, Dialect::OpenAiChat));
}

/// They are in every prompt of an agent in code mode.
#[test]
fn the_means_of_code_mode_cost_little() {
    let all = MetaTool::ALL.map(|means| {
        let definition = means.definition();
        let description = definition["description"].as_str().map(str::to_owned);
        let parameters = Some(definition["inputSchema"].clone());
        let name = means.name().to_owned();
        function(&Function { name, description, parameters, extra: Extra::none() }, Exact)
    });
    assert!(all.iter().sum::<u64>() <= 600, "{all:?}");
}
