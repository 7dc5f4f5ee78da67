//! What is said, and whose turn it is.

use super::Script;

const LIVE: &str = "gemini-3.8-live";

fn read_stream(text: &str) -> String {
    format!(r#"{{"serverContent":{{"inputTranscription":{{"text":"{text}"}}}}}}"#)
}

#[test]
fn an_utterance_grows_until_the_model_answers_it() {
    let mut script = Script::ready(LIVE);
    assert_eq!(script.provider(&read_stream(" Roll")), ["client: as it is", "hears Roll…"]);
    assert_eq!(script.provider(&read_stream(" a d20")), ["client: as it is", "hears Roll a d20…"]);
    let audio = r#"{"serverContent":{"modelTurn":{"parts":[{"inlineData":{"mimeType":"audio/pcm","data":"AAAA"}}]}}}"#;
    assert_eq!(script.provider(audio), ["client: as it is", "heard Roll a d20", "Began"]);
    assert_eq!(script.provider(audio), ["client: as it is"]);
    assert_eq!(script.provider(&read_stream("no")), ["client: as it is", "hears no…"]);
}

#[test]
fn an_utterance_that_is_finished_is_whole() {
    let mut script = Script::ready(LIVE);
    script.provider(&read_stream("Who"));
    let last = r#"{"serverContent":{"inputTranscription":{"text":" is it?","finished":true}}}"#;
    assert_eq!(
        script.provider(last),
        ["client: as it is", "hears Who is it?…", "heard Who is it?"]
    );
    assert_eq!(script.calls(&["f1 roll"])[0], "Began");
}

#[test]
fn a_guess_is_replaced_by_the_next() {
    let mut script = Script::ready(LIVE);
    let interim = |text: &str| {
        format!(r#"{{"serverContent":{{"interimInputTranscription":{{"text":"{text}"}}}}}}"#)
    };
    assert_eq!(script.provider(&interim("search")), ["client: as it is", "hears search…"]);
    assert_eq!(
        script.provider(&interim("search the web")),
        ["client: as it is", "hears search the web…"]
    );
    assert_eq!(
        script.provider(&read_stream("Search the web")),
        ["client: as it is", "hears Search the web…"]
    );
    assert_eq!(
        script.provider(&interim("for cats")),
        ["client: as it is", "hears Search the web for cats…"]
    );
}

#[test]
fn what_the_agent_said_is_told_at_the_end_of_its_turn() {
    let mut script = Script::ready(LIVE);
    script.provider(r#"{"serverContent":{"outputTranscription":{"text":"You rolled"}}}"#);
    script.provider(r#"{"serverContent":{"outputTranscription":{"text":" a six."}}}"#);
    script.provider(r#"{"serverContent":{"generationComplete":true}}"#);
    let end = script.provider(r#"{"serverContent":{"turnComplete":true},"usageMetadata":{}}"#);
    assert_eq!(end, ["client: as it is", "said You rolled a six.", "Ended"]);
    assert_eq!(script.provider(r#"{"serverContent":{"turnComplete":true}}"#), ["client: as it is"]);
}

#[test]
fn a_model_that_writes_is_read_without_its_thoughts() {
    let mut script = Script::ready(LIVE);
    script.provider(r#"{"serverContent":{"modelTurn":{"parts":[{"text":"hm","thought":true},{"text":"Six"}]}}}"#);
    script.provider(r#"{"serverContent":{"modelTurn":{"parts":[{"text":"."}]}}}"#);
    let end = script.provider(r#"{"serverContent":{"turnComplete":true}}"#);
    assert_eq!(end, ["client: as it is", "said Six.", "Ended"]);
}

#[test]
fn an_interrupted_answer_was_said_as_far_as_it_came() {
    let mut script = Script::ready(LIVE);
    script.provider(r#"{"serverContent":{"outputTranscription":{"text":"You ro"}}}"#);
    let lines = script.provider(r#"{"serverContent":{"interrupted":true}}"#);
    assert_eq!(lines, ["client: as it is", "said You ro", "Interrupted"]);
    assert_eq!(script.provider(r#"{"serverContent":{"turnComplete":true}}"#), ["client: as it is"]);
}

#[test]
fn a_turn_goes_on_while_the_model_thinks_or_waits_for_a_tool() {
    let mut script = Script::ready("gemini-3.8-live-extended-thinking");
    script.provider(r#"{"serverContent":{"outputTranscription":{"text":"Hm."}}}"#);
    let more = r#"{"serverContent":{"turnComplete":true,"interactionStatus":"IN_PROGRESS"}}"#;
    assert_eq!(script.provider(more), ["client: as it is"]);
    let idle = r#"{"serverContent":{"interactionStatus":"IDLE"}}"#;
    assert_eq!(script.provider(idle), ["client: as it is", "said Hm.", "Ended"]);

    let mut script = Script::ready("gemini-2.5-flash-live");
    script.calls(&["f1 roll"]);
    let end = r#"{"serverContent":{"turnComplete":true}}"#;
    assert_eq!(script.provider(end), ["client: as it is"]);
    script.done("f1");
    assert_eq!(script.provider(end), ["client: as it is", "Ended"]);
}
