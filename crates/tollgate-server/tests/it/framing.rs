//! B-HH: malformed HTTP as raw bytes. The rest of a refused request is never parsed as another
//! request, and the server keeps serving.

use serde_json::json;

use crate::client::{raw, raw_until};
use crate::stage::Stage;

/// Status codes of all answers on the connection.
pub(crate) fn statuses(answer: &str) -> Vec<u16> {
    let lines = answer.split("HTTP/1.").skip(1);
    lines.filter_map(|line| line.get(2..5)?.parse().ok()).collect()
}

pub(crate) async fn check(stage: &Stage, request: &str, expected: &[u16]) {
    let request = request.replace("HOST", &stage.address.to_string());
    let answer = raw_until(stage.address, request.as_bytes(), expected.len()).await;
    let start: String = request.chars().take(120).collect();
    assert_eq!(statuses(&answer), expected, "{start:?} -> {answer:.300}");
}

pub(crate) async fn still_works(stage: &Stage) {
    assert_eq!(stage.request("GET", "/healthz").send().await.status, 200);
}

pub(crate) const HIDDEN: &str = "GET /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n";

#[tokio::test]
async fn s_09_b_hh_01_to_06_lengths_that_disagree_never_make_a_second_request() {
    let stage = Stage::start().await;
    let post = "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n";
    for (headers, body) in [
        (format!("Content-Length: 5\r\n{chunked}\r\n"), format!("0\r\n\r\n{HIDDEN}")),
        (format!("{chunked}Content-Length: 5\r\n\r\n"), format!("0\r\n\r\n{HIDDEN}")),
    ] {
        let answer = raw(
            stage.address,
            format!("{post}{headers}{body}").replace("HOST", &stage.address.to_string()).as_bytes(),
        )
        .await;
        assert_eq!(statuses(&answer), [400], "one answer, then closed: {answer}");
    }
    for headers in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 5,6\r\n",
        "Content-Length: 18446744073709551616\r\n",
        "Content-Length: 0x5\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked;q=1\r\n",
        "Content-Length : 5\r\n",
        "Content-Length: 5\r\n folded: x\r\n",
        "X: a\0b\r\n",
        "X\u{e9}: 1\r\n",
        "X Y: 1\r\n",
    ] {
        check(&stage, &format!("{post}{headers}\r\nhello{HIDDEN}"), &[400]).await;
    }
    let old = "POST /mcp HTTP/1.0\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    check(&stage, &format!("{old}{HIDDEN}"), &[400]).await;
    still_works(&stage).await;
}

#[tokio::test]
async fn b_hh_05_broken_chunks_end_the_connection() {
    let stage = Stage::start().await;
    let post = "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    let extension = format!("5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(1 << 20));
    for body in
        ["FFFFFFFFFFFFFFFF\r\n", "FFFFFFFFFFFFFFFFF\r\n", "-1\r\n", "5\nhello\n0\n\n", &extension]
    {
        let request = format!("{post}{body}{HIDDEN}").replace("HOST", &stage.address.to_string());
        // What waits for the rest of a chunk says nothing.
        let answer = raw_until(stage.address, request.as_bytes(), 0).await;
        assert!(!statuses(&answer).contains(&200), "{body:.20}: {answer}");
    }
    still_works(&stage).await;
}

#[tokio::test]
async fn b_hh_07_odd_targets_reach_nothing() {
    let stage = Stage::start().await;
    let long = format!("/{}", "a".repeat(64 << 10));
    for (line, expected) in [
        ("GET  /healthz HTTP/1.1", 400),
        ("GET http://evil.com/healthz HTTP/1.1", 400),
        ("GET http://HOST/healthz HTTP/1.1", 200),
        ("GET //healthz HTTP/1.1", 404),
        ("GET /%2e%2e/healthz HTTP/1.1", 404),
        ("GET /mcp/../healthz HTTP/1.1", 404),
        ("GET /healthz%00 HTTP/1.1", 404),
        ("GET /healthz/ HTTP/1.1", 404),
        ("GET /HEALTHZ HTTP/1.1", 404),
        ("DELETE /healthz HTTP/1.1", 405),
        ("OPTIONS * HTTP/1.1", 404),
        ("GET /healthz HTTP/9.9", 400),
        ("\0\0\0", 400),
    ] {
        check(&stage, &format!("{line}\r\nHost: HOST\r\nConnection: close\r\n\r\n"), &[expected])
            .await;
    }
    let answer = raw(stage.address, format!("GET {long} HTTP/1.1\r\n\r\n").as_bytes()).await;
    assert!(matches!(*statuses(&answer), [414 | 431]), "{answer}");
    still_works(&stage).await;
}

