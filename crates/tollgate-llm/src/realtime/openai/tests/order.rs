//! Calls and answers in the order that the protocol wants.

use serde_json::json;
use tollgate_core::tool::ResultDelivery;

use super::script::*;
use crate::realtime::events::AnswerStage;

#[test]
fn a_call_is_run_hidden_answered_after_its_response_and_spoken_of() {
    Talk::with("roll").check([
        (speech("committed"), "passes | turn began"),
        (make_created_event("r1"), "passes"),
        (item_began("r1", "c1:roll"), ""),
        (item_added(&json!({ "id": "item_c1", "type": "function_call", "call_id": "c1", "name": "roll" }), None), ""),
        (provider(json!({ "type": "response.function_call_arguments.delta", "response_id": "r1", "item_id": "item_c1", "call_id": "c1", "delta": "{" })), ""),
        (provider(json!({ "type": "response.function_call_arguments.done", "response_id": "r1", "item_id": "item_c1", "call_id": "c1", "arguments": "{}" })), ""),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (finish_turn("r1", "completed", "c1:roll"), "client: response.done \"r1\" [] null | confirm c1"),
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-3"),
        (output_added("c1"), ""),
        (created_by_us("r2", "tg-3"), "client: response.created \"r2\" [] null"),
        (provider(json!({ "type": "response.output_audio_transcript.done", "response_id": "r2", "transcript": "a six" })), "passes | said a six"),
        (finish_turn("r2", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn an_answer_that_comes_early_waits_for_the_end_of_its_response() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (answer_of("c1"), ""),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1 \
             | provider: function_call_output c1 done | provider: create tg-3",
        ),
    ]);
}

/// The client has answered its own call `c1`, whose response goes on.
fn answered_early() -> Talk {
    let mut talk = Talk::with("roll");
    talk.says(update(&["mine"]));
    talk.check([
        (make_created_event("r1"), "passes | turn began"),
        (item_began("r1", "c1:mine"), "passes"),
        (output("c1"), ""),
    ]);
    talk
}

#[test]
fn an_answer_of_the_clients_that_comes_early_waits_for_the_end_of_its_response_too() {
    answered_early().check([
        (item_done("r1", "c1:mine"), "passes"),
        (item_done("r1", "c2:roll"), "run c2 roll"),
        (
            finish_turn("r1", "completed", "c1:mine c2:roll"),
            "client: response.done \"r1\" [c1] null | provider: function_call_output c1 {} | confirm c2",
        ),
        (answer_of("c2"), "provider: function_call_output c2 done"),
        (output("c1"), "passes"),
    ]);
}

#[test]
fn a_response_that_the_client_asks_for_after_an_early_answer_knows_it() {
    answered_early().check([
        (create(), ""),
        (
            finish_turn("r1", "completed", "c1:mine"),
            "passes | provider: function_call_output c1 {} | provider: create mine",
        ),
    ]);
}

#[test]
fn an_early_answer_outlasts_a_response_whose_end_is_never_told() {
    answered_early()
        .check([(make_created_event("r2"), "passes | provider: function_call_output c1 {}")]);
}

#[test]
fn the_client_is_told_of_the_end_before_anything_new_is_asked_for() {
    let mut talk = Talk::with("roll");
    talk.says(make_created_event("r1"));
    talk.says(item_done("r1", "c1:roll"));
    talk.says(answer_of("c1"));
    let text = talk.says(finish_turn("r1", "completed", "c1:roll"));
    assert!(text.starts_with("client: response.done"), "{text}");
}

#[test]
fn several_calls_get_one_response_after_the_last_answer() {
    Talk::with("roll look").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (item_done("r1", "c2:look"), "run c2 look"),
        (
            finish_turn("r1", "completed", "c1:roll c2:look"),
            "client: response.done \"r1\" [] null | confirm c1 c2",
        ),
        (answer_of("c2"), "provider: function_call_output c2 done"),
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-4"),
    ]);
}

#[test]
fn arguments_that_are_done_are_no_reason_to_run_anything() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_began("r1", "c1:roll"), ""),
        (provider(json!({ "type": "response.function_call_arguments.done", "response_id": "r1", "item_id": "item_c1", "call_id": "c1", "arguments": "{\"a" })), ""),
        (item_done("r1", "c1:roll:incomplete"), ""),
        (
            finish_turn("r1", "cancelled", "c1:roll:incomplete"),
            "client: response.done \"r1\" [] null | provider: function_call_output c1 \
             {\"status\":\"error\",\"retryable\":true,\"message\":\"the call was not made: its \
             response was cut off\"} | turn interrupted",
        ),
    ]);
}

#[test]
fn b_ws_12_a_call_id_that_comes_twice_runs_once() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (item_done("r1", "c1:roll"), ""),
        (
            finish_turn("r1", "completed", "c1:roll c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1",
        ),
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-3"),
        (created_by_us("r2", "tg-3"), "client: response.created \"r2\" [] null"),
        (item_done("r2", "c1:roll"), ""),
        (
            finish_turn("r2", "completed", "c1:roll"),
            "client: response.done \"r2\" [] null | turn ended",
        ),
        (answer_of("c1"), ""),
    ]);
}

#[test]
fn a_call_that_only_the_end_of_the_response_tells_is_run_then() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | run c1 roll | confirm c1",
        ),
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-3"),
    ]);
}

#[test]
fn a_call_for_what_nobody_declared_is_run_too_for_the_gate_to_refuse() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:format_disk"), "run c1 format_disk"),
    ]);
}

