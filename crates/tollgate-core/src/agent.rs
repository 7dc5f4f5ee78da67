//! Who uses tools: what an agent is allowed to see, and how it speaks.

use std::collections::BTreeMap;

use crate::budget::Tier;
use crate::glob::{self, Glob};
use crate::id::AgentId;
use crate::memory;
use crate::rate::RateLimit;
use crate::tier_selector::TierKeywords;

#[derive(Debug, Clone)]
pub struct Agent {
    pub id: AgentId,
    pub description: String,
    /// Exposed names and globs. Nothing listed, nothing visible.
    pub tools: Vec<Glob>,
    /// `None`: no budget at all. It sees tools of every tier, and no wall ends its turns.
    pub ceiling: Option<Tier>,
    /// Beside those of the installation.
    pub keywords: TierKeywords,
    /// Exposed names and globs of tools that run when a model wants them, without anybody's leave.
    pub auto_execute: Vec<Glob>,
    pub rate_limit: Option<RateLimit>,
    /// Calls that may run at the same time; `None`: as many as there are.
    pub concurrent: Option<u32>,
    pub memory: AgentMemoryPolicy,
    pub persona: Persona,
}

/// Which memory an agent has, and what goes into it by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentMemoryPolicy {
    /// The campaign; the key of whoever asks says of which tenant.
    pub namespace: memory::MemoryName,
    pub record: RecordPolicy,
    pub recall: RecallPolicy,
}

/// What becomes of what is said in its conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordPolicy {
    #[default]
    Nothing,
    /// Kept for this agent.
    Own,
    /// Kept for all agents of the namespace.
    Shared,
}

/// Whether what has to do with a turn is looked up before its model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecallPolicy {
    #[default]
    Off,
    On,
}

impl Default for AgentMemoryPolicy {
    fn default() -> Self {
        let (record, recall) = (RecordPolicy::default(), RecallPolicy::default());
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

/// An agent beside what it may see and do: what models are told, and which ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Persona {
    /// With `{placeholders}`.
    pub prompt: Option<String>,
    /// With `{placeholders}`.
    pub greeting: Option<String>,
    /// In order of preference; never empty.
    pub models: Vec<String>,
    pub engine: Engine,
    /// Rounds of tool calls in one turn.
    pub max_depth: u32,
    /// Tool calls in one turn, those of programs included.
    pub max_calls: u32,
    /// Shown to the model at once.
    pub max_tools: u32,
    /// Exposed names and globs of tools that are shown whatever a turn is about.
    pub pinned_tools: Vec<Glob>,
    pub tool_search: ToolSearch,
    pub mixed_response: MixedResponse,
    pub code_mode: bool,
    /// Defaults of placeholders.
    pub variables: BTreeMap<String, String>,
}

/// How a turn is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Engine {
    Cascaded,
    /// The opener speaks the first sentence while the strong model works.
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

/// Whether a model looks for tools itself instead of being shown all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolSearch {
    #[default]
    Off,
    /// Where the tools are more than `max_tools`, or do not fit into the model's window.
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

/// What an answer looks like in which some calls were run and others wait for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MixedResponse {
    /// What was run stands beside the answer, what waits is a tool call of the dialect.
    #[default]
    Native,
    /// The results stand in the text of the answer, as JSON, and the answer ends as if it was whole.
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

/// The small model that is built in and needs no key.
pub const OFFLINE: &str = "offline";

/// Tool calls that a model may make in one turn, unless its agent says otherwise.
pub const MAX_CALLS_PER_TURN: u32 = 32;

impl Default for Persona {
    fn default() -> Self {
        Self {
            prompt: None,
            greeting: None,
            models: vec![OFFLINE.to_owned()],
            engine: Engine::Cascaded,
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
    /// The one agent of a config without agents: sees everything.
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

    /// The tier of a turn that wishes for `wish`, and whether it has a budget at all: a turn
    /// without one sees everything.
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

/// The tier that a turn asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedTier {
    /// Nothing was said: what the agent has.
    Ceiling,
    /// Chosen from what was said; never above the agent's ceiling.
    Selected(Tier),
    /// By a principal with the right to it, whatever the agent's ceiling.
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
