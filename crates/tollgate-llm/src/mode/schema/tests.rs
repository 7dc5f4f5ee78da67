use proptest::prelude::*;
use serde_json::{Value, json};
use tollgate_core::schema::Schema;

use super::super::{ToolModeDecoder, prepare};
use crate::conversation::{
    CallEnd, CallResult, ChatMessage, ChatRequest, ChatResponse, ChatRole, ChatTool, Function,
    FunctionCall, GenerationOptions, MessageList, MessagePart, PartContent, ResponseDelivery,
    ResponseFormat, StopReason, TokenUsage, ToolChoice,
};
use crate::delta::{PartOpening, ResponseAssembly, ResponseDelta};
use crate::extra::Extra;
use crate::settings::ToolMode;

fn function(name: &str, parameters: Option<Value>) -> ChatTool {
    ChatTool::Function(Function {
        name: name.to_owned(),
        description: Some(format!("The {name}")),
        parameters,
        extra: Extra::none(),
    })
}

fn request(messages: impl Into<MessageList>) -> ChatRequest {
    let sides = json!({
        "type": "object",
        "properties": {"sides": {"type": "integer"}},
        "required": ["sides"],
    });
    ChatRequest {
        model: String::new(),
        messages: messages.into(),
        tools: vec![function("roll", Some(sides)), function("now", None)],
        tool_choice: ToolChoice::Auto,
        options: GenerationOptions::default(),
        delivery: ResponseDelivery::Streamed,
        extra: Extra::none(),
    }
}

fn make_request() -> ChatRequest {
    request(vec![ChatMessage::text(ChatRole::User, "Roll the dice")])
}

fn call(id: &str, name: &str, arguments: &str) -> MessagePart {
    let id = id.to_owned();
    let name = name.to_owned();
    let arguments = arguments.to_owned();
    MessagePart::new(PartContent::Call(FunctionCall { id, name, arguments }))
}

fn result(id: &str, text: &str, end: CallEnd) -> MessagePart {
    let call_id = id.to_owned();
    let parts = vec![MessagePart::text(text)];
    MessagePart::new(PartContent::Result(CallResult { call_id, name: None, parts, end }))
}

fn rewrite_request(request: ChatRequest) -> (ChatRequest, ToolModeDecoder) {
    prepare(request, ToolMode::Schema)
}

fn schema_of(request: &ChatRequest) -> &Value {
    match &request.options.output {
        Some(ResponseFormat::Schema { schema, .. }) => schema,
        other => panic!("{other:?}"),
    }
}

/// Which answers the schema lets through.
fn check(request: ChatRequest, answers: &[(&str, bool)]) {
    let (request, _) = rewrite_request(request);
    assert!(request.tools.is_empty() && request.tool_choice == ToolChoice::Unsaid);
    let schema = Schema::compile(schema_of(&request)).expect("a schema");
    for (answer, expected) in answers {
        let answer: Value = serde_json::from_str(answer).unwrap();
        assert_eq!(schema.check(&answer).is_ok(), *expected, "{answer}");
    }
}

const ROLL: &str = r#"{"name": "roll", "arguments": {"sides": 6}}"#;
const NOW: &str = r#"{"name": "now", "arguments": {}}"#;
const REPLY: &str = r#"{"reply": "Hello"}"#;

