//! Conversations with the machine as transcripts.

use serde_json::json;

use super::DeepgramVoiceAgent;
use crate::realtime::transcript::{self, feed_line};

mod chance;
mod settings;

#[track_caller]
fn check(offered: &str, text: &str) {
    transcript::check(&mut DeepgramVoiceAgent::new(transcript::opening(offered)), text);
}

/// The same after a usual beginning: the client has a function `lamp`, we have `roll` and `book`.
#[track_caller]
fn check_begun(text: &str) {
    transcript::check(&mut begin(), text);
}

fn begin() -> DeepgramVoiceAgent {
    let mut machine = DeepgramVoiceAgent::new(transcript::opening("roll book!"));
    feed_line(
        &mut machine,
        r#"client {"type":"Settings","agent":{"think":{"functions":[{"name":"lamp"}],"prompt":"Hi"}}}"#,
    );
    feed_line(&mut machine, r#"provider {"type":"SettingsApplied"}"#);
    machine
}

#[test]
fn calls_are_split_between_server_client_and_gateway_and_ours_all_answered() {
    check_begun(
        r#"
        provider {"type":"ConversationText","role":"user","content":"Roll and light up."}
          forward
          heard Roll and light up.
          turn began
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{\"dice\":2}","client_side":true},{"id":"c2","name":"lamp","arguments":"{}","client_side":true,"thought_signature":"s"},{"id":"c3","name":"nobody_has_it","arguments":"{}","client_side":true},{"id":"c4","name":"hangup","arguments":"{}","client_side":false}]}
          replace {"type":"FunctionCallRequest","functions":[{"id":"c2","name":"lamp","arguments":"{}","client_side":true,"thought_signature":"s"},{"id":"c4","name":"hangup","arguments":"{}","client_side":false}]}
          run c1 roll {"dice":2}
          run c3 nobody_has_it {}
          confirm c1 c3
        client {"type":"FunctionCallResponse","id":"c2","name":"lamp","content":"on"}
          forward
        answer c3 done {"status":"denied"}
          provider {"type":"FunctionCallResponse","id":"c3","name":"nobody_has_it","content":"{\"status\":\"denied\"}"}
        answer c1 done {"status":"ok"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"ok\"}"}
        provider {"type":"FunctionCallResponse","id":"c4","name":"hangup","content":"bye"}
          forward
        provider {"type":"ConversationText","role":"assistant","content":"Seven."}
          forward
          said Seven.
        provider-audio 640
          forward
        provider {"type":"LatencyReport","total_latency":0.4}
          forward
        provider {"type":"AgentAudioDone"}
          forward
          turn ended
        "#,
    );
}

#[test]
fn a_call_that_comes_twice_runs_once() {
    check_begun(
        r#"
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true},{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          turn began
          run c1 roll {}
          confirm c1
        answer c1 done {"status":"ok"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"ok\"}"}
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
        "#,
    );
}

#[test]
fn a_cancelled_call_is_stopped_and_never_answered() {
    check_begun(
        r#"
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true},{"id":"c2","name":"lamp","arguments":"{}","client_side":true},{"id":"c3","name":"book","arguments":"{}","client_side":true}]}
          replace {"type":"FunctionCallRequest","functions":[{"id":"c2","name":"lamp","arguments":"{}","client_side":true}]}
          turn began
          run c1 roll {}
          run c3 book {}
          confirm c1 c3
        provider {"type":"UserStartedSpeaking"}
          forward
          turn interrupted
        provider {"type":"FunctionCallCancelled","functions":[{"id":"c1","name":"roll"},{"id":"c2","name":"lamp"}]}
          replace {"type":"FunctionCallCancelled","functions":[{"id":"c2","name":"lamp"}]}
          cancel c1
        answer c1 cancelled {"status":"cancelled"}
        answer c3 done {"status":"ok"}
          provider {"type":"FunctionCallResponse","id":"c3","name":"book","content":"{\"status\":\"ok\"}"}
        provider {"type":"FunctionCallCancelled","functions":[{"id":"c3","name":"book"}]}
          swallow
        "#,
    );
}

#[test]
fn a_call_that_somebody_else_stopped_is_answered_all_the_same() {
    check_begun(
        r#"
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          turn began
          run c1 roll {}
          confirm c1
        answer c1 cancelled {"status":"cancelled"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"cancelled\"}"}
        "#,
    );
}

#[test]
fn speculative_calls_belong_to_the_turn_that_is_then_confirmed() {
    check_begun(
        r#"
        provider {"type":"UserStartedSpeaking"}
          forward
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          turn began
          run c1 roll {}
          confirm c1
        provider {"type":"ConversationText","role":"user","content":"Roll."}
          forward
          heard Roll.
        answer c1 done {"status":"ok"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"ok\"}"}
        provider {"type":"ConversationText","role":"assistant","content":"Six."}
          forward
          said Six.
        provider {"type":"AgentAudioDone"}
          forward
          turn ended
        "#,
    );
}

#[test]
fn a_slow_call_is_announced_without_ending_the_turn_unless_the_caller_speaks() {
    check_begun(
        r#"
        provider {"type":"ConversationText","role":"user","content":"Roll."}
          forward
          heard Roll.
          turn began
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          run c1 roll {}
          confirm c1
        slow c1 One moment.
          provider {"type":"InjectAgentMessage","message":"One moment.","behavior":"queue"}
          announced
        provider {"type":"ConversationText","role":"assistant","content":"One moment."}
          forward
          said One moment.
        provider {"type":"AgentAudioDone"}
          forward
        provider {"type":"UserStartedSpeaking"}
          forward
          turn interrupted
        slow c1 Still there?
        answer c1 done {"status":"ok"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"ok\"}"}
        slow c1 Too late.
        "#,
    );
}

