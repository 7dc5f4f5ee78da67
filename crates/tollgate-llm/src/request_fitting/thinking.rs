//! Anthropic's `thinking` and Gemini's thinking budget: as an effort for models of other vendors,
//! and as what a model of the same vendor takes.

use serde_json::{Map, Value, json};

use super::RequestFitting;
use crate::conversation::{ChatRole, PartContent};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::model_capabilities::{Effort, ThinkingKind};

const THINKING: &str = "thinking";
const GEMINI_THINKING: &str = "generationConfig.thinkingConfig";
const BUDGET: &str = "thinkingBudget";

impl RequestFitting {
    pub(super) fn fit_thinking(&mut self) {
        match self.dialect {
            Dialect::Anthropic => {
                self.read_gemini_budget();
                self.fit_claude_thinking();
                self.fit_claude_without_thinking();
            }
            Dialect::Gemini => {
                self.read_claude_thinking();
                if self.takes.min_thinking_budget.is_none() {
                    self.read_gemini_budget();
                }
            }
            Dialect::OpenAiChat | Dialect::OpenAiResponses => {
                self.read_gemini_budget();
                self.read_claude_thinking();
            }
        }
    }

    /// Whether a Claude thinks on this request.
    pub(super) fn thinks(&self) -> bool {
        let kind =
            self.request.extra.get(Dialect::Anthropic, THINKING).and_then(|it| it.get("type"));
        match kind.and_then(Value::as_str) {
            Some("disabled") => false,
            Some(_) => true,
            None => self.takes.default_effort.is_some(),
        }
    }

    /// A client of Anthropic's API, before a model of another vendor.
    fn read_claude_thinking(&mut self) {
        let Some(thinking) = self.request.extra.take(Dialect::Anthropic, THINKING) else { return };
        let effort = match thinking["type"].as_str() {
            Some("enabled") => thinking["budget_tokens"].as_i64().and_then(Effort::of_budget),
            Some("disabled") => Some(Effort::None),
            _ => None,
        };
        self.set_effort(effort);
    }

    /// A thinking budget, before a model that takes an effort.
    fn read_gemini_budget(&mut self) {
        let Some(Value::Object(mut config)) =
            self.request.extra.take(Dialect::Gemini, GEMINI_THINKING)
        else {
            return;
        };
        let budget = config.shift_remove(BUDGET);
        if !config.is_empty() {
            let rest = Map::from_iter([(GEMINI_THINKING.to_owned(), config.into())]);
            self.request.extra.merge(Extra::new(Dialect::Gemini, rest));
        }
        let Some(budget) = budget else { return };
        let effort = budget.as_i64().and_then(Effort::of_budget);
        if let (Some(effort), Dialect::Gemini) = (effort, self.dialect) {
            let effort = effort.as_str();
            self.report(format!("`thinkingBudget` {budget}: sent as effort `{effort}`"));
        }
        self.set_effort(effort);
    }

    /// What the client says of the effort itself goes first.
    fn set_effort(&mut self, effort: Option<Effort>) {
        let options = &mut self.request.options;
        if options.effort.is_none() {
            options.effort = effort.map(|effort| effort.as_str().to_owned());
        }
    }

    fn fit_claude_thinking(&mut self) {
        let Some(Value::Object(mut thinking)) = self.request.extra.take(self.dialect, THINKING)
        else {
            return;
        };
        let kind = thinking.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let taken = match kind.as_str() {
            "adaptive" => self.takes.thinks_as(ThinkingKind::Adaptive),
            "enabled" => self.takes.thinks_as(ThinkingKind::Enabled),
            "between_tools" => self.takes.thinks_as(ThinkingKind::BetweenTools),
            "disabled" => self.takes_disabled(),
            _ => true,
        };
        if taken && kind == "enabled" && self.continues_unsigned_turn() {
            // Anthropic requires a thinking block before the last calls; another model made them.
            self.report("`thinking`: another model began this turn");
            return;
        }
        if taken {
            self.put_field(THINKING, thinking.into());
            return;
        }
        let adaptive = self.takes.thinks_as(ThinkingKind::Adaptive);
        if !adaptive || kind == "disabled" {
            self.report(format!("`thinking.type` `{kind}`: the model does not take it"));
            return;
        }
        self.report(format!("`thinking.type` `{kind}`: sent as `adaptive`"));
        let budget = thinking.shift_remove("budget_tokens").and_then(|it| it.as_i64());
        if let Some(effort) = budget.and_then(Effort::of_budget) {
            self.set_effort(Some(effort));
        }
        thinking.insert("type".to_owned(), "adaptive".into());
        self.put_field(THINKING, thinking.into());
    }

    /// Claude has no effort `none`: it is told not to think, unless it would not do so anyway.
    fn fit_claude_without_thinking(&mut self) {
        if self.request.options.effort.as_deref() != Some(Effort::None.as_str()) {
            return;
        }
        if !self.thinks() {
            self.request.options.effort = None;
        } else if self.takes.thinks_as(ThinkingKind::Disabled)
            || self.takes.thinks_as(ThinkingKind::DisabledUpToHigh)
        {
            self.request.options.effort = None;
            self.put_field(THINKING, json!({"type": "disabled"}));
        }
    }

    /// Some models take `disabled` only with a lower effort: the wish not to think is the stronger
    /// one.
    fn takes_disabled(&mut self) -> bool {
        if self.takes.thinks_as(ThinkingKind::DisabledUpToHigh) {
            let effort = self.request.options.effort.as_deref().and_then(Effort::parse);
            if effort.is_some_and(|effort| effort > Effort::High) {
                self.request.options.effort = Some(Effort::High.as_str().to_owned());
                self.report("effort: sent as `high`, because `thinking` is disabled");
            }
            return true;
        }
        self.takes.thinks_as(ThinkingKind::Disabled)
    }

    /// Whether the last assistant message has calls and does not begin with a thought that
    /// Anthropic signed.
    fn continues_unsigned_turn(&self) -> bool {
        let mut messages = self.request.messages.iter().rev();
        let Some(last) = messages.find(|message| message.role == ChatRole::Assistant) else {
            return false;
        };
        let has_calls = last.parts.iter().any(|part| part.as_call().is_some());
        let signed = match last.parts.first().map(|part| &part.content) {
            Some(PartContent::Thinking { signature: Some(signature), .. }) => {
                signature.maker == Dialect::Anthropic
            }
            // Redacted thinking.
            Some(PartContent::Opaque { dialect: Dialect::Anthropic, .. }) => true,
            _ => false,
        };
        has_calls && !signed
    }
}

/// The `thinkingConfig` of a Gemini model for an effort.
pub(crate) fn gemini_config(effort: Effort, min_budget: Option<u32>) -> Value {
    let mut config = Map::new();
    match min_budget {
        Some(least) => drop(config.insert(BUDGET.to_owned(), json!(effort.budget().max(least)))),
        None => {
            let level = effort.as_str().to_ascii_uppercase();
            config.insert("thinkingLevel".to_owned(), level.into());
        }
    }
    config.into()
}
