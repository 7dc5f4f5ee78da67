//! R: clients that are slow, large or vanish, and handlers that panic. Each costs only itself.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tollgate_core::failpoint;
use tollgate_server::Limits;

use crate::stage::{Setup, Stage, Trail};
use crate::upstream::Upstream;

async fn still_works(stage: &Stage) {
    let params = json!({"name": "echo", "arguments": {"text": "hello"}});
    assert_eq!(stage.modern("tools/call", params).brief().await, "200 ok");
}

#[tokio::test]
async fn bodies_over_the_limit_are_refused_with_a_json_rpc_error() {
    let stage = Stage::start().await;
    let large = "x".repeat((16 << 20) + 1);
    let reply = stage.modern("tools/call", json!({})).body(large).send().await;
    assert_eq!(reply.brief(), "413 -32600");
    still_works(&stage).await;
}

#[tokio::test]
async fn r_12_slow_clients_cost_only_themselves() {
    let limits = Limits {
        header_timeout: Duration::from_millis(400),
        body_timeout: Duration::from_millis(400),
        ..Limits::default()
    };
    let stage = Stage::with(Setup { limits, ..Setup::default() }).await;
    let start = |text: &str| {
        let text = text.replace("HOST", &stage.address.to_string());
        let address = stage.address;
        async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(text.as_bytes()).await.unwrap();
            let mut answer = String::new();
            let end = stream.read_to_string(&mut answer);
            tokio::time::timeout(Duration::from_secs(30), end).await.expect("closed in time").ok();
            answer
        }
    };
    let head = "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n";
    let header = start("POST /mcp HTTP/1.1\r\nHost: HO");
    let body = start(&format!("{head}Content-Length: 100\r\n\r\n{{"));
    let expect = start(&format!("{head}Expect: 100-continue\r\nContent-Length: 100\r\n\r\n"));
    let honest = still_works(&stage);
    let (header, body, expect, ()) = tokio::join!(header, body, expect, honest);
    assert!(header.is_empty() || header.starts_with("HTTP/1.1 408"), "{header}");
    assert!(body.starts_with("HTTP/1.1 408"), "{body}");
    assert!(expect.contains("HTTP/1.1 408"), "{expect}");
}

#[tokio::test]
async fn r_32_a_modern_client_that_goes_away_cancels_its_call() {
    let stage = Stage::start().await;
    let wait = json!({"name": "wait", "arguments": {"ms": 5_000}});
    for arrived in 1..=5 {
        let call = stage.modern("tools/call", wait.clone()).send();
        tokio::select! {
            reply = call => panic!("it did not wait: {reply:?}"),
            () = stage.call_tool(arrived) => {}
        }
    }
    stage.reaches(&stage.seen.cancelled, 5).await;
    assert_eq!(stage.calls(), 5);
    still_works(&stage).await;
}

#[tokio::test]
async fn r_32_a_legacy_client_that_goes_away_does_not_but_one_that_cancels_does() {
    let stage = Stage::start().await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    let wait = |ms: u64| json!({"name": "wait", "arguments": {"ms": ms}});
    let call = session.call(1, "tools/call", &wait(600)).send();
    tokio::select! {
        reply = call => panic!("it did not wait: {reply:?}"),
        () = stage.call_tool(1) => {}
    }
    stage.reaches(&stage.seen.finished, 1).await;
    let call = session.call(2, "tools/call", &wait(5_000)).send();
    let cancel = async {
        stage.call_tool(2).await;
        let cancel = json!({"requestId": 2, "reason": "enough"});
        assert_eq!(session.notify("notifications/cancelled", &cancel).brief().await, "202");
    };
    let (reply, ()) = tokio::join!(call, cancel);
    assert_eq!(reply.brief(), "202", "nobody waits for an answer");
    stage.reaches(&stage.seen.cancelled, 1).await;
}

#[tokio::test]
async fn r_33_on_stop_running_calls_end_and_streams_say_goodbye() {
    let mut stage = Stage::start().await;
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let mut stream = stage.modern("subscriptions/listen", listen).stream().await;
    assert!(stream.next().await.is_some(), "acknowledged");
    let wait = json!({"name": "wait", "arguments": {"ms": 500}});
    let call = stage.modern("tools/call", wait).send();
    let stop = async {
        stage.call_tool(1).await;
        stage.stop.cancel();
        let last = stream.next().await.expect("a last word");
        assert_eq!(last["result"]["resultType"], "complete");
        let id = &last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(*id, 1);
        assert_eq!(stream.next().await, None);
    };
    let (reply, ()) = tokio::join!(call, stop);
    assert_eq!(reply.brief(), "200 ok");
    let ended = tokio::time::timeout(Duration::from_secs(30), stage.serving.wait()).await;
    assert!(ended.is_ok(), "the server is done");
    assert!(TcpStream::connect(stage.address).await.is_err(), "nobody listens");
}

