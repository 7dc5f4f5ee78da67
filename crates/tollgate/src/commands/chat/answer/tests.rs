use serde_json::{Value, json};

use super::{ChatDisplayStep, StreamedChatAnswer, brief};
use crate::gateway::GatewayEvent;

fn read_stream(events: &[(&str, Value)]) -> (StreamedChatAnswer, Vec<ChatDisplayStep>) {
    let mut answer = StreamedChatAnswer::default();
    let mut steps = Vec::new();
    for (name, data) in events {
        steps.extend(answer.hear(&GatewayEvent { name: (*name).to_owned(), data: data.clone() }));
    }
    (answer, steps)
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

#[test]
fn words_and_calls_are_shown_as_they_come() {
    let (answer, steps) = read_stream(&[
        ("", delta(&json!({"role": "assistant", "content": ""}))),
        ("", delta(&json!({"content": "I roll"}))),
        (
            "tollgate",
            json!({"type": "call", "id": "c", "name": "roll", "arguments": "{}", "choices": []}),
        ),
        (
            "tollgate",
            json!({"type": "result", "id": "c", "name": "roll", "status": "ok", "duration_ms": 3}),
        ),
        ("", delta(&json!({"content": ": 7"}))),
        (
            "",
            json!({"choices": [], "usage": {}, "tollgate": {"ended": "answered", "history": [
            {"role": "assistant", "tool_calls": []}, {"role": "assistant", "content": "I roll: 7"}]}}),
        ),
        ("", Value::Null),
    ]);
    assert_eq!(
        steps,
        [
            ChatDisplayStep::Text("I roll".to_owned()),
            ChatDisplayStep::Calling {
                id: "c".to_owned(),
                name: "roll".to_owned(),
                arguments: "{}".to_owned()
            },
            ChatDisplayStep::Called {
                id: "c".to_owned(),
                name: "roll".to_owned(),
                status: "ok".to_owned(),
                milliseconds: 3
            },
            ChatDisplayStep::Text(": 7".to_owned()),
        ]
    );
    assert_eq!(answer.text, "I roll: 7");
    assert_eq!(answer.history().len(), 2, "as the gateway gives it");
}

#[test]
fn calls_that_wait_for_leave_are_put_together() {
    let call = |index: u64, rest: Value| {
        let mut part = json!({"index": index});
        part.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        delta(&json!({"tool_calls": [part]}))
    };
    let (answer, _) = read_stream(&[
        ("", call(0, json!({"id": "a", "function": {"name": "write", "arguments": "{\"x\":"}}))),
        ("", call(0, json!({"function": {"arguments": "1}"}}))),
        ("", call(1, json!({"id": "b", "function": {"name": "read", "arguments": "{}"}}))),
        ("", call(7, json!({"id": "odd"}))),
    ]);
    assert_eq!(answer.calls.len(), 2);
    assert_eq!(answer.calls[0].summary(), "write {\"x\":1}");
    assert_eq!(
        answer.history(),
        [json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "write", "arguments": "{\"x\":1}"}},
            {"id": "b", "type": "function", "function": {"name": "read", "arguments": "{}"}},
        ]})]
    );
    assert_eq!(answer.so_far(), None, "nobody will answer them");
    assert_eq!(answer.calls[1].refusal()["tool_call_id"], "b");
}

#[test]
fn what_breaks_off_says_why() {
    let (answer, steps) = read_stream(&[
        ("", delta(&json!({"content": "half"}))),
        ("", json!({"error": {"message": "the provider is gone"}})),
    ]);
    assert_eq!(steps.len(), 1);
    assert_eq!(answer.failed.as_deref(), Some("the provider is gone"));
    assert_eq!(answer.so_far(), Some(json!({"role": "assistant", "content": "half"})));
}

#[test]
fn what_is_said_beside_it_is_a_line() {
    for (note, expected) in [
        (json!({"type": "announcement", "message": "One moment."}), Some("One moment.")),
        (
            json!({"type": "fallback", "from": "a", "to": "b", "why": "busy"}),
            Some("a could not answer: busy; asking b"),
        ),
        (json!({"type": "progress", "progress": {"progress": 1, "total": 4}}), Some("1 of 4")),
        (json!({"type": "progress", "progress": {"message": "half"}}), Some("half")),
        (json!({"type": "unheard_of"}), None),
        (json!(7), None),
    ] {
        let (_, steps) = read_stream(&[("tollgate", note)]);
        let expected: Vec<ChatDisplayStep> =
            expected.map(|it| ChatDisplayStep::Note(it.to_owned())).into_iter().collect();
        assert_eq!(steps, expected);
    }
    assert_eq!(brief(" a\n  b "), "a b");
    assert!(brief(&"x".repeat(10_000)).chars().count() < 210);
}
