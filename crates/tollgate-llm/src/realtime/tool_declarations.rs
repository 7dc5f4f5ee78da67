//! Tool declarations for a realtime model: selects tools of the view, and encodes them.

use std::sync::Arc;

use tollgate_core::agent::Agent;
use tollgate_core::glob;
use tollgate_core::tool::Tool;
use tollgate_core::turn::Turn;

use super::events::DeclaredTool;
use super::protocol::RealtimeProtocol;
use crate::tools;

/// At most as many as the agent may be shown at once, pinned ones first.
pub(super) fn declare_tools(
    agent: &Agent,
    turn: &Turn,
    live: RealtimeProtocol,
) -> Vec<DeclaredTool> {
    let persona = &agent.persona;
    let (mut pinned, rest): (Vec<&Arc<Tool>>, Vec<&Arc<Tool>>) = turn
        .view
        .tools()
        .iter()
        .partition(|tool| glob::any(&persona.pinned_tools, tool.exposed.as_str()));
    pinned.extend(rest);
    let most = usize::try_from(persona.max_tools).unwrap_or(usize::MAX);
    let mut shown: Vec<&Arc<Tool>> = pinned.into_iter().take(most).collect();
    // In the stable order of the view: prompt caches depend on it.
    shown.sort_by(|one, other| one.exposed.as_str().cmp(other.exposed.as_str()));
    let form = live.form();
    let declared = |tool: &&Arc<Tool>| {
        let offered = tools::format_tool(tool, form);
        DeclaredTool {
            name: offered.function.name.clone(),
            definition: offered.shared_definition(form),
            delivery: tool.terms.delivery,
            effect: tool.terms.effect,
        }
    };
    shown.iter().map(declared).collect()
}
