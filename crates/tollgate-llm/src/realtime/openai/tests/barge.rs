//! The caller takes the turn.

use serde_json::json;
use tollgate_core::tool::ResultDelivery;

use super::script::*;
use crate::realtime::events::AnswerStage;

fn cancel() -> Says {
    client(json!({ "type": "response.cancel" }))
}

fn cancel_response() -> Says {
    provider(json!({ "type": "response.done", "response": { "id": "r1", "status": "cancelled",
        "status_details": { "reason": "client_cancelled" }, "conversation_id": "conv_1", "output": [] } }))
}

#[test]
fn speech_that_cancels_a_response_stops_its_calls_and_asks_for_nothing() {
    Talk::with("roll").check([
        (speech("committed"), "passes | turn began"),
        (make_created_event("r1"), "passes"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (speech("speech_started"), "passes"),
        (
            finish_turn("r1", "cancelled", "c1:roll"),
            "client: response.done \"r1\" [] null | stop c1 | turn interrupted",
        ),
        (
            answer("c1", AnswerStage::Cancelled, ResultDelivery::Wait),
            "provider: function_call_output c1 cancelled",
        ),
        (speech("speech_stopped"), "passes"),
        (speech("committed"), "passes | turn began"),
        (make_created_event("r2"), "passes"),
        (finish_turn("r2", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn what_could_not_be_stopped_is_still_told_to_the_model() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (
            finish_turn("r1", "cancelled", "c1:roll"),
            "client: response.done \"r1\" [] null | stop c1 | turn interrupted",
        ),
        (answer_of("c1"), "provider: function_call_output c1 done"),
    ]);
}

#[test]
fn an_answer_that_was_there_before_the_cancellation_is_told_too() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (answer_of("c1"), ""),
        (
            finish_turn("r1", "cancelled", "c1:roll"),
            "client: response.done \"r1\" [] null | provider: function_call_output c1 done \
             | turn interrupted",
        ),
    ]);
}

#[test]
fn calls_of_a_response_that_failed_or_was_cut_short_fall_with_it() {
    for status in ["incomplete", "failed"] {
        Talk::with("roll").check([
            (make_created_event("r1"), "passes | turn began"),
            (item_done("r1", "c1:roll"), "run c1 roll"),
            (
                finish_turn("r1", status, "c1:roll"),
                "client: response.done \"r1\" [] null | stop c1 | turn ended",
            ),
            (
                answer("c1", AnswerStage::Cancelled, ResultDelivery::Wait),
                "provider: function_call_output c1 cancelled",
            ),
        ]);
    }
}

#[test]
fn a_new_turn_of_the_caller_stops_the_calls_of_the_last_one() {
    Talk::with("roll look:idle").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (item_done("r1", "c2:look"), "run c2 look"),
        (
            finish_turn("r1", "completed", "c1:roll c2:look"),
            "client: response.done \"r1\" [] null | confirm c1 c2",
        ),
        (speech("speech_started"), "passes"),
        (speech("speech_stopped"), "passes"),
        (speech("committed"), "passes | turn interrupted | stop c1 | turn began"),
        (
            answer("c1", AnswerStage::Cancelled, ResultDelivery::Wait),
            "provider: function_call_output c1 cancelled",
        ),
        (make_created_event("r2"), "passes"),
        (finish_turn("r2", "completed", ""), "passes | turn ended"),
        (
            answer("c2", AnswerStage::Done, ResultDelivery::WhenIdle),
            "provider: function_call_output c2 done | provider: create tg-4",
        ),
    ]);
}

#[test]
fn what_is_typed_while_a_call_runs_takes_the_turn_too() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1",
        ),
        (type_text("never mind"), "passes | turn interrupted | stop c1 | hears never mind"),
        (create(), "passes"),
        (
            answer("c1", AnswerStage::Cancelled, ResultDelivery::Wait),
            "provider: function_call_output c1 cancelled",
        ),
        (make_created_event("r2"), "passes | turn began"),
        (finish_turn("r2", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn b_ws_12_a_client_that_cancels_while_a_tool_runs_stops_it() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1",
        ),
        (create(), ""),
        // The provider would refuse it: nothing runs there.
        (cancel(), "turn interrupted | stop c1"),
        (
            answer("c1", AnswerStage::Cancelled, ResultDelivery::Wait),
            "provider: function_call_output c1 cancelled",
        ),
    ]);
}

#[test]
fn a_client_that_cancels_the_response_takes_the_turn() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (cancel(), "passes"),
        (cancel_response(), "passes | stop c1 | turn interrupted"),
    ]);
}

#[test]
fn answers_that_come_while_the_caller_speaks_are_left_to_the_next_response() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1",
        ),
        (speech("speech_started"), "passes"),
        (answer_of("c1"), "provider: function_call_output c1 done"),
        (output_added("c1"), ""),
        (speech("speech_stopped"), "passes"),
        (speech("committed"), "passes | turn ended | turn began"),
        (make_created_event("r2"), "passes"),
        (finish_turn("r2", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn speech_that_nobody_commits_does_not_keep_the_answer() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1",
        ),
        (speech("speech_started"), "passes"),
        (speech("speech_stopped"), "passes"),
        (answer_of("c1"), "provider: function_call_output c1 done"),
        (Says::Wait(1000), "provider: create tg-3"),
    ]);
}

#[test]
fn noise_that_was_thrown_away_does_not_keep_the_answer() {
    Talk::with("roll").check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1",
        ),
        (speech("speech_started"), "passes"),
        (answer_of("c1"), "provider: function_call_output c1 done"),
        (speech("cleared"), "passes | provider: create tg-3"),
    ]);
}
