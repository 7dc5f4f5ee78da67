//! Handles client messages. Part of the Gemini state machine.

use std::time::Instant;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tollgate_core::budget::Tier;
use tollgate_core::json::{MalformedJsonError, Object};
use tollgate_core::tool::ResultDelivery;

use super::calls::GeminiNote;
use super::config::{GeminiSessionConfig, OpeningHandle};
use super::loudness;
use super::turn_tracker::{GeminiCaller, text_of_parts};
use super::wire::{self, GeminiClientMessage};
use super::{GeminiLive, close_session};
use crate::realtime::events::{AnswerStage, DialectAction, DialectStep};
use crate::realtime::replay::ReplaySound;
use crate::realtime::{json_peek, tier_request};

/// Whether a client has ever sent a message to the gateway itself: only then it gets gateway
/// messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum GatewayAwareness {
    Made,
    #[default]
    None,
}

impl GeminiLive {
    pub(super) fn handle_client_message(
        &mut self,
        message: GeminiClientMessage<'_>,
        text: &str,
        now: Instant,
    ) -> DialectStep {
        if self.config.is_none() {
            return match message {
                GeminiClientMessage::Setup(setup) => self.set_up(setup),
                _ => close_session("the first message must be `setup` and nothing else"),
            };
        }
        if self.link.is_fresh() {
            self.early.push(text);
        }
        let step = match message {
            GeminiClientMessage::Content(content) => self.read_client_content(content),
            GeminiClientMessage::Input(input) => Ok(self.read_realtime_input(input, text, now)),
            GeminiClientMessage::Response(response) => self.read_tool_response(response),
            GeminiClientMessage::Update(update) => self.read_context_update(update),
            GeminiClientMessage::Tollgate(wish) => self.read_tier_request(wish),
            GeminiClientMessage::Other => Ok(DialectStep::forward()),
            GeminiClientMessage::Setup(_) => {
                Ok(refuse("`setup` is allowed only at the beginning of a session"))
            }
            GeminiClientMessage::Unclear => {
                Ok(refuse("a message must be a JSON object with one field that names its type"))
            }
        };
        step.unwrap_or_else(|malformed: MalformedJsonError| refuse(&malformed.to_string()))
    }

    fn set_up(&mut self, setup: &str) -> DialectStep {
        let config = match GeminiSessionConfig::read(setup) {
            Ok(config) => config,
            Err(malformed) => {
                return close_session(&format!("`setup` is invalid: {malformed}"));
            }
        };
        let share = config.share(&self.offer, self.family);
        let opening = config.opening(&self.model, &share, OpeningHandle::Clients);
        self.shown = Some(share.fingerprint());
        self.config = Some(config);
        DialectStep::replace(opening)
    }

    /// `clientContent`: its last user content is a turn, if it is to be answered.
    fn read_client_content(&mut self, content: &str) -> Result<DialectStep, MalformedJsonError> {
        let content = Object::parse(content)?;
        let complete = wire::get_either_spelling(&content, "turnComplete", "turn_complete")?;
        self.link.mark_outdated();
        if complete.map(RawValue::get) != Some("true") {
            return Ok(DialectStep::forward());
        }
        let turns = content.get("turns").map(|turns| turns.get()).unwrap_or("[]");
        let turns: Value = serde_json::from_str(turns)?;
        let last = turns.as_array().and_then(|turns| turns.last()).unwrap_or(&turns);
        let is_users = last.get("role").and_then(Value::as_str) != Some("model");
        let text = if is_users { text_of_parts(last) } else { String::new() };
        Ok(DialectStep::forward().and(self.talk.written_by_client(&text)))
    }

