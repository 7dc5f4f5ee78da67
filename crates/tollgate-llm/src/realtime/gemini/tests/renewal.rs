//! Offers in the middle of a session, and connections that end before it.

use tollgate_core::tool::ResultDelivery;

use super::{Script, field, offer, offer_of};
use crate::realtime::events::{AnswerStage, DialectEvent};

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
    assert_eq!(script.provider(r#"{"goAway":{"timeLeft":"9.5s"}}"#), [""; 0]);
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
