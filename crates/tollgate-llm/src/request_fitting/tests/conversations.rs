//! Messages: their order, roles and ids.

use serde_json::{Value, json};

use super::{ANTHROPIC, CHAT, GEMINI, RESPONSES, convert};

const OLD_CLAUDE: &str = "claude-haiku-4-5";
const NEW_CLAUDE: &str = "claude-opus-4-8";

fn text(role: &str, words: &str) -> Value {
    json!({"role": role, "content": words})
}

fn messages(list: &[Value]) -> Value {
    json!({"messages": list})
}

#[test]
fn a_late_system_message_is_user_text_for_older_claudes() {
    let late = messages(&[
        text("system", "P"),
        text("user", "A"),
        text("assistant", "B"),
        text("developer", "S"),
        text("user", "C"),
    ]);
    let (body, lost) = convert(CHAT, &late, ANTHROPIC, OLD_CLAUDE);
    assert_eq!(body["system"], "P");
    let last =
        json!([{"type": "text", "text": "<system>\nS\n</system>"}, {"type": "text", "text": "C"}]);
    assert_eq!(body["messages"][2], json!({"role": "user", "content": last}));
    assert_eq!(lost, ["a system message within the conversation: sent as user text"]);
    let (body, lost) = convert(CHAT, &late, ANTHROPIC, NEW_CLAUDE);
    assert_eq!(body["messages"][2], text("user", "C"));
    assert_eq!(body["messages"][3], text("system", "S"), "behind the user's turn");
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn a_claude_is_asked_before_it_answers() {
    let fields = messages(&[text("assistant", "B"), text("user", "A")]);
    let body = convert(CHAT, &fields, ANTHROPIC, NEW_CLAUDE).0;
    let roles: Vec<&Value> =
        body["messages"].as_array().unwrap().iter().map(|it| &it["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
}

#[test]
fn blank_texts_are_not_sent_to_claude() {
    let fields = messages(&[text("user", "A"), text("assistant", " \n"), text("user", "C")]);
    let body = convert(CHAT, &fields, ANTHROPIC, NEW_CLAUDE).0;
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
    assert!(!body.to_string().contains("\" \\n\""), "{body}");
}

#[test]
fn a_prefill_is_continued_or_asked_for() {
    let fields = messages(&[text("user", "A"), text("assistant", "B: ")]);
    let (body, lost) = convert(CHAT, &fields, ANTHROPIC, OLD_CLAUDE);
    assert_eq!(body["messages"][1], text("assistant", "B:"));
    assert!(lost.is_empty(), "{lost:?}");
    let (body, lost) = convert(CHAT, &fields, ANTHROPIC, NEW_CLAUDE);
    assert_eq!(body["messages"][2]["role"], "user");
    assert!(body["messages"][2]["content"].as_str().unwrap().starts_with("Continue"));
    assert_eq!(lost, ["an assistant message at the end: the model is told to continue it"]);
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "roll", "arguments": "{}"})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "1"})
}

#[test]
fn results_follow_their_calls_on_chat() {
    let fields = json!({"input": [
        text("user", "A"), call("1"), text("user", "?"), call("2"), output("2"), output("1"),
    ]});
    let body = convert(RESPONSES, &fields, CHAT, "gpt-4.1").0;
    let list = body["messages"].as_array().unwrap();
    let shape: Vec<String> = list
        .iter()
        .map(|it| match it["role"].as_str().unwrap() {
            "tool" => format!("result {}", it["tool_call_id"].as_str().unwrap()),
            "assistant" => format!("call {}", it["tool_calls"][0]["id"].as_str().unwrap()),
            role => role.to_owned(),
        })
        .collect();
    assert_eq!(shape, ["user", "call 1", "result 1", "user", "call 2", "result 2"]);
}

