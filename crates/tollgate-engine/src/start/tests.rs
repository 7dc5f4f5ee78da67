//! Another config while calls run: what changes, and what must not notice.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tollgate_core::agent::Agent;
use tollgate_core::budget::Tier;
use tollgate_core::call::{GateRequest, RequestKind};
use tollgate_core::filter::{GlobalRules, ToolSwitch};
use tollgate_core::glob::Glob;
use tollgate_core::id::{AgentId, ServerId};
use tollgate_core::json::Object;
use tollgate_core::turn::{Actor, Principal, Turn};
use tollgate_mcp::meta::ClientFacts;

use super::{Parts, RunningEngine, start};
use crate::caller::{Caller, Reply};
use crate::gate::TurnRequest;
use crate::settings::{EngineSettings, Server, ServerTransport, StdioCommand};

mod code;

/// A server with the tool `pid`, which waits so long first.
const PID: &str = r#"
import json, os, sys, threading, time
lock = threading.Lock()
def answer(id, result):
    with lock:
        print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
def call(id, arguments):
    time.sleep(arguments.get("millis", 0) / 1000)
    answer(id, {"content": [{"type": "text", "text": str(os.getpid())}]})
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        answer(id, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "pid", "version": "1"}})
    elif method == "tools/list":
        answer(id, {"tools": [{"name": "pid", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        threading.Thread(target=call, args=(id, message["params"].get("arguments") or {})).start()
    elif method == "ping":
        answer(id, {})
    elif id is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": id,
                          "error": {"code": -32601, "message": "no"}}), flush=True)
"#;

fn server(name: &str) -> Server {
    let words = ["python3", "-c", PID].map(str::to_owned).into();
    let transport = ServerTransport::Stdio(StdioCommand::new(words));
    Server::new(ServerId::parse(name).unwrap(), transport)
}

fn settings(data: &Path, servers: &[Server]) -> EngineSettings {
    EngineSettings { servers: servers.to_vec(), ..EngineSettings::new(data.to_owned()) }
}

struct Stage {
    running: RunningEngine,
    data: tempfile::TempDir,
}

impl Stage {
    async fn open(servers: &[Server]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let running = start(&settings(data.path(), servers), Parts::default()).unwrap();
        running.gate.wait_until_settled().await;
        Self { running, data }
    }

    fn settings(&self, servers: &[Server]) -> EngineSettings {
        settings(self.data.path(), servers)
    }

    /// `added a; kept b`, and waits until all that was started has settled.
    async fn change(&self, settings: &EngineSettings) -> String {
        let changes = self.running.reconfigure(settings, || {}).await;
        self.running.gate.wait_until_settled().await;
        let parts = [
            ("added", changes.added),
            ("removed", changes.removed),
            ("restarted", changes.restarted),
            ("kept", changes.unchanged),
        ];
        let parts = parts.iter().filter(|(_, servers)| !servers.is_empty());
        let lines = parts.map(|(what, servers)| {
            let names: Vec<&str> = servers.iter().map(ServerId::as_str).collect();
            format!("{what} {}", names.join(" "))
        });
        lines.collect::<Vec<_>>().join("; ")
    }

    fn turn(&self) -> Turn {
        self.running.gate.turn(TurnRequest::by(Actor::endless(Principal::local()))).unwrap()
    }

    fn names(&self) -> Vec<String> {
        self.turn().view.tools().iter().map(|tool| tool.exposed.to_string()).collect()
    }

    /// What the call says: the process id of the server, or what went wrong.
    async fn call(&self, turn: &Turn, name: &str, millis: u64) -> String {
        let params = json!({"name": name, "arguments": {"millis": millis}}).to_string();
        let request =
            GateRequest { kind: RequestKind::CallTool, params: Object::parse(&params).unwrap() };
        let nobody = ClientFacts::default();
        match self.running.gate.call(turn, request, Caller::silent(&nobody)).await {
            Ok(Reply::Tool(outcome)) => {
                let result: serde_json::Value = serde_json::from_str(outcome.result.get()).unwrap();
                result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
            }
            other => format!("{other:?}"),
        }
    }
}

fn is_alive(pid: &str) -> bool {
    Path::new("/proc").join(pid).join("exe").exists()
}

#[tokio::test]
async fn r_29_servers_that_did_not_change_keep_their_process() {
    let stage = Stage::open(&[server("a"), server("b"), server("c")]).await;
    let turn = stage.turn();
    let a = stage.call(&turn, "a_pid", 0).await;
    let b = stage.call(&turn, "b_pid", 0).await;
    let c = stage.call(&turn, "c_pid", 0).await;
    let other_policy = Server { timeout: Duration::from_secs(3), trusted: true, ..server("a") };
    let other_process = {
        let mut changed = server("b");
        if let ServerTransport::Stdio(command) = &mut changed.transport {
            command.env.insert("SOMETHING".to_owned(), tollgate_core::secret::Secret::new("else"));
        }
        changed
    };
    let next = stage.settings(&[server("d"), other_policy, other_process]);
    assert_eq!(stage.change(&next).await, "added d; removed c; restarted b; kept a");
    let turn = stage.turn();
    assert_eq!(stage.call(&turn, "a_pid", 0).await, a, "the same process");
    assert_ne!(stage.call(&turn, "b_pid", 0).await, b, "a new process");
    assert!(is_alive(&stage.call(&turn, "d_pid", 0).await));
    for ended in [b, c] {
        let gone = async {
            while is_alive(&ended) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), gone).await.expect("it ends");
    }
    stage.running.gate.stop().await;
}

