//! A provider that has turns, calls tools, is interrupted (barge-in) and breaks by chance, and is
//! as strict as the real one about what it is sent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use self::turns::OpenAiScriptStep;
use super::events;
use crate::realtime::{ChaosOdds, ExpectedRunner, RealtimeTestTools, SeededRng, TestCallLedger};
use crate::ws::{RawWebSocket, RawWebSocketFrame, RawWebSocketMessage};

mod turns;

/// Between two things that it says, at most.
const MAX_PROVIDER_PAUSE: Duration = Duration::from_millis(2);
/// How long it waits for the last answers before it hangs up.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer ids of items and calls are refused.
const MAX_ID_BYTES: usize = 32;
const QUIET: Duration = Duration::from_millis(150);
/// What the client of this kit says to calls of its own.
pub(super) const CLIENTS_WORDS: &str = "the client did it";
pub struct OpenAiTestProvider {
    wire: RawWebSocket,
    ledger: Arc<TestCallLedger>,
    chance: SeededRng,
    odds: ChaosOdds,
    tools: RealtimeTestTools,
    /// Before all ids, so that they are unique in the run.
    name: String,
    ids: u64,
    declared: Value,
    last_item: Option<String>,
    /// Items of the conversation.
    items: BTreeSet<String>,
    sent_audio: u64,
    received_audio: Option<u64>,
    active: Option<OpenAiActiveResponse>,
    script: VecDeque<OpenAiScriptStep>,
    /// Calls whose response is over, by id: whether they are the client's.
    open: BTreeMap<String, ExpectedRunner>,
    /// Ids that somebody put into the conversation by hand.
    injected: BTreeSet<String>,
    ended: OpenAiSessionEnd,
    /// Since something happened, but for audio; roughly.
    quiet: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenAiSessionEnd {
    Not,
    /// It has no more turns.
    Tired,
    Over,
}

/// A response that is being given.
struct OpenAiActiveResponse {
    id: String,
    output: Vec<Value>,
    calls: Vec<(String, ExpectedRunner)>,
}

impl OpenAiTestProvider {
    pub fn new(
        wire: RawWebSocket,
        name: String,
        ledger: Arc<TestCallLedger>,
        tools: RealtimeTestTools,
        odds: ChaosOdds,
    ) -> Self {
        Self {
            wire,
            ledger,
            chance: SeededRng::new(odds.seed),
            odds,
            tools,
            name,
            ids: 0,
            declared: json!([]),
            last_item: None,
            items: BTreeSet::new(),
            sent_audio: 0,
            received_audio: None,
            active: None,
            script: VecDeque::new(),
            open: BTreeMap::new(),
            injected: BTreeSet::new(),
            ended: OpenAiSessionEnd::Not,
            quiet: Duration::ZERO,
        }
    }

    /// Holds the session to its end.
    pub async fn run(mut self) {
        let _ = self.live().await;
        // Whoever is gone answers nothing.
        for id in self
            .open
            .keys()
            .chain(self.active.iter().flat_map(|it| it.calls.iter().map(|it| &it.0)))
        {
            self.ledger.excuse(id);
        }
    }

    async fn live(&mut self) -> io::Result<()> {
        self.say(events::session("session.created", &json!([]), "")).await?;
        while self.ended != OpenAiSessionEnd::Over {
            let pause = self.chance.up_to(MAX_PROVIDER_PAUSE);
            match tokio::time::timeout(pause, self.wire.message()).await {
                Ok(RawWebSocketMessage::Text(text)) => self.take(&text).await?,
                Ok(RawWebSocketMessage::Binary(_)) => {
                    self.ledger.fault("binary came to the provider")
                }
                Ok(RawWebSocketMessage::Close(..) | RawWebSocketMessage::Gone) => return Ok(()),
                Err(_) => {
                    self.quiet += MAX_PROVIDER_PAUSE / 2;
                    self.go_on().await?;
                }
            }
        }
        Ok(())
    }

    /// Says the next thing; when there is none, thinks of a new turn or ends.
    async fn go_on(&mut self) -> io::Result<()> {
        if let Some(step) = self.script.pop_front() {
            self.quiet = Duration::ZERO;
            return self.step(step).await;
        }
        if self.active.is_some() {
            return Ok(());
        }
        match self.ended {
            OpenAiSessionEnd::Not if self.odds.turns == 0 => self.ended = OpenAiSessionEnd::Tired,
            // Most callers wait for the answer; some do not.
            OpenAiSessionEnd::Not if self.open.is_empty() || self.chance.happens(20) => {
                self.odds.turns -= 1;
                self.plan_turn();
            }
            OpenAiSessionEnd::Not if self.quiet > LAST_ANSWERS_TIMEOUT => {
                self.ended = OpenAiSessionEnd::Tired
            }
            OpenAiSessionEnd::Not => {}
            OpenAiSessionEnd::Tired => {
                let is_done = self.open.is_empty() && self.quiet > QUIET;
                if is_done || self.quiet > LAST_ANSWERS_TIMEOUT {
                    // What has no answer by now gets none: that is not excused.
                    self.open.clear();
                    self.close(1000).await;
                }
            }
            OpenAiSessionEnd::Over => {}
        }
        Ok(())
    }

