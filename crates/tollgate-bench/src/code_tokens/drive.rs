//! Holds the conversations: a gate with the tools of a round, the real agent loop, the scripted
//! model behind a socket. Each query is asked once with all tools and once in code mode, each time in
//! a fresh world.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tollgate_core::agent::{Agent, Persona};
use tollgate_core::glob::Glob;
use tollgate_core::id::AgentId;
use tollgate_core::lease::Lease;
use tollgate_core::tool::Tool;
use tollgate_core::turn::{Actor, Principal};
use tollgate_engine::clock::SystemClock;
use tollgate_engine::gate::Asked;
use tollgate_engine::settings::{Code, Settings};
use tollgate_engine::{Parts, Running, start};
use tollgate_llm::agent::{Acting, Chat, Order};
use tollgate_llm::conversation::{
    Content, Delivery, Message, Options, Request, Response, Role, ToolChoice,
};
use tollgate_llm::extra::Extra;
use tollgate_llm::settings::{Api, Model, Patience, Provider, ProviderKind, ToolMode};

use super::coder::{Coder, Looking};
use super::direct::Direct;
use super::grade;
use super::mind::{Chair, Mind, Script, Sitting, Tally};
use super::plan::Query;
use super::servers::{Lists, Servers, Shared};
use super::truth::Truth;
use super::world::World;
use crate::clock;
use crate::config::Scratch;
use crate::serve::OnThread;
use crate::trouble::{Trouble, within};

const MODEL: &str = "scripted";
const PATIENCE: Duration = Duration::from_secs(60);

/// How a model works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Every tool inline.
    Direct,
    /// In programs, with tools found by searching.
    Search,
    /// In programs, with tools found in their files.
    Files,
}

impl Way {
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
pub(super) struct Asking {
    pub(super) tally: Tally,
    pub(super) took: Duration,
    /// What was not right about it.
    pub(super) missing: Vec<String>,
}

pub(super) struct Stage {
    way: Way,
    running: Running,
    chat: Arc<Chat>,
    chair: Chair,
    world: Shared,
    _provider: OnThread,
    _served: OnThread,
}

impl Stage {
    /// With these tools, and one agent that works in this way.
    pub(super) async fn set(
        scratch: &Scratch,
        worker: &Path,
        (lists, way): (&Arc<Lists>, Way),
    ) -> Result<Self, Trouble> {
        let world = Shared::default();
        let served = Servers::new(lists, &world);
        let (names, tools) = (lists.servers(), lists.tools());
        let globs: Vec<Glob> = names.iter().map(|it| Glob::new(format!("{it}_*"))).collect();
        let served = OnThread::start("servers", served)?;
        let servers = Servers::settings(&names, &served)?;
        let data = scratch.path().join(format!("code-tokens-{tools}-{}", way.as_str()));
        std::fs::create_dir_all(data.join("files"))?;
        let agents = vec![agent(way, &globs)];
        let code = Code { worker: worker.to_owned(), ..Code::default() };
        let settings = Settings { agents, servers, code, ..Settings::new(data) };
        let running =
            start(&settings, Parts::default()).map_err(|it| Trouble::Process(it.to_string()))?;
        let chair: Chair = Arc::new(Mutex::new(None));
        let provider = OnThread::start("mind", Mind(Arc::clone(&chair)))?;
        let chat = Arc::new(Chat::offline(Arc::clone(&running.gate), Arc::new(SystemClock)));
        chat.reconfigure(&models(&provider)).map_err(Trouble::Process)?;
        let stage = Self { way, running, chat, chair, world, _provider: provider, _served: served };
        stage.has(tools).await?;
        Ok(stage)
    }