    /// `realtimeInput`: nearly always audio, of which only some samples are read. `message`: the
    /// whole message.
    fn read_realtime_input(&mut self, input: &str, message: &str, now: Instant) -> DialectStep {
        let mut sound = None;
        let mut step = DialectStep::forward();
        json_peek::for_each_field(input, |key, value| {
            match key {
                "text" => {
                    let text: String = serde_json::from_str(value).unwrap_or_default();
                    self.link.mark_outdated();
                    step.actions.extend(self.talk.written_by_client(&text));
                }
                "audio" => {
                    sound = Some(ReplaySound::Silent);
                    if loudness::has_sound(value) {
                        self.talk.hear_sound(now);
                        sound = Some(ReplaySound::Loud);
                    }
                }
                "audioStreamEnd" | "audio_stream_end" => sound = Some(ReplaySound::Loud),
                "activityStart" | "activity_start" => self.talk.caller(GeminiCaller::Speaks),
                "activityEnd" | "activity_end" => self.talk.caller(GeminiCaller::Quiet),
                _ => (),
            }
            true
        });
        if let Some(sound) = sound {
            self.replay.push(message, sound, now);
        }
        step
    }

    /// The client's answers to its own calls. An answer to one of the gateway's calls is forged;
    /// one to a call of a closed connection would be ignored, and is sent as text instead.
    fn read_tool_response(&mut self, response: &str) -> Result<DialectStep, MalformedJsonError> {
        let response = Object::parse(response)?;
        let listed =
            wire::get_either_spelling(&response, "functionResponses", "function_responses")?;
        let Some(listed) = listed else { return Ok(DialectStep::forward()) };
        let listed = wire::items(listed)?;
        let all = listed.len();
        let mut retained = Vec::new();
        let mut forged = 0;
        for item in listed {
            let answer = Object::parse(item.get())?;
            let id = answer.string("id").filter(|id| !id.is_empty());
            let name = answer.string("name").unwrap_or_default();
            if self.is_forged(id.as_deref(), &name) {
                forged += 1;
                continue;
            }
            let gone = id.as_deref().and_then(|id| self.calls.take_client_answer(id));
            match gone {
                Some(name) => {
                    let outcome = answer.get("response").map_or("{}", RawValue::get);
                    let text = wire::words(&name, outcome);
                    let delivery = ResultDelivery::Wait;
                    let answered = AnswerStage::Done;
                    self.words.push(GeminiNote { delivery, text, answered });
                }
                None => retained.push(item),
            }
        }
        if retained.len() == all {
            return Ok(DialectStep::forward());
        }
        let mut step = DialectStep::swallow();
        if !retained.is_empty() {
            let rest = wire::wrap("functionResponses", wire::list(retained)).to_raw();
            step = DialectStep::replace(wire::wrap("toolResponse", rest).to_text());
        }
        if forged > 0 {
            step.actions
                .push(wire::error_message("there is no call of a client function with this id"));
        }
        Ok(step)
    }

    fn is_forged(&self, id: Option<&str>, name: &str) -> bool {
        match id {
            Some(id) => self.calls.is_ours(id),
            // Some endpoints identify calls by name only.
            None => !self.config.as_ref().is_some_and(|config| config.is_clients(name)),
        }
    }

    /// `contextUpdate`: merges the gateway's share into it.
    fn read_context_update(&mut self, update: &str) -> Result<DialectStep, MalformedJsonError> {
        let Some(config) = &mut self.config else { return Ok(DialectStep::forward()) };
        let updated = config.update(update)?;
        let share = config.share(&self.offer, self.family);
        let merged = config.merge_update(&updated, &share);
        self.shown = self.shown.map(|shown| shown.after(&updated, share.fingerprint()));
        Ok(DialectStep::replace(merged))
    }

    /// `{"tollgate":{"tier":…}}`.
    fn read_tier_request(&mut self, wish: &str) -> Result<DialectStep, MalformedJsonError> {
        self.client = GatewayAwareness::Made;
        Ok(match tier_request::of(&Object::parse(wish)?) {
            Ok(tier) => DialectStep::swallow().and([DialectAction::Tier(tier)]),
            Err(why) => refuse(&why.to_string()),
        })
    }

    pub(super) fn announce_tier(&self, tier: Option<Tier>, reason: &str) -> Vec<DialectAction> {
        if self.client == GatewayAwareness::None {
            return Vec::new();
        }
        let tier = tier.map(Tier::as_str);
        let body = json!({"tollgate": {"tier": tier, "reason": reason}});
        vec![DialectAction::ToClient(body.to_string())]
    }
}

fn refuse(message: &str) -> DialectStep {
    DialectStep::swallow().and([wire::error_message(message)])
}
