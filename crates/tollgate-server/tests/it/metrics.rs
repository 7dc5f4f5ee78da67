//! `/metrics`: counts of real calls, and labels that clients cannot inflate.

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_engine::builtin::{
    self, BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError,
};

use crate::client::Call;
use crate::stage::{Setup, Stage};
use crate::upstream::Upstream;

/// Its name is a stranger's.
struct Odd(&'static str);

#[async_trait]
impl BuiltinTool for Odd {
    fn definition(&self) -> Value {
        json!({"name": self.0, "description": "Odd.", "inputSchema": {"type": "object"}})
    }

    async fn call(
        &self,
        _: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        Ok(BuiltinReply { text: "fine".to_owned(), structured: None })
    }
}

fn execute(stage: &Stage, what: &Value) -> Call {
    stage.post(what.to_string()).path("/v1/tools/execute")
}

async fn page(stage: &Stage) -> String {
    let reply = stage.request("GET", "/metrics").by_admin().send().await;
    assert_eq!(reply.status, 200);
    reply.text
}

/// The value of a sample, as it stands in the page.
fn value(page: &str, sample: &str) -> Option<f64> {
    let line = page.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.map(|value| value.parse().unwrap())
}

#[tokio::test]
async fn calls_are_counted_by_tool_and_by_how_they_ended() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    for _ in 0..3 {
        execute(&stage, &json!({"name": "echo"})).send().await;
    }
    execute(&stage, &json!({"name": "boom"})).send().await;
    execute(&stage, &json!({"name": "nothing"})).send().await;
    let slow = json!({"name": "wait", "arguments": {"ms": 9_000}, "tier": "standard"});
    execute(&stage, &slow).send().await;
    let page = async || page(&stage).await;
    let before = page().await;
    assert!(!before.contains("mcp_client_operation_duration_seconds_count"), "nobody was asked");
    execute(&stage, &json!({"name": "up_data"})).send().await;
    let page = page().await;
    for (sample, expected) in [
        (r#"tollgate_tool_calls_total{server="test",tool="echo",status="ok"}"#, 3.0),
        (r#"tollgate_tool_calls_total{server="test",tool="boom",status="error"}"#, 1.0),
        (r#"tollgate_tool_calls_total{server="test",tool="wait",status="timeout"}"#, 1.0),
        (r#"tollgate_tool_latency_seconds_count{server="test",tool="echo"}"#, 3.0),
        (r#"tollgate_tool_latency_seconds_bucket{server="test",tool="echo",le="60"}"#, 3.0),
        (r#"tollgate_tool_latency_seconds_bucket{server="test",tool="wait",le="0.25"}"#, 0.0),
        (r#"tollgate_calls_total{method="tools/call",outcome="refused"}"#, 1.0),
        (r#"tollgate_budget_misses_total{tier="standard"}"#, 1.0),
        (r#"tollgate_budget_misses_total{tier="deep"}"#, 0.0),
        (r#"tollgate_server_up{server="up"}"#, 1.0),
        (r#"tollgate_server_state{server="up",state="ready"}"#, 1.0),
        (r#"tollgate_server_state{server="up",state="failed"}"#, 0.0),
        (r#"tollgate_server_queue{server="up"}"#, 0.0),
        ("tollgate_calls_in_flight", 0.0),
        ("tollgate_approvals_waiting", 0.0),
        (r#"tollgate_approvals_total{outcome="approved"}"#, 0.0),
        (r#"tollgate_cache_lookups_total{result="hit"}"#, 0.0),
        (r#"tollgate_sessions{kind="live"}"#, 0.0),
        ("tollgate_audit_writable", 1.0),
        (
            r#"mcp_client_operation_duration_seconds_count{mcp_method_name="tools/call",error_type=""}"#,
            1.0,
        ),
    ] {
        assert_eq!(value(&page, sample), Some(expected), "{sample}\n{page}");
    }
    assert!(!page.contains("nothing\""), "what nobody has is no label");
}

#[tokio::test]
async fn chosen_tiers_are_counted_by_rule_and_say_nothing_of_what_was_said() {
    let stage = Stage::start().await;
    let say = |request: Value| stage.post(request.to_string()).path("/v1/tier").send();
    say(json!({"text": "hello"})).await;
    say(json!({"text": "hel", "partial": true})).await;
    let page = page(&stage).await;
    let chosen: Vec<&str> =
        page.lines().filter(|it| it.starts_with("tollgate_tier_selected_total{")).collect();
    assert_eq!(chosen.len(), 1, "what still grows is no turn: {chosen:?}");
    assert!(chosen[0].ends_with(" 1") && !page.contains("hello"), "{chosen:?}");
}

#[tokio::test]
async fn no_name_gets_out_of_its_quotes() {
    let names = ["quo\"te", "back\\slash", "two\nlines", "} 7"];
    let tools: Vec<Box<dyn BuiltinTool>> =
        names.iter().map(|name| Box::new(Odd(name)) as Box<dyn BuiltinTool>).collect();
    let setup = Setup { tools: vec![builtin::Server { name: "odd", tools }], ..Setup::default() };
    let stage = Stage::with(setup).await;
    let listed = stage.request("GET", "/v1/tools").send().await.json();
    let odd = |tool: &&Value| tool["server"] == "odd";
    for tool in listed["tools"].as_array().unwrap().iter().filter(odd) {
        execute(&stage, &json!({"name": tool["name"]})).send().await;
    }
    let page = page(&stage).await;
    let counted =
        page.lines().filter(|line| line.starts_with(r#"tollgate_tool_calls_total{server="odd""#));
    assert_eq!(counted.count(), names.len(), "{page}");
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let (name, number) = line.rsplit_once(' ').unwrap();
        assert!(number.parse::<f64>().is_ok(), "{line}");
        let name = name.split('{').next().unwrap();
        assert!(name.chars().all(|it| it.is_ascii_lowercase() || it == '_'), "{line}");
    }
}

#[tokio::test]
async fn every_family_is_announced_once_before_its_samples() {
    let stage = Stage::start().await;
    execute(&stage, &json!({"name": "echo"})).send().await;
    let page = page(&stage).await;
    let mut announced: Vec<&str> = Vec::new();
    for line in page.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            let name = family.split(' ').next().unwrap();
            assert!(!announced.contains(&name), "{name} comes twice");
            announced.push(name);
        } else if !line.starts_with('#') {
            let last = announced.last().unwrap();
            assert!(line.starts_with(last), "{line} stands under {last}");
        }
    }
    assert!(announced.len() > 30, "{announced:?}");
}
