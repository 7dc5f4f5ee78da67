//! Offers in the middle of a session, and connections that end before it.

use tollgate_core::tool::ResultDelivery;

use super::{Script, field, lines, offer, offer_of};
use crate::realtime::events::{
    AnswerStage, CloseReason, DialectEvent, ProviderGone, RealtimeDialect,
};

const OLD: &str = "gemini-2.5-flash-live";
const NEW: &str = "gemini-3.8-live";
const RESUMABLE: &str = r#"{"sessionResumptionUpdate":{"newHandle":"h2","resumable":true}}"#;

fn other() -> DialectEvent {
    DialectEvent::Offer(offer_of("weather", "Be brief."))
}

#[test]
fn r_24_offers_that_follow_each_other_are_told_once_and_only_if_they_differ() {
    let mut script = Script::ready(NEW);
    script.news(DialectEvent::Offer(offer()));
    assert_eq!(script.wait(1_000), [""; 0]);
    let lines = script.news(DialectEvent::Offer(offer_of("clock", "Be long.")));
    assert_eq!(lines.len(), 1, "the first is told at once");
    script.wait(100);
    assert_eq!(script.news(DialectEvent::Offer(offer_of("lamp", "Be loud."))), [""; 0]);
    assert_eq!(script.news(other()), [""; 0]);
    assert_eq!(script.wait(149), [""; 0]);
    let lines = script.wait(1);
    assert_eq!(lines.len(), 1);
    let update = field(&lines[0], "provider: ", "/contextUpdate");
    assert_eq!(update["tools"]["tools"][0]["functionDeclarations"][0]["name"], "lights");
    assert_eq!(update["tools"]["tools"][1]["functionDeclarations"][0]["name"], "weather");
    assert_eq!(update["systemInstruction"]["parts"][0]["text"], "Be brief.");
    script.news(DialectEvent::Offer(offer()));
    script.news(other());
    assert_eq!(script.wait(1_000), [""; 0], "it is as it was");
}

