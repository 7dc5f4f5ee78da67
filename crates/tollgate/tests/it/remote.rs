//! Commands that ask a gateway which runs already.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::fake::{self, Gateway};
use crate::{Run, tollgate};

const ROUTES: &[(&str, &str)] = &[
    ("GET /healthz", r#"{"tollgate":"0.1.0"}"#),
    (
        "GET /v1/tools",
        r#"{"agent":"sage","tier":"standard","catalog_version":3,
            "tools":[
              {"name":"roll","server":"dice","tool":"roll","title":null,"description":"Roll dice\nmore",
               "estimated_duration_ms":5,"max_duration_ms":20,"tier":"fast","hash":"00","effect":"read-only",
               "input_schema":{"type":"object","properties":{"expression":{"type":"string"},"times":{"type":"integer"}}}},
              {"name":"a_b","server":"a","tool":"b","description":"\u001b[2Jevil","tier":"standard","effect":"mutating"}],
            "problems":[{"server":"a","tool":"c","problem":"the name is taken"}]}"#,
    ),
    (
        "POST /v1/tools/execute",
        r#"{"status":"ok","message":"You rolled 9.","data":{"total":9},"retryable":false,"duration_ms":3,"cached":false}"#,
    ),
    (
        "GET /mcp/status",
        r#"{"servers":[{"id":"dice","transport":"in-process","state":"ready","reason":"","since":"2026-11-15T05:00:00Z",
            "restarts":0,"protocol":null,"tools":2,"last_error":null},
            {"id":"files","transport":"stdio","state":"failed","reason":"","since":"2026-11-15T05:00:00Z",
            "restarts":5,"protocol":"2025-11-25","tools":0,"last_error":"exit status 1"}]}"#,
    ),
    (
        "POST /mcp/test/files",
        r#"{"ok":false,"message":"exit status 1","protocol":null,"tools":0,"took_ms":12}"#,
    ),
    (
        "POST /mcp/test/dice",
        r#"{"ok":true,"message":"works","protocol":"2025-11-25","tools":2,"took_ms":1}"#,
    ),
];

fn at(gateway: &Gateway, folder: &Path, arguments: &[&str]) -> Run {
    let address = gateway.address.to_string();
    tollgate(folder, &[arguments, &["--listen", &address]].concat())
}

#[test]
fn tools_are_a_table_for_people_and_json_for_programs() {
    let (gateway, folder) = (fake::serve(ROUTES), TempDir::new().unwrap());
    let run = at(&gateway, folder.path(), &["tools", "--agent", "sage", "--tier", "standard"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        run.stdout,
        "\
TOOL  SERVER  TIER      USUALLY  AT MOST  EFFECT     DESCRIPTION
roll  dice    fast      5 ms     20 ms    read-only  Roll dice
a_b   a       standard  –        –        mutating   \u{fffd}[2Jevil
"
    );
    assert_eq!(run.stderr, "2 tools for `sage` at `standard`\nleft out: a/c: the name is taken\n");
    let asked = gateway.asked();
    assert_eq!(asked, ["GET /healthz", "GET /v1/tools?agent=sage&tier=standard"]);
    let run = at(&gateway, folder.path(), &["--json", "tools"]);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(answer["catalog_version"], 3);
}

#[test]
fn a_call_types_its_arguments_by_the_schema_and_speaks() {
    let (gateway, folder) = (fake::serve(ROUTES), TempDir::new().unwrap());
    let run = at(&gateway, folder.path(), &["call", "roll", "expression=2", "times=3"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "You rolled 9.\n"), "{}", run.stderr);
    let asked = gateway.asked();
    assert_eq!(
        asked[2],
        r#"POST /v1/tools/execute {"name":"roll","arguments":{"expression":"2","times":3}}"#
    );
    let run = at(&gateway, folder.path(), &["call", "roll", "times=many"]);
    assert_eq!(run.code, Some(2));
    assert_eq!(run.stderr, "error: `times` must be of type integer, not `many`\n");
    let run = at(&gateway, folder.path(), &["call", "roll", r#"{"times":1}"#, "--json"]);
    let outcome: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(outcome["data"]["total"], 9);
}

#[test]
fn a_call_that_does_not_work_out_ends_with_one() {
    const REFUSED: &[(&str, &str)] = &[
        ("GET /healthz", r#"{"tollgate":"0.1.0"}"#),
        ("GET /v1/tools", r#"{"tools":[]}"#),
        (
            "POST /v1/tools/execute",
            r#"{"status":"timeout","message":"It took too long.","retryable":true}"#,
        ),
    ];
    let (gateway, folder) = (fake::serve(REFUSED), TempDir::new().unwrap());
    let run = at(&gateway, folder.path(), &["call", "slow"]);
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stdout, "");
    assert_eq!(run.stderr, "timeout: It took too long.\n");
    let run = at(&gateway, folder.path(), &["call", "slow", "--json"]);
    assert_eq!(run.code, Some(1));
    let outcome: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(outcome["status"], "timeout");
}

#[test]
fn servers_are_listed_and_tested() {
    let (gateway, folder) = (fake::serve(ROUTES), TempDir::new().unwrap());
    let run = at(&gateway, folder.path(), &["servers", "list"]);
    assert_eq!(
        run.stdout,
        "\
SERVER  STATE   TRANSPORT   PROTOCOL    TOOLS  RESTARTS  SINCE                 WHY
dice    ready   in-process  –           2      0         2026-11-15T05:00:00Z
files   failed  stdio       2025-11-25  0      5         2026-11-15T05:00:00Z  exit status 1
"
    );
    let run = at(&gateway, folder.path(), &["servers", "test", "dice"]);
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.contains("message        works\n"), "{}", run.stdout);
    let run = at(&gateway, folder.path(), &["servers", "test", "files"]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    let run = at(&gateway, folder.path(), &["servers", "test", "unknown"]);
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stderr, "error: the gateway answered 404 Not Found\n");
}

#[test]
fn the_key_is_shown_to_a_tollgate_only() {
    let config = "keys: [{ name: a, key: caller-0123456789 }, { name: b, key: admin-0123456789, role: admin }]";
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
    let gateway = fake::serve(ROUTES);
    at(&gateway, folder.path(), &["servers", "list"]);
    assert_eq!(gateway.asked(), ["GET /healthz", "GET /mcp/status [bearer admin-0123456789]"]);

    let stranger = fake::serve(&[("GET /healthz", r#"{"status":"up"}"#)]);
    at(&stranger, folder.path(), &["servers", "list"]);
    assert_eq!(stranger.asked(), ["GET /healthz"]);
}
