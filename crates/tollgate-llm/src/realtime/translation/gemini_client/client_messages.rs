//! Handles the client's messages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use tollgate_core::json;
use tollgate_core::text::truncate_chars;

use super::setup::{self, ActivityDetection, BargeIn, SetupError};
use super::{CLIENT_RATE, GeminiClient, MODEL_AUDIO, SetupStage, TurnStage};
use crate::realtime::audio::{AudioConverter, AudioFormat, LENIENT_BASE64};
use crate::realtime::events::RealtimeFrame;
use crate::realtime::handover::describe_result;
use crate::realtime::tier_request::TIER_MESSAGE_TYPE;

const MESSAGES: [&str; 6] =
    ["setup", "clientContent", "realtimeInput", "toolResponse", "contextUpdate", "tollgate"];
/// Ends the utterance for the model's turn detection.
const SILENCE_MS: u64 = 1_000;
/// OpenAI commits no less.
const MIN_COMMIT_MS: u64 = 100;

impl GeminiClient {
    pub(super) fn read_client_message(&mut self, frame: RealtimeFrame<'_>) {
        let text = match frame {
            RealtimeFrame::Text(text) => Some(text),
            RealtimeFrame::Binary(bytes) => std::str::from_utf8(bytes).ok(),
        };
        let parsed = text.map(json::value);
        let message = match parsed {
            Some(Ok(message @ Value::Object(_))) => setup::camel_case(message),
            _ => return self.refuse_message("a message must be a JSON object"),
        };
        let fields = message.as_object();
        let named: Vec<&str> = MESSAGES
            .into_iter()
            .filter(|key| fields.is_some_and(|it| it.contains_key(*key)))
            .collect();
        let [kind] = named[..] else {
            return self.refuse_message(
                "a message must be a JSON object with one field that names its type",
            );
        };
        let Some(body) = message[kind].as_object() else {
            return self.refuse_message(&format!("`{kind}` must be an object"));
        };
        if self.stage == SetupStage::Awaited {
            if kind == "setup" {
                self.set_up(body, text.map_or(0, str::len));
            } else {
                self.end(1007, "the first message must be `setup` and nothing else");
            }
            return;
        }
        let handled = match kind {
            "setup" => {
                Err(SetupError("`setup` is allowed only at the beginning of a session".to_owned()))
            }
            "clientContent" => self.read_content(body),
            "realtimeInput" => self.read_input(body),
            "toolResponse" => self.read_responses(body),
            "contextUpdate" => self.update_context(body),
            _ => {
                let tier = body.get("tier").cloned().unwrap_or_default();
                self.sent.push(json!({"type": TIER_MESSAGE_TYPE, "tier": tier}));
                Ok(())
            }
        };
        if let Err(error) = handled {
            self.tell_error(400, &error.to_string());
        }
    }

    fn refuse_message(&mut self, why: &str) {
        if self.stage == SetupStage::Awaited {
            self.end(1007, why);
        } else {
            self.tell_error(400, why);
        }
    }

    fn set_up(&mut self, setup: &Map<String, Value>, bytes: usize) {
        match setup::translate(setup) {
            Ok(translated) => {
                self.config_bytes = bytes;
                self.setup = translated.setup;
                self.setup_fields = setup.clone();
                self.functions = translated.functions;
                let id = self.send("session.update", json!({"session": translated.session}));
                self.stage = SetupStage::Sent(id);
            }
            Err(error) => self.end(1007, error.to_string()),
        }
    }

    fn update_context(&mut self, update: &Map<String, Value>) -> Result<(), SetupError> {
        let mut session = json!({"type": "realtime"});
        if let Some(tools) = update.get("tools") {
            let (declared, functions) =
                setup::declarations(tools.get("tools"), "contextUpdate.tools.tools")?;
            self.functions = functions;
            session["tools"] = declared.into();
            let tools = tools.get("tools").cloned().unwrap_or_else(|| json!([]));
            self.setup_fields.insert("tools".to_owned(), tools);
        }
        if let Some(text) = setup::instructions(update.get("systemInstruction")) {
            session["instructions"] = text.into();
            let instruction = update.get("systemInstruction").cloned().unwrap_or_default();
            self.setup_fields.insert("systemInstruction".to_owned(), instruction);
        }
        self.send("session.update", json!({"session": session}));
        Ok(())
    }

