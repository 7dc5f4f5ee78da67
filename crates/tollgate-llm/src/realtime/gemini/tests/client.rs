//! What a client says: its setup, its words, its answers, its wishes.

use std::sync::Arc;

use serde_json::json;

use super::{Script, field, offer, offer_of};
use crate::realtime::events::{
    DialectEvent, DialectStep, RealtimeDialect, RealtimeFrame, RealtimeOffer,
};

#[test]
fn the_setup_gets_our_functions_our_prompt_and_the_providers_model() {
    let offer = RealtimeOffer { prompt: Some(Arc::from("Be brief.")), ..offer() };
    let mut script = Script::with("gemini-3.8-live", offer);
    let sent = script.client(
        r#"{"setup":{"model":"models/sage","system_instruction":{"role":"user","parts":[{"text":"Be kind."}]},
            "tools":[{"googleSearch":{}},{"function_declarations":[{"name":"lights"},{"name":"roll"}]}],"labels":{"a":"b"}}}"#,
    );
    assert_eq!(sent.len(), 1);
    assert_eq!(
        field(&sent[0], "provider: ", "/setup"),
        json!({
            "model": "models/gemini-3.8-live",
            "labels": {"a": "b"},
            "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
            "tools": [
                {"googleSearch": {}},
                {"function_declarations": [{"name": "lights"}, {"name": "roll"}]},
                {"functionDeclarations": [
                    {"name": "search", "behavior": "NON_BLOCKING"},
                    {"name": "note", "behavior": "NON_BLOCKING"},
                ]},
            ],
            "sessionResumption": {},
        })
    );
}

