//! Revoked means stopped, with the real program and real servers: what a key has under way ends within a second of its
//! revocation.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::isolated_gateway::{Gateway, Python};

/// What a revocation may take. The promise is one second; a machine that builds and tests beside is slower.
const WITHIN: Duration = Duration::from_secs(5);
/// Calls of the program, each of a quarter of a second: far longer than [`WITHIN`].
const CALLS: usize = 120;

/// Everything that the server does leaves a line in its file `done`.
fn gateway(settings: &Value) -> Gateway {
    let folder = TempDir::new().unwrap();
    let mut server = Python::found().plain(folder.path(), "evil");
    server["tools"] = json!({"do": settings});
    let config = json!({"servers": {"evil": server}, "approvals": {"timeout_s": 600}});
    Gateway::start_in(folder, &config, |command| command).ready(&["evil"])
}

fn make_key(gateway: &Gateway, name: &str) -> String {
    let requested = json!({"name": name, "rights": ["execute"]}).to_string();
    let (status, made) = gateway.ask_as_admin("POST /api/keys", &requested);
    assert_eq!(status, 201, "{made}");
    let made: Value = serde_json::from_str(&made).unwrap();
    format!("x-api-key: {}\r\n", made["key"].as_str().unwrap())
}

fn revoke(gateway: &Gateway, name: &str) {
    let (status, text) = gateway.ask_as_admin(&format!("DELETE /api/keys/{name}"), "");
    assert_eq!(status, 204, "{text}");
}

fn line_for(gateway: &Gateway) -> String {
    let done = gateway.folder.path().join("evil/done");
    format!("open({:?}, 'a').write('x')", done.display().to_string())
}

fn lines_done(gateway: &Gateway) -> usize {
    fs::read_to_string(gateway.folder.path().join("evil/done")).map_or(0, |text| text.len())
}

fn wait_until(what: &str, is: impl Fn() -> bool) {
    let came = (0..600).any(|_| {
        thread::sleep(Duration::from_millis(50));
        is()
    });
    assert!(came, "{what}");
}

fn waiting_approvals(gateway: &Gateway) -> Vec<Value> {
    let listed: Value = serde_json::from_str(&gateway.admin("GET /api/approvals", "")).unwrap();
    listed["approvals"].as_array().unwrap().clone()
}

fn assert_audited(gateway: &Gateway) {
    wait_until("a row of the audit trail", || {
        let rows = gateway.admin("GET /api/audit?outcome=revoked&limit=500", "");
        let rows: Value = serde_json::from_str(&rows).unwrap();
        let mut rows = rows["rows"].as_array().unwrap().iter();
        rows.any(|row| row["kind"] != "key" && row["principal"] == "key:ada")
    });
}

#[test]
fn a_call_of_a_revoked_key_that_waits_for_approval_can_not_be_approved() {
    let gateway = gateway(&json!({"approval": "always"}));
    let key = make_key(&gateway, "ada");
    let call = json!({"name": "evil_do", "arguments": {"code": line_for(&gateway)}});
    thread::scope(|scope| {
        let calling = scope.spawn(|| gateway.post("/v1/tools/execute", &key, &call));
        wait_until("the call waits", || !waiting_approvals(&gateway).is_empty());
        let id = waiting_approvals(&gateway)[0]["id"].as_str().unwrap().to_owned();
        revoke(&gateway, "ada");
        #[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
        let revoked = Instant::now();
        let decision = json!({"decision": "approve"}).to_string();
        let (status, text) = gateway.ask_as_admin(&format!("POST /api/approvals/{id}"), &decision);
        assert_eq!(status, 409, "{text}");
        let answer = calling.join().unwrap();
        assert!(revoked.elapsed() < WITHIN, "it waited for {:?}", revoked.elapsed());
        assert!(answer.contains("key `ada` was revoked"), "{answer}");
    });
    assert_eq!(waiting_approvals(&gateway), Vec::<Value>::new());
    assert_eq!(lines_done(&gateway), 0, "it ran");
    assert_audited(&gateway);
}

#[test]
fn a_program_of_a_revoked_key_makes_no_further_calls() {
    tollgate_testkit::worker();
    let gateway = gateway(&json!({}));
    let key = make_key(&gateway, "ada");
    let code = format!("{}; import time; time.sleep(0.25)", line_for(&gateway));
    let code = Value::from(code).to_string();
    let program = format!("for i in range({CALLS}):\n    evil.do(code={code})\n");
    let program = json!({"code": program});
    thread::scope(|scope| {
        let running = scope.spawn(|| gateway.post("/v1/code", &key, &program));
        wait_until("the program calls", || lines_done(&gateway) >= 2 || running.is_finished());
        assert!(!running.is_finished(), "{}", running.join().unwrap());
        revoke(&gateway, "ada");
        #[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
        let revoked = Instant::now();
        let answer = running.join().unwrap();
        assert!(revoked.elapsed() < WITHIN, "it went on for {:?}", revoked.elapsed());
        assert!(answer.contains("key `ada` was revoked"), "{answer}");
    });
    let done = lines_done(&gateway);
    thread::sleep(Duration::from_secs(1));
    assert!(lines_done(&gateway) <= done + 1, "calls go on");
    assert_audited(&gateway);
}

/// Whoever lost the tool is told how long its call ran.
#[test]
fn a_call_whose_tool_is_taken_away_says_how_long_it_ran() {
    let gateway = gateway(&json!({}));
    let began = gateway.folder.path().join("evil/began");
    let code = format!("open({began:?}, 'w').close(); import time; time.sleep(60)");
    let call = json!({"name": "evil_do", "arguments": {"code": code}});
    thread::scope(|scope| {
        let calling = scope.spawn(|| gateway.post("/v1/tools/execute", "", &call));
        wait_until("the call runs", || began.exists());
        thread::sleep(Duration::from_millis(200));
        let file = gateway.folder.path().join("tollgate.yaml");
        let mut config: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        config["servers"]["evil"]["deny"] = json!(["do"]);
        fs::write(&file, config.to_string()).unwrap();
        let (status, text) = gateway.ask_as_admin("POST /api/reload", "");
        assert_eq!(status, 200, "{text}");
        let answer = calling.join().unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let outcome: Value = serde_json::from_str(body).unwrap();
        assert_eq!(outcome["status"], "denied", "{outcome}");
        assert!(outcome["message"].as_str().unwrap().contains("was cancelled"), "{outcome}");
        assert!(outcome["duration_ms"].as_u64().unwrap() >= 200, "{outcome}");
    });
}
