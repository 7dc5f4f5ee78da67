//! `tollgate check` and other commands that need no gateway.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::{tollgate, tollgate_with};

#[test]
fn a_good_config_is_summed_up() {
    let folder = TempDir::new().unwrap();
    let run = tollgate(folder.path(), &["check"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.stdout, "the embedded default is valid: 0 servers, 3 agents, 1 model, 0 keys\n");
    assert_eq!(run.stderr, "");
    fs::write(folder.path().join("tollgate.yaml"), "servers: { a: { command: x } }\n").unwrap();
    let run = tollgate(folder.path(), &["check"]);
    assert_eq!(run.stdout, "tollgate.yaml is valid: 1 server, 1 agent, 1 model, 0 keys\n");
}

#[test]
fn a_bad_config_ends_with_two_and_says_all_that_is_wrong() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("bad.yaml"), "lisen: 1\nenvironment: ${NOPE}\n").unwrap();
    let run = tollgate(folder.path(), &["check", "bad.yaml"]);
    assert_eq!(run.code, Some(2));
    assert_eq!(run.stdout, "");
    for expected in [
        "error: unknown key `lisen`",
        " --> bad.yaml:1:1",
        "did you mean `listen`?",
        "`environment`: the variable `NOPE` is not set",
        " --> bad.yaml:2:14",
        "2 errors in bad.yaml",
    ] {
        assert!(run.stderr.contains(expected), "{expected} in {}", run.stderr);
    }
    assert!(!run.stderr.contains('\u{1b}'), "no colours in a pipe");
    let run = tollgate(folder.path(), &["tools", "--config", "bad.yaml"]);
    assert_eq!(run.code, Some(2), "other commands refuse it too");
    let run =
        tollgate_with(folder.path(), &["check", "--json"], &[("TOLLGATE_CONFIG", "bad.yaml")]);
    assert_eq!(run.code, Some(2));
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["ok"], false);
    assert_eq!(report["file"], "bad.yaml");
    let found = &report["diagnostics"][1];
    assert_eq!((&found["line"], &found["column"]), (&2.into(), &14.into()));
    assert_eq!(found["key"], "environment");
    assert_eq!(run.stderr, "");
}

#[test]
fn what_built_in_tools_cannot_use_is_told_and_stops_nothing() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("tollgate.yaml", "builtin: { tables: ., rules: nowhere }\n");
    write("inns.txt", "1: The Owl\nThe Cat\n");
    let run = tollgate(folder.path(), &["check"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for expected in [
        "warning: left out: `./inns.txt`, line 2: the range is missing, but other lines have one",
        "warning: left out: `nowhere`: No such file or directory",
    ] {
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
    let run = tollgate(folder.path(), &["check", "--json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["left_out"].as_array().unwrap().len(), 3, "{report}");
}

#[test]
fn the_schema_and_the_manual_are_printed() {
    let folder = TempDir::new().unwrap();
    let run = tollgate(folder.path(), &["check", "--schema"]);
    let schema: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(tollgate(folder.path(), &["manual"]).stdout.starts_with("# Configuration\n"));
}

#[test]
fn wrong_usage_ends_with_two() {
    let folder = TempDir::new().unwrap();
    for arguments in [
        &["frobnicate"][..],
        &["tools", "--tier", "FASTEST"],
        &["call"],
        &["servers", "test", "../x"],
        &["check", "no-such-file.yaml"],
        &["serve", "--listen", "0.0.0.0:0"],
    ] {
        let run = tollgate(folder.path(), arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains("error"), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn completions_know_the_commands() {
    let folder = TempDir::new().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = tollgate(folder.path(), &["completions", shell]);
        assert_eq!(run.code, Some(0));
        assert!(run.stdout.contains("servers"), "{shell}");
    }
    let help = tollgate(folder.path(), &["--help"]).stdout;
    assert!(help.contains("serve") && !help.contains("conformance-client"), "{help}");
}

#[test]
fn nothing_is_served_without_the_certificate_that_the_config_names() {
    let folder = TempDir::new().unwrap();
    let config = "tls: { cert: a.pem, key: b.pem }\n";
    fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
    let run = tollgate(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("error: `tls`: cannot read"), "{}", run.stderr);
    assert!(run.stderr.contains("a.pem"), "{}", run.stderr);
}

#[test]
fn commands_of_this_machine_need_no_key_without_a_gateway() {
    let folder = TempDir::new().unwrap();
    let config =
        "listen: 127.0.0.1:0\nkeys: [{ name: a, key: caller-0123456789abcdef, rights: [] }]\n";
    fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
    let run = tollgate(folder.path(), &["call", "roll", "expression=1d1", "--tier", "fast"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let run = tollgate(folder.path(), &["servers", "list"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[test]
fn nothing_starts_on_a_database_that_cannot_be_used() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data/tollgate.db"), "x".repeat(5000)).unwrap();
    for command in [&["serve"][..], &["mcp"], &["tools"], &["calibrate"], &["tier", "hello"]] {
        let arguments = [command, &["--data", "data", "--listen", "127.0.0.1:0"]].concat();
        let run = tollgate(folder.path(), &arguments);
        assert_eq!(run.code, Some(1), "{command:?}");
        let expected = "error: cannot use the database `data/tollgate.db`: it is not a database";
        assert!(run.stderr.contains(expected), "{command:?}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{command:?}");
    }
    let stored = fs::read(folder.path().join("data/tollgate.db")).unwrap();
    assert_eq!(stored.len(), 5000, "what is there is not replaced");
}
