//! `GET /v1/tools?leaderboard=true`: measured tools of an agent's view, by category, fastest first.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::score::{self, Leaderboard, LeaderboardEntry, RankedTool};
use tollgate_core::tool::Tool;
use tollgate_core::turn::Turn;
use tollgate_engine::gate::Gate;

use crate::tier_assignment::milliseconds;

/// Category of tools without a configured one.
const OTHER: &str = "other";

#[derive(JsonSchema, Serialize)]
pub(crate) struct LeaderboardJson {
    agent: String,
    categories: Vec<CategoryBoardJson>,
}

#[derive(JsonSchema, Serialize)]
struct CategoryBoardJson {
    category: String,
    tools: Vec<RankedToolJson>,
}

#[derive(JsonSchema, Serialize)]
struct RankedToolJson {
    rank: usize,
    name: String,
    p50_ms: f64,
    badge: &'static str,
}

impl LeaderboardJson {
    pub(super) fn new(gate: &Gate, turn: &Turn) -> Self {
        let entry = |tool: &Arc<Tool>| {
            Some(LeaderboardEntry {
                category: gate.category(&tool.id.server).unwrap_or_else(|| OTHER.to_owned()),
                name: tool.exposed.to_string(),
                p50: gate.reading(&tool.id)?.assigned.figures.p50()?,
            })
        };
        let entries = turn.view.tools().iter().filter_map(entry).collect();
        let categories =
            score::leaderboard(entries).into_iter().map(CategoryBoardJson::from).collect();
        Self { agent: turn.view.agent.to_string(), categories }
    }
}

impl From<Leaderboard> for CategoryBoardJson {
    fn from(board: Leaderboard) -> Self {
        let tools = board.ranked.into_iter().map(RankedToolJson::from).collect();
        Self { category: board.category, tools }
    }
}

impl From<RankedTool> for RankedToolJson {
    fn from(ranked: RankedTool) -> Self {
        let RankedTool { rank, name, p50, badge } = ranked;
        Self { rank, name, p50_ms: milliseconds(p50), badge: badge.as_str() }
    }
}
