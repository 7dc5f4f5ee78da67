//! A gateway with a tool of its own, in the same process. Walked through in `docs/writing-a-tool.md`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tollgate_engine::builtin::{
    BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError, Server,
};
use tollgate_engine::settings::EngineSettings;
use tollgate_engine::{Parts, start};
use tollgate_server::{HttpServer, HttpServerOptions};

/// One tool, with what it needs: here a table, elsewhere a connection pool or a cache.
struct FreeBerths {
    harbours: BTreeMap<&'static str, u32>,
}

#[async_trait]
impl BuiltinTool for FreeBerths {
    fn definition(&self) -> Value {
        json!({
            "name": "free_berths",
            "description": "How many berths of a harbour are free now",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "harbour": { "type": "string", "description": "For example `Oslo`" },
                },
                "required": ["harbour"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "harbour": { "type": "string" },
                    "free": { "type": "integer", "minimum": 0 },
                },
                "required": ["harbour", "free"],
            },
            "annotations": { "readOnlyHint": true, "idempotentHint": true },
            "_meta": {
                "dev.tollgate/latency": { "estimatedDurationMs": 30, "maxDurationMs": 400 },
            },
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        _caller: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        // The arguments fit the schema: whatever does not was refused before.
        let harbour = arguments.get("harbour").and_then(Value::as_str).unwrap_or_default();
        tokio::time::sleep(Duration::from_millis(20)).await;
        let Some(free) = self.harbours.get(harbour) else {
            let known: Vec<&str> = self.harbours.keys().copied().collect();
            let known = known.join(", ");
            return Err(BuiltinToolError::new(format!("there is no `{harbour}`; ask for {known}")));
        };
        Ok(BuiltinReply {
            text: format!("{harbour} has {free} free berths."),
            structured: Some(json!({ "harbour": harbour, "free": free })),
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:7766".to_owned());
    let data = PathBuf::from(arguments.next().unwrap_or_else(|| ".tollgate".to_owned()));

    let berths = FreeBerths { harbours: BTreeMap::from([("Bergen", 3), ("Oslo", 12)]) };
    let harbour = Server { name: "harbour", tools: vec![Box::new(berths)] };
    let parts = Parts { tools: vec![harbour], ..Parts::default() };
    let engine = start(&EngineSettings::new(data), parts)?;
    engine.gate.wait_until_settled().await;

    let server = HttpServer::new(engine.gate.clone(), &HttpServerOptions::default())?;
    let listener = TcpListener::bind(address).await?;
    println!("serving http://{}/mcp", listener.local_addr()?);
    let stop = CancellationToken::new();
    let interrupted = async {
        let _ = tokio::signal::ctrl_c().await;
        stop.cancel();
    };
    tokio::join!(server.serve(listener, stop.clone()), interrupted);
    engine.gate.stop().await;
    Ok(())
}
