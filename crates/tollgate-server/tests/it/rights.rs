//! What a key may do, on every front.

use serde_json::json;
use tollgate_core::secret::Secret;
use tollgate_server::{Key, Right, Rights};

use crate::client::Call;
use crate::stage::{Setup, Stage};

async fn stage(rights: &[Right]) -> Stage {
    let rights: Rights = rights.iter().copied().collect();
    let secret = Secret::new("a-key-of-sixteen");
    let key = Key { name: "phone".to_owned(), secret, agents: None, rights };
    Stage::with(Setup { keys: vec![key], ..Setup::default() }).await
}

fn with_key(call: Call) -> Call {
    call.header("x-api-key", "a-key-of-sixteen")
}

/// The status of each thing that needs a right, in this order.
const ASKED: [&str; 11] = [
    "call over MCP",
    "call over HTTP",
    "tier by header",
    "tier by `_meta`",
    "tier by query",
    "tier by `/v1/tier`",
    "status",
    "test",
    "events",
    "calibrate",
    "telemetry",
];

async fn statuses(stage: &Stage) -> [u16; ASKED.len()] {
    let echo = json!({"name": "echo", "arguments": {"text": "x"}});
    let meta = json!({"_meta": {"dev.tollgate/tier": "deep"}});
    let calls = [
        stage.modern("tools/call", echo.clone()),
        stage.post(echo.to_string()).path("/v1/tools/execute"),
        stage.modern("tools/list", json!({})).header("x-tollgate-tier", "deep"),
        stage.modern("tools/list", meta),
        stage.request("GET", "/v1/tools?tier=deep"),
        stage.post("{\"text\": \"x\", \"override\": \"deep\"}").path("/v1/tier"),
        stage.request("GET", "/mcp/status"),
        stage.request("POST", "/mcp/test/nothing"),
        stage.request("GET", "/api/events"),
        stage.post("{\"tool\": \"nothing\"}").path("/api/calibrate"),
        stage.request("GET", "/api/telemetry"),
    ];
    let mut found = [0; ASKED.len()];
    for (status, call) in found.iter_mut().zip(calls) {
        *status = with_key(call).status().await;
    }
    found
}

#[tokio::test]
async fn a_key_does_what_its_rights_say() {
    for (rights, expected) in [
        (&[][..], [403; 11]),
        (&[Right::Execute], [200, 200, 403, 403, 403, 403, 403, 403, 403, 403, 403]),
        (&[Right::OverrideTier], [403, 403, 200, 200, 200, 200, 403, 403, 403, 403, 403]),
        (&[Right::Admin], [403, 403, 403, 403, 403, 403, 200, 404, 200, 404, 200]),
        (&Right::ALL, [200, 200, 200, 200, 200, 200, 200, 404, 200, 404, 200]),
    ] {
        let stage = stage(rights).await;
        assert_eq!(statuses(&stage).await, expected, "{rights:?}: {ASKED:?}");
    }
}

#[tokio::test]
async fn without_rights_a_key_still_reads_what_its_agents_see() {
    let stage = stage(&[]).await;
    let listed = with_key(stage.modern("tools/list", json!({}))).send().await;
    assert_eq!(listed.brief(), "200 ok", "{listed:?}");
    let refused = with_key(stage.modern("tools/call", json!({"name": "echo"}))).send().await;
    let error = refused.json();
    assert_eq!(error["id"], 1);
    assert_eq!(error["error"]["message"], "this key lacks the right `execute`");
    assert_eq!(stage.calls(), 0);
}

#[tokio::test]
async fn a_session_has_the_rights_of_its_key() {
    let stage = stage(&[]).await;
    let start = json!({"protocolVersion": "2025-06-18", "capabilities": {},
                       "clientInfo": {"name": "test", "version": "1"}});
    let start = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": start});
    let opened = with_key(stage.post(start.to_string())).send().await;
    let id = opened.header("mcp-session-id").expect("a session");
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                      "params": {"name": "echo", "arguments": {"text": "x"}}});
    let call = with_key(stage.post(call.to_string())).header("mcp-session-id", &id);
    assert_eq!(call.send().await.brief(), "403 -32600");
    assert_eq!(stage.calls(), 0);
}