#[tokio::test]
async fn a_call_that_runs_ends_well_though_its_server_is_taken_out() {
    let stage = Stage::open(&[server("a")]).await;
    let turn = stage.turn();
    let running = stage.call(&turn, "a_pid", 700);
    let change = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        stage.change(&stage.settings(&[])).await
    };
    let (text, change) = tokio::join!(running, change);
    assert_eq!(change, "removed a");
    assert!(text.parse::<u32>().is_ok(), "{text}");
    let late = stage.call(&turn, "a_pid", 0).await;
    assert!(late.contains("no longer in the config"), "{late}");
    stage.running.gate.stop().await;
}

#[tokio::test]
async fn a_call_that_runs_is_stopped_when_its_agent_is_taken_out() {
    let stage = Stage::open(&[server("a")]).await;
    let turn = stage.turn();
    let running = stage.call(&turn, "a_pid", 600_000);
    let change = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let other = Agent { id: AgentId::parse("other").unwrap(), ..Agent::implicit() };
        let next = EngineSettings { agents: vec![other], ..stage.settings(&[server("a")]) };
        stage.change(&next).await
    };
    let (text, _) = tokio::join!(running, change);
    assert!(text.contains("agent `default` was removed from the config"), "{text}");
    assert_eq!(stage.turn().view.agent.as_str(), "other");
    stage.running.gate.stop().await;
}

#[tokio::test]
async fn names_agents_and_house_rules_change_in_one_step() {
    let stage = Stage::open(&[]).await;
    let before = stage.turn();
    assert!(stage.names().contains(&"roll".to_owned()));
    let sage = Agent {
        id: AgentId::parse("sage").unwrap(),
        tools: vec![Glob::new("roll*")],
        ceiling: Some(Tier::Fast),
        ..Agent::implicit()
    };
    let next = EngineSettings { agents: vec![sage.clone()], ..stage.settings(&[]) };
    assert_eq!(stage.change(&next).await, "");
    assert_eq!(stage.names(), ["roll", "roll_table"]);
    assert_eq!(stage.turn().view.tier, Tier::Fast);
    assert!(before.view.tool("read_file").is_some(), "a turn keeps its view");
    let off = GlobalRules { switch: ToolSwitch::Off, ..GlobalRules::default() };
    let next = EngineSettings { agents: vec![sage], global: off, ..stage.settings(&[]) };
    stage.change(&next).await;
    assert!(stage.names().is_empty());
}
