//! What a model takes: sampling, effort levels, thinking, kinds of requests. Pure.
//!
//! The table is by vendor, version and variant; a version that is newer than the table counts as the newest one in
//! it. A model with an unknown name gets the defaults of its dialect, which refuse nothing that the
//! dialect has.

use crate::dialect::Dialect;

use self::name::ModelName;
use self::table::{CLAUDE, GEMINI, GPT, O_SERIES};

mod name;
mod table;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelCapabilities {
    /// Whether the model can reason before it answers.
    pub reasons: bool,
    /// Its effort if a request does not name one. `None`: it does not reason then.
    pub default_effort: Option<Effort>,
    pub efforts: EffortLevels,
    pub sampling: Sampling,
    /// Kinds of Anthropic's `thinking` option.
    pub thinking: &'static [ThinkingKind],
    /// Smallest thinking budget in tokens. `None`: the model takes levels instead of a budget.
    pub min_thinking_budget: Option<u32>,
    /// Smallest limit of output tokens.
    pub min_output: u64,
    /// Most stop sequences; 0: none at all.
    pub max_stops: usize,
    /// Longest id of a tool call, in characters.
    pub max_call_id: usize,
    refuses: &'static [Feature],
}

/// Something that some models refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// A tool choice that requires a call.
    ForcedToolChoice,
    /// A system message after the first user message.
    LateSystemMessage,
    /// An assistant message at the end, for the model to continue.
    Prefill,
    /// Tools in Chat Completions.
    ChatTools,
    /// An effort beside tools in Chat Completions.
    ChatEffortWithTools,
    /// `max_tokens` in Chat Completions: the limit is called `max_completion_tokens`.
    MaxTokens,
    /// A JSON schema for the answer.
    OutputSchema,
    /// Function calls of other models, unless they are marked as such.
    UnsignedCalls,
    /// Its own thoughts, once anything before them was changed.
    ThoughtsOutOfContext,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    All,
    /// Temperature or `top_p`, not both; while the model thinks, neither.
    OneOf,
    /// Only while the model does not reason.
    WithoutReasoning,
    /// Only the defaults.
    Fixed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingKind {
    Adaptive,
    /// With a budget of tokens.
    Enabled,
    Disabled,
    /// `disabled`, but not together with an effort above high.
    DisabledUpToHigh,
    BetweenTools,
}

/// How much a model reasons, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

/// The effort levels that a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortLevels {
    /// Not known: every level is passed on.
    Any,
    Only(&'static [Effort]),
}

impl ModelCapabilities {
    /// `model` is the provider's name of the model: with a date, a cloud's prefix or a path.
    pub fn of(dialect: Dialect, model: &str) -> Self {
        let found = Self::find(dialect, model).unwrap_or_else(|| table::unknown(dialect));
        match dialect {
            Dialect::OpenAiResponses => table::on_responses(found),
            Dialect::OpenAiChat | Dialect::Anthropic | Dialect::Gemini => found,
        }
    }

    /// Whether the table has a model of this name; others get the defaults of the dialect.
    pub fn is_known(dialect: Dialect, model: &str) -> bool {
        Self::find(dialect, model).is_some()
    }

    fn find(dialect: Dialect, model: &str) -> Option<Self> {
        let parse = |vendor| ModelName::parse(model, vendor);
        match dialect {
            Dialect::Anthropic => table::find(CLAUDE, &parse("claude")?),
            Dialect::Gemini => table::find(GEMINI, &parse("gemini")?),
            Dialect::OpenAiChat | Dialect::OpenAiResponses => {
                let gpt = parse("gpt").and_then(|it| table::find(GPT, &it));
                gpt.or_else(|| table::find(O_SERIES, &parse("o")?))
            }
        }
    }

    pub fn takes(&self, feature: Feature) -> bool {
        !self.refuses.contains(&feature)
    }

    pub fn thinks_as(&self, kind: ThinkingKind) -> bool {
        self.thinking.contains(&kind)
    }

    /// Whether the model reasons when a request has this effort.
    pub fn reasons_at(&self, effort: Option<Effort>) -> bool {
        let effort = effort.or(self.default_effort);
        self.reasons && effort.is_some_and(|effort| effort != Effort::None)
    }
}

impl EffortLevels {
    /// The level itself, or the nearest one that the model has: of two equally near ones the lower.
    /// Only `none` becomes `none`: a request to reason a little is not one to not reason at all.
    /// `None`: the model has no levels.
    pub fn nearest(self, effort: Effort) -> Option<Effort> {
        let Self::Only(levels) = self else { return Some(effort) };
        let distance = |level: &Effort| (*level as u8).abs_diff(effort as u8);
        let usable =
            levels.iter().filter(|level| effort == Effort::None || **level != Effort::None);
        // `min_by_key` returns the first of equal ones, and levels rise.
        usable.copied().min_by_key(distance)
    }
}

impl Effort {
    pub const ALL: [Self; 7] =
        [Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::XHigh, Self::Max];

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effort| effort.as_str() == text)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// The effort that a thinking budget stands for. `None`: the model decides (a negative budget).
    pub fn of_budget(tokens: i64) -> Option<Self> {
        match tokens {
            ..0 => None,
            0 => Some(Self::None),
            1..1024 => Some(Self::Minimal),
            1024..4096 => Some(Self::Low),
            4096..16_384 => Some(Self::Medium),
            16_384.. => Some(Self::High),
        }
    }

    /// Thinking budget in tokens for models that take one in place of a level.
    pub fn budget(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Minimal => 512,
            Self::Low => 1024,
            Self::Medium => 8192,
            Self::High | Self::XHigh | Self::Max => 24_576,
        }
    }
}

#[cfg(test)]
mod tests;
