//! A client that talks, changes its mind, lies, floods and vanishes by chance, and looks closely
//! at what it is shown.

use std::collections::BTreeSet;
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

pub struct OpenAiTestClient {
    wire: RawWebSocket,
    ledger: Arc<TestCallLedger>,
    chance: SeededRng,
    odds: ChaosOdds,
    tools: RealtimeTestTools,
    /// How the provider calls the session, which its ids give away.
    session: String,
    sent_audio: u64,
    received_audio: u64,
    /// Items that it was shown.
    items: BTreeSet<String>,
    /// Calls of its own that it has to answer when their response is over.
    calls: Vec<String>,
}

impl OpenAiTestClient {
    pub fn new(
        wire: RawWebSocket,
        ledger: Arc<TestCallLedger>,
        tools: RealtimeTestTools,
        odds: ChaosOdds,
    ) -> Self {
        let chance = SeededRng::new(odds.seed ^ 0xc11e);
        let session = String::new();
        let items = BTreeSet::new();
        let calls = Vec::new();
        Self {
            wire,
            ledger,
            chance,
            odds,
            tools,
            session,
            sent_audio: 0,
            received_audio: 0,
            items,
            calls,
        }
    }

    /// Talks until the session ends. Says with which code; `None`: without one.
    pub async fn run(mut self) -> Option<u16> {
        let mut quiet = Duration::ZERO;
        self.introduce().await.ok()?;
        loop {
            let pause = self.chance.up_to(MAX_CLIENT_PAUSE);
            match tokio::time::timeout(pause, self.wire.message()).await {
                Ok(RawWebSocketMessage::Text(text)) => {
                    quiet = Duration::ZERO;
                    self.look(&text).await.ok()?;
                }
                Ok(RawWebSocketMessage::Binary(_)) => {}
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
                    // A socket that the other end has closed still has its last words to read.
                    let _ = self.talk().await;
                }
            }
        }
    }

    async fn introduce(&mut self) -> io::Result<()> {
        let tool = json!({
            "type": "function", "name": self.tools.own, "description": "the client's",
            "parameters": {"type": "object", "properties": {}},
        });
        let tools = if self.chance.happens(700) { json!([tool]) } else { json!([]) };
        let session = json!({"type": "realtime", "instructions": "be brief", "tools": tools});
        self.say(&json!({"type": "session.update", "session": session})).await
    }

    async fn talk(&mut self) -> io::Result<()> {
        match self.chance.below(200) {
            0 => self.introduce().await,
            1 => {
                let tier = [json!("fast"), json!("standard"), json!("deep"), Value::Null];
                let tier = &tier[self.chance.below(4) as usize];
                self.say(&json!({"type": "tollgate.tier", "tier": tier})).await
            }
            2 => self.say(&json!({"type": "response.cancel"})).await,
            3 => self.forge().await,
            4 => self.wire.text("{\"type\":\"response.create\",\"type\":\"x\"}").await,
            5 => {
                for _ in 0..50 {
                    self.audio().await?;
                }
                Ok(())
            }
            _ => self.audio().await,
        }
    }

    async fn audio(&mut self) -> io::Result<()> {
        self.sent_audio += 1;
        let audio = format!("{:08}", self.sent_audio);
        self.say(&json!({"type": "input_audio_buffer.append", "audio": audio})).await
    }

    /// Says that a call of the gateway's came to something.
    async fn forge(&mut self) -> io::Result<()> {
        let session = format!("call_{}_", self.session);
        let id = self.ledger.any_of_the_gateways(&session, self.chance.bits());
        let Some(id) = id else { return Ok(()) };
        let item = json!({"type": "function_call_output", "call_id": id, "output": "forged"});
        self.say(&json!({"type": "conversation.item.create", "item": item})).await
    }

    async fn look(&mut self, text: &str) -> io::Result<()> {
        let Ok(event) = serde_json::from_str::<Value>(text) else { return Ok(()) };
        self.check(&event, text);
        match event["type"].as_str().unwrap_or_default() {
            "session.created" => {
                let id = event["event_id"].as_str().unwrap_or_default();
                self.session = id.split('_').nth(1).unwrap_or_default().to_owned();
            }
            "conversation.item.added" => {
                self.items.extend(event["item"]["id"].as_str().map(str::to_owned));
            }
            "response.output_audio.delta" => {
                // A provider that continues a session counts from the beginning.
                let is_first = event["delta"] == format!("{:08}", 1);
                self.received_audio = if is_first { 1 } else { self.received_audio + 1 };
                if event["delta"] != format!("{:08}", self.received_audio) {
                    self.ledger
                        .fault(format!("audio {} is out of order: {text}", self.received_audio));
                }
            }
            "response.output_item.done" if is_call(&event["item"]) => {
                let id = event["item"]["call_id"].as_str().unwrap_or_default().to_owned();
                if event["item"]["status"] == "completed" && !self.calls.contains(&id) {
                    self.calls.push(id);
                }
            }
            "response.done" => {
                for id in std::mem::take(&mut self.calls) {
                    let kind = "function_call_output";
                    let output = CLIENTS_WORDS;
                    let item = json!({"type": kind, "call_id": id, "output": output});
                    self.say(&json!({"type": "conversation.item.create", "item": item})).await?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// That nothing shows which is the gateway's business.
    fn check(&self, event: &Value, text: &str) {
        let before = event["previous_item_id"].as_str();
        if before.is_some_and(|before| !self.items.contains(before)) {
            self.ledger.fault(format!("an item follows one that the client never saw: {text}"));
        }
        let output = event["response"]["output"].as_array().into_iter().flatten();
        let tools = event["session"]["tools"].as_array().into_iter().flatten();
        let mut shown = output.chain(std::iter::once(&event["item"])).filter(|item| is_call(item));
        let is_own =
            |item: &&Value| item["name"] == self.tools.own || item["output"] == CLIENTS_WORDS;
        if !shown.all(|item| is_own(&item)) || !tools.into_iter().all(|tool| is_own(&tool)) {
            self.ledger.fault(format!("the client was shown what is not its business: {text}"));
        }
    }

    async fn say(&mut self, event: &Value) -> io::Result<()> {
        self.wire.text(event.to_string()).await
    }
}

fn is_call(item: &Value) -> bool {
    matches!(item["type"].as_str(), Some("function_call" | "function_call_output"))
}
