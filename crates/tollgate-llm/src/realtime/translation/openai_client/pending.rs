//! What the client has added to the conversation and the model has not got: OpenAI answers only
//! when a response is requested, Gemini answers what it is sent. Writes Gemini's messages.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tollgate_core::tool::ResultDelivery;

use super::events::EventRefusal;
use crate::realtime::gemini::{GeminiFamily, NoteChannel};
use crate::realtime::handover::{Speaker, SpokenLine, describe_result};

/// Most clients request a response right after their items.
const REQUEST_WAIT: Duration = Duration::from_millis(500);
/// Items that wait for a request.
const MAX_PENDING_BYTES: usize = 16 << 20;
/// Audio of one message: a second.
const AUDIO_CHUNK_BYTES: usize = 32_000;
/// A turn of the caller without words: what other clients of Gemini send to get an answer.
const EMPTY_TURN: &str = ".";

#[derive(Debug, Default)]
pub(super) struct PendingInput {
    parts: Vec<PendingPart>,
    /// `functionResponses`.
    outputs: Vec<Value>,
    bytes: usize,
    /// When the model gets them without a request.
    due: Option<Instant>,
}

#[derive(Debug)]
pub(super) struct PendingPart {
    /// The item that it is a part of.
    pub(super) item_id: String,
    pub(super) role: ItemRole,
    pub(super) content: PartContent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemRole {
    User,
    Assistant,
    System,
}

#[derive(Debug)]
pub(super) enum PartContent {
    Text(String),
    Image {
        mime: String,
        /// Base64.
        data: String,
    },
    /// PCM, 16 kHz.
    Audio(Vec<u8>),
}

impl PendingInput {
    pub(super) fn push(&mut self, part: PendingPart, now: Instant) -> Result<(), EventRefusal> {
        let bytes = part.content.bytes();
        if self.bytes + bytes > MAX_PENDING_BYTES {
            return Err(EventRefusal::of(
                "item",
                "pending_input_too_large",
                "More than 16 MiB wait for a response; send `response.create`.",
            ));
        }
        self.bytes += bytes;
        self.parts.push(part);
        self.due = Some(now + REQUEST_WAIT);
        Ok(())
    }

    pub(super) fn push_output(&mut self, output: Value, now: Instant) {
        self.outputs.push(output);
        self.due = Some(now + REQUEST_WAIT);
    }

    /// Removes a part that the model has not got; `false` if there is none.
    pub(super) fn remove(&mut self, item_id: &str) -> bool {
        let before = self.parts.len();
        self.parts.retain(|part| part.item_id != item_id);
        self.bytes = self.parts.iter().map(|part| part.content.bytes()).sum();
        self.parts.len() != before
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// All of it, so that the model answers. `instructions`: for this answer only.
    pub(super) fn request(
        &mut self,
        instructions: Option<&str>,
        family: GeminiFamily,
    ) -> Vec<String> {
        self.due = None;
        self.bytes = 0;
        let mut messages = self.take_outputs();
        let is_answer = !messages.is_empty();
        let parts = std::mem::take(&mut self.parts);
        let (audio, parts): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| matches!(part.content, PartContent::Audio(_)));
        let mut parts = parts;
        parts.extend(instructions.map(|text| PendingPart {
            item_id: String::new(),
            role: ItemRole::System,
            content: PartContent::Text(text.to_owned()),
        }));
        if parts.is_empty() && audio.is_empty() && !is_answer {
            messages.push(match family.note_channel(ResultDelivery::WhenIdle) {
                NoteChannel::Turn => content(&[], TurnEnd::Complete),
                NoteChannel::Note | NoteChannel::Text => text_input(EMPTY_TURN),
            });
        }
        if !parts.is_empty() {
            messages.extend(text_messages(parts, !audio.is_empty(), family));
        }
        messages.extend(activity_messages(&audio));
        messages
    }

    /// What the model gets without a request, if it accepts it without answering. Outputs are
    /// always sent, because a model waits for them.
    pub(super) fn take_due(
        &mut self,
        is_idle: bool,
        family: GeminiFamily,
        now: Instant,
    ) -> Vec<String> {
        if self.due.take_if(|due| *due <= now).is_none() {
            return Vec::new();
        }
        let mut messages = self.take_outputs();
        let is_note = family.note_channel(ResultDelivery::Silent) == NoteChannel::Note;
        let has_audio = self.parts.iter().any(|part| matches!(part.content, PartContent::Audio(_)));
        if is_idle && is_note && !has_audio && !self.parts.is_empty() {
            self.bytes = 0;
            messages.push(content(&turns(std::mem::take(&mut self.parts)), TurnEnd::Open));
        }
        messages
    }

    /// The texts that the model has not got.
    pub(super) fn take_lines(&mut self) -> Vec<SpokenLine> {
        self.due = None;
        self.bytes = 0;
        let parts = std::mem::take(&mut self.parts).into_iter();
        let lines = parts.filter_map(|part| match (part.role, part.content) {
            (ItemRole::System, PartContent::Text(text)) => {
                Some(SpokenLine::caller(format!("[instructions] {text}")))
            }
            (ItemRole::User, PartContent::Text(text)) => Some(SpokenLine::caller(text)),
            (ItemRole::Assistant, PartContent::Text(text)) => {
                Some(SpokenLine { speaker: Speaker::Model, text })
            }
            (_, PartContent::Image { .. } | PartContent::Audio(_)) => None,
        });
        let mut lines: Vec<SpokenLine> = lines.collect();
        for output in std::mem::take(&mut self.outputs) {
            let name = output.get("name").and_then(Value::as_str).unwrap_or_default();
            lines.push(SpokenLine::caller(describe_result(name, &output["response"])));
        }
        lines
    }

