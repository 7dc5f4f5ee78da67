//! What the provider says of its own accord: turns, responses, calls, interruptions, nonsense.

use std::collections::VecDeque;
use std::io;

use serde_json::{Value, json};

use super::super::events;
use super::{OpenAiActiveResponse, OpenAiSessionEnd, OpenAiTestProvider};
use crate::realtime::{ExpectedAnswers, ExpectedRunner};
use crate::ws::{BINARY, RawWebSocketFrame};

const WORDS: &[&str] = &[
    "hello",
    "roll for me",
    "please search for it",
    "what are the rules",
    "take your time and explain everything",
    "stop",
];

pub(super) enum OpenAiScriptStep {
    SpeechStarted(String),
    Turn(String),
    Respond,
    /// Of the response with this id, if it is still given.
    Of(String, OpenAiResponsePiece),
    Close(u16),
    Break,
    Garbage,
    Unknown(usize),
}

pub(super) enum OpenAiResponsePiece {
    Audio,
    CallAdded,
    CallDone,
    Done,
}

impl OpenAiTestProvider {
    pub(super) fn plan_turn(&mut self) {
        self.ledger.turn();
        let item = self.id("item");
        self.script.push_back(OpenAiScriptStep::SpeechStarted(item.clone()));
        self.script.push_back(OpenAiScriptStep::Turn(item));
        self.script.push_back(OpenAiScriptStep::Respond);
        if self.chance.happens(self.odds.unknown) {
            let count = self.chance.below(40) as usize;
            self.script.push_back(OpenAiScriptStep::Unknown(count));
        }
        if self.chance.happens(self.odds.garbage) {
            self.script.push_back(OpenAiScriptStep::Garbage);
        }
        if self.chance.happens(self.odds.breaks) {
            let code = [1000, 1001, 1008, 1011, 1012, 4000][self.chance.below(6) as usize];
            let step = if self.chance.happens(500) {
                OpenAiScriptStep::Close(code)
            } else {
                OpenAiScriptStep::Break
            };
            self.script.push_back(step);
        }
    }

    pub(super) async fn step(&mut self, step: OpenAiScriptStep) -> io::Result<()> {
        match step {
            OpenAiScriptStep::SpeechStarted(item) => {
                self.say(events::speech_started(&item)).await?;
                self.cut().await
            }
            OpenAiScriptStep::Turn(item) => self.hear_turn(&item).await,
            OpenAiScriptStep::Respond if self.active.is_none() => self.respond().await,
            OpenAiScriptStep::Respond => Ok(()),
            OpenAiScriptStep::Of(response, piece) => {
                let active = self.active.take_if(|active| active.id == response);
                match active {
                    Some(active) => self.piece(active, piece).await,
                    None => Ok(()),
                }
            }
            OpenAiScriptStep::Close(code) => {
                self.close(code).await;
                Ok(())
            }
            OpenAiScriptStep::Break => {
                self.ended = OpenAiSessionEnd::Over;
                Ok(())
            }
            OpenAiScriptStep::Garbage => self.garbage().await,
            OpenAiScriptStep::Unknown(count) => {
                for _ in 0..count {
                    self.say(json!({"type": "rate_limits.updated", "rate_limits": []})).await?;
                }
                Ok(())
            }
        }
    }

    async fn hear_turn(&mut self, item: &str) -> io::Result<()> {
        let before = self.last_item.clone();
        self.say(events::speech_stopped(item)).await?;
        self.say(events::audio_commit(item, before.as_deref())).await?;
        self.add(&events::message(item, "user", "completed"), &["added", "done"]).await?;
        let words = self.chance.pick(WORDS);
        for event in events::caller_speech(item, words) {
            self.say(event).await?;
        }
        Ok(())
    }

    /// Begins a response: speech, calls, or both; it may be interrupted anywhere.
    pub(super) async fn respond(&mut self) -> io::Result<()> {
        let id = self.id("resp");
        self.say(events::response("created", &id, "in_progress", &[])).await?;
        self.active =
            Some(OpenAiActiveResponse { id: id.clone(), output: Vec::new(), calls: Vec::new() });
        let mut pieces = Vec::new();
        for _ in 0..self.chance.below(4) {
            pieces.push(OpenAiResponsePiece::Audio);
        }
        if self.ended == OpenAiSessionEnd::Not && self.chance.happens(self.odds.calls) {
            for _ in 0..=self.chance.below(3) {
                pieces.extend([OpenAiResponsePiece::CallAdded, OpenAiResponsePiece::CallDone]);
            }
        }
        pieces.push(OpenAiResponsePiece::Done);
        let interrupted =
            self.ended == OpenAiSessionEnd::Not && self.chance.happens(self.odds.barge_ins);
        let cut = self.chance.below(pieces.len() as u64) as usize;
        let mut steps = VecDeque::new();
        for (at, piece) in pieces.into_iter().enumerate() {
            if interrupted && at == cut {
                let item = self.id("item");
                self.ledger.turn();
                steps.extend([
                    OpenAiScriptStep::SpeechStarted(item.clone()),
                    OpenAiScriptStep::Turn(item),
                    OpenAiScriptStep::Respond,
                ]);
            }
            steps.push_back(OpenAiScriptStep::Of(id.clone(), piece));
        }
        steps.append(&mut self.script);
        self.script = steps;
        Ok(())
    }

