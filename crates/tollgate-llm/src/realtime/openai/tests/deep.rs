//! Turns that another model answers, and this one only speaks.

use serde_json::json;

use super::script::*;
use crate::realtime::events::{DialectEvent, NoDeepAnswerError};

fn speak(words: &str) -> Says {
    Says::News(DialectEvent::Speak(Ok(words.to_owned())))
}

fn route() -> Says {
    Says::News(DialectEvent::Route)
}

/// `said` without the id of the call, which differs from session to session.
fn without_id(text: &str) -> String {
    let words = text.split(' ').map(|word| if word.starts_with("call_tg") { "ID" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

const GIVEN: &str = "provider: function_call ID answer \
                     | provider: function_call_output ID {\"status\":\"ok\",\"answer\":\"It is late.\"}";

#[test]
fn the_words_come_as_data_and_are_spoken_without_tools() {
    let mut talk = Talk::with("roll");
    talk.check([(speech("committed"), "passes | turn began"), (route(), "Delegate")]);
    let text = talk.says(speak("It is late."));
    let create = "provider: create tg-5 tool_choice=none instructions=The newest function ";
    assert_eq!(without_id(&text), format!("{GIVEN} | {create}"));
    talk.check([
        (created_by_us("r1", "tg-5"), "client: response.created \"r1\" [] null"),
        (
            provider(json!({ "type": "response.output_audio_transcript.done", "response_id": "r1", "transcript": "It is late." })),
            "passes | said It is late.",
        ),
        (finish_turn("r1", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn a_response_that_begins_by_itself_is_ended_and_never_shown() {
    let mut talk = Talk::with("roll");
    let message = json!({ "id": "m1", "type": "message", "role": "assistant", "content": [] });
    talk.check([
        (speech("committed"), "passes | turn began"),
        (route(), "Delegate"),
        (make_created_event("r1"), "provider: response.cancel \"r1\""),
        (
            provider(json!({ "type": "response.output_item.added", "response_id": "r1", "item": message })),
            "",
        ),
        (item_added(&message, None), ""),
        (provider(json!({ "type": "response.output_audio.delta", "response_id": "r1", "delta": "AAAA" })), ""),
        (
            provider(json!({ "type": "response.output_audio_transcript.done", "response_id": "r1", "transcript": "Hm" })),
            "",
        ),
        (item_done("r1", "c1:roll"), ""),
    ]);
    let text = talk.says(speak("It is late."));
    assert_eq!(without_id(&text), GIVEN);
    talk.check([
        (
            finish_turn("r1", "cancelled", "c1:roll"),
            "provider: conversation.item.delete \"m1\" | provider: conversation.item.delete \"item_c1\" \
             | provider: create tg-8 tool_choice=none instructions=The newest function ",
        ),
        (
            provider(json!({ "type": "conversation.item.deleted", "item_id": "m1" })),
            "",
        ),
        (created_by_us("r2", "tg-8"), "client: response.created \"r2\" [] null"),
        (finish_turn("r2", "completed", ""), "passes | turn ended"),
        (make_created_event("r3"), "passes | turn began"),
    ]);
}

#[test]
fn a_response_that_was_heard_already_is_ended_in_sight() {
    let mut talk = Talk::with("roll");
    talk.check([
        (speech("committed"), "passes | turn began"),
        (make_created_event("r1"), "passes"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (route(), "Delegate | provider: response.cancel \"r1\""),
        (
            finish_turn("r1", "cancelled", "c1:roll"),
            "client: response.done \"r1\" [] null | stop c1",
        ),
    ]);
    let text = talk.says(speak("It is late."));
    assert!(without_id(&text).starts_with(GIVEN), "{text}");
    assert!(text.ends_with("tool_choice=none instructions=The newest function "), "{text}");
}

#[test]
fn a_request_of_the_clients_becomes_the_one_that_speaks() {
    let mut talk = Talk::with("roll");
    talk.check([
        (type_text("think carefully"), "passes | hears think carefully"),
        (route(), "Delegate"),
        (create(), ""),
    ]);
    let text = talk.says(speak("It is late."));
    let create = "provider: create mine tool_choice=none instructions=The newest function ";
    assert_eq!(without_id(&text), format!("{GIVEN} | {create}"));
    talk.check([
        (make_created_event("r1"), "passes | turn began"),
        (finish_turn("r1", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn words_that_come_before_the_clients_request_wait_for_it() {
    let mut talk = Talk::with("roll");
    talk.check([
        (type_text("think carefully"), "passes | hears think carefully"),
        (route(), "Delegate"),
    ]);
    assert_eq!(without_id(&talk.says(speak("It is late."))), GIVEN);
    let create_as_words =
        "provider: create mine tool_choice=none instructions=The newest function ";
    assert_eq!(talk.says(create()), create_as_words);
    let mut talk = Talk::with("roll");
    talk.says(type_text("think carefully"));
    talk.says(route());
    talk.says(speak("It is late."));
    assert_eq!(talk.says(Says::Wait(499)), "");
    assert!(talk.says(Says::Wait(1)).starts_with("provider: create tg-"));
}

#[test]
fn without_words_the_model_helps_itself() {
    Talk::with("roll").check([
        (speech("committed"), "passes | turn began"),
        (route(), "Delegate"),
        (Says::News(DialectEvent::Speak(Err(NoDeepAnswerError::NoModel))), "provider: create tg-2"),
        (created_by_us("r1", "tg-2"), "client: response.created \"r1\" [] null"),
    ]);
}

#[test]
fn a_race_against_turn_detection_is_won_in_the_end() {
    let mut talk = Talk::with("roll");
    talk.says(speech("committed"));
    talk.says(route());
    talk.says(speak("It is late."));
    talk.check([
        (make_created_event("r1"), "provider: response.cancel \"r1\""),
        (error("tg-5", "conversation_already_has_active_response"), ""),
        (
            finish_turn("r1", "cancelled", ""),
            "provider: create tg-7 tool_choice=none instructions=The newest function ",
        ),
    ]);
}

#[test]
fn words_for_a_turn_that_the_caller_took_are_not_spoken() {
    Talk::with("roll").check([
        (speech("committed"), "passes | turn began"),
        (route(), "Delegate"),
        (speech("committed"), "passes | turn interrupted | turn began"),
        (speak("It is late."), ""),
        (make_created_event("r1"), "passes"),
    ]);
}

#[test]
fn words_that_are_understood_after_the_answer_go_to_nobody_else() {
    Talk::with("roll").check([
        (speech("committed"), "passes | turn began"),
        (make_created_event("r1"), "passes"),
        (finish_turn("r1", "completed", ""), "passes | turn ended"),
        (route(), ""),
        (type_text("think carefully"), "passes | hears think carefully"),
        (route(), "Delegate"),
    ]);
}