#[test]
fn a_late_result_is_said_in_the_next_pause_and_again_if_refused() {
    check_begun(
        r#"
        provider {"type":"ConversationText","role":"user","content":"Roll."}
          forward
          heard Roll.
          turn began
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          run c1 roll {}
          confirm c1
        answer c1 pending {"status":"pending"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"pending\"}"}
        provider {"type":"ConversationText","role":"assistant","content":"It takes a while."}
          forward
          said It takes a while.
        provider {"type":"FunctionCallCancelled","functions":[{"id":"c1","name":"roll"}]}
          swallow
          turn interrupted
        answer c1 late {"status":"ok","message":"You rolled six."}
        provider {"type":"AgentAudioDone"}
          forward
          provider {"type":"InjectAgentMessage","message":"You rolled six.","behavior":"default"}
          late told
        provider {"type":"UserStartedSpeaking"}
          forward
        provider {"type":"InjectionRefused","message":"not now"}
          swallow
        provider {"type":"ConversationText","role":"user","content":"And?"}
          forward
          heard And?
          turn began
        provider {"type":"ConversationText","role":"assistant","content":"Wait."}
          forward
          said Wait.
        provider {"type":"AgentAudioDone"}
          forward
          turn ended
          provider {"type":"InjectAgentMessage","message":"You rolled six.","behavior":"default"}
        provider {"type":"ConversationText","role":"assistant","content":"You rolled six."}
          forward
          said You rolled six.
        "#,
    );
}

#[test]
fn a_late_result_interrupts_or_is_not_said_as_its_tool_wishes() {
    let query = r#"
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          turn began
          run c1 roll {}
          confirm c1
        answer c1 pending {"status":"pending"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"pending\"}"}
    "#;
    for rest in [
        "answer c1 late/silent {\"status\":\"ok\",\"message\":\"Six.\"}",
        "answer c1 late/interrupt {\"status\":\"ok\",\"message\":\"Six.\"}\n          provider \
         {\"type\":\"InjectAgentMessage\",\"message\":\"Six.\",\"behavior\":\"interrupt\"}\n          late told",
        "answer c1 late {\"status\":\"ok\"}",
    ] {
        check_begun(&format!("{query}\n        {rest}"));
    }
}

#[test]
fn a_refused_injection_of_the_clients_is_told_to_the_client() {
    check_begun(
        r#"
        client {"type":"InjectAgentMessage","message":"Hello."}
          forward
        provider {"type":"InjectionRefused","message":"not now"}
          forward
        provider {"type":"InjectionRefused","message":"out of the blue"}
          forward
        "#,
    );
}

#[test]
fn b_ws_12_a_client_cannot_answer_our_calls() {
    let refused = r#"client {"type":"Warning","description":"function `roll` is not a client function: the client answers only its own calls","code":"FUNCTION_CALL_NOT_YOURS"}"#;
    check_begun(&format!(
        r#"
        provider {{"type":"FunctionCallRequest","functions":[{{"id":"c1","name":"roll","arguments":"{{}}","client_side":true}}]}}
          swallow
          turn began
          run c1 roll {{}}
          confirm c1
        client {{"type":"FunctionCallResponse","id":"c1","name":"roll","content":"1000"}}
          swallow
          {refused}
        client {{"type":"FunctionCallResponse","name":"roll","content":"1000"}}
          swallow
          {refused}
        client {{"type":"FunctionCallResponse","id":"unknown","name":"lamp","content":"on"}}
          forward
        "#
    ));
}

#[test]
fn history_holds_no_calls_of_ours() {
    check_begun(
        r#"
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          turn began
          run c1 roll {}
          confirm c1
        answer c1 done {"status":"ok"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"ok\"}"}
        provider {"type":"History","function_calls":[{"id":"c1","name":"roll","client_side":true,"arguments":"{}","response":"6"}]}
          swallow
        provider {"type":"History","function_calls":[{"id":"c1","name":"roll"},{"id":"c9","name":"lamp"}]}
          replace {"type":"History","function_calls":[{"id":"c9","name":"lamp"}]}
        provider {"type":"History","role":"user","content":"Roll."}
          forward
        "#,
    );
}

#[test]
fn a_client_wishes_for_a_tier_and_is_told() {
    check_begun(
        r#"
        client {"type":"tollgate.tier","tier":"deep"}
          swallow
          tier deep
        client {"type":"tollgate.tier","tier":null}
          swallow
          tier -
        tier deep asked for
          client {"type":"tollgate.tier","tier":"deep","reason":"asked for"}
        "#,
    );
}

#[test]
fn b_ws_11_what_two_readers_could_read_differently_is_told_back() {
    let told_back = |why: &str| {
        json!({
            "type": "Warning",
            "description": format!("the message was not forwarded: {why}"),
            "code": "UNPARSABLE_CLIENT_MESSAGE",
        })
    };
    for (sent, why) in [
        ("[]", "it is not a JSON object with one `type`"),
        (r#"{"type":"KeepAlive","type":"Settings"}"#, "it is not a JSON object with one `type`"),
        (r#"{"type":"UpdateThink","think":{"a":1,"a":2}}"#, "duplicate key `a`"),
    ] {
        let mut machine = begin();
        let expected = ["swallow".to_owned(), format!("client {}", told_back(why))];
        assert_eq!(feed_line(&mut machine, &format!("client {sent}")), expected, "{sent}");
    }
    check_begun(
        r#"
        client {"type":"KeepAlive"}
          forward
        client {"no":"type"}
          forward
        client-audio 640
          forward
        provider garbage
          forward
        provider {"type":"FunctionCallRequest"}
          forward
        provider {"type":"FunctionCallRequest","functions":[{"name":"no id"}]}
          forward
          turn began
        "#,
    );
}
