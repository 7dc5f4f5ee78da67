//! The filter levels against a second implementation: random configs, principals, agents and
//! requests.
//!
//! Lists equal the oracle's, everything else is refused before it reaches a server, and `explain`
//! names the level.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tollgate_core::agent::{Agent, RequestedTier};
use tollgate_core::budget::Tier;
use tollgate_core::call::{GateRequest, RequestKind};
use tollgate_core::filter::{self, AllowDenyLists, RequestFilter, ToolSwitch};
use tollgate_core::glob::Glob;
use tollgate_core::id::AgentId;
use tollgate_core::json::Object;
use tollgate_core::policy::PermitError;
use tollgate_core::turn::{Actor, Principal, PrincipalGrant};
use tollgate_engine::builtin::{
    self, BuiltinDeps, BuiltinReply, BuiltinTool, BuiltinToolError, shipped_servers,
};
use tollgate_engine::calibration::CalibrationMode;
use tollgate_engine::caller::{self, CallError, Caller};
use tollgate_engine::gate::{Gate, TurnRequest};
use tollgate_engine::settings::{BuiltinSettings, EngineSettings};
use tollgate_engine::{Parts, RunningEngine};
use tollgate_mcp::meta::ClientFacts;

use crate::stage::Directory;

mod oracle;
mod walk;
mod world;

use oracle::{Asker, Fact, Filters, GlobalLevel};
use world::Dice;

const GATES: usize = 2;
const CONFIGS: usize = 40;
const CASES: usize = 80;

/// All of these together are more than 100,000 cases.
macro_rules! as_the_oracle_says {
    ($($name:ident: $seed:expr;)*) => {$(
        #[tokio::test]
        async fn $name() {
            check($seed).await;
        }
    )*};
}

as_the_oracle_says! {
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_01: 1;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_02: 2;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_03: 3;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_04: 4;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_05: 5;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_06: 6;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_07: 7;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_08: 8;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_09: 9;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_10: 10;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_11: 11;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_12: 12;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_13: 13;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_14: 14;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_15: 15;
    b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_16: 16;
}

#[tokio::test]
async fn b_ch_12_b_cf_10_what_is_seen_is_what_the_oracle_says_at_random() {
    walk(rand::random()).await;
}

/// Calls that reached a tool, as `server/tool`.
type Reached = Arc<Mutex<Vec<String>>>;

struct Recording {
    fact: Fact,
    reached: Reached,
}

#[async_trait]
impl BuiltinTool for Recording {
    fn definition(&self) -> Value {
        let mut definition = json!({"name": self.fact.own, "inputSchema": {"type": "object"}});
        if let Some(estimate) = self.fact.estimate {
            let latency = json!({"estimatedDurationMs": estimate, "maxDurationMs": 10_000});
            definition["_meta"] = json!({"dev.tollgate/latency": latency});
        }
        definition
    }

    async fn call(
        &self,
        _: &Map<String, Value>,
        _: &builtin::BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        self.reached.lock().push(format!("{}/{}", self.fact.server, self.fact.own));
        Ok(BuiltinReply { text: "done".to_owned(), structured: None })
    }
}

/// The tools that come along in any case.
fn builtin_tools() -> Vec<Fact> {
    let servers = shipped_servers::servers(
        &BuiltinSettings::new(std::path::PathBuf::new()),
        &BuiltinDeps::default(),
    );
    let fact = |server: &str, tool: &dyn BuiltinTool| {
        let definition = tool.definition();
        let name = definition["name"].as_str().unwrap().to_owned();
        let latency = &definition["_meta"]["dev.tollgate/latency"];
        Fact {
            server: server.to_owned(),
            own: name.clone(),
            exposed: name,
            estimate: latency["estimatedDurationMs"].as_u64(),
            is_shadowed: false,
        }
    };
    let all = servers.iter().flat_map(|it| it.tools.iter().map(|tool| fact(it.name, &**tool)));
    all.collect()
}

/// A gate over the tools, and what reaches them.
struct World {
    facts: Vec<Fact>,
    running: RunningEngine,
    reached: Reached,
    settings: EngineSettings,
    _directory: Directory,
}

impl World {
    async fn new(dice: &mut Dice) -> Self {
        let facts = world::facts(dice, &builtin_tools());
        let reached = Reached::default();
        let server = |name: &'static str| {
            let own = facts.iter().filter(|fact| fact.server == name);
            let tool =
                |fact: &Fact| Recording { fact: fact.clone(), reached: Arc::clone(&reached) };
            let tools = own.map(|fact| Box::new(tool(fact)) as Box<dyn BuiltinTool>).collect();
            builtin::Server { name, tools }
        };
        let tools = world::SERVERS.iter().map(|name| server(name)).collect();
        let directory = Directory::new();
        let mut settings = EngineSettings::new(directory.0.clone());
        // What they declare counts here, however fast they answer.
        settings.budget.standing.min_samples = 100;
        let parts = Parts { tools, calibration: CalibrationMode::OnCommand, ..Parts::default() };
        let running = tollgate_engine::start(&settings, parts).unwrap();
        running.gate.wait_until_settled().await;
        Self { facts, running, reached, settings, _directory: directory }
    }

    async fn reconfigure(&mut self, config: &Config) {
        self.settings.global = config.global_rules();
        self.settings.agents = agents(config);
        self.running.reconfigure(&self.settings, || {}).await;
    }
}

