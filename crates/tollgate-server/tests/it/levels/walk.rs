//! The same over real sockets, with keys, through every front: all lists agree, and nothing outside
//! them can be called.

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate_core::turn::PrincipalGrant;
use tollgate_engine::builtin::BuiltinTool;
use tollgate_server::{ApiKey, Right, Rights};

use super::oracle::{self, Fact, Filters};
use super::world::{self, Dice};
use super::{Case, Config, Reached, Recording, agents, builtin_tools, patterns};
use crate::client::{Call, Reply, with_meta};
use crate::stage::{Setup, Stage, key, modern_headers};

const STAGES: usize = 5;
const CASES: usize = 60;
const SECRETS: &[&str] = &["secret-plain", "secret-override"];

#[tokio::test]
async fn s_29_no_front_lists_or_calls_what_the_oracle_hides() {
    let mut dice = Dice(29);
    for _ in 0..STAGES {
        let mut facts = builtin_tools();
        facts.extend(["echo", "wait", "boom", "mirrored"].map(of_the_stage));
        let facts = world::facts(&mut dice, &facts);
        let config = Config::new(&mut dice, &facts);
        let principal = dice.perhaps(|dice| world::globs(dice, &facts));
        let reached = Reached::default();
        let stage = stage(&facts, &config, principal.as_deref(), &reached).await;
        for _ in 0..CASES {
            let case = Case::new(&mut dice, &config, &facts);
            let case = Case { principal: principal.clone(), ..case };
            Walk { stage: &stage, facts: &facts, config: &config, case: &case }.check().await;
            assert_eq!(*reached.lock(), [""; 0], "{case:?} in {config:?}");
            assert_eq!(stage.calls(), 0, "{case:?} in {config:?}");
        }
    }
}

fn of_the_stage(name: &str) -> Fact {
    Fact {
        server: "test".to_owned(),
        own: name.to_owned(),
        exposed: name.to_owned(),
        estimate: None,
        is_shadowed: false,
    }
}

async fn stage(
    facts: &[Fact],
    config: &Config,
    principal: Option<&[String]>,
    reached: &Reached,
) -> Stage {
    let server = |name: &'static str| {
        let own = facts.iter().filter(|fact| fact.server == name);
        let tool = |fact: &Fact| Recording { fact: fact.clone(), reached: Arc::clone(reached) };
        let tools = own.map(|fact| Box::new(tool(fact)) as Box<dyn BuiltinTool>).collect();
        tollgate_engine::builtin::Server { name, tools }
    };
    let grant = PrincipalGrant { tools: principal.map(patterns), ..PrincipalGrant::default() };
    let holder = |name: &str, secret: &str, rights: &[Right]| {
        let rights: Rights = rights.iter().copied().collect();
        ApiKey { grant: grant.clone(), ..key(name, secret, rights) }
    };
    Stage::with(Setup {
        tools: world::SERVERS.iter().map(|name| server(name)).collect(),
        agents: agents(config),
        global: config.global_rules(),
        keys: vec![
            holder("plain", SECRETS[0], &[Right::Execute]),
            holder("override", SECRETS[1], &[Right::Execute, Right::OverrideTier]),
        ],
        ..Setup::default()
    })
    .await
}

struct Walk<'a> {
    stage: &'a Stage,
    facts: &'a [Fact],
    config: &'a Config,
    case: &'a Case,
}

/// What the oracle expects of a request.
enum Expected {
    /// The exposed names that are seen, in order.
    Seen(Vec<String>),
    Status(u16),
}

