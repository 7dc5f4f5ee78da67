use serde_json::{Value, json};

use crate::realtime::events::DialectAction;
use crate::realtime::translation::{GEMINI_CLIENT_LOSSES, LossFate};
use script::{Talk, audio_of, created, done, told};

mod order;
mod random;
mod script;

#[test]
fn a_setup_becomes_a_session_and_its_acceptance_completes_it() {
    let mut talk = Talk::fresh();
    let sent = talk.client(&json!({"setup": {
        "model": "models/gpt-realtime-2.1",
        "generationConfig": {"responseModalities": ["AUDIO"], "maxOutputTokens": 99,
            "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Marin"}}}},
        "system_instruction": {"parts": [{"text": "Be kind."}]},
        "tools": [{"functionDeclarations": [{"name": "lights", "behavior": "NON_BLOCKING",
            "parameters": {"type": "OBJECT", "properties": {"is_on": {"type": "BOOLEAN"}}}}]}],
        "realtimeInputConfig": {"automaticActivityDetection": {"silenceDurationMs": 700},
            "activityHandling": "NO_INTERRUPTION"},
        "inputAudioTranscription": {}}}));
    let session = &talk.events(&sent)[1]["session"];
    assert_eq!(session["instructions"], "Be kind.");
    assert_eq!(session["max_output_tokens"], 99);
    assert_eq!(session["audio"]["output"]["voice"], "marin");
    let detection = &session["audio"]["input"]["turn_detection"];
    assert_eq!(
        (&detection["silence_duration_ms"], &detection["interrupt_response"]),
        (&json!(700), &json!(false))
    );
    assert_eq!(session["audio"]["input"]["transcription"]["model"], "gpt-4o-mini-transcribe");
    let tool = &session["tools"][0];
    assert_eq!((&tool["type"], &tool["name"]), (&json!("function"), &json!("lights")));
    assert_eq!(tool["parameters"]["properties"]["is_on"]["type"], "boolean");
    assert_eq!(tool["behavior"], Value::Null);
    assert_eq!(told(&talk.accept_setup()), "setupComplete");
}

#[test]
fn a_setup_that_cannot_be_kept_ends_the_session() {
    for (setup, reason) in [
        (json!({"tools": [{"googleSearch": {}}]}), "`setup.tools[0].googleSearch`"),
        (json!({"sessionResumption": {"handle": "h"}}), "`setup.sessionResumption.handle`"),
        (json!({"sound": {}}), "Unknown name \"sound\""),
        (
            json!({"generationConfig": {"responseModalities": ["IMAGE"]}}),
            "`setup.generationConfig.responseModalities`",
        ),
    ] {
        let mut talk = Talk::fresh();
        let ended = talk.client(&json!({"setup": setup}));
        assert!(told(&ended).contains(reason), "{}", told(&ended));
        assert!(told(&ended).starts_with("close 1007"), "{}", told(&ended));
    }
    for text in ["[]", "{", "{}", r#"{"realtimeInput":{}}"#, r#"{"setup":{},"realtimeInput":{}}"#] {
        let mut talk = Talk::fresh();
        assert!(told(&talk.client_text(text)).starts_with("close 1007"), "{text}");
    }
    let mut talk = Talk::fresh();
    let sent = talk.client(&json!({"setup": {}}));
    let id = talk.events(&sent)[1]["event_id"].clone();
    let refused = talk.provider(&json!({"type": "error", "error": {
        "code": "invalid_value", "message": "no such model", "event_id": id}}));
    assert_eq!(told(&refused), "close 1007 no such model");
}

#[test]
fn a_written_turn_is_complete_when_it_has_been_played() {
    let mut talk = Talk::begun();
    let asked = talk.client(&json!({"realtimeInput": {"text": "Hello."}}));
    assert_eq!(told(&asked), "> conversation.item.create > response.create");
    assert_eq!(told(&talk.provider(&created("r1"))), "");
    assert_eq!(told(&talk.speak("r1", 500)), "modelTurn");
    assert_eq!(told(&talk.say("r1", "Good morning.")), "outputTranscription");
    let ended = talk.provider(&done("r1", "completed", &json!([])));
    assert_eq!(told(&ended), "usageMetadata generationComplete");
    assert_eq!(told(&talk.wait(499)), "");
    assert_eq!(told(&talk.wait(1)), "turnComplete");
}

