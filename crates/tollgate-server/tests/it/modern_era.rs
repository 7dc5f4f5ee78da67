//! MCP 2026-07-28, which is stateless.

use serde_json::{Value, json};

use crate::stage::{Setup, Stage};
use crate::upstream::Upstream;

async fn result(stage: &Stage, method: &str, params: Value) -> Value {
    let reply = stage.modern(method, params).send().await;
    assert_eq!(reply.brief(), "200 ok", "{reply:?}");
    assert_eq!(reply.header("content-type").as_deref(), Some("application/json"));
    let result = reply.json()["result"].clone();
    assert_eq!(result["resultType"], "complete", "{method}");
    let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["name"], "tollgate", "{method}");
    result
}

#[tokio::test]
async fn discover_says_what_there_is() {
    let stage = Stage::start().await;
    let found = result(&stage, "server/discover", json!({})).await;
    assert_eq!(found["supportedVersions"], json!(["2026-07-28"]));
    for capability in ["tools", "prompts", "resources", "completions", "logging", "extensions"] {
        assert!(found["capabilities"][capability].is_object(), "{capability}");
    }
    assert!(found["ttlMs"].is_u64());
    let reply = stage.modern("tools/call", json!({"name": "echo"})).send().await;
    assert_eq!(reply.json()["result"].get("ttlMs"), None, "calls are not kept");
}

#[tokio::test]
async fn lists_may_be_kept_for_a_while_by_one_client() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    for (method, key, expected) in [
        ("tools/list", "tools", "up_count"),
        ("resources/list", "resources", "a"),
        ("resources/templates/list", "resourceTemplates", "any"),
        ("prompts/list", "prompts", "up_greet"),
    ] {
        let listed = result(&stage, method, json!({})).await;
        assert!(listed["ttlMs"].is_u64() && listed["cacheScope"] == "private", "{method}");
        let names: Vec<&str> =
            listed[key].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
        assert!(names.contains(&expected), "{method}: {names:?}");
    }
}

#[tokio::test]
async fn what_servers_answer_is_passed_on_whole() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    let read = result(&stage, "resources/read", json!({"uri": "test://a"})).await;
    assert_eq!(read["contents"][0]["text"], "hello");
    assert_eq!((&read["ttlMs"], &read["cacheScope"]), (&json!(0), &json!("private")));
    let prompt = result(&stage, "prompts/get", json!({"name": "up_greet"})).await;
    assert_eq!(prompt["messages"][0]["content"]["text"], "hi");
    let reference = json!({"type": "ref/prompt", "name": "up_greet"});
    let argument = json!({"name": "x", "value": ""});
    let complete = json!({"ref": reference, "argument": argument});
    let completed = result(&stage, "completion/complete", complete).await;
    assert_eq!(completed["completion"]["values"], json!(["x"]));
    let called = result(&stage, "tools/call", json!({"name": "up_data"})).await;
    assert_eq!(called["structuredContent"], json!({"a": 1}));
    assert_eq!(called["_meta"]["vendor"], true, "beside our own name");
}

#[tokio::test]
async fn missing_things_have_the_modern_code() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    for uri in ["test://missing", "unheard-of://x"] {
        let reply = stage.modern("resources/read", json!({"uri": uri})).send().await;
        assert_eq!(reply.brief(), "200 -32602", "{uri}");
    }
    assert_eq!(stage.modern("resources/read", json!({})).brief().await, "200 -32602");
    assert_eq!(stage.modern("prompts/get", json!({"name": "x"})).brief().await, "200 -32602");
    let reply = stage.modern("tools/call", json!({"name": "ecko"})).send().await;
    assert_eq!(reply.brief(), "200 -32602");
    let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("`echo`"), "helps: {message}");
}

#[tokio::test]
async fn what_is_meant_for_us_goes_no_further() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    let meta = json!({"dev.tollgate/tier": "deep", "dev.tollgate/conversation": "c",
        "io.modelcontextprotocol/clientInfo": {"name": "me", "version": "1"}, "vendor/x": {"a": 1}});
    let params = json!({"name": "up_data", "_meta": meta});
    assert_eq!(stage.modern("tools/call", params).brief().await, "200 ok");
    let sent = up.script.metas.lock().pop().unwrap();
    assert_eq!(sent["vendor/x"], json!({"a": 1}));
    for key in sent.as_object().unwrap().keys() {
        assert!(!key.starts_with("dev.tollgate/") && !key.starts_with("io.model"), "{key}");
    }
}

#[tokio::test]
async fn tasks_are_for_clients_that_know_them() {
    let stage = Stage::start().await;
    let params = json!({"taskId": "t"});
    let reply = stage.modern("tasks/get", params.clone()).send().await;
    assert_eq!(reply.brief(), "400 -32021");
    let required = &reply.json()["error"]["data"]["requiredCapabilities"];
    assert!(required["extensions"]["io.modelcontextprotocol/tasks"].is_object());
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let meta = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({"taskId": "forged", "_meta": meta});
        assert_eq!(stage.modern(method, params).brief().await, "200 -32602", "{method}");
    }
}

#[tokio::test]
async fn there_is_only_post() {
    let stage = Stage::start().await;
    for method in ["GET", "DELETE"] {
        let reply =
            stage.request(method, "/mcp").header("accept", "text/event-stream").send().await;
        assert_eq!(reply.status, 405);
        assert_eq!(reply.header("allow").as_deref(), Some("POST"));
    }
    for method in ["PUT", "PATCH", "OPTIONS", "HEAD"] {
        assert_eq!(stage.request(method, "/mcp").send().await.status, 405, "{method}");
    }
}
