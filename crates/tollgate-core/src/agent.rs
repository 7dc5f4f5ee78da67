//! Agent configuration: visible tools, permissions, memory, and how the agent talks to models.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::budget::Tier;
use crate::glob::{self, Glob};
use crate::id::AgentId;
use crate::memory;
use crate::rate::RateLimit;
use crate::slow_response::SlowResponse;
use crate::tier_selector::TierKeywords;

#[derive(Debug, Clone)]
pub struct Agent {
    pub id: AgentId,
    pub description: String,
    /// Exposed names and globs. An empty list means that no tool is visible.
    pub tools: Vec<Glob>,
    /// `None`: no latency budget. The agent sees tools of every tier, and its turns have no wall.
    pub ceiling: Option<Tier>,
    /// In addition to the global keywords.
    pub keywords: TierKeywords,
    /// Exposed names and globs of tools that run without approval when a model calls them.
    pub auto_execute: Vec<Glob>,
    pub rate_limit: Option<RateLimit>,
    /// Maximum number of concurrent calls; `None`: unlimited.
    pub concurrent: Option<u32>,
    pub memory: AgentMemoryPolicy,
    pub persona: Persona,
}

/// The memory that an agent uses, and what is recorded automatically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentMemoryPolicy {
    /// The campaign; the caller's key determines the tenant.
    pub namespace: memory::MemoryName,
    pub record: RecordPolicy,
    pub recall: RecallPolicy,
}

/// How conversations are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordPolicy {
    #[default]
    Nothing,
    /// Recorded for this agent only.
    Own,
    /// Recorded for all agents of the namespace.
    Shared,
}

/// Whether relevant memory is retrieved before the model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecallPolicy {
    #[default]
    Off,
    On,
}

impl Default for AgentMemoryPolicy {
    fn default() -> Self {
        let record = RecordPolicy::default();
        let recall = RecallPolicy::default();
        Self { namespace: memory::MemoryName::usual(), record, recall }
    }
}

impl RecordPolicy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "off",
            Self::Own => "own",
            Self::Shared => "shared",
        }
    }
}

/// The model-facing part of an agent: prompts and models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Persona {
    /// May contain `{placeholders}`.
    pub prompt: Option<String>,
    /// May contain `{placeholders}`.
    pub greeting: Option<String>,
    /// What the next realtime model says when the one before it fails.
    pub failover_message: Option<String>,
    /// In order of preference; never empty.
    pub models: Vec<String>,
    pub engine: Engine,
    pub deep_turns: DeepTurnPolicy,
    /// Maximum rounds of tool calls in one turn.
    pub max_depth: u32,
    /// Maximum tool calls in one turn, including those of programs.
    pub max_calls: u32,
    /// Maximum number of tools shown to the model at a time.
    pub max_tools: u32,
    /// Exposed names and globs of tools that are always shown, whatever the turn is about.
    pub pinned_tools: Vec<Glob>,
    pub tool_search: ToolSearch,
    pub mixed_response: MixedResponse,
    pub code_mode: bool,
    /// Default values of placeholders.
    pub variables: BTreeMap<String, String>,
}

/// How live speech sessions treat deep turns, which another model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeepTurnPolicy {
    /// How long the realtime model may be kept from answering an utterance whose transcript is
    /// awaited; zero: not at all.
    pub hold: Duration,
    /// Spoken while the other model works, unless one of its tools has said something before.
    pub slow_response: Option<SlowResponse>,
}

/// Default of [`DeepTurnPolicy::hold`].
pub const DEFAULT_HOLD: Duration = Duration::from_millis(300);
/// Defaults of [`DeepTurnPolicy::slow_response`]: a caller who hears nothing for longer thinks that
/// the line is dead.
pub const SLOW_TURN_THRESHOLD: Duration = Duration::from_secs(1);
pub const SLOW_TURN_MESSAGE: &str = "One moment, please.";

impl Default for DeepTurnPolicy {
    fn default() -> Self {
        let message = SLOW_TURN_MESSAGE.into();
        let slow_response = SlowResponse { threshold: SLOW_TURN_THRESHOLD, message };
        Self { hold: DEFAULT_HOLD, slow_response: Some(slow_response) }
    }
}

