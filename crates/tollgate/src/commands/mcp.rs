//! `tollgate mcp`: MCP over stdio.

use std::sync::Arc;

use tollgate_config::Config;
use tollgate_core::turn::{Actor, Principal};
use tollgate_engine::calibration::CalibrationMode;
use tollgate_engine::gate::TurnRequest;
use tollgate_server::{StdioClient, serve_stdio};

use crate::app::App;
use crate::cli::McpArgs;
use crate::command_error::CommandError;

pub(super) async fn run(mcp: &McpArgs, config: &Config) -> Result<(), CommandError> {
    let narrow = mcp.filters.flags().read().map_err(|bad| CommandError::Usage(bad.to_string()))?;
    let app = App::start(config, CalibrationMode::ByItself).await?;
    let turn_request = TurnRequest {
        agent: mcp.agent.as_deref(),
        ..TurnRequest::by(Actor::endless(Principal::local()))
    };
    app.gate().turn(turn_request).map_err(|unknown| CommandError::Usage(unknown.to_string()))?;
    // The first list should be complete. A client that asks earlier waits in the pipe.
    app.gate().wait_until_settled().await;
    let gate = Arc::clone(app.gate());
    let client = StdioClient { agent: mcp.agent.as_deref(), narrow };
    let served = serve_stdio(gate, client, tokio::io::stdin(), tokio::io::stdout()).await;
    app.stop().await;
    served.map_err(|error| CommandError::new(error.to_string()))
}
