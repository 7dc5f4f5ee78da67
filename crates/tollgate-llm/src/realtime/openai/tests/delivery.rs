//! Results that nobody waits for, that come late, and words for those that take long.

use serde_json::json;
use tollgate_core::tool::ResultDelivery;

use super::script::*;
use crate::realtime::events::{AnswerStage, DialectEvent};

/// A call that runs after its response, in a talk that goes on.
fn call_tool(tool: &str) -> Talk {
    let mut talk = Talk::with(tool);
    let name = tool.split(':').next().unwrap();
    talk.says(make_created_event("r1"));
    talk.says(item_done("r1", &format!("c1:{name}")));
    talk.says(finish_turn("r1", "completed", &format!("c1:{name}")));
    talk
}

fn slow() -> Says {
    Says::News(DialectEvent::Slow { id: "c1".to_owned(), message: "One moment.".into() })
}

fn aside_done() -> Says {
    provider(json!({ "type": "response.done", "response": { "id": "a1", "status": "completed",
        "conversation_id": null, "metadata": { "tollgate": "tg-2" }, "output": [] } }))
}

#[test]
fn a_result_for_later_is_spoken_of_when_nobody_speaks() {
    call_tool("roll:idle").check([
        (speech("committed"), "passes | turn began"),
        (make_created_event("r2"), "passes"),
        (
            answer("c1", AnswerStage::Done, ResultDelivery::WhenIdle),
            "provider: function_call_output c1 done",
        ),
        (finish_turn("r2", "completed", ""), "passes | provider: create tg-3"),
        (created_by_us("r3", "tg-3"), "client: response.created \"r3\" [] null"),
        (finish_turn("r3", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn a_result_that_must_not_wait_breaks_off_what_is_said_once() {
    call_tool("roll:interrupt").check([
        (speech("committed"), "passes | turn began"),
        (make_created_event("r2"), "passes"),
        (
            answer("c1", AnswerStage::Done, ResultDelivery::Interrupt),
            "provider: function_call_output c1 done | provider: response.cancel \"r2\"",
        ),
        (output_added("c1"), ""),
        (finish_turn("r2", "cancelled", ""), "passes | provider: create tg-4"),
        (created_by_us("r3", "tg-4"), "client: response.created \"r3\" [] null"),
        (error("tg-3", "response_cancel_not_active"), ""),
        (finish_turn("r3", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn it_does_not_break_off_the_caller() {
    call_tool("roll:interrupt").check([
        (speech("speech_started"), "passes"),
        (
            answer("c1", AnswerStage::Done, ResultDelivery::Interrupt),
            "provider: function_call_output c1 done",
        ),
        (output_added("c1"), ""),
        (speech("committed"), "passes | turn began"),
        (make_created_event("r2"), "passes"),
        (finish_turn("r2", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn a_silent_result_is_known_and_nothing_is_asked_for() {
    call_tool("roll:silent").check([
        (
            answer("c1", AnswerStage::Done, ResultDelivery::Silent),
            "provider: function_call_output c1 done",
        ),
        (Says::Wait(10_000), ""),
    ]);
}

#[test]
fn a_turn_does_not_wait_for_results_that_nobody_waits_for() {
    Talk::with("roll:idle").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1 | turn ended",
        ),
        (create(), "passes"),
    ]);
}

#[test]
fn a_late_result_comes_as_a_call_of_its_own() {
    let mut talk = call_tool("roll");
    let pending = talk.says(answer("c1", AnswerStage::Pending, ResultDelivery::Wait));
    assert_eq!(pending, "provider: function_call_output c1 pending | provider: create tg-3");
    assert_eq!(talk.says(output_added("c1")), "");
    talk.says(created_by_us("r2", "tg-3"));
    let late = talk.says(answer("c1", AnswerStage::Late, ResultDelivery::Wait));
    let parts: Vec<&str> = late.split_whitespace().collect();
    let id = parts[2];
    assert!(id.starts_with("call_tg") && id.len() <= 32, "{id}");
    assert_eq!(
        late,
        format!(
            "provider: function_call {id} roll | provider: function_call_output {id} late | \
            late told"
        )
    );
    let item = |kind: &str| json!({ "id": format!("i_{kind}"), "type": kind, "call_id": id });
    assert_eq!(talk.says(item_added(&item("function_call"), None)), "");
    assert_eq!(talk.says(item_added(&item("function_call_output"), None)), "");
    assert_eq!(talk.says(finish_turn("r2", "completed", "")), "passes | provider: create tg-7");
    assert_eq!(talk.says(answer("c1", AnswerStage::Late, ResultDelivery::Wait)), "");
}

#[test]
fn a_pending_call_survives_the_caller() {
    call_tool("roll").check([
        (
            answer("c1", AnswerStage::Pending, ResultDelivery::Wait),
            "provider: function_call_output c1 pending | provider: create tg-3",
        ),
        (created_by_us("r2", "tg-3"), "client: response.created \"r2\" [] null"),
        (speech("speech_started"), "passes"),
        (finish_turn("r2", "cancelled", ""), "passes | turn interrupted"),
        (speech("committed"), "passes | turn began"),
    ]);
}

#[test]
fn a_pending_answer_and_its_result_before_the_end_of_the_response_are_both_sent_after_it() {
    let mut talk = Talk::with("roll");
    talk.says(make_created_event("r1"));
    talk.says(item_done("r1", "c1:roll"));
    assert_eq!(talk.says(answer("c1", AnswerStage::Pending, ResultDelivery::Wait)), "");
    assert_eq!(talk.says(answer("c1", AnswerStage::Late, ResultDelivery::Wait)), "");
    let text = talk.says(finish_turn("r1", "completed", "c1:roll"));
    let kinds: Vec<&str> = text.split(" | ").map(|part| part.split(' ').nth(1).unwrap()).collect();
    let expected = [
        "response.done",
        "c1",
        "function_call_output",
        "function_call",
        "function_call_output",
        "told",
        "create",
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn a_slow_call_is_announced_beside_the_conversation() {
    call_tool("roll").check([
        (slow(), "provider: create tg-2 [] conversation=none tool_choice=none instructions=Say the words of the"),
        (
            created_aside("a1", &json!({ "tollgate": "tg-2" })),
            "client: response.created \"a1\" [] null | Announced",
        ),
        (
            provider(json!({ "type": "response.output_item.added", "response_id": "a1", "item": { "id": "words", "type": "message" } })),
            "passes",
        ),
        (provider(json!({ "type": "response.output_audio.delta", "response_id": "a1" })), "passes"),
        (
            provider(json!({ "type": "response.output_audio_transcript.done", "response_id": "a1", "transcript": "One moment." })),
            "passes",
        ),
        (
            client(json!({ "type": "conversation.item.truncate", "item_id": "words" })),
            "",
        ),
        (answer_of("c1"), "provider: function_call_output c1 done"),
        (
            aside_done(),
            "client: response.done \"a1\" [] null | provider: create tg-4",
        ),
    ]);
}

#[test]
fn words_for_a_slow_call_are_not_spoken_over_anybody() {
    call_tool("roll").check([(speech("speech_started"), "passes"), (slow(), "")]);
    call_tool("roll:idle").check([(make_created_event("r2"), "passes | turn began"), (slow(), "")]);
    call_tool("roll:idle").check([(create(), "passes"), (slow(), "")]);
    call_tool("roll").check([
        (provider(json!({ "type": "output_audio_buffer.started", "response_id": "r1" })), "passes"),
        (slow(), ""),
        (provider(json!({ "type": "output_audio_buffer.stopped", "response_id": "r1" })), "passes"),
        (slow(), "provider: create tg-2 [] conversation=none tool_choice=none instructions=Say the words of the"),
        (slow(), ""),
    ]);
    call_tool("roll").check([
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-3"),
        (slow(), ""),
    ]);
}

#[test]
fn a_caller_who_speaks_is_not_talked_over_by_the_announcement() {
    call_tool("roll").check([
        (slow(), "provider: create tg-2 [] conversation=none tool_choice=none instructions=Say the words of the"),
        (
            created_aside("a1", &json!({ "tollgate": "tg-2" })),
            "client: response.created \"a1\" [] null | Announced",
        ),
        (speech("speech_started"), "passes | provider: response.cancel \"a1\""),
    ]);
}

#[test]
fn an_announcement_that_is_refused_is_not_told_and_stops_nothing() {
    call_tool("roll").check([
        (slow(), "provider: create tg-2 [] conversation=none tool_choice=none instructions=Say the words of the"),
        (error("tg-2", "invalid_value"), ""),
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-4"),
    ]);
}