    async fn piece(
        &mut self,
        mut active: OpenAiActiveResponse,
        piece: OpenAiResponsePiece,
    ) -> io::Result<()> {
        let index = active.output.len();
        match piece {
            OpenAiResponsePiece::Audio => {
                if active.output.is_empty() {
                    let item = events::message(&self.id("item"), "assistant", "in_progress");
                    self.say(events::output_item("added", &active.id, 0, &item)).await?;
                    self.add(&item, &["added"]).await?;
                    active.output.push(item);
                }
                let item = active.output[0]["id"].as_str().unwrap_or_default().to_owned();
                self.sent_audio += 1;
                let audio = format!("{:08}", self.sent_audio);
                self.say(events::audio(&active.id, &item, &audio)).await?;
            }
            OpenAiResponsePiece::CallAdded => {
                let (call, runner) = self.new_call();
                self.say(events::output_item("added", &active.id, index, &call)).await?;
                self.add(&call, &["added"]).await?;
                let id = call["call_id"].as_str().unwrap_or_default().to_owned();
                active.output.push(call);
                active.calls.push((id, runner));
            }
            OpenAiResponsePiece::CallDone => self.call_done(&mut active).await?,
            OpenAiResponsePiece::Done => return self.finish(active, "completed").await,
        }
        self.active = Some(active);
        Ok(())
    }

    async fn call_done(&mut self, active: &mut OpenAiActiveResponse) -> io::Result<()> {
        let index = active.output.len() - 1;
        let Some((id, runner)) = active.calls.last().cloned() else { return Ok(()) };
        let call = &mut active.output[index];
        call["status"] = json!("completed");
        let call = call.clone();
        for event in events::arguments(&active.id, &call, index) {
            self.say(event).await?;
        }
        self.ledger.called(&id, runner, ExpectedAnswers::Once);
        self.add(&call, &["done"]).await?;
        self.say(events::output_item("done", &active.id, index, &call)).await?;
        if self.chance.happens(self.odds.repeats) {
            self.say(events::output_item("done", &active.id, index, &call)).await?;
        }
        Ok(())
    }

    fn new_call(&mut self) -> (Value, ExpectedRunner) {
        let id = self.id("call");
        let item = self.id("item");
        let own = self.tools.own;
        let has_own =
            self.declared.as_array().is_some_and(|all| all.iter().any(|it| it["name"] == own));
        let (name, runner) = match self.chance.below(10) {
            0..5 => (self.chance.pick(self.tools.reads), ExpectedRunner::Reads),
            5..8 => (self.chance.pick(self.tools.writes), ExpectedRunner::Writes),
            8 if has_own => (own, ExpectedRunner::Client),
            _ => ("nobody_has_this", ExpectedRunner::Nobody),
        };
        let arguments = match self.chance.below(20) {
            0 => "{\"token\":".to_owned(),
            1 => "[]".to_owned(),
            _ => json!({"token": id, "ms": self.chance.below(self.odds.slowest_ms)}).to_string(),
        };
        (events::call(&item, &id, name, &arguments), runner)
    }

    /// Ends the response that is given before its time, if there is one.
    pub(super) async fn cut(&mut self) -> io::Result<()> {
        let Some(mut active) = self.active.take() else { return Ok(()) };
        if let Some(call) = active.output.last_mut().filter(|it| it["status"] == "in_progress") {
            call["status"] = json!("incomplete");
            let call = call.clone();
            let index = active.output.len() - 1;
            if call["type"] == "function_call" {
                // The real one says this although nothing was finished.
                for event in events::arguments(&active.id, &call, index) {
                    self.say(event).await?;
                }
                active.calls.pop();
            }
            self.add(&call, &["done"]).await?;
            self.say(events::output_item("done", &active.id, index, &call)).await?;
        }
        self.finish(active, "cancelled").await
    }

    async fn finish(&mut self, mut active: OpenAiActiveResponse, status: &str) -> io::Result<()> {
        for item in &mut active.output {
            if item["status"] == "in_progress" {
                item["status"] = json!("completed");
                let item = item.clone();
                self.add(&item, &["done"]).await?;
                self.say(events::output_item("done", &active.id, 0, &item)).await?;
            }
        }
        for (id, runner) in active.calls {
            if status == "completed" {
                self.ledger.confirm(&id);
            }
            self.open.insert(id, runner);
        }
        self.say(events::response("done", &active.id, status, &active.output)).await
    }

    /// What no provider should say.
    async fn garbage(&mut self) -> io::Result<()> {
        let huge = format!("{{\"type\":\"huge\",\"x\":\"{}\"}}", "x".repeat(self.odds.huge));
        let frame = match self.chance.below(5) {
            0 => RawWebSocketFrame::text("{not json"),
            1 => RawWebSocketFrame::text("[1,2,3]"),
            2 => RawWebSocketFrame::text("{\"type\":\"response.done\"}"),
            3 => RawWebSocketFrame::new(BINARY, vec![0, 159, 146, 150]),
            _ => RawWebSocketFrame::text(&huge),
        };
        self.wire.send(&frame).await
    }
}
