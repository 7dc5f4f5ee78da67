//! Credentials are never forwarded, and client headers are not trusted.

use std::time::Duration;

use serde_json::json;
use tollgate_core::id::AgentId;
use tollgate_server::{ApiKey, Rights};

use crate::client::Call;
use crate::hostile_servers::{Hostile, SERVERS, error, make_plan, plan, resource, result, then};
use crate::stage::{Setup, Stage, key};

const CANARY: &str = "canary-5d1f7c3e9b";
const UPPER: &str = "CANARY-5D1F7C3E9B";

#[tokio::test]
async fn s_22_the_token_of_a_client_reaches_no_server() {
    let setup = Setup { keys: vec![key("ada", CANARY, Rights::ALL)], ..Setup::default() };
    let hostile = Hostile::with(Duration::from_secs(5), setup).await;
    let stage = &hostile.stage;
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
    for (header, secret) in
        [("authorization", format!("Bearer {CANARY}")), ("x-api-key", CANARY.to_owned())]
    {
        let dressed = |call: Call| {
            call.header(header, &secret)
                .header("cookie", &format!("session={CANARY}"))
                .header("proxy-authorization", &format!("Basic {CANARY}"))
                .header("mcp-param-token", CANARY)
                .header("x-forwarded-access-token", CANARY)
        };
        let opened = dressed(stage.post(hello.to_string())).send().await;
        let id = opened.header("mcp-session-id").expect("a session");
        for server in SERVERS {
            let fine = json!({"name": format!("{server}_say")});
            let broken = json!({"name": format!("{server}_say"),
                "arguments": make_plan(&error(r#"{"code":-32000,"message":"m"}"#))});
            for params in [&fine, &broken] {
                let modern = dressed(stage.modern("tools/call", params.clone())).send().await;
                let body =
                    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
                let legacy = dressed(stage.post(body.to_string())).header("mcp-session-id", &id);
                let legacy = legacy.send().await;
                let plain = dressed(stage.post(params.to_string())).path("/v1/tools/execute");
                for reply in [modern, legacy, plain.send().await] {
                    assert_eq!(reply.status, 200, "{server}: {reply:?}");
                    assert!(!reply.text.contains(CANARY), "{server}: {reply:?}");
                }
            }
            let uri = json!({"uri": resource(server, &result(r#"{"contents":[]}"#))});
            assert_eq!(dressed(stage.modern("resources/read", uri)).brief().await, "200 ok");
            let test = dressed(stage.request("POST", &format!("/mcp/test/{server}"))).send().await;
            assert_eq!(test.json()["ok"], true, "{server}");
        }
        let answer = then(plan(&[]), "heard");
        let params = json!({"name": "pipe_say", "arguments": make_plan(&answer)});
        let answer = dressed(stage.modern("tools/call", params)).send().await.text;
        assert!(answer.contains("tools/call") && !answer.contains(CANARY), "{answer}");
    }
    let received = String::from_utf8_lossy(&hostile.received.lock()).into_owned();
    assert!(received.contains("mcp-protocol-version") && received.contains("resources/read"));
    for canary in [CANARY, UPPER, "Y2FuYXJ5LTVkMWY3YzNlOWI", "cookie", "authorization"] {
        assert!(!received.contains(canary), "{canary} was heard");
    }
}

/// Headers by which other gateways were told to trust a request.
pub(crate) const TRUST: &[&str] = &[
    "x-user",
    "x-user-id",
    "x-forwarded-user",
    "x-remote-user",
    "remote-user",
    "x-auth-user",
    "x-authenticated-user",
    "x-admin",
    "x-role",
    "x-roles",
    "x-tenant",
    "x-tenant-id",
    "x-internal",
    "x-internal-request",
    "x-internal-token",
    "x-trusted",
    "x-bypass-auth",
    "x-mcp-api-key",
    "mcp-api-key",
    "router-key",
    "x-mcp-servername",
    "x-mcp-toolname",
    "mcp-init-host",
    "x-authorized-tools",
    "x-mcp-authorized",
    "x-mcp-virtualserver",
    "x-tollgate-principal",
    "x-tollgate-internal",
    "x-tollgate-key",
    "x-litellm-api-key",
    "x-bf-vk",
    "x-consumer-username",
    "x-envoy-internal",
    "x-amzn-oidc-identity",
    "x-goog-authenticated-user-email",
    "x-ms-client-principal",
    "x-original-url",
    "x-rewrite-url",
    "x-http-method-override",
    "x-forwarded-for",
    "x-real-ip",
    "forwarded",
    "via",
    "x-forwarded-client-cert",
    "x-client-verify",
    "ssl-client-verify",
];

#[tokio::test]
async fn s_15_no_header_of_trust_opens_anything() {
    let agents = Some(vec![AgentId::parse("sage").unwrap()]);
    let key = ApiKey { agents, ..key("phone", CANARY, Rights::ALL) };
    let setup = Setup { keys: vec![key], ..Setup::default() };
    let stage = Stage::with(setup).await;
    let list = || stage.modern("tools/list", json!({}));
    let bearer = format!("Bearer {CANARY}");
    let usual = list().header("authorization", &bearer).send().await.text;
    assert!(usual.contains("\"echo\"") && !usual.contains("\"wait\""), "{usual}");
    for value in ["admin", "true", "127.0.0.1", "secret-api-key"] {
        let with = |mut call: Call| {
            for name in TRUST {
                call = call.header(name, value);
            }
            call
        };
        for path in ["/mcp", "/mcp/default", "/mcp/status", "/v1/tools", "/mcp/test/test"] {
            for method in ["GET", "POST", "DELETE"] {
                let reply = with(stage.request(method, path)).send().await;
                assert_eq!(reply.status, 401, "{method} {path}: {reply:?}");
            }
        }
        assert_eq!(with(list()).send().await.status, 401);
        let text = with(list()).header("authorization", &bearer).send().await.text;
        assert_eq!(text, usual, "{value}");
        let other = with(list()).header("authorization", &bearer).path("/mcp/default");
        assert_eq!(other.send().await.status, 403);
        let wait = json!({"name": "wait", "arguments": {"ms": 1}});
        let hidden = with(stage.modern("tools/call", wait)).header("authorization", &bearer);
        assert_eq!(hidden.brief().await, "200 -32602");
    }
    assert_eq!(stage.calls(), 0);
}