fn agents(config: &Config) -> Vec<Agent> {
    let numbered = config.agents.iter().enumerate();
    let each = numbered.map(|(at, (tools, ceiling))| Agent {
        id: AgentId::parse(&format!("agent{at}")).unwrap(),
        tools: patterns(tools),
        ceiling: ceiling.map(|tier| Tier::ALL[tier]),
        ..Agent::implicit()
    });
    each.collect()
}

fn patterns(names: &[String]) -> Vec<Glob> {
    names.iter().map(Glob::new).collect()
}

/// The part of an installation that can change while it runs.
#[derive(Debug)]
struct Config {
    global: GlobalLevel,
    /// Their lists and ceilings.
    agents: Vec<(Vec<String>, Option<usize>)>,
}

impl Config {
    fn new(dice: &mut Dice, facts: &[Fact]) -> Self {
        let global = world::random_global_level(dice, facts);
        let count = 1 + dice.below(3);
        let mut agent = || {
            let ceiling = dice.perhaps(|dice| dice.below(3));
            (world::globs(dice, facts), ceiling)
        };
        Self { global, agents: (0..count).map(|_| agent()).collect() }
    }

    fn global_rules(&self) -> filter::GlobalRules {
        let GlobalLevel { is_off, allow, deny, here_allow, here_deny } = &self.global;
        filter::GlobalRules {
            switch: if *is_off { ToolSwitch::Off } else { ToolSwitch::On },
            everywhere: AllowDenyLists { allow: patterns(allow), deny: patterns(deny) },
            environment: AllowDenyLists { allow: patterns(here_allow), deny: patterns(here_deny) },
            ..filter::GlobalRules::default()
        }
    }
}

#[derive(Debug)]
struct Case {
    agent: usize,
    principal: Option<Vec<String>>,
    headers: Vec<(String, String)>,
    wish: Option<usize>,
    may_override: bool,
}

impl Case {
    fn new(dice: &mut Dice, config: &Config, facts: &[Fact]) -> Self {
        Self {
            agent: dice.below(config.agents.len()),
            principal: dice.perhaps(|dice| world::globs(dice, facts)).filter(|_| dice.one_in(2)),
            headers: world::headers(dice, facts),
            wish: dice.perhaps(|dice| dice.below(3)),
            may_override: dice.one_in(2),
        }
    }

    fn asker<'a>(&'a self, config: &'a Config, filters: &'a Filters) -> Asker<'a> {
        let (agent, ceiling) = &config.agents[self.agent];
        Asker {
            principal: self.principal.as_deref(),
            agent,
            ceiling: *ceiling,
            wish: self.wish,
            may_override: self.may_override,
            filters,
        }
    }

    fn encode_stream(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    fn wish(&self) -> RequestedTier {
        match self.wish.map(|tier| Tier::ALL[tier]) {
            None => RequestedTier::Ceiling,
            Some(tier) if self.may_override => RequestedTier::Override(tier),
            Some(tier) => RequestedTier::Selected(tier),
        }
    }
}

async fn check(seed: u64) {
    let verdicts = walk(seed).await;
    // A test in which some level never decides anything would show nothing of it.
    for level in [
        "seen",
        "refused",
        "catalog",
        "switch",
        "house",
        "environment",
        "principal",
        "agent",
        "request",
        "tier",
    ] {
        assert!(verdicts.get(level).is_some_and(|count| *count > 20), "{level}: {verdicts:?}");
    }
}

/// How often each level decided.
async fn walk(seed: u64) -> BTreeMap<&'static str, usize> {
    let mut dice = Dice(seed);
    let mut verdicts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for _ in 0..GATES {
        let mut world = World::new(&mut dice).await;
        for _ in 0..CONFIGS {
            let config = Config::new(&mut dice, &world.facts);
            world.reconfigure(&config).await;
            for _ in 0..CASES {
                let case = Case::new(&mut dice, &config, &world.facts);
                let context = Context { seed, config: &config, case: &case };
                let lines = one(&world, context, &mut dice).await;
                lines.into_iter().for_each(|level| *verdicts.entry(level).or_default() += 1);
            }
        }
        world.running.gate.stop().await;
    }
    verdicts
}

/// What to look at when it fails.
#[derive(Clone, Copy)]
struct Context<'a> {
    seed: u64,
    config: &'a Config,
    case: &'a Case,
}

impl fmt::Display for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {:?} in {:?}", self.seed, self.case, self.config)
    }
}

