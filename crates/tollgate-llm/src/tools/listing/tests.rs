use serde_json::{Value, json};

use super::{DefinitionListing, DocumentExtent, wrap_definitions};
use crate::tools::ToolFormat;

fn check(document: Value, expected: &str) {
    let told = match DefinitionListing::read(document) {
        Ok(listing) => match listing.form() {
            Ok(form) => format!("{} {form} {:?}", listing.definitions.len(), listing.extent),
            Err(unclear) => unclear.to_string(),
        },
        Err(unclear) => unclear.to_string(),
    };
    assert_eq!(told, expected);
}

#[test]
fn documents_of_all_kinds_hold_tools() {
    let mcp = json!({"name": "a", "inputSchema": {"type": "object"}});
    check(mcp.clone(), "1 mcp One");
    check(json!([mcp, mcp]), "2 mcp Many");
    check(json!({"tools": [mcp], "nextCursor": "x"}), "1 mcp Many");
    check(json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [mcp]}}), "1 mcp Many");
    check(json!({"name": "a", "input_schema": {}}), "1 anthropic One");
    check(json!({"type": "function", "function": {"name": "a"}}), "1 openai One");
    check(json!([{"type": "function", "name": "a"}]), "1 openai-responses Many");
    let gemini = json!({"name": "a", "parameters": {"type": "OBJECT"}});
    check(json!({"functionDeclarations": [gemini, gemini]}), "2 gemini Many");
    check(json!({"tools": [{"functionDeclarations": [gemini]}]}), "1 gemini Many");
    check(
        json!([{"functionDeclarations": [{"name": "a", "behavior": "BLOCKING"}]}]),
        "1 gemini-live Many",
    );
    check(json!({"name": "a", "parametersJsonSchema": {}}), "1 gemini One");
}

#[test]
fn what_cannot_be_told_is_asked_for() {
    let ask = "the format of tool 1 is ambiguous or unknown; name it with `--from`, one of mcp, \
               openai, openai-responses, anthropic, gemini, openai-realtime, gemini-live";
    check(json!({"name": "a", "parameters": {"type": "object"}}), ask);
    check(json!({"hello": 1}), ask);
    check(json!([7]), ask);
    check(json!([]), "there are no tools in the list");
    check(
        json!("x"),
        "this is neither a tool nor a list of tools: an object or a list is expected",
    );
    check(json!({"tools": 7}), "this is neither a tool nor a list of tools: `tools` is not a list");
    check(
        json!([{"name": "a", "inputSchema": {}}, {"name": "b", "input_schema": {}}]),
        "tool 2 is anthropic, but those before it are mcp; use one format at a time",
    );
}

#[test]
fn lists_are_written_as_their_form_holds_them() {
    let all = || vec![json!({"name": "a"})];
    assert_eq!(wrap_definitions(all(), ToolFormat::Mcp, DocumentExtent::One), json!({"name": "a"}));
    assert_eq!(
        wrap_definitions(all(), ToolFormat::Mcp, DocumentExtent::Many),
        json!({"tools": [{"name": "a"}]})
    );
    assert_eq!(
        wrap_definitions(all(), ToolFormat::OpenAi, DocumentExtent::Many),
        json!([{"name": "a"}])
    );
    assert_eq!(
        wrap_definitions(all(), ToolFormat::Gemini, DocumentExtent::Many),
        json!([{"functionDeclarations": [{"name": "a"}]}])
    );
}
