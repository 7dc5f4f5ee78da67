//! What a provider says, message by message.

use serde_json::{Value, json};

pub fn content(fields: &Value) -> Value {
    json!({"serverContent": fields})
}

pub fn caller_speech(text: &str) -> Value {
    content(&json!({"inputTranscription": {"text": text}}))
}

pub fn audio(data: &str) -> Value {
    let part = json!({"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": data}});
    content(&json!({"modelTurn": {"role": "model", "parts": [part]}}))
}

pub fn interruption() -> Value {
    content(&json!({"interrupted": true}))
}

pub fn generation_complete() -> Value {
    content(&json!({"generationComplete": true}))
}

pub fn turn_complete() -> Value {
    content(&json!({"turnComplete": true}))
}

pub fn tool_call(calls: &[Value]) -> Value {
    json!({"toolCall": {"functionCalls": calls}})
}

pub fn call(id: &str, name: &str, args: &Value) -> Value {
    json!({"id": id, "name": name, "args": args})
}

pub fn cancellation(ids: &[String]) -> Value {
    json!({"toolCallCancellation": {"ids": ids}})
}

pub fn resumption(handle: &str) -> Value {
    json!({"sessionResumptionUpdate": {"newHandle": handle, "resumable": true}})
}
