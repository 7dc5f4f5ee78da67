use serde_json::json;

use super::script::{Talk, content, heard, pcm, speech, text_item, told, words};
use crate::realtime::events::DialectAction;

const RESPONSE_BEGINS: &str = "response.output_item.added conversation.item.added \
     response.content_part.added response.output_audio.delta";
const RESPONSE_ENDS: &str = "response.output_audio.done response.output_audio_transcript.done \
     response.content_part.done conversation.item.done response.output_item.done";
const LISTENED: &str = "input_audio_buffer.speech_stopped input_audio_buffer.committed \
     conversation.item.added conversation.item.done \
     conversation.item.input_audio_transcription.delta";

#[test]
fn a_written_turn_is_a_response_in_the_order_of_openai() {
    let mut talk = Talk::begun("gemini-3.8-live");
    talk.client(&text_item("Hello."));
    let asked = talk.client(&json!({"type": "response.create", "response": {
        "metadata": {"topic": "hello"}}}));
    assert_eq!(told(&asked), "response.created > realtimeInput.text Hello.");
    assert_eq!(talk.events(&asked)[0]["response"]["metadata"]["topic"], "hello");
    assert_eq!(told(&talk.provider(&speech(&pcm(24_000, 20)))), RESPONSE_BEGINS);
    let said = talk.provider(&words("Good morning."));
    assert_eq!(told(&said), "response.output_audio_transcript.delta");
    assert_eq!(told(&talk.provider(&content("generationComplete"))), "");
    let done = talk.provider(&json!({
        "serverContent": {"turnComplete": true},
        "usageMetadata": {"promptTokenCount": 3, "responseTokenCount": 4, "totalTokenCount": 7}}));
    assert_eq!(told(&done), format!("{RESPONSE_ENDS} response.done:completed"));
    let response = &talk.events(&done)[5]["response"];
    assert_eq!(response["usage"]["total_tokens"], 7);
    assert_eq!(response["output"][0]["content"][0]["transcript"], "Good morning.");
    assert_eq!(response["metadata"]["topic"], "hello");
}

#[test]
fn a_response_ends_soon_after_it_is_generated() {
    let mut talk = Talk::begun("gemini-3.8-live");
    talk.provider(&speech(&pcm(24_000, 20)));
    talk.provider(&content("generationComplete"));
    let done = talk.wait(250);
    assert_eq!(told(&done), format!("{RESPONSE_ENDS} response.done:completed"));
    // The model's turn goes on until its audio has been played, and the client with its own.
    assert_eq!(told(&talk.provider(&words("Late."))), "");
    talk.client(&json!({"type": "response.create"}));
    assert_eq!(told(&talk.provider(&content("turnComplete"))), "");
    assert_eq!(told(&talk.provider(&speech(&pcm(24_000, 20)))), RESPONSE_BEGINS);
    talk.provider(&content("generationComplete"));
    talk.wait(250);
    talk.client(&json!({"type": "response.create"}));
    assert_eq!(told(&talk.provider(&speech(&pcm(24_000, 20)))), RESPONSE_BEGINS);
}

#[test]
fn a_spoken_turn_has_the_events_of_turn_detection() {
    let mut talk = Talk::begun("gemini-3.8-live");
    talk.append(&pcm(24_000, 200));
    let started = talk.provider(&heard("Look it "));
    assert_eq!(told(&started), "input_audio_buffer.speech_started");
    assert_eq!(talk.events(&started)[0]["audio_start_ms"], 200);
    assert_eq!(told(&talk.provider(&heard("up."))), "");
    let answered = talk.provider(&speech(&pcm(24_000, 20)));
    assert_eq!(told(&answered), format!("{LISTENED} response.created {RESPONSE_BEGINS}"));
    let events = talk.events(&answered);
    let item = &talk.events(&started)[0]["item_id"];
    assert_eq!((&events[0]["item_id"], &events[1]["item_id"]), (item, item));
    assert_eq!((&events[2]["item"]["id"], &events[4]["delta"]), (item, &json!("Look it up.")));
    let late = talk.provider(&heard(" Now."));
    assert_eq!(told(&late), "conversation.item.input_audio_transcription.delta");
    let done = talk.provider(&content("turnComplete"));
    assert_eq!(
        told(&done),
        format!(
            "{RESPONSE_ENDS} response.done:completed \
             conversation.item.input_audio_transcription.completed"
        )
    );
    assert_eq!(talk.events(&done)[6]["transcript"], "Look it up. Now.");
}

