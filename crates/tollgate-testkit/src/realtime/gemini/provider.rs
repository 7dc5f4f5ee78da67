//! A provider that has turns, calls tools, is interrupted (barge-in) and breaks by chance.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::events;
use crate::realtime::{
    ChaosOdds, ExpectedAnswers, ExpectedRunner, RealtimeTestTools, SeededRng, TestCallLedger,
};
use crate::ws::{BINARY, RawWebSocket, RawWebSocketFrame, RawWebSocketMessage};

/// Between two things that it says, at most.
const MAX_PROVIDER_PAUSE: Duration = Duration::from_millis(2);
/// How long it waits for the last answers before it hangs up.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(15);
const QUIET: Duration = Duration::from_millis(150);
/// What the client of this kit says to calls of its own.
pub(super) const CLIENTS_WORDS: &str = "the client did it";
const WORDS: &[&str] =
    &["hello", "roll for me", "please search for it", "take your time and explain everything"];

pub struct GeminiTestProvider {
    wire: RawWebSocket,
    ledger: Arc<TestCallLedger>,
    chance: SeededRng,
    odds: ChaosOdds,
    tools: RealtimeTestTools,
    /// Before all ids, so that they are unique in the run.
    name: u64,
    ids: u64,
    spoken: u64,
    received_audio: Option<u64>,
    declares_own: bool,
    script: VecDeque<GeminiScriptStep>,
    /// Calls that wait for their answers.
    open: BTreeMap<String, ExpectedRunner>,
    ended: GeminiSessionEnd,
    /// Since something happened, but for audio; roughly.
    quiet: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GeminiSessionEnd {
    Not,
    /// It has no more turns.
    Tired,
    Over,
}

enum GeminiScriptStep {
    CallerSpeech,
    Audio,
    Calls,
    /// Somebody speaks while the model does, or while its calls run.
    Interrupted,
    Generated,
    Complete,
    Unknown(usize),
    Garbage,
    Close(u16),
    Break,
}

impl GeminiTestProvider {
    pub fn new(
        wire: RawWebSocket,
        name: u64,
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
            spoken: 0,
            received_audio: None,
            declares_own: false,
            script: VecDeque::new(),
            open: BTreeMap::new(),
            ended: GeminiSessionEnd::Not,
            quiet: Duration::ZERO,
        }
    }

    /// Holds the session to its end.
    pub async fn run(mut self) {
        let _ = self.live().await;
        for id in self.open.keys() {
            self.ledger.excuse(id);
        }
    }

