//! A tool server with the official SDK that says of its tools how long they take and whether an answer can be kept.
//! Walked through in `docs/writing-a-server.md`.

use std::time::Duration;

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::MetaObject;
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use serde_json::json;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    /// A harbour, for example `Oslo`
    harbour: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Tide {
    harbour: String,
    centimetres: i64,
    /// To be said aloud
    spoken: String,
}

/// What a client cannot know: how long the tool takes, and for how long its answer holds for anybody.
fn looks_up() -> MetaObject {
    let meta = json!({
        "dev.tollgate/latency": {"estimatedDurationMs": 30, "maxDurationMs": 400},
        "dev.tollgate/cache": {"cacheableSeconds": 60, "scope": "public"},
    });
    serde_json::from_value(meta).expect("an object")
}

fn computes() -> MetaObject {
    let meta =
        json!({"dev.tollgate/latency": {"estimatedDurationMs": 2500, "maxDurationMs": 4000}});
    serde_json::from_value(meta).expect("an object")
}

struct Tides;

#[tool_router]
impl Tides {
    #[tool(
        description = "The water level of a harbour now",
        annotations(read_only_hint = true, idempotent_hint = true),
        meta = looks_up()
    )]
    async fn level(&self, Parameters(Place { harbour }): Parameters<Place>) -> Json<Tide> {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let centimetres = i64::try_from(harbour.len()).unwrap_or(0) * 7 - 30;
        let spoken =
            format!("The water at {harbour} is {centimetres} centimetres above the chart.");
        Json(Tide { harbour, centimetres, spoken })
    }

    #[tool(
        description = "Computes the tides of a harbour for a week",
        annotations(read_only_hint = true, idempotent_hint = true),
        meta = computes()
    )]
    async fn forecast(
        &self,
        Parameters(Place { harbour }): Parameters<Place>,
    ) -> Result<String, String> {
        tokio::time::sleep(Duration::from_millis(2000)).await;
        if harbour.is_empty() {
            Err("which harbour?".to_owned())
        } else {
            Ok(format!("{harbour}: high at six, all week."))
        }
    }
}

#[tool_handler]
impl ServerHandler for Tides {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Tides.serve(rmcp::transport::stdio()).await?;
    server.waiting().await?;
    Ok(())
}
