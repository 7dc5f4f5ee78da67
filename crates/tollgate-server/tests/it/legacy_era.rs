//! MCP revisions with a handshake: sessions, methods, batches.

use serde_json::json;

use crate::stage::{Setup, Stage};
use crate::upstream::Upstream;

#[tokio::test]
async fn initialize_answers_in_a_revision_that_both_know() {
    let stage = Stage::start().await;
    for (query, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        assert_eq!(stage.open_session(query, json!({})).await.version, answered, "{query}");
    }
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}});
    assert_eq!(stage.post(body.to_string()).brief().await, "200 -32602");
}

#[tokio::test]
async fn a_session_has_its_methods_and_no_others() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    let reply = session.notify("notifications/initialized", &json!({})).send().await;
    assert_eq!(reply.status, 202);
    for (method, params, expected) in [
        ("ping", json!({}), "200 ok"),
        ("tools/list", json!({}), "200 ok"),
        ("resources/list", json!({}), "200 ok"),
        ("resources/templates/list", json!({}), "200 ok"),
        ("prompts/list", json!({}), "200 ok"),
        ("tools/call", json!({"name": "echo"}), "200 ok"),
        ("resources/read", json!({"uri": "test://a"}), "200 ok"),
        ("resources/read", json!({"uri": "test://missing"}), "200 -32002"),
        ("resources/read", json!({"uri": "unheard-of://x"}), "200 -32002"),
        ("prompts/get", json!({"name": "up_greet"}), "200 ok"),
        ("logging/setLevel", json!({"level": "warning"}), "200 ok"),
        ("logging/setLevel", json!({"level": "loud"}), "200 -32602"),
        ("resources/subscribe", json!({"uri": "test://a"}), "200 ok"),
        ("resources/subscribe", json!({}), "200 -32602"),
        ("resources/unsubscribe", json!({"uri": "test://a"}), "200 ok"),
        ("resources/unsubscribe", json!({"uri": "never"}), "200 ok"),
        ("tools/call", json!({"name": "unheard_of"}), "200 -32602"),
        ("unheard/of", json!({}), "200 -32601"),
        ("tasks/list", json!({}), "200 -32601"),
    ] {
        let reply = session.call(1, method, &params).send().await;
        assert_eq!(reply.brief(), expected, "{method} {params}: {reply:?}");
        if expected == "200 ok" && !method.starts_with("tools/call") {
            assert_eq!(reply.json()["result"].get("resultType"), None, "{method}");
        }
    }
}

#[tokio::test]
async fn legacy_answers_have_no_modern_fields() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    let session = stage.open_session("2025-06-18", json!({})).await;
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "up_data"})),
        ("resources/read", json!({"uri": "test://a"})),
    ] {
        let reply = session.call(1, method, &params).send().await;
        for field in ["resultType", "ttlMs", "cacheScope", "io.modelcontextprotocol"] {
            assert!(!reply.text.contains(field), "{method}: {field} in {}", reply.text);
        }
    }
    let reply = session.call(1, "tools/call", &json!({"name": "up_data"})).send().await;
    assert_eq!(reply.json()["result"]["structuredContent"], json!({"a": 1}));
    let origin = json!({"server": "up", "trusted": false});
    let meta = json!({"vendor": true, "dev.tollgate/origin": origin});
    assert_eq!(reply.json()["result"]["_meta"], meta);
}

#[tokio::test]
async fn a_session_ends_with_delete() {
    let stage = Stage::start().await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    let list = || session.call(1, "tools/list", &json!({}));
    assert_eq!(list().brief().await, "200 ok");
    let delete = || session.add_headers(stage.request("DELETE", "/mcp"));
    assert_eq!(delete().send().await.status, 204);
    assert_eq!(list().brief().await, "404 -32600");
    assert_eq!(delete().send().await.status, 404);
}

#[tokio::test]
async fn the_version_header_is_checked_in_a_session() {
    let stage = Stage::start().await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    let list = || session.call(1, "tools/list", &json!({}));
    assert_eq!(list().without("mcp-protocol-version").brief().await, "200 ok");
    for (version, expected) in [
        ("2025-06-18", "200 ok"),
        ("2025-03-26", "200 ok"),
        ("1.0", "400 -32600"),
        ("2099-01-01", "400 -32600"),
        ("", "400 -32600"),
    ] {
        assert_eq!(
            list().set("mcp-protocol-version", version).brief().await,
            expected,
            "{version}"
        );
    }
    let get = stage.request("GET", "/mcp").header("mcp-session-id", &session.id);
    assert_eq!(get.header("accept", "application/json").send().await.status, 406);
}

#[tokio::test]
async fn b_jr_04_batches_are_for_one_revision_only() {
    let stage = Stage::start().await;
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "two", "method": "tools/call",
            "params": {"name": "echo", "arguments": {"text": "hello"}}},
        {"jsonrpc": "2.0", "id": 3, "method": "unheard/of"},
        {"jsonrpc": "1.0", "id": 4, "method": "ping"},
    ]);
    let old = stage.open_session("2025-03-26", json!({})).await;
    let reply = old.post(batch.to_string()).send().await;
    let answers = reply.json();
    let brief: Vec<String> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| format!("{} {}", answer["id"], answer["error"]["code"]))
        .collect();
    assert_eq!(brief, ["1 null", "\"two\" null", "3 -32601", "4 -32600"]);
    assert_eq!(answers[1]["result"]["content"][0]["text"], "hello");
    let quiet = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert_eq!(old.post(quiet.to_string()).brief().await, "202");
    assert_eq!(old.post("[]").brief().await, "400 -32600");
    let many = vec![json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}); 10_000];
    assert_eq!(old.post(json!(many).to_string()).brief().await, "400 -32600");
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let session = stage.open_session(version, json!({})).await;
        assert_eq!(session.post(batch.to_string()).brief().await, "400 -32600", "{version}");
    }
}

#[tokio::test]
async fn the_agent_of_initialize_is_the_agent_of_the_session() {
    let stage = Stage::start().await;
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "_meta": {"dev.tollgate/agent": "sage"}});
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let reply = stage.post(body.to_string()).send().await;
    let id = reply.header("mcp-session-id").unwrap();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let reply = stage.post(list.to_string()).header("mcp-session-id", &id).send().await;
    let tools = reply.json()["result"]["tools"].clone();
    assert_eq!(tools.as_array().unwrap().len(), 1);
    assert_eq!(tools[0]["name"], "echo");
}

#[tokio::test]
async fn a_request_in_a_session_cannot_name_another_agent() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    for (method, mut params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "echo"})),
        ("resources/subscribe", json!({"uri": "test://a"})),
    ] {
        for (agent, expected) in [
            (json!("default"), "200 ok"),
            (json!("sage"), "200 -32602"),
            (json!("nobody"), "200 -32602"),
            (json!(5), "200 -32602"),
        ] {
            params["_meta"] = json!({"dev.tollgate/agent": agent});
            let reply = session.call(1, method, &params).send().await;
            assert_eq!(reply.brief(), expected, "{method} {agent}: {reply:?}");
            if expected != "200 ok" {
                assert!(reply.text.contains("`dev.tollgate/agent`"), "{reply:?}");
            }
        }
    }
    assert_eq!(stage.calls(), 1);
}
