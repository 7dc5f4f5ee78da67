//! Anthropic's `thinking` and Gemini's thinking budget: as an effort for models of other vendors,
//! and as what a model of the same vendor takes.

use serde_json::{Map, Value};

use super::RequestFitting;
use crate::conversation::{ChatRole, PartContent};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::model_capabilities::{Effort, ThinkingKind};

const THINKING: &str = "thinking";
const GEMINI_THINKING: &str = "generationConfig.thinkingConfig";
const BUDGET: &str = "thinkingBudget";

impl RequestFitting<'_> {
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
            None => self.takes.default_effort.is_some() && !self.switches_thinking_off(),
        }
    }

    /// A client of Anthropic's API, before a model of another vendor.
    fn read_claude_thinking(&mut self) {
        let Some(thinking) = self.take_field(Dialect::Anthropic, THINKING) else { return };
        let effort = match thinking["type"].as_str() {
            Some("enabled") => thinking["budget_tokens"].as_i64().and_then(Effort::of_budget),
            Some("disabled") => Some(Effort::None),
            _ => None,
        };
        self.set_effort(effort);
    }

    /// A thinking budget, before a model that takes an effort.
    fn read_gemini_budget(&mut self) {
        let own = Dialect::Gemini;
        let Some(Value::Object(mut config)) = self.take_field(own, GEMINI_THINKING) else {
            return;
        };
        let budget = config.shift_remove(BUDGET);
        if !config.is_empty() {
            let rest = Map::from_iter([(GEMINI_THINKING.to_owned(), config.into())]);
            self.edit().extra.merge(Extra::new(own, rest));
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
        if let Some(effort) = effort
            && self.request.options.effort.is_none()
        {
            self.edit().options.effort = Some(effort.as_str().to_owned());
        }
    }

    fn fit_claude_thinking(&mut self) {
        let Some(thinking) = self.request.extra.get(self.dialect, THINKING) else { return };
        let Some(kind) = thinking["type"].as_str().map(str::to_owned) else { return };
        let taken = match kind.as_str() {
            "adaptive" => self.takes.thinks_as(ThinkingKind::Adaptive),
            "enabled" => self.takes.thinks_as(ThinkingKind::Enabled),
            "between_tools" => self.takes.thinks_as(ThinkingKind::BetweenTools),
            "disabled" => self.takes_disabled(),
            _ => true,
        };
        if taken && kind == "enabled" && self.continues_unsigned_turn() {
            // Anthropic requires a thinking block before the last calls; another model made them.
            self.take_field(self.dialect, THINKING);
            self.report("`thinking`: another model began this turn");
            return;
        }
        if taken {
            return;
        }
        let Some(Value::Object(mut thinking)) = self.take_field(self.dialect, THINKING) else {
            return;
        };
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

    /// Claude has no effort `none`: a model that thinks unless told otherwise is told not to, which
    /// the encoder does. To others it says nothing.
    fn fit_claude_without_thinking(&mut self) {
        if self.asks_for_no_effort() && !self.switches_thinking_off() && !self.thinks() {
            self.edit().options.effort = None;
        }
    }

    /// Whether the effort `none` is sent as disabled thinking.
    pub(super) fn switches_thinking_off(&self) -> bool {
        let kinds = [ThinkingKind::Disabled, ThinkingKind::DisabledUpToHigh];
        self.dialect == Dialect::Anthropic
            && self.asks_for_no_effort()
            && self.takes.default_effort.is_some()
            && self.request.extra.get(self.dialect, THINKING).is_none()
            && kinds.into_iter().any(|kind| self.takes.thinks_as(kind))
    }

    fn asks_for_no_effort(&self) -> bool {
        self.request.options.effort.as_deref() == Some(Effort::None.as_str())
    }

    /// Some models take `disabled` only with a lower effort: the wish not to think is the stronger
    /// one.
    fn takes_disabled(&mut self) -> bool {
        if self.takes.thinks_as(ThinkingKind::DisabledUpToHigh) {
            let effort = self.request.options.effort.as_deref().and_then(Effort::parse);
            if effort.is_some_and(|effort| effort > Effort::High) {
                self.edit().options.effort = Some(Effort::High.as_str().to_owned());
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
