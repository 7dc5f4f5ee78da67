//! Holds the conversations: a gate with the tools of a round, the real agent loop, the scripted
//! model behind a socket.
//!
//! Each query is asked once with all tools and once in code mode, each time in a fresh world.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tollgate_core::agent::{Agent, Persona};
use tollgate_core::glob::Glob;
use tollgate_core::id::AgentId;
use tollgate_core::lease::RevocableLease;
use tollgate_core::tool::Tool;
use tollgate_core::turn::{Actor, Principal};
use tollgate_engine::clock::SystemClock;
use tollgate_engine::gate::TurnRequest;
use tollgate_engine::model_usage::ModelCaller;
use tollgate_engine::settings::{CodeModeSettings, EngineSettings};
use tollgate_engine::{Parts, RunningEngine, start};
use tollgate_llm::agent::{AgentTurn, ChatService, CompletionRequest};
use tollgate_llm::conversation::{
    ChatMessage, ChatRequest, ChatResponse, ChatRole, GenerationOptions, PartContent,
    ResponseDelivery, ToolChoice,
};
use tollgate_llm::extra::Extra;
use tollgate_llm::settings::{
    ModelSettings, PoolSettings, ProviderApi, ProviderKind, ProviderSettings, ProviderTimeouts,
    ToolMode,
};

use super::coder::{CodeModeScript, ToolDiscovery};
use super::direct::DirectScript;
use super::grade;
use super::ground_truth::GroundTruth;
use super::plan::PlannedQuery;
use super::scripted_model::{
    CurrentConversation, ModelScript, ScriptedConversation, ScriptedModel, TokenTally,
};
use super::servers::{MockServers, SharedWorld, ToolListings};
use super::world::SimulatedWorld;
use crate::clock;
use crate::config::ScratchDirectory;
use crate::error::{BenchError, within};
use crate::serve::ServerThread;

const MODEL: &str = "scripted";
const QUERY_TIMEOUT: Duration = Duration::from_secs(60);

/// How a model works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolStrategy {
    /// Every tool inline.
    Direct,
    /// In programs, with tools found by searching.
    Search,
    /// In programs, with tools found in their files.
    Files,
}

impl ToolStrategy {
    pub(crate) const ALL: [Self; 3] = [Self::Direct, Self::Search, Self::Files];

    /// Also the name of the agent that works so.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Search => "search",
            Self::Files => "files",
        }
    }
}

/// A query that was asked.
#[derive(Debug)]
pub(super) struct QueryRun {
    pub(super) tally: TokenTally,
    pub(super) took: Duration,
    /// What was not right about it.
    pub(super) missing: Vec<String>,
}

pub(super) struct CodeTokenHarness {
    way: ToolStrategy,
    running: RunningEngine,
    chat: Arc<ChatService>,
    chair: CurrentConversation,
    world: SharedWorld,
    _provider: ServerThread,
    _served: ServerThread,
}

impl CodeTokenHarness {
    /// With these tools, and one agent that works in this way.
    pub(super) async fn set(
        scratch: &ScratchDirectory,
        worker: &Path,
        lists: &Arc<ToolListings>,
        way: ToolStrategy,
    ) -> Result<Self, BenchError> {
        let world = SharedWorld::default();
        let served = MockServers::new(lists, &world);
        let names = lists.servers();
        let tools = lists.tools();
        let globs: Vec<Glob> = names.iter().map(|it| Glob::new(format!("{it}_*"))).collect();
        let served = ServerThread::start("servers", served)?;
        let servers = MockServers::settings(&names, &served)?;
        let data = scratch.path().join(format!("code-tokens-{tools}-{}", way.as_str()));
        std::fs::create_dir_all(data.join("files"))?;
        let agents = vec![agent(way, &globs)];
        let code = CodeModeSettings { worker: worker.to_owned(), ..CodeModeSettings::default() };
        let settings = EngineSettings { agents, servers, code, ..EngineSettings::new(data) };
        let running =
            start(&settings, Parts::default()).map_err(|it| BenchError::Process(it.to_string()))?;
        let chair: CurrentConversation = Arc::new(Mutex::new(None));
        let provider = ServerThread::start("mind", ScriptedModel(Arc::clone(&chair)))?;
        let chat = Arc::new(ChatService::offline(Arc::clone(&running.gate), Arc::new(SystemClock)));
        let configured = chat.reconfigure(&models(&provider));
        configured.map_err(|why| BenchError::Process(why.to_string()))?;
        let stage = Self { way, running, chat, chair, world, _provider: provider, _served: served };
        stage.has(tools).await?;
        Ok(stage)
    }

