//! Conversations with the machine as transcripts, and a long random one.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_engine::clock::{Clock, SystemClock};

use super::{GptLive, MAX_APPEND_TOKENS};
use crate::realtime::events::{
    DeepTurnRouting, DialectAction, DialectEvent, RealtimeDialect, RealtimeFrame, TurnEvent,
};
use crate::realtime::transcript::{self, feed_line};
use crate::tokens::{self, CountPrecision};

mod chance;

#[track_caller]
fn check(offered: &str, text: &str) {
    transcript::check(&mut GptLive::new(transcript::opening(offered)), text);
}

/// The same after a usual beginning: the backend has the client's `lamp`, and our `roll` and `book`.
#[track_caller]
fn check_begun(text: &str) {
    transcript::check(&mut begin("responses"), text);
}

fn begin(delegation: &str) -> GptLive {
    let mut machine = GptLive::new(transcript::opening("roll book!"));
    let responses = json!({"model": "gpt-5.6", "tools": [{"type": "function", "name": "lamp"}]});
    let delegation = json!({"type": delegation, "responses": responses});
    let start =
        json!({"type": "session.start", "session": {"model": "v", "delegation": delegation}});
    feed_line(&mut machine, &format!("client {start}"));
    feed_line(&mut machine, r#"provider {"type":"session.started","session":{"id":"s"}}"#);
    machine
}

/// An event of the backend.
fn backend(delegation: &str, event: &Value) -> String {
    let outer = json!({"type": "response.event", "delegation_id": delegation, "event": event});
    format!("provider {outer}")
}

fn call(id: &str, name: &str) -> Value {
    let item = json!({
        "type": "function_call", "id": format!("i{id}"), "call_id": id, "name": name,
        "arguments": "{}", "status": "completed",
    });
    json!({"type": "response.output_item.done", "item": item})
}

#[test]
fn a_session_starts_with_our_tools_at_the_backend_and_our_prompt_at_both() {
    check(
        "roll | Be brief.",
        r#"
        client {"type":"session.start","event_id":"e","session":{"model":"voice","instructions":"You sell boats.","audio":{"output":{"voice":"marin"}},"delegation":{"type":"responses","responses":{"model":"gpt-5.6","tools":[{"type":"web_search"},{"type":"function","name":"lamp"}]}}}}
          replace {"type":"session.start","event_id":"e","session":{"model":"real-model","instructions":"Be brief.\n\nYou sell boats.","audio":{"output":{"voice":"marin"}},"delegation":{"type":"responses","responses":{"model":"gpt-5.6","tools":[{"type":"web_search"},{"type":"function","name":"lamp"},{"type":"function","name":"roll","description":"does roll"}],"instructions":"Be brief."}}}}
        provider {"type":"session.started","event_id":"x","client_event_id":"e","session":{"id":"s","instructions":"Be brief.\n\nYou sell boats.","delegation":{"type":"responses","responses":{"model":"gpt-5.6","tools":[{"type":"web_search"},{"type":"function","name":"lamp"},{"type":"function","name":"roll","description":"does roll","strict":false}],"instructions":"Be brief."}}}}
          replace {"type":"session.started","event_id":"x","client_event_id":"e","session":{"id":"s","instructions":"You sell boats.","delegation":{"type":"responses","responses":{"model":"gpt-5.6","tools":[{"type":"web_search"},{"type":"function","name":"lamp"}],"instructions":null}}}}
        "#,
    );
}

#[test]
fn a_change_of_the_offer_is_a_sparse_update_that_the_client_does_not_see() {
    check_begun(
        r#"
        offer roll
          provider {"type":"session.update","event_id":"tollgate-1","session":{"delegation":{"type":"responses","responses":{"tools":[{"type":"function","name":"lamp"},{"type":"function","name":"roll","description":"does roll"}]}}}}
        provider {"type":"session.updated","event_id":"x","client_event_id":"tollgate-1","session":{"id":"s"}}
          swallow
        offer roll
        offer roll | Be brief.
          provider {"type":"session.update","event_id":"tollgate-2","session":{"delegation":{"type":"responses","responses":{"instructions":"Be brief."}}}}
        provider {"type":"error","event_id":"x","error":{"type":"t","code":"c","message":"m","client_event_id":"tollgate-2"}}
          swallow
        provider {"type":"error","event_id":"x","error":{"type":"t","code":"c","message":"m","client_event_id":"mine"}}
          forward
        "#,
    );
}

#[test]
fn b_ws_12_an_update_of_the_client_never_removes_our_tools() {
    check_begun(
        r#"
        client {"type":"session.update","session":{"delegation":{"type":"responses","responses":{"tools":[{"type":"function","name":"roll"}]}}}}
          replace {"type":"session.update","session":{"delegation":{"type":"responses","responses":{"tools":[{"type":"function","name":"roll"},{"type":"function","name":"book","description":"does book"}]}}}}
        provider {"type":"session.updated","session":{"delegation":{"type":"responses","responses":{"tools":[{"type":"function","name":"roll"},{"type":"function","name":"book","description":"does book"}]}}}}
          replace {"type":"session.updated","session":{"delegation":{"type":"responses","responses":{"tools":[{"type":"function","name":"roll"}]}}}}
        client {"type":"session.update","session":{"delegation":{"type":"responses","responses":{"tools":[]}}}}
          replace {"type":"session.update","session":{"delegation":{"type":"responses","responses":{"tools":[{"type":"function","name":"roll","description":"does roll"},{"type":"function","name":"book","description":"does book"}]}}}}
        client {"type":"session.update","session":{"delegation":{"type":"responses","responses":{"model":"gpt-6"}}}}
          forward
        client {"type":"session.update","session":{"triggers":[]}}
          forward
        "#,
    );
}

#[test]
fn a_session_that_somebody_else_began_gets_our_tools_when_it_is_seen() {
    check(
        "roll",
        r#"
        provider {"type":"session.started","session":{"id":"s","delegation":{"type":"responses","responses":{"tools":[{"type":"function","name":"lamp"}],"instructions":"Hi"}}}}
          forward
          provider {"type":"session.update","event_id":"tollgate-1","session":{"delegation":{"type":"responses","responses":{"tools":[{"type":"function","name":"lamp"},{"type":"function","name":"roll","description":"does roll"}]}}}}
        "#,
    );
}

#[test]
fn calls_of_ours_are_hidden_run_and_answered_when_their_response_is_whole() {
    check_begun(
        r#"
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.created","response":{"id":"r"}}}
          forward
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.output_item.added","item":{"type":"function_call","id":"i1","call_id":"c1","name":"roll","arguments":""}}}
          swallow
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.function_call_arguments.delta","item_id":"i1","delta":"{}"}}
          swallow
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.function_call_arguments.done","item_id":"i1","arguments":"{}"}}
          swallow
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.output_item.done","item":{"type":"function_call","id":"i1","call_id":"c1","name":"roll","arguments":"{}","status":"completed"}}}
          swallow
          run c1 roll {}
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.output_item.done","item":{"type":"function_call","id":"i2","call_id":"c2","name":"book","arguments":"{}","status":"completed"}}}
          swallow
          run c2 book {}
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.output_item.done","item":{"type":"function_call","id":"i3","call_id":"c3","name":"book","arguments":"{","status":"incomplete"}}}
          swallow
        answer c1 done {"status":"ok"}
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.completed","response":{"id":"r","output":[]}}}
          forward
          confirm c1 c2
          provider {"type":"response.item.create","event_id":"tollgate-1","item":{"type":"function_call_output","call_id":"c1","output":"{\"status\":\"ok\"}"}}
        answer c2 pending {"status":"pending"}
          provider {"type":"response.item.create","event_id":"tollgate-2","item":{"type":"function_call_output","call_id":"c2","output":"{\"status\":\"pending\"}"}}
          provider {"type":"response.create","event_id":"tollgate-3"}
        provider {"type":"response.event","client_event_id":"tollgate-3","delegation_id":"d","event":{"type":"response.created","response":{"id":"r2"}}}
          replace {"type":"response.event","delegation_id":"d","event":{"type":"response.created","response":{"id":"r2"}}}
        answer c2 late {"status":"ok","message":"Booked."}
          provider {"type":"session.commentary.append","event_id":"tollgate-4","content":"Result of the earlier call of `book`: {\"status\":\"ok\",\"message\":\"Booked.\"}","delegation_id":null}
          late told
        provider {"type":"session.commentary.appended","client_event_id":"tollgate-4","start_ms":1,"end_ms":1}
          swallow
        "#,
    );
}

#[test]
fn a_mixed_batch_goes_on_once_when_both_sides_have_answered() {
    let query = r#"
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.created"}}
          forward
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.output_item.done","item":{"type":"function_call","id":"i1","call_id":"c1","name":"roll","arguments":"{}","status":"completed"}}}
          swallow
          run c1 roll {}
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.output_item.done","item":{"type":"function_call","id":"i2","call_id":"c2","name":"lamp","arguments":"{}","status":"completed"}}}
          forward
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.completed"}}
          forward
          confirm c1
    "#;
    let ours_last = r#"
        client {"type":"response.item.create","event_id":"a","item":{"type":"function_call_output","call_id":"c2","output":"on"}}
          forward
        client {"type":"response.create","event_id":"b"}
          swallow
        answer c1 done {}
          provider {"type":"response.item.create","event_id":"tollgate-1","item":{"type":"function_call_output","call_id":"c1","output":"{}"}}
          provider {"type":"response.create","event_id":"b"}
    "#;
    let clients_last = r#"
        answer c1 done {}
          provider {"type":"response.item.create","event_id":"tollgate-1","item":{"type":"function_call_output","call_id":"c1","output":"{}"}}
        client {"type":"response.item.create","event_id":"a","item":{"type":"function_call_output","call_id":"c2","output":"on"}}
          forward
        client {"type":"response.create","event_id":"b"}
          forward
    "#;
    check_begun(&format!("{query}{ours_last}"));
    check_begun(&format!("{query}{clients_last}"));
}

#[test]
fn the_backend_goes_on_only_when_no_other_response_runs() {
    check_begun(
        r#"
        provider {"type":"response.event","delegation_id":"a","event":{"type":"response.created"}}
          forward
        provider {"type":"response.event","delegation_id":"b","event":{"type":"response.created"}}
          forward
        provider {"type":"response.event","delegation_id":"a","event":{"type":"response.output_item.done","item":{"type":"function_call","id":"i1","call_id":"c1","name":"roll","arguments":"{}","status":"completed"}}}
          swallow
          run c1 roll {}
        provider {"type":"response.event","delegation_id":"a","event":{"type":"response.completed"}}
          forward
          confirm c1
        answer c1 done {}
          provider {"type":"response.item.create","event_id":"tollgate-1","item":{"type":"function_call_output","call_id":"c1","output":"{}"}}
        provider {"type":"response.event","delegation_id":"b","event":{"type":"response.completed"}}
          forward
          provider {"type":"response.create","event_id":"tollgate-2"}
        "#,
    );
}

#[test]
fn calls_of_a_failed_response_are_stopped_and_not_answered() {
    check_begun(
        r#"
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.created"}}
          forward
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.output_item.done","item":{"type":"function_call","id":"i1","call_id":"c1","name":"roll","arguments":"{}","status":"completed"}}}
          swallow
          run c1 roll {}
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.output_item.done","item":{"type":"function_call","id":"i2","call_id":"c2","name":"roll","arguments":"{}","status":"completed"}}}
          swallow
          run c2 roll {}
        answer c2 done {}
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.failed"}}
          forward
          cancel c1
        answer c1 cancelled {}
        "#,
    );
}

#[test]
fn speech_over_the_agent_stops_no_work() {
    check_begun(
        r#"
        provider {"type":"session.input_transcript.delta","delta":"Roll "}
          forward
          heard-partly Roll
        provider {"type":"session.input_transcript.delta","delta":"a die."}
          forward
          heard-partly Roll a die.
        provider {"type":"session.delegation.created","delegation":{"id":"d","target":"responses","type":"delegation"}}
          forward
          heard Roll a die.
          turn began
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.created"}}
          forward
        provider {"type":"response.event","delegation_id":"d","event":{"type":"response.output_item.done","item":{"type":"function_call","id":"i1","call_id":"c1","name":"roll","arguments":"{}","status":"completed"}}}
          swallow
          run c1 roll {}
        slow c1 One moment.
          provider {"type":"session.commentary.append","event_id":"tollgate-1","content":"One moment.","delegation_id":null}
          announced
        provider {"type":"session.output_transcript.delta","delta":"One moment."}
          forward
        provider {"type":"session.input_transcript.delta","delta":"Hurry!"}
          forward
          said One moment.
          heard-partly Hurry!
        provider {"type":"session.output_audio.delta","delta":"AAAA"}
          forward
        answer c1 done {}
        slow c1 Too late.
        "#,
    );
}

#[test]
fn a_pause_ends_the_turn_and_work_prolongs_it() {
    let now = SystemClock.now();
    let later = now + Duration::from_secs(2);
    for (is_busy, expected) in [
        (
            false,
            vec![
                DialectAction::AgentSpeech("Hello.".to_owned()),
                DialectAction::Turn(TurnEvent::Ended),
            ],
        ),
        (true, vec![DialectAction::AgentSpeech("Hello.".to_owned())]),
    ] {
        let mut machine = begin("responses");
        feed_line(
            &mut machine,
            r#"provider {"type":"session.input_transcript.delta","delta":"Hi."}"#,
        );
        if is_busy {
            feed_line(&mut machine, &backend("d", &json!({"type": "response.created"})));
        }
        let text = r#"{"type":"session.output_transcript.delta","delta":"Hello."}"#;
        machine.on_provider_message(RealtimeFrame::Text(text), now);
        assert!(machine.wakes().is_some_and(|wakes| wakes > now && wakes <= later));
        assert_eq!(machine.on_event(DialectEvent::Time, now), []);
        assert_eq!(machine.on_event(DialectEvent::Time, later), expected);
        assert_eq!(machine.wakes(), None);
    }
}

#[test]
fn what_the_voice_delegates_to_the_socket_another_model_answers() {
    let mut machine = begin("client");
    transcript::check(
        &mut machine,
        r#"
        provider {"type":"session.input_transcript.delta","delta":"Why?"}
          forward
          heard-partly Why?
        provider {"type":"session.delegation.created","delegation":{"id":"d1","target":"client","type":"delegation"}}
          swallow
          heard Why?
          turn began
          delegate
        provider {"type":"session.delegation.created","delegation":{"id":"d2","target":"client","type":"delegation"}}
          swallow
          delegate
        offer roll
        speak It is forty-two.
          provider {"type":"session.commentary.append","event_id":"tollgate-1","content":"It is forty-two.","delegation_id":"d1"}
        speak-nothing
          provider {"type":"session.commentary.append","event_id":"tollgate-2","content":"There is no answer to this task. Say so, and help as far as you can.","delegation_id":"d2"}
        speak Nobody asked.
        route
        "#,
    );
}

#[test]
fn without_another_model_what_is_delegated_is_the_clients() {
    let mut opening = transcript::opening("roll");
    opening.routing = DeepTurnRouting::Native;
    transcript::check(
        &mut GptLive::new(opening),
        r#"
        client {"type":"session.start","session":{"model":"v"}}
          replace {"type":"session.start","session":{"model":"real-model"}}
        provider {"type":"session.started","session":{"id":"s"}}
          forward
        provider {"type":"session.delegation.created","delegation":{"id":"d1","target":"client","type":"delegation"}}
          forward
        "#,
    );
}

#[test]
fn a_long_answer_is_given_in_pieces_that_the_provider_takes() {
    for sentence in ["This is one of many sentences. ", "これは長い文です。", "0f3a9c71e5b2d84 "]
    {
        let mut machine = begin("client");
        let delegated = json!({"id": "d", "target": "client", "type": "delegation"});
        let created = json!({"type": "session.delegation.created", "delegation": delegated});
        feed_line(&mut machine, &format!("provider {created}"));
        let words = sentence.repeat(300);
        let actions = machine.on_event(DialectEvent::Speak(Ok(words.clone())), SystemClock.now());
        let mut whole = String::new();
        for action in &actions {
            let DialectAction::ToProvider(text) = action else { panic!("{action:?}") };
            let message: Value = serde_json::from_str(text).unwrap();
            let content = message["content"].as_str().unwrap();
            assert!(tokens::text(content, CountPrecision::Exact) <= MAX_APPEND_TOKENS, "{content}");
            whole.push_str(content);
        }
        let letters =
            |text: &str| text.chars().filter(|it| !it.is_whitespace()).collect::<String>();
        assert_eq!(letters(&whole), letters(&words));
        assert!(actions.len() > 3);
    }
}

#[test]
fn b_ws_12_a_client_cannot_answer_our_calls() {
    let mut machine = begin("responses");
    feed_line(&mut machine, &backend("d", &call("c1", "roll")));
    transcript::check(
        &mut machine,
        r#"
        client {"type":"response.item.create","event_id":"e","item":{"type":"function_call_output","call_id":"c1","output":"1000"}}
          swallow
          client {"type":"error","event_id":"tollgate-1","error":{"type":"invalid_request_error","code":"tool_call_not_yours","message":"tool call `c1` is not a client call: the client answers only its own calls","client_event_id":"e"}}
        client {"type":"response.item.create","item":{"type":"message","role":"user","content":"hi"}}
          forward
        client {"type":"response.item.create","item":{"type":"function_call_output","call_id":"unknown","output":"1"}}
          forward
        "#,
    );
}

#[test]
fn b_ws_11_what_two_readers_could_read_differently_is_told_back() {
    for sent in
        ["[]", r#"{"type":"a","type":"b"}"#, r#"{"type":"session.update","session":{"a":1,"a":2}}"#]
    {
        let lines = feed_line(&mut begin("responses"), &format!("client {sent}"));
        assert_eq!(lines[0], "swallow", "{sent}");
        assert!(lines[1].contains("was not forwarded"), "{sent}: {}", lines[1]);
    }
    check_begun(
        r#"
        client {"type":"session.input_audio.append","audio":"AAAA"}
          forward
        client {"type":"tollgate.tier","tier":"fast"}
          swallow
          tier fast
        tier fast asked for
          client {"type":"tollgate.tier","tier":"fast","reason":"asked for"}
        provider garbage
          forward
        provider {"type":"response.event"}
          forward
        provider {"type":"response.event","event":{"type":"response.output_item.done","item":7}}
          forward
        "#,
    );
}
