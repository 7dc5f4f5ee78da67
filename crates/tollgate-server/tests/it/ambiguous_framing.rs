//! B-HH, case by case: requests that two HTTP parsers would split differently, as raw bytes. Bytes
//! after a refused request are never parsed as another request.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tollgate_server::Limits;

use crate::client::raw;
use crate::framing::{HIDDEN, check, statuses, still_works};
use crate::stage::{Setup, Stage};

const POST: &str = "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n";

/// Refused, and the connection closed before the hidden request.
async fn refusal_of(stage: &Stage, headers: &str, body: &str) {
    check(stage, &format!("{POST}{headers}\r\n{body}{HIDDEN}"), &[400]).await;
}

#[tokio::test]
async fn b_hh_02_two_lengths_that_differ_are_none() {
    let stage = Stage::start().await;
    for (first, second) in [("5", "6"), ("6", "5"), ("0", "5"), ("5", "0"), ("5", "x"), ("5", "")] {
        let headers = format!("Content-Length: {first}\r\nContent-Length: {second}\r\n");
        refusal_of(&stage, &headers, "hello").await;
        let apart = format!("Content-Length: {first}\r\nX: y\r\ncontent-LENGTH: {second}\r\n");
        refusal_of(&stage, &apart, "hello").await;
    }
    still_works(&stage).await;
}

#[tokio::test]
async fn b_hh_03_a_length_is_digits_and_nothing_else() {
    let stage = Stage::start().await;
    for length in [
        "-1",
        "-5",
        "+5",
        "5,6",
        "5 5",
        "0x5",
        "5.0",
        "5e0",
        "five",
        "",
        "18446744073709551616",
        "99999999999999999999999999",
    ] {
        refusal_of(&stage, &format!("Content-Length: {length}\r\n"), "hello").await;
    }
    // The same length twice is one length; the five bytes are a body, and no more than that.
    let same = format!("{POST}Content-Length: 5, 5\r\n\r\nhello{HIDDEN}");
    let same = same.replace("HOST", &stage.address.to_string());
    let answered = statuses(&raw(stage.address, same.as_bytes()).await);
    assert!([&[400][..], &[400, 200]].contains(&&*answered), "{answered:?}");
    still_works(&stage).await;
}

#[tokio::test]
async fn b_hh_04_the_only_transfer_encoding_is_chunked() {
    let stage = Stage::start().await;
    let body = "5\r\nhello\r\n0\r\n\r\n";
    for coding in [
        "chunked, identity",
        "xchunked",
        "identity",
        "gzip, chunked, gzip",
        "chunked;q=1",
        "\"chunked\"",
        "chunked\u{b}",
        "",
        "chunked, chunked, x",
    ] {
        refusal_of(&stage, &format!("Transfer-Encoding: {coding}\r\n"), body).await;
    }
    for odd in [
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding\r\n",
        " Transfer-Encoding: chunked\r\n",
    ] {
        refusal_of(&stage, odd, body).await;
    }
    // Blanks of any kind around a value mean nothing: this is one body, then another request.
    let tab = format!("{POST}Transfer-Encoding:\tchunked\t\r\n\r\n{body}{HIDDEN}");
    check(&stage, &tab, &[400, 200]).await;
    still_works(&stage).await;
}

#[tokio::test]
async fn b_hh_06_the_old_http_has_no_chunks() {
    let stage = Stage::start().await;
    for more in ["", "Content-Length: 5\r\n", "Connection: keep-alive\r\n"] {
        let old = POST.replace("HTTP/1.1", "HTTP/1.0");
        let body = "5\r\nhello\r\n0\r\n\r\n";
        let request = format!("{old}{more}Transfer-Encoding: chunked\r\n\r\n{body}{HIDDEN}");
        check(&stage, &request, &[400]).await;
    }
    still_works(&stage).await;
}

