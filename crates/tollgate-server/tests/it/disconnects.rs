//! a client that disconnects cancels its calls within 100 ms and leaks nothing, on every
//! front.

use std::io::Write as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tollgate_engine::clock::{Clock as _, SystemClock};

use crate::chat::agent;
use crate::client::Call;
use crate::live_sessions::{self, Theatre};
use crate::model::Model;
use crate::stage::{Setup, Stage};
use crate::upstream::Upstream;

/// In the middle of many; one of them may meet a busy machine.
const SOON: Duration = Duration::from_millis(100);
const LONG: u64 = 50_000;

fn now() -> Instant {
    SystemClock.now()
}

fn wait() -> Value {
    json!({"name": "wait", "arguments": {"ms": LONG}})
}

async fn until(mut holds: impl FnMut() -> bool) {
    let reached = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), reached).await.expect("in time");
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took[took.len() / 2]
}

/// How long it takes until a tool in process notices that its client hung up.
async fn await_notice(stage: &Stage, call: Call) -> Duration {
    let before = stage.seen.cancelled.load(Ordering::SeqCst);
    let calls = stage.calls();
    tokio::select! {
        reply = call.send() => panic!("it did not wait: {reply:?}"),
        () = stage.call_tool(calls + 1) => {}
    }
    let at = now();
    until(|| stage.seen.cancelled.load(Ordering::SeqCst) > before).await;
    now().duration_since(at)
}

/// Of a stage with an agent that calls `wait` when it is asked.
async fn stage() -> (Model, Stage) {
    tollgate_testkit::worker();
    let model = Model::saying(|_| format!("hold on\n!wait {{\"ms\": {LONG}}}")).await;
    let setup =
        Setup { models: model.settings(), agents: vec![agent(&["wait"])], ..Setup::default() };
    let stage = Stage::with(setup).await;
    (model, stage)
}

/// Every way to have `wait` called over HTTP.
fn ways(stage: &Stage) -> Vec<(&'static str, Call)> {
    let mut with_progress = wait();
    with_progress["_meta"] = json!({"progressToken": 1});
    let chat = |stream: bool| {
        let body = json!({"model": "sage", "stream": stream,
            "messages": [{"role": "user", "content": "hello"}]});
        stage.post(body.to_string()).path("/v1/chat/completions")
    };
    let program = json!({"code": format!("test.wait(ms={LONG})")});
    vec![
        ("REST", stage.post(wait().to_string()).path("/v1/tools/execute")),
        ("MCP", stage.modern("tools/call", wait())),
        ("MCP that may stream", stage.modern("tools/call", with_progress)),
        ("chat", chat(false)),
        ("chat stream", chat(true)),
        ("program", stage.post(program.to_string()).path("/v1/code")),
    ]
}

