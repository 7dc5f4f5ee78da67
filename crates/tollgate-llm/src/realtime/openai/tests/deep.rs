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

/// The session's answer to a whole utterance that this model can answer.
fn stay() -> Says {
    Says::News(DialectEvent::Stay)
}

fn slow(words: &str) -> Says {
    Says::News(DialectEvent::SlowTurn(words.into()))
}

fn audio(response: &str) -> Says {
    provider(json!({ "type": "response.output_audio.delta", "response_id": response,
        "item_id": "m1", "delta": "AAAA" }))
}

fn message() -> serde_json::Value {
    json!({ "id": "m1", "type": "message", "role": "assistant", "content": [] })
}

fn message_began(response: &str) -> Says {
    provider(json!({ "type": "response.output_item.added", "response_id": response,
        "item": message() }))
}

/// `said` without the ids of calls, which differ from session to session.
fn without_id(text: &str) -> String {
    let words = text.split(' ').map(|word| if word.starts_with("call_tg") { "ID" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

const GIVEN: &str = "provider: function_call ID answer \
                     | provider: function_call_output ID {\"status\":\"ok\",\"answer\":\"It is late.\"}";
const SPEAKS: &str = "tool_choice=none instructions=The newest function ";

/// A deep turn whose words have come, in a session with this hold.
fn delegated(hold_ms: u64) -> Talk {
    let mut talk = Talk::routed("roll", hold_ms);
    talk.check([
        (speech("committed"), "passes | turn began"),
        (heard_all("user_1", "think"), "passes | hears think"),
        (route(), "Delegate"),
    ]);
    talk
}

#[test]
fn the_provider_leaves_the_responses_to_us_and_the_client_sees_its_own_setting() {
    let mut talk = Talk::fresh("roll");
    talk.check([
        (Says::News(DialectEvent::Hold(Some(std::time::Duration::from_millis(300)))), ""),
        (
            provider(session_that_hears("session.created", true)),
            "passes | provider: session.update create_response=false \
             | provider: session.update [roll]",
        ),
        (provider(session_that_hears("session.updated", false)), ""),
        (provider(session_that_hears("session.updated", false)), ""),
    ]);
    let detects = |detection: serde_json::Value| {
        client(json!({ "type": "session.update", "event_id": "mine", "session": {
            "type": "realtime", "audio": { "input": { "turn_detection": detection } } } }))
    };
    talk.check([
        (
            detects(json!({ "type": "semantic_vad" })),
            "provider: session.update create_response=false",
        ),
        (
            provider(session_that_hears("session.updated", false)),
            "client: session.updated [] \"be kind\" create_response=true",
        ),
        // The client keeps what it takes.
        (
            detects(json!({ "type": "server_vad", "create_response": false })),
            "provider: session.update create_response=false",
        ),
        (provider(session_that_hears("session.updated", false)), "passes"),
        (Says::News(DialectEvent::Hold(None)), ""),
    ]);
}

#[test]
fn a_session_whose_turns_cannot_be_routed_is_left_as_it_is() {
    Talk::fresh("roll").check([
        (
            provider(session_that_hears("session.created", true)),
            "passes | provider: session.update [roll]",
        ),
        (provider(session_that_hears("session.updated", true)), ""),
        (speech("committed"), "passes | turn began"),
        (make_created_event("r1"), "passes"),
        (heard_all("user_1", "think"), "passes | hears think"),
        (route(), ""),
        (audio("r1"), "passes"),
    ]);
}

#[test]
fn a_hold_ends_with_the_agents_last_slow_tool() {
    Talk::routed("roll", 300).check([
        (Says::News(DialectEvent::Hold(None)), "provider: session.update create_response=true"),
        // It may not know yet.
        (speech("committed"), "passes | turn began | provider: create tg-4"),
    ]);
}

#[test]
fn a_provider_that_refuses_to_wait_is_not_asked_again() {
    let mut talk = Talk::fresh("roll");
    talk.says(Says::News(DialectEvent::Hold(Some(std::time::Duration::from_millis(300)))));
    talk.check([
        (
            provider(session_that_hears("session.created", true)),
            "passes | provider: session.update create_response=false \
             | provider: session.update [roll]",
        ),
        (error("tg-1", "unknown_parameter"), ""),
        (provider(session_that_hears("session.updated", true)), ""),
        (speech("committed"), "passes | turn began"),
        (make_created_event("r1"), ""),
        (audio("r1"), "client: response.created \"r1\" [] null | client: response.output_audio.delta \"m1\" \"r1\""),
    ]);
}

#[test]
fn a_response_of_a_provider_that_confirms_nothing_is_requested_in_the_end() {
    let mut talk = Talk::fresh("roll");
    talk.says(Says::News(DialectEvent::Hold(Some(std::time::Duration::from_millis(300)))));
    talk.says(provider(session_that_hears("session.created", true)));
    talk.check([
        (speech("committed"), "passes | turn began"),
        (Says::Wait(999), ""),
        (Says::Wait(1), "provider: create tg-3"),
        (created_by_us("r1", "tg-3"), ""),
    ]);
}

#[test]
fn the_words_come_as_data_and_are_spoken_without_tools() {
    let mut talk = delegated(300);
    let text = talk.says(speak("It is late."));
    assert_eq!(without_id(&text), format!("{GIVEN} | provider: create tg-6 {SPEAKS}"));
    talk.check([
        (created_by_us("r1", "tg-6"), "client: response.created \"r1\" [] null"),
        (
            provider(json!({ "type": "response.output_audio_transcript.done", "response_id": "r1", "transcript": "It is late." })),
            "passes | said It is late.",
        ),
        (finish_turn("r1", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn words_that_this_model_can_answer_are_answered_at_once() {
    Talk::routed("roll", 300).check([
        (speech("committed"), "passes | turn began"),
        (Says::Wait(100), ""),
        (heard_all("user_1", "hello"), "passes | hears hello"),
        (stay(), "provider: create tg-3"),
        (created_by_us("r1", "tg-3"), "client: response.created \"r1\" [] null"),
        (audio("r1"), "passes"),
        (finish_turn("r1", "completed", ""), "passes | turn ended"),
        (Says::Wait(5000), ""),
    ]);
}

#[test]
fn after_the_hold_this_model_answers_and_late_words_change_nothing() {
    Talk::routed("roll", 300).check([
        (speech("committed"), "passes | turn began"),
        (Says::Wait(299), ""),
        (Says::Wait(1), "provider: create tg-3"),
        (created_by_us("r1", "tg-3"), ""),
        (message_began("r1"), ""),
        (item_added(&message(), None), ""),
        (
            audio("r1"),
            "client: response.created \"r1\" [] null | client: response.output_item.added \"r1\" \
             | client: conversation.item.added null | client: response.output_audio.delta \"m1\" \"r1\"",
        ),
        (heard_all("user_1", "think"), "passes | hears think"),
        (route(), ""),
        (audio("r1"), "passes"),
        (finish_turn("r1", "completed", ""), "passes | turn ended"),
        (Says::Wait(5000), ""),
    ]);
}

#[test]
fn words_that_come_before_the_answer_is_heard_still_go_to_the_other_model() {
    let mut talk = Talk::routed("roll", 300);
    talk.check([
        (speech("committed"), "passes | turn began"),
        (Says::Wait(300), "provider: create tg-3"),
        (created_by_us("r1", "tg-3"), ""),
        (message_began("r1"), ""),
        (item_added(&message(), None), ""),
        (heard_all("user_1", "think"), "passes | hears think"),
        (route(), "Delegate | provider: response.cancel \"r1\""),
        (audio("r1"), ""),
        (finish_turn("r1", "cancelled", ""), "provider: conversation.item.delete \"m1\""),
    ]);
    let text = talk.says(speak("It is late."));
    assert_eq!(without_id(&text), format!("{GIVEN} | provider: create tg-9 {SPEAKS}"));
}

#[test]
fn deep_words_in_a_part_of_the_transcript_keep_the_model_back_for_the_rest() {
    Talk::routed("roll", 300).check([
        (speech("speech_started"), "passes"),
        (heard("user_1", "think "), "passes | hears think ..."),
        (route(), ""),
        (speech("committed"), "passes | turn began"),
        (Says::Wait(900), ""),
        (heard("user_1", "of cats"), "passes | hears think of cats..."),
        (Says::Wait(900), ""),
        (heard_all("user_1", "Think of cats."), "passes | hears Think of cats."),
        (route(), "Delegate"),
    ]);
}

#[test]
fn a_transcript_that_is_never_whole_decides_by_its_part() {
    let partly = || {
        let mut talk = Talk::routed("roll", 300);
        talk.check([
            (speech("committed"), "passes | turn began"),
            (heard("user_1", "think "), "passes | hears think ..."),
            (route(), ""),
        ]);
        talk
    };
    let mut talk = partly();
    talk.check([
        (Says::Wait(999), ""),
        (Says::Wait(1), "hears think "),
        (route(), "Delegate"),
        (heard_all("user_1", "Think of cats."), "passes"),
        (Says::Wait(5000), ""),
    ]);
    let mut talk = partly();
    talk.check([
        (not_heard("user_1"), "passes | hears think "),
        (stay(), "provider: create tg-3"),
        (Says::Wait(5000), ""),
    ]);
}

#[test]
fn words_that_were_misheard_at_first_go_back_to_this_model() {
    Talk::routed("roll", 300).check([
        (speech("committed"), "passes | turn began"),
        (heard("user_1", "think "), "passes | hears think ..."),
        (route(), ""),
        (heard_all("user_1", "thanks"), "passes | hears thanks"),
        (stay(), "provider: create tg-3"),
    ]);
}

#[test]
fn without_a_transcript_nobody_waits_for_it() {
    Talk::routed("roll", 300).check([
        (speech("committed"), "passes | turn began"),
        (not_heard("user_1"), "passes | provider: create tg-3"),
        (Says::Wait(5000), ""),
    ]);
}

#[test]
fn a_caller_who_speaks_on_is_answered_once_and_as_a_whole() {
    let item = |kind: &str, item: &str| {
        provider(json!({ "type": format!("input_audio_buffer.{kind}"), "item_id": item }))
    };
    Talk::routed("roll", 300).check([
        (item("committed", "u1"), "passes | turn began"),
        (item("speech_started", "u2"), "passes"),
        (Says::Wait(300), ""),
        (item("speech_stopped", "u2"), "passes | provider: create tg-3"),
    ]);
    Talk::routed("roll", 300).check([
        (item("committed", "u1"), "passes | turn began"),
        (item("speech_started", "u2"), "passes"),
        (item("committed", "u2"), "passes | turn ended | turn began"),
        // What was said before is a part of it.
        (heard_all("u1", "think"), "passes | hears think"),
        (route(), ""),
        (heard_all("u2", "please"), "passes | hears please"),
        (stay(), "provider: create tg-3"),
    ]);
}

#[test]
fn a_response_that_begins_by_itself_is_ended_and_never_shown() {
    let mut talk = delegated(0);
    talk.check([
        (make_created_event("r1"), "provider: response.cancel \"r1\""),
        (message_began("r1"), ""),
        (item_added(&message(), None), ""),
        (audio("r1"), ""),
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
fn a_response_of_which_nothing_was_heard_is_ended_unseen_and_its_calls_are_answered() {
    let mut talk = Talk::routed("roll", 0);
    talk.check([
        (speech("committed"), "passes | turn began"),
        (make_created_event("r1"), ""),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (heard_all("user_1", "think"), "passes | hears think"),
        (route(), "Delegate | provider: response.cancel \"r1\""),
        (finish_turn("r1", "cancelled", "c1:roll"), "stop c1"),
        (
            answer(
                "c1",
                crate::realtime::events::AnswerStage::Cancelled,
                tollgate_core::tool::ResultDelivery::Wait,
            ),
            "provider: function_call_output c1 cancelled",
        ),
    ]);
    let text = talk.says(speak("It is late."));
    assert!(without_id(&text).starts_with(GIVEN), "{text}");
    assert!(text.ends_with(SPEAKS), "{text}");
}

#[test]
fn a_response_that_was_heard_is_never_cut() {
    Talk::routed("roll", 0).check([
        (speech("committed"), "passes | turn began"),
        (make_created_event("r1"), ""),
        (audio("r1"), "client: response.created \"r1\" [] null | client: response.output_audio.delta \"m1\" \"r1\""),
        (heard("user_1", "think "), "passes | hears think ..."),
        (route(), ""),
        (heard_all("user_1", "think"), "passes | hears think"),
        (route(), ""),
        (audio("r1"), "passes"),
        (finish_turn("r1", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn an_answer_without_speech_is_shown_as_a_whole() {
    Talk::routed("roll", 0).check([
        (speech("committed"), "passes | turn began"),
        (make_created_event("r1"), ""),
        (
            finish_turn("r1", "failed", ""),
            "client: response.created \"r1\" [] null | client: response.done \"r1\" [] null | turn ended",
        ),
    ]);
}

#[test]
fn events_beside_a_response_that_is_withheld_pass() {
    Talk::routed("roll", 0).check([
        (speech("committed"), "passes | turn began"),
        (make_created_event("r1"), ""),
        (provider(json!({ "type": "rate_limits.updated", "rate_limits": [] })), "passes"),
        (heard("user_1", "a "), "passes | hears a ..."),
        // It may refer to an item of the response.
        (
            provider(json!({ "type": "conversation.item.deleted", "item_id": "x" })),
            "client: response.created \"r1\" [] null | client: conversation.item.deleted \"x\"",
        ),
        (audio("r1"), "passes"),
    ]);
}

#[test]
fn a_request_of_the_clients_becomes_the_one_that_speaks() {
    let mut talk = Talk::routed("roll", 300);
    talk.check([
        (type_text("think carefully"), "passes | hears think carefully"),
        (route(), ""),
        (create(), "turn began | Delegate"),
    ]);
    let text = talk.says(speak("It is late."));
    assert_eq!(without_id(&text), format!("{GIVEN} | provider: create mine {SPEAKS}"));
    talk.check([
        (make_created_event("r1"), "passes"),
        (finish_turn("r1", "completed", ""), "passes | turn ended"),
    ]);
}

#[test]
fn text_that_the_client_wants_no_answer_to_gets_none() {
    Talk::routed("roll", 300).check([
        (type_text("think carefully"), "passes | hears think carefully"),
        (route(), ""),
        (Says::Wait(20_000), ""),
    ]);
}

#[test]
fn what_was_said_before_text_that_ends_another_models_work_is_still_answered() {
    for (decision, answers) in [(stay(), "provider: create tg-3"), (route(), "")] {
        let mut talk = delegated(300);
        talk.check([(type_text("At six."), "passes | turn interrupted | hears At six.")]);
        talk.says(decision);
        assert_eq!(talk.says(Says::Wait(500)), answers);
    }
}

#[test]
fn a_request_for_the_words_of_a_turn_that_was_interrupted_does_not_speak_the_next_ones() {
    let mut talk = delegated(300);
    let text = talk.says(speak("It is late."));
    assert!(text.ends_with(SPEAKS), "{text}");
    let mark = &text[text.find("create tg-").unwrap() + "create ".len()..];
    let mark = mark.split(' ').next().unwrap();
    talk.check([
        (type_text("And now?"), "passes | turn interrupted | hears And now?"),
        (route(), "turn began | Delegate"),
        (created_by_us("r1", mark), "provider: response.cancel \"r1\""),
        (finish_turn("r1", "cancelled", ""), ""),
    ]);
    talk.says(speak("It is later."));
    let text = talk.says(Says::Wait(500));
    assert!(text.ends_with(SPEAKS), "{text}");
}

#[test]
fn a_cancel_while_the_answer_before_ends_is_for_the_turn_that_is_undecided_too() {
    Talk::routed("roll", 300).check([
        (create(), "passes"),
        (make_created_event("r1"), "passes | turn began"),
        (speech("committed"), "passes | turn ended | turn began"),
        (client(json!({ "type": "response.cancel" })), "passes | turn interrupted"),
        (finish_turn("r1", "cancelled", ""), "passes"),
        (heard_all("user_1", "think"), "passes | hears think"),
        (route(), ""),
    ]);
}

/// The client detects no turns, or answers them itself.
fn pushes_to_talk() -> Talk {
    let mut talk = Talk::routed("roll", 300);
    let update = json!({ "type": "session.update", "event_id": "mine", "session": {
        "type": "realtime", "audio": { "input": { "turn_detection": {
            "type": "server_vad", "create_response": false } } } } });
    talk.check([
        (client(update), "provider: session.update create_response=false"),
        (provider(session_that_hears("session.updated", false)), "passes"),
        (speech("committed"), "passes | turn began"),
    ]);
    talk
}

#[test]
fn a_request_of_the_clients_waits_for_the_words() {
    pushes_to_talk().check([
        (create(), ""),
        (heard_all("user_1", "hello"), "passes | hears hello"),
        (stay(), "provider: create mine"),
        (make_created_event("r1"), "passes"),
    ]);
    pushes_to_talk().check([(create(), ""), (Says::Wait(300), "provider: create mine")]);
    pushes_to_talk().check([
        (Says::Wait(300), ""),
        (create(), "passes"),
        (make_created_event("r1"), ""),
        (heard_all("user_1", "think"), "passes | hears think"),
        (route(), "provider: response.cancel \"r1\" | Delegate"),
        (finish_turn("r1", "cancelled", ""), ""),
    ]);
    pushes_to_talk().check([
        (heard_all("user_1", "think"), "passes | hears think"),
        (route(), ""),
        (Says::Wait(20_000), ""),
        (create(), "Delegate"),
    ]);
}

#[test]
fn a_request_of_the_clients_that_was_answered_wrongly_is_made_again() {
    let mut talk = pushes_to_talk();
    talk.check([
        (Says::Wait(300), ""),
        (create(), "passes"),
        (heard_all("user_1", "think"), "passes | hears think"),
        (route(), "Delegate"),
        (make_created_event("r1"), "provider: response.cancel \"r1\""),
    ]);
    assert_eq!(without_id(&talk.says(speak("It is late."))), GIVEN);
    let text = talk.says(finish_turn("r1", "cancelled", ""));
    assert_eq!(text, format!("provider: create mine {SPEAKS}"));
}

#[test]
fn without_words_the_model_helps_itself() {
    let mut talk = delegated(300);
    talk.check([
        (Says::News(DialectEvent::Speak(Err(NoDeepAnswerError::NoModel))), "provider: create tg-3"),
        (created_by_us("r1", "tg-3"), "client: response.created \"r1\" [] null"),
    ]);
}

#[test]
fn a_race_against_turn_detection_is_won_in_the_end() {
    let mut talk = delegated(0);
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
    let mut talk = delegated(300);
    talk.check([
        (speech("committed"), "passes | turn interrupted | turn began"),
        (speak("It is late."), ""),
    ]);
}

#[test]
fn a_client_that_cancels_gets_no_answer_of_the_other_model() {
    let mut talk = delegated(300);
    talk.check([
        (client(json!({ "type": "response.cancel" })), "turn interrupted"),
        (speak("It is late."), ""),
        (Says::Wait(5000), ""),
    ]);
    let mut talk = Talk::routed("roll", 300);
    talk.check([
        (speech("committed"), "passes | turn began"),
        (client(json!({ "type": "response.cancel" })), "turn interrupted"),
        (Says::Wait(5000), ""),
    ]);
}

#[test]
fn words_that_are_understood_after_the_answer_go_to_nobody_else() {
    Talk::routed("roll", 0).check([
        (speech("committed"), "passes | turn began"),
        (make_created_event("r1"), ""),
        (
            finish_turn("r1", "completed", ""),
            "client: response.created \"r1\" [] null | client: response.done \"r1\" [] null | turn ended",
        ),
        (heard_all("user_1", "think"), "passes | hears think"),
        (route(), ""),
        (type_text("think carefully"), "passes | hears think carefully"),
        (route(), ""),
        (create(), "turn began | Delegate"),
    ]);
}

// === an opener ===

#[test]
fn a_slow_turn_is_announced_once_and_the_answer_waits_for_the_end_of_it() {
    let mut talk = delegated(300);
    talk.check([
        (slow("One moment."), "provider: create tg-3 [] conversation=none tool_choice=none instructions=Say the words of the"),
        (slow("Still there?"), ""),
        (created_aside("a1", &json!({ "tollgate": "tg-3" })), "client: response.created \"a1\" [] null | Announced"),
        (slow("Still there?"), ""),
    ]);
    assert_eq!(without_id(&talk.says(speak("It is late."))), GIVEN);
    let done = json!({ "type": "response.done", "response": { "id": "a1", "status": "completed",
        "conversation_id": null, "metadata": { "tollgate": "tg-3" }, "output": [] } });
    let text = talk.says(provider(done));
    assert_eq!(
        text,
        format!("client: response.done \"a1\" [] null | provider: create tg-7 {SPEAKS}")
    );
    talk.check([(slow("Too late."), "")]);
}

#[test]
fn an_announcement_waits_for_silence_and_ends_with_the_turn() {
    let mut talk = delegated(0);
    talk.check([
        (make_created_event("r1"), "provider: response.cancel \"r1\""),
        (slow("One moment."), ""),
        (
            finish_turn("r1", "cancelled", ""),
            "provider: create tg-3 [] conversation=none tool_choice=none instructions=Say the words of the",
        ),
        (created_aside("a1", &json!({ "tollgate": "tg-3" })), "client: response.created \"a1\" [] null | Announced"),
        (speech("speech_started"), "passes | provider: response.cancel \"a1\""),
        (speech("committed"), "passes | turn interrupted | turn began"),
        (slow("One moment."), ""),
    ]);
}