    async fn live(&mut self) -> io::Result<()> {
        match self.wire.message().await {
            RawWebSocketMessage::Text(text) => self.set_up(&text).await?,
            _ => return Ok(()),
        }
        while self.ended != GeminiSessionEnd::Over {
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

    async fn set_up(&mut self, text: &str) -> io::Result<()> {
        let setup: Value = serde_json::from_str(text).unwrap_or_default();
        let Some(setup) = setup.get("setup") else {
            self.ledger.fault(format!("a session began without a setup: {text:.100}"));
            return self.close(1007).await;
        };
        self.declares_own = setup["tools"].to_string().contains(self.tools.own);
        self.say(&json!({"setupComplete": {}})).await?;
        let handle = format!("handle-{}", self.name);
        self.say(&events::resumption(&handle)).await
    }

    async fn take(&mut self, text: &str) -> io::Result<()> {
        let Ok(message) = serde_json::from_str::<Value>(text) else {
            self.ledger.fault(format!("the provider was sent what is no JSON: {text:.100}"));
            return self.close(1007).await;
        };
        let Some((kind, value)) = message.as_object().and_then(|it| it.iter().next()) else {
            self.ledger.fault(format!("the provider was sent nothing: {text:.100}"));
            return self.close(1007).await;
        };
        match kind.as_str() {
            "realtimeInput" | "realtime_input" => self.hear(value),
            "toolResponse" | "tool_response" => {
                self.quiet = Duration::ZERO;
                self.take_answers(value);
            }
            "contextUpdate" | "clientContent" | "client_content" => {}
            other => self.ledger.fault(format!("the provider was sent {other:?}")),
        }
        Ok(())
    }

    fn hear(&mut self, input: &Value) {
        // Results that came late are told as text.
        let Some(audio) = input.get("audio") else { return };
        let number = audio["data"].as_str().and_then(|it| it.parse::<u64>().ok());
        let expected = self.received_audio.map(|received| received + 1);
        if number.is_none() || expected.is_some_and(|expected| number != Some(expected)) {
            self.ledger.fault(format!("{}: audio is not in order: {input}", self.name));
        }
        self.received_audio = number;
    }

    fn take_answers(&mut self, answers: &Value) {
        for answer in answers["functionResponses"].as_array().into_iter().flatten() {
            let id = answer["id"].as_str().unwrap_or_default();
            // There is more to come: this one does not count.
            if answer["willContinue"] == true {
                continue;
            }
            let text = answer["response"].to_string();
            let is_clients = text.contains(CLIENTS_WORDS);
            match self.open.remove(id) {
                Some(runner) if is_clients != (runner == ExpectedRunner::Client) => {
                    self.ledger.fault(format!("{id} was answered by the wrong one: {text:.100}"));
                }
                _ => {}
            }
            self.ledger.answered(id, &text);
        }
    }

    /// Says the next thing; when there is none, thinks of a new turn or ends.
    async fn go_on(&mut self) -> io::Result<()> {
        if let Some(step) = self.script.pop_front() {
            self.quiet = Duration::ZERO;
            return self.step(step).await;
        }
        match self.ended {
            GeminiSessionEnd::Not if self.odds.turns == 0 => self.ended = GeminiSessionEnd::Tired,
            GeminiSessionEnd::Not if self.open.is_empty() || self.chance.happens(20) => {
                self.odds.turns -= 1;
                self.plan_turn();
            }
            GeminiSessionEnd::Not if self.quiet > LAST_ANSWERS_TIMEOUT => {
                self.ended = GeminiSessionEnd::Tired
            }
            GeminiSessionEnd::Tired
                if self.open.is_empty() && self.quiet > QUIET
                    || self.quiet > LAST_ANSWERS_TIMEOUT =>
            {
                // What has no answer by now gets none: that is not excused.
                self.open.clear();
                self.close(1000).await?;
            }
            GeminiSessionEnd::Not | GeminiSessionEnd::Tired | GeminiSessionEnd::Over => {}
        }
        Ok(())
    }

    fn plan_turn(&mut self) {
        self.ledger.turn();
        let mut steps = vec![GeminiScriptStep::CallerSpeech];
        // New words while calls run are a new turn: the server gives these calls up.
        if !self.open.is_empty() {
            steps.insert(0, GeminiScriptStep::Interrupted);
        }
        steps.extend((0..self.chance.below(4)).map(|_| GeminiScriptStep::Audio));
        if self.chance.happens(self.odds.calls) {
            steps.push(GeminiScriptStep::Calls);
        }
        if self.chance.happens(self.odds.barge_ins) {
            let at = 1 + self.chance.below(steps.len() as u64) as usize;
            steps.insert(at, GeminiScriptStep::Interrupted);
            self.ledger.turn();
        }
        steps.extend([GeminiScriptStep::Generated, GeminiScriptStep::Complete]);
        if self.chance.happens(self.odds.unknown) {
            steps.push(GeminiScriptStep::Unknown(self.chance.below(40) as usize));
        }
        if self.chance.happens(self.odds.garbage) {
            steps.push(GeminiScriptStep::Garbage);
        }
        if self.chance.happens(self.odds.breaks) {
            let code = [1000, 1001, 1007, 1008, 1011][self.chance.below(5) as usize];
            steps.push(if self.chance.happens(500) {
                GeminiScriptStep::Close(code)
            } else {
                GeminiScriptStep::Break
            });
        }
        self.script.extend(steps);
    }

    async fn step(&mut self, step: GeminiScriptStep) -> io::Result<()> {
        match step {
            GeminiScriptStep::CallerSpeech => {
                let words = self.chance.pick(WORDS);
                self.say(&events::caller_speech(words)).await
            }
            GeminiScriptStep::Audio => {
                self.spoken += 1;
                let data = format!("{:04}{:04}", self.name % 10_000, self.spoken);
                self.say(&events::audio(&data)).await
            }
            GeminiScriptStep::Calls => self.call().await,
            GeminiScriptStep::Interrupted => self.interrupt().await,
            GeminiScriptStep::Generated => self.say(&events::generation_complete()).await,
            GeminiScriptStep::Complete => self.say(&events::turn_complete()).await,
            GeminiScriptStep::Unknown(count) => {
                for _ in 0..count {
                    self.say(&json!({"usageMetadata": {"totalTokenCount": 1}})).await?;
                }
                Ok(())
            }
            GeminiScriptStep::Garbage => self.garbage().await,
            GeminiScriptStep::Close(code) => self.close(code).await,
            GeminiScriptStep::Break => {
                self.ended = GeminiSessionEnd::Over;
                Ok(())
            }
        }
    }

    async fn call(&mut self) -> io::Result<()> {
        let count = 1 + self.chance.below(3);
        let calls: Vec<Value> = (0..count).map(|_| self.new_call()).collect();
        self.say(&events::tool_call(&calls)).await?;
        if self.chance.happens(self.odds.repeats) {
            self.say(&events::tool_call(&calls)).await?;
        }
        Ok(())
    }

    fn new_call(&mut self) -> Value {
        self.ids += 1;
        let id = format!("f_{}_{}", self.name, self.ids);
        let (name, runner) = match self.chance.below(10) {
            0..5 => (self.chance.pick(self.tools.reads), ExpectedRunner::Reads),
            5..8 => (self.chance.pick(self.tools.writes), ExpectedRunner::Writes),
            8 if self.declares_own => (self.tools.own, ExpectedRunner::Client),
            _ => ("nobody_has_this", ExpectedRunner::Nobody),
        };
        let args = match self.chance.below(20) {
            0 => json!({"token": 7}),
            _ => json!({"token": id, "ms": self.chance.below(self.odds.slowest_ms)}),
        };
        self.ledger.called(&id, runner, ExpectedAnswers::Once);
        // When its turn stands only the gateway knows: some quiet after the call.
        self.ledger.confirm(&id);
        self.open.insert(id.clone(), runner);
        events::call(&id, name, &args)
    }

    async fn interrupt(&mut self) -> io::Result<()> {
        self.say(&events::interruption()).await?;
        let ids: Vec<String> = std::mem::take(&mut self.open).into_keys().collect();
        if ids.is_empty() {
            return Ok(());
        }
        ids.iter().for_each(|id| self.ledger.excuse(id));
        self.say(&events::cancellation(&ids)).await
    }

    /// What no provider should say.
    async fn garbage(&mut self) -> io::Result<()> {
        let huge = format!("{{\"huge\":\"{}\"}}", "x".repeat(self.odds.huge));
        let frame = match self.chance.below(4) {
            0 => RawWebSocketFrame::text("{not json"),
            1 => RawWebSocketFrame::text("{\"toolCall\":7}"),
            2 => RawWebSocketFrame::new(BINARY, vec![0, 159, 146, 150]),
            _ => RawWebSocketFrame::text(&huge),
        };
        self.wire.send(&frame).await
    }

    /// The real one says everything in binary frames.
    async fn say(&mut self, message: &Value) -> io::Result<()> {
        self.wire.send(&RawWebSocketFrame::new(BINARY, message.to_string())).await
    }

    async fn close(&mut self, code: u16) -> io::Result<()> {
        self.ended = GeminiSessionEnd::Over;
        self.wire.send(&RawWebSocketFrame::close(code, "the provider ends it")).await?;
        let _ = tokio::time::timeout(QUIET, self.wire.message()).await;
        Ok(())
    }
}
