//! Agents: their views, models and prompts.

use std::collections::BTreeSet;

use tollgate_core::agent::{
    Agent, DeepTurnPolicy, Engine, MAX_CALLS_PER_TURN, MixedResponse, OFFLINE, Persona,
    SLOW_TURN_MESSAGE, SLOW_TURN_THRESHOLD, ToolSearch,
};
use tollgate_core::budget::Tier;
use tollgate_core::glob::Glob;
use tollgate_core::id::AgentId;
use tollgate_core::tool::SlowResponse;
use tollgate_llm::settings::LlmSettings;

use super::super::diagnostic::Problems;
use super::super::raw::{SectionFields, Spanned};
use super::rate::rate_limit;
use super::{budget, is_new, memory, milliseconds, unknown_name};

/// `/mcp/NAME` has another meaning for these.
const RESERVED_AGENT_NAMES: &[&str] = &["status", "test"];

/// At least one: a config without agents has an implicit one.
pub(crate) fn agents(
    top: &SectionFields,
    llm: &LlmSettings,
    problems: &mut Problems,
) -> Vec<Agent> {
    if top.named_sections("agents").is_empty() {
        return vec![Agent::implicit()];
    }
    let mut seen = BTreeSet::new();
    let mut agents = Vec::new();
    for (name, fields) in top.named_sections("agents") {
        let is_new = is_new(&mut seen, &fields.path, "agent", name, problems);
        let agent = agent(name, fields, problems);
        let persona = persona(fields, llm, problems);
        let whole = agent.zip(persona).filter(|_| is_new);
        agents.extend(whole.map(|(agent, persona)| Agent { persona, ..agent }));
    }
    agents
}

fn agent(name: &Spanned<String>, fields: &SectionFields, problems: &mut Problems) -> Option<Agent> {
    let id = match AgentId::parse(&name.value) {
        Ok(id) => id,
        Err(error) => {
            problems
                .error(name.at, &fields.path, format!("invalid agent name: {error}"))
                .help("like `sage`: at most 64 characters");
            return None;
        }
    };
    if RESERVED_AGENT_NAMES.contains(&id.as_str()) {
        problems
            .error(name.at, &fields.path, format!("an agent cannot be named `{id}`"))
            .help(format!("`/mcp/{id}` is reserved for operators; use another name"));
    }
    let tools = globs(fields, "tools");
    if tools.is_empty() {
        problems
            .warning(name.at, &fields.path("tools"), format!("agent `{id}` has no tools"))
            .help("list names or globs: `tools: [roll, \"world_search_*\"]`");
    }
    let description = fields.text("description").map_or("", |text| text.value).to_owned();
    let ceiling = fields.text("budget_tier").and_then(|text| Tier::parse(text.value));
    let keywords = budget::keywords(fields, problems);
    let auto_execute = globs(fields, "auto_execute");
    let rate_limit = rate_limit(fields, problems);
    let memory = memory::of_agent(fields, problems);
    Some(Agent {
        id,
        description,
        tools,
        ceiling,
        keywords,
        auto_execute,
        rate_limit,
        concurrent: concurrent(fields),
        memory,
        persona: Persona::default(),
    })
}

fn globs(fields: &SectionFields, key: &str) -> Vec<Glob> {
    fields.texts(key).iter().map(|text| Glob::new(text.value)).collect()
}

/// Limit on its concurrent calls.
fn concurrent(fields: &SectionFields) -> Option<u32> {
    let most = fields.section("limits")?.whole("concurrent")?;
    Some(u32::try_from(most.value).expect("the table says at most 10000"))
}

