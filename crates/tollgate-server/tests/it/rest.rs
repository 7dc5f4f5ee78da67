//! The REST API and the operations endpoints.

use serde_json::json;

use crate::stage::{Setup, Stage};
use crate::upstream::Upstream;

#[tokio::test]
async fn tools_are_shown_as_an_agent_sees_them() {
    let stage = Stage::start().await;
    let shown = stage.request("GET", "/v1/tools?agent=sage&tier=deep").send().await.json();
    assert_eq!((&shown["agent"], &shown["tier"]), (&json!("sage"), &json!("deep")));
    assert!(shown["catalog_version"].is_u64() && shown["problems"].is_array());
    assert_eq!(shown["tools"].as_array().unwrap().len(), 1);
    let tool = &shown["tools"][0];
    assert_eq!((&tool["name"], &tool["server"]), (&json!("echo"), &json!("test")));
    assert_eq!(tool["input_schema"]["properties"]["text"]["type"], "string");
    assert_eq!(tool["hash"].as_str().unwrap().len(), 64);
    let all = stage.request("GET", "/v1/tools").send().await.json();
    assert!(all["tools"].as_array().unwrap().len() > 4);
    let mcp = stage.request("GET", "/v1/tools?agent=sage&format=mcp").send().await.json();
    assert_eq!(mcp["tools"][0]["inputSchema"]["type"], "object");
    for (query, status, code) in [
        ("agent=nobody", 404, "unknown_agent"),
        ("tier=soon", 400, "bad_tier"),
        ("format=xml", 400, "unknown_format"),
        ("tier=fast&tier=deep", 400, "bad_query"),
        ("tire=fast", 400, "bad_query"),
    ] {
        let reply = stage.request("GET", &format!("/v1/tools?{query}")).send().await;
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (status, &json!(code)));
    }
}

#[tokio::test]
async fn tools_are_shown_in_the_words_of_every_api() {
    let stage = Stage::start().await;
    let shown = |form: &'static str| {
        let path = format!("/v1/tools?agent=sage&format={form}");
        let asked = stage.request("GET", &path).send();
        async move { asked.await.json()["tools"].clone() }
    };
    let schema = shown("mcp").await[0]["inputSchema"].clone();
    let text = &schema["properties"]["text"];
    assert_eq!(text["type"], "string");
    for (form, name, parameters) in [
        ("openai", "/0/function/name", "/0/function/parameters"),
        ("openai-responses", "/0/name", "/0/parameters"),
        ("openai-realtime", "/0/name", "/0/parameters"),
        ("anthropic", "/0/name", "/0/input_schema"),
        (
            "gemini",
            "/0/functionDeclarations/0/name",
            "/0/functionDeclarations/0/parametersJsonSchema",
        ),
    ] {
        let tools = shown(form).await;
        assert_eq!(tools.pointer(name), Some(&json!("echo")), "{form}: {tools}");
        let found = tools.pointer(parameters).unwrap();
        assert_eq!(found["properties"]["text"], *text, "{form}: {tools}");
    }
    let live = shown("gemini-live").await;
    let parameters = &live[0]["functionDeclarations"][0]["parameters"];
    assert_eq!(parameters["properties"]["text"]["type"], "STRING", "{live}");
    let reply = stage.request("GET", "/v1/tools?format=anthropics").send().await;
    let message = "unknown format `anthropics`; did you mean `anthropic`?";
    assert_eq!((reply.status, &reply.json()["error"]["message"]), (400, &json!(message)));
    let reply = stage.request("GET", "/v1/tools?format=openai&explain=true").send().await;
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!("bad_query")));
}

#[tokio::test]
async fn one_call_has_one_outcome() {
    let stage = Stage::start().await;
    let execute = |body: String| stage.post(body).path("/v1/tools/execute").send();
    let call = json!({"name": "echo", "arguments": {"text": "{\"a\": 1}"}});
    let outcome = execute(call.to_string()).await.json();
    assert_eq!((&outcome["status"], &outcome["data"]), (&json!("ok"), &json!({"a": 1})));
    assert_eq!((&outcome["retryable"], &outcome["cached"]), (&json!(false), &json!(false)));
    assert!(outcome["message"].is_string() && outcome["duration_ms"].is_u64());
    for (body, status) in [
        (json!({"name": "unheard_of"}), "denied"),
        (json!({"name": "echo", "arguments": {"text": 5}}), "invalid_arguments"),
        (json!({"name": "echo", "arguments": {"text": "x"}, "agent": "sage"}), "ok"),
    ] {
        let reply = execute(body.to_string()).await;
        assert_eq!((reply.status, &reply.json()["status"]), (200, &json!(status)), "{body}");
    }
    for body in ["", "[]", "{}", "{\"name\":5}", "{\"name\":\"echo\",\"name\":\"wait\"}"] {
        let reply = execute(body.to_owned()).await;
        assert_eq!(reply.status, 400, "{body}");
        assert_eq!(reply.json()["error"]["type"], "invalid_request_error");
    }
}

#[tokio::test]
async fn what_nobody_would_read_is_refused_by_its_name() {
    let stage = Stage::start().await;
    let call = json!({"name": "echo", "arguments": {"text": "x"}});
    let misspelt = json!({"name": "echo", "argument": {"text": "x"}});
    for (path, body, named) in [
        ("/v1/tools/execute?late=true", call, "`late`"),
        ("/v1/tools/execute", misspelt, "`argument`; did you mean `arguments`?"),
        ("/v1/tier", json!({"text": "hi", "overide": "deep"}), "did you mean `override`?"),
        ("/v1/tier?tier=deep", json!({"text": "hi"}), "`tier`"),
        ("/api/calibrate?tool=echo", json!({}), "`tool`"),
    ] {
        let reply = stage.post(body.to_string()).path(path).by_admin().send().await;
        assert_eq!(reply.status, 400, "{path}: {reply:?}");
        assert!(reply.text.contains(named), "{path}: {reply:?}");
    }
    let reply = stage.request("GET", "/v1/results/r_0?pages=2").send().await;
    assert_eq!(reply.status, 400, "{reply:?}");
    assert!(reply.text.contains("did you mean `page`?"), "{reply:?}");
    assert_eq!(stage.calls(), 0);
}

#[tokio::test]
async fn operators_see_what_servers_do() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    let health = stage.request("GET", "/healthz").send().await.json();
    assert!(health["tollgate"].is_string());
    assert_eq!(stage.request("GET", "/readyz").send().await.status, 200);
    let status = stage.request("GET", "/mcp/status").by_admin().send().await.json();
    let servers = status["servers"].as_array().unwrap();
    let up_status = servers.iter().find(|server| server["id"] == "up").unwrap();
    assert_eq!(up_status["state"], "ready");
    assert_eq!(up_status["protocol"], "2025-11-25");
    assert_eq!(up_status["tools"], 5);
    assert!(up_status["since"].as_str().unwrap().ends_with('Z'));
    let test =
        |server: &str| stage.request("POST", &format!("/mcp/test/{server}")).by_admin().send();
    assert_eq!(test("up").await.json()["ok"], true);
    assert_eq!(test("test").await.json()["ok"], true);
    let missing = test("nobody").await;
    assert_eq!(missing.status, 404);
    assert_eq!(missing.header("content-type").as_deref(), Some("application/problem+json"));
}