impl Walk<'_> {
    async fn check(&self) {
        let seen = match self.expectation() {
            Expected::Seen(seen) => seen,
            Expected::Status(status) => return self.refusal_of(status).await,
        };
        assert_eq!(self.list_tools().await, seen, "plain, {}", self.context());
        assert_eq!(self.listed_modern().await, seen, "modern, {}", self.context());
        let session = self.session().await;
        assert_eq!(self.listed_legacy(&session).await, seen, "legacy, {}", self.context());
        let outside = self.facts.iter().map(|fact| fact.exposed.as_str());
        let outside = outside.filter(|name| !seen.iter().any(|it| it == name));
        for name in outside.take(2).chain(["no_such_tool"]) {
            self.cannot_call(name, &session).await;
        }
    }

    fn expectation(&self) -> Expected {
        let Some(filters) = Filters::read(&self.case.headers) else {
            return Expected::Status(400);
        };
        let asker = self.case.asker(self.config, &filters);
        if self.case.wish.is_some_and(|wish| wish > asker.tier()) {
            return Expected::Status(403);
        }
        let is_seen =
            |fact: &&Fact| oracle::find_hiding_level(fact, &self.config.global, &asker).is_none();
        let mut seen: Vec<String> =
            self.facts.iter().filter(is_seen).map(|fact| fact.exposed.clone()).collect();
        seen.sort_unstable();
        Expected::Seen(seen)
    }

    fn context(&self) -> String {
        format!("{:?} in {:?}", self.case, self.config)
    }

    /// With the key, the agent, the tier and the filters of the case.
    fn add_headers(&self, call: Call) -> Call {
        let secret = SECRETS[usize::from(self.case.may_override)];
        let call = call
            .header("authorization", &format!("Bearer {secret}"))
            .header("x-tollgate-agent", &format!("agent{}", self.case.agent));
        let call = match self.case.wish {
            Some(tier) => call.header("x-tollgate-tier", ["fast", "standard", "deep"][tier]),
            None => call,
        };
        let filters = self.case.headers.iter().filter(|(name, _)| name != "accept");
        filters.fold(call, |call, (name, value)| call.header(name, value))
    }

    async fn refusal_of(&self, status: u16) {
        let plain = self.add_headers(self.stage.request("GET", "/v1/tools")).send().await;
        let modern = self.modern("tools/list", json!({})).await;
        for reply in [plain, modern] {
            assert_eq!(reply.status, status, "{reply:?}, {}", self.context());
        }
    }

    async fn list_tools(&self) -> Vec<String> {
        let call = self.stage.request("GET", "/v1/tools?format=mcp");
        let reply = self.add_headers(call).send().await;
        assert_eq!(reply.status, 200, "{reply:?}, {}", self.context());
        names(&reply.json()["tools"])
    }

    async fn modern(&self, method: &str, params: Value) -> Reply {
        let params = with_meta(params);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut call = self.stage.post(body.to_string());
        for (name, value) in modern_headers(method, &params) {
            call = call.header(&name, &value);
        }
        self.add_headers(call).send().await
    }

    async fn listed_modern(&self) -> Vec<String> {
        let reply = self.modern("tools/list", json!({})).await;
        names(&reply.json()["result"]["tools"])
    }

    /// Filters of the request that opens it do not count for others.
    async fn session(&self) -> String {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let reply = self.add_headers(self.stage.post(body.to_string())).send().await;
        reply.header("mcp-session-id").expect("a session")
    }

    async fn legacy(&self, session: &str, method: &str, params: Value) -> Reply {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let call = self.stage.post(body.to_string()).header("mcp-session-id", session);
        self.add_headers(call.header("mcp-protocol-version", "2025-11-25")).send().await
    }

    async fn listed_legacy(&self, session: &str) -> Vec<String> {
        let reply = self.legacy(session, "tools/list", json!({})).await;
        names(&reply.json()["result"]["tools"])
    }

    async fn cannot_call(&self, name: &str, session: &str) {
        let execute = self
            .stage
            .request("POST", "/v1/tools/execute")
            .header("content-type", "application/json")
            .body(json!({"name": name, "arguments": {}}).to_string());
        let plain = self.add_headers(execute).send().await.json();
        assert_eq!(plain["status"], "denied", "{name}: {plain}, {}", self.context());
        let params = json!({"name": name, "arguments": {}});
        let modern = self.modern("tools/call", params.clone()).await.json();
        let legacy = self.legacy(session, "tools/call", params).await.json();
        for body in [modern, legacy] {
            assert_eq!(body["error"]["code"], -32602, "{name}: {body}, {}", self.context());
        }
    }
}

fn names(tools: &Value) -> Vec<String> {
    let tools = tools.as_array().map_or(&[][..], Vec::as_slice);
    let mut names: Vec<String> =
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn s_12_filters_of_a_session_are_those_of_each_request() {
    let stage = Stage::start().await;
    let names = |reply: &Reply| names(&reply.json()["result"]["tools"]);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
        "_meta": {"dev.tollgate/exclude-tools": ["boom"]}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
    let opened = stage.post(hello.to_string()).header("x-tollgate-include-tools", "wait");
    let id = opened.send().await.header("mcp-session-id").unwrap();
    let list = |params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
        let call = stage.post(body.to_string()).header("mcp-session-id", &id);
        call.header("mcp-protocol-version", "2025-11-25")
            .header("x-tollgate-include-servers", "test")
    };
    let all = list(json!({})).send().await;
    assert_eq!(names(&all), ["echo", "mirrored", "wait"], "`_meta` of the opening counts for all");
    let two = list(json!({})).header("x-tollgate-include-tools", "boom,echo").send().await;
    assert_eq!(names(&two), ["echo"]);
    let meta = json!({"_meta": {"dev.tollgate/include-tools": "test/*it"}});
    assert_eq!(names(&list(meta.clone()).send().await), ["wait"]);
    let both = list(meta).header("x-tollgate-include-tools", "echo").send().await;
    assert_eq!(names(&both), [""; 0]);
    let bad = json!({"_meta": {"dev.tollgate/include-tool": "wait"}});
    assert_eq!(list(bad).brief().await, "200 -32602");
}

#[tokio::test]
async fn explanations_are_for_admins_and_name_the_level() {
    let stage = Stage::start().await;
    let stranger = stage.request("GET", "/v1/tools?explain=true").send().await;
    assert_eq!((stranger.status, &stranger.json()["error"]["code"]), (401, &json!("admin_only")));
    let asked = stage.request("GET", "/v1/tools?explain=true&agent=sage&tier=fast").by_admin();
    let body = asked.header("x-tollgate-exclude-servers", "test").send().await.json();
    assert_eq!((&body["agent"], &body["tier"]), (&json!("sage"), &json!("fast")));
    let level = |name: &str| {
        let tools = body["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        (tool["visible"].clone(), tool["level"].clone())
    };
    assert_eq!(level("echo"), (json!(false), json!("request")));
    assert_eq!(level("roll"), (json!(false), json!("agent")));
    for (query, code) in [
        ("explain=yes", "bad_query"),
        ("explain=true&leaderboard=true", "bad_query"),
        ("explain=true&format=mcp", "bad_query"),
        ("explain=true&agent=nobody", "unknown_agent"),
    ] {
        let reply = stage.request("GET", &format!("/v1/tools?{query}")).by_admin().send().await;
        assert_eq!(reply.json()["error"]["code"], code, "{query}");
    }
}