#[tokio::test]
async fn s_08_b_hh_08_and_09_foreign_hosts_and_origins_are_turned_away_on_every_path() {
    let stage = Stage::start().await;
    for path in ["/mcp", "/mcp/status", "/v1/tools", "/healthz", "/readyz", "/nothing", "/metrics"]
    {
        for (headers, expected) in [
            ("Host: evil.com\r\n", 403),
            ("Host: 127.0.0.1.evil.com\r\n", 403),
            ("Host: a/b\r\n", 400),
            ("Host: HOST\r\nHost: HOST\r\n", 400),
            ("", 400),
            ("Host: HOST\r\nOrigin: null\r\n", 403),
            ("Host: HOST\r\nOrigin: http://evil.com\r\n", 403),
            ("Host: HOST\r\nOrigin: http://localhost.evil\r\n", 403),
        ] {
            let request = format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
            check(&stage, &request, &[expected]).await;
        }
    }
}

#[tokio::test]
async fn b_hh_10_headers_are_bounded_in_size_and_number() {
    let stage = Stage::start().await;
    let many: String = (0..10_000).map(|at| format!("X-{at}: 1\r\n")).collect();
    let large = format!("X: {}\r\n", "x".repeat(1 << 20));
    for headers in [many, large] {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: HOST\r\n{headers}\r\n");
        let answer = raw_until(stage.address, request.as_bytes(), 0).await;
        assert!(!statuses(&answer).contains(&200), "{answer:.100}");
    }
    still_works(&stage).await;
}

#[tokio::test]
async fn s_10_b_hh_11_odd_credentials_are_only_text() {
    let stage = Stage::start().await;
    for value in ["", "bearer", "Bearer ' OR 1=1--", "Bearer x ", "Basic Og==", "\u{e9}"] {
        let once = format!("Host: HOST\r\nConnection: close\r\nAuthorization: {value}\r\n");
        let make_request = |headers: &str| format!("GET /v1/tools HTTP/1.1\r\n{headers}\r\n");
        check(&stage, &make_request(&once), &[200]).await;
        let twice = format!("{once}Authorization: twice\r\n");
        check(&stage, &make_request(&twice), &[400]).await;
    }
}

#[tokio::test]
async fn b_hh_12_to_14_only_plain_json_is_taken() {
    let stage = Stage::start().await;
    let list = || stage.modern("tools/list", json!({}));
    for (call, expected) in [
        (list().set("content-type", "text/plain"), 415),
        (list().without("content-type"), 415),
        (list().set("content-type", "application/json; charset=utf-7"), 415),
        (list().set("content-type", "multipart/form-data; boundary=x"), 415),
        (list().header("content-encoding", "gzip"), 415),
        (list().header("content-encoding", "br"), 415),
        (list().set("accept", "*/*;q=0"), 406),
        (list().set("accept", "text/html"), 406),
        (list().set("accept", "application/json"), 200),
        (list().without("accept"), 200),
    ] {
        let reply = call.send().await;
        assert_eq!(reply.status, expected, "{reply:?}");
        assert_eq!(reply.json()["jsonrpc"], "2.0");
    }
}

#[tokio::test]
async fn b_hh_17_nobody_is_upgraded() {
    let stage = Stage::start().await;
    let upgrade = "GET /healthz HTTP/1.1\r\nHost: HOST\r\nUpgrade: h2c\r\n\
                   HTTP2-Settings: AAMAAABkAAQAAP__\r\nConnection: Upgrade, HTTP2-Settings\r\n\
                   Range: bytes=0-1\r\n\r\n";
    let request = upgrade.replace("HOST", &stage.address.to_string());
    let answer = raw(stage.address, request.as_bytes()).await;
    assert_eq!(statuses(&answer), [200]);
    let answer = raw_until(stage.address, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0).await;
    assert!(!answer.contains("200"), "{answer}");
    still_works(&stage).await;
}

#[tokio::test]
async fn b_hh_19_a_thousand_pipelined_requests_are_answered_in_order() {
    let stage = Stage::start().await;
    let request = HIDDEN.replace("HOST", &stage.address.to_string());
    let answer = raw_until(stage.address, request.repeat(1_000).as_bytes(), 1_000).await;
    assert_eq!(statuses(&answer), vec![200; 1_000]);
}
