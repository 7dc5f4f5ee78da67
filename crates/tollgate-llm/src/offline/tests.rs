use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use super::{answer, steps};
use crate::conversation::{
    CallEnd, CallResult, ChatMessage, ChatRequest, ChatResponse, ChatRole, ChatTool, Function,
    FunctionCall, GenerationOptions, MessagePart, ParallelCalls, PartContent, ResponseDelivery,
    ResponseFormat, StopReason, ToolChoice,
};
use crate::delta::{ResponseAssembly, ResponseDelta};
use crate::extra::Extra;

fn request(message: &str) -> ChatRequest {
    let roll = Function {
        name: "dice_roll".to_owned(),
        description: Some("Rolls dice".to_owned()),
        parameters: Some(json!({
            "type": "object",
            "properties": {"expression": {"type": "string"}},
            "required": ["expression"],
        })),
        extra: Extra::none(),
    };
    ChatRequest {
        model: "offline".to_owned(),
        messages: vec![
            ChatMessage::text(ChatRole::System, "Be brief."),
            ChatMessage::text(ChatRole::User, message),
        ]
        .into(),
        tools: vec![ChatTool::Function(roll)],
        tool_choice: ToolChoice::Unsaid,
        options: GenerationOptions::default(),
        delivery: ResponseDelivery::Whole,
        extra: Extra::none(),
    }
}

fn ask(request: &ChatRequest) -> ChatResponse {
    answer(request, UNIX_EPOCH + Duration::from_secs(7))
}

/// The answer as text: calls in brackets.
fn encode(response: &ChatResponse) -> String {
    let parts: Vec<String> = response
        .parts
        .iter()
        .map(|part| match &part.content {
            PartContent::Text(text) => text.clone(),
            PartContent::Refusal(text) => format!("refusal: {text}"),
            PartContent::Call(FunctionCall { id, name, arguments }) => {
                format!("[{id} {name} {arguments}]")
            }
            other => format!("{other:?}"),
        })
        .collect();
    format!("{} ({:?})", parts.join(" "), response.stop)
}

/// The conversation goes on: the answer, and a result for each of its calls.
fn with_results(mut request: ChatRequest, results: &[(&str, CallEnd)]) -> ChatRequest {
    let response = ask(&request);
    let calls: Vec<FunctionCall> = response.calls().cloned().collect();
    request.messages.push(response.into_message());
    let results = calls.into_iter().zip(results).map(|(call, (text, end))| {
        MessagePart::new(PartContent::Result(CallResult {
            call_id: call.id,
            name: Some(call.name),
            parts: vec![MessagePart::text(*text)],
            end: *end,
        }))
    });
    request.messages.push(ChatMessage::new(ChatRole::User, results.collect()));
    request
}

#[test]
fn it_says_what_it_is() {
    for message in
        ["hello", "who are you?", "what can you do", "is it raining?", "", "what does prone do"]
    {
        let text = ask(&request(message)).text();
        assert!(text.contains("I am Tollgate's offline model"), "{message}: {text}");
    }
    let text = ask(&request("is it raining?")).text();
    assert!(text.contains("I do not know what to answer to “is it raining?”"), "{text}");
    assert!(ask(&request("help")).text().contains("Offered here: `dice_roll`."));
}

