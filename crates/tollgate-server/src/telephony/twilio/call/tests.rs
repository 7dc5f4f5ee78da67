//! A scripted Twilio and a scripted provider.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tollgate_engine::clock::{Clock as _, SystemClock};

use super::*;
use crate::phone_lines::DtmfMode;

const PAUSE: Duration = Duration::from_millis(1_500);

struct Scene {
    call: TwilioCall,
    now: Instant,
}

impl Scene {
    fn new() -> Self {
        let digits = DigitCollector::new(DtmfMode::Collect, PAUSE);
        Self { call: TwilioCall::new("MZ1".to_owned(), digits), now: SystemClock.now() }
    }

    fn twilio(&mut self, text: &str) -> Vec<Value> {
        let frame = TwilioFrame::parse(text);
        let actions = self.call.on_twilio(frame, self.now);
        show(actions)
    }

    fn session(&mut self, event: &Value) -> Vec<Value> {
        let actions = self.call.on_session(&event.to_string(), self.now);
        show(actions)
    }

    fn press(&mut self, digits: &str) -> Vec<Value> {
        let press = |digit| {
            let dtmf = json!({ "track": "inbound_track", "digit": digit });
            self.twilio(&json!({ "event": "dtmf", "streamSid": "MZ1", "dtmf": dtmf }).to_string())
        };
        digits.chars().map(String::from).flat_map(press).collect()
    }

    /// The agent says so many milliseconds. Returns the marks.
    fn speak(&mut self, id: &str, ms: usize) -> Vec<String> {
        let delta = STANDARD.encode(vec![0x7f; ms * 8]);
        let event = json!({ "type": "response.output_audio.delta", "item_id": id,
            "response_id": "r", "output_index": 0, "content_index": 0, "delta": delta });
        let sent = self.session(&event);
        sent.iter().filter_map(|it| it["mark"]["name"].as_str()).map(str::to_owned).collect()
    }

    fn mark(&mut self, name: &str) {
        let mark = json!({ "event": "mark", "streamSid": "MZ1", "mark": { "name": name } });
        assert!(self.twilio(&mark.to_string()).is_empty());
    }
}

/// Messages to both sides, in order; a close as its code.
fn show(actions: Vec<CallAction>) -> Vec<Value> {
    let show = |action| match action {
        CallAction::ToTwilio(text) | CallAction::ToSession(text) => {
            serde_json::from_str(&text).unwrap()
        }
        CallAction::Close(with) => json!(with.code),
    };
    actions.into_iter().map(show).collect()
}

/// The kinds of messages.
fn kinds(shown: &[Value]) -> Vec<&str> {
    shown.iter().filter_map(|it| it["type"].as_str().or_else(|| it["event"].as_str())).collect()
}

#[test]
fn a_call_begins_with_the_format_and_the_greeting() {
    let options = CallOptions {
        voice: Some("marin".to_owned()),
        transcription: Some("m".to_owned()),
        greeting: Some("Hello!".to_owned()),
    };
    let sent = show(Scene::new().call.open(&options));
    assert_eq!(
        kinds(&sent),
        ["session.update", "session.update", "session.update", "response.create"]
    );
    assert_eq!(sent[0]["session"]["audio"]["input"]["format"], json!({ "type": "audio/pcmu" }));
    assert_eq!(sent[0]["session"]["audio"]["output"]["format"], json!({ "type": "audio/pcmu" }));
    assert!(sent[3]["response"]["instructions"].as_str().unwrap().ends_with("Hello!"));
    assert_eq!(show(Scene::new().call.open(&CallOptions::default())).len(), 1);
}

#[test]
fn audio_of_the_caller_is_passed_on_unchanged() {
    let mut scene = Scene::new();
    for payload in ["//9//w==", "////", "fw=="] {
        let media =
            json!({ "event": "media", "streamSid": "MZ1", "media": { "payload": payload } });
        let sent = scene.twilio(&media.to_string());
        assert_eq!(sent, [json!({ "type": "input_audio_buffer.append", "audio": payload })]);
    }
    let empty = json!({ "event": "media", "streamSid": "MZ1", "media": { "payload": "" } });
    assert!(scene.twilio(&empty.to_string()).is_empty());
}

#[test]
fn barge_in_clears_and_tells_how_much_was_heard() {
    let mut scene = Scene::new();
    scene.session(&json!({ "type": "response.created", "response": { "id": "r" } }));
    let marks = scene.speak("item_1", 1_000);
    scene.mark(&marks[0]);
    scene.mark(&marks[1]);
    // The response is over, the caller still hears it.
    scene.session(&json!({ "type": "response.done", "response": { "id": "r" } }));
    let speech = json!({ "type": "input_audio_buffer.speech_started", "item_id": "u" });
    let sent = scene.session(&speech);
    assert_eq!(
        sent,
        [
            json!({ "event": "clear", "streamSid": "MZ1" }),
            json!({ "type": "conversation.item.truncate", "item_id": "item_1", "content_index": 0,
                "audio_end_ms": 400 }),
        ]
    );
    marks.iter().for_each(|mark| scene.mark(mark));
    assert!(scene.session(&speech).is_empty(), "there is nothing to clear");
    assert!(scene.speak("item_1", 200).is_empty(), "audio that was on its way is dropped");
    assert_eq!(scene.speak("item_2", 200).len(), 1);
}

