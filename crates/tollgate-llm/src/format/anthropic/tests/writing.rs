//! Requests that come from other dialects, as Anthropic takes them.

use serde_json::{Value, json};

use super::super::Anthropic;
use crate::conversation::{
    Call, CallEnd, CallResult, Content, Function, Media, MediaKind, MediaSource, Message, Options,
    OutputForm, Parallel, Part, Request, Role, Signature, Tool, ToolChoice,
};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::format::{Format, recorded};

fn write(request: &Request) -> (Value, Vec<String>) {
    let written = Anthropic.write_request(request).unwrap();
    (written.body, written.lost)
}

fn messages(messages: Vec<Message>) -> Value {
    write(&recorded::request(messages)).0
}

fn text(role: Role, text: &str) -> Message {
    Message::text(role, text)
}

fn call(id: &str, arguments: &str) -> Part {
    let (id, name, arguments) = (id.to_owned(), "t".to_owned(), arguments.to_owned());
    Part::new(Content::Call(Call { id, name, arguments }))
}

fn result(id: &str, text: &str) -> Part {
    let parts = vec![Part::text(text)];
    let call_id = id.to_owned();
    Part::new(Content::Result(CallResult { call_id, name: None, parts, end: CallEnd::Well }))
}

fn refused(request: &Request) -> String {
    Anthropic.write_request(request).unwrap_err().message
}

#[test]
fn leading_system_messages_go_to_the_front_in_order() {
    let body = messages(vec![
        text(Role::System, "one"),
        text(Role::Developer, "two"),
        text(Role::User, "hi"),
    ]);
    let blocks = json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]);
    assert_eq!(body["system"], blocks);
    assert_eq!(body["messages"], json!([{"role": "user", "content": "hi"}]));
}

#[test]
fn later_system_messages_stand_behind_a_turn_of_the_user() {
    let body = messages(vec![
        text(Role::User, "a"),
        text(Role::Assistant, "b"),
        text(Role::System, "now in German"),
        text(Role::User, "c"),
        text(Role::Assistant, "d"),
        text(Role::User, "e"),
        text(Role::System, "short"),
    ]);
    let roles: Vec<_> = body["messages"].as_array().unwrap().iter().map(|it| &it["role"]).collect();
    let expected = ["user", "assistant", "user", "system", "assistant", "user", "system"];
    assert_eq!(roles, expected);
    let request = recorded::request(vec![
        text(Role::User, "a"),
        text(Role::Assistant, "b"),
        text(Role::System, "go on"),
    ]);
    let (body, lost) = write(&request);
    assert_eq!(body["messages"][2], json!({"role": "user", "content": "go on"}));
    assert_eq!(lost.len(), 1);
}

