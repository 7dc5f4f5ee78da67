//! What a client says, and what becomes of it. A part of the machine.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tollgate_core::budget::Tier;
use tollgate_core::json::{Malformed, Object};
use tollgate_core::tool::Delivery;

use super::config::Config;
use super::talk::{Caller, text_of_parts};
use super::wire::{self, Asked};
use super::{Gemini, closed};
use crate::realtime::events::{Action, Step};
use crate::realtime::{glance, wish};

/// Whether a client has ever spoken to the gateway itself: only then it hears of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Acquaintance {
    Made,
    #[default]
    None,
}

impl Gemini {
    pub(super) fn asked(&mut self, asked: Asked<'_>) -> Step {
        if self.config.is_none() {
            return match asked {
                Asked::Setup(setup) => self.set_up(setup),
                _ => closed("the first message has to be `setup`, and nothing else"),
            };
        }
        let step = match asked {
            Asked::Content(content) => self.wrote(content),
            Asked::Input(input) => Ok(self.gave(input)),
            Asked::Response(response) => self.responded(response),
            Asked::Update(update) => self.updated(update),
            Asked::Tollgate(wish) => self.wished(wish),
            Asked::Other => Ok(Step::forward()),
            Asked::Setup(_) => Ok(refused("`setup` stands at the beginning of a session only")),
            Asked::Unclear => {
                Ok(refused("a message has to be a JSON object with one field that says what it is"))
            }
        };
        step.unwrap_or_else(|malformed: Malformed| refused(&malformed.to_string()))
    }

    fn set_up(&mut self, setup: &str) -> Step {
        let config = match Config::read(setup) {
            Ok(config) => config,
            Err(malformed) => return closed(&format!("`setup` cannot be read: {malformed}")),
        };
        let share = config.share(&self.offer, self.family);
        let opening = config.opening(&self.model, &share, None);
        self.shown = Some(share.shown());
        self.config = Some(config);
        Step::replace(opening)
    }

    /// `clientContent`: the last thing that a user says in it is a turn, if it is to be answered.
    fn wrote(&mut self, content: &str) -> Result<Step, Malformed> {
        let content = Object::parse(content)?;
        let complete = wire::spelled(&content, "turnComplete", "turn_complete")?;
        self.link.outdated();
        if complete.map(RawValue::get) != Some("true") {
            return Ok(Step::forward());
        }
        let turns = content.get("turns").map(|turns| turns.get()).unwrap_or("[]");
        let turns: Value = serde_json::from_str(turns)?;
        let last = turns.as_array().and_then(|turns| turns.last()).unwrap_or(&turns);
        let is_users = last.get("role").and_then(Value::as_str) != Some("model");
        let text = if is_users { text_of_parts(last) } else { String::new() };
        Ok(Step::forward().and(self.talk.written_by_client(&text)))
    }

    /// `realtimeInput`: nearly always audio, which is not looked at.
    fn gave(&mut self, input: &str) -> Step {
        let mut step = Step::forward();
        glance::each(input, |key, value| {
            match key {
                "text" => {
                    let text: String = serde_json::from_str(value).unwrap_or_default();
                    self.link.outdated();
                    step.actions.extend(self.talk.written_by_client(&text));
                }
                "activityStart" | "activity_start" => self.talk.caller(Caller::Speaks),
                "activityEnd" | "activity_end" => self.talk.caller(Caller::Quiet),
                _ => (),
            }
            true
        });
        step
    }

    /// Answers of the client's to its own calls. One to a call of the gateway's is forged; one to a
    /// call of a connection that is gone would be ignored, and is told instead.
    fn responded(&mut self, response: &str) -> Result<Step, Malformed> {
        let response = Object::parse(response)?;
        let listed = wire::spelled(&response, "functionResponses", "function_responses")?;
        let Some(listed) = listed else { return Ok(Step::forward()) };
        let listed = wire::items(listed)?;
        let (all, mut kept, mut forged) = (listed.len(), Vec::new(), 0);
        for item in listed {
            let answer = Object::parse(item.get())?;
            let id = answer.string("id").filter(|id| !id.is_empty());
            let name = answer.string("name").unwrap_or_default();
            if self.is_forged(id.as_deref(), &name) {
                forged += 1;
                continue;
            }
            let gone = id.as_deref().and_then(|id| self.calls.answered_by_client(id));
            match gone {
                Some(name) => {
                    let outcome = answer.get("response").map_or("{}", RawValue::get);
                    self.words.push((Delivery::Wait, wire::words(&name, outcome)));
                }
                None => kept.push(item),
            }
        }
        if kept.len() == all {
            return Ok(Step::forward());
        }
        let mut step = Step::swallow();
        if !kept.is_empty() {
            let rest = wire::wrapped("functionResponses", wire::list(kept)).to_raw();
            step = Step::replace(wire::wrapped("toolResponse", rest).to_text());
        }
        if forged > 0 {
            step.actions.push(wire::refused("no function of yours was called by this id"));
        }
        Ok(step)
    }

    fn is_forged(&self, id: Option<&str>, name: &str) -> bool {
        match id {
            Some(id) => self.calls.is_ours(id),
            // Some endpoints know calls by their names only.
            None => !self.config.as_ref().is_some_and(|config| config.is_clients(name)),
        }
    }

    /// `contextUpdate`: the gateway's share stays in it.
    fn updated(&mut self, update: &str) -> Result<Step, Malformed> {
        let Some(config) = &mut self.config else { return Ok(Step::forward()) };
        let updated = config.update(update)?;
        let share = config.share(&self.offer, self.family);
        let merged = config.merged(&updated, &share);
        self.shown = self.shown.map(|shown| shown.after(&updated, share.shown()));
        Ok(Step::replace(merged))
    }

    /// `{"tollgate":{"tier":…}}`.
    fn wished(&mut self, wish: &str) -> Result<Step, Malformed> {
        self.client = Acquaintance::Made;
        Ok(match wish::of(&Object::parse(wish)?) {
            Ok(tier) => Step::swallow().and([Action::Tier(tier)]),
            Err(why) => refused(why),
        })
    }

    pub(super) fn tier_told(&self, tier: Option<Tier>, reason: &str) -> Vec<Action> {
        if self.client == Acquaintance::None {
            return Vec::new();
        }
        let tier = tier.map(Tier::as_str);
        let told = json!({"tollgate": {"tier": tier, "reason": reason}});
        vec![Action::ToClient(told.to_string())]
    }
}

fn refused(message: &str) -> Step {
    Step::swallow().and([wire::refused(message)])
}
