//! Items that need a person's attention, each with a text and the page that handles it.

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::catalog::DoubtedTool;
use tollgate_core::text::percent_encoded;
use tollgate_core::tier_assignment::ToolHealth;
use tollgate_core::tool::hidden_text::visible;
use tollgate_core::trust::TrustDoubt;
use tollgate_engine::servers::ServerStatus;
use tollgate_engine::upstream::UpstreamState;

use crate::app_state::AppState;
use crate::config_service::ReloadOutcome;
use crate::pressure::PressureLevel;
use crate::wire_schema::AttentionWord;

/// Limit per kind. The pages list all of them.
const MAX_ITEMS_PER_KIND: usize = 20;

#[derive(Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub(super) struct AttentionItem {
    #[schemars(with = "AttentionWord")]
    kind: &'static str,
    text: String,
    /// the page of the admin UI that deals with it
    link: String,
}

/// Most urgent first.
pub(super) fn all(front: &AppState, servers: &[ServerStatus]) -> Vec<AttentionItem> {
    let mut all = Vec::new();
    if front.pressure.level() >= PressureLevel::Tight {
        let text = "memory is low; some features are disabled".to_owned();
        all.push(AttentionItem { kind: "pressure", text, link: "settings".to_owned() });
    }
    if let Some(trouble) = front.gate.ledger().trouble() {
        let text = format!("the audit trail cannot be written: {trouble}; {}", trouble.remedy());
        all.push(AttentionItem { kind: "audit", text, link: "audit".to_owned() });
    }
    all.extend(config(front));
    all.extend(approvals(front));
    all.extend(servers.iter().filter_map(server).take(MAX_ITEMS_PER_KIND));
    all.extend(doubted_tools(front));
    all.extend(unhealthy(front));
    all
}

fn config(front: &AppState) -> Option<AttentionItem> {
    let (last, _) = front.operator.get()?.last();
    let ReloadOutcome::Refused(why) = last?.result else { return None };
    let text = format!("the config file is not in use: {why}");
    Some(AttentionItem { kind: "config", text, link: "settings".to_owned() })
}

fn approvals(front: &AppState) -> impl Iterator<Item = AttentionItem> {
    front.gate.approvals().waiting().into_iter().take(MAX_ITEMS_PER_KIND).map(|waiting| {
        let name = &waiting.exposed;
        let principal = waiting.principal.as_str();
        let text = format!("`{name}` awaits approval, for `{principal}`");
        AttentionItem { kind: "approval", text, link: format!("approvals/{}", waiting.id) }
    })
}

fn server(server: &ServerStatus) -> Option<AttentionItem> {
    let id = &server.id;
    let status = &server.status;
    let state = status.state;
    let is_well =
        matches!(state, UpstreamState::Ready | UpstreamState::Starting | UpstreamState::Disabled);
    let text = format!("server `{id}` is {}: {}", state.as_str(), visible(&status.reason));
    (!is_well).then(|| AttentionItem { kind: "server", text, link: format!("servers/{id}") })
}

fn doubted_tools(front: &AppState) -> impl Iterator<Item = AttentionItem> {
    let doubted = front.gate.catalog().doubted.clone();
    // Rejected tools need no further decision.
    let is_open = |it: &DoubtedTool| it.verdict.doubt() != Some(&TrustDoubt::Rejected);
    doubted.into_iter().filter(is_open).take(MAX_ITEMS_PER_KIND).map(|it| {
        let why = it.verdict.doubt().map_or_else(String::new, ToString::to_string);
        let text = format!("`{}` is {}: {}", it.tool.exposed, it.verdict.as_str(), visible(&why));
        let link =
            format!("tools/{}/{}", it.tool.id.server, percent_encoded(it.tool.id.tool.as_str()));
        AttentionItem { kind: "tool", text, link }
    })
}

fn unhealthy(front: &AppState) -> Vec<AttentionItem> {
    let catalog = front.gate.catalog();
    let sick = catalog.tools.iter().filter_map(|tool| {
        let assigned = front.gate.reading(&tool.id)?.assigned;
        (assigned.health != ToolHealth::Healthy).then_some((tool, assigned))
    });
    let shown = sick.take(MAX_ITEMS_PER_KIND).map(|(tool, assigned)| {
        let text =
            format!("`{}` is {}: {}", tool.exposed, assigned.health.as_str(), assigned.cause);
        let link = format!("tools/{}/{}", tool.id.server, percent_encoded(tool.id.tool.as_str()));
        AttentionItem { kind: "tool", text, link }
    });
    shown.collect()
}
