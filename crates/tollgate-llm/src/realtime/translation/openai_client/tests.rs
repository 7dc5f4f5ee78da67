use serde_json::{Value, json};

use super::client_events::CLIENT_EVENTS;
use crate::realtime::events::DialectAction;
use script::{Talk, audio_of, pcm, speech, text_item, told};

mod losses;
mod order;
mod random;
mod script;
mod turns;

#[test]
fn a_client_sees_its_own_session_in_its_own_protocol() {
    let mut talk = Talk::fresh("gemini-3.8-live");
    let created = talk.begin();
    assert_eq!(told(&created), "session.created");
    let session = &talk.events(&created)[0]["session"];
    assert_eq!(session["model"], "gemini-3.8-live");
    assert_eq!(session["audio"]["input"]["turn_detection"]["type"], "server_vad");
    let update = json!({"type": "session.update", "session": {
        "type": "realtime", "instructions": "Be kind.", "output_modalities": ["audio"],
        "tools": [{"type": "function", "name": "lights", "parameters": {
            "type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}}],
        "audio": {"input": {"transcription": {"model": "whisper-1"}},
            "output": {"voice": "Kore"}}}});
    let updated = talk.client(&update);
    assert_eq!(told(&updated), "session.updated");
    let session = &talk.events(&updated)[0]["session"];
    assert_eq!(session["instructions"], "Be kind.");
    assert_eq!(session["tools"][0]["name"], "lights");
    assert_eq!(session["audio"]["input"]["transcription"]["model"], "whisper-1");
    assert_eq!(session["audio"]["output"]["voice"], "Kore");
    // The setup follows when no further update comes.
    let setup = talk.wait(50);
    let setup = &talk.messages(&setup)[0]["setup"];
    assert_eq!(setup["systemInstruction"]["parts"][1]["text"], Value::Null);
    assert_eq!(setup["systemInstruction"]["parts"][0]["text"], "Be kind.");
    assert_eq!(setup["tools"][0]["functionDeclarations"][0]["name"], "lights");
    assert_eq!(setup["tools"][0]["functionDeclarations"][0]["behavior"], "BLOCKING");
    let voice = "/generationConfig/speechConfig/voiceConfig/prebuiltVoiceConfig/voiceName";
    assert_eq!(setup.pointer(voice), Some(&json!("Kore")));
    assert_eq!(
        setup["realtimeInputConfig"]["automaticActivityDetection"]["silenceDurationMs"],
        500
    );
}

#[test]
fn a_wrong_update_changes_nothing() {
    let mut talk = Talk::fresh("gemini-3.8-live");
    talk.begin();
    for (session, code, param) in [
        (json!({"voice": "alloy"}), "unknown_parameter", "session.voice"),
        (
            json!({"audio": {"input": {"format": {"type": "audio/pcm", "rate": 16_000}}}}),
            "invalid_value",
            "session.audio.input.format.rate",
        ),
        (json!({"instructions": 3}), "invalid_value", "session.instructions"),
        (json!({"tools": [{"type": "function"}]}), "invalid_value", "session.tools[0].name"),
        (json!({"output_modalities": ["video"]}), "invalid_value", "session.output_modalities"),
    ] {
        let mut session = session;
        session["max_output_tokens"] = json!(7);
        let refused = talk.client(&json!({
            "type": "session.update", "event_id": "mine", "session": session}));
        let error = &talk.events(&refused)[0]["error"];
        assert_eq!((&error["code"], &error["param"]), (&json!(code), &json!(param)));
        assert_eq!(error["event_id"], "mine");
    }
    let updated = talk.client(&json!({"type": "session.update", "session": {}}));
    assert_eq!(talk.events(&updated)[0]["session"]["max_output_tokens"], "inf");
}

#[test]
fn every_event_of_the_protocol_is_answered_or_has_an_effect() {
    for kind in CLIENT_EVENTS {
        let mut talk = Talk::begun("gemini-3.8-live");
        let actions = talk.client(&json!({"type": kind, "event_id": "mine"}));
        assert!(!actions.is_empty(), "{kind} is ignored");
    }
    let mut talk = Talk::begun("gemini-3.8-live");
    for text in [
        r#"{"type":"output_audio_buffer.clear","event_id":"mine"}"#,
        r#"{"type":"no.such.event","event_id":"mine"}"#,
        r#"{"event_id":"mine"}"#,
    ] {
        let refused = talk.client_text(text);
        assert_eq!(told(&refused), "error invalid_value", "{text}");
        assert_eq!(talk.events(&refused)[0]["error"]["event_id"], "mine");
    }
    for text in ["[]", "{", r#"{"type":"a","type":"b"}"#, "3"] {
        assert!(told(&talk.client_text(text)).starts_with("error invalid_"), "{text}");
    }
    let refused = talk.client_binary(&[0, 1, 2]);
    assert_eq!(told(&refused), "error invalid_event");
}

#[test]
fn audio_reaches_each_side_in_its_own_format() {
    let mut talk = Talk::begun("gemini-3.8-live");
    talk.client(&json!({"type": "session.update", "session": {"audio": {
        "input": {"format": {"type": "audio/pcmu"}},
        "output": {"format": {"type": "audio/pcma"}}}}}));
    let sent = talk.append(&[0xff; 800]);
    let blob = &talk.messages(&sent)[0]["realtimeInput"]["audio"];
    assert_eq!(blob["mimeType"], "audio/pcm;rate=16000");
    // 100 ms, without what the filter still holds.
    let bytes = audio_of(&blob["data"]).len();
    assert!((2_900..=3_200).contains(&bytes), "{bytes}");
    let mut heard = talk.provider(&speech(&pcm(24_000, 100)));
    heard.extend(talk.provider(&json!({"serverContent": {"turnComplete": true}})));
    let deltas = talk.events(&heard);
    let deltas = deltas.iter().filter(|event| event["type"] == "response.output_audio.delta");
    let bytes: usize = deltas.map(|event| audio_of(&event["delta"]).len()).sum();
    assert_eq!(bytes, 800);
}

#[test]
fn what_is_sent_before_the_setup_is_accepted_waits_for_it() {
    let mut talk = Talk::fresh("gemini-3.8-live");
    talk.begin();
    let first = talk.client(&text_item("Hello."));
    assert_eq!(told(&first), "conversation.item.added conversation.item.done");
    let asked = talk.client(&json!({"type": "response.create"}));
    assert_eq!(told(&asked), "response.created > setup");
    let ready = talk.provider(&json!({"setupComplete": {}}));
    assert_eq!(told(&ready), "> realtimeInput.text Hello.");
}

#[test]
fn what_waits_too_long_for_the_provider_ends_the_session() {
    let mut talk = Talk::fresh("gemini-3.8-live");
    talk.begin();
    let mut ask = || {
        talk.machine.translator.send("x".repeat(15 << 20));
        let sent = talk.client(&json!({"type": "input_audio_buffer.clear"}));
        sent.iter().any(|action| matches!(action, DialectAction::Close(_)))
    };
    assert_eq!([ask(), ask()], [false, true]);
}
