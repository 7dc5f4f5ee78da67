//! Servers that are real children, each with its own way to misbehave.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tollgate_mcp::Revision;

use super::super::{Update, Upstream, UpstreamContext, UpstreamState, UpstreamStatus};
use super::fake::{call, server};
use crate::backend::BackendError;
use crate::clock::{Clock, SystemClock};
use crate::notices::Notices;
use crate::settings::{Server, ServerTransport, StdioCommand};

/// A legacy server in a few lines. A test puts its own behaviour before and inside it.
const SERVER: &str = r#"
import json, os, signal, sys, time
def say(message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
BEFORE
for line in sys.stdin:
    request = json.loads(line)
    method, id = request["method"], request.get("id")
    INSIDE
    if method == "initialize":
        asked = request["params"]["protocolVersion"]
        spoken = min(asked, "2025-06-18")
        say({"id": id, "result": {"protocolVersion": spoken, "capabilities": {"tools": {}}}})
    elif method == "tools/list":
        say({"id": id, "result": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        say({"id": id, "result": {"content": [], "pid": os.getpid()}})
    elif method == "ping":
        say({"id": id, "result": {}})
    elif id is not None:
        say({"id": id, "error": {"code": -32601, "message": "unknown"}})
"#;

struct Child {
    upstream: Arc<Upstream>,
    /// Held, so that the supervisor has somebody to tell.
    _updates: mpsc::Receiver<Update>,
}

impl Child {
    fn run(words: &[&str]) -> Self {
        Self::with(words, |_| {})
    }

    fn with(words: &[&str], change: impl FnOnce(&mut Server)) -> Self {
        let mut settings = server();
        let words = words.iter().map(|&word| word.to_owned()).collect();
        settings.transport = ServerTransport::Stdio(StdioCommand::new(words));
        settings.restart.backoff = Duration::from_millis(50);
        change(&mut settings);
        let (sender, updates) = mpsc::channel(64);
        let data = std::env::temp_dir();
        let context = UpstreamContext {
            clock: Arc::new(SystemClock),
            updates: sender,
            data,
            launcher: None,
            store: None,
            notices: Notices::default(),
        };
        Self { upstream: Upstream::start(settings, &context), _updates: updates }
    }

    fn python(before: &str, inside: &str) -> Self {
        let inside = inside.replace('\n', "\n    ");
        let script = SERVER.replace("BEFORE", before).replace("INSIDE", &inside);
        Self::run(&["python3", "-c", &script])
    }

    async fn until(&self, is_match: impl FnMut(&UpstreamStatus) -> bool) -> UpstreamStatus {
        let mut changes = self.upstream.changes();
        let reached =
            tokio::time::timeout(Duration::from_secs(30), changes.wait_for(is_match)).await;
        reached.unwrap_or_else(|_| panic!("stuck: {:?}", self.upstream.status())).unwrap().clone()
    }

    async fn ready(&self) -> UpstreamStatus {
        self.until(|status| status.state == UpstreamState::Ready).await
    }

    async fn down(&self) -> UpstreamStatus {
        self.until(is_down).await
    }

    async fn call(&self) -> Result<String, BackendError> {
        call(&self.upstream, "tools/call", r#"{"name":"echo","arguments":{}}"#).await
    }

    /// Stops it, and makes sure that nobody is left.
    async fn stop(self) {
        let pid = self.upstream.status().pid;
        self.upstream.stop().await;
        if let Some(pid) = pid {
            assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{pid} is left");
        }
    }
}

fn is_down(status: &UpstreamStatus) -> bool {
    matches!(status.state, UpstreamState::Offline | UpstreamState::Failed)
}

#[tokio::test]
async fn a_child_serves_and_is_gone_after_its_stop() {
    let child = Child::python("", "");
    let status = child.ready().await;
    assert_eq!((status.tools, status.revision), (1, Some(Revision::V2025_06_18)));
    let answer = child.call().await.unwrap();
    assert_eq!(answer, format!(r#"{{"content": [], "pid": {}}}"#, status.pid.unwrap()));
    child.stop().await;
}

#[tokio::test]
async fn b_io_01_a_server_that_exits_at_once_says_how_and_what() {
    let check = async |script: &str, expected: &str| {
        let child = Child::run(&["sh", "-c", script]);
        let expected = format!("{expected}, during the handshake");
        // A busy machine may show its end too late to be told; then a later start tells it.
        child.until(|it| is_down(it) && it.reason == expected).await;
        assert_eq!(child.upstream.logs().last().map_or("", String::as_str), last_words(script));
        assert!(matches!(child.call().await, Err(BackendError::Offline { .. })), "{script}");
        child.stop().await;
    };
    tokio::join!(
        check(
            "echo 'API_KEY is not set' >&2; exit 3",
            "exited with status 3; last line of stderr: API_KEY is not set",
        ),
        check("exit 0", "exited with status 0"),
        check("exit 137", "exited with status 137"),
        check(
            "kill -9 $$",
            "was killed by signal 9: the machine ran out of memory, or somebody killed it"
        ),
        check("read line; exit 0", "exited with status 0"),
    );
}

fn last_words(script: &str) -> &str {
    script.split('\'').nth(1).unwrap_or_default()
}

#[tokio::test]
async fn b_io_13_a_missing_program_is_a_clear_reason() {
    let child = Child::run(&["no-such-mcp-server"]);
    let status = child.down().await;
    assert_eq!(status.reason, "`no-such-mcp-server` was not found in PATH");
    child.stop().await;
}

#[tokio::test]
async fn b_io_2_r_18_banners_and_logs_between_answers_are_survived() {
    let child = Child::python(
        "print('Welcome to the server!'); print('\\x00\\xff{'); print()",
        "print('got ' + method, flush=True)",
    );
    let status = child.ready().await;
    child.call().await.unwrap();
    for _ in 0..25 {
        child.call().await.unwrap();
    }
    let status =
        child.until(|it| it.state == UpstreamState::Degraded && it.pid == status.pid).await;
    assert!(
        status.reason.ends_with("lines within a minute were not MCP messages"),
        "{}",
        status.reason
    );
    child.stop().await;
}

#[tokio::test]
async fn a_server_that_dies_of_the_probe_is_asked_the_old_way() {
    let inside = "if method == 'server/discover': sys.exit(9)";
    let child = Child::python("", inside);
    let status = child.ready().await;
    assert_eq!((status.restarts, status.revision), (0, Some(Revision::V2025_06_18)));
    child.stop().await;
}

#[tokio::test]
async fn r_14_a_crash_in_a_call_is_told_at_once_and_mended() {
    let inside = "if method == 'tools/call' and not os.environ.get('X'): os._exit(1)";
    let child = Child::python("", inside);
    let pid = child.ready().await.pid;
    let begun = SystemClock.now();
    let (one, other) = tokio::join!(child.call(), child.call());
    let took = SystemClock.now().duration_since(begun);
    assert!(matches!(one, Err(BackendError::Lost(_))), "{one:?}");
    assert!(matches!(other, Err(BackendError::Lost(_))), "{other:?}");
    assert!(took < Duration::from_secs(8), "nobody waits for the deadline: {took:?}");
    let status = child.down().await;
    assert!(status.reason.contains("exited with status 1") || status.reason.contains("ended"));
    let status = child.ready().await;
    assert_eq!((status.restarts, status.pid == pid), (1, false));
    assert_eq!(status.last_error.as_deref(), Some("exited with status 1"));
    child.stop().await;
}

#[tokio::test]
async fn b_io_8_b_io_11_servers_that_lose_their_output_are_replaced() {
    let closes = "if method == 'tools/call': os.close(1); time.sleep(60)";
    let forks = "if method == 'tools/call' and os.fork() != 0: os._exit(0)
if method == 'tools/call': time.sleep(60)";
    let check = async |inside: &str| {
        let child = Child::python("", inside);
        let pid = child.ready().await.pid.unwrap();
        assert!(matches!(child.call().await, Err(BackendError::Lost(_))));
        let status =
            child.until(|it| it.state == UpstreamState::Ready && it.pid != Some(pid)).await;
        assert_eq!(status.restarts, 1);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        child.stop().await;
    };
    tokio::join!(check(closes), check(forks));
}

#[tokio::test]
async fn b_io_10_b_io_12_r_15_a_server_that_stops_itself_is_replaced() {
    let inside = "if method == 'tools/call': os.kill(os.getpid(), signal.SIGSTOP)";
    let child = Child::python("", inside);
    let pid = child.ready().await.pid;
    for _ in 0..3 {
        let given_up = tokio::time::timeout(Duration::from_millis(250), child.call()).await;
        assert!(given_up.is_err());
    }
    let status = child.until(|it| it.state == UpstreamState::Ready && it.pid != pid).await;
    assert_eq!(status.last_error.as_deref(), Some("no answer to a ping within 3 s"));
    child.stop().await;
}

#[tokio::test]
async fn r_07_slow_and_dead_servers_cost_only_themselves() {
    let hanging: Vec<Child> = (0..5).map(|_| Child::run(&["sleep", "60"])).collect();
    let dead = Child::run(&["false"]);
    let good: Vec<Child> = (0..5).map(|_| Child::python("", "")).collect();
    for child in &good {
        child.ready().await;
        child.call().await.unwrap();
    }
    dead.down().await;
    for child in &hanging {
        assert_eq!(child.upstream.status().state, UpstreamState::Starting);
    }
    let all = hanging.into_iter().chain(good).chain([dead]);
    futures_util::future::join_all(all.map(Child::stop)).await;
}

#[tokio::test]
async fn a_restart_replaces_the_process() {
    let child = Child::python("", "");
    let before = child.ready().await.pid;
    assert!(child.upstream.restart().await);
    let after = child.until(|it| it.state == UpstreamState::Ready && it.pid != before).await;
    assert!(after.pid.is_some());
    child.call().await.unwrap();
    child.stop().await;
}
