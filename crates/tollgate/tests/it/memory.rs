//! S-31, seen from outside: what a server floods the gateway with does not stay in its memory.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// What one flood may add. A message of 8 MiB is read before it is refused, and the buffer that
/// it is read into doubles; everything else is smaller than that.
const MOST_KIB: u64 = 64 << 10;

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
    elif kind == "progress":
        for _ in range(100): write('{"jsonrpc":"2.0","method":"notifications/progress",', token, *fill("x", 1), '"}}')
        write(head, '"result":{"content":[]}}')
    else: write(head, '"result":{"text":"', *fill("x", 100 if kind else 20), '"}}')
"#;

struct Gateway {
    process: Child,
    address: String,
    _folder: TempDir,
}

impl Gateway {
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("server.py"), SERVER).unwrap();
        let server = json!({"command": ["python3", "-u", "server.py"], "cwd": folder.path(),
            "protocol": "2025-11-25", "defaults": {"timeout_ms": 30_000}});
        let config = json!({"servers": {"a": server}}).to_string();
        fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .current_dir(folder.path())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let ready = lines.by_ref().find_map(|line| {
            let line = line.unwrap();
            line.split_once("ready on http://").map(|(_, address)| address.trim().to_owned())
        });
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, address: ready.expect("the gateway is ready"), _folder: folder }
    }

    fn post(&self, path: &str, headers: &str, body: &Value) -> String {
        let body = body.to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{headers}connection: close\r\n\
             content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn mcp(&self, method: &str, mut params: Value, name: &str) -> String {
        params["_meta"] = json!({"progressToken": "t",
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let version = "mcp-protocol-version: 2026-07-28";
        self.post(
            "/mcp",
            &format!("{version}\r\nmcp-method: {method}\r\nmcp-name: {name}\r\n"),
            &body,
        )
    }

    fn call(&self, kind: &str) -> String {
        self.mcp("tools/call", json!({"name": "a_say", "arguments": {"kind": kind}}), "a_say")
    }

    /// A line of `/proc/…/status`, in KiB.
    fn memory(&self, key: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn s_31_floods_on_any_path_are_typed_answers_and_leave_memory_alone() {
    let gateway = Gateway::start();
    let ready = || gateway.call("fine").contains("\"fine\"");
    assert!((0..100).any(|_| ready() || {
        std::thread::sleep(Duration::from_millis(50));
        false
    }));
    let floods: [(&str, &dyn Fn() -> String, &str); 8] = [
        ("text", &|| gateway.call("text"), "larger than 8388608 bytes"),
        ("items", &|| gateway.call("items"), "items were left out"),
        ("blob", &|| gateway.call("blob"), "larger than 8388608 bytes"),
        ("error.data", &|| gateway.call("data"), "larger than 8388608 bytes"),
        ("progress", &|| gateway.call("progress"), "\"content\":[]"),
        (
            "resource",
            &|| gateway.mcp("resources/read", json!({"uri": "a:text"}), "a:text"),
            "-32603",
        ),
        ("prompt", &|| gateway.mcp("prompts/get", json!({"name": "a_text"}), "a_text"), "-32603"),
        (
            "plain",
            &|| {
                let call = json!({"name": "a_say", "arguments": {"kind": "text"}});
                gateway.post("/v1/tools/execute", "", &call)
            },
            "\"status\":\"error\"",
        ),
    ];
    let base = gateway.memory("VmRSS");
    for (what, flood, expected) in floods {
        let answer = flood();
        assert!(answer.contains(expected), "{what}: {answer:.400}");
        assert!(ready(), "{what}: the next call works");
        let peak = gateway.memory("VmHWM");
        assert!(peak < base + MOST_KIB, "{what}: from {base} to {peak} KiB");
    }
}
