//! Calls: whose they are, how they are answered, and how they are taken back.

use serde_json::json;
use tollgate_core::tool::ResultDelivery;

use super::{Script, field};
use crate::realtime::events::{AnswerStage, DialectEvent};

const LIVE: &str = "gemini-3.8-live";

#[test]
fn s_29_a_batch_is_split_and_the_client_sees_only_its_own() {
    let mut script = Script::ready(LIVE);
    let lines = script.provider(
        r#"{"toolCall":{"functionCalls":[{"id":"f1","name":"roll","args":{ "n":2 }},{"id":"f2","name":"lights","args":{ }},{"id":"f3","name":"nobody"}]},"usageMetadata":{"a":1}}"#,
    );
    assert_eq!(
        lines,
        [
            r#"client: {"toolCall":{"functionCalls":[{"id":"f2","name":"lights","args":{ }}]},"usageMetadata":{"a":1}}"#,
            "Began",
            r#"run f1 roll { "n":2 }"#,
            "run f3 nobody {}",
        ]
    );
}

#[test]
fn a_call_of_ours_is_not_seen_by_the_client() {
    let mut script = Script::ready(LIVE);
    assert_eq!(script.calls(&["f1 roll"]), ["Began", r#"run f1 roll {"x":1}"#]);
    let lines = script.provider(
        r#"{"toolCall":{"functionCalls":[{"id":"f2","name":"roll"}]},"serverContent":{"generationComplete":true}}"#,
    );
    assert_eq!(
        lines,
        [r#"client: {"serverContent":{"generationComplete":true}}"#, "run f2 roll {}"]
    );
    assert_eq!(
        script.provider(r#"{"toolCall":{"functionCalls":[]}}"#),
        ["client: as it is"],
        "nothing of ours is in it"
    );
}

#[test]
fn each_call_of_a_batch_is_answered_as_it_comes() {
    let mut script = Script::ready(LIVE);
    script.calls(&["f1 roll", "f2 roll"]);
    assert_eq!(
        script.done("f2"),
        [
            r#"provider: {"toolResponse":{"functionResponses":[{"name":"roll","response":{"output":{"status":"ok","message":"a word"}},"id":"f2"}]}}"#
        ]
    );
    let lines = script.done("f1");
    assert_eq!(field(&lines[0], "provider: ", "/toolResponse/functionResponses/0/id"), "f1");
}

#[test]
fn an_answer_to_a_model_that_talks_on_says_when_it_is_to_be_spoken_of() {
    for (delivery, scheduling) in [
        (ResultDelivery::WhenIdle, "WHEN_IDLE"),
        (ResultDelivery::Interrupt, "INTERRUPT"),
        (ResultDelivery::Silent, "SILENT"),
    ] {
        let mut script = Script::ready(LIVE);
        script.calls(&["f1 search"]);
        let lines = script.answer("f1", AnswerStage::Done, delivery);
        let response = field(&lines[0], "provider: ", "/toolResponse/functionResponses/0");
        assert_eq!(response["scheduling"], scheduling);
        assert_eq!(response["response"]["scheduling"], scheduling);
        assert_eq!(response["willContinue"], false);
    }
}

#[test]
fn results_and_failures_have_their_own_keys_and_are_never_empty() {
    for (outcome, key) in [
        (r#"{"status":"ok"}"#, "output"),
        (r#"{"status":"no_results","retryable":false}"#, "output"),
        (r#"{"status":"timeout"}"#, "error"),
        (r#"{"status":"denied"}"#, "error"),
        (r#"{"status":"cancelled"}"#, "error"),
        ("{}", "output"),
        ("", "output"),
        ("null", "output"),
        ("no JSON", "output"),
    ] {
        let mut script = Script::ready(LIVE);
        script.calls(&["f1 roll"]);
        let lines = script.outcome("f1", AnswerStage::Done, outcome);
        let response = field(&lines[0], "provider: ", "/toolResponse/functionResponses/0/response");
        assert!(response.as_object().is_some_and(|it| it.len() == 1), "{response}");
        assert!(response[key].to_string().len() > 2, "{outcome}: {response}");
    }
}

#[test]
fn a_call_that_is_taken_back_is_stopped_and_never_answered() {
    let mut script = Script::ready(LIVE);
    script.calls(&["f1 roll", "f2 lights", "f3 search"]);
    let lines = script.provider(r#"{"toolCallCancellation":{"ids":["f1","f2"]}}"#);
    assert_eq!(
        lines,
        [r#"client: {"toolCallCancellation":{"ids":["f2"]}}"#, "Interrupted", "cancel f1"]
    );
    assert_eq!(script.answer("f1", AnswerStage::Done, ResultDelivery::Wait), [""; 0]);
    assert_eq!(script.answer("f1", AnswerStage::Late, ResultDelivery::Wait), [""; 0]);
    assert_eq!(script.provider(r#"{"toolCallCancellation":{"ids":["f1"]}}"#), [""; 0]);
    assert_eq!(script.wait(1_000), ["confirm f3"]);
    assert_eq!(
        script.provider(r#"{"toolCallCancellation":{"ids":["f9"]}}"#),
        ["client: as it is"],
        "whoever it belongs to"
    );
}

#[test]
fn a_pending_call_can_be_taken_back_too() {
    let mut script = Script::ready(LIVE);
    script.calls(&["f1 search"]);
    script.answer("f1", AnswerStage::Pending, ResultDelivery::WhenIdle);
    let lines = script.provider(r#"{"toolCallCancellation":{"ids":["f1"]}}"#);
    assert_eq!(lines, ["Interrupted", "cancel f1"]);
    assert_eq!(script.answer("f1", AnswerStage::Late, ResultDelivery::WhenIdle), [""; 0]);
}

#[test]
fn an_interruption_stops_what_the_model_waits_for_and_answers_it_if_it_is_not_taken_back() {
    let mut script = Script::ready(LIVE);
    script.calls(&["f1 roll", "f2 roll", "f3 roll"]);
    let lines = script.provider(r#"{"serverContent":{"interrupted":true}}"#);
    let cancelled = ["client: as it is", "Interrupted", "cancel f1", "cancel f2", "cancel f3"];
    assert_eq!(lines, cancelled);
    // An answer at once could cross a cancellation that is on its way.
    assert_eq!(script.answer("f1", AnswerStage::Cancelled, ResultDelivery::Wait), [""; 0]);
    assert_eq!(script.answer("f2", AnswerStage::Cancelled, ResultDelivery::Wait), [""; 0]);
    assert_eq!(script.provider(r#"{"toolCallCancellation":{"ids":["f1"]}}"#), [""; 0]);
    let lines = script.wait(200);
    assert_eq!(lines.len(), 1);
    let response = field(&lines[0], "provider: ", "/toolResponse/functionResponses/0");
    assert_eq!(
        (&response["id"], &response["response"]["error"]["status"]),
        (&json!("f2"), &json!("cancelled"))
    );
    let lines = script.answer("f3", AnswerStage::Done, ResultDelivery::Wait);
    assert_eq!(lines.len(), 1, "a result that came later is not lost either");
    assert_eq!(script.provider(r#"{"serverContent":{"turnComplete":true}}"#), ["client: as it is"]);
}

#[test]
fn an_interruption_leaves_a_call_that_the_model_talks_on_beside() {
    let mut script = Script::ready(LIVE);
    script.calls(&["f1 search"]);
    assert_eq!(script.wait(200), ["confirm f1"]);
    let lines = script.provider(r#"{"serverContent":{"interrupted":true}}"#);
    assert_eq!(lines, ["client: as it is", "Interrupted"]);
    assert_eq!(script.answer("f1", AnswerStage::Done, ResultDelivery::WhenIdle).len(), 1);
}

#[test]
fn writes_are_confirmed_when_nobody_has_spoken_for_a_moment() {
    let mut script = Script::ready(LIVE);
    script.calls(&["f1 roll", "f2 search"]);
    assert_eq!(script.wait(199), [""; 0]);
    assert_eq!(script.wait(1), ["confirm f1 f2"]);
    assert_eq!(script.wait(1_000), [""; 0]);
    script.calls(&["f3 search"]);
    script.wait(100);
    let lines = script.provider(r#"{"serverContent":{"interrupted":true}}"#);
    assert!(lines.contains(&"cancel f3".to_owned()), "what is not sure is not done: {lines:?}");
    assert_eq!(script.wait(1_000), [""; 0]);
}

#[test]
fn a_call_that_is_made_twice_runs_once() {
    let mut script = Script::ready(LIVE);
    assert_eq!(script.calls(&["f1 roll", "f1 roll"]).len(), 2);
    assert_eq!(script.calls(&["f1 roll"]), [""; 0]);
    assert_eq!(script.done("f1").len(), 1);
    assert_eq!(script.calls(&["f1 roll"]), [""; 0]);
    assert_eq!(script.done("f1"), [""; 0]);
}

#[test]
fn a_call_without_an_id_is_answered_without_one() {
    let mut script = Script::ready(LIVE);
    let lines = script.provider(r#"{"toolCall":{"functionCalls":[{"name":"roll","args":{}}]}}"#);
    assert_eq!(lines[1], "run tollgate-1 roll {}");
    let lines = script.done("tollgate-1");
    let response = field(&lines[0], "provider: ", "/toolResponse/functionResponses/0");
    assert!(response.get("id").is_none(), "{response}");
}

#[test]
fn a_slow_call_is_spoken_of_only_where_the_model_can_speak() {
    let slow = |id: &str| DialectEvent::Slow { id: id.to_owned(), message: "One moment.".into() };
    let mut script = Script::ready(LIVE);
    script.calls(&["f1 search", "f2 roll", "f3 note"]);
    let lines = script.news(slow("f1"));
    let response = field(&lines[0], "provider: ", "/toolResponse/functionResponses/0");
    assert_eq!(response["willContinue"], true);
    assert_eq!(response["scheduling"], "WHEN_IDLE");
    assert_eq!(response["response"]["output"]["message"], "One moment.");
    assert_eq!(lines[1], "announced");
    for silent in ["f2", "f3", "f9"] {
        assert_eq!(script.news(slow(silent)), [""; 0], "{silent}");
    }
    assert_eq!(script.answer("f1", AnswerStage::Done, ResultDelivery::WhenIdle).len(), 1);
}