#[test]
fn messages_of_one_role_become_one_and_results_come_first_in_the_order_of_calls() {
    let body = messages(vec![
        text(Role::User, "a"),
        text(Role::User, "b"),
        Message::new(Role::Assistant, vec![Part::text(""), call("1", "{}")]),
        Message::new(Role::Assistant, vec![call("2", "")]),
        text(Role::User, "meanwhile"),
        Message::new(Role::User, vec![result("2", "two")]),
        Message::new(Role::User, vec![result("1", "one")]),
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
    let ask = |parts: Vec<Part>| {
        let asked = Message::new(Role::Assistant, vec![call("1", "{}")]);
        recorded::request(vec![asked, Message::new(Role::User, parts)])
    };
    assert!(refused(&ask(vec![result("1", "a"), result("1", "b")])).contains("already"));
    assert!(refused(&ask(vec![result("2", "a")])).contains("`2`"));
    assert!(refused(&ask(vec![Part::text("so?")])).contains("no result"));
    let open = vec![text(Role::User, "a"), Message::new(Role::Assistant, vec![call("1", "{}")])];
    assert!(refused(&recorded::request(open)).contains("no result"));
    assert!(refused(&recorded::request(vec![text(Role::System, "a")])).contains("nothing"));
}

#[test]
fn b_ch_06_arguments_that_are_no_object_are_sent_as_text() {
    for arguments in ["not json", "{'a': 1}", "[1]", "{\"a\":", "{\"a\": NaN}", &"[".repeat(1000)] {
        let answer = Message::new(Role::Assistant, vec![call("1", arguments)]);
        let result = Message::new(Role::User, vec![result("1", "no")]);
        let (body, lost) = write(&recorded::request(vec![answer, result]));
        assert_eq!(body["messages"][0]["content"][0]["input"], json!({"arguments": arguments}));
        assert_eq!(lost.len(), 1, "{lost:?}");
    }
}

#[test]
fn ids_of_other_dialects_are_written_in_letters_that_anthropic_takes() {
    let answer =
        Message::new(Role::Assistant, vec![call("functions.t:0", "{}"), call("a b", "{}")]);
    let results = vec![result("a b", "two"), result("functions.t:0", "one")];
    let body = messages(vec![answer, Message::new(Role::User, results)]);
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
        let signature = Some(Signature { maker, text: "sig".to_owned() });
        Part::new(Content::Thinking { text: "hm".to_owned(), signature })
    };
    let unsigned = Part::new(Content::Thinking { text: "hm".to_owned(), signature: None });
    let parts =
        vec![thought(Dialect::Anthropic), thought(Dialect::Gemini), unsigned, Part::text("a")];
    let answer = Message::new(Role::Assistant, parts);
    let request =
        recorded::request(vec![text(Role::User, "x"), answer.clone(), text(Role::User, "y")]);
    let (body, lost) = write(&request);
    assert_eq!(body["messages"][1]["content"].as_array().unwrap().len(), 2);
    assert_eq!(lost, ["thoughts that Anthropic did not sign"]);
    let kept = Anthropic.write_history(std::slice::from_ref(&answer));
    assert_eq!(kept[0]["content"][1]["signature"], "tollgate:gemini:sig");
    let body = json!({"model": "m", "max_tokens": 1, "messages": kept});
    assert_eq!(super::read(body).messages, [answer]);
}

#[test]
fn what_anthropic_has_no_word_for_is_named() {
    let mut request = recorded::request(vec![text(Role::User, "x")]);
    request.options = Options {
        temperature: serde_json::Number::from_f64(1.4),
        seed: Some(7.into()),
        presence_penalty: Some(1.into()),
        frequency_penalty: Some(1.into()),
        candidates: Some(3),
        effort: Some("minimal".to_owned()),
        output: Some(OutputForm::Json),
        top_k: serde_json::Number::from_f64(40.0),
        parallel_calls: Some(Parallel::Forbidden),
        ..Options::default()
    };
    request.tool_choice = ToolChoice::Required;
    let (body, lost) = write(&request);
    assert_eq!(lost.len(), 8, "{lost:?}");
    assert_eq!(body["max_tokens"], 4096);
    assert_eq!(body["temperature"], 1);
    assert_eq!(body["top_k"], 40);
    assert_eq!(body["output_config"], json!({"effort": "low"}));
    assert_eq!(body.get("tool_choice"), None);
}

#[test]
fn tools_and_choices_are_written_as_anthropic_takes_them() {
    let mut request = recorded::request(vec![text(Role::User, "x")]);
    request.tools = vec![Tool::Function(Function {
        name: "t".to_owned(),
        description: None,
        parameters: None,
        extra: Extra::none(),
    })];
    request.options.parallel_calls = Some(Parallel::Forbidden);
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
    request.tools.push(Tool::Hosted { dialect: Dialect::Gemini, value });
    assert!(refused(&request).contains("`tools[1]` is run by providers that speak gemini"));
}

#[test]
fn media_that_anthropic_does_not_take_is_refused() {
    let media = |kind, media_type: &str, data: &str| {
        let (media_type, data) = (media_type.to_owned(), data.to_owned());
        let source = MediaSource::Base64 { media_type, data };
        let part = Part::new(Content::Media(Media { kind, source, name: None }));
        recorded::request(vec![Message::new(Role::User, vec![part])])
    };
    assert!(refused(&media(MediaKind::Audio, "audio/wav", "AA==")).contains("takes no sound"));
    assert!(refused(&media(MediaKind::Video, "video/mp4", "AA==")).contains("takes no video"));
    let table = media(MediaKind::Document, "application/vnd.ms-excel", "AA==");
    assert!(refused(&table).contains("vnd.ms-excel"));
    assert!(refused(&media(MediaKind::Document, "text/plain", "%")).contains("no text"));
    let (body, _) = write(&media(MediaKind::Document, "text/markdown", "aGk="));
    let source = &body["messages"][0]["content"][0]["source"];
    assert_eq!(*source, json!({"type": "text", "media_type": "text/plain", "data": "hi"}));
}
