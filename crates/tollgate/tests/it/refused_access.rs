//! Access that is refused leaves a trace, and wrong keys are slowed down; whoever has a right one does
//! not notice.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::serving::{Answer, Serving};
use crate::tollgate;

const RIGHT: &str = "x-api-key: the-key-of-the-phone-0123\r\n";
const OPS: &str = "x-api-key: the-key-of-the-operator-0123\r\n";
const TRIED: &str = "CANARY-a-guess";

fn folder(more: &Value) -> TempDir {
    let folder = TempDir::new().unwrap();
    let mut config = json!({
        "budget": {"calibrate_interval_s": 0},
        "shutdown": {"grace_s": 0},
        "keys": [
            {"name": "phone", "key": "the-key-of-the-phone-0123", "rights": ["execute"]},
            {"name": "ops", "key": "the-key-of-the-operator-0123", "role": "operator"},
        ],
    });
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fs::write(folder.path().join("tollgate.yaml"), config.to_string()).unwrap();
    folder
}

fn wrong(number: usize) -> String {
    format!("authorization: Bearer {TRIED}-{number}\r\n")
}

fn metric(gateway: &Serving, sample: &str) -> u64 {
    let page = gateway.ask("GET /metrics", OPS, "");
    assert_eq!(page.status, 200, "{}", page.text);
    let line = page.text.lines().find(|line| line.starts_with(sample));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).expect(sample)
}

fn refusal_of(gateway: &Serving, reason: &str) -> u64 {
    metric(gateway, &format!("tollgate_access_refused_total{{reason=\"{reason}\"}}"))
}

/// Rows of the trail about refused access: address, reason, count.
fn rows(folder: &Path) -> Vec<(String, String, u64)> {
    let run = tollgate(folder, &["audit", "--json", "--kind", "refused"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!run.stdout.contains("CANARY"), "{}", run.stdout);
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let detail = text("detail");
        let field = |name: &str| {
            let of = |part: &str| part.strip_prefix(name).map(str::to_owned);
            detail.split(' ').find_map(of).expect(name)
        };
        assert!(field("first=").ends_with('Z') && field("last=").ends_with('Z'), "{detail}");
        (text("name"), text("outcome"), field("count=").parse().unwrap())
    };
    run.stdout.lines().map(row).collect()
}

/// How many of them were refused for now, and how many for being wrong.
fn statuses(answers: &[Answer]) -> (usize, usize) {
    let count = |status| answers.iter().filter(|answer| answer.status == status).count();
    let counted = (count(401), count(429));
    assert_eq!(counted.0 + counted.1, answers.len(), "{answers:?}");
    counted
}

#[test]
fn two_hundred_wrong_keys_leave_a_short_trace_and_are_slowed_down() {
    let folder = folder(&json!({}));
    let gateway = Serving::start(folder.path());
    let answers: Vec<Answer> =
        (0..200).map(|number| gateway.ask("GET /v1/tools", &wrong(number), "")).collect();
    let (wrong, throttled) = statuses(&answers);
    // A slow machine gives some tokens back meanwhile.
    assert!(wrong >= 30 && throttled >= 100, "{wrong} {throttled}");
    let last = answers.iter().rfind(|answer| answer.status == 429).unwrap();
    assert!(last.text.contains("retry-after: "), "{}", last.text);
    assert!(last.text.contains("too_many_wrong_keys"), "{}", last.text);
    assert_eq!(gateway.ask("GET /v1/tools", RIGHT, "").status, 200, "a right key at any time");
    assert_eq!(refusal_of(&gateway, "wrong_key"), 200);
    assert_eq!(metric(&gateway, "tollgate_wrong_keys_throttled_total"), throttled as u64);
    let message = gateway.terminate();
    let lines = message.lines().filter(|line| line.contains("access refused")).count();
    assert!((1..=4).contains(&lines), "{lines} lines:\n{message}");
    assert!(message.contains("suppressed"), "{message}");
    assert!(!message.contains("CANARY"), "{message}");
    let rows = rows(folder.path());
    // Two, if a minute ended between.
    assert!((1..=2).contains(&rows.len()), "{rows:?}");
    assert!(rows.iter().all(|row| (row.0.as_str(), row.1.as_str()) == ("127.0.0.1", "wrong_key")));
    assert_eq!(rows.iter().map(|row| row.2).sum::<u64>(), 200, "{rows:?}");
}