async fn panics(stage: &Stage) -> u64 {
    let page = stage.request("GET", "/metrics").by_admin().send().await.text;
    let line = page.lines().find_map(|line| line.strip_prefix("tollgate_panics_total "));
    line.expect("a counter of panics").parse().unwrap()
}

#[tokio::test]
async fn r_34_a_tool_that_panics_costs_one_request() {
    let stage = Stage::start().await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    let boom = json!({"name": "boom", "arguments": {}});
    for round in 1..=3 {
        let modern = stage.modern("tools/call", boom.clone()).send().await;
        assert_eq!(modern.brief(), "200 failed", "{modern:?}");
        let legacy = session.call(1, "tools/call", &boom).send().await;
        assert_eq!(legacy.brief(), "200 failed", "{legacy:?}");
        let plain = stage.post(boom.to_string()).path("/v1/tools/execute").send().await;
        assert_eq!((plain.status, &plain.json()["status"]), (200, &json!("error")), "{plain:?}");
        assert_eq!(panics(&stage).await, 3 * round);
        still_works(&stage).await;
    }
    assert_eq!(stage.gate.calls().in_flight(), 0);
}

/// Every stage of a call, each kind of backend, and every front.
#[tokio::test]
async fn r_34_a_panic_in_any_stage_costs_one_request() {
    tollgate_testkit::worker();
    let up = Upstream::start().await;
    let stage = Stage::with(Setup {
        upstream: Some(up.address),
        trail: Trail::Recorded,
        ..Setup::default()
    })
    .await;
    let count = json!({"name": "up_count", "arguments": {}});
    let echo = json!({"name": "echo", "arguments": {"text": "x"}});
    let program = json!({"code": "test.echo(text=\"x\")"});
    let before = panics(&stage).await;
    let mut seen = 0;
    for (point, body, path) in [
        ("record", &echo, "/v1/tools/execute"),
        ("permit", &echo, "/v1/tools/execute"),
        ("admit", &echo, "/v1/tools/execute"),
        ("clear", &echo, "/v1/tools/execute"),
        ("plan", &echo, "/v1/tools/execute"),
        ("execute", &echo, "/v1/tools/execute"),
        ("builtin", &echo, "/v1/tools/execute"),
        ("upstream", &count, "/v1/tools/execute"),
        ("shape", &count, "/v1/tools/execute"),
        ("execute", &program, "/v1/code"),
        ("/v1/tools/execute", &echo, "/v1/tools/execute"),
        ("/v1/tools", &echo, "/v1/tools"),
        ("/v1/chat/completions", &echo, "/v1/chat/completions"),
        ("/v1/messages", &echo, "/v1/messages"),
        ("/mcp", &echo, "/mcp"),
        ("/api/keys", &echo, "/api/keys"),
        ("/api/events", &echo, "/api/events"),
        ("/v1/realtime", &echo, "/v1/realtime"),
    ] {
        failpoint::arm(point);
        let reply = stage.post(body.to_string()).path(path).by_admin().send().await;
        assert_eq!(reply.status, 500, "{point}: {reply:?}");
        let has_code = path == "/v1/tools/execute";
        assert!(!has_code || reply.text.contains("internal_error"), "{point}: {reply:?}");
        assert!(reply.text.contains("the gateway failed on this request"), "{point}: {reply:?}");
        seen += 1;
        assert_eq!(panics(&stage).await, before + seen, "{point}");
        still_works(&stage).await;
    }
    // A stream that has begun ends with an error, and nobody else's does.
    let mut other = stage.request("GET", "/api/events").by_admin().stream().await;
    failpoint::arm("stream /mcp");
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let reply = stage.modern("subscriptions/listen", listen).send().await;
    assert!(reply.text.contains("the gateway failed on this request"), "{reply:?}");
    assert_eq!(panics(&stage).await, before + seen + 1);
    other.silent().await;
    assert_eq!(stage.gate.calls().in_flight(), 0, "no seat is left");
    // More often than there is room for what a panic could have kept.
    for _ in 0..100 {
        failpoint::arm("execute");
        let reply = stage.post(echo.to_string()).path("/v1/tools/execute").send().await;
        assert_eq!(reply.status, 500);
    }
    still_works(&stage).await;
    let rows = stage.request("GET", "/api/audit?outcome=failed&limit=500").by_admin();
    let rows = rows.send().await.json()["rows"].as_array().unwrap().clone();
    assert!(rows.len() >= 100, "{}", rows.len());
    assert!(rows.iter().all(|row| row["detail"] == "a fault of the gateway (panic)"), "{rows:?}");
}
