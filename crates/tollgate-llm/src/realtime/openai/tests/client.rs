//! What the client may do, what it may not, and what it is told.

use serde_json::json;
use tollgate_core::budget::Tier;
use tollgate_core::tool::ResultDelivery;

use super::script::*;
use crate::realtime::events::{AnswerStage, DialectEvent};

/// After a call of ours that is complete and runs.
fn running() -> Talk {
    let mut talk = Talk::with("roll");
    talk.says(update(&["mine"]));
    talk.says(make_created_event("r1"));
    talk.says(item_began("r1", "c1:roll"));
    talk.says(item_done("r1", "c1:roll"));
    talk.says(finish_turn("r1", "completed", "c1:roll"));
    talk
}

#[test]
fn b_ws_12_an_answer_to_our_call_cannot_be_forged() {
    running().check([
        (output("c1"), "client: error invalid_tool_call_id for \"mine\""),
        (output("c9"), "passes"),
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-4"),
        (output("c1"), "client: error invalid_tool_call_id for \"mine\""),
    ]);
}

#[test]
fn b_ws_12_a_result_that_is_delivered_late_cannot_be_forged_either() {
    let mut talk = running();
    talk.says(answer("c1", AnswerStage::Pending, ResultDelivery::Wait));
    let late = talk.says(answer("c1", AnswerStage::Late, ResultDelivery::Silent));
    let id = late.split_whitespace().nth(2).unwrap();
    let text = talk.says(output(id));
    assert_eq!(text, "client: error invalid_tool_call_id for \"mine\"");
}

#[test]
fn hidden_items_can_be_neither_read_nor_deleted_nor_cut() {
    let points = |verb: &str| {
        client(json!({ "type": format!("conversation.item.{verb}"), "event_id": "mine",
            "item_id": "item_c1" }))
    };
    running().check([
        (points("delete"), "client: error item_delete_invalid_item_id for \"mine\""),
        (points("retrieve"), "client: error item_retrieve_invalid_item_id for \"mine\""),
        (points("truncate"), "client: error item_truncate_invalid_item_id for \"mine\""),
        (client(json!({ "type": "conversation.item.delete", "item_id": "other" })), "passes"),
    ]);
}

#[test]
fn the_clients_own_tools_are_the_clients() {
    let mut talk = Talk::with("roll");
    talk.check([
        (update(&["mine"]), "provider: session.update [mine roll]"),
        (make_created_event("r1"), "passes | turn began"),
        (item_began("r1", "c1:mine"), "passes"),
        (
            provider(json!({ "type": "response.function_call_arguments.done", "item_id": "item_c1", "call_id": "c1", "name": "mine", "arguments": "{}" })),
            "passes",
        ),
        (item_done("r1", "c1:mine"), "passes"),
        (finish_turn("r1", "completed", "c1:mine"), "passes"),
        (output("c1"), "passes"),
        (create(), "passes"),
        (make_created_event("r2"), "passes"),
        (finish_turn("r2", "completed", ""), "passes | turn ended"),
    ]);
}

/// The model called one tool of each side in one response.
fn both() -> Talk {
    let mut talk = Talk::with("roll");
    talk.says(update(&["mine"]));
    talk.says(make_created_event("r1"));
    talk.says(item_done("r1", "c1:mine"));
    talk.says(item_done("r1", "c2:roll"));
    talk.says(finish_turn("r1", "completed", "c1:mine c2:roll"));
    talk
}