#[tokio::test]
async fn r_32_a_client_that_goes_is_noticed_within_100_ms_on_every_front() {
    let (_model, stage) = stage().await;
    for at in 0..ways(&stage).len() {
        let mut name = "";
        let mut took = Vec::new();
        for _ in 0..9 {
            let (way, call) = ways(&stage).swap_remove(at);
            name = way;
            took.push(await_notice(&stage, call).await);
        }
        let median = median(took);
        let _ = writeln!(std::io::stderr(), "{name}: {median:?}");
        assert!(median < SOON, "{name}: {median:?}");
    }
    assert_eq!(stage.seen.finished.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn r_32_a_server_that_streams_hears_of_it_within_100_ms() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    let mut took = Vec::new();
    for round in 0..9 {
        let hang = json!({"name": "up_hang", "arguments": {}, "_meta": {"progressToken": 1}});
        tokio::select! {
            reply = stage.modern("tools/call", hang).send() => panic!("it did not wait: {reply:?}"),
            () = until(|| up.script.calls.lock().len() > round) => {}
        }
        let at = now();
        until(|| up.script.cancelled.lock().len() > round).await;
        took.push(now().duration_since(at));
    }
    let median = median(took);
    let _ = writeln!(std::io::stderr(), "server: {median:?}");
    assert!(median < SOON, "{median:?}");
}

#[tokio::test]
async fn r_32_a_model_that_streams_is_hung_up_on_within_100_ms() {
    let provider = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let model = Model::calling(&[]).await;
    let mut models = model.settings();
    models.providers[0].base_url = Some(format!("http://{}/v1", provider.local_addr().unwrap()));
    let setup = Setup { models, agents: vec![agent(&[])], ..Setup::default() };
    let stage = Stage::with(setup).await;
    let mut took = Vec::new();
    for name in ["sage", "m"].into_iter().cycle().take(10) {
        let body = json!({"model": name, "stream": true,
            "messages": [{"role": "user", "content": "hello"}]});
        let call = stage.post(body.to_string()).path("/v1/chat/completions");
        let speaking = async {
            let (mut stream, _) = provider.accept().await.unwrap();
            let mut request = vec![0; 64 << 10];
            let _ = stream.read(&mut request).await.unwrap();
            let chunk = json!({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [{"index": 0, "delta": {"role": "assistant", "content": "hold on"}, "finish_reason": null}]});
            let event = format!("data: {chunk}\n\n");
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            let text = format!("{head}{:x}\r\n{event}\r\n", event.len());
            stream.write_all(text.as_bytes()).await.unwrap();
            stream
        };
        let (answer, mut provider) = tokio::join!(call.stream(), speaking);
        let at = now();
        drop(answer);
        let mut rest = Vec::new();
        let hung_up = provider.read_to_end(&mut rest);
        let _ = tokio::time::timeout(Duration::from_secs(30), hung_up).await.expect("hung up");
        took.push(now().duration_since(at));
    }
    let median = median(took);
    let _ = writeln!(std::io::stderr(), "model: {median:?}");
    assert!(median < SOON, "{median:?}");
}

#[tokio::test]
async fn r_32_a_live_session_whose_client_goes_is_ended_within_100_ms() {
    let agents = vec![live_sessions::agent("default", &["*"])];
    let theatre = Theatre::open(Setup { agents, ..Setup::default() }).await;
    let mut took = Vec::new();
    for round in 0..9 {
        let (client, mut provider) = theatre.session(&[]).await;
        provider.call("call_1", "wait", &json!({"ms": LONG})).await;
        theatre.stage.call_tool(round + 1).await;
        let at = now();
        drop(client);
        until(|| theatre.stage.seen.cancelled.load(Ordering::SeqCst) > round).await;
        took.push(now().duration_since(at));
    }
    let median = median(took);
    let _ = writeln!(std::io::stderr(), "live: {median:?}");
    assert!(median < SOON, "{median:?}");
}

#[tokio::test]
async fn r_32_a_thousand_clients_that_go_leave_nothing_behind() {
    let (_model, stage) = stage().await;
    let warm = ways(&stage);
    let tasks = tokio::runtime::Handle::current().metrics();
    for (_, call) in warm {
        await_notice(&stage, call).await;
    }
    let before = tasks.num_alive_tasks();
    let calls = stage.calls();
    // A program each ten, since each is a process.
    let gone = |at: usize| {
        let at = if at.is_multiple_of(10) { 5 } else { at % 5 };
        let (_, call) = ways(&stage).swap_remove(at);
        async move {
            let patience = Duration::from_millis(150 + 30 * (at as u64));
            let _ = tokio::time::timeout(patience, call.send()).await;
        }
    };
    stream::iter(0..1_000).map(gone).buffer_unordered(32).collect::<Vec<()>>().await;
    until(|| stage.gate.calls().in_flight() == 0).await;
    let seen = &stage.seen;
    until(|| {
        let ended = seen.cancelled.load(Ordering::SeqCst) + seen.finished.load(Ordering::SeqCst);
        ended == stage.calls()
    })
    .await;
    assert!(stage.calls() > calls + 50, "{} calls were under way", stage.calls() - calls);
    assert_eq!(seen.finished.load(Ordering::SeqCst), 0, "each was cancelled");
    until(|| tasks.num_alive_tasks() <= before).await;
    let page = stage.request("GET", "/metrics").by_admin().send().await.text;
    assert!(page.contains("\ntollgate_requests_in_flight 1\n"), "this one alone: {page}");
    let echo = json!({"name": "echo", "arguments": {"text": "x"}});
    assert_eq!(stage.modern("tools/call", echo).brief().await, "200 ok");
}