#[test]
fn it_calls_and_then_says_what_came_back() {
    let asked = request("roll 2d6 and d20");
    let calls = "[call_offline_1 dice_roll {\"expression\":\"2d6\"}] \
                 [call_offline_2 dice_roll {\"expression\":\"1d20\"}] (Calls)";
    assert_eq!(encode(&ask(&asked)), calls);
    let results = [
        (r#"{"status":"ok","message":"You rolled 7."}"#, CallEnd::Well),
        ("no dice", CallEnd::Failed),
    ];
    let told = with_results(asked, &results);
    assert_eq!(encode(&ask(&told)), "You rolled 7.\nThat did not work: no dice (End)");
}

#[test]
fn the_next_utterance_begins_anew() {
    let mut told = with_results(request("roll 2d6"), &[("7", CallEnd::Well)]);
    told.messages.push(ChatMessage::text(ChatRole::Assistant, "7"));
    told.messages.push(ChatMessage::text(ChatRole::User, "roll d20"));
    assert_eq!(encode(&ask(&told)), "[call_offline_2 dice_roll {\"expression\":\"1d20\"}] (Calls)");
}

#[test]
fn words_behind_results_are_a_new_utterance() {
    let mut told = with_results(request("roll 2d6"), &[("7", CallEnd::Well)]);
    told.messages.last_mut().unwrap().parts.push(MessagePart::text("thanks"));
    assert_eq!(encode(&ask(&told)), "You are welcome. (End)");
}

#[test]
fn the_choice_of_tools_is_honoured() {
    let choosing = |choice, text: &str| ChatRequest { tool_choice: choice, ..request(text) };
    assert_eq!(ask(&choosing(ToolChoice::None, "roll 2d6")).stop, StopReason::End);
    let forced = "[call_offline_1 dice_roll {\"expression\":\"hello\"}] (Calls)";
    assert_eq!(encode(&ask(&choosing(ToolChoice::Required, "hello"))), forced);
    let named = ToolChoice::Named("dice_roll".to_owned());
    assert_eq!(encode(&ask(&choosing(named, "hello"))), forced);
    let alone = ChatRequest {
        options: GenerationOptions {
            parallel_calls: Some(ParallelCalls::Forbidden),
            ..GenerationOptions::default()
        },
        ..request("roll 2d6 and d20")
    };
    assert_eq!(ask(&alone).calls().count(), 1);
}

#[test]
fn no_tool_is_called_that_was_not_offered() {
    let bare = ChatRequest { tools: Vec::new(), ..request("roll 2d6") };
    let text = ask(&bare).text();
    assert!(text.contains("To roll 2d6 I would need a tool like `roll`"), "{text}");
}

#[test]
fn a_script_is_followed_whatever_is_offered() {
    let script = "say Wait.\ncall absent {\"broken\ncall dice_roll {}\nthen\ncall b {}\nsay Done.";
    let first = request(script);
    let expected = "Wait. [call_offline_1 absent {\"broken] [call_offline_2 dice_roll {}] (Calls)";
    assert_eq!(encode(&ask(&first)), expected);
    let second = with_results(first, &[("x", CallEnd::Failed), ("y", CallEnd::Well)]);
    assert_eq!(encode(&ask(&second)), "[call_offline_3 b {}] (Calls)");
    let third = with_results(second, &[("z", CallEnd::Well)]);
    assert_eq!(encode(&ask(&third)), "Done. (End)");
}

#[test]
fn an_endless_script_ends_where_no_tool_may_be_called() {
    let mut told = request("call dice_roll {}\nagain");
    for _ in 0..20 {
        told = with_results(told, &[("1", CallEnd::Well)]);
        assert_eq!(ask(&told).stop, StopReason::Calls);
    }
    told.tool_choice = ToolChoice::None;
    assert_eq!(ask(&told).stop, StopReason::End);
}

#[test]
fn an_answer_ends_where_the_client_wants() {
    let limited = |options| ChatRequest { options, ..request("hello") };
    let short =
        ask(&limited(GenerationOptions { max_output: Some(3), ..GenerationOptions::default() }));
    assert_eq!(encode(&short), "Hello! I am  (Length)");
    assert_eq!(short.usage.output, 3);
    let stopped = GenerationOptions {
        stop: vec!["offline".to_owned(), "Toll".to_owned()],
        ..GenerationOptions::default()
    };
    assert_eq!(encode(&ask(&limited(stopped))), "Hello! I am  (Sequence(Some(\"Toll\")))");
    let nothing = GenerationOptions { max_output: Some(0), ..GenerationOptions::default() };
    assert_eq!(encode(&ask(&limited(nothing))), " (Length)");
}

#[test]
fn json_is_given_where_json_is_asked_for() {
    let formed = |output| ChatRequest {
        options: GenerationOptions { output: Some(output), ..GenerationOptions::default() },
        ..request("hello")
    };
    let text = ask(&formed(ResponseFormat::Json)).text();
    assert!(serde_json::from_str::<serde_json::Value>(&text).unwrap()["answer"].is_string());
    let schema =
        |schema| ResponseFormat::Schema { name: "x".to_owned(), schema, strict: Some(true) };
    let text = ask(&formed(schema(json!({
        "type": "object",
        "properties": {"age": {"type": "integer", "minimum": 18}, "kind": {"const": "elf"}},
        "required": ["age", "kind"],
        "additionalProperties": false,
    }))))
    .text();
    assert_eq!(text, r#"{"age":18,"kind":"elf"}"#);
    let impossible = ask(&formed(schema(json!(false))));
    assert_eq!(impossible.stop, StopReason::Refused);
}

#[test]
fn the_same_words_get_the_same_answer_and_tokens_are_counted() {
    let one = ask(&request("hello"));
    let two = ask(&request("hello"));
    assert_eq!(one, two);
    assert_eq!(one.created, 7);
    assert!(one.usage.input > 10 && one.usage.output > 10);
}

#[test]
fn it_speaks_word_by_word() {
    for message in ["hello", "roll 2d6 and d20", "call x {\"ä\":\"öäü 語 and more of it\"}"] {
        let response = ask(&request(message));
        let steps = steps(&response);
        let mut assembly = ResponseAssembly::default();
        for step in &steps {
            assembly.add(step);
        }
        assert_eq!(assembly.finish().unwrap(), response);
        let longest = steps.iter().map(|step| match step {
            ResponseDelta::Grow { text, .. } => text.chars().count(),
            _ => 0,
        });
        assert!(longest.max().unwrap() <= 14, "{steps:?}");
    }
}