#[test]
fn a_request_of_the_clients_waits_for_our_answer_and_serves_it() {
    both().check([
        (output("c1"), "passes"),
        (create(), ""),
        (create(), "client: error conversation_already_has_active_response for \"mine\""),
        (answer_of("c2"), "provider: function_call_output c2 done | provider: create mine"),
        (make_created_event("r2"), "passes"),
        (finish_turn("r2", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn our_answer_waits_for_the_clients_request() {
    both().check([
        (answer_of("c2"), "provider: function_call_output c2 done"),
        (Says::Wait(4000), ""),
        (output("c1"), "passes"),
        (Says::Wait(499), ""),
        (create(), "passes"),
        (make_created_event("r2"), "passes"),
        (finish_turn("r2", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn a_client_that_asks_for_nothing_does_not_keep_our_answer() {
    both().check([
        (answer_of("c2"), "provider: function_call_output c2 done"),
        (output("c1"), "passes"),
        (Says::Wait(500), "provider: create tg-3"),
    ]);
    both().check([
        (answer_of("c2"), "provider: function_call_output c2 done"),
        (Says::Wait(4999), ""),
        (Says::Wait(1), "provider: create tg-3"),
    ]);
}

#[test]
fn a_request_while_ours_is_under_way_is_kept_for_afterwards() {
    running().check([
        (answer_of("c1"), "provider: function_call_output c1 done | provider: create tg-3"),
        (create(), ""),
        (created_by_us("r2", "tg-3"), "client: response.created \"r2\" [] null"),
        (finish_turn("r2", "completed", ""), "passes | provider: create mine"),
        (make_created_event("r3"), "passes"),
        (finish_turn("r3", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn what_is_typed_is_heard() {
    Talk::with("roll").check([
        (type_text("look it up"), "passes | hears look it up"),
        (create(), "passes"),
        (make_created_event("r1"), "passes | turn began"),
    ]);
}

#[test]
fn what_is_spoken_is_heard_as_it_grows() {
    Talk::with("roll").check([
        (heard("u1", "look "), "passes | hears look ..."),
        (heard("u1", "it up"), "passes | hears look it up..."),
        (heard_all("u1", "Look it up."), "passes | hears Look it up."),
        (heard_all("u1", "Look it up."), "passes"),
        (heard("u2", "and"), "passes | hears and..."),
        (not_heard("u2"), "passes"),
        (heard("u2", "so"), "passes | hears so..."),
    ]);
}

#[test]
fn calls_that_the_client_writes_into_the_history_stay_visible() {
    let call = json!({ "id": "old", "type": "function_call", "call_id": "c0", "name": "roll", "arguments": "{}" });
    Talk::with("roll").check([
        (client(json!({ "type": "conversation.item.create", "item": call })), "passes"),
        (item_added(&call, None), "passes"),
        (output("c0"), "passes"),
    ]);
}

#[test]
fn the_tier_is_wished_for_and_told() {
    let wish = |tier: serde_json::Value| client(json!({ "type": "tollgate.tier", "tier": tier }));
    Talk::with("roll").check([
        (wish(json!("deep")), "tier deep"),
        (wish(json!(null)), "tier free"),
        (wish(json!("fastest")), "client: error invalid_value for null"),
        (client(json!({ "type": "tollgate.other" })), "client: error invalid_event for null"),
        (
            Says::News(DialectEvent::Tier {
                tier: Some(Tier::Deep),
                reason: "override".to_owned(),
            }),
            "client: tollgate.tier \"deep\" \"override\"",
        ),
    ]);
}

#[test]
fn a_request_that_waits_gives_way_to_turn_detection() {
    running().check([
        (create(), ""),
        (speech("committed"), "passes | turn interrupted | stop c1 | turn began"),
        (make_created_event("r2"), "passes"),
        (finish_turn("r2", "completed", ""), "passes | turn ended"),
        (Says::Wait(60_000), ""),
    ]);
    running().check([
        (create(), ""),
        (speech("committed"), "passes | turn interrupted | stop c1 | turn began"),
        (Says::Wait(1000), "provider: create mine"),
    ]);
}

#[test]
fn a_request_that_nobody_answers_stops_nothing_for_ever() {
    running().check([
        (
            Says::News(DialectEvent::Slow { id: "c1".to_owned(), message: "One moment.".into() }),
            "provider: create tg-2 [] conversation=none tool_choice=none instructions=Say the words of the",
        ),
        (answer_of("c1"), "provider: function_call_output c1 done"),
        (Says::Wait(10_000), "provider: create tg-4"),
    ]);
}

#[test]
fn an_announcement_that_was_put_into_the_conversation_is_known_by_its_mark() {
    running().check([
        (
            Says::News(DialectEvent::Slow { id: "c1".to_owned(), message: "One moment.".into() }),
            "provider: create tg-2 [] conversation=none tool_choice=none instructions=Say the words of the",
        ),
        (created_by_us("r2", "tg-2"), "client: response.created \"r2\" [] null"),
        (answer_of("c1"), "provider: function_call_output c1 done"),
        (finish_turn("r2", "completed", ""), "passes | provider: create tg-4"),
    ]);
}

#[test]
fn the_client_cannot_mark_a_response_as_ours() {
    let marked = json!({ "type": "response.create", "event_id": "mine", "response": {
        "metadata": { "tollgate": "tg-1" } } });
    Talk::with("roll").check([
        (client(marked), "provider: create mine"),
        (make_created_event("r1"), "passes | turn began"),
    ]);
    Talk::with("roll").check([(
        created_by_us("r1", "tg-99"),
        "client: response.created \"r1\" [] null | turn began",
    )]);
}