#[test]
fn the_caller_interrupts_a_turn_while_it_is_generated_and_while_it_is_played() {
    let mut talk = Talk::begun();
    talk.provider(&created("r1"));
    talk.speak("r1", 500);
    let started = json!({"type": "input_audio_buffer.speech_started", "item_id": "i"});
    assert_eq!(told(&talk.provider(&started)), "");
    let ended = talk.provider(&done("r1", "cancelled", &json!([])));
    assert_eq!(told(&ended), "usageMetadata interrupted turnComplete");
    talk.provider(&created("r2"));
    talk.speak("r2", 500);
    talk.provider(&done("r2", "completed", &json!([])));
    assert_eq!(told(&talk.provider(&started)), "interrupted turnComplete");
    assert_eq!(told(&talk.wait(1_000)), "");
}

#[test]
fn new_input_stops_the_answer_to_the_old_one() {
    let mut talk = Talk::begun();
    talk.client(&json!({"realtimeInput": {"text": "Tell me a story."}}));
    talk.provider(&created("r1"));
    talk.speak("r1", 500);
    let asked = talk.client(&json!({"clientContent": {"turnComplete": true, "turns": [
        {"role": "model", "parts": [{"text": "Once."}]},
        {"role": "user", "parts": [{"text": "Stop."},
            {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}]}}));
    assert_eq!(
        told(&asked),
        "> conversation.item.create > conversation.item.create > response.cancel"
    );
    let items = talk.events(&asked);
    assert_eq!(items[0]["item"]["content"][0]["type"], "output_text");
    assert_eq!(items[1]["item"]["content"][1]["image_url"], "data:image/png;base64,AAAA");
    let ended = talk.provider(&done("r1", "cancelled", &json!([])));
    assert_eq!(told(&ended), "usageMetadata interrupted turnComplete > response.create");
}

#[test]
fn the_clients_functions_are_called_in_one_message_and_answered_together() {
    let mut talk = Talk::begun();
    talk.provider(&created("r1"));
    let call = |id: &str| {
        json!({"type": "function_call", "id": format!("item_{id}"), "call_id": id,
            "name": "lights", "arguments": "{\"on\":true}", "status": "completed"})
    };
    let called = talk.provider(&done("r1", "completed", &json!([call("c1"), call("c2")])));
    assert_eq!(told(&called), "usageMetadata toolCall");
    let made = &talk.messages(&called)[1]["toolCall"]["functionCalls"];
    assert_eq!(made[1], json!({"id": "c2", "name": "lights", "args": {"on": true}}));
    let answer = |id: &str| {
        json!({"toolResponse": {"functionResponses": [
            {"id": id, "name": "lights", "response": {"output": "they are on"}}]}})
    };
    let first = talk.client(&answer("c1"));
    assert_eq!(told(&first), "> conversation.item.create");
    assert_eq!(talk.events(&first)[0]["item"]["output"], "they are on");
    let unknown = talk.client(&answer("c1"));
    assert_eq!(told(&unknown), "error there is no call of a client function `c1`");
    let last = talk.client(&answer("c2"));
    assert_eq!(told(&last), "> conversation.item.create > response.create");
}

#[test]
fn a_gateway_tool_is_part_of_the_turn() {
    let mut talk = Talk::begun();
    talk.client(&json!({"realtimeInput": {"text": "Look it up."}}));
    talk.provider(&created("r1"));
    let call = json!({"type": "function_call", "id": "item_1", "call_id": "g1",
        "name": "look_up", "arguments": "{}", "status": "completed"});
    let ended = talk.provider(&done("r1", "completed", &json!([call])));
    assert_eq!(told(&ended), "usageMetadata");
    assert!(ended.iter().any(|action| matches!(action, DialectAction::Run(_))));
    let answered = talk.answer("g1");
    assert_eq!(told(&answered), "> conversation.item.create > response.create");
    talk.provider(&created("r2"));
    talk.speak("r2", 20);
    let ended = talk.provider(&done("r2", "completed", &json!([])));
    assert_eq!(told(&ended), "usageMetadata generationComplete");
    assert_eq!(told(&talk.wait(20)), "turnComplete");
}

#[test]
fn audio_is_resampled_and_a_closed_microphone_is_silence() {
    let mut talk = Talk::begun();
    let sent = talk.audio("audio/pcm;rate=16000", &[0; 3_200]);
    let bytes = audio_of(&talk.events(&sent)[0]["audio"]).len();
    assert!((4_500..=4_800).contains(&bytes), "{bytes}");
    let ended = talk.client(&json!({"realtimeInput": {"audioStreamEnd": true}}));
    let bytes: usize =
        talk.events(&ended).iter().map(|event| audio_of(&event["audio"]).len()).sum();
    assert!((48_000..=48_300).contains(&bytes), "{bytes}");
    for (mime, error) in [
        ("audio/ogg", "error media of the type `audio/ogg` is not supported"),
        ("audio/pcm;rate=7", "error audio of 7 samples per second is not supported"),
    ] {
        let refused = talk.audio(mime, &[0; 2]);
        assert!(told(&refused).starts_with(error), "{}", told(&refused));
    }
    let refused = talk.client(&json!({"realtimeInput": {"audio": {"data": "***"}}}));
    assert_eq!(told(&refused), "error `data` must be base64");
}

#[test]
fn a_client_that_detects_activity_itself_commits_what_it_hears() {
    let mut talk = Talk::with_setup(&json!({"setup": {
        "realtimeInputConfig": {"automaticActivityDetection": {"disabled": true}}}}));
    let begun = talk.client(&json!({"realtimeInput": {"activityStart": {}}}));
    assert_eq!(told(&begun), "> input_audio_buffer.clear");
    talk.audio("audio/pcm;rate=16000", &[0; 320]);
    let ended = talk.client(&json!({"realtimeInput": {"activityEnd": {}}}));
    assert_eq!(
        told(&ended),
        "> input_audio_buffer.append > input_audio_buffer.append > input_audio_buffer.commit \
         > response.create"
    );
    talk.provider(&created("r1"));
    let barged = talk.client(&json!({"realtimeInput": {"activityStart": {}}}));
    assert_eq!(told(&barged), "> response.cancel > input_audio_buffer.clear");
}

#[test]
fn a_refused_request_ends_the_turn_with_an_error() {
    let mut talk = Talk::begun();
    let asked = talk.client(&json!({"realtimeInput": {"text": "Hello."}}));
    let id = talk.events(&asked)[1]["event_id"].clone();
    let refused = talk.provider(&json!({"type": "error", "error": {
        "type": "invalid_request_error", "code": "invalid_value", "message": "no money",
        "event_id": id}}));
    assert_eq!(told(&refused), "error no money generationComplete turnComplete");
    let race = talk.provider(&json!({"type": "error", "error": {
        "code": "response_cancel_not_active", "message": "", "event_id": null}}));
    assert_eq!(told(&race), "");
}

#[test]
fn a_changed_context_is_a_session_update() {
    let mut talk = Talk::begun();
    let sent = talk.client(&json!({"contextUpdate": {
        "tools": {"tools": []}, "systemInstruction": {"parts": [{"text": "Be brief."}]}}}));
    assert_eq!(told(&sent), "> session.update");
    assert_eq!(talk.events(&sent)[0]["session"]["instructions"], "Be brief.");
    assert_eq!(told(&talk.provider(&json!({"type": "session.updated", "session": {}}))), "");
}

#[test]
fn what_is_refused_names_its_field() {
    let examples = [
        (
            "setup.sessionResumption.handle",
            json!({"setup": {"sessionResumption": {"handle": "h"}}}),
        ),
        ("setup.tools[].*", json!({"setup": {"tools": [{"codeExecution": {}}]}})),
        (
            "setup.generationConfig.responseModalities",
            json!({"setup": {"generationConfig": {"responseModalities": ["AUDIO", "TEXT"]}}}),
        ),
        (
            "clientContent.turns[].parts[]",
            json!({"clientContent": {"turns": [{"parts": [{"functionCall": {}}]}]}}),
        ),
        (
            "realtimeInput.audio.mimeType",
            json!({"realtimeInput": {"audio": {"mimeType": "audio/opus", "data": ""}}}),
        ),
    ];
    let refused = GEMINI_CLIENT_LOSSES.iter().filter(|loss| loss.fate == LossFate::Refused);
    let listed: Vec<&str> = refused.map(|loss| loss.what).collect();
    assert_eq!(listed, examples.iter().map(|(what, _)| *what).collect::<Vec<_>>());
    for (what, message) in examples {
        let mut talk = if what.starts_with("setup") { Talk::fresh() } else { Talk::begun() };
        let refused = told(&talk.client(&message));
        assert!(refused.starts_with("close 1007") || refused.starts_with("error "), "{refused}");
        assert!(refused.contains("not supported"), "{what}: {refused}");
    }
}
