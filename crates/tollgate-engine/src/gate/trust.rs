//! Tools that others wrote, for those who decide about them: which there are, what changed in
//! them, and yes or no. A decision names the very definition that was looked at.

use std::sync::Arc;

use tollgate_core::id::ToolId;
use tollgate_core::json::Malformed;
use tollgate_core::tool::{ContentHash, Finding, Tool};
use tollgate_core::trust::{self, Change, Pin, Verdict};
use tollgate_core::turn::Principal;
use tollgate_mcp::tasks;
pub use tollgate_store::pins::Kept;
use tollgate_store::pins::{Decision, State};

use super::Gate;
use crate::audit::{self, Act, Unwritten};
use crate::notices::Notice;

/// A tool that a server lists now.
#[derive(Debug, Clone)]
pub struct Known {
    pub tool: Arc<Tool>,
    pub verdict: Verdict,
    pub findings: Vec<Finding>,
    /// `None`: nothing is remembered of it, as of tools of this process.
    pub pin: Option<Pin>,
}

/// One tool with all that is to be seen before deciding.
#[derive(Debug)]
pub struct Examined {
    pub known: Known,
    /// What is kept of it, the newest last.
    pub kept: Vec<Kept>,
    /// From the definition that is trusted to the one that is offered; `None` if none is.
    pub changes: Option<Vec<Change>>,
}

/// What a person says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Accept,
    Reject,
}

/// Why nothing was decided.
#[derive(Debug, thiserror::Error)]
pub enum Undecided {
    #[error("no server lists `{0}` now")]
    Unknown(ToolId),
    #[error("`{0}` is a tool of the gateway itself: there is nothing to accept or reject")]
    Own(ToolId),
    /// So that nobody accepts what they have not seen.
    #[error("`{tool}` is offered with another definition now: {offered}")]
    Other { tool: ToolId, offered: ContentHash },
    #[error("it cannot be written down: {0}; {remedy}", remedy = .0.remedy())]
    Store(#[from] tollgate_store::Error),
    #[error(transparent)]
    Audit(#[from] Unwritten),
    #[error("the definitions cannot be compared: {0}")]
    Unreadable(#[from] Malformed),
}

impl Gate {
    /// Every tool that is listed by a server now, by exposed name: served or withheld.
    pub fn known_tools(&self) -> Vec<Known> {
        let (catalog, pins) = (self.catalog(), self.registry.pins());
        let known = |tool: &Arc<Tool>| {
            let doubted = catalog.doubted.binary_search_by(|it| it.tool.exposed.cmp(&tool.exposed));
            let doubted = doubted.ok().map(|at| &catalog.doubted[at]);
            Known {
                tool: Arc::clone(tool),
                verdict: doubted.map_or(Verdict::Served, |it| it.verdict.clone()),
                findings: match doubted {
                    Some(doubted) => doubted.findings.clone(),
                    None => tool.definition.findings.clone(),
                },
                pin: pins.get(&tool.id).cloned(),
            }
        };
        let withheld = catalog.quarantined().map(|(tool, _)| tool);
        let mut all: Vec<Known> = catalog.tools.iter().chain(withheld).map(known).collect();
        all.sort_by(|a, b| a.tool.exposed.cmp(&b.tool.exposed));
        all
    }

    /// All about one tool; `None` if no server lists it now.
    pub async fn examine(&self, tool: &ToolId) -> Result<Option<Examined>, Undecided> {
        let Some(known) = self.known_tools().into_iter().find(|it| it.tool.id == *tool) else {
            return Ok(None);
        };
        let (registry, tool) = (Arc::clone(&self.registry), tool.clone());
        let kept = tokio::task::spawn_blocking(move || registry.book().kept(&tool));
        let kept = kept.await.unwrap_or_else(|_| Ok(Vec::new()))?;
        let trusted = kept.iter().find(|it| it.state == State::Accepted);
        let changes = match trusted {
            Some(it) => Some(trust::diff(&it.definition, &known.tool.definition.said())?),
            None => None,
        };
        Ok(Some(Examined { known, kept, changes }))
    }

    /// Takes effect with the next catalogue, which is there when this returns. Goes to its end even
    /// if nobody waits for it any more.
    pub async fn decide(
        self: &Arc<Self>,
        tool: &ToolId,
        hash: ContentHash,
        (answer, by): (Answer, &Principal),
    ) -> Result<(), Undecided> {
        let catalog = self.catalog();
        if catalog.own.contains(&tool.server) {
            return Err(Undecided::Own(tool.clone()));
        }
        let withheld = catalog.quarantined().map(|(tool, _)| tool);
        let offered = catalog.tools.iter().chain(withheld).find(|it| it.id == *tool);
        let offered = offered.ok_or_else(|| Undecided::Unknown(tool.clone()))?;
        if offered.hash != hash {
            return Err(Undecided::Other { tool: tool.clone(), offered: offered.hash });
        }
        let state = match answer {
            Answer::Accept => State::Accepted,
            Answer::Reject => State::Rejected,
        };
        let (definition, at) = (offered.definition.said().into_owned(), self.clock.wall());
        let row = audit::Decision::new(Act::Pin, by, state.as_str())
            .about(offered.exposed.as_str())
            .server(&tool.server)
            .tool(tool.tool.as_str())
            .because(&format!("definition {hash}"));
        let by = by.as_str().to_owned();
        let decision = Decision { tool: tool.clone(), hash, definition, state, by, at };
        let gate = Arc::clone(self);
        let carried_out =
            tasks::whole("decision on a tool", async move { gate.put_down(row, decision).await });
        let gone = || tollgate_store::Error::Failed("the decision broke off".to_owned());
        carried_out.await.unwrap_or_else(|| Err(gone().into()))
    }

    async fn put_down(&self, row: audit::Decision, decision: Decision) -> Result<(), Undecided> {
        let (tool, hash, state) = (decision.tool.clone(), decision.hash, decision.state.as_str());
        let by: Arc<str> = decision.by.as_str().into();
        // First the trail: nothing is trusted without a word of who said so.
        self.ledger().note(row).await?;
        let registry = Arc::clone(&self.registry);
        let written = tokio::task::spawn_blocking(move || registry.book().decide(&decision));
        written
            .await
            .unwrap_or_else(|panic| Err(tollgate_store::Error::Failed(panic.to_string())))?;
        self.registry.rebuilt().await;
        tracing::info!(%tool, %hash, %by, decision = state, "a tool was judged by a person");
        self.notices.tell(Notice::Judged { tool, hash, decision: state, by });
        Ok(())
    }
}
