//! Commands without a gateway that runs: each starts one of its own, on the same data.

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
    let said = json(folder.path(), &["tier", "Tell me, in detail!", "--agent", "assistant"]);
    assert_eq!((&said["tier"], &said["agent"]), (&"deep".into(), &"assistant".into()));
    assert!(said["tools"].as_array().unwrap().iter().any(|name| name == "roll"), "{said}");
    let capped = json(folder.path(), &["tier", "Tell me, in detail!", "--agent", "barkeep"]);
    assert_eq!(capped["tier"], "fast", "no more than its ceiling");
    let reason = capped["reason"].as_str().unwrap();
    assert!(reason.contains("ceiling"), "{reason}");
    let config = "agents: { a: { tools: [roll], keywords: { deep: [abrakadabra] } } }\n";
    fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
    assert_eq!(json(folder.path(), &["tier", "Say ABRAKADABRA now"])["tier"], "deep");
    assert_eq!(json(folder.path(), &["tier", "Say abrakadabras now"])["tier"], "fast");
}
