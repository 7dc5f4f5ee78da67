//! Quarantine of tools that others wrote, for those who decide about them: which there are, what
//! changed in them, and yes or no. A decision names the very definition that was looked at.

use std::sync::Arc;

use tollgate_core::id::ToolId;
use tollgate_core::json::MalformedJsonError;
use tollgate_core::tool::{ContentHash, Finding, Tool};
use tollgate_core::trust::{self, Change, Pin, TrustVerdict};
use tollgate_core::turn::Principal;
use tollgate_mcp::tasks;
pub use tollgate_store::pins::StoredPin;
use tollgate_store::pins::{Decision, StoredPinState};

use super::Gate;
use crate::audit::{self, AuditAction, AuditWriteError};
use crate::notices::Notice;

/// A tool that a server lists now.
#[derive(Debug, Clone)]
pub struct KnownTool {
    pub tool: Arc<Tool>,
    pub verdict: TrustVerdict,
    pub findings: Vec<Finding>,
    /// `None`: nothing is remembered of it, as of tools of this process.
    pub pin: Option<Pin>,
}

/// One tool with all that is to be seen before deciding.
#[derive(Debug)]
pub struct ToolExamination {
    pub known: KnownTool,
    /// What is kept of it, the newest last.
    pub pins: Vec<StoredPin>,
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
pub enum TrustDecisionError {
    #[error("no server lists `{0}` now")]
    Unknown(ToolId),
    #[error("`{0}` is a tool of the gateway itself: there is nothing to accept or reject")]
    Own(ToolId),
    /// So that nobody accepts what they have not seen.
    #[error("`{tool}` is offered with another definition now: {offered}")]
    Other { tool: ToolId, offered: ContentHash },
    #[error("the decision cannot be saved: {0}; {remedy}", remedy = .0.remedy())]
    Store(#[from] tollgate_store::Error),
    #[error(transparent)]
    Audit(#[from] AuditWriteError),
    #[error("the definitions cannot be compared: {0}")]
    Unreadable(#[from] MalformedJsonError),
}

impl Gate {
    /// Every tool that is listed by a server now, by exposed name: served or withheld.
    pub fn known_tools(&self) -> Vec<KnownTool> {
        let catalog = self.catalog();
        let pins = self.registry.pins();
        let known = |tool: &Arc<Tool>| {
            let doubted = catalog.doubted.binary_search_by(|it| it.tool.exposed.cmp(&tool.exposed));
            let doubted = doubted.ok().map(|at| &catalog.doubted[at]);
            KnownTool {
                tool: Arc::clone(tool),
                verdict: doubted.map_or(TrustVerdict::Served, |it| it.verdict.clone()),
                findings: match doubted {
                    Some(doubted) => doubted.findings.clone(),
                    None => tool.definition.findings.clone(),
                },
                pin: pins.get(&tool.id).cloned(),
            }
        };
        let withheld = catalog.quarantined_tools().map(|(tool, _)| tool);
        let mut all: Vec<KnownTool> = catalog.tools.iter().chain(withheld).map(known).collect();
        all.sort_by(|a, b| a.tool.exposed.cmp(&b.tool.exposed));
        all
    }

    /// All about one tool; `None` if no server lists it now.
    pub async fn examine(
        &self,
        tool: &ToolId,
    ) -> Result<Option<ToolExamination>, TrustDecisionError> {
        let Some(known) = self.known_tools().into_iter().find(|it| it.tool.id == *tool) else {
            return Ok(None);
        };
        let registry = Arc::clone(&self.registry);
        let tool = tool.clone();
        let pins =
            tokio::task::spawn_blocking(move || registry.pin_store().stored_definitions(&tool));
        let pins = pins.await.unwrap_or_else(|_| Ok(Vec::new()))?;
        let trusted = pins.iter().find(|it| it.state == StoredPinState::Accepted);
        let changes = match trusted {
            Some(it) => Some(trust::diff(&it.definition, &known.tool.definition.source_text())?),
            None => None,
        };
        Ok(Some(ToolExamination { known, pins, changes }))
    }

    /// Takes effect with the next catalogue, which is there when this returns. Goes to its end even
    /// if nobody waits for it any more.
    pub async fn decide(
        self: &Arc<Self>,
        tool: &ToolId,
        hash: ContentHash,
        answer: Answer,
        by: &Principal,
    ) -> Result<(), TrustDecisionError> {
        let catalog = self.catalog();
        if catalog.own.contains(&tool.server) {
            return Err(TrustDecisionError::Own(tool.clone()));
        }
        let withheld = catalog.quarantined_tools().map(|(tool, _)| tool);
        let offered = catalog.tools.iter().chain(withheld).find(|it| it.id == *tool);
        let offered = offered.ok_or_else(|| TrustDecisionError::Unknown(tool.clone()))?;
        if offered.hash != hash {
            return Err(TrustDecisionError::Other { tool: tool.clone(), offered: offered.hash });
        }
        let state = match answer {
            Answer::Accept => StoredPinState::Accepted,
            Answer::Reject => StoredPinState::Rejected,
        };
        let definition = offered.definition.source_text().into_owned();
        let at = self.clock.wall();
        let row = audit::Decision::new(AuditAction::Pin, by, state.as_str())
            .about(offered.exposed.as_str())
            .server(&tool.server)
            .tool(tool.tool.as_str())
            .because(&format!("definition {hash}"));
        let by = by.as_str().to_owned();
        let decision = Decision { tool: tool.clone(), hash, definition, state, by, at };
        let gate = Arc::clone(self);
        let carried_out = tasks::run_to_completion("decision on a tool", async move {
            gate.write_decision(row, decision).await
        });
        let gone = || tollgate_store::Error::Failed("the decision was interrupted".to_owned());
        carried_out.await.unwrap_or_else(|| Err(gone().into()))
    }

    async fn write_decision(
        &self,
        row: audit::Decision,
        decision: Decision,
    ) -> Result<(), TrustDecisionError> {
        let tool = decision.tool.clone();
        let hash = decision.hash;
        let state = decision.state.as_str();
        let by: Arc<str> = decision.by.as_str().into();
        // First the trail: nothing is trusted without a word of who said so.
        self.ledger().note(row).await?;
        let registry = Arc::clone(&self.registry);
        let written = tokio::task::spawn_blocking(move || registry.pin_store().decide(&decision));
        written
            .await
            .unwrap_or_else(|panic| Err(tollgate_store::Error::Failed(panic.to_string())))?;
        self.registry.rebuild().await;
        tracing::info!(%tool, %hash, %by, decision = state, "a tool was accepted or rejected");
        self.notices.tell(Notice::Judged { tool, hash, decision: state, by });
        Ok(())
    }
}
