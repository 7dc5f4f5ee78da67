//! What a provider says, event by event. The caller adds nothing but an `event_id`.

use serde_json::{Value, json};

pub fn session(kind: &str, tools: &Value, instructions: &str) -> Value {
    let session = json!({
        "type": "realtime", "object": "realtime.session", "id": "sess_1", "tools": tools,
        "instructions": instructions, "tool_choice": "auto",
    });
    json!({"type": kind, "session": session})
}

pub fn speech_started(item: &str) -> Value {
    json!({"type": "input_audio_buffer.speech_started", "audio_start_ms": 0, "item_id": item})
}

pub fn speech_stopped(item: &str) -> Value {
    json!({"type": "input_audio_buffer.speech_stopped", "audio_end_ms": 1, "item_id": item})
}

pub fn audio_commit(item: &str, before: Option<&str>) -> Value {
    json!({"type": "input_audio_buffer.committed", "item_id": item, "previous_item_id": before})
}

pub fn caller_speech(item: &str, text: &str) -> [Value; 2] {
    let name = "conversation.item.input_audio_transcription";
    let usage = json!({"type": "duration", "seconds": 1.0});
    [
        json!({"type": format!("{name}.delta"), "item_id": item, "content_index": 0, "delta": text}),
        json!({
            "type": format!("{name}.completed"), "item_id": item, "content_index": 0,
            "transcript": text, "usage": usage,
        }),
    ]
}

/// `added` or `done`.
pub fn item(kind: &str, item: &Value, before: Option<&str>) -> Value {
    json!({"type": format!("conversation.item.{kind}"), "item": item, "previous_item_id": before})
}

/// `created` or `done`.
pub fn response(kind: &str, id: &str, status: &str, output: &[Value]) -> Value {
    let details = match status {
        "cancelled" => json!({"type": "cancelled", "reason": "turn_detected"}),
        _ => Value::Null,
    };
    let response = json!({
        "object": "realtime.response", "id": id, "status": status, "status_details": details,
        "output": output, "conversation_id": "conv_1", "output_modalities": ["audio"],
    });
    json!({"type": format!("response.{kind}"), "response": response})
}

/// `added` or `done`.
pub fn output_item(kind: &str, response: &str, index: usize, item: &Value) -> Value {
    let kind = format!("response.output_item.{kind}");
    json!({"type": kind, "response_id": response, "output_index": index, "item": item})
}

pub fn audio(response: &str, item: &str, delta: &str) -> Value {
    json!({
        "type": "response.output_audio.delta", "response_id": response, "item_id": item,
        "output_index": 0, "content_index": 0, "delta": delta,
    })
}

pub fn arguments(response: &str, call: &Value, index: usize) -> [Value; 2] {
    let event = |kind: &str| {
        json!({
            "type": format!("response.function_call_arguments.{kind}"), "response_id": response,
            "item_id": call["id"], "output_index": index, "call_id": call["call_id"],
        })
    };
    let mut delta = event("delta");
    let mut done = event("done");
    delta["delta"] = call["arguments"].clone();
    done["arguments"] = call["arguments"].clone();
    done["name"] = call["name"].clone();
    [delta, done]
}

pub fn message(id: &str, role: &str, status: &str) -> Value {
    let content: &[Value] = &[];
    json!({
        "id": id, "object": "realtime.item", "type": "message", "role": role, "status": status,
        "content": content,
    })
}

pub fn call(id: &str, call_id: &str, name: &str, arguments: &str) -> Value {
    json!({
        "id": id, "object": "realtime.item", "type": "function_call", "status": "in_progress",
        "call_id": call_id, "name": name, "arguments": arguments,
    })
}

pub fn error(code: &str, message: &str) -> Value {
    let error = json!({
        "type": "invalid_request_error", "code": code, "message": message, "param": null,
        "event_id": null,
    });
    json!({"type": "error", "error": error})
}
