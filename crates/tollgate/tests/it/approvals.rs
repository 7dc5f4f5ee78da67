//! `tollgate approvals` against a running gateway.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Run;
use crate::isolated_gateway::Gateway;

/// A tool `say` that says what it was told.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    method, id, params = request.get("method"), request.get("id"), request.get("params") or {}
    if id is None: continue
    result = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "s", "version": "1"}},
        "tools/list": {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "said " + str((params.get("arguments") or {}).get("to"))}]},
    }.get(method, {})
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
"#;

fn start() -> Gateway {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("server.py"), SERVER).unwrap();
    let server = json!({"command": ["python3", "-u", "server.py"], "cwd": folder.path(),
        "protocol": "2025-11-25", "tools": {"say": {"approval": "always"}}});
    let config = json!({"servers": {"a": server}, "approvals": {"timeout_s": 60}});
    Gateway::start_in(folder, &config, |command| command).ready(&["a"])
}

fn command(gateway: &Gateway, words: &[&str]) -> Run {
    let words = [&["approvals"], words, &["--listen", &gateway.address]].concat();
    crate::tollgate(gateway.folder.path(), &words)
}

/// The id of the call that waits, once one does.
fn waits(gateway: &Gateway) -> String {
    for _ in 0..200 {
        let listed = command(gateway, &["list", "--json"]);
        assert_eq!(listed.code, Some(0), "{}", listed.stderr);
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        if let Some(id) = listed["approvals"][0]["id"].as_str() {
            return id.to_owned();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no call waits");
}

#[test]
fn calls_that_wait_are_listed_and_decided_by_command() {
    let gateway = start();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| gateway.call("a_say", &json!({"to": "Ada"})));
        let id = waits(&gateway);
        let shown = command(&gateway, &["list"]).stdout;
        assert!(shown.contains("a_say") && shown.contains("Ada") && shown.contains(&id), "{shown}");
        let approved = command(&gateway, &["approve", &id]);
        assert_eq!(approved.code, Some(0), "{}", approved.stderr);
        let text = call.join().unwrap();
        assert_eq!(text, "said Ada", "it ran");
        let again = command(&gateway, &["deny", &id]);
        assert_eq!(again.code, Some(1));
        assert!(again.stderr.contains("already been decided"), "{}", again.stderr);

        let call = scope.spawn(|| gateway.call("a_say", &json!({})));
        let id = waits(&gateway);
        let denied = command(&gateway, &["deny", &id, "--note", "not today", "--json"]);
        let denied: Value = serde_json::from_str(&denied.stdout).unwrap();
        assert_eq!(denied["decision"], "deny");
        let text = call.join().unwrap();
        assert!(text.ends_with("not today"), "{text}");
    });
    let unknown = command(&gateway, &["approve", "a_00000000000000000000000000000000"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("no call awaits approval under this id"), "{}", unknown.stderr);
    let watch = command(&gateway, &["watch"]);
    assert_eq!(watch.code, Some(2), "there is no terminal to ask on");
}

#[test]
fn without_a_gateway_nothing_can_wait() {
    let folder = TempDir::new().unwrap();
    let run = crate::tollgate(folder.path(), &["approvals", "list", "--listen", "127.0.0.1:9"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("no gateway is running at 127.0.0.1:9"), "{}", run.stderr);
}
