use proptest::prelude::*;
use serde_json::json;

use super::super::prepare;
use super::MAX_HELD_BYTES;
use super::call::may_be_call;
use crate::conversation::{
    ChatMessage, ChatRequest, ChatResponse, ChatRole, ChatTool, Function, FunctionCall,
    GenerationOptions, MessagePart, PartContent, ResponseDelivery, ResponseFormat, StopReason,
    TokenUsage, ToolChoice,
};
use crate::delta::{PartOpening, ResponseAssembly, ResponseDelta};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::settings::ToolMode;

fn request() -> ChatRequest {
    let tool = |name: &str| {
        ChatTool::Function(Function {
            name: name.to_owned(),
            description: None,
            parameters: None,
            extra: Extra::none(),
        })
    };
    ChatRequest {
        model: String::new(),
        messages: vec![ChatMessage::text(ChatRole::User, "Roll the dice")].into(),
        tools: vec![tool("roll"), tool("search")],
        tool_choice: ToolChoice::Auto,
        options: GenerationOptions::default(),
        delivery: ResponseDelivery::Streamed,
        extra: Extra::none(),
    }
}

/// The steps of an answer that is this text in these pieces.
fn answer(pieces: &[&str]) -> Vec<ResponseDelta> {
    let id = "a1".to_owned();
    let model = "m".to_owned();
    let mut steps = vec![ResponseDelta::Start { id, model, created: 0, extra: Extra::none() }];
    steps.push(ResponseDelta::Open { index: 0, opening: PartOpening::Text, extra: Extra::none() });
    steps.extend(pieces.iter().map(|text| ResponseDelta::Grow {
        index: 0,
        text: (*text).to_owned(),
        extra: Extra::none(),
    }));
    steps.push(ResponseDelta::Close { index: 0 });
    steps.push(ResponseDelta::End {
        stop: StopReason::End,
        usage: TokenUsage::default(),
        extra: Extra::none(),
    });
    steps
}

fn read(steps: Vec<ResponseDelta>) -> ChatResponse {
    let (_, mut reading) = prepare(request(), ToolMode::Auto);
    let mut assembly = ResponseAssembly::default();
    for step in steps {
        reading.read(step).iter().for_each(|step| assembly.add(step));
    }
    assembly.finish().expect("it ended")
}

/// Text in quotes, calls as `name arguments`, in their order.
fn render(response: &ChatResponse) -> String {
    let parts = response.parts.iter().map(|part| match &part.content {
        PartContent::Text(text) => format!("{text:?}"),
        PartContent::Call(FunctionCall { name, arguments, .. }) => format!("{name} {arguments}"),
        other => format!("{other:?}"),
    });
    parts.collect::<Vec<_>>().join(" | ")
}

/// Whole, and letter by letter.
fn check(text: &str, expected: &str) {
    let whole = read(answer(&[text]));
    assert_eq!(render(&whole), expected, "{text}");
    let calls = whole.calls().count() > 0;
    assert_eq!(whole.stop, if calls { StopReason::Calls } else { StopReason::End }, "{text}");
    let letters: Vec<String> = text.chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    assert_eq!(read(answer(&letters)), whole, "{text}, letter by letter");
}

