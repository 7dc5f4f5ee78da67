//! Pagination of long lists, and escaping of texts in answers (S-16).

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_engine::builtin::{
    self, BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError,
};
use tollgate_engine::settings::{Server, ServerDesiredState, ServerTransport, StdioCommand};
use tollgate_mcp::Revision;

use crate::stage::{Setup, Stage, server};

const TOOLS: usize = 5_000;
const SERVERS: usize = 200;
const MARKUP: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>";

/// One of many, with markup wherever it can say something.
struct Odd(usize);

#[async_trait]
impl BuiltinTool for Odd {
    fn definition(&self) -> Value {
        let about = MARKUP.repeat(20);
        json!({
            "name": format!("odd_{:04}", self.0),
            "title": MARKUP,
            "description": about,
            "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "description": MARKUP}}},
        })
    }

    async fn call(
        &self,
        _: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        Ok(BuiltinReply { text: MARKUP.to_owned(), structured: None })
    }
}

async fn stage(tools: usize) -> Stage {
    let tools =
        (0..tools).map(|number| -> Box<dyn BuiltinTool> { Box::new(Odd(number)) }).collect();
    let tools = vec![builtin::Server { name: "odd", tools }];
    Stage::with(Setup { tools, ..Setup::default() }).await
}

#[tokio::test]
async fn five_thousand_tools_come_in_one_answer() {
    let stage = stage(TOOLS).await;
    let reply = stage.request("GET", "/api/tools").by_admin().send().await;
    assert_eq!(reply.status, 200);
    let tools = reply.json();
    let odd = tools["tools"].as_array().unwrap().iter().filter(|it| it["server"] == "odd");
    let odd: Vec<&Value> = odd.collect();
    assert_eq!(odd.len(), TOOLS);
    let longest =
        odd.iter().filter_map(|it| it["description"].as_str()).map(|it| it.chars().count());
    // And the sign that it goes on.
    assert!(longest.max().unwrap() <= 201);
    let one = stage.request("GET", "/api/tools/odd/odd_4999").by_admin().send().await;
    assert_eq!((one.status, &one.json()["tool"]), (200, &json!("odd_4999")));
}

#[tokio::test]
async fn s_16_markup_stays_text_in_every_answer() {
    let stage = stage(1).await;
    for path in
        ["/api/tools", "/api/tools/odd/odd_0000", "/api/servers", "/api/audit", "/api/telemetry"]
    {
        let reply = stage.request("GET", path).by_admin().send().await;
        assert_eq!(reply.header("x-content-type-options").as_deref(), Some("nosniff"), "{path}");
        assert_eq!(reply.header("content-type").as_deref(), Some("application/json"), "{path}");
    }
    let refused = stage.request("GET", "/api/tools/odd/%3Cscript%3E").by_admin().send().await;
    assert_eq!(refused.status, 404);
    assert_eq!(refused.header("content-type").as_deref(), Some("application/problem+json"));
    assert_eq!(refused.header("x-content-type-options").as_deref(), Some("nosniff"));
}

#[tokio::test]
async fn two_hundred_servers_are_shown_one_by_one_and_together() {
    let stage = Stage::start().await;
    let mut settings = stage.settings.clone();
    settings.servers = (0..SERVERS)
        .map(|number| Server {
            state: ServerDesiredState::Disabled,
            category: Some(MARKUP.to_owned()),
            ..server(
                &format!("server-{number}"),
                ServerTransport::Stdio(StdioCommand::new(vec!["none".to_owned()])),
                Revision::NEWEST_LEGACY,
            )
        })
        .collect();
    stage.running.reconfigure(&settings, || {}).await;
    let all = stage.request("GET", "/api/servers").by_admin().send().await.json();
    let rows = all["servers"].as_array().unwrap();
    let disabled = rows.iter().filter(|it| it["enabled"] == false && it["category"] == MARKUP);
    assert_eq!(disabled.count(), SERVERS);
    let one = stage.request("GET", "/api/servers/server-199").by_admin().send().await.json();
    assert_eq!(
        (&one["state"], &one["history"][0]["state"]),
        (&json!("disabled"), &json!("disabled"))
    );
}
