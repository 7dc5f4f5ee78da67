//! a full disk under a running gateway.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::io::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_testkit::skip;

use crate::serving::Serving;

#[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Asks until the state is that, for a while; how long it took.
pub(crate) fn wait_for(gateway: &Serving, state: &str) -> Duration {
    let began = now();
    while began.elapsed() < Duration::from_secs(30) {
        // A row has to be written for anybody to find out.
        call(gateway, "get_time", &json!({}));
        let answer = gateway.ask("GET /readyz", "", "");
        let (_, body) = answer.text.split_once("\r\n\r\n").unwrap();
        let found: Value = serde_json::from_str(body).unwrap_or_default();
        if found["state"] == state {
            return began.elapsed();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("not {state} in time");
}

pub(crate) fn call(gateway: &Serving, tool: &str, arguments: &Value) -> String {
    let body = json!({"name": tool, "arguments": arguments}).to_string();
    gateway.ask("POST /v1/tools/execute", "", &body).text
}

#[test]
fn r_26_a_full_disk_refuses_changes_goes_on_reading_and_is_over_in_five_seconds() {
    if !skip::require_tmpfs() {
        return;
    }
    let folder = TempDir::new().unwrap();
    // What is written by tools is on another disk.
    let files = folder.path().join("files");
    fs::create_dir(&files).unwrap();
    let config = json!({"builtin": {"files": files}, "budget": {"calibrate_interval_s": 0}});
    fs::write(folder.path().join("tollgate.yaml"), config.to_string()).unwrap();
    fs::create_dir(folder.path().join(".tollgate")).unwrap();
    let script = "mount -t tmpfs -o size=4m none .tollgate && exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, env!("CARGO_BIN_EXE_tollgate")]).args([
        "serve",
        "--listen",
        "127.0.0.1:0",
    ]);
    let gateway = Serving::spawn_gateway(folder.path(), &mut command);
    let write = json!({"path": "a.txt", "content": "x"});
    assert!(call(&gateway, "write_file", &write).contains("\"status\":\"ok\""));
    for round in 0..3 {
        // The same directory, as the gateway sees it.
        let root = format!("/proc/{}/root{}", gateway.pid(), folder.path().display());
        let ballast = format!("{root}/.tollgate/ballast");
        let mut fill = fs::File::create(&ballast).unwrap();
        while fill.write_all(&[0; 512]).is_ok() {}
        drop(fill);
        wait_for(&gateway, "audit_failing");
        fs::write(files.join("a.txt"), "before").unwrap();
        let refused = call(&gateway, "write_file", &write);
        assert!(refused.contains("the audit trail cannot be written"), "{round}: {refused}");
        assert_eq!(fs::read_to_string(files.join("a.txt")).unwrap(), "before", "{round}");
        let read = call(&gateway, "roll", &json!({"expression": "1d6"}));
        assert!(read.contains("\"status\":\"ok\""), "{round}: reading goes on: {read}");
        fs::remove_file(&ballast).unwrap();
        let took = wait_for(&gateway, "ready");
        assert!(took <= Duration::from_secs(5), "{round}: {took:?} after there was room");
        let written = call(&gateway, "write_file", &write);
        assert!(written.contains("\"status\":\"ok\""), "{round}: {written}");
    }
    let root = format!("/proc/{}/root{}", gateway.pid(), folder.path().display());
    let token = fs::read_to_string(format!("{root}/.tollgate/admin.token")).unwrap();
    let admin = format!("x-api-key: {}\r\n", token.trim());
    let verified = gateway.ask("GET /api/audit/verify", &admin, "");
    assert!(verified.text.contains("\"ok\":true"), "{}", verified.text);
}