#[test]
fn the_answer_is_one_call_or_a_reply() {
    check(
        make_request(),
        &[
            (ROLL, true),
            (NOW, true),
            (REPLY, true),
            (r#"{"name": "roll", "arguments": {}}"#, false),
            (r#"{"name": "now", "arguments": {"x": 1}}"#, false),
            (r#"{"name": "other", "arguments": {}}"#, false),
            (r#"{"reply": 7}"#, false),
            (r#"{"reply": "Hello", "name": "roll"}"#, false),
            ("{}", false),
        ],
    );
}

#[test]
fn a_choice_of_tools_is_kept() {
    let choose = |tool_choice| ChatRequest { tool_choice, ..make_request() };
    check(choose(ToolChoice::Unsaid), &[(ROLL, true), (NOW, true), (REPLY, true)]);
    check(choose(ToolChoice::Required), &[(ROLL, true), (NOW, true), (REPLY, false)]);
    let named = ToolChoice::Named("now".to_owned());
    check(choose(named), &[(ROLL, false), (NOW, true), (REPLY, false)]);
    let (none, reading) = rewrite_request(choose(ToolChoice::None));
    assert!(none.tools.is_empty() && none.options.output.is_none());
    assert_eq!(none.messages, make_request().messages);
    let response = answer_of(&[REPLY]);
    assert_eq!(reading.whole(response.clone()), response, "nothing was asked for");
}

#[test]
fn what_follows_a_result_is_the_reply() {
    let messages = |ends: &[CallEnd]| {
        let mut messages = make_request().messages;
        for end in ends {
            messages.push(ChatMessage::new(ChatRole::Assistant, vec![call("c1", "roll", "{}")]));
            messages.push(ChatMessage::new(ChatRole::User, vec![result("c1", "4", *end)]));
        }
        messages
    };
    let well = CallEnd::Well;
    let failed = CallEnd::Failed;
    let reply = [(ROLL, false), (REPLY, true)];
    let both = [(ROLL, true), (REPLY, true)];
    check(request(messages(&[well])), &reply);
    check(request(messages(&[failed])), &both);
    check(request(messages(&[failed, failed])), &reply);
    check(request(messages(&[failed, well])), &reply);
    let mut spoken = messages(&[well]);
    spoken.push(ChatMessage::text(ChatRole::Assistant, "You rolled a 4."));
    spoken.push(ChatMessage::text(ChatRole::User, "Again!"));
    check(request(spoken), &both);
    let required = ChatRequest { tool_choice: ToolChoice::Required, ..request(messages(&[well])) };
    check(required, &[(ROLL, true), (REPLY, false)]);
}

#[test]
fn references_still_lead_where_they_led() {
    let parameters = json!({
        "type": "object",
        "properties": {"first": {"$ref": "#/$defs/die"}, "rest": {"$ref": "#/$defs/list"}},
        "$defs": {
            "die": {"type": "integer", "minimum": 2},
            "list": {"type": "array", "items": {"$ref": "#/$defs/die"}},
        },
    });
    let tools = vec![function("roll", Some(parameters)), function("now", None)];
    check(
        ChatRequest { tools, ..make_request() },
        &[
            (r#"{"name": "roll", "arguments": {"first": 6, "rest": [4, 8]}}"#, true),
            (r#"{"name": "roll", "arguments": {"first": 1}}"#, false),
            (r#"{"name": "roll", "arguments": {"rest": [1]}}"#, false),
            (NOW, true),
        ],
    );
}

#[test]
fn a_form_that_the_client_wants_is_the_form_of_the_reply() {
    let schema = json!({"type": "object", "properties": {"sum": {"type": "integer"}},
        "required": ["sum"]});
    let mut request = make_request();
    request.options.output =
        Some(ResponseFormat::Schema { name: "x".to_owned(), schema, strict: Some(true) });
    check(request.clone(), &[(ROLL, true), (r#"{"reply": {"sum": 7}}"#, true), (REPLY, false)]);
    let (_, reading) = rewrite_request(request.clone());
    let read = reading.whole(answer_of(&[r#"{"reply": {"sum": 7, "why": "a } b"}}"#]));
    assert_eq!(render(&read), r#""{\"sum\": 7, \"why\": \"a } b\"}""#);
    request.options.output = Some(ResponseFormat::Json);
    check(request, &[(ROLL, true), (r#"{"reply": {}}"#, true), (REPLY, false)]);
}

#[test]
fn the_tools_stand_in_the_one_system_prompt() {
    let (bare, _) = rewrite_request(make_request());
    let (with, _) = rewrite_request(request(vec![
        ChatMessage::text(ChatRole::System, "Be brief."),
        ChatMessage::text(ChatRole::User, "Hi"),
    ]));
    let said = |request: &ChatRequest| request.messages[0].parts[0].as_text().unwrap().to_owned();
    assert_eq!(
        said(&bare),
        "You can call tools. Tools:\n\
         - roll: The roll arguments: {\"sides\":{\"type\":\"integer\"}}\n\
         - now: The now arguments: {}\n\
         Answer ONLY with JSON: {\"name\": <tool>, \"arguments\": {...}} to call a tool, or \
         {\"reply\": <text>} to answer the user."
    );
    assert_eq!(said(&with), format!("Be brief.\n\n{}", said(&bare)));
    assert_eq!(with.messages.len(), 2);
    let required = ChatRequest { tool_choice: ToolChoice::Required, ..make_request() };
    assert!(said(&rewrite_request(required).0).ends_with("to call a tool."));
}

#[test]
fn earlier_calls_are_told_as_text_and_turns_alternate() {
    let messages = vec![
        ChatMessage::text(ChatRole::User, "Roll twice"),
        ChatMessage::new(
            ChatRole::Assistant,
            vec![
                MessagePart::text("Rolling."),
                call("c1", "roll", r#"{"sides":6}"#),
                call("c2", "now", ""),
                call("c3", "roll", "six"),
            ],
        ),
        ChatMessage::new(
            ChatRole::User,
            vec![result("c1", "4", CallEnd::Well), result("c2", "noon", CallEnd::Failed)],
        ),
        ChatMessage::text(ChatRole::User, "And now?"),
    ];
    let (rewritten, _) =
        rewrite_request(ChatRequest { tool_choice: ToolChoice::None, ..request(messages) });
    let told: Vec<(ChatRole, Vec<&str>)> = rewritten
        .messages
        .iter()
        .map(|message| {
            (message.role, message.parts.iter().filter_map(MessagePart::as_text).collect())
        })
        .collect();
    assert_eq!(
        told,
        [
            (ChatRole::User, vec!["Roll twice"]),
            (
                ChatRole::Assistant,
                vec![
                    "Rolling.",
                    r#"{"name":"roll","arguments":{"sides":6}}"#,
                    r#"{"name":"now","arguments":{}}"#,
                    r#"{"name":"roll","arguments":"six"}"#,
                ]
            ),
            (
                ChatRole::User,
                vec!["Tool result of roll: 4", "Tool failure of now: noon", "And now?"]
            ),
        ]
    );
}

fn answer_of(pieces: &[&str]) -> ChatResponse {
    ChatResponse {
        id: "a1".to_owned(),
        model: "m".to_owned(),
        created: 0,
        parts: pieces.iter().map(|text| MessagePart::text(*text)).collect(),
        stop: StopReason::End,
        usage: TokenUsage::default(),
        extra: Extra::none(),
    }
}

fn render(response: &ChatResponse) -> String {
    let parts = response.parts.iter().map(|part| match &part.content {
        PartContent::Text(text) => format!("{text:?}"),
        PartContent::Call(FunctionCall { name, arguments, .. }) => format!("{name} {arguments}"),
        other => format!("{other:?}"),
    });
    parts.collect::<Vec<_>>().join(" | ")
}

fn stream_of(pieces: &[&str], stop: StopReason) -> (Vec<Vec<ResponseDelta>>, ChatResponse) {
    let (_, mut reading) = rewrite_request(make_request());
    let id = "a1".to_owned();
    let model = "m".to_owned();
    let none = Extra::none;
    let mut steps = vec![
        ResponseDelta::Start { id, model, created: 0, extra: none() },
        ResponseDelta::Open { index: 0, opening: PartOpening::Text, extra: none() },
    ];
    let grow =
        |text: &&str| ResponseDelta::Grow { index: 0, text: (*text).to_owned(), extra: none() };
    steps.extend(pieces.iter().map(grow));
    steps.push(ResponseDelta::Close { index: 0 });
    steps.push(ResponseDelta::End { stop, usage: TokenUsage::default(), extra: none() });
    let given: Vec<Vec<ResponseDelta>> = steps.into_iter().map(|step| reading.read(step)).collect();
    let mut assembly = ResponseAssembly::default();
    given.iter().flatten().for_each(|step| assembly.add(step));
    (given, assembly.finish().unwrap())
}

/// Whole and letter by letter.
fn check_answer(text: &str, expected: &str) {
    let (_, reading) = rewrite_request(make_request());
    let read = reading.whole(answer_of(&[text]));
    assert_eq!(render(&read), expected, "{text}");
    let stop = if read.calls().count() > 0 { StopReason::Calls } else { StopReason::End };
    assert_eq!(read.stop, stop, "{text}");
    let letters: Vec<String> = text.chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    assert_eq!(stream_of(&letters, StopReason::End).1, read, "{text}, letter by letter");
}

#[test]
fn answers_are_read_back() {
    for (text, expected) in [
        (REPLY, r#""Hello""#),
        (ROLL, r#"roll {"sides": 6}"#),
        (NOW, "now {}"),
        (r#"{"arguments": {"a": "}"}, "name": "roll"}"#, r#"roll {"a": "}"}"#),
        (r#"{"name": "now"}"#, "now {}"),
        (r#"{"name": "roll", "parameters": {}}"#, "roll {}"),
        (r#"{"thought": {"x": [1, "]"]}, "reply": "Hi"}"#, r#""Hi""#),
        (r#"{"n": 7, "reply": "Hi"}"#, r#""Hi""#),
        (r#"{"reply": "Hi", "n": 7}"#, r#""Hi""#),
        ("```json\n{\"reply\": \"Hi\"}\n```", r#""Hi""#),
        ("[{\"name\": \"now\"}, {\"name\": \"now\"}]", "now {} | now {}"),
        ("{\"reply\": \"a\"}\n{\"name\": \"now\"}\n", r#""a" | now {}"#),
        (r#"{"reply": ""}"#, ""),
        (r#"{"reply": "a\n\"b\"\t\\ \/ \u00e4 \ud83d\ude00 \ud83d \u00"}"#, {
            r#""a\n\"b\"\t\\ / ä 😀  ""#
        }),
    ] {
        check_answer(text, expected);
    }
}

/// B-CH-6: a model that does not keep to the schema.
#[test]
fn b_ch_06_what_is_no_such_json_is_text_as_it_is() {
    for text in [
        "Hello there.",
        "no, so",
        "{}",
        "{\"x\": 1}",
        "{'reply': 'Hi'}",
        "{\"reply\" \"Hi\"}",
        "{\"name\": \"roll\", \"argu",
        "{\"arguments\": {\"sides\"",
        "[1, 2]",
        "  ",
        "```python\nprint()\n```",
        "{\"name\": 7}",
    ] {
        check_answer(text, &format!("{text:?}"));
    }
    check_answer("{\"reply\": \"Hi\"} bye", r#""Hi" | " bye""#);
    check_answer("{\"reply\": \"Hi\" oops}", r#""Hi""#);
    check_answer("", "");
}

#[test]
fn a_reply_is_given_out_as_it_grows_and_json_never_is() {
    let (given, _) =
        stream_of(&["{\"re", "ply\": \"Hel", "lo \\u00", "e4\\", "n!\"", "}"], StopReason::End);
    let texts: Vec<String> = given
        .iter()
        .map(|steps| {
            let texts = steps.iter().filter_map(|step| match step {
                ResponseDelta::Grow { text, .. } => Some(text.as_str()),
                _ => None,
            });
            texts.collect()
        })
        .collect();
    assert_eq!(texts, ["", "", "", "Hel", "lo ", "ä", "\n!", "", "", ""]);
    let (given, response) = stream_of(
        &["{\"name\": \"ro", "ll\", \"argu", "ments\": {\"sides\"", ": 6}", "}"],
        StopReason::End,
    );
    assert!(given[..4].iter().skip(1).all(Vec::is_empty));
    assert!(
        matches!(&given[4][..], [
            ResponseDelta::Open { index: 0, opening: PartOpening::Call { name, .. }, .. },
            ResponseDelta::Grow { text, .. },
        ] if name == "roll" && text == "{\"sides\""),
        "{given:?}"
    );
    assert_eq!(render(&response), r#"roll {"sides": 6}"#);
}

#[test]
fn an_answer_that_was_cut_off_says_so() {
    let (_, reply) = stream_of(&["{\"reply\": \"Hel"], StopReason::Length);
    assert_eq!((render(&reply).as_str(), reply.stop), (r#""Hel""#, StopReason::Length));
    let (_, call) = stream_of(&["{\"name\": \"roll\", \"arguments\": {\"si"], StopReason::Length);
    assert_eq!((render(&call).as_str(), call.stop), (r#"roll {"si"#, StopReason::Length));
}

#[test]
fn ids_differ_from_call_to_call_and_from_round_to_round() {
    let id = |messages: MessageList| {
        let (_, reading) = rewrite_request(request(messages));
        let read = reading.whole(answer_of(&["[{\"name\": \"now\"}, {\"name\": \"now\"}]"]));
        let ids: Vec<String> = read.calls().map(|call| call.id.clone()).collect();
        assert_ne!(ids[0], ids[1]);
        ids[0].clone()
    };
    let first = make_request().messages;
    let mut second = first.clone();
    second.push(ChatMessage::text(ChatRole::Assistant, "x"));
    assert_ne!(id(first.clone()), id(second));
    assert_eq!(id(first.clone()), id(first), "and are otherwise the same");
}

proptest! {
    /// Whatever a reply says, it is read back as it was said; and however it is cut.
    #[test]
    fn any_reply_is_read_back(said in "\\PC{0,40}|[\\x00-\\x7f]{0,40}", cut in 0_usize..60) {
        let answer = json!({"reply": said}).to_string();
        let (_, reading) = rewrite_request(make_request());
        let read = reading.whole(answer_of(&[&answer]));
        prop_assert_eq!(&read.text(), &said);
        let at = answer.floor_char_boundary(cut.min(answer.len()));
        let (_, response) = stream_of(&[&answer[..at], &answer[at..]], StopReason::End);
        prop_assert_eq!(&response.text(), &said);
    }

    #[test]
    fn any_text_is_taken(text in "[\\[\\]{}\":,a-c\\\\ \n`]{0,30}") {
        let (_, reading) = rewrite_request(make_request());
        let read = reading.whole(answer_of(&[&text]));
        prop_assert!(read.text().len() <= text.len());
    }
}
