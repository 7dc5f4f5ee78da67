//! Limits on model use and the usage report survive a restart.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_core::model_usage::UsageDay;
use tollgate_store::Store;

use crate::serving::{Answer, Serving};
use crate::tollgate;

const KEY: &str = "a-key-with-a-limit-0123456789";
const TIMEOUT: Duration = Duration::from_secs(30);

fn write_config(folder: &Path) {
    let config = json!({
        "budget": {"calibrate_interval_s": 0},
        "keys": [{"name": "bot", "key": KEY, "rights": ["execute"],
                  "model_limits": ["3 requests/day", "100000 tokens/min"]}],
    });
    fs::write(folder.join("tollgate.yaml"), config.to_string()).unwrap();
}

fn chat(gateway: &Serving, secret: &str) -> Answer {
    let body = json!({"model": "offline", "messages": [{"role": "user", "content": "hello"}]});
    let head = format!("authorization: Bearer {secret}\r\n");
    gateway.ask("POST /v1/chat/completions", &head, &body.to_string())
}

/// Requests that are on disk.
fn saved_requests(folder: &Path) -> u64 {
    let store = Store::open(&folder.join(".tollgate/tollgate.db")).unwrap();
    let rows = store.model_usage().load(UsageDay::FIRST, UsageDay::LAST).unwrap();
    rows.iter().map(|row| row.totals.requests).sum()
}

#[test]
fn a_limit_by_day_survives_kill_9_and_what_was_used_is_reported() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    write_config(folder);
    let gateway = Serving::start(folder);
    for _ in 0..2 {
        assert_eq!(chat(&gateway, KEY).status, 200);
    }
    #[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
    let began = Instant::now();
    while saved_requests(folder) < 2 {
        assert!(began.elapsed() < TIMEOUT, "usage is saved within seconds");
        std::thread::sleep(Duration::from_millis(50));
    }
    gateway.kill();

    let gateway = Serving::start(folder);
    assert_eq!(chat(&gateway, KEY).status, 200);
    let refused = chat(&gateway, KEY);
    assert_eq!(refused.status, 429, "{}", refused.text);
    assert!(refused.text.contains("retry-after: "), "{}", refused.text);
    assert!(refused.text.contains("limit of 3 requests/day"), "{}", refused.text);
    // At its regular end everything is saved at once.
    gateway.terminate();
    assert_eq!(saved_requests(folder), 3);

    let run = tollgate(folder, &["usage", "--by", "key", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let total = &report["totals"][0];
    assert_eq!((&total["name"], &total["requests"]), (&json!("key:bot"), &json!(3)), "{report}");
    let run = tollgate(folder, &["usage", "--by", "model", "--daily"]);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("DAY") && lines[0].contains("MODEL"), "{}", run.stdout);
    assert!(lines[1].contains("offline") && lines[1].contains(" 3 "), "{}", run.stdout);
    let none = tollgate(folder, &["usage", "--from", "2020-01-01", "--to", "2020-01-02"]);
    assert!(none.stderr.contains("no model was asked"), "{}", none.stderr);
    let wrong = tollgate(folder, &["usage", "--from", "yesterday"]);
    assert_ne!(wrong.code, Some(0));
    assert!(wrong.stderr.contains("a day like `2027-01-31`"), "{}", wrong.stderr);
}

#[test]
fn a_key_that_is_made_by_command_has_limits_of_its_own() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let make = |name: &str, limits: &[&str]| {
        let limits = limits.iter().flat_map(|limit| ["--model-limit", limit]);
        let words: Vec<&str> = ["keys", "create", name].into_iter().chain(limits).collect();
        tollgate(folder, &words)
    };
    let limited = make("bot", &["1 request/h", "5 USD/day"]).stdout;
    let free = make("cat", &[]).stdout;
    let wrong = make("dog", &["5 EUR/day"]);
    assert!(wrong.stderr.contains("`model_limits` are like"), "{}", wrong.stderr);
    let listed = tollgate(folder, &["keys", "list"]).stdout;
    assert!(listed.contains("1 requests/h, 5 USD/day"), "{listed}");
    let gateway = Serving::start(folder);
    let statuses = |secret: &str| [0, 1].map(|_| chat(&gateway, secret.trim()).status);
    assert_eq!(statuses(&limited), [200, 429]);
    assert_eq!(statuses(&free), [200, 200]);
}
