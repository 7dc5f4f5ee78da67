//! Tools and instructions: joined on the way to the provider, parted on the way back.

use serde_json::{Value, json};

use super::script::*;
use crate::realtime::events::{
    DialectEvent, DialectStep, RealtimeDialect, RealtimeFrame, RealtimeOffer,
};
use crate::realtime::openai::OpenAiRealtime;

fn update_session(tools: &[&str]) -> Says {
    let tools: Vec<Value> = tools.iter().map(|name| function(name)).collect();
    provider(session("session.updated", &tools.into()))
}

#[test]
fn our_tools_are_declared_as_soon_as_the_provider_speaks() {
    Talk::fresh("roll look").check([
        (
            provider(session("session.created", &json!([]))),
            "passes | provider: session.update [roll look]",
        ),
        (update_session(&["roll", "look"]), ""),
    ]);
}

#[test]
fn a_client_that_speaks_first_speaks_after_our_tools() {
    Talk::fresh("roll").check([
        (create(), "provider: session.update [roll] | provider: create mine"),
        (provider(session("session.created", &json!([]))), "passes"),
        (update_session(&["roll"]), ""),
    ]);
}

#[test]
fn without_tools_and_prompt_nothing_is_said() {
    Talk::fresh("").check([
        (provider(session("session.created", &json!([]))), "passes"),
        (create(), "passes"),
        (update_session(&[]), "passes"),
    ]);
}

#[test]
fn b_ws_12_a_clients_update_keeps_our_tools_and_its_echo_does_not_show_them() {
    Talk::with("roll look").check([
        (update(&["mine"]), "provider: session.update [mine roll look]"),
        (update_session(&["mine", "roll", "look"]), "client: session.updated [mine] \"be kind\""),
        (update(&[]), "provider: session.update [roll look]"),
        (update_session(&["roll", "look"]), "client: session.updated [] \"be kind\""),
    ]);
}

#[test]
fn tools_that_a_clients_update_was_the_first_to_carry_are_not_shown_either() {
    Talk::with("roll").check([
        (Says::News(DialectEvent::Offer(offer("roll look"))), ""),
        (update(&["mine"]), "provider: session.update [mine roll look]"),
        (update_session(&["mine", "roll", "look"]), "client: session.updated [mine] \"be kind\""),
    ]);
}

#[test]
fn a_name_that_both_declare_is_the_clients() {
    Talk::with("roll look").check([
        (update(&["roll"]), "provider: session.update [roll look]"),
        (update_session(&["roll", "look"]), "client: session.updated [roll] \"be kind\""),
        (make_created_event("r1"), "passes | turn began"),
        (item_began("r1", "c1:roll"), "passes"),
        (item_done("r1", "c1:roll"), "passes"),
        (finish_turn("r1", "completed", "c1:roll"), "passes"),
    ]);
}

#[test]
fn a_name_that_the_client_gave_up_is_still_its_own_until_we_offer_it() {
    Talk::with("look").check([
        (update(&["mine"]), "provider: session.update [mine look]"),
        (update(&[]), "provider: session.update [look]"),
        (item_done("r1", "c1:mine"), "passes"),
        (Says::Wait(250), ""),
        (Says::News(DialectEvent::Offer(offer("mine"))), "provider: session.update [mine]"),
        (item_done("r1", "c2:mine"), "run c2 mine"),
    ]);
}