#[test]
fn each_model_is_told_only_what_it_takes() {
    for (model, expected) in [
        (
            "gemini-2.5-flash-native-audio-preview-12-2025",
            json!([{"name": "roll"}, {"name": "search", "behavior": "NON_BLOCKING"}, {"name": "note", "behavior": "NON_BLOCKING"}]),
        ),
        (
            "gemini-3.1-flash-live-preview",
            json!([{"name": "roll"}, {"name": "search"}, {"name": "note"}]),
        ),
        (
            "gemini-3.8-live-extended-thinking",
            json!([{"name": "roll", "behavior": "NON_BLOCKING"}, {"name": "search", "behavior": "NON_BLOCKING"}, {"name": "note", "behavior": "NON_BLOCKING"}]),
        ),
    ] {
        let sent = Script::new(model).client(r#"{"setup":{"model":"models/x"}}"#);
        let declared = field(&sent[0], "provider: ", "/setup/tools/0/functionDeclarations");
        assert_eq!(declared, expected, "{model}");
    }
}

#[test]
fn without_anything_to_offer_only_the_model_is_another() {
    let offer = RealtimeOffer { tools: Vec::new(), prompt: None };
    let sent = Script::with("models/gemini-3.8-live", offer)
        .client(r#"{"setup":{"model":"models/x","sessionResumption":{"handle":"theirs"}}}"#);
    assert_eq!(
        field(&sent[0], "provider: ", ""),
        json!({"setup": {"model": "models/gemini-3.8-live", "sessionResumption": {"handle": "theirs"}}})
    );
}

#[test]
fn a_session_that_does_not_begin_with_a_setup_is_closed() {
    for first in [
        r#"{"realtimeInput":{"text":"hi"}}"#,
        r#"{"setup":{"model":"a"},"toolResponse":{}}"#,
        r#"{"setup":{"tools":{"functionDeclarations":[]}}}"#,
        r#"{"setup":{"systemInstruction":{},"system_instruction":{}}}"#,
        r#"{"setup":[]}"#,
        "garbage",
    ] {
        let lines = Script::new("gemini-3.8-live").client(first);
        assert!(lines.len() == 1 && lines[0].starts_with("close 1007 "), "{first}: {lines:?}");
    }
}

#[test]
fn b_ws_11_what_readers_may_not_agree_about_is_refused_and_the_session_goes_on() {
    let mut script = Script::ready("gemini-3.8-live");
    for message in [
        r#"{"toolResponse":{},"tool_response":{}}"#,
        r#"{"realtimeInput":{"text":"a"},"clientContent":{}}"#,
        r#"{"tool\u0052esponse":{"functionResponses":[{"id":"f1"}]}}"#,
        r#"{"toolResponse":{"functionResponses":[],"function_responses":[]}}"#,
        r#"{"toolResponse":{"functionResponses":[{"id":"a","id":"b"}]}}"#,
        r#"{"setup":{"model":"models/other"}}"#,
        r#"{"tollgate":{"tier":"slow"}}"#,
        r#"[]"#,
        "garbage",
    ] {
        let lines = script.client(message);
        assert_eq!(lines.len(), 1, "{message}: {lines:?}");
        assert_eq!(field(&lines[0], "client: ", "/error/status"), "INVALID_ARGUMENT");
    }
    let step = script.machine.on_client_message(RealtimeFrame::Binary(&[0xff, 0xfe]), script.now);
    assert_eq!(step.actions.len(), 1);
    assert_eq!(script.client(r#"{"futureThing":{}}"#), ["provider: as it is"]);
}

#[test]
fn audio_and_unknown_messages_pass_in_any_frame() {
    let mut script = Script::ready("gemini-3.8-live");
    let audio = r#"{"realtime_input":{"audio":{"data":"AAAA","mime_type":"audio/pcm"}}}"#;
    let now = script.now;
    assert_eq!(
        script.machine.on_client_message(RealtimeFrame::Text(audio), now),
        DialectStep::forward()
    );
    assert_eq!(
        script.machine.on_client_message(RealtimeFrame::Binary(audio.as_bytes()), now),
        DialectStep::forward()
    );
    for message in [
        r#"{"usageMetadata":{"totalTokenCount":7}}"#,
        r#"{"voiceActivity":{"voiceActivityType":"ACTIVITY_START"}}"#,
        r#"{"futureThing":{"toolCall":{"functionCalls":[{"id":"a","name":"roll"}]}}}"#,
        "garbage",
    ] {
        let step =
            script.machine.on_provider_message(RealtimeFrame::Binary(message.as_bytes()), now);
        assert_eq!(step, DialectStep::forward(), "{message}");
    }
    assert_eq!(
        script.machine.on_provider_message(RealtimeFrame::Binary(b"\xff\xfe"), now),
        DialectStep::forward()
    );
}

#[test]
fn words_that_a_client_writes_are_heard() {
    let mut script = Script::ready("gemini-2.5-flash-live");
    let turn = r#"{"client_content":{"turns":[{"role":"user","parts":[{"text":"Hi."}]},{"role":"model","parts":[{"text":"Hello."}]},
        {"role":"user","parts":[{"text":"Roll "},{"text":"it."}]}],"turn_complete":true}}"#;
    assert_eq!(script.client(turn), ["provider: as it is", "heard Roll it.", "Began"]);
    let mut script = Script::ready("gemini-2.5-flash-live");
    let history = turn.replace("true", "false");
    assert_eq!(script.client(&history), ["provider: as it is"]);
    let text = r#"{"realtimeInput":{"text":"Who is it?"}}"#;
    assert_eq!(script.client(text), ["provider: as it is", "heard Who is it?", "Began"]);
}

#[test]
fn an_answer_to_a_call_of_ours_is_taken_out_of_a_clients_message() {
    let mut script = Script::ready("gemini-3.8-live");
    script.calls(&["f1 roll", "f2 lights"]);
    let forged = r#"{"toolResponse":{"functionResponses":[{"id":"f1","name":"roll","response":{"output":"6"}},{"id":"f2","name":"lights","response":{ "output":"on" }}]}}"#;
    let lines = script.client(forged);
    assert_eq!(
        lines[0],
        r#"provider: {"toolResponse":{"functionResponses":[{"id":"f2","name":"lights","response":{ "output":"on" }}]}}"#
    );
    assert_eq!(field(&lines[1], "client: ", "/error/code"), 400);
    assert_eq!(lines.len(), 2);
    script.done("f1");
    let again = r#"{"tool_response":{"function_responses":[{"id":"f\u0031","name":"roll","response":{}}]}}"#;
    let lines = script.client(again);
    assert!(lines.len() == 1 && lines[0].starts_with("client: "), "{lines:?}");
    let by_name = r#"{"toolResponse":{"functionResponses":[{"name":"roll","response":{}}]}}"#;
    let lines = script.client(by_name);
    assert!(lines.len() == 1 && lines[0].starts_with("client: "), "{lines:?}");
}

#[test]
fn a_clients_own_answers_pass_as_they_are() {
    let mut script = Script::ready("gemini-3.8-live");
    assert_eq!(script.calls(&["f2 lights"]), ["client: as it is", "Began"]);
    let answer = r#"{"tool_response": {"functionResponses":[{"id":"f2","name":"lights","response":{"output":"on"}}]}}"#;
    assert_eq!(script.client(answer), ["provider: as it is"]);
}

#[test]
fn a_clients_own_update_keeps_our_functions_and_our_prompt() {
    let mut script = Script::with("gemini-3.8-live", offer_of("roll", "Be brief."));
    script.client(r#"{"setup":{"model":"models/x"}}"#);
    script.provider(r#"{"setupComplete":{}}"#);
    let lines = script.client(r#"{"contextUpdate":{"tools":{"tools":[]},"more":1}}"#);
    assert_eq!(
        field(&lines[0], "provider: ", "/contextUpdate"),
        json!({"tools": {"tools": [{"functionDeclarations": [{"name": "roll", "behavior": "BLOCKING"}]}]}, "more": 1})
    );
    let lines = script.client(
        r#"{"context_update":{"system_instruction":{"parts":[{"text":"Sing."}]},"tools":{"tools":[{"functionDeclarations":[{"name":"roll"}]}]}}}"#,
    );
    assert_eq!(
        field(&lines[0], "provider: ", "/contextUpdate"),
        json!({
            "tools": {"tools": [{"functionDeclarations": [{"name": "roll"}]}]},
            "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Sing."}]},
        })
    );
    assert_eq!(script.calls(&["f1 roll"]), ["client: as it is", "Began"]);
    assert_eq!(script.wait(10_000), [""; 0], "the provider has it all");
}

#[test]
fn an_update_of_the_clients_does_not_hide_that_our_offer_changed() {
    let mut script = Script::ready("gemini-3.8-live");
    script.news(DialectEvent::Offer(offer_of("clock", "Be long.")));
    script.news(DialectEvent::Offer(offer_of("weather", "Be brief.")));
    script.client(r#"{"contextUpdate":{"systemInstruction":{"parts":[{"text":"Sing."}]}}}"#);
    let lines = script.wait(250);
    assert_eq!(lines.len(), 1);
    let tools = field(&lines[0], "provider: ", "/contextUpdate/tools/tools");
    assert_eq!(tools[1]["functionDeclarations"][0]["name"], "weather");
}

#[test]
fn a_wish_for_a_tier_is_ours_and_only_who_wished_is_told() {
    let mut script = Script::ready("gemini-3.8-live");
    let render = || DialectEvent::Tier { tier: None, reason: "first turn".to_owned() };
    assert_eq!(script.news(render()), [""; 0]);
    assert_eq!(script.client(r#"{"tollgate":{"tier":"deep"}}"#), ["tier Some(Deep)"]);
    assert_eq!(script.client(r#"{"tollgate":{"tier":null}}"#), ["tier None"]);
    let line = r#"client: {"tollgate":{"tier":null,"reason":"first turn"}}"#;
    assert_eq!(script.news(render()), [line]);
}

#[test]
fn a_client_that_says_who_speaks_is_believed() {
    let mut script = Script::resumable("gemini-2.5-flash-live");
    script.client(r#"{"realtimeInput":{"activityStart":{}}}"#);
    script.news(DialectEvent::Offer(offer_of("weather", "Be brief.")));
    assert_eq!(script.wait(5_000), [""; 0]);
    let lines = script.client(r#"{"realtime_input":{"activity_end":{}}}"#);
    assert!(lines[1].starts_with("reconnect "), "{lines:?}");
}