/// By a key that may not call tools, in a session.
fn call_over_mcp(gateway: &Serving, accepts: &str) {
    let message = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
    };
    let client = json!({"name": "t", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let head = format!("{OPS}{accepts}");
    let opened = gateway.ask("POST /mcp", &head, &message("initialize", hello));
    let session = opened.text.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    let session = session.unwrap_or_else(|| panic!("{}", opened.text)).trim();
    let head = format!("{head}mcp-session-id: {session}\r\nmcp-protocol-version: 2025-06-18\r\n");
    let call = message("tools/call", json!({"name": "roll", "arguments": {}}));
    let answer = gateway.ask("POST /mcp", &head, &call);
    assert_eq!(answer.status, 403, "{}", answer.text);
}

/// Every front, and every reason.
#[test]
fn every_front_and_every_reason_is_counted_and_kept() {
    let folder = folder(&json!({}));
    let gateway = Serving::start(folder.path());
    let socket = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                  sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let fronts = [
        ("GET /v1/tools", ""),
        ("POST /v1/tools/execute", ""),
        ("POST /mcp", "accept: application/json, text/event-stream\r\n"),
        ("GET /mcp", "accept: text/event-stream\r\nmcp-session-id: x\r\n"),
        ("POST /v1/chat/completions", ""),
        ("POST /v1/responses", ""),
        ("POST /v1/messages", ""),
        ("POST /v1beta/models/m:generateContent", ""),
        ("GET /api/keys", ""),
        ("GET /metrics", ""),
        ("GET /v1/realtime?model=m", socket),
        ("POST /v1/code", ""),
    ];
    for (count, (line, head)) in (1..).zip(fronts) {
        let host = &gateway.address;
        let key = wrong(count);
        let request = format!("{line} HTTP/1.1\r\nhost: {host}\r\n{head}{key}\r\n");
        let request = request.replace("\r\n\r\n", "\r\ncontent-length: 0\r\n\r\n");
        let request = if head.contains("upgrade") {
            request
        } else {
            request.replace("content-length", "connection: close\r\ncontent-length")
        };
        let answer = if head.contains("upgrade") {
            // Its connection stays: it is asked to close by the next one that ends.
            gateway.send(&request.replace("connection: upgrade", "connection: upgrade, close"))
        } else {
            gateway.send(&request)
        };
        assert!([401, 429].contains(&answer.status), "{line}: {}", answer.text);
        assert_eq!(refusal_of(&gateway, "wrong_key"), count as u64, "{line}");
    }
    let ask = |line: &str, head: &str, body: &str, status: u16| {
        let answer = gateway.ask(line, head, body);
        assert_eq!(answer.status, status, "{line} {head}: {}", answer.text);
    };
    let accepts = "accept: application/json, text/event-stream\r\n";
    ask("GET /v1/tools", "", "", 401);
    ask("GET /api/keys", RIGHT, "", 403);
    ask("POST /v1/tools/execute", OPS, r#"{"name":"roll","arguments":{}}"#, 403);
    call_over_mcp(&gateway, accepts);
    ask("GET /v1/tools?api_key=x", "", "", 400);
    ask("GET /v1/tools", &format!("{RIGHT}authorization: Bearer other\r\n"), "", 400);
    ask("GET /v1/tools", "host: evil.example\r\n", "", 403);
    ask("GET /v1/tools", "origin: https://evil.example\r\n", "", 403);
    ask("POST /api/login", "", &format!("{{\"key\": \"{TRIED}\"}}"), 401);
    for (reason, count) in [
        ("no_key", 1),
        ("malformed_credentials", 2),
        ("bad_host", 1),
        ("bad_origin", 1),
        ("failed_login", 1),
        ("no_right", 3),
        ("no_csrf", 0),
    ] {
        assert_eq!(refusal_of(&gateway, reason), count, "{reason}");
    }
    let message = gateway.terminate();
    assert!(!message.contains("CANARY"), "{message}");
    let rows = rows(folder.path());
    for reason in [
        "no_key",
        "malformed_credentials",
        "bad_host",
        "bad_origin",
        "failed_login",
        "no_right",
        "wrong_key",
    ] {
        assert!(rows.iter().any(|row| row.1 == reason), "{reason}: {rows:?}");
        assert!(message.contains(reason), "{reason} is not in the log");
    }
}

#[test]
fn whoever_has_a_right_key_never_notices_a_neighbour_who_tries_wrong_ones() {
    let folder = folder(&json!({}));
    let gateway = Serving::start(folder.path());
    let stop = AtomicBool::new(false);
    let tried = AtomicUsize::new(0);
    let failures = std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let number = tried.fetch_add(1, Ordering::Relaxed);
                    gateway.ask("GET /v1/tools", &wrong(number), "");
                }
            });
        }
        let begun = |_: &usize| tried.load(Ordering::Relaxed) < 100;
        let requests = (0..).take_while(begun).chain(0..300);
        let is_refused = |_: &usize| gateway.ask("GET /v1/tools", RIGHT, "").status != 200;
        let failures = requests.filter(is_refused).count();
        stop.store(true, Ordering::Relaxed);
        failures
    });
    assert_eq!(failures, 0, "beside {} wrong keys", tried.load(Ordering::Relaxed));
    assert_eq!(gateway.ask("GET /v1/tools", &wrong(0), "").status, 429);
}

