//! Rights of keys, on every front.

use serde_json::json;
use tollgate_core::budget::Tier;
use tollgate_server::{Right, Rights};

use crate::client::Call;
use crate::stage::{Setup, Stage, key};

/// With agents whose ceiling is `standard`.
async fn stage(rights: &[Right]) -> Stage {
    within(Some(Tier::Standard), rights).await
}

async fn within(ceiling: Option<Tier>, rights: &[Right]) -> Stage {
    let rights: Rights = rights.iter().copied().collect();
    let key = key("phone", "a-key-of-sixteen", rights);
    Stage::with(Setup { keys: vec![key], ceiling, ..Setup::default() }).await
}

fn with_key(call: Call) -> Call {
    call.header("x-api-key", "a-key-of-sixteen")
}

/// The status of each thing that needs a right, in this order.
const RIGHTS: [&str; 11] = [
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

async fn statuses(stage: &Stage) -> [u16; RIGHTS.len()] {
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
    let mut found = [0; RIGHTS.len()];
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
        (&[Right::Observe], [403, 403, 403, 403, 403, 403, 200, 403, 200, 403, 200]),
        (&[Right::Admin], [403, 403, 403, 403, 403, 403, 200, 404, 200, 404, 200]),
        (&Right::ALL, [200, 200, 200, 200, 200, 200, 200, 404, 200, 404, 200]),
    ] {
        let stage = stage(rights).await;
        assert_eq!(statuses(&stage).await, expected, "{rights:?}: {RIGHTS:?}");
    }
}

/// `tier` by header, by `_meta`, by query, by `/v1/tier` and by `initialize`, each with its status
/// and the tier that was given, where that is said.
async fn by_name(stage: &Stage, tier: &str) -> Vec<(u16, Option<String>)> {
    let meta = json!({"_meta": {"dev.tollgate/tier": tier}});
    let start = json!({"protocolVersion": "2025-06-18", "capabilities": {},
                       "clientInfo": {"name": "test", "version": "1"}, "_meta": meta["_meta"]});
    let start = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": start});
    let calls = [
        stage.modern("tools/list", json!({})).header("x-tollgate-tier", tier),
        stage.modern("tools/list", meta),
        stage.request("GET", "/v1/tools").header("x-tollgate-tier", tier),
        stage.request("GET", &format!("/v1/tools?tier={tier}")),
        stage.post(json!({"text": "x", "override": tier}).to_string()).path("/v1/tier"),
        stage.post(start.to_string()),
    ];
    let mut found = Vec::new();
    for call in calls {
        let reply = with_key(call).send().await;
        found.push((reply.status, reply.json()["tier"].as_str().map(str::to_owned)));
    }
    found
}

#[tokio::test]
async fn a_tier_up_to_the_ceiling_needs_no_right() {
    use Tier::{Deep, Fast, Standard};
    for (ceiling, tier, rights, status) in [
        (Some(Standard), Fast, &[][..], 200),
        (Some(Standard), Standard, &[], 200),
        (Some(Standard), Deep, &[], 403),
        (Some(Standard), Deep, &[Right::OverrideTier], 200),
        (Some(Deep), Deep, &[], 200),
        (None, Fast, &[], 200),
        (None, Deep, &[], 200),
    ] {
        let stage = within(ceiling, rights).await;
        for (at, (found, given)) in by_name(&stage, tier.as_str()).await.into_iter().enumerate() {
            assert_eq!(found, status, "{ceiling:?} {tier} {rights:?}: {at}");
            assert!(given.is_none_or(|given| given == tier.as_str()), "{ceiling:?} {tier}: {at}");
        }
    }
}

#[tokio::test]
async fn whoever_asks_for_too_much_is_told_the_ceiling() {
    let stage = stage(&[]).await;
    let refused = with_key(stage.modern("tools/list", json!({}))).header("x-tollgate-tier", "deep");
    assert_eq!(
        refused.send().await.json()["error"]["message"],
        "this key does not have the right `override_tier`: `deep` exceeds the agent's ceiling, \
         `standard`"
    );
    let request = json!({"text": "x", "conversation": "c", "override": "deep"});
    let refused = with_key(stage.post(request.to_string()).path("/v1/tier")).send().await;
    assert_eq!(refused.json()["error"]["code"], "no_right", "{refused:?}");
    let first = json!({"text": "x", "conversation": "c"});
    let first = with_key(stage.post(first.to_string()).path("/v1/tier")).send().await.json();
    assert_eq!(first["reason"], "first turn of the conversation", "what was refused is no turn");
}

#[tokio::test]
async fn a_session_is_narrowed_by_its_own_requests() {
    let stage = stage(&[]).await;
    let start = json!({"protocolVersion": "2025-06-18", "capabilities": {},
                       "clientInfo": {"name": "test", "version": "1"}});
    let start = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": start});
    let opened = with_key(stage.post(start.to_string())).send().await;
    let id = opened.header("mcp-session-id").expect("a session");
    for (tier, expected) in [("fast", "200 ok"), ("standard", "200 ok"), ("deep", "403 -32600")] {
        let list = |params| {
            let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
            with_key(stage.post(list.to_string())).header("mcp-session-id", &id)
        };
        let by_header = list(json!({})).header("x-tollgate-tier", tier);
        let by_meta = list(json!({"_meta": {"dev.tollgate/tier": tier}}));
        assert_eq!(by_header.send().await.brief(), expected, "{tier} by header");
        assert_eq!(by_meta.send().await.brief(), expected, "{tier} by `_meta`");
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
    assert_eq!(error["error"]["message"], "this key does not have the right `execute`");
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
