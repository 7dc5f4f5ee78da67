//! Requests that the real program refuses because of how they are framed or because there is no room for them.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use crate::isolated_gateway::{Gateway, Python};
use crate::serving::Serving;

#[test]
fn s_09_b_hh_04_transfer_codings_other_than_one_chunked_are_refused() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("tollgate.yaml"), "{}").unwrap();
    let gateway = Serving::start(folder.path());
    let body = r#"{"name":"roll","arguments":{"expression":"2d6"}}"#;
    let send = |codings: &str| {
        gateway.send(&format!(
            "POST /v1/tools/execute HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             connection: close\r\n{codings}\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            gateway.address,
            body.len()
        ))
    };
    assert_eq!(send("transfer-encoding: chunked\r\n").status, 200);
    for codings in [
        "transfer-encoding: gzip, chunked\r\n",
        "transfer-encoding: chunked, chunked\r\n",
        "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n",
    ] {
        let answer = send(codings);
        assert_eq!(answer.status, 400, "{codings}: {}", answer.text);
    }
}

#[test]
fn r_09_a_full_queue_is_503_with_retry_after() {
    let folder = TempDir::new().unwrap();
    let mut server = Python::found().plain(folder.path(), "evil");
    server["limits"] = json!({"concurrent": 1, "queue": 0});
    let config = json!({"servers": {"evil": server}});
    let gateway = Gateway::start_in(folder, &config, |command| command).ready(&["evil"]);
    let begun = gateway.folder.path().join("evil/begun");
    let code = format!("open({:?}, 'w'); import time; time.sleep(5)", begun.display().to_string());
    let call = json!({"name": "evil_do", "arguments": {"code": code}});
    thread::scope(|scope| {
        scope.spawn(|| gateway.post("/v1/tools/execute", "", &call));
        while !begun.exists() {
            thread::sleep(Duration::from_millis(20));
        }
        let refused = gateway.post("/v1/tools/execute", "", &call);
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
        assert!(refused.contains("\r\nretry-after: "), "{refused}");
    });
}

#[test]
fn r_13_failed_accepts_are_logged_at_most_once_a_second() {
    const ROOM: usize = 12;
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("tollgate.yaml"), "{}").unwrap();
    let gateway = Serving::start(folder.path());
    let used = std::fs::read_dir(format!("/proc/{}/fd", gateway.pid())).unwrap().count();
    let limit = format!("--nofile={0}:{0}", used + ROOM);
    let limited = Command::new("prlimit").args(["--pid", &gateway.pid(), &limit]).status();
    assert!(limited.unwrap().success());
    let connections: Vec<TcpStream> = (0..8 * ROOM)
        .map(|_| {
            let mut stream = TcpStream::connect(&gateway.address).unwrap();
            let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: ");
            stream
        })
        .collect();
    thread::sleep(Duration::from_secs(4));
    let log = gateway.kill();
    drop(connections);
    let lines = log.lines().filter(|line| line.contains("could not be accepted")).count();
    assert!((1..=8).contains(&lines), "{lines} lines:\n{log}");
}
