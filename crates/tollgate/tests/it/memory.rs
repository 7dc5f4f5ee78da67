//! S-31: memory is released after a server has flooded the gateway.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::isolated_gateway::Gateway;

/// What one flood may add. A message of 8 MiB is read before it is refused, and the buffer that
/// it is read into doubles; everything else is smaller than that.
const MAX_KIB: u64 = 64 << 10;
/// What may be left of it soon after.
const LEFT_KIB: u64 = 16 << 10;

/// Answers with megabytes of what it is asked for, on every path there is.
const SERVER: &str = r#"
import json, sys
LISTED = {
    "ping": {},
    "initialize": {"protocolVersion": "2025-11-25", "serverInfo": {"name": "c", "version": "1"},
                   "capabilities": {"tools": {}, "resources": {}, "prompts": {}}},
    "tools/list": {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]},
    "resources/list": {"resources": [{"uri": "a:text", "name": "text"}]},
    "resources/templates/list": {"resourceTemplates": []},
    "prompts/list": {"prompts": [{"name": "text"}]},
}
def write(*texts):
    for text in texts: sys.stdout.write(text)
    sys.stdout.write("\n"); sys.stdout.flush()
def fill(text, megabytes):
    for _ in range(megabytes): yield text * (10**6 // len(text))
for line in sys.stdin:
    request = json.loads(line)
    method, id, params = request.get("method"), request.get("id"), request.get("params") or {}
    if id is None: continue
    head = '{"jsonrpc":"2.0","id":%d,' % id
    token = '"params":{"progressToken":%d,"progress":1,"message":"' % id
    if method in LISTED: write(head, '"result":', json.dumps(LISTED[method]), "}"); continue
    kind = (params.get("arguments") or {}).get("kind")
    if kind == "fine": write(head, '"result":{"content":[{"type":"text","text":"fine"}]}}')
    elif kind == "items": write(head, '"result":{"content":[', *fill("1,", 2), '1]}}')
    elif kind == "blob": write(head, '"result":{"content":[{"type":"image","data":"', *fill("A", 20), '"}]}}')
    elif kind == "data": write(head, '"error":{"code":1,"message":"m","data":"', *fill("x", 20), '"}}')
    elif kind == "hidden": write(head, '"result":{"content":[{"type":"text","text":"', *fill("\\u001b[31m\\u202e", 7), '"}]}}')
    elif kind == "deep": write(head, '"result":{"content":[],"structuredContent":', "[" * 10000, "]" * 10000, "}}")
    elif kind == "progress":
        for _ in range(100): write('{"jsonrpc":"2.0","method":"notifications/progress",', token, *fill("x", 1), '"}}')
        write(head, '"result":{"content":[]}}')
    else: write(head, '"result":{"text":"', *fill("x", 100 if kind else 20), '"}}')
"#;

fn start() -> Gateway {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("server.py"), SERVER).unwrap();
    let server = json!({"command": ["python3", "-u", "server.py"], "cwd": folder.path(),
        "protocol": "2025-11-25", "defaults": {"timeout_ms": 50_000}});
    Gateway::start_in(folder, &json!({"servers": {"a": server}}), |command| command)
}

fn mcp(gateway: &Gateway, method: &str, mut params: Value, name: &str) -> String {
    params["_meta"] = json!({"progressToken": "t",
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let version = "mcp-protocol-version: 2026-07-28";
    gateway.post(
        "/mcp",
        &format!("{version}\r\nmcp-method: {method}\r\nmcp-name: {name}\r\n"),
        &body,
    )
}

fn call(gateway: &Gateway, kind: &str) -> String {
    mcp(gateway, "tools/call", json!({"name": "a_say", "arguments": {"kind": kind}}), "a_say")
}

#[test]
fn s_31_floods_on_any_path_are_typed_answers_and_leave_memory_alone() {
    let gateway = start();
    let ready = || call(&gateway, "fine").contains("\"fine\"");
    assert!((0..100).any(|_| ready() || {
        std::thread::sleep(Duration::from_millis(50));
        false
    }));
    let floods: [(&str, &dyn Fn() -> String, &str); 10] = [
        ("text", &|| call(&gateway, "text"), "larger than 8388608 bytes"),
        ("items", &|| call(&gateway, "items"), "the JSON has more than 400000 values"),
        ("blob", &|| call(&gateway, "blob"), "larger than 8388608 bytes"),
        (
            "hidden",
            &|| call(&gateway, "hidden"),
            "\"cleaned\":{\"control\":437500,\"bidi\":437500}",
        ),
        ("deep", &|| call(&gateway, "deep"), "deeper than 64 levels"),
        ("error.data", &|| call(&gateway, "data"), "larger than 8388608 bytes"),
        ("progress", &|| call(&gateway, "progress"), "\"content\":[]"),
        (
            "resource",
            &|| mcp(&gateway, "resources/read", json!({"uri": "a:text"}), "a:text"),
            "-32603",
        ),
        ("prompt", &|| mcp(&gateway, "prompts/get", json!({"name": "a_text"}), "a_text"), "-32603"),
        (
            "plain",
            &|| {
                let call = json!({"name": "a_say", "arguments": {"kind": "text"}});
                gateway.post("/v1/tools/execute", "", &call)
            },
            "\"status\":\"error\"",
        ),
    ];
    let base = gateway.status("VmRSS");
    for (what, flood, expected) in floods {
        let answer = flood();
        assert!(answer.contains(expected), "{what}: {answer:.400}");
        assert!(ready(), "{what}: the next call works");
        let peak = gateway.status("VmHWM");
        assert!(peak < base + MAX_KIB, "{what}: from {base} to {peak} KiB");
        let is_small = || gateway.status("VmRSS") <= base + LEFT_KIB;
        let left = (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            is_small()
        });
        assert!(left, "{what}: from {base} to {} KiB for good", gateway.status("VmRSS"));
    }
}
