//! `tollgate code`: requests, output and exit codes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::fake::{self, Gateway};
use crate::{Run, tollgate};

const HEALTHY: (&str, &str) = ("GET /healthz", r#"{"tollgate":"0.1.0"}"#);

fn answering(answer: &'static str) -> Gateway {
    fake::serve(vec![HEALTHY, ("POST /v1/code", answer)].leak())
}

fn at(gateway: &Gateway, folder: &Path, arguments: &[&str]) -> Run {
    let address = gateway.address.to_string();
    tollgate(folder, &[&["--listen", &address], arguments].concat())
}

fn folder_with(source: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.star"), source).unwrap();
    folder
}

/// What is on standard output when a program ended like this.
fn check(answer: &'static str, expected: &str) {
    let gateway = answering(answer);
    let folder = folder_with("x = 1\n");
    let run = at(&gateway, folder.path(), &["code", "a.star"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), expected), "{}", run.stderr);
}

#[test]
fn prints_come_as_they_are_and_the_result_after_them() {
    check(
        r#"{"status":"ok","prints":"one\ttwo\n","result":{"a":[1]},"calls":2,"duration_ms":12}"#,
        "one\ttwo\n{\n  \"a\": [\n    1\n  ]\n}\n",
    );
    check(
        r#"{"status":"ok","prints":"no line end","result":"a text\nof two lines","calls":0,"duration_ms":0}"#,
        "no line end\na text\nof two lines\n",
    );
    check(
        r#"{"status":"ok","prints":"","result":123456789012345678901234567890,"calls":0,"duration_ms":0}"#,
        "123456789012345678901234567890\n",
    );
    check(r#"{"status":"ok","prints":"","result":null,"calls":0,"duration_ms":0}"#, "");
    check(r#"{"status":"ok","prints":"","calls":0,"duration_ms":0}"#, "");
}

#[test]
fn the_program_goes_out_with_its_agent_tier_and_filters() {
    let ok = r#"{"status":"ok","prints":"","calls":1,"duration_ms":3}"#;
    let gateway = answering(ok);
    let folder = folder_with("print(\"ä\")\n");
    let run = at(
        &gateway,
        folder.path(),
        &["code", "a.star", "--agent", "sage", "--tier", "deep", "--exclude-tools", "roll"],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        gateway.make_request().last().unwrap(),
        r#"POST /v1/code [x-tollgate-exclude-tools: roll] {"code":"print(\"ä\")\n","agent":"sage","tier":"deep"}"#
    );
    assert_eq!(run.stderr, "ok in 3 ms, 1 call; it printed nothing and set no `result`\n");
}

const FAILED: &str = r#"{"status":"error","prints":"so far\n","calls":2,"duration_ms":40,
    "error":{"kind":"tool","message":"no file `a`","line":2,"column":5,
             "text":"x = files.read_file(path=\"a\")","hint":"look with `files.list`"}}"#;

#[test]
fn a_failure_is_shown_in_its_line() {
    let gateway = answering(FAILED);
    let folder = folder_with("x = 1\n");
    let run = at(&gateway, folder.path(), &["code", "a.star"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), "so far\n"));
    assert_eq!(
        run.stderr,
        "\
error: no file `a`
 --> a.star:2:5
   |
 2 | x = files.read_file(path=\"a\")
   |     ^
   = look with `files.list`
failed after 40 ms, 2 calls
"
    );
}

#[test]
fn programs_get_all_of_it_as_json() {
    let answer = r#"{"status":"ok","prints":"a\n","result":1e400,"calls":0,"duration_ms":1}"#;
    let gateway = answering(answer);
    let folder = folder_with("x = 1\n");
    let run = at(&gateway, folder.path(), &["code", "a.star", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("\"result\": 1e400,\n"), "{}", run.stdout);
    let gateway = answering(FAILED);
    let folder = folder_with("x = 1\n");
    let run = at(&gateway, folder.path(), &["code", "a.star", "--json"]);
    let body: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &body["error"]["line"]), (Some(1), &Value::from(2)));
    assert_eq!(run.stderr, "");
}

#[test]
fn what_is_no_program_is_wrong_usage() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("latin"), b"x = \"\xe4\"").unwrap();
    fs::write(folder.path().join("huge"), vec![b' '; (1 << 20) + 1]).unwrap();
    for (arguments, expected) in [
        (&["code", "missing.star"][..], "error: missing.star: No such file"),
        (&["code", "."], "error: .: Is a directory"),
        (&["code", "latin"], "error: latin: not UTF-8, so not a program"),
        (&["code", "huge"], "error: huge: larger than 1 MiB, too large for a program"),
        (&["code"], "error: the following required arguments were not provided"),
        (&["code", "a.star", "--list"], "error: the argument '[FILE]' cannot be used with"),
        (&["code", "--list", "--read", "a"], "error: the argument '--list' cannot be used with"),
        (&["code", "-", "--tier", "slow"], "error: invalid value 'slow' for '--tier <TIER>'"),
    ] {
        let run = tollgate(folder.path(), arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(run.stderr.starts_with(expected), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn what_the_gateway_refuses_is_a_failure() {
    let refused = r#"{"error":{"message":"the worker is not there","code":"no_worker"}}"#;
    let folder = folder_with("x = 1\n");
    for (answer, expected) in [
        (refused, "error: the gateway's response is invalid\n"),
        ("{}", "error: the gateway's response is invalid\n"),
        ("[]", "error: the gateway's response is invalid\n"),
    ] {
        let run = at(&answering(answer), folder.path(), &["code", "a.star"]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(1), expected));
    }
}

#[test]
fn what_a_model_looks_up_can_be_looked_up() {
    const ROUTES: &[(&str, &str)] =
        &[HEALTHY, ("GET /v1/code", r#"{"agent":"sage","text":"dice.pyi\n"}"#)];
    let gateway = fake::serve(ROUTES);
    let folder = TempDir::new().unwrap();
    for (arguments, query) in [
        (&["code", "--list"][..], "GET /v1/code?"),
        (
            &["code", "--read", "dice.pyi", "--agent", "sage"],
            "GET /v1/code?agent=sage&read=dice.pyi",
        ),
        (&["code", "--docs", "dice.roll"], "GET /v1/code?&docs=dice.roll"),
        (&["code", "--search", "roll", "dice"], "GET /v1/code?&search=roll%20dice"),
    ] {
        let run = at(&gateway, folder.path(), arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "dice.pyi\n"), "{}", run.stderr);
        assert_eq!(gateway.make_request().last().unwrap(), query);
    }
}
