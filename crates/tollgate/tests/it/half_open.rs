//! R-20: a server that is gone without a word, behind a network that swallows packets. No RST, no FIN.
#![expect(clippy::print_stderr, reason = "figures for whoever measures")]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use tollgate_testkit::skip::{self, Requirement};

use crate::isolated_gateway::{Gateway, soak_or};

/// How long the gateway may take to give up a connection that answers nothing: 20 s, and on a machine that
/// builds and tests beside some more.
fn detection_limit() -> Duration {
    soak_or(Duration::from_secs(20), Duration::from_secs(30))
}

/// An MCP server over HTTP that keeps its connections open.
const SERVER: &str = r#"
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(405); self.send_header("content-length", "0"); self.end_headers()
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        results = {
            "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "far", "version": "1"}},
            "tools/list": {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "here"}]},
        }
        if "id" not in request:
            self.send_response(202); self.send_header("content-length", "0"); self.end_headers()
            return
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"],
                           "result": results.get(request["method"], {})}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass

ThreadingHTTPServer((sys.argv[1], 8080), Handler).serve_forever()
"#;

/// Another network, and a cable to it that can be cut.
struct FarNetwork {
    name: String,
    cable: String,
    far_end: String,
    address: String,
}

impl FarNetwork {
    /// `None` where none can be made.
    fn lay() -> Option<Self> {
        let id = std::process::id() % 10_000;
        let name = format!("far{id}");
        let cable = format!("far{id}a");
        let subnet = format!("10.231.{}", id % 250);
        let far_end = format!("far{id}b");
        let run = |words: &str| {
            let status = Command::new("ip").args(words.split(' ')).stderr(Stdio::null()).status();
            status.is_ok_and(|status| status.success()).then_some(())
        };
        run(&format!("netns add {name}"))?;
        let network = Self { name, cable, far_end, address: format!("{subnet}.2") };
        let Self { name, cable, far_end, .. } = &network;
        run(&format!("link add {cable} type veth peer name {far_end} netns {name}"))?;
        run(&format!("addr add {subnet}.1/24 dev {cable}"))?;
        run(&format!("link set {cable} up"))?;
        run(&format!("-n {name} addr add {subnet}.2/24 dev {far_end}"))?;
        run(&format!("-n {name} link set {far_end} up"))?;
        Some(network)
    }

    fn serve(&self, folder: &TempDir) -> Child {
        let script = script(folder);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, "python3"]).arg(script).arg(&self.address);
        command.spawn().unwrap()
    }

    /// From here on nothing arrives, and nobody hears of it.
    fn cut(&self) {
        let words = ["-n", &self.name, "link", "set", &self.far_end, "down"];
        assert!(Command::new("ip").args(words).status().unwrap().success());
    }

    fn connections(&self) -> usize {
        connections_to(&format!("{}:8080", self.address))
    }
}

impl Drop for FarNetwork {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["link", "del", &self.cable]).status();
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

fn script(folder: &TempDir) -> PathBuf {
    let script = folder.path().join("far.py");
    fs::write(&script, SERVER).unwrap();
    script
}

/// Connections of this machine to another, or to a server on it.
fn connections_to(address: &str) -> usize {
    let filter = format!("dst {address}");
    let words = ["-Htn", "state", "established", &filter];
    let listed = Command::new("ss").args(words).output().unwrap();
    String::from_utf8_lossy(&listed.stdout).lines().count()
}

#[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn r_20_a_server_behind_a_dead_network_costs_a_call_its_deadline_and_no_more() {
    let Some(network) = FarNetwork::lay() else {
        skip::report(Requirement::Namespaces, "no network namespace can be made");
        return;
    };
    let folder = TempDir::new().unwrap();
    let mut server = network.serve(&folder);
    let url = format!("http://{}:8080/mcp", network.address);
    let far = json!({"url": url, "protocol": "2025-11-25", "defaults": {"timeout_ms": 2_000}});
    let config = json!({"servers": {"far": far}});
    let gateway = Gateway::start_in(folder, &config, |command| command).ready(&["far"]);
    assert!(gateway.call("far_say", &json!({})).contains("here"));
    assert!(network.connections() > 0, "a connection is kept");
    network.cut();
    let cut = now();
    let answer = gateway.call("far_say", &json!({}));
    assert!(!answer.contains("here"), "{answer}");
    assert!(cut.elapsed() < Duration::from_secs(10), "by its own deadline: {:?}", cut.elapsed());
    while network.connections() > 0 {
        assert!(cut.elapsed() < detection_limit(), "the dead connection is still kept");
        std::thread::sleep(Duration::from_millis(200));
    }
    let _ = server.kill();
    let _ = server.wait();
}

/// Stopped on its way out as well, or it would never end.
struct Stopped(Child);

impl Stopped {
    fn signal(&self, name: &str) {
        let words = [format!("-{name}"), self.0.id().to_string()];
        assert!(Command::new("kill").args(words).status().unwrap().success());
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Its kernel goes on to acknowledge every packet, so that no keep-alive of TCP notices.
#[test]
fn r_20_a_server_that_stands_still_is_noticed_and_used_again_when_it_goes_on() {
    // On an address of its own, so that its port is free.
    let address = format!("127.231.{}.2", std::process::id() % 250);
    let folder = TempDir::new().unwrap();
    let server = Command::new("python3").arg(script(&folder)).arg(&address).spawn().unwrap();
    let server = Stopped(server);
    let url = format!("http://{address}:8080/mcp");
    let far = json!({"url": url, "protocol": "2025-11-25", "defaults": {"timeout_ms": 2_000}});
    let config = json!({"servers": {"far": far}});
    let gateway = Gateway::start_in(folder, &config, |command| command).ready(&["far"]);
    assert!(gateway.call("far_say", &json!({})).contains("here"));
    let peer = format!("{address}:8080");
    assert!(connections_to(&peer) > 0, "a connection is kept");
    server.signal("STOP");
    let stopped = now();
    let answer = gateway.call("far_say", &json!({}));
    assert!(!answer.contains("here"), "{answer}");
    assert!(stopped.elapsed() < Duration::from_secs(10), "{:?}", stopped.elapsed());
    let is_offline = |gateway: &Gateway| {
        gateway.admin("GET /api/servers/far", "").contains("\"state\":\"offline\"")
    };
    while !is_offline(&gateway) {
        assert!(stopped.elapsed() < detection_limit(), "nobody notices");
        std::thread::sleep(Duration::from_millis(100));
    }
    eprintln!("R-20: noticed after {:?}", stopped.elapsed());
    server.signal("CONT");
    let again = now();
    while !gateway.call("far_say", &json!({})).contains("here") {
        assert!(again.elapsed() < Duration::from_secs(10), "it is not used again");
        std::thread::sleep(Duration::from_millis(50));
    }
    eprintln!("R-23: in service {:?} after it went on", again.elapsed());
}