#[test]
fn an_offer_before_the_session_stands_is_told_after() {
    let mut script = Script::new(NEW);
    assert_eq!(script.news(other()), [""; 0]);
    let lines = script.client(r#"{"setup":{"model":"models/x"}}"#);
    let tools = field(&lines[0], "provider: ", "/setup/tools/0/functionDeclarations");
    assert_eq!(tools[0]["name"], "weather");
    script.news(DialectEvent::Offer(offer()));
    assert_eq!(script.wait(1_000), [""; 0]);
    script.provider(r#"{"setupComplete":{}}"#);
    assert_eq!(script.wait(0).len(), 1);
}

#[test]
fn an_older_model_gets_another_offer_by_a_connection_that_resumes_the_session() {
    let mut script = Script::resumable(OLD);
    let lines = script.news(other());
    assert_eq!(lines.len(), 1);
    let setup = field(&lines[0], "reconnect ", "/setup");
    assert_eq!(setup["sessionResumption"]["handle"], "h1");
    assert_eq!(setup["model"], "models/gemini-2.5-flash-live");
    assert_eq!(setup["tools"][1]["functionDeclarations"][0]["name"], "weather");
    assert_eq!(script.provider(r#"{"setupComplete":{}}"#), ["reconnected"]);
    assert_eq!(script.wait(5_000), [""; 0]);
}

#[test]
fn a_connection_is_not_left_while_somebody_speaks_or_a_call_is_open() {
    let mut script = Script::resumable(OLD);
    script.provider(r#"{"serverContent":{"inputTranscription":{"text":"Roll"}}}"#);
    script.news(other());
    assert_eq!(script.wait(1_000), [""; 0], "the caller speaks");
    script.calls(&["f1 roll", "f2 lights"]);
    assert_eq!(script.wait(5_000), ["confirm f1"]);
    script.done("f1");
    script.provider(r#"{"serverContent":{"turnComplete":true}}"#);
    assert_eq!(script.provider(RESUMABLE), [""; 0], "the client owes an answer");
    let answer =
        r#"{"toolResponse":{"functionResponses":[{"id":"f2","name":"lights","response":{}}]}}"#;
    let lines = script.client(answer);
    assert_eq!(field(&lines[1], "reconnect ", "/setup/sessionResumption/handle"), "h2");
}

#[test]
fn a_handle_from_before_the_last_turn_is_not_used() {
    let mut script = Script::resumable(OLD);
    script.client(r#"{"realtimeInput":{"text":"Hi."}}"#);
    script.provider(r#"{"serverContent":{"modelTurn":{"parts":[{"text":"Hi."}]}}}"#);
    script.provider(r#"{"sessionResumptionUpdate":{"newHandle":"","resumable":false}}"#);
    script.provider(r#"{"serverContent":{"turnComplete":true}}"#);
    script.news(other());
    assert_eq!(script.wait(5_000), [""; 0]);
    let lines = script.provider(RESUMABLE);
    assert_eq!(field(&lines[0], "reconnect ", "/setup/sessionResumption/handle"), "h2");
}

#[test]
fn words_that_no_turn_has_answered_are_not_lost() {
    let mut script = Script::resumable(OLD);
    script.provider(r#"{"serverContent":{"inputTranscription":{"text":"Roll","finished":true}}}"#);
    script.news(other());
    assert_eq!(script.wait(5_000), [""; 0], "the handle is older than they are");
    assert_eq!(script.provider(RESUMABLE).len(), 1);
}

#[test]
fn a_client_that_never_answers_is_not_waited_for() {
    let mut script = Script::resumable(OLD);
    script.calls(&["f1 lights"]);
    script.provider(r#"{"serverContent":{"turnComplete":true}}"#);
    script.provider(RESUMABLE);
    script.news(other());
    assert_eq!(script.wait(59_000), [""; 0]);
    script.wait(1_000);
    assert_eq!(script.client(r#"{"realtimeInput":{"audio":{}}}"#).len(), 2);
}

#[test]
fn an_end_that_is_far_away_is_an_end() {
    for left in ["1e18s", "-5s", "NaNs", "soon", ""] {
        let mut script = Script::resumable(NEW);
        script.provider(r#"{"serverContent":{"modelTurn":{"parts":[{"text":"Hi."}]}}}"#);
        script.provider(&format!(r#"{{"goAway":{{"timeLeft":"{left}"}}}}"#));
        let lines = script.wait(3_600_000);
        assert!(lines.iter().any(|line| line.starts_with("reconnect ")), "{left}: {lines:?}");
    }
}

#[test]
fn an_offer_that_went_back_needs_no_connection() {
    let mut script = Script::resumable(OLD);
    script.client(r#"{"realtimeInput":{"activityStart":{}}}"#);
    script.news(other());
    script.wait(250);
    script.news(DialectEvent::Offer(offer()));
    let lines = script.client(r#"{"realtimeInput":{"activityEnd":{}}}"#);
    assert_eq!(lines, ["provider: as it is"]);
}

#[test]
fn handles_are_hidden_from_a_client_that_asked_for_none() {
    let mut script = Script::ready(NEW);
    assert_eq!(script.provider(RESUMABLE), [""; 0]);
    let mut script = Script::new(NEW);
    script.client(r#"{"setup":{"model":"models/x","session_resumption":{}}}"#);
    script.provider(r#"{"setupComplete":{}}"#);
    assert_eq!(script.provider(RESUMABLE), ["client: as it is"]);
}

#[test]
fn a_provider_that_leaves_is_left_first_and_the_client_does_not_notice() {
    let mut script = Script::resumable(NEW);
    script.calls(&["f1 search", "f2 lights"]);
    script.wait(200);
    assert_eq!(script.provider(r#"{"goAway":{"timeLeft":"9.5s"}}"#), ["prepare"]);
    assert_eq!(script.wait(8_499), [""; 0]);
    let lines = script.wait(1);
    assert_eq!(
        lines[..3],
        [
            r#"client: {"serverContent":{"interrupted":true}}"#,
            r#"client: {"serverContent":{"turnComplete":true}}"#,
            "Interrupted",
        ]
    );
    assert_eq!(field(&lines[3], "reconnect ", "/setup/sessionResumption/handle"), "h1");
    // What comes before the new connection is ready waits for it, as words.
    assert_eq!(script.answer("f1", AnswerStage::Done, ResultDelivery::WhenIdle), [""; 0]);
    let lines = script.provider(r#"{"setupComplete":{}}"#);
    assert_eq!(lines[0], "reconnected");
    let words = field(&lines[1], "provider: ", "/realtimeInput/text").to_string();
    assert!(words.contains("search"), "{words}");
    let answer = r#"{"toolResponse":{"functionResponses":[{"id":"f2","name":"lights","response":{"output":"on"}}]}}"#;
    assert_eq!(script.client(answer), [""; 0], "the model speaks");
    let lines = script.provider(r#"{"serverContent":{"turnComplete":true}}"#);
    let words = field(&lines[2], "provider: ", "/realtimeInput/text").to_string();
    assert!(words.contains("lights"), "{words}");
}

#[test]
fn a_provider_that_leaves_is_left_at_the_first_good_moment() {
    let mut script = Script::resumable(NEW);
    script.provider(r#"{"serverContent":{"modelTurn":{"parts":[{"text":"Hi."}]}}}"#);
    script.provider(r#"{"goAway":{"timeLeft":"50s"}}"#);
    let lines = script.provider(r#"{"serverContent":{"turnComplete":true}}"#);
    assert_eq!(lines, ["client: as it is", "said Hi.", "Ended"]);
    let lines = script.provider(RESUMABLE);
    assert_eq!(field(&lines[0], "reconnect ", "/setup/sessionResumption/handle"), "h2");
}

#[test]
fn an_end_that_cannot_be_helped_is_told() {
    let mut script = Script::ready(NEW);
    assert_eq!(script.provider(r#"{"goAway":{"timeLeft":"9s"}}"#), ["client: as it is"]);
}

#[test]
fn a_pending_call_outlives_its_connection() {
    let mut script = Script::resumable(OLD);
    script.calls(&["f1 search"]);
    script.answer("f1", AnswerStage::Pending, ResultDelivery::WhenIdle);
    script.provider(r#"{"serverContent":{"turnComplete":true}}"#);
    script.provider(r#"{"goAway":{}}"#);
    script.provider(RESUMABLE);
    script.provider(r#"{"setupComplete":{}}"#);
    let lines = script.answer("f1", AnswerStage::Late, ResultDelivery::WhenIdle);
    let words = field(&lines[0], "provider: ", "/clientContent/turns/0/parts/0/text").to_string();
    assert!(words.contains("search"), "{words}");
}

/// Audio of the client: `loud` or silent, with a number in it.
fn audio(loud: bool, number: usize) -> String {
    // 48 characters hold 18 samples.
    let data = if loud { "AEA" } else { "AAA" }.repeat(16);
    format!(
        r#"{{"realtimeInput":{{"audio":{{"mimeType":"audio/pcm;rate=16000","data":"{data}"}},"n":{number}}}}}"#
    )
}

fn provider_texts(lines: &[String]) -> Vec<&str> {
    lines.iter().filter_map(|line| line.strip_prefix("provider: ")).collect()
}

#[test]
fn the_new_connection_is_opened_before_it_is_needed() {
    let mut script = Script::resumable(NEW);
    script.provider(r#"{"serverContent":{"modelTurn":{"parts":[{"text":"Hi."}]}}}"#);
    assert_eq!(script.provider(r#"{"goAway":{"timeLeft":"50s"}}"#), [""; 0]);
    assert_eq!(script.wait(38_999), [""; 0]);
    assert_eq!(script.wait(1), ["prepare"]);
    assert_eq!(script.wait(9_999), [""; 0]);
    let lines = script.wait(1);
    assert!(lines.last().is_some_and(|line| line.starts_with("reconnect ")), "{lines:?}");
}

#[test]
fn a_connection_is_not_left_while_the_callers_audio_has_sound_in_it() {
    let mut script = Script::resumable(NEW);
    assert_eq!(script.client(&audio(true, 0)), ["provider: as it is"]);
    assert_eq!(script.provider(r#"{"goAway":{"timeLeft":"9s"}}"#), ["prepare"]);
    for number in 1..10 {
        assert_eq!(script.client(&audio(false, number)), ["provider: as it is"]);
        assert_eq!(script.wait(20), [""; 0]);
    }
    script.provider(r#"{"serverContent":{"modelTurn":{"parts":[{"text":"Hi."}]}}}"#);
    script.provider(r#"{"serverContent":{"turnComplete":true}}"#);
    let lines = script.provider(RESUMABLE);
    assert_eq!(field(&lines[0], "reconnect ", "/setup/sessionResumption/handle"), "h2");
    assert_eq!(script.provider(r#"{"setupComplete":{}}"#), ["reconnected"], "it has all");
}

#[test]
fn what_was_said_since_the_last_handle_is_said_again_on_the_new_connection() {
    let mut script = Script::resumable(NEW);
    assert_eq!(script.client(&audio(true, 0)), ["provider: as it is"]);
    script.provider(r#"{"goAway":{"timeLeft":"3s"}}"#);
    let mut sent = Vec::new();
    let mut lines = Vec::new();
    for number in 1..=100 {
        sent.push(audio(true, number));
        assert_eq!(script.client(&sent[number - 1])[0], "provider: as it is");
        lines = script.wait(20);
    }
    assert!(lines.last().is_some_and(|line| line.starts_with("reconnect ")), "{lines:?}");
    let lines = script.provider(r#"{"setupComplete":{}}"#);
    assert_eq!(lines[0], "reconnected");
    // At most a second and a half, without a gap, to the very last one.
    assert_eq!(provider_texts(&lines), sent[sent.len() - 76..]);
    assert_eq!(script.client(&audio(true, 101)), ["provider: as it is"]);
}

#[test]
fn a_caller_whose_client_says_that_it_speaks_goes_on_speaking_on_the_new_connection() {
    let mut script = Script::resumable(NEW);
    script.client(r#"{"realtimeInput":{"activityStart":{}}}"#);
    script.provider(r#"{"goAway":{"timeLeft":"1.5s"}}"#);
    script.client(&audio(true, 1));
    script.wait(500);
    let lines = script.provider(r#"{"setupComplete":{}}"#);
    let expected = [r#"{"realtimeInput":{"activityStart":{}}}"#.to_owned(), audio(true, 1)];
    assert_eq!(provider_texts(&lines), expected);
}

#[test]
fn noise_does_not_keep_a_changed_offer_back_for_ever() {
    let mut script = Script::resumable(OLD);
    script.client(&audio(true, 0));
    assert_eq!(script.news(other()), ["prepare"]);
    for number in 1..30 {
        script.client(&audio(true, number));
        assert_eq!(script.wait(1_000), [""; 0]);
    }
    let lines = script.wait(1_000);
    assert!(lines.last().is_some_and(|line| line.starts_with("reconnect ")), "{lines:?}");
}

fn leaves(script: &mut Script, code: u16) -> Vec<String> {
    let reason = String::new();
    let gone = script.machine.on_provider_gone(&CloseReason { code, reason }, script.now);
    match gone {
        ProviderGone::End => vec!["end".to_owned()],
        ProviderGone::Resume(actions) => lines(actions),
        ProviderGone::Replace(fault) => vec![format!("replace {:?}", fault.kind)],
    }
}

#[test]
fn a_connection_that_ends_without_warning_is_resumed() {
    for code in [1000, 1001, 1006, 1011, 1012, 1013] {
        let mut script = Script::resumable(NEW);
        script.provider(r#"{"serverContent":{"modelTurn":{"parts":[{"text":"Hi."}]}}}"#);
        let lines = leaves(&mut script, code);
        let told = [
            r#"client: {"serverContent":{"interrupted":true}}"#,
            r#"client: {"serverContent":{"turnComplete":true}}"#,
        ];
        assert_eq!(lines[..2], told, "{code}");
        let last = lines.last().expect("a reconnection");
        assert_eq!(field(last, "reconnect ", "/setup/sessionResumption/handle"), "h1", "{code}");
        assert_eq!(script.provider(r#"{"setupComplete":{}}"#), ["reconnected"], "{code}");
    }
}

#[test]
fn a_connection_that_cannot_be_resumed_ends_its_session() {
    for code in [1002, 1007, 1008, 1009] {
        assert_eq!(leaves(&mut Script::resumable(NEW), code), ["end"], "{code}");
    }
    let broken = ["replace Broken"];
    assert_eq!(leaves(&mut Script::ready(NEW), 1011), broken, "there is no handle");
    assert_eq!(leaves(&mut Script::new(NEW), 1011), ["end"], "there is no session");
}

#[test]
fn a_provider_that_leaves_again_and_again_is_not_asked_for_ever() {
    let mut script = Script::resumable(NEW);
    for _ in 0..3 {
        assert!(leaves(&mut script, 1011)[0].starts_with("reconnect "));
        script.provider(r#"{"setupComplete":{}}"#);
        script.wait(1_000);
    }
    assert_eq!(leaves(&mut script, 1011), ["replace Refused"]);
    script.wait(60_000);
    assert!(leaves(&mut script, 1011)[0].starts_with("reconnect "));
}
