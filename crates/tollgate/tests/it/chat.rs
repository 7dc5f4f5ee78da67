//! `tollgate chat` on a terminal and in a pipe.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::terminal::Terminal;
use crate::{Run, run_with_input};

/// Asks before it rolls.
const CAREFUL: &str = r#"
agents:
  careful:
    greeting: "Well met, {caller_name}."
    models: [small]
    tools: [roll]
    auto_execute: []
  quick:
    models: [small]
    tools: [roll]
    auto_execute: ["*"]
default_agent: quick
models: { small: { provider: demo, context_window: 8192 } }
providers: { demo: { kind: offline } }
"#;

fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("tollgate.yaml"), CAREFUL).expect("room for a config");
    folder
}

fn pipe(folder: &Path, input: &str, arguments: &[&str]) -> Run {
    run_with_input(folder, &[&["chat"], arguments].concat(), input)
}

const ROLL: &str = "call roll {\"expression\": \"2d1\"}";

#[test]
fn a_message_in_a_pipe_gets_one_answer() {
    let folder = folder();
    let run = pipe(folder.path(), ROLL, &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains('2'), "{}", run.stdout);
    assert!(run.stderr.contains("⚙ roll {\"expression\": \"2d1\"} … "), "{}", run.stderr);
    assert!(run.stderr.contains("; 1 call)"), "{}", run.stderr);
    let run = pipe(folder.path(), ROLL, &["quick", "--json", "--tier", "fast"]);
    let lines: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert!(kinds.starts_with(&["call", "result"]) || kinds.contains(&"call"), "{kinds:?}");
    assert_eq!(kinds.last(), Some(&"end"));
    let end = lines.last().unwrap();
    assert_eq!((&end["tier"], &end["ended"]), (&"fast".into(), &"answered".into()), "{end}");
}

#[test]
fn what_nobody_can_be_asked_about_is_not_run() {
    let folder = folder();
    let run = pipe(folder.path(), ROLL, &["careful"]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    let told = "not run, because nobody can approve it: roll {\"expression\": \"2d1\"}";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    for (input, arguments, expected) in [
        ("", &[][..], "standard input is empty"),
        ("hi", &["nobody"], "nobody"),
        ("hi", &["--var", "oops"], "`oops` is not `name=value`"),
    ] {
        let run = pipe(folder.path(), input, arguments);
        assert!(run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
        assert_ne!(run.code, Some(0));
    }
}

#[test]
fn a_person_at_a_terminal_is_greeted_heard_and_asked() {
    let folder = folder();
    let words = ["chat", "careful", "--var", "caller_name=Ada"];
    let mut terminal = Terminal::start(folder.path(), &words);
    terminal.sees("Well met, Ada.");
    terminal.sees("> ");
    terminal.types("/help\n");
    terminal.sees("/quit exits");
    terminal.types(&format!("{ROLL}\n"));
    terminal.sees("the agent wants to call roll");
    terminal.sees("[n]o: ");
    terminal.types("n\n");
    terminal.sees("> ");
    terminal.types(&format!("{ROLL}\n"));
    terminal.sees("[n]o: ");
    terminal.types("y\n");
    terminal.sees("> ");
    terminal.types("/quit\n");
    assert_eq!(terminal.wait_for_end(), Some(0));
}
