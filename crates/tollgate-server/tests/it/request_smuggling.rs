//! S-09: request smuggling, as raw bytes. After each request comes another one that calls a tool;
//! if that one reaches a server, smuggling has worked.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::raw;
use crate::framing::statuses;
use crate::stage::{Setup, Stage};
use crate::upstream::Upstream;

/// The request that must not be seen: whole and good, were it not behind another one.
const SMUGGLED: &str = "POST /v1/tools/execute HTTP/1.1\r\nHost: HOST\r\n\
    Content-Type: application/json\r\nContent-Length: 42\r\n\r\n\
    {\"name\": \"up_count\", \"arguments\": {}}     ";

/// What comes between `Host` and the end of the head, and the body behind it.
const HEADS: &[(&str, &str)] = &[
    // Two lengths, or two kinds of them.
    ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
    ("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    ("Content-Length: 5\r\nContent-Length: 0\r\n", "hello"),
    ("Content-Length: 0\r\nContent-Length: 5\r\n", "hello"),
    ("Content-Length: 5, 0\r\n", "hello"),
    ("Content-Length: 0, 5\r\n", "hello"),
    ("Content-Length: -5\r\n", "hello"),
    ("Content-Length: +5\r\n", "hello"),
    ("Content-Length: 0x5\r\n", "hello"),
    ("Content-Length: 5 5\r\n", "hello"),
    ("Content-Length: 5;\r\n", "hello"),
    ("Content-Length: five\r\n", "hello"),
    ("Content-Length:\r\n", "hello"),
    ("Content-Length: 18446744073709551621\r\n", "hello"),
    ("Content-Length: 99999999999999999999999\r\n", "hello"),
    // Codings that are not `chunked`, once.
    ("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: identity, chunked\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: chunkedx\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked;a=b\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: x\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: identity\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: ,chunked\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"),
    // Names and lines that one party takes for a header and another does not.
    ("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
    ("Content-Length : 0\r\n", "hello"),
    (" Content-Length: 0\r\n", "hello"),
    ("X: 1\r\n Content-Length: 0\r\n", "hello"),
    ("X: 1\r\n\tTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    ("X: a\0b\r\nContent-Length: 0\r\n", ""),
    ("X: a\rContent-Length: 0\r\n", "hello"),
    ("Content\u{e9}-Length: 0\r\n", "hello"),
    ("Content Length: 0\r\n", "hello"),
    ("NoColon\r\nContent-Length: 0\r\n", ""),
    ("Transfer-Encoding\u{b}: chunked\r\n", "0\r\n\r\n"),
];

/// Chunks whose length two parties could read in two ways. The head before them is good.
const CHUNKS: &[&str] = &[
    "0x5\r\nhello\r\n0\r\n\r\n",
    "+5\r\nhello\r\n0\r\n\r\n",
    "-5\r\nhello\r\n0\r\n\r\n",
    "5 5\r\nhello\r\n0\r\n\r\n",
    "FFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n",
    "5\nhello\n0\n\n",
    "5\r\nhelloX0\r\n\r\n",
    "5\rhello\r0\r\r",
    "\r\n0\r\n\r\n",
    "z\r\n0\r\n\r\n",
];

fn corpus() -> Vec<String> {
    let post = "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n";
    let heads = HEADS.iter().map(|(headers, body)| format!("{post}{headers}\r\n{body}"));
    let chunks =
        CHUNKS.iter().map(|body| format!("{post}Transfer-Encoding: chunked\r\n\r\n{body}"));
    // HTTP/1.0 knows no chunks; a body that nobody announced; a target with a line in it.
    let others = [
        "POST /mcp HTTP/1.0\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nHost: evil.com\r\nContent-Length: 0\r\n\r\n",
        "POST /mcp\r\nHost: HOST\r\n\r\n",
        "POST /mcp HTTP/1.1 HTTP/1.1\r\nHost: HOST\r\n\r\n",
        "POST http://evil.com/mcp HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n",
    ];
    heads.chain(chunks).chain(others.map(str::to_owned)).collect()
}

/// Everything that comes until the connection ends, or nothing does for a moment.
async fn exchange(stage: &Stage, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn s_09_no_server_ever_sees_a_request_that_hid_behind_another() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    let host = stage.address.to_string();
    let smuggled = SMUGGLED.replace("HOST", &host);
    // The bait is good: alone it reaches the server.
    assert_eq!(statuses(&raw(stage.address, smuggled.as_bytes()).await), [200]);
    assert_eq!(up.script.calls.lock().len(), 1);
    let corpus = corpus();
    assert!(corpus.len() >= 40, "{}", corpus.len());
    for request in corpus {
        let bytes = format!("{}{smuggled}", request.replace("HOST", &host));
        let answer = exchange(&stage, bytes.as_bytes()).await;
        let statuses = statuses(&answer);
        assert!(statuses.len() <= 1, "two answers: {request:?} -> {answer}");
        assert!(statuses.iter().all(|status| *status >= 400), "{request:?} -> {answer}");
        assert_eq!(up.script.calls.lock().len(), 1, "smuggled: {request:?}");
    }
    assert_eq!(stage.calls(), 0, "nor did a tool in process");
}