#[test]
fn an_update_that_was_refused_changes_nothing() {
    Talk::with("roll").check([
        (update(&["mine"]), "provider: session.update [mine roll]"),
        (update_session(&["mine", "roll"]), "client: session.updated [mine] \"be kind\""),
        (update(&["roll"]), "provider: session.update [roll]"),
        (error("mine", "invalid_value"), "passes"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
    ]);
}

#[test]
fn answers_to_updates_are_told_to_whom_they_belong() {
    let unnamed = || {
        client(json!({ "type": "session.update", "session": { "type": "realtime", "speed": 9 } }))
    };
    Talk::with("roll").check([
        (unnamed(), "provider: session.update"),
        (Says::Wait(300), ""),
        (
            Says::News(DialectEvent::Offer(offer("roll look"))),
            "provider: session.update [roll look]",
        ),
        (unnamed(), "provider: session.update"),
        (error("tg-2", "invalid_value"), "client: error invalid_value for null"),
        (update_session(&["roll", "look"]), ""),
        (update_session(&["roll", "look"]), "client: session.updated [] \"be kind\""),
    ]);
}

#[test]
fn an_update_of_ours_that_is_refused_is_not_told_and_tried_again_with_the_next_offer() {
    Talk::fresh("roll").check([
        (
            provider(session("session.created", &json!([]))),
            "passes | provider: session.update [roll]",
        ),
        (error("tg-1", "invalid_value"), ""),
        (Says::Wait(300), ""),
        (Says::News(DialectEvent::Offer(offer("roll"))), "provider: session.update [roll]"),
    ]);
}

#[test]
fn r_24_changes_of_the_offer_are_told_at_once_and_then_at_most_every_quarter_second() {
    let offers = |tools: &str| Says::News(DialectEvent::Offer(offer(tools)));
    Talk::with("roll").check([
        (Says::Wait(1000), ""),
        (offers("look"), "provider: session.update [look]"),
        (offers("roll"), ""),
        (Says::Wait(100), ""),
        (offers("roll look"), ""),
        (Says::Wait(149), ""),
        (Says::Wait(1), "provider: session.update [roll look]"),
        (offers("look"), ""),
        (offers("roll look"), ""),
        (Says::Wait(250), ""),
    ]);
}

#[test]
fn the_prompt_stands_before_the_clients_instructions_and_is_not_shown() {
    let instructions = |text: &str| {
        client(json!({ "type": "session.update", "event_id": "mine", "session": {
            "type": "realtime", "instructions": text } }))
    };
    let render = |text: &str| {
        provider(json!({ "type": "session.updated", "session": { "instructions": text } }))
    };
    let machine = OpenAiRealtime::new(opening(prompt_with("roll", "You are Ada.")));
    Talk::open_session(machine).check([
        (
            provider(session("session.created", &json!([]))),
            "passes | provider: session.update [roll] \"You are Ada.\"",
        ),
        (render("You are Ada."), ""),
        (update(&["mine"]), "provider: session.update [mine roll]"),
        (render("You are Ada."), "client: session.updated \"be kind\""),
        (instructions("Speak French."), "provider: session.update \"You are Ada.\\n\\nSpeak French.\""),
        (render("You are Ada.\n\nSpeak French."), "client: session.updated \"Speak French.\""),
        (Says::Wait(300), ""),
        (
            Says::News(DialectEvent::Offer(prompt_with("roll", "You are Bob."))),
            "provider: session.update [mine roll] \"You are Bob.\\n\\nSpeak French.\"",
        ),
        (
            client(json!({ "type": "response.create", "event_id": "x", "response": { "instructions": "Greet." } })),
            "provider: create x instructions=You are Bob.\n\nGreet.",
        ),
    ]);
}

#[test]
fn a_response_with_tools_of_its_own_has_ours_too_and_one_with_none_has_none() {
    let asks = |tools: Value| {
        client(
            json!({ "type": "response.create", "event_id": "x", "response": { "tools": tools } }),
        )
    };
    Talk::with("roll").check([
        (asks(json!([function("once")])), "provider: create x [once roll]"),
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:once"), "passes"),
        (item_done("r1", "c2:roll"), "run c2 roll"),
        (
            finish_turn("r1", "completed", "c1:once c2:roll"),
            "client: response.done \"r1\" [c1] null | confirm c2",
        ),
        (answer_of("c2"), "provider: function_call_output c2 done"),
        (output("c1"), "passes"),
        (asks(json!([])), "passes"),
        (make_created_event("r2"), "passes"),
        (finish_turn("r2", "completed", ""), "passes | turn ended"),
        (item_done("r9", "c3:once"), "run c3 once"),
    ]);
}

#[test]
fn a_response_beside_the_conversation_cannot_call_us() {
    let aside = |extra: Value| {
        let mut response = json!({ "conversation": "none" });
        response.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        client(json!({ "type": "response.create", "event_id": "x", "response": response }))
    };
    Talk::with("roll").check([
        (update(&["mine"]), "provider: session.update [mine roll]"),
        (aside(json!({})), "provider: create x [mine] conversation=none"),
        (aside(json!({ "tools": [] })), "passes"),
        (created_aside("r1", &json!({ "theirs": "1" })), "passes"),
        (item_done("r1", "c1:roll"), ""),
        (
            provider(json!({ "type": "response.done", "response": { "id": "r1", "status": "completed", "output": [] } })),
            "passes",
        ),
    ]);
}

#[test]
fn a_session_that_only_transcribes_is_left_alone() {
    let kind = |kind: &str| json!({ "type": kind, "event_id": "e", "session": { "type": "transcription" } });
    Talk::fresh("roll").check([
        (provider(kind("session.created")), "passes"),
        (client(kind("session.update")), "provider: session.update"),
        (provider(kind("session.updated")), "passes"),
    ]);
}

#[test]
fn tools_that_the_session_has_from_its_beginning_are_the_clients() {
    Talk::fresh("roll").check([
        (
            provider(session("session.created", &json!([function("theirs")]))),
            "passes | provider: session.update [theirs roll]",
        ),
        (item_done("r1", "c1:theirs"), "passes"),
    ]);
}

#[test]
fn b_ws_11_what_is_no_event_is_refused_or_passed_on() {
    let mut talk = Talk::with("roll");
    let now = talk.now;
    let refused = talk.machine.on_client_message(RealtimeFrame::Binary(b"{}"), now);
    assert!(refused != DialectStep::forward());
    for (text, passes) in [
        ("{\"type\":\"a\",\"type\":\"b\"}", false),
        ("{\"type\":7}", false),
        ("nonsense", false),
        ("[]", false),
        ("{}", true),
        ("{\"type\":\"session.update\",\"session\":{\"tools\":[],\"tools\":[]}}", false),
        ("{\"type\":\"response.create\",\"response\":{},\"response\":{}}", false),
        (
            "{\"type\":\"conversation.item.create\",\"item\":{\"type\":\"message\",\"type\":\"function_call_output\"}}",
            false,
        ),
        ("{\"type\":\"conversation.item.create\",\"item\":7}", false),
    ] {
        let step = talk.machine.on_client_message(RealtimeFrame::Text(text), now);
        assert_eq!(step == DialectStep::forward(), passes, "{text}");
    }
    for frame in [
        RealtimeFrame::Binary(&[0xff]),
        RealtimeFrame::Text("nonsense"),
        RealtimeFrame::Text("{\"type\":\"response.done\",\"response\":7}"),
    ] {
        assert_eq!(talk.machine.on_provider_message(frame, now), DialectStep::forward());
    }
}

#[test]
fn an_offer_that_takes_all_back_clears_our_tools() {
    Talk::with("roll").check([
        (Says::Wait(300), ""),
        (Says::News(DialectEvent::Offer(RealtimeOffer::default())), "provider: session.update []"),
    ]);
}
