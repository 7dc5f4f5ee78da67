//! A talk between a client of OpenAI and the machine of Gemini, described in short words.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::realtime::events::{
    DeclaredTool, DeepTurnRouting, DialectAction, DialectEvent, MessageFate, RealtimeDialect,
    RealtimeFrame, RealtimeInit, RealtimeOffer,
};
use crate::realtime::translation::TranslatedDialect;
use crate::realtime::translation::openai_client::OpenAiClient;
use std::sync::Arc;
use tollgate_core::tool::{ResultDelivery, ToolEffect};

pub(super) struct Talk {
    pub(super) machine: TranslatedDialect<OpenAiClient>,
    pub(super) now: Instant,
}

impl Talk {
    pub(super) fn fresh(model: &str) -> Self {
        let tool = DeclaredTool {
            name: "look_up".to_owned(),
            definition: Arc::new(json!({"name": "look_up"})),
            delivery: ResultDelivery::Wait,
            effect: ToolEffect::ReadOnly,
        };
        let machine = TranslatedDialect::new(RealtimeInit {
            offer: RealtimeOffer { tools: vec![tool], prompt: None },
            model: model.to_owned(),
            routing: DeepTurnRouting::Native,
            declared: None,
        });
        #[expect(clippy::disallowed_methods, reason = "any instant is as good as another")]
        let now = Instant::now();
        Self { machine, now }
    }

    /// With one function of the client, `lights`, transcripts, and an accepted setup.
    pub(super) fn begun(model: &str) -> Self {
        let mut talk = Self::fresh(model);
        talk.begin();
        talk.client(&json!({"type": "session.update", "session": {
            "tools": [{"type": "function", "name": "lights", "parameters": {
                "type": "object", "properties": {"on": {"type": "boolean"}}}}],
            "audio": {"input": {"transcription": {"model": "whisper-1"}}}}}));
        talk.wait(50);
        talk.provider(&json!({"setupComplete": {}}));
        talk
    }

    /// The same, with a client that decides itself when the caller has finished.
    pub(super) fn manual(model: &str) -> Self {
        let mut talk = Self::begun(model);
        talk.client(&json!({"type": "session.update", "session": {
            "audio": {"input": {"turn_detection": null}}}}));
        talk
    }

    pub(super) fn begin(&mut self) -> Vec<DialectAction> {
        self.machine.begin(self.now)
    }

    pub(super) fn client(&mut self, event: &Value) -> Vec<DialectAction> {
        self.client_text(&event.to_string())
    }

    pub(super) fn client_text(&mut self, text: &str) -> Vec<DialectAction> {
        let step = self.machine.on_client_message(RealtimeFrame::Text(text), self.now);
        assert_eq!(step.fate, MessageFate::Swallow);
        step.actions
    }

    pub(super) fn client_binary(&mut self, bytes: &[u8]) -> Vec<DialectAction> {
        self.machine.on_client_message(RealtimeFrame::Binary(bytes), self.now).actions
    }

    pub(super) fn append(&mut self, audio: &[u8]) -> Vec<DialectAction> {
        let audio = STANDARD.encode(audio);
        self.client(&json!({"type": "input_audio_buffer.append", "audio": audio}))
    }

    pub(super) fn provider(&mut self, message: &Value) -> Vec<DialectAction> {
        let text = message.to_string();
        let step = self.machine.on_provider_message(RealtimeFrame::Text(&text), self.now);
        assert_eq!(step.fate, MessageFate::Swallow);
        step.actions
    }

    pub(super) fn wait(&mut self, millis: u64) -> Vec<DialectAction> {
        self.now += Duration::from_millis(millis);
        match self.machine.wakes() {
            Some(at) if at <= self.now => self.machine.on_event(DialectEvent::Time, self.now),
            _ => Vec::new(),
        }
    }

