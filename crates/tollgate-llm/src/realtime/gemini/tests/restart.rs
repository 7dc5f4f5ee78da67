//! A connection that is replaced by one that knows nothing of the conversation.

use serde_json::{Value, json};

use super::{Script, field, lines};
use crate::realtime::events::{
    CloseReason, DialectEvent, ProviderFaultKind, ProviderGone, RealtimeDialect, SessionRestart,
};

const NEW: &str = "gemini-3.8-live";
const AUDIO: &str = r#"{"realtimeInput":{"audio":{"mimeType":"audio/pcm;rate=16000","data":"AEAAQABAAEAAQABAAEAAQABAAEAAQABAAEAAQABAAEAAQABA"}}}"#;

fn gone(script: &mut Script, code: u16) -> Option<ProviderFaultKind> {
    let with = CloseReason { code, reason: String::new() };
    match script.machine.on_provider_gone(&with, script.now) {
        ProviderGone::Replace(fault) => Some(fault.kind),
        ProviderGone::End | ProviderGone::Resume(_) => None,
    }
}

fn restart(script: &mut Script, notice: Option<&str>) -> Vec<String> {
    let restart = SessionRestart {
        model: "gemini-2.5-flash-live".to_owned(),
        notice: notice.map(str::to_owned),
        max_history_bytes: 10_000,
    };
    lines(script.machine.restart(restart, script.now))
}

/// With transcripts, after a question that the model has begun to answer.
fn asked() -> Script {
    let mut script = Script::new(NEW);
    script.client(r#"{"setup":{"model":"models/x","inputAudioTranscription":{}}}"#);
    script.provider(r#"{"setupComplete":{}}"#);
    script.provider(r#"{"serverContent":{"inputTranscription":{"text":"Who is there?"}}}"#);
    script.provider(
        r#"{"serverContent":{"modelTurn":{"parts":[]},"outputTranscription":{"text":"It is"}}}"#,
    );
    script
}

fn turns(line: &str) -> Vec<(String, String)> {
    let turns = field(line, "provider: ", "/clientContent/turns");
    let text = |turn: &Value| turn["parts"][0]["text"].as_str().unwrap().to_owned();
    let role = |turn: &Value| turn["role"].as_str().unwrap().to_owned();
    turns.as_array().unwrap().iter().map(|turn| (role(turn), text(turn))).collect()
}

#[test]
fn a_new_model_is_told_what_was_said_and_gives_the_answer() {
    let mut script = asked();
    assert_eq!(gone(&mut script, 1011), Some(ProviderFaultKind::Broken));
    let made = restart(&mut script, Some("One moment."));
    assert_eq!(made[0], r#"client: {"serverContent":{"interrupted":true}}"#);
    assert_eq!(made[1], r#"client: {"serverContent":{"turnComplete":true}}"#);
    let setup = field(made.last().unwrap(), "provider: ", "/setup");
    assert_eq!(setup["model"], "models/gemini-2.5-flash-live");
    assert_eq!(setup["sessionResumption"], json!({}));
    let made = script.provider(r#"{"setupComplete":{}}"#);
    assert_eq!(made[0], "reconnected", "the client has seen that it is set up");
    assert_eq!(field(&made[1], "provider: ", "/clientContent/turnComplete"), true);
    let told = turns(&made[1]);
    assert_eq!(told[0], ("user".to_owned(), "Who is there?".to_owned()));
    assert_eq!(told[1], ("model".to_owned(), "It is".to_owned()));
    assert!(told[2].1.contains("\"One moment.\""), "{told:?}");
}

#[test]
fn without_transcripts_the_caller_is_heard_again() {
    let mut script = Script::ready(NEW);
    script.client(AUDIO);
    assert_eq!(gone(&mut script, 1006), Some(ProviderFaultKind::Broken));
    restart(&mut script, None);
    let made = script.provider(r#"{"setupComplete":{}}"#);
    assert_eq!(made, ["reconnected".to_owned(), format!("provider: {AUDIO}")]);
}

#[test]
fn what_was_said_after_the_last_handle_is_said_again_when_the_connection_breaks() {
    let mut script = Script::resumable(NEW);
    for _ in 0..100 {
        script.client(AUDIO);
        script.wait(100);
    }
    let with = CloseReason { code: 1006, reason: String::new() };
    let resumed = script.machine.on_provider_gone(&with, script.now);
    assert!(matches!(resumed, ProviderGone::Resume(_)), "{resumed:?}");
    let made = script.provider(r#"{"setupComplete":{}}"#);
    assert_eq!(made.len(), 101, "ten seconds, none of them lost");
}

#[test]
fn a_handle_that_is_refused_leads_to_a_new_session() {
    let mut script = Script::resumable(NEW);
    let with = CloseReason { code: 1011, reason: String::new() };
    script.machine.on_provider_gone(&with, script.now);
    assert_eq!(gone(&mut script, 1008), Some(ProviderFaultKind::Broken));
    let made = restart(&mut script, None);
    let setup = field(made.last().unwrap(), "provider: ", "/setup");
    assert_eq!(setup["sessionResumption"], json!({}), "the handle is not used again");
}

#[test]
fn a_provider_that_refuses_the_setup_is_replaced_before_the_client_notices() {
    let mut script = Script::new(NEW);
    script.client(r#"{"setup":{"model":"models/x","sessionResumption":{"handle":"own"}}}"#);
    script.client(AUDIO);
    assert_eq!(gone(&mut script, 1008), Some(ProviderFaultKind::Refused));
    let made = restart(&mut script, None);
    assert_eq!(field(&made[0], "provider: ", "/setup/sessionResumption/handle"), "own");
    assert_eq!(made[1..], [format!("provider: {AUDIO}"), "reconnected".to_owned()]);
    assert_eq!(script.provider(r#"{"setupComplete":{}}"#), ["client: as it is"]);
    let mut script = Script::new(NEW);
    script.client(r#"{"setup":{"model":"models/x"}}"#);
    assert_eq!(gone(&mut script, 1007), None, "the setup is wrong");
}

#[test]
fn a_gateway_that_stops_tells_the_client_how_long_it_has() {
    let left = std::time::Duration::from_millis(2_500);
    let made = Script::ready(NEW).news(DialectEvent::Leaving(left));
    assert_eq!(made, [r#"client: {"goAway":{"timeLeft":"2.5s"}}"#]);
    assert_eq!(Script::new(NEW).news(DialectEvent::Leaving(left)), [""; 0]);
}
