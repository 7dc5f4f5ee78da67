//! `/api/agents`: agents as admins see them, and prompts with their placeholders filled in.

use serde_json::{Value, json};
use tollgate_core::agent::{Agent, Persona, ToolSearch};
use tollgate_core::glob::Glob;
use tollgate_core::id::AgentId;

use crate::stage::{Setup, Stage};

async fn stage() -> Stage {
    let persona = Persona {
        prompt: Some("You are {role}. Speak with {caller_name} of {realm}, {unknown}.".to_owned()),
        greeting: Some("Well met, {caller_name}.".to_owned()),
        variables: [("role", "a sage"), ("realm", "Neverwinter")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        pinned_tools: vec![Glob::new("echo")],
        tool_search: ToolSearch::Auto,
        ..Persona::default()
    };
    let sage = Agent {
        id: AgentId::parse("sage").unwrap(),
        tools: vec![Glob::new("echo")],
        persona,
        concurrent: Some(3),
        ..Agent::implicit()
    };
    Stage::with(Setup { agents: vec![Agent::implicit(), sage], ..Setup::default() }).await
}

#[tokio::test]
async fn agents_are_shown_to_admins() {
    let stage = stage().await;
    let stranger = stage.request("GET", "/api/agents").send().await;
    assert_eq!(stranger.status, 401);
    let all = stage.request("GET", "/api/agents").by_admin().send().await.json();
    let names: Vec<(&Value, &Value)> = all["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| (&agent["name"], &agent["default"]))
        .collect();
    assert_eq!(names, [(&json!("default"), &json!(true)), (&json!("sage"), &json!(false))]);
    let sage = stage.request("GET", "/api/agents/sage").by_admin().send().await.json();
    assert_eq!(sage["tools"], json!(["echo"]));
    assert_eq!(sage["concurrent"], 3);
    assert_eq!(sage["pinned_tools"], json!(["echo"]));
    assert_eq!((&sage["tool_search"], &sage["mixed_response"]), (&json!("auto"), &json!("native")));
    let memory = json!({"namespace": "default", "record": "off", "recall": false});
    assert_eq!(sage["memory"], memory);
    assert_eq!(sage["variables"]["realm"], "Neverwinter");
    let none = stage.request("GET", "/api/agents/nobody").by_admin().send().await;
    assert_eq!((none.status, &none.json()["code"]), (404, &json!("unknown_agent")));
}

#[tokio::test]
async fn b_ch_12_prompts_are_filled_in_once() {
    let stage = stage().await;
    let render = |body: Value| {
        stage
            .request("POST", "/api/agents/sage/render")
            .by_admin()
            .header("content-type", "application/json")
            .body(body.to_string())
    };
    let usual = render(json!({})).send().await.json();
    assert_eq!(usual["prompt"], "You are a sage. Speak with there of Neverwinter, {unknown}.");
    assert_eq!(usual["greeting"], "Well met, there.");
    let named = render(json!({"variables": {"caller_name": "{realm}", "unknown": "ok"}}));
    let named = named.header("x-tollgate-var-realm", "Waterdeep").send().await.json();
    assert_eq!(named["prompt"], "You are a sage. Speak with {realm} of Waterdeep, ok.");
    for (body, code) in [
        (json!({"variables": {"a": 1}}), "bad_variable"),
        (json!({"variables": {"a-b": "x"}}), "bad_variable"),
        (json!({"variables": []}), "bad_request"),
        (json!({"variable": {}}), "bad_request"),
    ] {
        let refused = render(body.clone()).send().await;
        assert_eq!((refused.status, &refused.json()["code"]), (400, &json!(code)), "{body}");
    }
}

#[tokio::test]
async fn r_09_how_the_gateway_stands_is_written_for_prometheus() {
    let stage = stage().await;
    assert_eq!(stage.request("GET", "/metrics").send().await.status, 401);
    let reply = stage.request("GET", "/metrics").by_admin().send().await;
    let text = reply.text;
    for line in [
        "# TYPE tollgate_server_up gauge",
        "tollgate_server_up{server=\"test\"} 1",
        "tollgate_requests_in_flight 1",
        "tollgate_approvals_waiting 0",
        "tollgate_audit_writable 1",
        "tollgate_tools{state=\"withheld\"} 0",
    ] {
        assert!(text.lines().any(|it| it == line), "{line} in {text}");
    }
}
