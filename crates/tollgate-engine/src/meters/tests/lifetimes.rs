use async_trait::async_trait;
use serde_json::{Map, Value};
use tollgate_core::call::{GateRequest, RequestKind};
use tollgate_core::id::ToolName;
use tollgate_core::json::Object;
use tollgate_core::turn::{Actor, Principal};
use tollgate_mcp::meta::ClientFacts;

use super::*;
use crate::caller::Caller;
use crate::gate::{Gate, TurnRequest};
use crate::settings::EngineSettings;
use crate::{Parts, builtin, start};

/// Takes its time. Says nothing of itself, so that nobody probes it.
struct Wait;

#[async_trait]
impl builtin::BuiltinTool for Wait {
    fn definition(&self) -> Value {
        let millis = json!({"type": "integer"});
        let schema = json!({"type": "object", "properties": {"millis": millis}});
        json!({"name": "wait", "inputSchema": schema})
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        _: &builtin::BuiltinToolContext,
    ) -> Result<builtin::BuiltinReply, builtin::BuiltinToolError> {
        after(arguments["millis"].as_u64().unwrap()).await;
        Ok(builtin::BuiltinReply { text: "done".to_owned(), structured: None })
    }
}

fn settings(data: &std::path::Path) -> EngineSettings {
    EngineSettings { environment: "test".to_owned(), ..EngineSettings::new(data.to_owned()) }
}

async fn wait(gate: &Gate, millis: &str) {
    let principal = Principal::from_name("ada");
    let turn = gate.turn(TurnRequest::by(Actor::endless(principal))).unwrap();
    let params = format!("{{\"name\":\"wait\",\"arguments\":{{\"millis\":{millis}}}}}");
    let request =
        GateRequest { kind: RequestKind::CallTool, params: Object::parse(&params).unwrap() };
    let client = ClientFacts::default();
    gate.call(&turn, request, Caller::silent(&client)).await.unwrap();
}

/// One whole gateway after another, each on the database that the last one left.
#[tokio::test(start_paused = true)]
async fn a_gateway_that_starts_again_goes_on_measuring_where_it_ended() {
    let place = tempfile::tempdir().unwrap();
    let id = ToolId { server: ServerId::parse("timer").unwrap(), tool: ToolName::new("wait") };
    let life = async |first: &str, last: &str| {
        let store = Store::open(&place.path().join("tollgate.db")).unwrap();
        let tools = vec![builtin::Server { name: "timer", tools: vec![Box::new(Wait)] }];
        let parts = Parts { tools, store: Some(Arc::new(store)), ..Parts::default() };
        let running = start(&settings(place.path()), parts).unwrap();
        let gate = &running.gate;
        gate.wait_until_settled().await;
        let assigned = || gate.reading(&id).unwrap().assigned.to_string();
        assert_eq!(assigned(), first);
        for _ in 0..6 {
            wait(gate, "620").await;
        }
        wait(gate, "\"arguments that are refused measure nothing\"").await;
        after(100).await;
        assert_eq!(assigned(), last);
        // Whoever stops it in good order leaves nothing to be saved by whoever drops it.
        wait(gate, "620").await;
        gate.stop().await;
        let store = Store::open(&place.path().join("tollgate.db")).unwrap();
        let loaded = store.measurements().load("test").unwrap();
        let count = loaded.measurements.iter().find(|it| it.tool == id).unwrap().samples.len();
        assert_eq!(count, gate.reading(&id).unwrap().assigned.figures.count);
        assert!(last.ends_with(&format!("over {} calls", count - 1)), "{count}");
    };
    let measured = |calls: u32| format!("standard: measured p50 620 ms over {calls} calls");
    life("standard: not measured yet", &measured(6)).await;
    life(&measured(7), &measured(13)).await;
    life(&measured(14), &measured(20)).await;
}