    /// The outputs alone.
    pub(super) fn take_outputs(&mut self) -> Vec<String> {
        if self.outputs.is_empty() {
            return Vec::new();
        }
        let outputs = std::mem::take(&mut self.outputs);
        vec![json!({"toolResponse": {"functionResponses": outputs}}).to_string()]
    }
}

impl PartContent {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Image { data, .. } => data.len(),
            Self::Audio(audio) => audio.len(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnEnd {
    Complete,
    Open,
}

/// Text and images; `is_context`: audio follows, which is the caller's turn.
fn text_messages(parts: Vec<PendingPart>, is_context: bool, family: GeminiFamily) -> Vec<String> {
    let is_note = family.note_channel(ResultDelivery::Silent) == NoteChannel::Note;
    if is_context && is_note {
        return vec![content(&turns(parts), TurnEnd::Open)];
    }
    if family.note_channel(ResultDelivery::WhenIdle) == NoteChannel::Turn {
        return vec![content(&turns(parts), TurnEnd::Complete)];
    }
    // The last turn is live input, which is always answered; what precedes it is context.
    let first_of_turn =
        parts.iter().rposition(|part| part.role == ItemRole::Assistant).map_or(0, |at| at + 1);
    let mut history = parts;
    let turn = history.split_off(first_of_turn);
    let mut messages = Vec::new();
    let mut lines = Vec::new();
    if !history.is_empty() && is_note {
        messages.push(content(&turns(history), TurnEnd::Open));
    } else {
        lines.extend(history.into_iter().filter_map(|part| line(part, "earlier, ")));
    }
    let is_plain = lines.is_empty();
    for part in turn {
        match part.content {
            PartContent::Image { mime, data } => messages.push(
                json!({"realtimeInput": {"video": {"mimeType": mime, "data": data}}}).to_string(),
            ),
            PartContent::Text(text) if part.role == ItemRole::User && is_plain => lines.push(text),
            _ => lines.extend(line(part, "")),
        }
    }
    let text = if lines.is_empty() { EMPTY_TURN.to_owned() } else { lines.join("\n") };
    messages.push(text_input(&text));
    messages
}

/// A text with the role of its item, for models that take no history.
fn line(part: PendingPart, when: &str) -> Option<String> {
    let role = match part.role {
        ItemRole::User => "user",
        ItemRole::Assistant => "you",
        ItemRole::System => "instructions",
    };
    match part.content {
        PartContent::Text(text) => Some(format!("[{when}{role}] {text}")),
        PartContent::Image { .. } | PartContent::Audio(_) => None,
    }
}

fn turns(parts: Vec<PendingPart>) -> Vec<Value> {
    let mut turns: Vec<Value> = Vec::new();
    for PendingPart { role, content, .. } in parts {
        let part = match (role, content) {
            (ItemRole::System, PartContent::Text(text)) => {
                json!({"text": format!("[instructions] {text}")})
            }
            (_, PartContent::Text(text)) => json!({"text": text}),
            (_, PartContent::Image { mime, data }) => {
                json!({"inlineData": {"mimeType": mime, "data": data}})
            }
            (_, PartContent::Audio(_)) => continue,
        };
        let role = if role == ItemRole::Assistant { "model" } else { "user" };
        match turns.last_mut().filter(|turn| turn["role"] == role) {
            Some(turn) => {
                if let Some(parts) = turn["parts"].as_array_mut() {
                    parts.push(part);
                }
            }
            None => turns.push(json!({"role": role, "parts": [part]})),
        }
    }
    turns
}

/// An utterance whose beginning and end the client has decided.
fn activity_messages(audio: &[PendingPart]) -> Vec<String> {
    if audio.is_empty() {
        return Vec::new();
    }
    let mut messages = vec![json!({"realtimeInput": {"activityStart": {}}}).to_string()];
    for part in audio {
        if let PartContent::Audio(audio) = &part.content {
            messages.extend(audio_messages(audio));
        }
    }
    messages.push(json!({"realtimeInput": {"activityEnd": {}}}).to_string());
    messages
}

/// Audio in messages of at most a second.
pub(super) fn audio_messages(audio: &[u8]) -> impl Iterator<Item = String> {
    audio.chunks(AUDIO_CHUNK_BYTES).map(|chunk| {
        let blob = json!({"mimeType": "audio/pcm;rate=16000", "data": STANDARD.encode(chunk)});
        json!({"realtimeInput": {"audio": blob}}).to_string()
    })
}

fn content(turns: &[Value], end: TurnEnd) -> String {
    json!({"clientContent": {"turns": turns, "turnComplete": end == TurnEnd::Complete}}).to_string()
}

fn text_input(text: &str) -> String {
    json!({"realtimeInput": {"text": text}}).to_string()
}
