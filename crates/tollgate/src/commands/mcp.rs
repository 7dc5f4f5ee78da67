//! `tollgate mcp`: MCP on standard input and output.

use std::sync::Arc;

use tollgate_core::turn::{Actor, Principal};
use tollgate_engine::calibration::Upkeep;
use tollgate_engine::gate::Asked;
use tollgate_server::{Client, serve_stdio};

use crate::app::App;
use crate::cli::Mcp;
use crate::config::Config;
use crate::failure::Failure;

pub(super) async fn run(mcp: &Mcp, config: &Config) -> Result<(), Failure> {
    let narrow = mcp.filters.flags().read().map_err(|bad| Failure::Usage(bad.to_string()))?;
    let app = App::start(config, Upkeep::ByItself).await?;
    let asked =
        Asked { agent: mcp.agent.as_deref(), ..Asked::by(Actor::endless(Principal::local())) };
    app.gate().turn(asked).map_err(|unknown| Failure::Usage(unknown.to_string()))?;
    // The first list should be whole; a client that asks earlier waits in the pipe.
    app.gate().settled().await;
    let gate = Arc::clone(app.gate());
    let client = Client { agent: mcp.agent.as_deref(), narrow };
    let served = serve_stdio(gate, client, (tokio::io::stdin(), tokio::io::stdout())).await;
    app.stop().await;
    served.map_err(|error| Failure::failed(error.to_string()))
}
