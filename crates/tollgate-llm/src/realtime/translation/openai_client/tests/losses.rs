use serde_json::{Value, json};

use super::script::{Talk, told};
use crate::realtime::translation::{LossFate, OPENAI_CLIENT_LOSSES};

/// An event that uses what is lost.
fn example(what: &str) -> Option<Value> {
    let session = |session: Value| Some(json!({"type": "session.update", "session": session}));
    let input = |input: Value| session(json!({"audio": {"input": input}}));
    let response = |response: Value| Some(json!({"type": "response.create", "response": response}));
    let item = |item: Value| Some(json!({"type": "conversation.item.create", "item": item}));
    let part = |part: Value| item(json!({"type": "message", "role": "user", "content": [part]}));
    match what {
        "session.type" => session(json!({"type": "transcription"})),
        "session.prompt" => session(json!({"prompt": {"id": "pmpt_1"}})),
        "session.tool_choice" => session(json!({"tool_choice": "required"})),
        "session.tools[].type" => session(json!({"tools": [{"type": "mcp", "server_label": "x"}]})),
        "session.audio.input.turn_detection.create_response" => {
            input(json!({"turn_detection": {"type": "server_vad", "create_response": false}}))
        }
        "session.audio.output.speed" => session(json!({"audio": {"output": {"speed": 1.2}}})),
        "session.audio.input.noise_reduction" => {
            input(json!({"noise_reduction": {"type": "near_field"}}))
        }
        "session.audio.input.transcription.*" => {
            input(json!({"transcription": {"model": "whisper-1", "language": "de"}}))
        }
        "session.audio.input.turn_detection.threshold" => {
            input(json!({"turn_detection": {"type": "server_vad", "threshold": 0.9}}))
        }
        "session.audio.input.turn_detection.idle_timeout_ms" => {
            input(json!({"turn_detection": {"type": "server_vad", "idle_timeout_ms": 6000}}))
        }
        "session.include" => {
            session(json!({"include": ["item.input_audio_transcription.logprobs"]}))
        }
        "session.parallel_tool_calls" => session(json!({"parallel_tool_calls": false})),
        "session.reasoning" => session(json!({"reasoning": {"effort": "low"}})),
        "session.tracing" => session(json!({"tracing": "auto"})),
        "response.conversation" => response(json!({"conversation": "none"})),
        "response.input" => response(json!({"input": []})),
        "response.tools" => response(json!({"tools": []})),
        "response.tool_choice" => response(json!({"tool_choice": "none"})),
        "response.prompt" => response(json!({"prompt": {"id": "pmpt_1"}})),
        "response.output_modalities" => response(json!({"output_modalities": ["text"]})),
        "response.max_output_tokens" => response(json!({"max_output_tokens": 9})),
        "response.audio" => response(json!({"audio": {"output": {"voice": "marin"}}})),
        "previous_item_id" => Some(json!({"type": "conversation.item.create",
            "previous_item_id": "root", "item": {"type": "message", "role": "user",
            "content": []}})),
        "item.type" => item(json!({"type": "mcp_approval_response"})),
        "item.content[].type" => part(json!({"type": "input_audio", "audio": "AAAA"})),
        "item.content[].image_url" => {
            part(json!({"type": "input_image", "image_url": "https://example.com/a.png"}))
        }
        _ => None,
    }
}

#[test]
fn what_is_refused_names_its_field_and_what_is_left_out_has_no_effect() {
    let mut shown = 0;
    for loss in OPENAI_CLIENT_LOSSES {
        let Some(event) = example(loss.what) else { continue };
        shown += 1;
        let mut talk = Talk::begun("gemini-3.8-live");
        let mut plain = Talk::begun("gemini-3.8-live");
        let actions = talk.client(&event);
        if loss.fate == LossFate::Refused {
            assert_eq!(told(&actions), "error unsupported_by_model", "{}", loss.what);
            let param = talk.events(&actions)[0]["error"]["param"].as_str().unwrap().to_owned();
            assert_eq!(param.replace("[0]", "[]"), loss.what);
        } else {
            let mut neutral = event.clone();
            match neutral["type"].as_str() {
                Some("session.update") => neutral["session"] = json!({}),
                _ => neutral["response"] = json!({}),
            }
            let expected = plain.client(&neutral);
            assert_eq!(told(&actions), told(&expected), "{}", loss.what);
            assert_eq!(talk.messages(&actions), plain.messages(&expected), "{}", loss.what);
        }
    }
    assert_eq!(shown, 26, "examples");
}
