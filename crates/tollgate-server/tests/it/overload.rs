//! R: load shedding. Every request is answered in time, with `retry-after` if it was refused.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tollgate_core::rate::RateLimit;
use tollgate_core::turn::PrincipalGrant;
use tollgate_server::{ApiKey, Limits, MemoryGauge, MemoryLimit, Right, Rights};
use tollgate_testkit::ws::RawWebSocket;

use crate::client::{Call, Reply};
use crate::stage::{Setup, Stage, key};

async fn stage(limits: Limits, keys: &[&str]) -> Stage {
    let rights: Rights = [Right::Execute].into_iter().collect();
    let key = |name: &&str| key(name, &format!("{name}-0123456789abcdef"), rights);
    let keys = keys.iter().map(key).collect();
    Stage::with(Setup { limits, keys, ..Setup::default() }).await
}

fn waiting(stage: &Stage, ms: u64) -> Call {
    let body = json!({"name": "wait", "arguments": {"ms": ms}}).to_string();
    stage.post(body).path("/v1/tools/execute")
}

fn by(name: &str, call: Call) -> Call {
    call.header("x-api-key", &format!("{name}-0123456789abcdef"))
}

/// How often each status came. Who is turned away is told when to come back.
fn count_all(replies: &[Reply]) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for reply in replies {
        *counts.entry(reply.status).or_default() += 1;
        let seconds = reply.header("retry-after").and_then(|it| it.parse::<u64>().ok());
        let is_refused = matches!(reply.status, 429 | 503);
        assert_eq!(seconds.is_some_and(|it| it > 0), is_refused, "{reply:?}");
    }
    counts
}

#[tokio::test]
async fn r_08_ten_times_too_many_are_all_answered_and_then_all_is_well_again() {
    let stage = stage(Limits { in_flight: 8, ..Limits::default() }, &[]).await;
    // Nobody leaves before all have come.
    let params = json!({"name": "wait", "arguments": {"ms": 2_000}});
    let plain = (0..60).map(|_| waiting(&stage, 2_000).send());
    let mcp = (0..60).map(|_| stage.modern("tools/call", params.clone()).send());
    let (plain, mcp) = tokio::join!(join_all(plain), join_all(mcp));
    let all: Vec<Reply> = plain.into_iter().chain(mcp).collect();
    let counts = count_all(&all);
    assert!(counts.keys().all(|status| [200, 503].contains(status)), "{counts:?}");
    assert!(counts[&200] >= 8 && counts[&503] >= 60, "{counts:?}");
    let refused = all.iter().filter(|it| it.status == 503);
    let on_mcp = refused.filter(|it| it.text.contains("jsonrpc"));
    assert!(on_mcp.clone().count() > 0);
    assert!(on_mcp.into_iter().all(|it| it.brief() == "503 -32603"));
    let after = join_all((0..8).map(|_| waiting(&stage, 1).send())).await;
    assert_eq!(count_all(&after), BTreeMap::from([(200, 8)]));
}

#[tokio::test]
async fn r_10_a_greedy_key_does_not_slow_down_another() {
    let limits = Limits { per_key: 4, ..Limits::default() };
    let stage = stage(limits, &["greedy", "modest"]).await;
    let greedy = join_all((0..100).map(|_| by("greedy", waiting(&stage, 2_000)).send()));
    let modest = async {
        let mut replies = Vec::new();
        for _ in 0..20 {
            replies.push(by("modest", waiting(&stage, 5)).send().await);
        }
        replies
    };
    let (greedy, modest) = tokio::join!(greedy, modest);
    assert_eq!(count_all(&modest), BTreeMap::from([(200, 20)]));
    let counts = count_all(&greedy);
    assert!(counts.keys().all(|status| [200, 429].contains(status)), "{counts:?}");
    assert!(counts[&429] > 50, "{counts:?}");
    let mcp = by("greedy", stage.modern("tools/list", json!({}))).send().await;
    assert_eq!(mcp.brief(), "200 ok", "there is room again");
}

#[tokio::test]
async fn r_09_listening_takes_no_room_but_a_call_that_tells_its_progress_does() {
    let stage = stage(Limits { in_flight: 1, ..Limits::default() }, &[]).await;
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = stage.modern("subscriptions/listen", listen.clone()).stream().await;
        assert!(stream.next().await.is_some(), "acknowledged");
        streams.push(stream);
    }
    assert_eq!(waiting(&stage, 1).send().await.status, 200);
    let streamed = waiting(&stage, 2_000).set("accept", "text/event-stream");
    let other = async {
        stage.call_tool(2).await;
        waiting(&stage, 1).send().await
    };
    let (streamed, other) = tokio::join!(streamed.send(), other);
    assert_eq!((streamed.status, other.status), (200, 503));
    assert_eq!(waiting(&stage, 1).send().await.status, 200);
}

