//! Tools that change under their names, through the door.

use serde_json::{Value, json};
use tollgate_core::catalog::ServerRules;
use tollgate_core::id::{ServerId, ToolId, ToolName};
use tollgate_core::tool::ContentHash;
use tollgate_core::trust::Pinning;
use tollgate_core::turn::Principal;
use tollgate_mcp::Era;
use tollgate_mcp::meta::ClientFacts;

use super::{TestGate, gate_of, listing, text, tool};
use crate::caller::{Caller, Reply};
use crate::gate::{Answer, TrustDecisionError};
use crate::notices::Notice;
use crate::upstream::{Change, Update};

async fn open(change: impl FnOnce(&mut ServerRules, &mut Vec<Value>)) -> TestGate {
    gate_of(Era::Legacy, change, |_| Box::pin(async { Ok(text("done")) })).await
}

fn ops() -> Principal {
    Principal::from_name("ops")
}

fn id(tool: &str) -> ToolId {
    ToolId { server: ServerId::parse("s").unwrap(), tool: ToolName::new(tool) }
}

/// The tool with a parameter that is described so.
fn described(name: &str, description: &str) -> Value {
    let mut tool = tool(name);
    tool["inputSchema"]["properties"]["n"]["description"] = json!(description);
    tool
}

impl TestGate {
    pub(super) async fn lists(&self, tools: &[Value]) {
        let server = ServerId::parse("s").unwrap();
        let change = Change::Listed(listing(tools).into());
        self.updates.send(Update { server, change }).await.unwrap();
        self.gate.registry.flush().await;
    }

    /// `s_a s_b`, and `-name:reason` for what is withheld.
    fn shown(&self) -> String {
        let known = self.gate.known_tools().into_iter();
        let word = |it: crate::gate::KnownTool| match it.verdict {
            tollgate_core::trust::TrustVerdict::Withheld(why) => {
                format!("-{}:{}", it.tool.exposed, why.as_str())
            }
            _ => it.tool.exposed.to_string(),
        };
        known.map(word).collect::<Vec<_>>().join(" ")
    }

    fn offered(&self, tool: &str) -> ContentHash {
        let known = self.gate.known_tools();
        known.iter().find(|it| it.tool.id == id(tool)).unwrap().tool.hash
    }

    async fn says(&self, name: &str) -> String {
        let params = json!({"name": name, "arguments": {}}).to_string();
        let nobody = ClientFacts::default();
        match self.call(&params, Caller::silent(&nobody)).await {
            Ok(Reply::Tool(outcome)) => {
                let result: Value = serde_json::from_str(outcome.result.get()).unwrap();
                let words = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
                format!("{}: {words}", outcome.status.as_str())
            }
            other => format!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn s_25_the_next_call_of_a_changed_tool_is_refused_until_it_is_accepted() {
    let gate = open(|_, tools| *tools = vec![described("a", "the name"), tool("b")]).await;
    assert_eq!(gate.says("s_a").await, "ok: done");
    gate.lists(&[described("a", "the nama"), tool("b")]).await;
    assert_eq!(gate.shown(), "-s_a:changed s_b");
    assert_eq!(
        gate.says("s_a").await,
        "denied: `s_a` is withheld until an operator accepts its definition"
    );
    assert_eq!(gate.says("s_b").await, "ok: done");
    let examined = gate.gate.examine(&id("a")).await.unwrap().unwrap();
    let changes = examined.changes.unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].at, "/inputSchema/properties/n/description");
    assert_eq!(changes[0].after.as_deref(), Some("the nama"));
    let hash = gate.offered("a");
    gate.gate.decide(&id("a"), hash, Answer::Accept, &ops()).await.unwrap();
    assert_eq!(gate.says("s_a").await, "ok: done");
    gate.gate.decide(&id("a"), hash, Answer::Reject, &ops()).await.unwrap();
    assert_eq!(gate.shown(), "-s_a:rejected s_b");
    let retained = gate.gate.examine(&id("a")).await.unwrap().unwrap().pins;
    assert_eq!(retained.last().unwrap().decided.as_ref().unwrap().1, "ops");
}

#[tokio::test]
async fn s_25_nobody_accepts_what_they_have_not_seen() {
    let gate = open(|_, tools| *tools = vec![tool("a")]).await;
    let first = gate.offered("a");
    gate.lists(&[described("a", "second")]).await;
    let refused = gate.gate.decide(&id("a"), first, Answer::Accept, &ops()).await;
    let offered = gate.offered("a");
    assert!(
        matches!(refused, Err(TrustDecisionError::Other { offered: now, .. }) if now == offered)
    );
    let refused = gate.gate.decide(&id("zzz"), first, Answer::Accept, &ops()).await;
    assert!(matches!(refused, Err(TrustDecisionError::Unknown(_))));
    assert!(gate.gate.examine(&id("zzz")).await.unwrap().is_none());
    assert_eq!(gate.shown(), "-s_a:changed");
}

#[tokio::test]
async fn what_must_be_reviewed_waits_and_is_told_of() {
    let gate = open(|rules, tools| {
        rules.trust.pin = Pinning::Reviewed;
        *tools = vec![tool("a")];
    })
    .await;
    assert_eq!(gate.shown(), "-s_a:new");
    let mut notices = gate.gate.notices();
    gate.lists(&[tool("a"), tool("b")]).await;
    let Notice::Doubted { tool, verdict, .. } = (*notices.try_recv().unwrap()).clone() else {
        panic!("a tool that waits")
    };
    assert_eq!((tool, verdict), (id("b"), "withheld"));
    assert!(notices.try_recv().is_err(), "each is told once");
    gate.gate.decide(&id("b"), gate.offered("b"), Answer::Accept, &ops()).await.unwrap();
    let judged = (*notices.try_recv().unwrap()).clone();
    assert!(matches!(judged, Notice::Judged { decision: "accepted", .. }));
    assert_eq!(gate.shown(), "-s_a:new s_b");
    let view = gate.turn().view;
    assert!(view.tool("s_b").is_some() && view.tool("s_a").is_none());
}

#[tokio::test]
async fn a_turn_that_runs_keeps_the_tool_that_it_saw() {
    let gate = open(|_, tools| *tools = vec![tool("a")]).await;
    let turn = gate.turn();
    gate.lists(&[described("a", "other")]).await;
    assert!(turn.view.tool("s_a").is_some());
    assert!(gate.turn().view.tool("s_a").is_none());
}
