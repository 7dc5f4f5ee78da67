//! P8: what a round of the agent loop costs the gateway, all that it does for the model and the tool
//! included.

use serde_json::json;

use super::{BenchContext, completions, cpu_per_call};
use crate::chat::{BenchChatTarget, ChatApi};
use crate::error::BenchError;
use crate::load::{LoadRequest, LoadTarget, closed_loop};
use crate::mock_model::{MockModel, MockModelBehavior, TOOL};
use crate::serve::ServerThread;
use crate::table::{FigureLimit, FigureRow};
use crate::wire::Era;

/// Calls that the model makes before it answers.
const CALLS: usize = 5;
const CONNECTIONS: usize = 4;

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let provider =
        ServerThread::start("model", MockModel { manner: MockModelBehavior::Calls(CALLS) })?;
    let agent = format!(
        "agents:\n  looper: {{ models: [bench], tools: [{TOOL}], auto_execute: [\"*\"], \
         max_depth: 10 }}\n"
    );
    let gateway = completions::start_with(bench, "looped", provider.address, &agent).await?;
    let target = LoadTarget {
        name: "gateway",
        address: gateway.address,
        era: Era::Modern,
        ask: LoadRequest::Chat(BenchChatTarget { model: "looper", front: ChatApi::OpenAi }),
        process: Some(gateway.pid),
    };
    let mut slices = Vec::new();
    for _ in 0..bench.pace.rounds {
        slices.push(closed_loop::run(&target, CONNECTIONS, bench.pace.slice * 2).await?);
    }
    gateway.stop().await?;
    let rounds = (CALLS + 1) as f64;
    let cpu = cpu_per_call(&slices) / rounds;
    let turns: f64 = slices.iter().map(crate::load::LoadSlice::calls).sum();
    let limit = FigureLimit { most: 300.0, unit: "µs", digits: 0 };
    let what = format!("agent loop, CPU for each round of a turn with {CALLS} calls");
    Ok(vec![
        FigureRow::at_most("P8", what, cpu, limit)
            .with_note("asking the model and running the tool included")
            .with(json!({ "cpuMicrosPerRound": cpu, "turns": turns, "rounds": rounds })),
    ])
}