#[tokio::test]
async fn r_09_one_operator_has_only_a_few_event_streams() {
    const MAX_IN_FLIGHT: usize = 16;
    let stage = stage(Limits::default(), &[]).await;
    let ask = |path: &str| stage.request("GET", path).by_admin();
    let mut streams = Vec::new();
    for number in 0..MAX_IN_FLIGHT {
        let path = if number % 2 == 0 { "/api/events?calls=true" } else { "/api/audit/tail" };
        streams.push(ask(path).stream().await);
    }
    for path in ["/api/events", "/api/audit/tail"] {
        let refused = ask(path).send().await;
        assert_eq!(refused.status, 429, "{path}: {refused:?}");
        assert!(refused.text.contains("too_many_at_once"), "{path}: {refused:?}");
    }
    assert_eq!(waiting(&stage, 1).send().await.status, 200, "calls go on");
    // One that ends makes room for another.
    streams.pop();
    let mut tries = 0;
    while ask("/api/events").status().await != 200 {
        tries += 1;
        assert!(tries < 500, "no room");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Says what the test wants to be in use, in percent.
struct Percent {
    used: AtomicU64,
    /// How often somebody looked.
    looks: AtomicU64,
}

impl MemoryGauge for Percent {
    fn resident_bytes(&self) -> Option<u64> {
        // Counted first: a look that is counted after a change sees it.
        self.looks.fetch_add(1, Ordering::SeqCst);
        Some(self.used.load(Ordering::SeqCst) << 20)
    }
}

impl Percent {
    fn new(percent: u64) -> Self {
        Self { used: AtomicU64::new(percent), looks: AtomicU64::new(0) }
    }

    /// Until the gateway has acted on it: it is done with one look when the next one begins.
    async fn set(&self, percent: u64) {
        self.used.store(percent, Ordering::SeqCst);
        let before = self.looks.load(Ordering::SeqCst);
        let acted = async {
            while self.looks.load(Ordering::SeqCst) < before + 2 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), acted).await.expect("looked at in time");
    }
}

/// Whether a connection was closed unheard.
async fn is_closed(stream: &mut TcpStream, query: &str) -> bool {
    let _ = stream.write_all(query.as_bytes()).await;
    let mut byte = [0; 1];
    let read = tokio::time::timeout(Duration::from_secs(30), stream.read(&mut byte)).await;
    matches!(read.expect("heard or closed"), Ok(0) | Err(_))
}

#[tokio::test]
async fn r_11_memory_runs_out_in_steps_and_the_gateway_lives_through_all_of_them() {
    let used = Arc::new(Percent::new(10));
    let memory = MemoryLimit::with_gauge(100 << 20, Arc::<Percent>::clone(&used));
    let stage = stage(Limits { memory, ..Limits::default() }, &[]).await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let healthy = async || assert_eq!(stage.request("GET", "/healthz").status().await, 200);
    let ready = async || stage.request("GET", "/readyz").status().await;

    used.set(85).await;
    healthy().await;
    assert_eq!(ready().await, 200);
    assert_eq!(waiting(&stage, 1).send().await.status, 200);
    let socket = RawWebSocket::dial(stage.address, "/v1/realtime?model=voice", &[]).await;
    assert_eq!(socket.err().map(|refused| refused.status), Some(503), "no sessions begin");
    let refused = stage.modern("subscriptions/listen", listen.clone()).send().await;
    assert_eq!(refused.brief(), "503 -32603");
    for path in ["/api/events", "/api/audit/tail"] {
        assert_eq!(stage.request("GET", path).by_admin().send().await.status, 503, "{path}");
    }
    let idle = session.call(1, "tools/list", &json!({})).send().await;
    assert_eq!(idle.status, 404, "idle sessions have ended");

    used.set(92).await;
    healthy().await;
    assert_eq!(ready().await, 503);
    let refused = waiting(&stage, 1).send().await;
    assert_eq!(count_all(&[refused]), BTreeMap::from([(503, 1)]));

    used.set(99).await;
    healthy().await;
    assert_eq!(ready().await, 503);
    // Whoever begins a request is closed unheard; a probe is answered however it is written.
    for _ in 0..40 {
        let mut stream = TcpStream::connect(stage.address).await.unwrap();
        let query = format!("GET /v1/tools HTTP/1.1\r\nHost: {}\r\n\r\n", stage.address);
        assert!(is_closed(&mut stream, &query).await);
        healthy().await;
    }
    let mut old = TcpStream::connect(stage.address).await.unwrap();
    let query = format!("GET /healthz HTTP/1.0\r\nHost: {}\r\n\r\n", stage.address);
    assert!(!is_closed(&mut old, &query).await, "a probe of HTTP/1.0 is heard");

    used.set(20).await;
    healthy().await;
    assert_eq!(ready().await, 200);
    assert_eq!(waiting(&stage, 1).send().await.status, 200);
    assert!(stage.modern("subscriptions/listen", listen).stream().await.next().await.is_some());
}

/// The beginning of a body that is not sent to its end.
async fn upload(stage: &Stage, bytes: usize) -> TcpStream {
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    let head = format!(
        "POST /v1/tools/execute HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
         content-length: {bytes}\r\n\r\n",
        stage.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b' '; bytes / 2]).await.unwrap();
    stream
}

