//! Commands without a running gateway: each starts one in process, on the same data.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::tollgate;

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let run = tollgate(folder, &[arguments, &["--json", "--listen", "127.0.0.1:0"]].concat());
    assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.stderr);
    serde_json::from_str(&run.stdout).expect("JSON")
}

fn tool<'a>(listed: &'a Value, name: &str) -> &'a Value {
    let tools = listed["tools"].as_array().expect("a list");
    tools.iter().find(|tool| tool["name"] == name).expect("listed")
}

#[test]
fn what_was_measured_outlasts_the_command() {
    let folder = TempDir::new().unwrap();
    let before = json(folder.path(), &["tools"]);
    assert_eq!(tool(&before, "roll")["measured"], Value::Null);
    assert_eq!(tool(&before, "roll")["reason"], "declared 5 ms");
    for _ in 0..2 {
        json(folder.path(), &["call", "roll", "expression=1d6"]);
    }
    let after = json(folder.path(), &["tools"]);
    assert_eq!(tool(&after, "roll")["measured"]["calls"], 2);
    assert!(folder.path().join(".tollgate/tollgate.db").exists());
}

#[test]
fn an_utterance_opens_the_tools_of_its_tier() {
    let folder = TempDir::new().unwrap();
    let answer = json(folder.path(), &["tier", "Tell me, in detail!", "--agent", "assistant"]);
    assert_eq!((&answer["tier"], &answer["agent"]), (&"deep".into(), &"assistant".into()));
    assert!(answer["tools"].as_array().unwrap().iter().any(|name| name == "roll"), "{answer}");
    let capped = json(folder.path(), &["tier", "Tell me, in detail!", "--agent", "barkeep"]);
    assert_eq!(capped["tier"], "fast", "no more than its ceiling");
    let reason = capped["reason"].as_str().unwrap();
    assert!(reason.contains("ceiling"), "{reason}");
    let config = "agents: { a: { tools: [roll], keywords: { deep: [abrakadabra] } } }\n";
    fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
    assert_eq!(json(folder.path(), &["tier", "Say ABRAKADABRA now"])["tier"], "deep");
    assert_eq!(json(folder.path(), &["tier", "Say abrakadabras now"])["tier"], "fast");
}

#[test]
fn tools_are_measured_ranked_and_shared() {
    let folder = TempDir::new().unwrap();
    let measured = json(folder.path(), &["calibrate", "roll_table", "--times", "6"]);
    let [table] = measured["tools"].as_array().unwrap().as_slice() else { panic!("{measured}") };
    assert_eq!((&table["outcome"], &table["probes"]), (&"probed".into(), &6.into()));
    let reason = table["reason"].as_str().unwrap();
    assert!(reason.starts_with("measured p50 "), "{reason}");

    let board = json(folder.path(), &["tools", "--leaderboard"]);
    assert_eq!(board["categories"][0]["tools"][0]["name"], "roll_table");

    let exported = json(folder.path(), &["telemetry", "export", "--out", "a.json"]);
    assert_eq!(exported["tools"], 1);
    let merge = ["telemetry", "merge", "a.json", "a.json"];
    let merged: Value = serde_json::from_str(&tollgate(folder.path(), &merge).stdout).unwrap();
    let shared = &merged["tools"][0];
    assert_eq!((&shared["tool"], &shared["calls"]), (&"roll_table".into(), &12.into()));
    let keys: Vec<&String> = merged.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["format", "tools"], "nothing of where it runs");
}

#[test]
fn what_could_change_something_is_never_measured() {
    let folder = TempDir::new().unwrap();
    let run = tollgate(folder.path(), &["calibrate", "write_file", "--listen", "127.0.0.1:0"]);
    assert_eq!(run.code, Some(1), "it was asked for by name");
    assert!(run.stdout.contains("side effects"), "{}", run.stdout);
    let run = tollgate(folder.path(), &["calibrate", "no_such", "--listen", "127.0.0.1:0"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert_eq!(run.stderr, "error: there is no tool `no_such`\n");
}