#[test]
fn digits_interrupt_and_are_answered() {
    let mut scene = Scene::new();
    let sent = scene.press("42#");
    assert_eq!(kinds(&sent), ["conversation.item.create", "response.create"]);
    assert_eq!(sent[0]["item"]["content"][0]["text"], "DTMF: 42");
    // While the agent speaks.
    scene.session(&json!({ "type": "response.created" }));
    scene.speak("item_1", 200);
    let sent = scene.press("7#");
    let expected =
        ["clear", "conversation.item.truncate", "response.cancel", "conversation.item.create"];
    assert_eq!(kinds(&sent), expected);
    let done = json!({ "type": "response.done", "response": { "status": "cancelled" } });
    assert_eq!(kinds(&scene.session(&done)), ["response.create"]);
    assert!(scene.session(&done).is_empty(), "once");
}

#[test]
fn digits_after_a_pause_are_told_even_if_the_provider_never_ends_its_response() {
    let mut scene = Scene::new();
    scene.session(&json!({ "type": "response.created" }));
    assert!(scene.press("5").is_empty());
    assert_eq!(scene.call.wakes(), Some(scene.now + PAUSE));
    scene.now += PAUSE;
    let sent = show(scene.call.on_time(scene.now));
    assert_eq!(kinds(&sent), ["response.cancel", "conversation.item.create"]);
    let due = scene.call.wakes().unwrap();
    assert!(show(scene.call.on_time(scene.now)).is_empty());
    assert_eq!(kinds(&show(scene.call.on_time(due))), ["response.create"]);
    assert_eq!(scene.call.wakes(), None);
}

#[test]
fn a_response_that_turn_detection_began_first_is_waited_for() {
    let mut scene = Scene::new();
    scene.press("42#");
    let error = json!({ "event_id": event_id::RESPONSE, "message": "busy", "code": NO_TURN });
    assert!(scene.session(&json!({ "type": "error", "error": error })).is_empty());
    let sent = scene.session(&json!({ "type": "response.done" }));
    assert_eq!(kinds(&sent), ["response.create"]);
}

#[test]
fn a_response_that_ended_before_it_was_cancelled_is_not_waited_for() {
    let mut scene = Scene::new();
    scene.session(&json!({ "type": "response.created" }));
    assert_eq!(kinds(&scene.press("7#")), ["response.cancel", "conversation.item.create"]);
    let error = json!({ "event_id": null, "message": "none", "code": NO_RESPONSE });
    let sent = scene.session(&json!({ "type": "error", "error": error }));
    assert_eq!(kinds(&sent), ["response.create"]);
}

#[test]
fn only_a_refused_format_ends_the_call() {
    let mut scene = Scene::new();
    for id in [event_id::VOICE, event_id::TRANSCRIPTION, "other"] {
        let error = json!({ "event_id": id, "message": "no", "code": "unknown_parameter" });
        assert!(scene.session(&json!({ "type": "error", "error": error })).is_empty());
    }
    let error = json!({ "event_id": event_id::FORMAT, "message": "no", "code": null });
    assert_eq!(scene.session(&json!({ "type": "error", "error": error })), [json!(1011)]);
}

#[test]
fn what_is_not_of_this_stream_is_dropped_and_a_stream_of_it_ends_the_call() {
    let bad = [
        r#"{"event":"media","streamSid":"MZ2","media":{"payload":"////"}}"#,
        r#"{"event":"media","streamSid":"MZ1","media":{"payload":"!"}}"#,
        r#"{"event":"stop","streamSid":"MZ2"}"#,
        r#"{"event":"mark","streamSid":"MZ2","mark":{"name":"tg-1"}}"#,
        r##"{"event":"dtmf","streamSid":"MZ2","dtmf":{"digit":"#"}}"##,
        "not JSON",
    ];
    for text in bad {
        let mut scene = Scene::new();
        for _ in 1..MAX_BAD_FRAMES {
            assert!(scene.twilio(text).is_empty(), "{text}");
        }
        assert_eq!(scene.twilio(text), [json!(1008)], "{text}");
    }
    let mut scene = Scene::new();
    for _ in 0..100 {
        assert!(scene.twilio(r#"{"event":"news","streamSid":"MZ1"}"#).is_empty());
    }
    assert_eq!(scene.twilio(r#"{"event":"stop","streamSid":"MZ1"}"#), [json!(1000)]);
}

#[test]
fn events_of_any_shape_are_harmless() {
    let mut scene = Scene::new();
    for event in [
        "",
        "[]",
        "{}",
        r#"{"type":5}"#,
        r#"{"type":"error"}"#,
        r#"{"type":"error","error":{}}"#,
        r#"{"type":"response.output_audio.delta"}"#,
        r#"{"type":"response.output_audio.delta","item_id":"a","delta":"!"}"#,
        r#"{"type":"response.output_audio.delta","item_id":"a","content_index":-1,"delta":"////"}"#,
    ] {
        assert!(scene.call.on_session(event, scene.now).is_empty(), "{event}");
    }
}
