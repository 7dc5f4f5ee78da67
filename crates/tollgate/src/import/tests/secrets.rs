//! Secrets of the source become references, wherever they stood.

use serde_json::json;

use super::{import_text, servers};

#[test]
fn no_literal_secret_comes_through() {
    let text = r#"{"mcpServers": {"a": {
        "command": "npx",
        "args": ["x", "--api-key", "canary-1", "--token=canary-2", "--header", "Authorization: Bearer canary-3",
                 "-e", "DB_PASSWORD=canary-4", "ghp_canary5678901234567890123456789012345", "--auth", "oauth",
                 "--key-file", "/etc/key", "--keyboard", "us"],
        "env": {"PASSWORD": "canary-6", "DEBUG_KEYS": "true", "MAX_TOKENS": "4096", "EMPTY_TOKEN": "", "REF_KEY": "${K}"}
    }, "b": {
        "url": "https://b.test/mcp?token=canary-7#x",
        "headers": {"X-Api-Key": "canary-8", "Authorization": "Basic canary-9", "X-Plain": "sk-canary0123456789abcdefghijklmnopqrstuvwx"}
    }}}"#;
    let imported = import_text(text);
    let written = servers(&imported);
    assert!(!written.to_string().contains("canary"), "{written:#}");
    assert_eq!(
        written["a"],
        json!({
            "command": ["npx", "x", "--api-key", "${A_API_KEY}", "--token=${A_TOKEN}", "--header",
                "Authorization: Bearer ${A_AUTHORIZATION}", "-e", "DB_PASSWORD=${A_DB_PASSWORD}",
                "${A_ARGUMENT}", "--auth", "oauth", "--key-file", "/etc/key", "--keyboard", "us"],
            "env": {"PASSWORD": "${A_PASSWORD}", "DEBUG_KEYS": "true", "MAX_TOKENS": "4096",
                "EMPTY_TOKEN": "", "REF_KEY": "${K}"},
        })
    );
    assert_eq!(
        written["b"],
        json!({
            "url": "https://b.test/mcp?token=${B_TOKEN}#x",
            "headers": {"Authorization": "Basic ${B_AUTHORIZATION}", "X-Api-Key": "${B_X_API_KEY}",
                "X-Plain": "${B_X_PLAIN}"},
        })
    );
    assert_eq!(imported.given.len(), 10);
    assert!(!format!("{imported:?}").contains("canary"));
}

#[test]
fn names_that_are_alike_get_variables_of_their_own() {
    let text = r#"{"mcpServers": {
        "a-b": {"url": "https://a.test/mcp", "headers": {"Authorization": "Bearer canary-1"}},
        "a_b": {"url": "https://b.test/mcp", "headers": {"Authorization": "Bearer canary-2"}},
        "a.b": {"url": "https://c.test/mcp", "headers": {"Authorization": "Bearer canary-1"}}
    }}"#;
    let imported = import_text(text);
    let written = servers(&imported);
    assert_eq!(written["a-b"]["auth"]["token"], "${A_B_TOKEN}");
    assert_eq!(written["a_b_2"]["auth"]["token"], "${A_B_2_TOKEN}");
    assert_eq!(written["a_b_3"]["auth"]["token"], "${A_B_3_TOKEN}");
}

#[test]
fn variables_of_others_are_read_and_nothing_else_is_expanded() {
    let text = r#"{"mcpServers": {"a": {"command": "x", "args": [
        "${A}", "${A:-b c}", "${env:B}", "${input:my id}", "${file:/run/secrets/x}", "${command:do}",
        "${A", "$${C}", "${${D}}", "${pathSeparator}", "{env:NOT}", "$NOT"]}}}"#;
    let words = servers(&import_text(text))["a"]["command"].clone();
    assert_eq!(
        words,
        json!([
            "x",
            "${A}",
            "${A:-b c}",
            "${B}",
            "${TOLLGATE_INPUT_MY_ID}",
            "$${file:/run/secrets/x}",
            "$${command:do}",
            "$${A",
            "$${C}",
            "$${$${D}}",
            "/",
            "{env:NOT}",
            "$NOT"
        ])
    );
}

#[test]
fn a_default_that_is_a_secret_is_not_written_down() {
    let text = r#"{"mcpServers": {"a": {
        "command": "x",
        "args": ["--header=X-Api-Key:canary-1", "--dir=a:b", "${API_KEY:-canary-2}", "${MODE:-fast}", "$${T:-x}"],
        "env": {"DB_PASSWORD": "${PW:-canary-3}", "TOKEN_FILE": "${TOKEN_FILE:-/run/x}", "A_TOKEN": "${B:-true}"}
    }, "b": {"url": "https://b.test", "headers": {"Authorization": "Bearer ${K:-canary-4}"}}}}"#;
    let imported = import_text(text);
    assert_eq!(
        servers(&imported),
        json!({
            "a": {
                "command": ["x", "--header=X-Api-Key:${A_X_API_KEY}", "--dir=a:b", "${API_KEY}", "${MODE:-fast}", "$${T:-x}"],
                "env": {"DB_PASSWORD": "${PW}", "TOKEN_FILE": "${TOKEN_FILE:-/run/x}", "A_TOKEN": "${B:-true}"},
            },
            "b": {"url": "https://b.test", "auth": {"token": "${K}"}},
        })
    );
    let names: Vec<&str> = imported.given.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["A_X_API_KEY", "API_KEY", "PW", "K"]);
}
