//! A talk between a client of Gemini and the machine of OpenAI, described in short words.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tollgate_core::tool::{ResultDelivery, ToolEffect};

use crate::realtime::events::{
    AnswerStage, CallAnswer, DeclaredTool, DeepTurnRouting, DialectAction, DialectEvent,
    RealtimeDialect, RealtimeFrame, RealtimeInit, RealtimeOffer,
};
use crate::realtime::translation::TranslatedDialect;
use crate::realtime::translation::gemini_client::GeminiClient;

pub(super) struct Talk {
    pub(super) machine: TranslatedDialect<GeminiClient>,
    pub(super) now: Instant,
}

impl Talk {
    pub(super) fn fresh() -> Self {
        let tool = DeclaredTool {
            name: "look_up".to_owned(),
            definition: Arc::new(json!({"type": "function", "name": "look_up"})),
            delivery: ResultDelivery::Wait,
            effect: ToolEffect::ReadOnly,
        };
        let machine = TranslatedDialect::new(RealtimeInit {
            offer: RealtimeOffer { tools: vec![tool], prompt: None },
            model: "gpt-realtime-2.1".to_owned(),
            routing: DeepTurnRouting::Native,
            declared: None,
        });
        #[expect(clippy::disallowed_methods, reason = "any instant is as good as another")]
        let now = Instant::now();
        Self { machine, now }
    }

    /// With one function of the client, `lights`, and transcripts.
    pub(super) fn begun() -> Self {
        Self::with_setup(&json!({"setup": {
            "tools": [{"functionDeclarations": [{"name": "lights", "parameters": {
                "type": "OBJECT", "properties": {"on": {"type": "BOOLEAN"}}}}]}],
            "inputAudioTranscription": {}, "outputAudioTranscription": {}}}))
    }

    pub(super) fn with_setup(setup: &Value) -> Self {
        let mut talk = Self::fresh();
        talk.client(setup);
        talk.accept_setup();
        talk
    }

    /// The machine's own update is answered before the client's.
    pub(super) fn accept_setup(&mut self) -> Vec<DialectAction> {
        self.provider(&json!({"type": "session.created", "session": {}}));
        let ours = self.provider(&json!({"type": "session.updated", "session": {}}));
        assert_eq!(told(&ours), "");
        self.provider(&json!({"type": "session.updated", "session": {}}))
    }

    pub(super) fn client(&mut self, message: &Value) -> Vec<DialectAction> {
        self.client_text(&message.to_string())
    }

    pub(super) fn client_text(&mut self, text: &str) -> Vec<DialectAction> {
        self.machine.on_client_message(RealtimeFrame::Text(text), self.now).actions
    }

    pub(super) fn audio(&mut self, mime: &str, audio: &[u8]) -> Vec<DialectAction> {
        let blob = json!({"mimeType": mime, "data": STANDARD.encode(audio)});
        self.client(&json!({"realtimeInput": {"audio": blob}}))
    }

    pub(super) fn provider(&mut self, event: &Value) -> Vec<DialectAction> {
        let text = event.to_string();
        self.machine.on_provider_message(RealtimeFrame::Text(&text), self.now).actions
    }

    pub(super) fn speak(&mut self, response: &str, millis: usize) -> Vec<DialectAction> {
        let delta = STANDARD.encode(vec![0; millis * 48]);
        self.provider(&json!({"type": "response.output_audio.delta", "response_id": response,
            "item_id": "item_1", "delta": delta}))
    }

    pub(super) fn say(&mut self, response: &str, words: &str) -> Vec<DialectAction> {
        self.provider(&json!({"type": "response.output_audio_transcript.delta",
            "response_id": response, "item_id": "item_1", "delta": words}))
    }

    pub(super) fn answer(&mut self, id: &str) -> Vec<DialectAction> {
        let answer = CallAnswer {
            id: id.to_owned(),
            answered: AnswerStage::Done,
            outcome: r#"{"status":"ok"}"#.to_owned(),
            delivery: ResultDelivery::Wait,
        };
        self.machine.on_event(DialectEvent::Answer(answer), self.now)
    }

    pub(super) fn wait(&mut self, millis: u64) -> Vec<DialectAction> {
        self.now += Duration::from_millis(millis);
        match self.machine.wakes() {
            Some(at) if at <= self.now => self.machine.on_event(DialectEvent::Time, self.now),
            _ => Vec::new(),
        }
    }

    /// What the client gets.
    pub(super) fn messages(&self, actions: &[DialectAction]) -> Vec<Value> {
        let texts = actions.iter().filter_map(|action| match action {
            DialectAction::ToClient(text) => Some(text),
            _ => None,
        });
        texts.map(|text| serde_json::from_str(text).unwrap()).collect()
    }

    /// What the model gets.
    pub(super) fn events(&self, actions: &[DialectAction]) -> Vec<Value> {
        let texts = actions.iter().filter_map(|action| match action {
            DialectAction::ToProvider(text) => Some(text),
            _ => None,
        });
        texts.map(|text| serde_json::from_str(text).unwrap()).collect()
    }
}

/// Kinds of messages, and events to the model behind `>`.
pub(super) fn told(actions: &[DialectAction]) -> String {
    let words = actions.iter().filter_map(|action| match action {
        DialectAction::ToClient(text) => {
            let message: Value = serde_json::from_str(text).unwrap();
            let kind = message.as_object().unwrap().keys().next().unwrap().clone();
            Some(match kind.as_str() {
                "serverContent" => {
                    message[&kind].as_object().unwrap().keys().next().unwrap().clone()
                }
                "code" => format!("error {}", message["error"]["message"].as_str().unwrap()),
                _ => kind,
            })
        }
        DialectAction::ToProvider(text) => {
            let event: Value = serde_json::from_str(text).unwrap();
            Some(format!("> {}", event["type"].as_str().unwrap()))
        }
        DialectAction::Close(with) => Some(format!("close {} {}", with.code, with.reason)),
        _ => None,
    });
    words.collect::<Vec<_>>().join(" ")
}

pub(super) fn created(id: &str) -> Value {
    json!({"type": "response.created", "response": {
        "id": id, "status": "in_progress", "conversation_id": "conv_1", "output": []}})
}

pub(super) fn done(id: &str, status: &str, output: &Value) -> Value {
    json!({"type": "response.done", "response": {
        "id": id, "status": status, "conversation_id": "conv_1", "output": output,
        "usage": {"total_tokens": 2, "input_tokens": 1, "output_tokens": 1}}})
}

pub(super) fn audio_of(encoded: &Value) -> Vec<u8> {
    STANDARD.decode(encoded.as_str().unwrap()).unwrap()
}