    async fn has(&self, tools: usize) -> Result<(), BenchError> {
        let gate = &self.running.gate;
        let mut changes = gate.changes();
        within(QUERY_TIMEOUT, "the tools", async {
            loop {
                let catalog = gate.catalog();
                let is_theirs = |tool: &&Arc<Tool>| !catalog.own.contains(&tool.id.server);
                if catalog.tools.iter().filter(is_theirs).count() >= tools {
                    return Ok(());
                }
                let gone = |_| BenchError::Process("the catalogue is not kept".to_owned());
                changes.changed().await.map_err(gone)?;
            }
        })
        .await
    }

    pub(super) async fn ask(&self, query: &Arc<PlannedQuery>) -> Result<QueryRun, BenchError> {
        let truth = Arc::new(GroundTruth::of(query));
        let asked = Arc::clone(query);
        let right = Arc::clone(&truth);
        let script: Box<dyn ModelScript> = match self.way {
            ToolStrategy::Direct => Box::new(DirectScript::new(asked, right)),
            ToolStrategy::Search => {
                Box::new(CodeModeScript::new(asked, right, ToolDiscovery::Search))
            }
            ToolStrategy::Files => {
                Box::new(CodeModeScript::new(asked, right, ToolDiscovery::Files))
            }
        };
        *self.world.lock() = SimulatedWorld::default();
        *self.chair.lock() =
            Some(ScriptedConversation { script, tally: TokenTally::default(), cheated: None });
        let began = clock::now();
        let answer = within(QUERY_TIMEOUT, &query.id, self.answer(query)).await?;
        let took = clock::now() - began;
        let sitting = self.chair.lock().take();
        let mut missing = grade::missing(query, &truth, &answer, &self.world.lock());
        let cheated = sitting.as_ref().and_then(|it| it.cheated.as_ref());
        missing.extend(cheated.map(|tool| format!("a signature of `{tool}` before its use")));
        let tally = sitting.map(|it| it.tally).unwrap_or_default();
        Ok(QueryRun { tally, took, missing })
    }

    /// As the chat front does it.
    async fn answer(&self, query: &PlannedQuery) -> Result<String, BenchError> {
        let process = |error: String| BenchError::Process(format!("{}: {error}", query.id));
        let gate = &self.running.gate;
        let turn_request = TurnRequest::by(Actor::endless(Principal::local()));
        let turn = gate.turn(turn_request).map_err(|error| process(error.to_string()))?;
        let agent = gate.agent(self.way.as_str()).map_err(|error| process(error.to_string()))?;
        let model = self.chat.models().find(MODEL);
        let order = CompletionRequest {
            request: request(&query.text),
            acting: Some(AgentTurn { agent, turn, prompt: None }),
            chain: model.into_iter().collect(),
            lease: RevocableLease::endless(),
            trace: None,
            caller: ModelCaller::local(),
        };
        let prepared = self.chat.prepare(order).map_err(|error| process(format!("{error:?}")))?;
        let answer = prepared.run(None).await.map_err(|error| process(format!("{error:?}")))?;
        Ok(text(&answer.response))
    }
}

fn text(response: &ChatResponse) -> String {
    let parts = response.parts.iter().filter_map(|part| match &part.content {
        PartContent::Text(text) => Some(text.as_str()),
        _ => None,
    });
    parts.collect()
}

fn request(text: &str) -> ChatRequest {
    ChatRequest {
        model: String::new(),
        messages: vec![ChatMessage::text(ChatRole::User, text)].into(),
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        options: GenerationOptions::default(),
        delivery: ResponseDelivery::Whole,
        extra: Extra::none(),
    }
}

/// Sees all that the benchmark brought along, and none of what is built in.
fn agent(way: ToolStrategy, tools: &[Glob]) -> Agent {
    let persona = Persona {
        models: vec![MODEL.to_owned()],
        max_depth: 20,
        max_tools: 1_000,
        code_mode: way != ToolStrategy::Direct,
        ..Persona::default()
    };
    Agent {
        id: AgentId::parse(way.as_str()).expect("a valid name"),
        tools: tools.to_vec(),
        auto_execute: vec![Glob::new("*")],
        persona,
        ..Agent::implicit()
    }
}

fn models(provider: &ServerThread) -> tollgate_llm::settings::LlmSettings {
    let provider = ProviderSettings {
        name: MODEL.to_owned(),
        kind: ProviderKind::OpenAi,
        base_url: Some(format!("http://{}/v1", provider.address)),
        api_key: None,
        cloud: None,
        endpoints: Vec::new(),
        headers: Vec::new(),
        patience: ProviderTimeouts::default(),
        concurrent: 4,
        retries: 0,
    };
    let model = ModelSettings {
        name: MODEL.to_owned(),
        id: MODEL.to_owned(),
        provider: Some(MODEL.to_owned()),
        context_window: 2_000_000,
        max_output: 16_384,
        tool_mode: ToolMode::Native,
        api: ProviderApi::Chat,
        store: false,
        behaves_like: None,
        pool: PoolSettings::default(),
    };
    tollgate_llm::settings::LlmSettings { providers: vec![provider], models: vec![model] }
}