#[test]
fn calls_end_the_turn_of_a_claude() {
    let fields = json!({"input": [
        text("user", "A"), call("1"), text("assistant", "and"), call("2"), output("1"), output("2"),
    ]});
    let body = convert(RESPONSES, &fields, ANTHROPIC, NEW_CLAUDE).0;
    let kinds: Vec<&Value> =
        body["messages"][1]["content"].as_array().unwrap().iter().map(|it| &it["type"]).collect();
    assert_eq!(kinds, ["text", "tool_use", "tool_use"]);
    let results = body["messages"][2]["content"].as_array().unwrap();
    assert_eq!(results.len(), 2, "all results are in one message");
}

#[test]
fn an_id_is_used_once_in_every_dialect() {
    let long = "x".repeat(64);
    for id in ["first", &long] {
        let made = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "roll", "arguments": "{}"}}]});
        let result = json!({"role": "tool", "tool_call_id": id, "content": "1"});
        let fields = messages(&[text("user", "A"), made.clone(), result.clone(), made, result]);
        for (dialect, model, list, paths) in [
            (
                ANTHROPIC,
                NEW_CLAUDE,
                "messages",
                [
                    "/1/content/0/id",
                    "/2/content/0/tool_use_id",
                    "/3/content/0/id",
                    "/4/content/0/tool_use_id",
                ],
            ),
            (
                CHAT,
                "gpt-4.1",
                "messages",
                ["/1/tool_calls/0/id", "/2/tool_call_id", "/3/tool_calls/0/id", "/4/tool_call_id"],
            ),
            (
                RESPONSES,
                "gpt-4.1",
                "input",
                ["/1/call_id", "/2/call_id", "/3/call_id", "/4/call_id"],
            ),
            (
                GEMINI,
                "gemini-3.8-flash",
                "contents",
                [
                    "/1/parts/0/functionCall/id",
                    "/2/parts/0/functionResponse/id",
                    "/3/parts/0/functionCall/id",
                    "/4/parts/0/functionResponse/id",
                ],
            ),
        ] {
            let body = convert(CHAT, &fields, dialect, model).0;
            let ids = paths.map(|path| {
                body[list]
                    .pointer(path)
                    .and_then(Value::as_str)
                    .unwrap_or_else(|| panic!("{path} {body}"))
            });
            assert!(ids[0] == ids[1] && ids[2] == ids[3] && ids[0] != ids[2], "{ids:?}");
            assert!(dialect != RESPONSES || ids.iter().all(|id| id.len() <= 64), "{ids:?}");
            assert!(id != "first" || ids[2] == "first_2", "{ids:?}");
        }
    }
}

#[test]
fn long_ids_are_shortened_for_openai() {
    let ids = ["x".repeat(80) + "1", "x".repeat(80) + "2"];
    let made = |id: &str| json!({"id": id, "type": "function", "function": {"name": "roll", "arguments": "{}"}});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "1"});
    let fields = messages(&[
        text("user", "A"),
        json!({"role": "assistant", "content": null, "tool_calls": [made(&ids[0]), made(&ids[1])]}),
        result(&ids[0]),
        result(&ids[1]),
    ]);
    let body = convert(CHAT, &fields, RESPONSES, "gpt-4.1").0;
    let id = |at: usize| body["input"][at]["call_id"].as_str().unwrap();
    assert!(id(1).len() == 64 && id(2).len() == 64 && id(1) != id(2));
    assert_eq!((id(1), id(2)), (id(3), id(4)));
    let chat = convert(CHAT, &fields, CHAT, "gpt-4.1").0;
    assert_eq!(chat["messages"][2]["tool_call_id"].as_str().unwrap().len(), 40);
    let other = convert(CHAT, &fields, CHAT, "kimi-k2").0;
    assert_eq!(other["messages"][2]["tool_call_id"], ids[0].as_str());
    assert!(convert(CHAT, &fields, GEMINI, "gemini-3.8-flash").0.to_string().contains(&ids[0]));
}

#[test]
fn enabled_thinking_ends_where_another_model_began_the_turn() {
    let fields = json!({
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "messages": [
            text("user", "A"),
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "roll", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "1"}]},
        ],
    });
    let (body, lost) = convert(ANTHROPIC, &fields, ANTHROPIC, OLD_CLAUDE);
    assert_eq!(body.get("thinking"), None);
    assert_eq!(lost, ["`thinking`: another model began this turn"]);
}