#[tokio::test]
async fn b_hh_09_an_origin_is_one_of_ours_or_refused() {
    let stage = Stage::start().await;
    for (origin, expected) in [
        ("null", 403),
        ("", 403),
        ("*", 403),
        ("http://localhost, http://evil.com", 403),
        ("http://localhost http://evil.com", 403),
        ("http://evil.com http://localhost", 403),
        ("http://localhost.evil.com", 403),
        ("http://localhost@evil.com", 403),
        ("http://evil.com#localhost", 403),
        ("http://localhost\\.evil.com", 403),
        ("http://l\u{f6}calhost", 403),
        ("http://xn--lcalhost-90a", 403),
        ("http://\u{ff4c}ocalhost", 403),
        ("http://localhost.", 403),
        ("http://127.1", 403),
        ("http://2130706433", 403),
        ("file://localhost", 403),
        ("HTTP://LocalHosT", 200),
        ("https://LocalHost:8443", 200),
        ("http://[::1]:3000", 200),
    ] {
        let request = format!(
            "GET /healthz HTTP/1.1\r\nHost: HOST\r\nOrigin: {origin}\r\nConnection: close\r\n\r\n"
        );
        check(&stage, &request, &[expected]).await;
    }
    let twice = "GET /healthz HTTP/1.1\r\nHost: HOST\r\nOrigin: http://localhost\r\n\
                 Origin: http://localhost\r\nConnection: close\r\n\r\n";
    check(&stage, twice, &[403]).await;
}

#[tokio::test]
async fn b_hh_15_who_asks_to_continue_and_says_nothing_is_let_go() {
    let limits = Limits { body_timeout: Duration::from_millis(200), ..Limits::default() };
    let stage = Stage::with(Setup { limits, ..Setup::default() }).await;
    let silent = |expect: &str, length: &str| {
        let head = format!("{POST}Expect: {expect}\r\nContent-Length: {length}\r\n\r\n");
        let head = head.replace("HOST", &stage.address.to_string());
        let address = stage.address;
        async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut answer = String::new();
            let end = stream.read_to_string(&mut answer);
            tokio::time::timeout(Duration::from_secs(30), end).await.expect("let go").ok();
            answer
        }
    };
    let (usual, odd, huge, ()) = tokio::join!(
        silent("100-continue", "100"),
        silent("200-maybe", "100"),
        silent("100-continue", "999999999999"),
        still_works(&stage)
    );
    assert!(usual.contains("HTTP/1.1 408"), "{usual}");
    assert!(
        ["408", "417"].iter().any(|status| odd.contains(&format!("HTTP/1.1 {status}"))),
        "{odd}"
    );
    assert!(huge.contains("HTTP/1.1 413") && !huge.contains("100 Continue"), "{huge}");
    still_works(&stage).await;
}

#[tokio::test]
async fn b_hh_16_what_proxies_say_changes_neither_host_nor_path() {
    let stage = Stage::start().await;
    let get = |host: &str, path: &str, headers: &str| {
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n")
    };
    let localhost = "X-Forwarded-Host: localhost\r\nX-Forwarded-Server: localhost\r\n\
                     Forwarded: for=127.0.0.1;host=localhost;proto=https\r\nX-Host: localhost\r\n\
                     X-Original-Host: localhost\r\nX-Forwarded-For: 127.0.0.1\r\n\
                     X-Real-IP: 127.0.0.1\r\n";
    check(&stage, &get("evil.com", "/healthz", localhost), &[403]).await;
    let evil = localhost.replace("localhost", "evil.com").replace("127.0.0.1", "8.8.8.8");
    check(&stage, &get("HOST", "/healthz", &evil), &[200]).await;
    let elsewhere = "X-Original-URL: /healthz\r\nX-Rewrite-URL: /healthz\r\n\
                     X-Forwarded-Path: /healthz\r\nX-Forwarded-Prefix: /healthz\r\n\
                     X-HTTP-Method-Override: POST\r\nX-Forwarded-Proto: https\r\n";
    check(&stage, &get("HOST", "/nothing", elsewhere), &[404]).await;
    check(&stage, &get("HOST", "/v1/tools/execute", elsewhere), &[405]).await;
}
