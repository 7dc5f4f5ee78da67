//! S: access rules, whatever else a request contains.

use serde_json::{Value, json};

use crate::stage::Stage;

#[tokio::test]
async fn s_01_no_request_can_name_a_command() {
    let stage = Stage::start().await;
    let canary = std::env::temp_dir().join(format!("canary-{:x}", rand::random::<u64>()));
    let path = canary.to_str().unwrap();
    let command = json!({"command": ["touch", path], "transport": "stdio", "args": [path]});
    let servers = async || {
        let status = stage.request("GET", "/mcp/status").by_admin().send().await.json();
        let servers = status["servers"].as_array().unwrap().clone();
        servers.into_iter().map(|server| server["id"].clone()).collect::<Vec<_>>()
    };
    let before = servers().await;
    for route in [
        "/mcp",
        "/mcp/sage",
        "/mcp/evil",
        "/mcp/test/evil",
        "/mcp/test/test",
        "/mcp/status",
        "/v1/tools",
        "/v1/tools/execute",
        "/healthz",
        "/readyz",
        "/v1/servers",
        "/mcp/servers",
        "/mcp/reload",
        "/config",
    ] {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let target = format!("{route}?command=touch&args={path}&transport=stdio");
            let call = stage.request(method, &target).header("content-type", "application/json");
            let reply = call.body(command.to_string()).send().await;
            assert!(reply.status < 500, "{method} {route}: {reply:?}");
        }
    }
    assert_eq!(servers().await, before, "nobody was added");
    let inside = json!({"name": "echo", "arguments": {"text": "x"}, "command": ["touch", path]});
    stage.modern("tools/call", inside).send().await;
    assert!(!canary.exists());
}

#[tokio::test]
async fn s_12_mirrored_arguments_must_agree_with_their_headers() {
    let stage = Stage::start().await;
    let call = |arguments: Value| {
        stage.modern("tools/call", json!({"name": "mirrored", "arguments": arguments}))
    };
    let region = || call(json!({"region": "eu"}));
    let both = || call(json!({"region": "eu", "count": 7}));
    for (request, expected) in [
        (region().header("mcp-param-region", "eu"), "200 ok"),
        (region().header("MCP-Param-Region", "=?base64?ZXU=?="), "200 ok"),
        (region().header("mcp-param-region", "us"), "400 -32020"),
        (region().header("mcp-param-region", "=?base64?ZXU?="), "400 -32020"),
        (region(), "400 -32020"),
        (region().header("mcp-param-region", "eu").header("mcp-param-region", "eu"), "400 -32020"),
        (both().header("mcp-param-region", "eu"), "400 -32020"),
        (both().header("mcp-param-region", "eu").header("mcp-param-count", "7"), "200 ok"),
        (both().header("mcp-param-region", "eu").header("mcp-param-count", "7.0"), "200 ok"),
        (both().header("mcp-param-region", "eu").header("mcp-param-count", "8"), "400 -32020"),
        (call(json!({})), "200 ok"),
        (call(json!({})).header("mcp-param-region", "eu"), "400 -32020"),
        (call(json!({})).header("mcp-param-unheard-of", "x"), "200 ok"),
    ] {
        assert_eq!(request.brief().await, expected);
    }
}

#[tokio::test]
async fn s_12_s_15_claims_in_headers_and_meta_change_nothing() {
    let stage = Stage::start().await;
    let plain = stage.modern("tools/list", json!({})).send().await.text;
    let meta = json!({"tenant": "admin", "user": "root", "dev.tollgate/principal": "ops"});
    let claimed = stage
        .modern("tools/list", json!({"_meta": meta}))
        .header("x-user", "admin")
        .header("x-forwarded-user", "admin")
        .header("x-tollgate-principal", "ops")
        .header("x-tollgate-internal", "1")
        .header("authorization", "Bearer secret-api-key")
        .send()
        .await
        .text;
    assert_eq!(plain, claimed);
    let session = stage.open_session("2025-11-25", json!({})).await;
    let wait = json!({"name": "wait", "arguments": {"ms": 1}, "_meta": {"tenant": "admin",
        "agent": "default", "principal": "root", "dev.tollgate/principal": "ops"}});
    let hidden = stage.modern("tools/call", wait.clone()).path("/mcp/sage");
    assert_eq!(hidden.brief().await, "200 -32602", "not for sage, whoever it says it is");
    assert_eq!(session.call(1, "tools/call", &wait).brief().await, "200 ok", "as without");
}