    /// What the client gets.
    pub(super) fn events(&self, actions: &[DialectAction]) -> Vec<Value> {
        let texts = actions.iter().filter_map(|action| match action {
            DialectAction::ToClient(text) => Some(text),
            _ => None,
        });
        texts.map(|text| serde_json::from_str(text).unwrap()).collect()
    }

    /// What the model gets.
    pub(super) fn messages(&self, actions: &[DialectAction]) -> Vec<Value> {
        let texts = actions.iter().filter_map(|action| match action {
            DialectAction::ToProvider(text) => Some(text),
            _ => None,
        });
        texts.map(|text| serde_json::from_str(text).unwrap()).collect()
    }
}

/// Types of events, and messages to the model behind `>`.
pub(super) fn told(actions: &[DialectAction]) -> String {
    let words = actions.iter().filter_map(|action| match action {
        DialectAction::ToClient(text) => {
            let event: Value = serde_json::from_str(text).unwrap();
            let kind = event["type"].as_str().unwrap().to_owned();
            Some(match kind.as_str() {
                "error" => format!("error {}", event["error"]["code"].as_str().unwrap_or("none")),
                "response.done" => {
                    let details = &event["response"]["status_details"];
                    let why = details["reason"].as_str().or(details["type"].as_str());
                    format!("response.done:{}", why.unwrap())
                }
                _ => kind,
            })
        }
        DialectAction::ToProvider(text) => {
            Some(format!("> {}", sent(&serde_json::from_str(text).unwrap())))
        }
        _ => None,
    });
    words.collect::<Vec<_>>().join(" ")
}

fn sent(message: &Value) -> String {
    let (kind, value) = message.as_object().unwrap().iter().next().unwrap();
    match kind.as_str() {
        "realtimeInput" => {
            let (field, value) = value.as_object().unwrap().iter().next().unwrap();
            match value {
                Value::String(text) => format!("{kind}.{field} {text}"),
                _ => format!("{kind}.{field}"),
            }
        }
        "clientContent" => {
            let turns = value["turns"].as_array().unwrap().iter().map(|turn| {
                let parts = turn["parts"].as_array().unwrap();
                let texts = parts.iter().map(|part| part["text"].as_str().unwrap_or("(image)"));
                format!(
                    "{}:{}",
                    turn["role"].as_str().unwrap(),
                    texts.collect::<Vec<_>>().join("+")
                )
            });
            format!("{kind} {} {}", turns.collect::<Vec<_>>().join(","), value["turnComplete"])
        }
        "toolResponse" => format!("{kind} {}", value["functionResponses"][0]["response"]),
        _ => kind.clone(),
    }
}

pub(super) fn text_item(text: &str) -> Value {
    json!({"type": "conversation.item.create", "item": {"type": "message", "role": "user",
        "content": [{"type": "input_text", "text": text}]}})
}

/// Audio of the model.
pub(super) fn speech(audio: &[u8]) -> Value {
    json!({"serverContent": {"modelTurn": {"parts": [{"inlineData": {
        "mimeType": "audio/pcm;rate=24000", "data": STANDARD.encode(audio)}}]}}})
}

pub(super) fn words(text: &str) -> Value {
    json!({"serverContent": {"outputTranscription": {"text": text}}})
}

pub(super) fn content(key: &str) -> Value {
    json!({"serverContent": {key: true}})
}

pub(super) fn heard(text: &str) -> Value {
    json!({"serverContent": {"inputTranscription": {"text": text}}})
}

/// A tone.
pub(super) fn pcm(rate: u32, millis: u32) -> Vec<u8> {
    let sample = |at: u32| (f64::from(at) * 0.1).sin() * 8_000.0;
    (0..rate * millis / 1000).flat_map(|at| (sample(at) as i16).to_le_bytes()).collect()
}

pub(super) fn audio_of(encoded: &Value) -> Vec<u8> {
    STANDARD.decode(encoded.as_str().unwrap()).unwrap()
}
