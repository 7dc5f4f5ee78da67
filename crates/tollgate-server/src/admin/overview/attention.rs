//! What needs a person, in words, and where in the page to see to it.

use serde::Serialize;
use tollgate_core::catalog::Doubted;
use tollgate_core::standing::Health;
use tollgate_core::text::percent_encoded;
use tollgate_core::tool::hidden::visible;
use tollgate_core::trust::Doubt;
use tollgate_engine::servers::ServerStatus;
use tollgate_engine::upstream::State;

use crate::mcp::Front;
use crate::operator::Outcome;
use crate::pressure::Level;

/// Of each kind; the pages have all of them.
const MOST: usize = 20;

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Attention {
    kind: &'static str,
    text: String,
    link: String,
}

/// What cannot wait comes first.
pub(super) fn all(front: &Front, servers: &[ServerStatus]) -> Vec<Attention> {
    let mut all = Vec::new();
    if front.pressure.level() >= Level::Tight {
        let text = "the gateway is short of memory, and does without some things".to_owned();
        all.push(Attention { kind: "pressure", text, link: "settings".to_owned() });
    }
    if let Some(trouble) = front.gate.ledger().trouble() {
        let text = format!("the audit trail cannot be written: {trouble}; {}", trouble.remedy());
        all.push(Attention { kind: "audit", text, link: "audit".to_owned() });
    }
    all.extend(config(front));
    all.extend(approvals(front));
    all.extend(servers.iter().filter_map(server).take(MOST));
    all.extend(doubted(front));
    all.extend(unhealthy(front));
    all
}

fn config(front: &Front) -> Option<Attention> {
    let (last, _) = front.operator.get()?.last();
    let Outcome::Refused(why) = last?.result else { return None };
    let text = format!("the config file is not what runs: {why}");
    Some(Attention { kind: "config", text, link: "settings".to_owned() })
}

fn approvals(front: &Front) -> impl Iterator<Item = Attention> {
    front.gate.approvals().waiting().into_iter().take(MOST).map(|waiting| {
        let (name, principal) = (&waiting.exposed, waiting.principal.as_str());
        let text = format!("`{name}` waits for somebody to agree, for `{principal}`");
        Attention { kind: "approval", text, link: format!("approvals/{}", waiting.id) }
    })
}

fn server(server: &ServerStatus) -> Option<Attention> {
    let (id, status) = (&server.id, &server.status);
    let state = status.state;
    let is_well = matches!(state, State::Ready | State::Starting | State::Disabled);
    let text = format!("server `{id}` is {}: {}", state.as_str(), visible(&status.reason));
    (!is_well).then(|| Attention { kind: "server", text, link: format!("servers/{id}") })
}

fn doubted(front: &Front) -> impl Iterator<Item = Attention> {
    let doubted = front.gate.catalog().doubted.clone();
    // Of those that somebody rejected there is nothing left to decide.
    let is_open = |it: &Doubted| it.verdict.doubt() != Some(&Doubt::Rejected);
    doubted.into_iter().filter(is_open).take(MOST).map(|it| {
        let why = it.verdict.doubt().map_or_else(String::new, ToString::to_string);
        let text = format!("`{}` is {}: {}", it.tool.exposed, it.verdict.as_str(), visible(&why));
        let link =
            format!("tools/{}/{}", it.tool.id.server, percent_encoded(it.tool.id.tool.as_str()));
        Attention { kind: "tool", text, link }
    })
}

fn unhealthy(front: &Front) -> Vec<Attention> {
    let catalog = front.gate.catalog();
    let sick = catalog.tools.iter().filter_map(|tool| {
        let assigned = front.gate.reading(&tool.id)?.assigned;
        (assigned.health != Health::Healthy).then_some((tool, assigned))
    });
    let shown = sick.take(MOST).map(|(tool, assigned)| {
        let text =
            format!("`{}` is {}: {}", tool.exposed, assigned.health.as_str(), assigned.cause);
        let link = format!("tools/{}/{}", tool.id.server, percent_encoded(tool.id.tool.as_str()));
        Attention { kind: "tool", text, link }
    });
    shown.collect()
}
