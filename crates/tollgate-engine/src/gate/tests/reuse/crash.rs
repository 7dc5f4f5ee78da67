//! A real child that crashes in the middle of a call.

use std::collections::BTreeMap;

use super::*;
use crate::settings::{
    EngineSettings, RestartSettings, Server as Wanting, ServerCalibration, ServerTransport,
    StdioCommand,
};
use crate::{Parts, start};

/// Exits in its first call and leaves a mark; whoever finds the mark answers.
const CRASHES_ONCE: &str = r#"
import json, os, sys
mark = sys.argv[1]
def say(message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    method, id = request["method"], request.get("id")
    if method == "initialize":
        revision = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        say({"id": id, "result": revision})
    elif method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ["a", "b"]]
        say({"id": id, "result": {"tools": tools}})
    elif method == "tools/call":
        if not os.path.exists(mark):
            open(mark, "w").close()
            os._exit(1)
        say({"id": id, "result": {"content": [{"type": "text", "text": "mended"}]}})
    elif id is not None:
        say({"id": id, "error": {"code": -32601, "message": "unknown"}})
"#;

fn settings(data: &std::path::Path) -> EngineSettings {
    let idempotent = ToolOverride { idempotent: Some(true), ..ToolOverride::default() };
    let mark = data.join("mark").display().to_string();
    let words = ["python3", "-c", CRASHES_ONCE, &mark].map(str::to_owned).into();
    let transport = ServerTransport::Stdio(StdioCommand::new(words));
    let server = Wanting {
        calibrate: ServerCalibration::OnCommand,
        restart: RestartSettings {
            backoff: Duration::from_millis(50),
            ..RestartSettings::default()
        },
        timeout: Duration::from_secs(30),
        tools: BTreeMap::from([(ToolName::new("a"), idempotent)]),
        ..Wanting::new(ServerId::parse("s").unwrap(), transport)
    };
    EngineSettings { servers: vec![server], ..EngineSettings::new(data.to_owned()) }
}

/// What a call of the tool says, the first time ever.
async fn crash(tool: &str) -> String {
    let data = std::env::temp_dir().join(format!("tollgate-{:016x}", rand::random::<u64>()));
    std::fs::create_dir_all(&data).unwrap();
    let running = start(&settings(&data), Parts::default()).unwrap();
    running.gate.wait_until_settled().await;
    let asked = TurnRequest::by(Actor::endless(Principal::local()));
    let turn = running.gate.turn(asked).unwrap();
    let params = json!({"name": tool}).to_string();
    let reply = running.gate.call(&turn, request(&params), Caller::silent(&nobody())).await;
    running.gate.stop().await;
    let _ = std::fs::remove_dir_all(&data);
    describe_reply(&reply)
}

#[tokio::test]
async fn r_14_a_child_that_crashes_is_back_for_those_who_may_ask_again_and_only_for_them() {
    let (repeated, once) = tokio::join!(crash("s_a"), crash("s_b"));
    assert_eq!(repeated, "ok mended");
    assert!(once.starts_with("error server `s` disconnected before it answered"), "{once}");
}
