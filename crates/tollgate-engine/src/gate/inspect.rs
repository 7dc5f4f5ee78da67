//! What the gateway knows of its catalogue, servers and calls: read by APIs, the command line and the
//! admin page. Nothing here runs a call.

use std::sync::Arc;

use tokio::sync::{broadcast, watch};
use tollgate_core::agent::Agent;
use tollgate_core::call::ResultHandle;
use tollgate_core::call_policy::OnAuditFailure;
use tollgate_core::catalog::Catalog;
use tollgate_core::filter::ToolExplanation;
use tollgate_core::id::ToolId;
use tollgate_core::policy::PermitError;
use tollgate_core::turn::{Principal, Turn};

use super::{Gate, TurnRequest, UnknownAgentError};
use crate::approvals::ApprovalQueue;
use crate::audit::AuditLedger;
use crate::caller::CallError;
use crate::calls::CallTracker;
use crate::memory::MemoryService;
use crate::meters::MeterReading;
use crate::model_usage::ModelUsageMeter;
use crate::notices::Notice;
use crate::resource_watches::{self, ResourceWatch};
use crate::results::ResultLookup;
use crate::reuse::CacheStats;
use crate::servers::{Readiness, ServerStatus};
use crate::spans::Tracer;
use crate::upstream::{StateEpisode, TestReport, Upstream};

impl Gate {
    /// Why each tool is in the view of such a turn, or out of it. Names what nobody can see.
    pub fn explain(
        &self,
        turn_request: &TurnRequest<'_>,
    ) -> Result<Vec<ToolExplanation>, UnknownAgentError> {
        self.registry.current().explain(turn_request.view_query())
    }

    /// What was too much for an answer, or came too late for it. Says the same of what is not
    /// there and of what is another's.
    pub fn result(&self, principal: &Principal, handle: &str) -> ResultLookup {
        ResultHandle::parse(handle)
            .map_or(ResultLookup::Unknown, |handle| self.results.read(principal, handle))
    }

    /// How fast the tool is, and which tier it is in because of that; `None` if there is no such
    /// tool.
    pub fn reading(&self, tool: &ToolId) -> Option<MeterReading> {
        self.meters.reading(tool)
    }

    /// Makes spans of what is done for requests, where somebody follows them.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Calls that wait for approval.
    pub fn approvals(&self) -> &ApprovalQueue {
        &self.approvals
    }

    /// Slow calls, late results, calls that wait for approval, tools that moved: from now on.
    pub fn notices(&self) -> broadcast::Receiver<Arc<Notice>> {
        self.notices.listen()
    }

    /// Tells it to whoever listens.
    pub fn announce(&self, notice: Notice) {
        self.notices.tell(notice);
    }

    /// Changes with every new catalogue.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.registry.changes()
    }

    /// URIs of resources that changed, among those that someone watches.
    pub fn resource_updates(&self) -> broadcast::Receiver<Arc<str>> {
        self.registry.resource_updates()
    }

    /// Has the server tell of changes of this resource for as long as the watch is held.
    pub fn watch_resource(&self, turn: &Turn, uri: &str) -> Result<ResourceWatch, CallError> {
        let unknown = || PermitError::UnknownResource { uri: uri.chars().take(80).collect() };
        let server = turn.view.resource_route(uri).ok_or_else(unknown)?;
        self.watches.hold(server, uri).ok_or_else(|| {
            let message = format!(
                "{} resources of `{server}` are already subscribed to",
                resource_watches::MAX_WATCHED_RESOURCES
            );
            CallError::Unanswered { message }
        })
    }

    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.registry.current().catalog)
    }

    pub fn agents(&self) -> Vec<Agent> {
        self.registry.current().policy.agents.clone()
    }

    pub fn agent(&self, name: &str) -> Result<Agent, UnknownAgentError> {
        let policy = &self.registry.current().policy;
        Ok(policy.agents[policy.find(Some(name))?].clone())
    }

    /// The one that is meant where none is named.
    pub fn default_agent(&self) -> Result<Agent, UnknownAgentError> {
        let policy = &self.registry.current().policy;
        Ok(policy.agents[policy.find(None)?].clone())
    }

    pub fn servers(&self) -> Vec<ServerStatus> {
        self.servers.statuses()
    }

    /// Connects to the server afresh and says how that went; `None` if there is none of the name.
    pub async fn test(&self, server: &str) -> Option<TestReport> {
        self.servers.test(server).await
    }

    /// The states that a server was in lately, newest first; `None` if there is none of the name.
    pub fn history(&self, server: &str) -> Option<Vec<StateEpisode>> {
        self.servers.history(server)
    }

    /// The handle of a server that does not run in this process; `None` if there is none of the
    /// name.
    pub fn upstream(&self, server: &str) -> Option<Arc<Upstream>> {
        self.servers.find(server)
    }

    /// What there was for calls whose answers may be kept.
    pub fn cache_stats(&self) -> CacheStats {
        self.reuse.cache_stats()
    }

    /// What runs now and ran lately.
    pub fn calls(&self) -> &Arc<CallTracker> {
        &self.recorder.calls
    }

    /// What was called and decided.
    pub fn ledger(&self) -> &AuditLedger {
        &self.recorder.ledger
    }

    /// Whether calls are refused while the audit trail cannot be written.
    pub fn needs_audit(&self) -> bool {
        self.registry.current().calls.audit.on_failure == OnAuditFailure::Refuse
    }

    /// Usage of models, and limits on it.
    pub fn model_usage(&self) -> &Arc<ModelUsageMeter> {
        &self.model_usage
    }

    /// What agents remember; `None`: nothing.
    pub fn memory(&self) -> Option<&Arc<MemoryService>> {
        self.memory_service.as_ref()
    }

    pub fn is_ready(&self) -> Readiness {
        self.servers.readiness()
    }

    /// Waits until every server that starts eagerly has come up or failed, but not for ever.
    pub async fn wait_until_settled(&self) {
        self.servers.wait_until_settled(&self.registry).await;
    }

    /// Ends all servers in good order, and saves what was measured.
    pub async fn stop(&self) {
        self.sandbox.load().close();
        self.servers.stop().await;
        // Told in there; whoever tends the meters tries once more.
        let _ = self.meters.flush().await;
        let _ = self.recorder.ledger.flush().await;
        if let Some(memory_service) = &self.memory_service {
            memory_service.settle().await;
        }
    }
}
