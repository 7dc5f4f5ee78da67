//! `tollgate convert`: tools and results in the formats of other APIs.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Run, run_with_input, tollgate};

fn pipe(input: &str, arguments: &[&str]) -> Run {
    let folder = TempDir::new().expect("a folder");
    run_with_input(folder.path(), &[&["convert"], arguments].concat(), input)
}

fn listing() -> Value {
    json!({"tools": [
        {"name": "roll", "description": "Rolls dice.", "inputSchema": {
            "type": "object", "properties": {"dice": {"type": "string"}}, "required": ["dice"]}},
        {"name": "files.read", "inputSchema": {
            "type": "object", "properties": {"size": {"type": "number", "multipleOf": 5}}},
            "annotations": {"readOnlyHint": true}},
    ]})
}

#[test]
fn what_a_server_lists_is_written_for_another_api() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("tools.json"), listing().to_string()).unwrap();
    let run = tollgate(folder.path(), &["convert", "--to", "openai", "tools.json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let written: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        written[0],
        json!({"type": "function", "function": {
            "name": "roll", "description": "Rolls dice.",
            "parameters": listing()["tools"][0]["inputSchema"]}})
    );
    let name = written[1]["function"]["name"].as_str().unwrap();
    assert_eq!(
        run.stderr,
        format!(
            "files.read/name: is renamed to `{name}`\nfiles.read/annotations: `annotations` is \
             omitted\n"
        )
    );
    let run = pipe(&run.stdout, &["--to", "mcp", "-"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let back: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(back["tools"][0], listing()["tools"][0]);
}

#[test]
fn programs_get_what_was_lost_beside_the_tools() {
    let run = pipe(&listing().to_string(), &["--from", "mcp", "--to", "gemini-live", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let all: Value = serde_json::from_str(&run.stdout).unwrap();
    let size = &all["tools"][0]["functionDeclarations"][1]["parameters"]["properties"]["size"];
    assert_eq!(*size, json!({"type": "NUMBER", "description": "(limits: multipleOf 5)"}));
    assert_eq!(
        all["lost"][0],
        json!({
            "name": "files.read",
            "at": "/inputSchema/properties/size/multipleOf",
            "kind": "limit",
            "what": "`multipleOf` is only in the description",
        })
    );
    assert_eq!((&all["failed"], run.stderr.as_str()), (&json!([]), ""));
}

#[test]
fn models_are_bound_to_schemas_that_can_bind() {
    let tools = json!([
        {"name": "roll", "inputSchema": {"type": "object", "properties": {"dice": {"type": "string"}}}},
        {"name": "tag", "inputSchema": {"type": "object", "properties": {"labels": {"type": "object"}}}},
    ]);
    let run = pipe(&tools.to_string(), &["--to", "openai-responses", "--strict"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let written: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&written[0]["strict"], &written[1]["strict"]), (&json!(true), &json!(false)));
    assert_eq!(written[0]["parameters"]["properties"]["dice"]["type"], json!(["string", "null"]));
    assert_eq!(
        run.stderr,
        "tag: not strict: it is an object of any keys, at `/inputSchema/properties/labels`\n"
    );
    let run = pipe(&tools.to_string(), &["--to", "gemini", "--strict"]);
    assert_eq!(run.code, Some(2));
}

#[test]
fn results_are_converted_too() {
    let result = json!({"content": [{"type": "text", "text": "no dice"}], "isError": true});
    let run = pipe(&result.to_string(), &["--results", "--to", "anthropic"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let written: Value = serde_json::from_str(&run.stdout).unwrap();
    let block = &written["content"][0];
    assert_eq!((&block["type"], &block["is_error"]), (&json!("tool_result"), &json!(true)));
    assert_eq!(
        run.stderr,
        "result/0: the call that it answers is unknown: its id becomes `call_1`\n"
    );
}

#[test]
fn what_cannot_be_converted_is_told_and_the_rest_is_written() {
    let tools = json!([{"type": "web_search"}, {"type": "function", "name": "a"}]);
    let run = pipe(&tools.to_string(), &["--from", "openai-responses", "--to", "anthropic"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("\"input_schema\""), "{}", run.stdout);
    assert_eq!(
        run.stderr,
        "error: tool 1: `web_search` is a tool that only its own provider can run\n1 tool could \
         not be converted\n"
    );
    for (input, arguments, code, expected) in [
        ("{}", &["--to", "geminy"][..], 2, "a similar value exists: 'gemini'"),
        ("{}", &["--from", "opnai", "--to", "mcp"], 2, "a similar value exists: 'openai'"),
        ("{}", &["--to", "mcp"], 1, "error: the format of tool 1 is ambiguous or unknown"),
        ("{", &["--to", "mcp"], 1, "error: standard input: not JSON: EOF while parsing"),
        ("{\"a\":1,\"a\":2}", &["--to", "mcp"], 1, "duplicate key `a`"),
        ("[]", &["--to", "mcp"], 1, "there are no tools in the list"),
        ("7", &["--to", "mcp"], 1, "this is neither a tool nor a list of tools"),
        ("{}", &["--to", "mcp", "nowhere.json"], 1, "error: nowhere.json: No such file"),
        (
            "{}",
            &["--to", "mcp", "--results"],
            1,
            "the format of the results is ambiguous or unknown",
        ),
    ] {
        let run = pipe(input, arguments);
        assert_eq!(run.code, Some(code), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
        assert_eq!(run.stdout, "");
    }
}