    /// What somebody sent, as the real one takes it.
    async fn take(&mut self, text: &str) -> io::Result<()> {
        let Ok(event) = serde_json::from_str::<Value>(text) else {
            self.ledger.fault(format!("the provider was sent what is no JSON: {text:.100}"));
            return Ok(());
        };
        let kind = event["type"].as_str().unwrap_or_default();
        if kind != "input_audio_buffer.append" {
            self.quiet = Duration::ZERO;
        }
        match kind {
            "session.update" => {
                if let Some(tools) = event["session"].get("tools") {
                    self.declared = tools.clone();
                }
                let words = event["session"]["instructions"].as_str().unwrap_or_default();
                self.say(events::session("session.updated", &self.declared.clone(), words)).await
            }
            "input_audio_buffer.append" => {
                // A connection that continues a session hears it from somewhere on.
                let number = event["audio"].as_str().and_then(|it| it.parse::<u64>().ok());
                let expected = self.received_audio.map(|received| received + 1);
                self.received_audio = number;
                if number.is_none() || expected.is_some_and(|expected| number != Some(expected)) {
                    self.ledger.fault(format!("{}: audio is not in order: {text}", self.name));
                }
                Ok(())
            }
            "conversation.item.create" => self.take_item(event["item"].clone()).await,
            "conversation.item.delete"
            | "conversation.item.truncate"
            | "conversation.item.retrieve" => self.change_item(kind, &event).await,
            "input_audio_buffer.clear" => {
                self.say(json!({"type": "input_audio_buffer.cleared"})).await
            }
            "response.create" if self.active.is_some() => {
                let code = "conversation_already_has_active_response";
                self.say(events::error(code, "one at a time")).await
            }
            "response.create" => self.respond().await,
            "response.cancel" if self.active.is_none() => {
                self.say(events::error("response_cancel_not_active", "nothing to cancel")).await
            }
            "response.cancel" => self.cut().await,
            other => {
                self.ledger.fault(format!("the provider was sent {other:?}"));
                self.say(events::error("invalid_value", "unknown event")).await
            }
        }
    }

    /// Deletes, truncates or retrieves an item.
    async fn change_item(&mut self, kind: &str, event: &Value) -> io::Result<()> {
        let verb = kind.rsplit('.').next().unwrap_or_default();
        let id = event["item_id"].as_str().unwrap_or_default();
        if !self.items.contains(id) {
            let code = format!("item_{verb}_invalid_item_id");
            return self.say(events::error(&code, "Item with item_id not found")).await;
        }
        let done = match verb {
            "delete" => {
                self.items.remove(id);
                json!({"type": "conversation.item.deleted", "item_id": id})
            }
            "truncate" => json!({
                "type": "conversation.item.truncated", "item_id": id,
                "content_index": event["content_index"], "audio_end_ms": event["audio_end_ms"],
            }),
            _ => json!({"type": "conversation.item.retrieved", "item": {"id": id}}),
        };
        self.say(done).await
    }

    async fn take_item(&mut self, mut item: Value) -> io::Result<()> {
        let id = item["call_id"].as_str().unwrap_or_default().to_owned();
        for name in ["id", "call_id"] {
            let length = item[name].as_str().unwrap_or_default().len();
            // Ids of the provider itself hold the name of its test.
            if length > MAX_ID_BYTES
                && !item[name].as_str().unwrap_or_default().contains(&self.name)
            {
                self.ledger.fault(format!("an item has an `{name}` of {length} bytes"));
            }
        }
        match item["type"].as_str().unwrap_or_default() {
            "function_call" => {
                self.injected.insert(id);
            }
            "function_call_output" if self.injected.remove(&id) => {}
            "function_call_output" => {
                let output = item["output"].as_str().unwrap_or_default();
                self.check_answer(&id, output);
                if self.open.remove(&id).is_none() && !self.ledger.is_answered(&id) {
                    return self.say(events::error("invalid_tool_call_id", &id)).await;
                }
                self.ledger.answered(&id, output);
            }
            _ => {}
        }
        if item.get("id").is_none() {
            item["id"] = json!(self.id("item"));
        }
        item["status"] = json!("completed");
        self.add(&item, &["added", "done"]).await
    }

    fn check_answer(&self, id: &str, output: &str) {
        let is_active =
            |active: &OpenAiActiveResponse| active.calls.iter().any(|(call, _)| call == id);
        if self.active.as_ref().is_some_and(is_active) {
            self.ledger.fault(format!("{id} was answered before its response was done"));
        }
        let is_clients = self.open.get(id) == Some(&ExpectedRunner::Client);
        if self.open.contains_key(id) && is_clients != (output == CLIENTS_WORDS) {
            self.ledger.fault(format!("{id} was answered by the wrong one: {output:.100}"));
        }
    }

    /// Puts an item at the end of the conversation, or says that it is done.
    async fn add(&mut self, item: &Value, kinds: &[&str]) -> io::Result<()> {
        for kind in kinds {
            let before = self.last_item.clone().filter(|before| *before != item["id"]);
            self.say(events::item(kind, item, before.as_deref())).await?;
        }
        if kinds.contains(&"added") {
            self.items.extend(item["id"].as_str().map(str::to_owned));
            self.last_item = item["id"].as_str().map(str::to_owned);
        }
        Ok(())
    }

    async fn say(&mut self, mut event: Value) -> io::Result<()> {
        event["event_id"] = json!(self.id("event"));
        self.wire.text(event.to_string()).await
    }

    async fn close(&mut self, code: u16) {
        self.ended = OpenAiSessionEnd::Over;
        let _ = self.wire.send(&RawWebSocketFrame::close(code, "the provider ends it")).await;
        let _ = tokio::time::timeout(QUIET, self.wire.message()).await;
    }

    fn id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}_{}_{}", self.name, self.ids)
    }
}