fn persona(fields: &SectionFields, llm: &LlmSettings, problems: &mut Problems) -> Option<Persona> {
    let known: Vec<&str> = llm.models.iter().map(|model| model.name.as_str()).collect();
    let mut chosen = Vec::new();
    for model in fields.texts("models") {
        if !known.contains(&model.value) {
            unknown_name(model, &fields.path("models"), "model", &known, problems);
        }
        chosen.push(model.value.to_owned());
    }
    if chosen.is_empty() {
        chosen.push(OFFLINE.to_owned());
    }
    let engine = engine(fields, llm, problems)?;
    // The built-in model stands in for every other one.
    let can_speak = |model: &String| model == OFFLINE || llm.is_live(model);
    if engine == Engine::SpeechToSpeech && !chosen.iter().any(can_speak) {
        let message = "`engine: s2s` needs a model for live sessions";
        problems
            .error(fields.place("engine"), &fields.path("engine"), message)
            .help("add one with `api: realtime` to `models`; chats and deep turns use the others");
    }
    let whole = |key: &str, default: u32| {
        fields.whole(key).map_or(default, |it| u32::try_from(it.value).unwrap_or(u32::MAX))
    };
    let word = |key: &str| fields.text(key).map(|text| text.value);
    let text = |key: &str| word(key).map(str::to_owned);
    let variables = fields.table("variables").into_iter();
    Some(Persona {
        prompt: text("prompt"),
        greeting: text("greeting"),
        failover_message: text("failover_message"),
        models: chosen,
        deep_turns: deep_turns(fields, &engine, problems),
        engine,
        max_depth: whole("max_depth", 10),
        max_calls: whole("max_calls", MAX_CALLS_PER_TURN),
        max_tools: whole("max_tools", 64),
        pinned_tools: globs(fields, "pinned_tools"),
        tool_search: match word("tool_search") {
            Some("auto") => ToolSearch::Auto,
            Some("always") => ToolSearch::Always,
            _ => ToolSearch::Off,
        },
        mixed_response: match word("mixed_response") {
            Some("inline") => MixedResponse::Inline,
            _ => MixedResponse::Native,
        },
        code_mode: fields.flag("code_mode").unwrap_or(false),
        variables: variables.map(|(name, text)| (name.value.clone(), text.to_owned())).collect(),
    })
}

/// The section `realtime`.
fn deep_turns(agent: &SectionFields, engine: &Engine, problems: &mut Problems) -> DeepTurnPolicy {
    let usual = DeepTurnPolicy::default();
    let Some(fields) = agent.section("realtime") else { return usual };
    if *engine != Engine::SpeechToSpeech {
        problems
            .warning(agent.place("realtime"), &fields.path, "`realtime` has no effect here")
            .help("it is for agents with `engine: s2s`");
    }
    let message = fields.text("slow_response_message").map_or(SLOW_TURN_MESSAGE, |it| it.value);
    let threshold = fields.whole("slow_response_threshold_ms");
    DeepTurnPolicy {
        hold: fields.whole("hold_ms").map_or(usual.hold, milliseconds),
        slow_response: (!message.is_empty()).then(|| SlowResponse {
            threshold: threshold.map_or(SLOW_TURN_THRESHOLD, milliseconds),
            message: message.into(),
        }),
    }
}

fn engine(fields: &SectionFields, llm: &LlmSettings, problems: &mut Problems) -> Option<Engine> {
    let opener = fields.text("opener_model");
    let known: Vec<&str> = llm.models.iter().map(|model| model.name.as_str()).collect();
    if let Some(opener) = opener
        && !known.contains(&opener.value)
    {
        unknown_name(opener, &fields.path("opener_model"), "model", &known, problems);
    }
    if let Some(opener) = opener.filter(|opener| llm.is_live(opener.value)) {
        let message = format!("`{}` is for live sessions, and cannot open a chat", opener.value);
        problems
            .error(opener.at, &fields.path("opener_model"), message)
            .help("a fast model without `api: realtime`");
    }
    match (fields.text("engine").map(|text| text.value), opener) {
        (Some("sentence_cascade"), Some(opener)) => {
            Some(Engine::SentenceCascade { opener: opener.value.to_owned() })
        }
        (Some("sentence_cascade"), None) if fields.has("opener_model") => None,
        (Some("sentence_cascade"), None) => {
            let message = "`engine: sentence_cascade` needs an `opener_model`";
            problems
                .error(fields.place("engine"), &fields.path("engine"), message)
                .help("a fast model that speaks the first sentence");
            None
        }
        (Some("s2s"), _) => Some(Engine::SpeechToSpeech),
        _ => Some(Engine::Cascaded),
    }
}