#[tokio::test]
async fn s_13_two_hundred_clients_with_one_id_get_their_own_answers() {
    let stage = Stage::start().await;
    let one = |at: usize| {
        let stage = &stage;
        async move {
            for round in 0..5 {
                let text = format!("client {at} round {round}");
                let params = json!({"name": "echo", "arguments": {"text": text}});
                let reply = stage.modern("tools/call", params).send().await;
                assert_eq!(reply.json()["result"]["content"][0]["text"], text);
            }
        }
    };
    futures_util::future::join_all((0..200).map(one)).await;
    assert_eq!(stage.calls(), 1_000);
}

#[tokio::test]
async fn s_14_a_session_is_of_no_use_on_another_route() {
    let stage = Stage::start().await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    let list = || session.call(1, "tools/list", &json!({}));
    assert_eq!(list().brief().await, "200 ok");
    assert_eq!(list().path("/mcp/sage").brief().await, "404 -32600");
    assert_eq!(list().header("x-tollgate-agent", "sage").brief().await, "404 -32600");
    assert_eq!(list().set("mcp-session-id", &"0".repeat(32)).brief().await, "404 -32600");
    let get = session.add_headers(stage.request("GET", "/mcp/sage")).header("accept", "*/*");
    assert_eq!(get.send().await.status, 404);
    let delete = session.add_headers(stage.request("DELETE", "/mcp/sage"));
    assert_eq!(delete.send().await.status, 404);
    assert_eq!(list().brief().await, "200 ok", "still alive");
}

#[tokio::test]
async fn s_29_what_an_agent_does_not_see_it_cannot_call() {
    let stage = Stage::start().await;
    let names = |reply: Value| -> Vec<String> {
        let tools = reply["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let sage = |call: crate::client::Call| call.path("/mcp/sage");
    let listed = sage(stage.modern("tools/list", json!({}))).send().await.json();
    assert_eq!(names(listed), ["echo"]);
    let wait = json!({"name": "wait", "arguments": {"ms": 1}});
    let unheard_of = json!({"name": "unheard_of", "arguments": {}});
    for params in [wait.clone(), unheard_of] {
        let reply = sage(stage.modern("tools/call", params)).send().await;
        assert_eq!(reply.brief(), "200 -32602", "hidden and absent alike");
    }
    let by_header = stage.modern("tools/call", wait.clone()).header("x-tollgate-agent", "sage");
    assert_eq!(by_header.brief().await, "200 -32602");
    let by_meta = json!({"name": "wait", "_meta": {"dev.tollgate/agent": "sage"}});
    assert_eq!(stage.modern("tools/call", by_meta).brief().await, "200 -32602");
    let execute = json!({"name": "wait", "arguments": {"ms": 1}, "agent": "sage"});
    let reply = stage.post(execute.to_string()).path("/v1/tools/execute").send().await;
    assert_eq!((reply.status, &reply.json()["status"]), (200, &json!("denied")));
    assert_eq!(stage.calls(), 0, "nothing reached a tool");
    assert_eq!(stage.modern("tools/call", wait).brief().await, "200 ok");
}

#[tokio::test]
async fn unknown_agents_and_tiers_are_named() {
    let stage = Stage::start().await;
    let list = || stage.modern("tools/list", json!({}));
    assert_eq!(list().path("/mcp/nobody").brief().await, "404 -32602");
    assert_eq!(list().header("x-tollgate-tier", "FASTEST").brief().await, "400 -32600");
    assert_eq!(list().header("x-tollgate-tier", "fast").brief().await, "200 ok");
    let meta = json!({"_meta": {"dev.tollgate/tier": "soon"}});
    assert_eq!(stage.modern("tools/list", meta).brief().await, "200 -32602");
}
