//! A client that talks, lies, floods and vanishes by chance, and looks closely at what it is shown.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::provider::CLIENTS_WORDS;
use crate::realtime::{ChaosOdds, RealtimeTestTools, SeededRng, TestCallLedger};
use crate::ws::{RawWebSocket, RawWebSocketMessage};

const MAX_CLIENT_PAUSE: Duration = Duration::from_millis(20);
/// A session that says nothing for so long hangs.
const HANG_TIMEOUT: Duration = Duration::from_secs(30);

pub struct GeminiTestClient {
    wire: RawWebSocket,
    ledger: Arc<TestCallLedger>,
    chance: SeededRng,
    odds: ChaosOdds,
    tools: RealtimeTestTools,
    model: String,
    spoken: u64,
    /// The last audio of each of the provider's connections.
    heard_audio: HashMap<u64, u64>,
    answered: Vec<String>,
}

impl GeminiTestClient {
    pub fn new(
        wire: RawWebSocket,
        model: &str,
        ledger: Arc<TestCallLedger>,
        tools: RealtimeTestTools,
        odds: ChaosOdds,
    ) -> Self {
        let chance = SeededRng::new(odds.seed ^ 0xc11e);
        let model = model.to_owned();
        let heard_audio = HashMap::new();
        let answered = Vec::new();
        Self { wire, ledger, chance, odds, tools, model, spoken: 0, heard_audio, answered }
    }

    /// Talks until the session ends. Says with which code; `None`: without one.
    pub async fn run(mut self) -> Option<u16> {
        self.introduce().await.ok()?;
        let mut quiet = Duration::ZERO;
        let mut is_ready = false;
        loop {
            let pause = self.chance.up_to(MAX_CLIENT_PAUSE);
            match tokio::time::timeout(pause, self.wire.message()).await {
                Ok(RawWebSocketMessage::Text(text)) => {
                    quiet = Duration::ZERO;
                    is_ready |= self.look(&text).await.ok()?;
                }
                Ok(RawWebSocketMessage::Binary(bytes)) => {
                    quiet = Duration::ZERO;
                    is_ready |= self.look(&String::from_utf8_lossy(&bytes)).await.ok()?;
                }
                Ok(RawWebSocketMessage::Close(code, _)) => return Some(code),
                Ok(RawWebSocketMessage::Gone) => return None,
                Err(_) => {
                    quiet += MAX_CLIENT_PAUSE / 2;
                    if quiet > HANG_TIMEOUT {
                        self.ledger.fault("a session hangs: its client hears nothing");
                        return None;
                    }
                    if self.chance.happens(self.odds.vanishes) {
                        return None;
                    }
                    if is_ready {
                        let _ = self.talk().await;
                    }
                }
            }
        }
    }

    async fn introduce(&mut self) -> io::Result<()> {
        let own = json!({"functionDeclarations": [{"name": self.tools.own, "description": "own"}]});
        let tools = if self.chance.happens(700) { json!([own]) } else { json!([]) };
        let setup = json!({"model": format!("models/{}", self.model), "tools": tools});
        self.say(&json!({"setup": setup})).await
    }

    async fn talk(&mut self) -> io::Result<()> {
        match self.chance.below(200) {
            0 => {
                let tier = [json!("fast"), json!("standard"), json!("deep"), Value::Null];
                let tier = &tier[self.chance.below(4) as usize];
                self.say(&json!({"tollgate": {"tier": tier}})).await
            }
            1 => self.forge().await,
            2 => self.wire.text("{\"toolResponse\":{},\"toolResponse\":{}}").await,
            3 => {
                for _ in 0..50 {
                    self.audio().await?;
                }
                Ok(())
            }
            _ => self.audio().await,
        }
    }

    async fn audio(&mut self) -> io::Result<()> {
        self.spoken += 1;
        let audio = json!({"data": format!("{:08}", self.spoken), "mimeType": "audio/pcm"});
        self.say(&json!({"realtimeInput": {"audio": audio}})).await
    }

    /// Says that a call of the gateway's came to something.
    async fn forge(&mut self) -> io::Result<()> {
        // Its audio gives away how the provider calls the session.
        let session = self.heard_audio.keys().max().copied().unwrap_or_default();
        let id = self.ledger.any_of_the_gateways(&format!("f_{session}_"), self.chance.bits());
        let Some(id) = id else { return Ok(()) };
        let answer = json!({"id": id, "name": "x", "response": {"output": CLIENTS_WORDS}});
        self.say(&json!({"toolResponse": {"functionResponses": [answer]}})).await
    }

    /// Whether that was the word to begin.
    async fn look(&mut self, text: &str) -> io::Result<bool> {
        let Ok(message) = serde_json::from_str::<Value>(text) else { return Ok(false) };
        for part in message["serverContent"]["modelTurn"]["parts"].as_array().into_iter().flatten()
        {
            self.hear(part["inlineData"]["data"].as_str().unwrap_or_default());
        }
        let calls = message["toolCall"]["functionCalls"].as_array().into_iter().flatten();
        for call in calls {
            if call["name"] != self.tools.own {
                self.ledger.fault(format!("the client was shown what is not its business: {text}"));
                continue;
            }
            let id = call["id"].as_str().unwrap_or_default().to_owned();
            if !self.answered.contains(&id) {
                let name = self.tools.own;
                let words = CLIENTS_WORDS;
                let answer = json!({"id": id, "name": name, "response": {"output": words}});
                self.say(&json!({"toolResponse": {"functionResponses": [answer]}})).await?;
                self.answered.push(id);
            }
        }
        Ok(message.get("setupComplete").is_some())
    }

    fn hear(&mut self, data: &str) {
        let number = data.parse::<u64>().unwrap_or_default();
        let last = self.heard_audio.entry(number / 10_000).or_default();
        if number % 10_000 != *last + 1 {
            self.ledger.fault(format!("audio {data} came after {last}"));
        }
        *last = number % 10_000;
    }

    async fn say(&mut self, message: &Value) -> io::Result<()> {
        self.wire.text(message.to_string()).await
    }
}