#[test]
fn issue_10_a_response_that_turn_detection_began_is_not_collided_with() {
    Talk::with("roll:idle").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1 | turn ended",
        ),
        (speech("speech_started"), "passes"),
        (speech("speech_stopped"), "passes"),
        (speech("committed"), "passes | turn began"),
        (make_created_event("r2"), "passes"),
        (
            answer("c1", AnswerStage::Done, ResultDelivery::WhenIdle),
            "provider: function_call_output c1 done",
        ),
        (output_added("c1"), ""),
        (finish_turn("r2", "completed", ""), "passes | provider: create tg-3"),
    ]);
}

#[test]
fn issue_10_a_race_that_was_lost_is_not_told_and_the_answer_not_forgotten() {
    Talk::with("roll").check([
        (item_added(&json!({ "id": "m1", "type": "message", "role": "user" }), None), "passes"),
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1",
        ),
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-3"),
        (make_created_event("r2"), "passes"),
        (error("tg-3", "conversation_already_has_active_response"), ""),
        (output_added("c1"), ""),
        (finish_turn("r2", "completed", ""), "passes | provider: create tg-4"),
        (created_by_us("r3", "tg-4"), "client: response.created \"r3\" [] null"),
        (finish_turn("r3", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn a_race_is_not_repeated_if_the_other_response_knew_the_answer() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1",
        ),
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-3"),
        (output_added("c1"), ""),
        (make_created_event("r2"), "passes"),
        (error("tg-3", "conversation_already_has_active_response"), ""),
        (finish_turn("r2", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn a_race_against_a_response_that_is_not_seen_is_tried_again_a_second_later() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1",
        ),
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-3"),
        (error("tg-3", "conversation_already_has_active_response"), ""),
        (Says::Wait(999), ""),
        (Says::Wait(1), "provider: create tg-4"),
    ]);
}

#[test]
fn another_failure_of_our_request_is_told_without_our_id() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1",
        ),
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-3"),
        (error("tg-3", "model_error"), "client: error model_error for null | turn ended"),
    ]);
}

#[test]
fn errors_about_our_own_messages_are_not_told() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1",
        ),
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-3"),
        (error("tg-2", "invalid_tool_call_id"), ""),
        (error("theirs", "invalid_value"), "passes"),
    ]);
}

#[test]
fn items_of_the_client_never_stand_behind_what_it_does_not_see() {
    let message = |id: &str| json!({ "id": id, "type": "message", "role": "assistant" });
    let call = json!({ "id": "item_c1", "type": "function_call", "call_id": "c1", "name": "roll" });
    Talk::with("roll").check([
        (item_added(&message("m1"), None), "passes"),
        (make_created_event("r1"), "passes | turn began"),
        (item_began("r1", "c1:roll"), ""),
        (item_added(&call, Some("m1")), ""),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (finish_turn("r1", "completed", "c1:roll"), "client: response.done \"r1\" [] null | confirm c1"),
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-3"),
        (item_added(&json!({ "id": "out", "type": "function_call_output", "call_id": "c1" }), Some("item_c1")), ""),
        (item_added(&message("m2"), Some("out")), "client: conversation.item.added \"m1\""),
        (
            provider(json!({ "type": "conversation.item.done", "previous_item_id": "out", "item": message("m2") })),
            "client: conversation.item.done \"m1\"",
        ),
        (
            provider(json!({ "type": "input_audio_buffer.committed", "item_id": "u2", "previous_item_id": "out" })),
            "client: input_audio_buffer.committed \"u2\" \"m1\" | turn ended | turn began",
        ),
        (
            client(json!({ "type": "conversation.item.create", "previous_item_id": "m1", "item": { "type": "message", "role": "system" } })),
            "provider: message   after out",
        ),
        (
            client(json!({ "type": "conversation.item.create", "previous_item_id": "m2", "item": { "type": "message", "role": "system" } })),
            "passes",
        ),
    ]);
}

#[test]
fn an_item_whose_only_neighbours_are_hidden_is_the_first_one() {
    let call = json!({ "id": "item_c1", "type": "function_call", "call_id": "c1", "name": "roll" });
    Talk::with("roll").check([
        (item_added(&call, None), ""),
        (
            item_added(&json!({ "id": "m1", "type": "message", "role": "user" }), Some("item_c1")),
            "client: conversation.item.added null",
        ),
    ]);
}

#[test]
fn what_is_unknown_and_what_is_sound_passes_untouched() {
    Talk::with("roll").check([
        (provider(json!({ "type": "response.output_audio.delta", "response_id": "r1", "delta": "AAAA" })), "passes"),
        (provider(json!({ "type": "rate_limits.updated", "rate_limits": [] })), "passes"),
        (provider(json!({ "type": "ping", "timestamp": 1 })), "passes"),
        (client(json!({ "type": "input_audio_buffer.append", "audio": "AAAA" })), "passes"),
        (client(json!({ "type": "something.new" })), "passes"),
    ]);
}

#[test]
fn a_near_copy_that_gives_nothing_back_still_gets_one_response() {
    let begun =
        |id: &str| provider(json!({ "type": "response.created", "response": { "id": id } }));
    let over = |id: &str| provider(json!({ "type": "response.done", "response": { "id": id } }));
    Talk::with("roll").check([
        (begun("r1"), "passes | turn began"),
        (
            provider(json!({ "type": "response.output_item.done", "response_id": "r1", "item": {
                "type": "function_call", "call_id": "c1", "name": "roll", "arguments": "{}" } })),
            "run c1 roll",
        ),
        (over("r1"), "passes | confirm c1"),
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-3"),
        (begun("r2"), "passes"),
        (over("r2"), "passes | turn ended"),
    ]);
}