    // === what the caller says ===

    fn read_input(&mut self, input: &Map<String, Value>) -> Result<(), SetupError> {
        let chunks = input.get("mediaChunks").and_then(Value::as_array);
        for blob in chunks.into_iter().flatten().chain(input.get("audio")).chain(input.get("video"))
        {
            self.read_blob(blob)?;
        }
        if let Some(text) = input.get("text").and_then(Value::as_str) {
            self.write_item("user", &[json!({"type": "input_text", "text": text})]);
            self.want_response();
        }
        if input.contains_key("activityStart") {
            self.begin_activity();
        }
        if input.contains_key("activityEnd") {
            self.end_activity();
        }
        if input.get("audioStreamEnd").and_then(Value::as_bool) == Some(true) {
            self.end_stream();
        }
        Ok(())
    }

    fn read_blob(&mut self, blob: &Value) -> Result<(), SetupError> {
        let mime = blob.get("mimeType").and_then(Value::as_str).unwrap_or("audio/pcm");
        let data = blob.get("data").and_then(Value::as_str).unwrap_or_default();
        if mime.starts_with("image/") {
            let data = decode(data).map(|bytes| STANDARD.encode(bytes));
            let data = data.ok_or_else(not_base64)?;
            let url = format!("data:{};base64,{data}", truncate_chars(mime, 64));
            self.write_item("user", &[json!({"type": "input_image", "image_url": url})]);
            return Ok(());
        }
        if !mime.starts_with("audio/pcm") && !mime.starts_with("audio/l16") {
            let mime = truncate_chars(mime, 64);
            return Err(SetupError(format!(
                "media of the type `{mime}` is not supported; send audio as `audio/pcm;rate=16000`"
            )));
        }
        let rate = mime.split(';').find_map(|part| part.trim().strip_prefix("rate="));
        let rate = rate.map_or(Some(CLIENT_RATE), |rate| rate.parse().ok());
        let from = AudioFormat::Pcm16 { rate: rate.unwrap_or_default() };
        if self.input.as_ref().is_none_or(|input| input.from() != from) {
            let converter = AudioConverter::new(from, MODEL_AUDIO);
            self.input = Some(converter.map_err(|error| SetupError(error.to_string()))?);
        }
        let audio = decode(data).ok_or_else(not_base64)?;
        let converted = self.input.as_mut().map(|input| input.convert(&audio)).unwrap_or_default();
        self.append(&converted);
        Ok(())
    }

    fn append(&mut self, audio: &[u8]) {
        if !audio.is_empty() {
            self.activity_bytes += audio.len() as u64;
            let fields = json!({"audio": STANDARD.encode(audio)});
            self.send("input_audio_buffer.append", fields);
        }
    }

    fn flush(&mut self) {
        let rest = self.input.as_mut().map(AudioConverter::flush).unwrap_or_default();
        self.append(&rest);
    }

    fn append_silence(&mut self, millis: u64) {
        let bytes = usize::try_from(MODEL_AUDIO.bytes(millis)).unwrap_or_default();
        self.append(&vec![0; bytes]);
    }

    /// The microphone is off: the model's turn detection waits for silence.
    fn end_stream(&mut self) {
        self.flush();
        if self.setup.activity == ActivityDetection::Model {
            self.append_silence(SILENCE_MS);
        }
    }

    fn begin_activity(&mut self) {
        if self.setup.barge_in == BargeIn::Interrupts {
            if !self.responses.is_empty() {
                self.send("response.cancel", json!({}));
            } else if self.turn.stage == TurnStage::Playing {
                self.interrupt_turn();
            }
        }
        if let Some(input) = &mut self.input {
            input.reset();
        }
        self.activity_bytes = 0;
        self.send("input_audio_buffer.clear", json!({}));
    }

    fn end_activity(&mut self) {
        self.flush();
        let millis = MODEL_AUDIO.millis(self.activity_bytes);
        if millis < MIN_COMMIT_MS {
            self.append_silence(MIN_COMMIT_MS - millis);
        }
        self.activity_bytes = 0;
        self.send("input_audio_buffer.commit", json!({}));
        self.want_response();
    }

    // === what the client writes ===

    fn write_item(&mut self, role: &str, content: &[Value]) {
        let item = json!({"type": "message", "role": role, "content": content});
        self.send("conversation.item.create", json!({"item": item}));
    }