#[test]
fn a_barge_in_cancels_the_response() {
    let mut talk = Talk::begun("gemini-3.8-live");
    talk.provider(&speech(&pcm(24_000, 20)));
    let interrupted = talk.provider(&content("interrupted"));
    assert_eq!(
        told(&interrupted),
        format!("input_audio_buffer.speech_started {RESPONSE_ENDS} response.done:turn_detected")
    );
    assert_eq!(talk.events(&interrupted)[5]["item"]["status"], "incomplete");
    assert_eq!(told(&talk.provider(&content("turnComplete"))), "");
    assert_eq!(told(&talk.provider(&heard("Stop."))), "");
    let answered = talk.provider(&speech(&pcm(24_000, 20)));
    assert_eq!(told(&answered), format!("{LISTENED} response.created {RESPONSE_BEGINS}"));
}

#[test]
fn a_cancelled_response_is_heard_no_more_and_the_next_one_is() {
    let mut talk = Talk::begun("gemini-3.8-live");
    let refused = talk.client(&json!({"type": "response.cancel"}));
    assert_eq!(told(&refused), "error response_cancel_not_active");
    talk.provider(&speech(&pcm(24_000, 20)));
    let cancelled = talk.client(&json!({"type": "response.cancel"}));
    assert_eq!(told(&cancelled), format!("{RESPONSE_ENDS} response.done:client_cancelled"));
    assert_eq!(told(&talk.provider(&speech(&pcm(24_000, 20)))), "");
    talk.client(&text_item("Something else."));
    let asked = talk.client(&json!({"type": "response.create"}));
    assert_eq!(told(&asked), "response.created > realtimeInput.text Something else.");
    assert_eq!(told(&talk.provider(&speech(&pcm(24_000, 20)))), "");
    assert_eq!(told(&talk.provider(&content("interrupted"))), "");
    assert_eq!(told(&talk.provider(&content("turnComplete"))), "");
    assert_eq!(told(&talk.provider(&speech(&pcm(24_000, 20)))), RESPONSE_BEGINS);
    let again = talk.client(&json!({"type": "response.create"}));
    assert_eq!(told(&again), "error conversation_already_has_active_response");
}