/// What became of each tool in one case.
async fn one(world: &World, context: Context<'_>, dice: &mut Dice) -> Vec<&'static str> {
    let Context { config, case, .. } = context;
    let gate = &*world.running.gate;
    let read = tollgate_server::by_headers(&case.encode_stream());
    let (narrow, filters) = match (read, Filters::read(&case.headers)) {
        (Ok(narrow), Some(filters)) => (narrow, filters),
        (Err(_), None) => return vec!["refused"],
        (read, filters) => panic!("{read:?} but {filters:?}: {context}"),
    };
    let asker = case.asker(config, &filters);
    let level = |fact: &Fact| oracle::find_hiding_level(fact, &config.global, &asker);
    let judged: Vec<(&Fact, Option<&'static str>)> =
        world.facts.iter().map(|fact| (fact, level(fact))).collect();
    let agent = format!("agent{}", case.agent);
    let turn_request = make_request(case, &agent, &narrow);
    let explained = gate.explain(&turn_request).unwrap();
    let turn = gate.turn(turn_request).unwrap();
    let mut expected: Vec<&str> =
        judged.iter().filter(|(_, level)| level.is_none()).map(|(it, _)| &*it.exposed).collect();
    expected.sort_unstable();
    let listed: Vec<&str> = turn.view.tools().iter().map(|tool| tool.exposed.as_str()).collect();
    assert_eq!(listed, expected, "{context}");
    assert_eq!(turn.view.tier as usize, asker.tier(), "{context}");
    check_explanation(&judged, &explained, context);
    check_calls(world, &judged, &turn, dice, context).await;
    judged.into_iter().map(|(_, level)| level.unwrap_or("seen")).collect()
}

fn make_request<'a>(case: &Case, agent: &'a str, narrow: &'a RequestFilter) -> TurnRequest<'a> {
    let tools = case.principal.as_ref().map(|list| patterns(list));
    TurnRequest {
        grant: Some(Arc::new(PrincipalGrant { tools, ..PrincipalGrant::default() })),
        agent: Some(agent),
        budget: case.wish(),
        narrow: Some(narrow),
        ..TurnRequest::by(Actor::endless(Principal::from_name("key:test")))
    }
}

fn check_explanation(
    judged: &[(&Fact, Option<&'static str>)],
    explained: &[filter::ToolExplanation],
    context: Context<'_>,
) {
    let key = |server: &str, tool: &str| format!("{server}/{tool}");
    let lines: BTreeMap<String, Option<&str>> = explained
        .iter()
        .map(|it| {
            let level = it.stopped.as_ref().map(|(level, _)| level.as_str());
            (key(it.tool.server.as_str(), it.tool.tool.as_str()), level)
        })
        .collect();
    let expected: BTreeMap<String, Option<&str>> =
        judged.iter().map(|(fact, level)| (key(&fact.server, &fact.own), *level)).collect();
    assert_eq!(lines, expected, "{context}");
}

/// All that is not seen is refused and reaches nobody; now and then what is seen is called.
async fn check_calls(
    world: &World,
    judged: &[(&Fact, Option<&'static str>)],
    turn: &tollgate_core::turn::Turn,
    dice: &mut Dice,
    context: Context<'_>,
) {
    let gate = &*world.running.gate;
    let seen: Vec<&str> =
        judged.iter().filter(|(_, level)| level.is_none()).map(|(it, _)| &*it.exposed).collect();
    let outside = judged.iter().map(|(fact, _)| fact.exposed.as_str());
    for name in outside.filter(|name| !seen.contains(name)).chain(["no_such_tool"]) {
        let called = call(gate, turn, name).await;
        let is_refused =
            matches!(&called, Err(CallError::Refused(PermitError::UnknownTool { .. })));
        assert!(is_refused, "`{name}` is {called:?}: {context}");
    }
    assert_eq!(world.reached.lock().len(), 0, "{context}");
    let own = judged
        .iter()
        .filter(|(fact, level)| level.is_none() && world::SERVERS.contains(&&*fact.server));
    let own: Vec<&Fact> = own.map(|(fact, _)| *fact).collect();
    if !own.is_empty() && dice.one_in(16) {
        let fact = *dice.pick(&own);
        let called = call(gate, turn, &fact.exposed).await;
        assert!(called.is_ok(), "{called:?}: {context}");
        let reached = std::mem::take(&mut *world.reached.lock());
        assert_eq!(reached, [format!("{}/{}", fact.server, fact.own)], "{context}");
    }
}

async fn call(
    gate: &Gate,
    turn: &tollgate_core::turn::Turn,
    name: &str,
) -> Result<caller::Reply, CallError> {
    let mut params = Object::new();
    params.set_string("name", name);
    let client = ClientFacts::default();
    let request = GateRequest { kind: RequestKind::CallTool, params };
    gate.call(turn, request, Caller::silent(&client)).await
}