    fn read_content(&mut self, content: &Map<String, Value>) -> Result<(), SetupError> {
        let turns = match content.get("turns") {
            Some(Value::Array(turns)) => turns.clone(),
            Some(turn @ Value::Object(_)) => vec![turn.clone()],
            _ => Vec::new(),
        };
        let mut items = Vec::new();
        for (at, turn) in turns.iter().enumerate() {
            let is_model = turn.get("role").and_then(Value::as_str) == Some("model");
            let parts = turn.get("parts").and_then(Value::as_array);
            let parts = parts.into_iter().flatten().enumerate();
            let content = parts
                .map(|(part_at, part)| {
                    let place = format!("clientContent.turns[{at}].parts[{part_at}]");
                    item_part(part, is_model, &place)
                })
                .collect::<Result<Vec<_>, _>>()?;
            items.push((if is_model { "assistant" } else { "user" }, content));
        }
        for (role, content) in items {
            self.write_item(role, &content);
        }
        if content.get("turnComplete").and_then(Value::as_bool) == Some(true) {
            self.want_response();
        }
        Ok(())
    }

    /// Outputs of the client's functions; the model answers when it has them all.
    fn read_responses(&mut self, responses: &Map<String, Value>) -> Result<(), SetupError> {
        let listed = match responses.get("functionResponses") {
            Some(Value::Array(listed)) => listed.clone(),
            Some(one @ Value::Object(_)) => vec![one.clone()],
            _ => Vec::new(),
        };
        let mut is_spoken = false;
        let mut unknown = None;
        for response in listed {
            if response.get("willContinue").and_then(Value::as_bool) == Some(true) {
                continue;
            }
            let id = response.get("id").and_then(Value::as_str).unwrap_or_default();
            let is_silent = response.get("scheduling").and_then(Value::as_str) == Some("SILENT");
            if let Some(name) = self.lost_calls.remove(id) {
                let result = response.get("response").cloned().unwrap_or_default();
                let text = describe_result(&name, &result);
                self.write_item("user", &[json!({"type": "input_text", "text": text})]);
                is_spoken |= !is_silent;
                continue;
            }
            if self.calls.remove(id).is_none() {
                unknown = Some(truncate_chars(id, 64));
                continue;
            }
            let item = json!({
                "type": "function_call_output", "call_id": id,
                "output": output(response.get("response")),
            });
            self.send("conversation.item.create", json!({"item": item}));
            is_spoken |= !is_silent;
        }
        if is_spoken && self.calls.is_empty() {
            self.want_response();
        }
        match unknown {
            None => Ok(()),
            Some(id) => Err(SetupError(format!("there is no call of a client function `{id}`"))),
        }
    }
}

fn item_part(part: &Value, is_model: bool, place: &str) -> Result<Value, SetupError> {
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        let kind = if is_model { "output_text" } else { "input_text" };
        return Ok(json!({"type": kind, "text": text}));
    }
    let blob = part.get("inlineData").filter(|_| !is_model);
    let mime = blob.and_then(|blob| blob.get("mimeType")?.as_str()).unwrap_or_default();
    if !mime.starts_with("image/") {
        return Err(setup::refuse_field(place));
    }
    let data = blob.and_then(|blob| decode(blob.get("data")?.as_str()?)).ok_or_else(not_base64)?;
    let url = format!("data:{};base64,{}", truncate_chars(mime, 64), STANDARD.encode(data));
    Ok(json!({"type": "input_image", "image_url": url}))
}

/// `output` alone if there is nothing else, as the model of Gemini sees it.
fn output(response: Option<&Value>) -> String {
    let Some(response) = response else { return "{}".to_owned() };
    let alone = response.as_object().filter(|fields| fields.len() == 1);
    match alone.and_then(|fields| fields.get("output")) {
        Some(Value::String(text)) => text.clone(),
        Some(output) => output.to_string(),
        None => response.to_string(),
    }
}

fn not_base64() -> SetupError {
    SetupError("`data` must be base64".to_owned())
}

/// Base64 of either alphabet, with or without padding.
fn decode(data: &str) -> Option<Vec<u8>> {
    if data.contains(['-', '_']) {
        return LENIENT_BASE64.decode(data.replace('-', "+").replace('_', "/")).ok();
    }
    LENIENT_BASE64.decode(data).ok()
}