#[test]
fn the_clients_functions_are_called_and_answered() {
    let mut talk = Talk::begun("gemini-3.8-live");
    let id = "function-call-with-an-id-of-more-than-32-characters";
    let called = talk.provider(&json!({"toolCall": {"functionCalls": [
        {"id": id, "name": "lights", "args": {"on": true}},
        {"id": "other", "name": "look_up", "args": {}}]}}));
    assert_eq!(
        told(&called),
        "response.created response.output_item.added conversation.item.added \
         response.function_call_arguments.delta response.function_call_arguments.done \
         conversation.item.done response.output_item.done response.done:completed"
    );
    let item = &talk.events(&called)[7]["response"]["output"][0];
    assert_eq!((&item["name"], &item["arguments"]), (&json!("lights"), &json!(r#"{"on":true}"#)));
    let call_id = item["call_id"].as_str().unwrap().to_owned();
    assert!(call_id.len() <= 32, "{call_id}");
    // The gateway's own function is not the client's business.
    assert!(called.iter().any(|action| matches!(action, DialectAction::Run(_))));
    let answer = |call_id: &str| {
        json!({"type": "conversation.item.create", "item": {
            "type": "function_call_output", "call_id": call_id, "output": "{\"ok\":true}"}})
    };
    let refused = talk.client(&answer("nobody's"));
    assert_eq!(told(&refused), "error invalid_tool_call_id");
    let answered = talk.client(&answer(&call_id));
    assert_eq!(told(&answered), "conversation.item.added conversation.item.done");
    let asked = talk.client(&json!({"type": "response.create"}));
    assert_eq!(told(&asked), r#"response.created > toolResponse {"output":{"ok":true}}"#);
    assert_eq!(talk.messages(&asked)[0]["toolResponse"]["functionResponses"][0]["id"], id);
    assert_eq!(told(&talk.client(&answer(&call_id))), "error invalid_tool_call_id");
    assert_eq!(told(&talk.provider(&speech(&pcm(24_000, 20)))), RESPONSE_BEGINS);
}

#[test]
fn an_output_without_a_request_still_reaches_the_waiting_model() {
    let mut talk = Talk::begun("gemini-2.5-flash-live");
    let called = talk.provider(&json!({"toolCall": {"functionCalls": [
        {"id": "f1", "name": "lights", "args": {}}]}}));
    let call_id = talk.events(&called)[7]["response"]["output"][0]["call_id"].clone();
    talk.client(&json!({"type": "conversation.item.create", "item": {
        "type": "function_call_output", "call_id": call_id, "output": ""}}));
    assert_eq!(told(&talk.wait(500)), r#"> toolResponse {"output":"done"}"#);
}

#[test]
fn a_call_that_the_model_takes_back_is_not_answered() {
    let mut talk = Talk::begun("gemini-3.8-live");
    let called = talk.provider(&json!({"toolCall": {"functionCalls": [
        {"id": "f1", "name": "lights", "args": {}}]}}));
    let call_id = talk.events(&called)[7]["response"]["output"][0]["call_id"].clone();
    talk.provider(&json!({"toolCallCancellation": {"ids": ["f1"]}}));
    let answered = talk.client(&json!({"type": "conversation.item.create", "item": {
        "type": "function_call_output", "call_id": call_id, "output": "on"}}));
    assert_eq!(told(&answered), "conversation.item.added conversation.item.done");
    assert_eq!(told(&talk.wait(500)), "");
}

#[test]
fn a_client_that_detects_turns_itself_commits_and_requests() {
    let mut talk = Talk::manual("gemini-3.8-live");
    let empty = talk.client(&json!({"type": "input_audio_buffer.commit"}));
    assert_eq!(told(&empty), "error input_audio_buffer_commit_empty");
    assert_eq!(told(&talk.append(&pcm(24_000, 300))), "");
    let cleared = talk.client(&json!({"type": "input_audio_buffer.clear"}));
    assert_eq!(told(&cleared), "input_audio_buffer.cleared");
    talk.append(&pcm(24_000, 1_500));
    let committed = talk.client(&json!({"type": "input_audio_buffer.commit"}));
    assert_eq!(
        told(&committed),
        "input_audio_buffer.committed conversation.item.added conversation.item.done"
    );
    let asked = talk.client(&json!({"type": "response.create"}));
    assert_eq!(
        told(&asked),
        "response.created > realtimeInput.activityStart > realtimeInput.audio \
         > realtimeInput.audio > realtimeInput.activityEnd"
    );
    let heard = talk.provider(&heard("Hello."));
    assert_eq!(told(&heard), "conversation.item.input_audio_transcription.delta");
}

#[test]
fn history_images_and_instructions_reach_each_family_as_it_takes_them() {
    let items = [
        json!({"role": "user", "content": [{"type": "input_text", "text": "One."}]}),
        json!({"role": "assistant", "content": [{"type": "output_text", "text": "Two."}]}),
        json!({"role": "user", "content": [{"type": "input_text", "text": "Three."},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]}),
    ];
    for (model, expected) in [
        (
            "gemini-2.5-flash-live",
            "> clientContent user:One.,model:Two.,user:Three.+(image)+[instructions] Be brief. true",
        ),
        (
            "gemini-3.1-flash-live",
            "> realtimeInput.video > realtimeInput.text [earlier, user] One.\n[earlier, you] Two.\n\
             [user] Three.\n[instructions] Be brief.",
        ),
        (
            "gemini-3.8-live",
            "> clientContent user:One.,model:Two. false > realtimeInput.video \
             > realtimeInput.text Three.\n[instructions] Be brief.",
        ),
    ] {
        let mut talk = Talk::begun(model);
        for item in &items {
            let mut item = item.clone();
            item["type"] = "message".into();
            talk.client(&json!({"type": "conversation.item.create", "item": item}));
        }
        let asked = talk.client(&json!({"type": "response.create", "response": {
            "instructions": "Be brief."}}));
        assert_eq!(told(&asked), format!("response.created {expected}"), "{model}");
    }
}

#[test]
fn a_request_without_anything_to_answer_still_gets_an_answer() {
    for (model, expected) in [
        ("gemini-2.5-flash-live", "> clientContent  true"),
        ("gemini-3.1-flash-live", "> realtimeInput.text ."),
    ] {
        let mut talk = Talk::begun(model);
        let asked = talk.client(&json!({"type": "response.create"}));
        assert_eq!(told(&asked), format!("response.created {expected}"));
    }
}

#[test]
fn an_item_without_a_request_is_context_while_nobody_speaks() {
    let mut talk = Talk::begun("gemini-3.8-live");
    talk.client(&text_item("The caller has opened the door."));
    let sent = talk.wait(500);
    assert_eq!(told(&sent), "> clientContent user:The caller has opened the door. false");
    let mut item = text_item("Forget this.");
    item["item"]["id"] = "item_x".into();
    talk.client(&item);
    let deleted = talk.client(&json!({"type": "conversation.item.delete", "item_id": "item_x"}));
    assert_eq!(told(&deleted), "conversation.item.deleted");
    assert_eq!(told(&talk.wait(500)), "");
}

#[test]
fn text_output_is_the_transcript_of_what_the_model_says() {
    let mut talk = Talk::begun("gemini-3.8-live");
    talk.client(&json!({"type": "session.update", "session": {"output_modalities": ["text"]}}));
    talk.client(&text_item("Hello."));
    talk.client(&json!({"type": "response.create"}));
    assert_eq!(told(&talk.provider(&speech(&pcm(24_000, 20)))), "");
    let said = talk.provider(&words("Good morning."));
    assert_eq!(
        told(&said),
        "response.output_item.added conversation.item.added response.content_part.added \
         response.output_text.delta"
    );
    let done = talk.provider(&content("turnComplete"));
    assert_eq!(
        told(&done),
        "response.output_text.done response.content_part.done conversation.item.done \
         response.output_item.done response.done:completed"
    );
}

#[test]
fn a_truncation_is_checked_against_what_was_said() {
    let mut talk = Talk::begun("gemini-3.8-live");
    let said = talk.provider(&speech(&pcm(24_000, 200)));
    let id = talk.events(&said)[1]["item"]["id"].clone();
    talk.provider(&content("turnComplete"));
    let mut truncate = |id: &serde_json::Value, millis: u64| {
        told(&talk.client(&json!({"type": "conversation.item.truncate", "item_id": id,
            "content_index": 0, "audio_end_ms": millis})))
    };
    assert_eq!(truncate(&id, 201), "error invalid_value");
    assert_eq!(truncate(&id, 100), "conversation.item.truncated");
    assert_eq!(truncate(&id, 101), "error invalid_value");
    assert_eq!(truncate(&json!("item_none"), 1), "error item_truncate_invalid_item_id");
    let retrieved = talk.client(&json!({"type": "conversation.item.retrieve", "item_id": id}));
    assert_eq!(told(&retrieved), "conversation.item.retrieved");
    assert_eq!(talk.events(&retrieved)[0]["item"]["content"][0]["transcript"], json!(null));
}

#[test]
fn a_model_that_never_answers_fails_the_response() {
    let mut talk = Talk::begun("gemini-3.8-live");
    talk.client(&json!({"type": "response.create"}));
    assert_eq!(told(&talk.wait(119_000)), "");
    assert_eq!(told(&talk.wait(1_000)), "error none response.done:failed");
}

#[test]
fn a_changed_session_reaches_the_model_as_its_family_takes_it() {
    let update = json!({"type": "session.update", "session": {"instructions": "Be brief."}});
    let mut talk = Talk::begun("gemini-3.8-live");
    assert_eq!(told(&talk.client(&update)), "session.updated > contextUpdate");
    // The voice cannot change in a running session of Gemini: a new connection resumes it.
    let voice =
        json!({"type": "session.update", "session": {"audio": {"output": {"voice": "Puck"}}}});
    talk.provider(&json!({"sessionResumptionUpdate": {"newHandle": "h", "resumable": true}}));
    let changed = talk.client(&voice);
    let resumed = changed.iter().find_map(|action| match action {
        DialectAction::Reconnect(first) => Some(first[0].clone()),
        _ => None,
    });
    let resumed = resumed.expect("a new connection");
    assert!(resumed.contains("Puck") && resumed.contains("\"h\""), "{resumed}");
    assert!(resumed.contains("Be brief."), "{resumed}");
    let accepted = talk.provider(&json!({"setupComplete": {}}));
    assert_eq!(told(&accepted), "");
    let mut old = Talk::begun("gemini-3.1-flash-live");
    old.provider(&json!({"sessionResumptionUpdate": {"newHandle": "h", "resumable": true}}));
    let changed = old.client(&update);
    assert!(changed.iter().any(|action| matches!(action, DialectAction::Reconnect(_))));
}

#[test]
fn the_renewal_of_a_connection_is_invisible() {
    let mut talk = Talk::begun("gemini-3.8-live");
    for message in [
        json!({"sessionResumptionUpdate": {"newHandle": "h", "resumable": true}}),
        json!({"goAway": {"timeLeft": "50s"}}),
    ] {
        assert_eq!(told(&talk.provider(&message)), "");
    }
    // Without a handle Gemini tells its clients; OpenAI has no such event.
    let mut other = Talk::begun("gemini-3.8-live");
    assert_eq!(told(&other.provider(&json!({"goAway": {"timeLeft": "50s"}}))), "");
}

#[test]
fn nothing_is_sent_to_a_connection_that_is_being_renewed() {
    let mut talk = Talk::begun("gemini-3.8-live");
    talk.provider(&json!({"sessionResumptionUpdate": {"newHandle": "h", "resumable": true}}));
    talk.client(&text_item("The caller has opened the door."));
    let changed = talk.client(&json!({"type": "session.update", "session": {
        "audio": {"output": {"voice": "Puck"}}}}));
    assert!(changed.iter().any(|action| matches!(action, DialectAction::Reconnect(_))));
    assert_eq!(told(&talk.wait(500)), "");
    let renewed = talk.provider(&json!({"setupComplete": {}}));
    assert_eq!(told(&renewed), "> clientContent user:The caller has opened the door. false");
}