/// How a connection on which nothing is to be heard ends, if it does soon.
async fn ending(stream: &mut TcpStream) -> Option<std::io::ErrorKind> {
    let read = tokio::time::timeout(Duration::from_millis(300), stream.read_u8()).await;
    read.ok().map(|read| read.expect_err("nothing is to be heard").kind())
}

#[tokio::test]
async fn r_11_at_95_percent_the_streams_that_hold_most_are_reset_and_the_others_go_on() {
    let used = Arc::new(Percent::new(10));
    let memory = MemoryLimit::with_gauge(100 << 20, Arc::<Percent>::clone(&used));
    let stage = stage(Limits { memory, ..Limits::default() }, &[]).await;
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let mut listening = stage.modern("subscriptions/listen", listen).stream().await;
    assert!(listening.next().await.is_some());
    let mut small = upload(&stage, 100 << 10).await;
    let mut middle = upload(&stage, 1 << 20).await;
    let mut big = upload(&stage, 4 << 20).await;
    used.set(94).await;
    for stream in [&mut small, &mut middle, &mut big] {
        assert_eq!(ending(stream).await, None);
    }
    let resets = async || {
        let page = stage.request("GET", "/metrics").by_admin().send().await.text;
        let name = "tollgate_connections_reset_total ";
        let line = page.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().parse::<u32>().unwrap()
    };
    used.set(96).await;
    for stream in [&mut big, &mut middle] {
        let ended = tokio::time::timeout(Duration::from_secs(20), stream.read_u8()).await;
        let error = ended.expect("it ends").expect_err("nothing is to be heard");
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    used.set(20).await;
    assert_eq!(ending(&mut small).await, None, "it holds next to nothing");
    assert_eq!(resets().await, 2);
    listening.silent().await;
    assert_eq!(waiting(&stage, 1).send().await.status, 200);
    let mut again = upload(&stage, 4 << 20).await;
    assert_eq!(ending(&mut again).await, None);
}

#[tokio::test]
async fn s_33_a_key_that_calls_too_often_is_told_when_to_come_back_on_every_front() {
    let rights: Rights = [Right::Execute].into_iter().collect();
    let limit = RateLimit { calls: 2, per: Duration::from_secs(3_600) };
    let grant = PrincipalGrant { rate_limit: Some(limit), ..PrincipalGrant::default() };
    let limited = ApiKey { grant, ..key("limited", "limited-0123456789abcdef", rights) };
    let stage = Stage::with(Setup { keys: vec![limited], ..Setup::default() }).await;
    for _ in 0..2 {
        assert_eq!(by("limited", waiting(&stage, 1)).send().await.status, 200);
    }
    let refused = by("limited", waiting(&stage, 1)).send().await;
    assert_eq!(refused.status, 429);
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1_700..=1_800).contains(&seconds), "{seconds}");
    let outcome = refused.json();
    assert_eq!(outcome["status"], "rate_limited");
    assert_eq!(outcome["retryable"], true);
    assert!(outcome["retry_hint"].as_str().unwrap().starts_with("try again in 1"));
    let echo = json!({"name": "echo", "arguments": {"text": "x"}});
    let mcp = by("limited", stage.modern("tools/call", echo)).send().await;
    assert_eq!(mcp.brief(), "200 failed", "the model can read it");
    assert!(mcp.text.contains("you may call 2 times in an hour; try again in"), "{}", mcp.text);
    assert_eq!(by("limited", stage.modern("tools/list", json!({}))).send().await.status, 200);
    assert_eq!(stage.calls(), 2, "no other reached a tool");
}