    async fn has(&self, tools: usize) -> Result<(), Trouble> {
        let gate = &self.running.gate;
        let mut changes = gate.changes();
        within(PATIENCE, "the tools", async {
            loop {
                let catalog = gate.catalog();
                let is_theirs = |tool: &&Arc<Tool>| !catalog.own.contains(&tool.id.server);
                if catalog.tools.iter().filter(is_theirs).count() >= tools {
                    return Ok(());
                }
                let gone = |_| Trouble::Process("the catalogue is not kept".to_owned());
                changes.changed().await.map_err(gone)?;
            }
        })
        .await
    }

    pub(super) async fn ask(&self, query: &Arc<Query>) -> Result<Asking, Trouble> {
        let truth = Arc::new(Truth::of(query));
        let (asked, right) = (Arc::clone(query), Arc::clone(&truth));
        let script: Box<dyn Script> = match self.way {
            Way::Direct => Box::new(Direct::new(asked, right)),
            Way::Search => Box::new(Coder::new(asked, right, Looking::Search)),
            Way::Files => Box::new(Coder::new(asked, right, Looking::Files)),
        };
        *self.world.lock() = World::default();
        *self.chair.lock() = Some(Sitting { script, tally: Tally::default(), cheated: None });
        let began = clock::now();
        let answer = within(PATIENCE, &query.id, self.answer(query)).await?;
        let took = clock::now() - began;
        let sitting = self.chair.lock().take();
        let mut missing = grade::missing(query, &truth, (&answer, &self.world.lock()));
        let cheated = sitting.as_ref().and_then(|it| it.cheated.as_ref());
        missing.extend(cheated.map(|tool| format!("a signature of `{tool}` before its use")));
        let tally = sitting.map(|it| it.tally).unwrap_or_default();
        Ok(Asking { tally, took, missing })
    }

    /// As the chat front does it.
    async fn answer(&self, query: &Query) -> Result<String, Trouble> {
        let process = |error: String| Trouble::Process(format!("{}: {error}", query.id));
        let gate = &self.running.gate;
        let asked = Asked::by(Actor::endless(Principal::local()));
        let turn = gate.turn(asked).map_err(|error| process(error.to_string()))?;
        let agent = gate.agent(self.way.as_str()).map_err(|error| process(error.to_string()))?;
        let model = self.chat.models().find(MODEL);
        let order = Order {
            request: request(&query.text),
            acting: Some(Acting { agent, turn, prompt: None }),
            chain: model.into_iter().collect(),
            lease: Lease::endless(),
            trace: None,
        };
        let prepared = self.chat.prepare(order).map_err(|error| process(format!("{error:?}")))?;
        let answer = prepared.run(None).await.map_err(|error| process(format!("{error:?}")))?;
        Ok(text(&answer.response))
    }
}

fn text(response: &Response) -> String {
    let parts = response.parts.iter().filter_map(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    parts.collect()
}

fn request(text: &str) -> Request {
    Request {
        model: String::new(),
        messages: vec![Message::text(Role::User, text)],
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        options: Options::default(),
        delivery: Delivery::Whole,
        extra: Extra::none(),
    }
}

/// Sees all that the benchmark brought along, and none of what is built in.
fn agent(way: Way, tools: &[Glob]) -> Agent {
    let persona = Persona {
        models: vec![MODEL.to_owned()],
        max_depth: 20,
        max_tools: 1_000,
        code_mode: way != Way::Direct,
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

fn models(provider: &OnThread) -> tollgate_llm::settings::Settings {
    let provider = Provider {
        name: MODEL.to_owned(),
        kind: ProviderKind::OpenAi,
        base_url: Some(format!("http://{}/v1", provider.address)),
        api_key: None,
        headers: Vec::new(),
        patience: Patience::default(),
        concurrent: 4,
        retries: 0,
    };
    let model = Model {
        name: MODEL.to_owned(),
        id: MODEL.to_owned(),
        provider: Some(MODEL.to_owned()),
        context_window: 2_000_000,
        max_output: 16_384,
        tool_mode: ToolMode::Native,
        api: Api::Chat,
    };
    tollgate_llm::settings::Settings { providers: vec![provider], models: vec![model] }
}