#[test]
fn behind_a_trusted_proxy_the_clients_address_counts() {
    let folder = folder(&json!({"trusted_proxies": ["127.0.0.0/8"]}));
    let gateway = Serving::start(folder.path());
    let ask = |from: &str, number| {
        gateway.ask("GET /v1/tools", &format!("{}x-forwarded-for: {from}\r\n", wrong(number)), "")
    };
    // What stands on the left is the client's own claim.
    let spoofed = |number: usize| format!("10.0.0.{number}, 198.51.100.1");
    let answers: Vec<Answer> = (0..100).map(|number| ask(&spoofed(number), number)).collect();
    let (_, throttled) = statuses(&answers);
    assert!(throttled >= 40, "{throttled}");
    assert_eq!(ask("198.51.100.2", 0).status, 401, "another client has its own tokens");
    assert_eq!(ask("2001:db8::1", 0).status, 401);
    gateway.terminate();
    let rows = rows(folder.path());
    let addresses: Vec<&str> = rows.iter().map(|row| row.0.as_str()).collect();
    for address in ["198.51.100.1", "198.51.100.2", "2001:db8::/64"] {
        assert!(addresses.contains(&address), "{rows:?}");
    }
    assert!(
        !addresses.iter().any(|it| it.starts_with("10.") || it.starts_with("127.")),
        "{rows:?}"
    );
}

#[test]
fn without_trust_what_a_client_says_of_its_address_has_no_effect() {
    let folder = folder(&json!({"trusted_proxies": ["127.0.0.9"]}));
    let gateway = Serving::start(folder.path());
    let answers: Vec<Answer> = (0..100)
        .map(|number| {
            let claims = format!(
                "x-forwarded-for: 198.51.100.{number}\r\nforwarded: for=192.0.2.{number}\r\n\
                 x-real-ip: 192.0.2.{number}\r\n"
            );
            gateway.ask("GET /v1/tools", &format!("{}{claims}", wrong(number)), "")
        })
        .collect();
    let (_, throttled) = statuses(&answers);
    assert!(throttled >= 40, "{throttled}");
    gateway.terminate();
    let rows = rows(folder.path());
    assert!(rows.iter().all(|row| row.0 == "127.0.0.1"), "{rows:?}");
}
