//! R-30: the clock on the wall jumps, stands still and repeats a second under a gateway that serves. A
//! small library between the program and the system shifts what it is told.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::serving::Serving;
use crate::tollgate;

/// Adds to the wall clock what stands in a file, or gives that moment alone.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *shift; /* seconds to add; or the second at which it stands */

__attribute__((constructor)) static void open_shift(void) {
    const char *file = getenv("SHIFT_FILE");
    int fd = file ? open(file, O_RDONLY) : -1;
    if (fd < 0) return;
    void *map = mmap(0, 16, PROT_READ, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) shift = map;
}

int clock_gettime(clockid_t id, struct timespec *out) {
    int done = (int)syscall(SYS_clock_gettime, id, out);
    if (done == 0 && shift && id == CLOCK_REALTIME) {
        if (shift[1]) { out->tv_sec = shift[1]; out->tv_nsec = 0; }
        else out->tv_sec += shift[0];
    }
    return done;
}
"#;

struct Shifted {
    gateway: Serving,
    file: PathBuf,
    folder: TempDir,
}

impl Shifted {
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("shim.c"), SHIM).unwrap();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([path("shim.so"), path("shim.c")])
            .status();
        assert!(built.unwrap().success());
        let file = path("shift");
        fs::write(&file, [0; 16]).unwrap();
        let config = json!({
            "budget": {"calibrate_interval_s": 0},
            "shutdown": {"grace_s": 0},
            "keys": [
                {"name": "free", "key": "a-key-without-a-limit-0123", "rights": ["execute"]},
                {"name": "few", "key": "a-key-with-a-rate-limit-0123", "rights": ["execute"],
                    "rate_limit": "3/h"},
            ],
        });
        fs::write(path("tollgate.yaml"), config.to_string()).unwrap();
        let variables = [
            ("LD_PRELOAD", path("shim.so").display().to_string()),
            ("SHIFT_FILE", file.display().to_string()),
        ];
        let gateway = Serving::start_with(folder.path(), &variables);
        Self { gateway, file, folder }
    }

    fn set(&self, seconds: i64, stands_at: i64) {
        let bytes = [seconds.to_ne_bytes(), stands_at.to_ne_bytes()].concat();
        // In place: the gateway has this very file in its memory.
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).open(&self.file).unwrap();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
    }

    fn roll(&self, key: &str) -> (u16, Value) {
        let body = r#"{"name":"roll","arguments":{"expression":"1d6"}}"#;
        let head = format!("x-api-key: {key}\r\n");
        let answer = self.gateway.ask("POST /v1/tools/execute", &head, body);
        let (_, body) = answer.text.split_once("\r\n\r\n").unwrap();
        (answer.status, serde_json::from_str(body).unwrap_or_default())
    }

    fn is_limited(&self) -> bool {
        let (_, answer) = self.roll("a-key-with-a-rate-limit-0123");
        answer["status"] == "rate_limited"
    }
}

fn rows(folder: &Path) -> Vec<Value> {
    let run = tollgate(folder, &["audit", "--json", "--tool", "roll"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn r_30_no_jump_of_the_clock_touches_limits_sessions_figures_or_the_order_of_the_trail() {
    if !tollgate_testkit::skip::require_program("cc") {
        return;
    }
    let shifted = Shifted::start();
    for _ in 0..3 {
        assert!(!shifted.is_limited());
    }
    assert!(shifted.is_limited(), "three an hour");
    let ask = |head: &str, body: &str| shifted.gateway.ask("POST /mcp", head, body);
    let head = "x-api-key: a-key-without-a-limit-0123\r\n\
                accept: application/json, text/event-stream\r\n";
    let client = json!({"name": "t", "version": "1"});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}});
    let opened = ask(head, &hello.to_string()).text;
    let session = opened.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let head = format!("{head}mcp-session-id: {session}\r\nmcp-protocol-version: 2025-06-18\r\n");
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let hour = 3_600;
    let day = 86_400;
    let jumps = [
        ("an hour ahead", hour, 0),
        ("an hour behind", -hour, 0),
        ("a day behind", -day, 0),
        ("it stands still", 0, 1_700_000_000),
        ("before a second that is repeated", 0, 0),
        ("in the second that is repeated", -1, 0),
        ("as it was", 0, 0),
    ];
    let mut calls = 0;
    for (name, seconds, stands_at) in jumps {
        shifted.set(seconds, stands_at);
        for _ in 0..10 {
            let (status, answer) = shifted.roll("a-key-without-a-limit-0123");
            assert_eq!((status, &answer["status"]), (200, &json!("ok")), "{name}: {answer}");
            let took = answer["duration_ms"].as_f64().unwrap_or(0.0);
            assert!((0.0..30_000.0).contains(&took), "{name}: {answer}");
            calls += 1;
        }
        assert!(shifted.is_limited(), "{name}: the limit is one of time that passes");
        assert_eq!(ask(&head, list).status, 200, "{name}: the session goes on");
        // The watch over children, keys and the memory looks at least once.
        std::thread::sleep(Duration::from_millis(1_100));
        assert_eq!(shifted.gateway.ask("GET /readyz", "", "").status, 200, "{name}");
    }
    let token = fs::read_to_string(shifted.folder.path().join(".tollgate/admin.token")).unwrap();
    let admin = format!("x-api-key: {}\r\n", token.trim());
    let metrics = shifted.gateway.ask("GET /metrics", &admin, "").text;
    let count = metrics.lines().find(|line| {
        line.starts_with("tollgate_tool_latency_seconds_count") && line.contains("\"roll\"")
    });
    let count: u64 = count.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap();
    // The gateway tries a new tool a few times by itself.
    assert!((calls + 3..=calls + 20).contains(&count), "{count} measurements of {calls} calls");
    let Shifted { gateway, folder, .. } = shifted;
    gateway.terminate();
    let rows = rows(folder.path());
    let numbers: Vec<u64> = rows.iter().map(|row| row["sequence"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted() && numbers.len() as u64 >= calls, "{numbers:?}");
    let times: Vec<&str> = rows.iter().map(|row| row["at"].as_str().unwrap()).collect();
    assert!(!times.is_sorted(), "the clock did jump");
    assert!(times.iter().any(|time| time.starts_with("2023-11-14T22:13:20")), "{times:?}");
    let verified = tollgate(folder.path(), &["audit", "verify"]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
}