/// How a turn is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Engine {
    Cascaded,
    /// The opener model writes the first sentence while the strong model works.
    SentenceCascade {
        opener: String,
    },
    SpeechToSpeech,
}

impl Engine {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Cascaded => "cascaded",
            Self::SentenceCascade { .. } => "sentence_cascade",
            Self::SpeechToSpeech => "s2s",
        }
    }
}

/// Whether a model searches for tools instead of being shown all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolSearch {
    #[default]
    Off,
    /// If there are more than `max_tools` tools, or they do not fit into the context window.
    Auto,
    Always,
}

impl ToolSearch {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Auto => "auto",
            Self::Always => "always",
        }
    }
}

/// The format of a response in which some calls were run and others are left to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MixedResponse {
    /// Results of executed calls accompany the response; pending calls are tool calls of the
    /// dialect.
    #[default]
    Native,
    /// Results are embedded as JSON in the response text, and the response ends as a complete one.
    Inline,
}

impl MixedResponse {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Inline => "inline",
        }
    }
}

/// The built-in small model, which needs no API key.
pub const OFFLINE: &str = "offline";

/// Default for the tool calls that a model may make in one turn.
pub const MAX_CALLS_PER_TURN: u32 = 32;

impl Default for Persona {
    fn default() -> Self {
        Self {
            prompt: None,
            greeting: None,
            failover_message: None,
            models: vec![OFFLINE.to_owned()],
            engine: Engine::Cascaded,
            deep_turns: DeepTurnPolicy::default(),
            max_depth: 10,
            max_calls: MAX_CALLS_PER_TURN,
            max_tools: 64,
            pinned_tools: Vec::new(),
            tool_search: ToolSearch::default(),
            mixed_response: MixedResponse::default(),
            code_mode: false,
            variables: BTreeMap::new(),
        }
    }
}

impl Agent {
    /// The only agent of a config without agents: sees every tool.
    pub fn implicit() -> Self {
        Self {
            id: AgentId::parse("default").expect("a valid name"),
            description: "Every tool".to_owned(),
            tools: vec![Glob::new("*")],
            ceiling: None,
            keywords: TierKeywords::default(),
            auto_execute: Vec::new(),
            rate_limit: None,
            concurrent: None,
            memory: AgentMemoryPolicy::default(),
            persona: Persona::default(),
        }
    }

    /// The tier of a turn that requests `wish`; `None`: no budget, and everything is visible.
    pub fn budget(&self, wish: RequestedTier) -> Option<Tier> {
        match (wish, self.ceiling) {
            (RequestedTier::Override(tier), _) | (RequestedTier::Selected(tier), None) => {
                Some(tier)
            }
            (RequestedTier::Selected(tier), Some(ceiling)) => Some(tier.min(ceiling)),
            (RequestedTier::Ceiling, ceiling) => ceiling,
        }
    }

    pub fn may_see(&self, exposed: &str) -> bool {
        glob::any(&self.tools, exposed)
    }
}

/// The tier that a turn requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedTier {
    /// No request: the agent's ceiling.
    Ceiling,
    /// Selected from the user's message; never above the agent's ceiling.
    Selected(Tier),
    /// Set by a principal with that permission; ignores the agent's ceiling.
    Override(Tier),
}

#[cfg(test)]
mod tests {
    use super::{Agent, RequestedTier};
    use crate::budget::Tier;

    #[test]
    fn a_wish_is_capped_by_the_ceiling_unless_it_is_an_override() {
        use Tier::{Deep, Fast, Standard};
        for (ceiling, wish, expected) in [
            (None, RequestedTier::Ceiling, None),
            (None, RequestedTier::Selected(Fast), Some(Fast)),
            (Some(Standard), RequestedTier::Ceiling, Some(Standard)),
            (Some(Standard), RequestedTier::Selected(Deep), Some(Standard)),
            (Some(Standard), RequestedTier::Selected(Fast), Some(Fast)),
            (Some(Standard), RequestedTier::Override(Deep), Some(Deep)),
            (None, RequestedTier::Override(Standard), Some(Standard)),
        ] {
            let agent = Agent { ceiling, ..Agent::implicit() };
            assert_eq!(agent.budget(wish), expected, "{ceiling:?} {wish:?}");
        }
    }
}
