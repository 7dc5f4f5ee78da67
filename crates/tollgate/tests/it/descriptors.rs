//! the gateway survives the limit of file descriptors.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use crate::isolated_gateway::Gateway;

/// Connections for which there are descriptors.
const ROOM: usize = 12;
const RETRY_DELAY: Duration = Duration::from_millis(100);
const RECOVERY_ATTEMPTS: usize = 50;

#[test]
fn r_13_at_the_end_of_descriptors_the_listener_lives_on_and_recovers() {
    let gateway = Gateway::start_in(TempDir::new().unwrap(), &json!({}), |command| command);
    let process = gateway.process.id();
    // Without a free descriptor a connection may be reset.
    let healthy = || {
        let answer = gateway.try_send("GET /healthz", "", "");
        answer.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
    };
    assert!(healthy());
    let used = fs::read_dir(format!("/proc/{process}/fd")).unwrap().count();
    let limit = format!("--nofile={0}:{0}", used + ROOM);
    let limited = Command::new("prlimit").args(["--pid", &process.to_string(), &limit]).status();
    assert!(limited.unwrap().success());

    let mut connections = Vec::new();
    for _ in 0..4 * ROOM {
        let mut stream = TcpStream::connect(&gateway.address).unwrap();
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: ");
        connections.push(stream);
    }
    thread::sleep(Duration::from_millis(300));
    assert!(fs::exists(format!("/proc/{process}/fd")).unwrap(), "it lives");
    drop(connections);
    // The closed connections are still being taken out of the backlog.
    let is_back = (0..RECOVERY_ATTEMPTS).any(|_| {
        let is_well = healthy();
        if !is_well {
            thread::sleep(RETRY_DELAY);
        }
        is_well
    });
    assert!(is_back, "without a restart");
}