#[test]
fn a_call_that_was_written_as_text_is_a_call() {
    let roll = r#"roll {"sides":6}"#;
    for text in [
        r#"{"name": "roll", "arguments": {"sides": 6}}"#,
        r#"{"name": "roll", "parameters": {"sides": 6}}"#,
        r#"{"arguments": {"sides": 6}, "name": "roll"}"#,
        r#"{"type": "function", "function": {"name": "roll", "arguments": {"sides": 6}}}"#,
        r#"{"id": "x", "name": "roll", "arguments": {"sides": 6}}"#,
        r#"[{"name": "roll", "arguments": {"sides": 6}}]"#,
        "\n\n  {\"name\": \"roll\",\n \"arguments\": {\n\"sides\": 6\n}\n}\n\n",
        "```json\n{\"name\": \"roll\", \"arguments\": {\"sides\": 6}}\n```",
        "```\n{\"name\": \"roll\", \"arguments\": {\"sides\": 6}}\n```\n",
        "```json {\"name\": \"roll\", \"arguments\": {\"sides\": 6}}```",
        "```tool_call\n{\"name\": \"roll\", \"arguments\": {\"sides\": 6}}",
        "<tool_call>\n{\"name\": \"roll\", \"arguments\": {\"sides\": 6}}\n</tool_call>",
        "<tool_call>{\"name\": \"roll\", \"arguments\": {\"sides\": 6}}",
        "<tool_call>{\"name\": \"roll\", \"arguments\": {\"sides\": 6}}</tool_",
    ] {
        check(text, roll);
    }
    check(r#"{"name": "roll", "arguments": null}"#, "roll {}");
    check(r#"{"name": "roll", "arguments": "{\"sides\":6}"}"#, roll);
    check(r#"{"name": "roll", "arguments": {"text": "}]```\"</tool_call>"}}"#, {
        r#"roll {"text":"}]```\"</tool_call>"}"#
    });
}

#[test]
fn what_stands_around_a_call_is_text() {
    check(
        "I will roll.\n\n{\"name\": \"roll\", \"arguments\": {}}\n\nDone.",
        r#""I will roll." | roll {} | "\nDone.""#,
    );
    check(
        "Rolling <tool_call>{\"name\": \"roll\", \"arguments\": {}}</tool_call> now",
        r#""Rolling " | roll {} | " now""#,
    );
    check(
        "Sure:\n```json\n{\"name\": \"search\", \"arguments\": {\"q\": \"a\"}}\n```\nand",
        r#""Sure:" | search {"q":"a"} | "\nand""#,
    );
}

#[test]
fn several_calls_are_several_calls() {
    let two = "roll {} | search {}";
    let one = r#"{"name": "roll", "arguments": {}}"#;
    let other = r#"{"name": "search", "arguments": {}}"#;
    check(&format!("{one}\n{other}"), two);
    check(&format!("[{one}, {other}]"), two);
    check(&format!("```json\n[{one},\n{other}]\n```"), two);
    check(&format!("```json\n{one}\n{other}\n```"), two);
    check(&format!("```json\n{one},\n{other}\n```"), two);
    check(&format!("<tool_call>{one}</tool_call>\n<tool_call>{other}</tool_call>"), two);
    let response = read(answer(&[&format!("[{one}, {one}]")]));
    let ids: Vec<&str> = response.calls().map(|call| call.id.as_str()).collect();
    assert_ne!(ids[0], ids[1]);
}

/// B-CH-6, B-CH-7: what only looks like a call.
#[test]
fn b_ch_06_everything_else_stays_the_text_it_is() {
    for text in [
        "",
        "\n",
        "Hello there.\n\nHow are you?\n",
        r#"{"name": "delete", "arguments": {}}"#,
        r#"{"name": "Roll", "arguments": {}}"#,
        r#"{"name": "roll"}"#,
        r#"{"name": "roll", "arguments": [1]}"#,
        r#"{"name": "roll", "arguments": "six"}"#,
        r#"{"name": "roll", "arguments": {"sides": 6}"#,
        r#"{"name": "roll", "arguments": {"sides": 6,}}"#,
        r#"{'name': 'roll', 'arguments': {}}"#,
        r#"{"name": "roll", "arguments": {}} is how you call it"#,
        r#"Call {"name": "roll", "arguments": {}}"#,
        "[{\"name\": \"roll\", \"arguments\": {}}, {\"name\": \"delete\", \"arguments\": {}}]",
        "[]",
        "{}",
        "[link](https://example.com)\ntext",
        "```python\n{\"name\": \"roll\", \"arguments\": {}}\n```\nThat was it.",
        "{\"items\": [\n{\"name\": \"roll\", \"arguments\": {}}\n]}",
        "```json\n{\"items\": [\n{\"name\": \"roll\", \"arguments\": {}}\n]}\n```",
        "```json\n{\"name\": \"roll\", \"arguments\": {}} and more\n```",
        "`roll`\n``x``\n```",
        "a < b <tool> <tool_call>no</tool_call>",
        "<tool_call",
        "{ unclosed\n{\"name\": \"roll\", \"arguments\": {}}",
    ] {
        check(text, &format!("{text:?}"));
    }
}

#[test]
fn nothing_is_looked_for_where_nothing_may_be_called() {
    let text = r#"{"name": "roll", "arguments": {}}"#;
    let plain = |change: &dyn Fn(&mut ChatRequest)| {
        let mut request = request();
        change(&mut request);
        let (same, reading) = prepare(request.clone(), ToolMode::Auto);
        assert_eq!(same, request);
        let response = read_native(text);
        assert_eq!(reading.whole(response.clone()), response);
    };
    plain(&|request| request.tool_choice = ToolChoice::None);
    plain(&|request| request.tools.clear());
    plain(&|request| request.options.output = Some(ResponseFormat::Json));
    let (_, native) = prepare(request(), ToolMode::Native);
    assert_eq!(native.whole(read_native(text)), read_native(text));
}

fn read_native(text: &str) -> ChatResponse {
    ChatResponse {
        id: "a1".to_owned(),
        model: "m".to_owned(),
        created: 0,
        parts: vec![MessagePart::text(text)],
        stop: StopReason::End,
        usage: TokenUsage::default(),
        extra: Extra::none(),
    }
}

#[test]
fn what_cannot_be_a_call_is_not_held_back() {
    let (_, mut reading) = prepare(request(), ToolMode::Auto);
    let open = ResponseDelta::Open { index: 0, opening: PartOpening::Text, extra: Extra::none() };
    reading.read(open);
    let mut given = |text: &str| {
        let delta = ResponseDelta::Grow { index: 0, text: text.to_owned(), extra: Extra::none() };
        let text = reading.read(delta).into_iter().filter_map(|step| match step {
            ResponseDelta::Grow { text, .. } => Some(text),
            _ => None,
        });
        text.collect::<String>()
    };
    for (text, expected) in [
        ("Hello", "Hello"),
        (" there <b", " there <b"),
        ("old>\n", "old>"),
        ("\n", ""),
        ("x", "\n\nx"),
        ("\n{\"it", "\n{\"it"),
        ("ems\": 1}\n", "ems\": 1}"),
        ("{\"na", ""),
        ("me\": \"roll\"", ""),
    ] {
        assert_eq!(given(text), expected.to_owned(), "{text:?}");
    }
    let long = given(&"x".repeat(MAX_HELD_BYTES + 1));
    assert!(long.starts_with("\n{\"name\": \"roll\"xxx"), "never much");
}

#[test]
fn what_was_said_beside_the_text_stays_beside_it() {
    let extra = |value: u64| {
        let fields = json!({"logprobs": value}).as_object().unwrap().clone();
        Extra::new(Dialect::OpenAiChat, fields)
    };
    let (_, mut reading) = prepare(request(), ToolMode::Auto);
    let open = ResponseDelta::Open { index: 3, opening: PartOpening::Text, extra: extra(1) };
    assert!(reading.read(open).is_empty());
    let grow = |text: &str, value| ResponseDelta::Grow {
        index: 3,
        text: text.to_owned(),
        extra: extra(value),
    };
    assert!(reading.read(grow("{\"name\"", 2)).is_empty());
    assert!(reading.read(grow(": ", 3)).is_empty());
    assert!(reading.read(ResponseDelta::Extra { index: 3, extra: extra(4) }).is_empty());
    let given = reading.read(grow("7}x", 5));
    let text = |text: &str, extra| ResponseDelta::Grow { index: 0, text: text.to_owned(), extra };
    assert_eq!(
        given,
        [
            ResponseDelta::Open { index: 0, opening: PartOpening::Text, extra: extra(4) },
            text("{\"name\"", extra(2)),
            text(": ", extra(3)),
            text("7}x", extra(5)),
        ]
    );
    let later = ResponseDelta::Extra { index: 3, extra: extra(6) };
    assert_eq!(reading.read(later), [ResponseDelta::Extra { index: 0, extra: extra(6) }]);
    assert_eq!(
        reading.read(ResponseDelta::Close { index: 3 }),
        [ResponseDelta::Close { index: 0 }]
    );
}

#[test]
fn parts_of_other_kinds_pass_and_are_counted_on() {
    let mut steps = answer(&["{\"name\": \"roll\", \"arguments\": {}}"]);
    let end = steps.pop().unwrap();
    let call = PartOpening::Call { id: "native".to_owned(), name: "search".to_owned() };
    steps.push(ResponseDelta::Open { index: 1, opening: call, extra: Extra::none() });
    steps.push(ResponseDelta::Grow { index: 1, text: "{}".to_owned(), extra: Extra::none() });
    steps.push(ResponseDelta::Close { index: 1 });
    steps.insert(
        1,
        ResponseDelta::Open { index: 9, opening: PartOpening::Thinking, extra: Extra::none() },
    );
    steps.insert(2, ResponseDelta::Close { index: 9 });
    steps.push(end);
    let read = read(steps);
    assert_eq!(read.parts.len(), 3);
    assert!(matches!(read.parts[0].content, PartContent::Thinking { .. }));
    assert_eq!(read.calls().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["roll", "search"]);
    assert_eq!(read.calls().nth(1).unwrap().id, "native");
}

#[test]
fn the_first_key_tells_early() {
    for (begun, expected) in [
        ("{", true),
        ("{ \"", true),
        ("{\"na", true),
        ("{\"name\"", true),
        ("[{\"function\": {", true),
        ("{\"x", false),
        ("{\"names\"", false),
        ("[1", false),
        ("{x", false),
    ] {
        assert_eq!(may_be_call(begun), expected, "{begun}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// However it is cut, it comes to the same; and what holds no call is not changed.
    #[test]
    fn pieces_come_to_the_same_as_the_whole(
        text in r#"(\{"name": "(roll|x)", "arguments": \{\}\}|```|json|\n|[a-z ]{0,5}|<tool_call>|</tool_call>|[\[\]{},"]){0,12}"#,
        cuts in proptest::collection::vec(0_usize..200, 0..6),
    ) {
        let whole = read(answer(&[&text]));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts.into_iter().chain([text.len()]) {
            pieces.push(&text[from..cut]);
            from = cut;
        }
        prop_assert_eq!(&read(answer(&pieces)), &whole);
        if whole.calls().count() == 0 {
            prop_assert_eq!(whole.text(), text);
        }
    }
}
