//! P8: what a round of the agent loop costs the gateway, all that it does for the model and the tool
//! included.

use serde_json::json;

use super::{Bench, completions, cpu_per_call};
use crate::chat::{Chat, Front};
use crate::load::{Ask, Target, closed};
use crate::model::{Manner, Model, TOOL};
use crate::serve::OnThread;
use crate::table::{Limit, Row};
use crate::trouble::Trouble;
use crate::wire::Era;

/// Calls that the model makes before it answers.
const CALLS: usize = 5;
const CONNECTIONS: usize = 4;

pub(super) async fn measure(bench: &Bench) -> Result<Vec<Row>, Trouble> {
    let provider = OnThread::start("model", Model { manner: Manner::Calls(CALLS) })?;
    let agent = format!(
        "agents:\n  looper: {{ models: [bench], tools: [{TOOL}], auto_execute: [\"*\"], \
         max_depth: 10 }}\n"
    );
    let gateway = completions::start_with(bench, "looped", (provider.address, &agent)).await?;
    let target = Target {
        name: "gateway",
        address: gateway.address,
        era: Era::Modern,
        ask: Ask::Chat(Chat { model: "looper", front: Front::OpenAi }),
        process: Some(gateway.pid),
    };
    let mut slices = Vec::new();
    for _ in 0..bench.pace.rounds {
        slices.push(closed::run(&target, CONNECTIONS, bench.pace.slice * 2).await?);
    }
    gateway.stop().await?;
    let rounds = (CALLS + 1) as f64;
    let cpu = cpu_per_call(&slices) / rounds;
    let turns: f64 = slices.iter().map(crate::load::Slice::calls).sum();
    let limit = Limit { most: 300.0, unit: "µs", digits: 0 };
    let what = format!("agent loop, CPU for each round of a turn with {CALLS} calls");
    Ok(vec![
        Row::limited("P8", what, cpu, limit)
            .explained("asking the model and running the tool included")
            .with(json!({ "cpuMicrosPerRound": cpu, "turns": turns, "rounds": rounds })),
    ])
}
