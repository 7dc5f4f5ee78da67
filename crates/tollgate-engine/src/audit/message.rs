//! Messages to the audit writer, and their conversion to rows.

use std::time::SystemTime;

use tokio::sync::oneshot;
use tollgate_core::call::ResultSource;
use tollgate_core::id::{AgentId, ServerId, ToolName};
use tollgate_store::audit::AuditEntry;

use super::Decision;
use crate::record::{CallId, CallRecord};

pub(super) struct AuditMessage {
    pub(super) what: AuditPayload,
    /// Signalled when the row is on disk.
    pub(super) done: Option<oneshot::Sender<()>>,
}

pub(super) enum AuditPayload {
    Call(CallRecord),
    Decision(SystemTime, Decision),
    /// A flush marker: signals when everything before it is written.
    Nothing,
}

impl AuditMessage {
    pub(super) fn entry(&self) -> Option<AuditEntry<&str>> {
        match &self.what {
            AuditPayload::Call(record) => Some(of_call(record)),
            AuditPayload::Decision(at, decision) => Some(of_decision(*at, decision)),
            AuditPayload::Nothing => None,
        }
    }
}

fn of_call(record: &CallRecord) -> AuditEntry<&str> {
    AuditEntry {
        at: record.at,
        kind: "call",
        principal: record.principal.as_str(),
        agent: Some(record.agent.as_str()),
        method: Some(record.method),
        name: Some(&record.name),
        server: record.server.as_ref().map(ServerId::as_str),
        tool: record.tool.as_ref().map(ToolName::as_str),
        arguments_hash: record.arguments_hash,
        arguments: record.arguments.as_deref(),
        catalog_version: Some(record.catalog_version),
        tier: Some(record.tier.as_str()),
        outcome: record.end.as_str(),
        duration: Some(record.duration),
        bytes: u64::try_from(record.result_bytes).ok(),
        cached: Some(record.source == ResultSource::Cached),
        call: Some(record.call.as_str()),
        within: record.within.as_ref().map(CallId::as_str),
        detail: record.detail.as_deref(),
    }
}

fn of_decision(at: SystemTime, decision: &Decision) -> AuditEntry<&str> {
    let principal = decision.principal.as_str();
    AuditEntry {
        agent: decision.agent.as_ref().map(AgentId::as_str),
        name: decision.name.as_deref(),
        server: decision.server.as_ref().map(ServerId::as_str),
        tool: decision.tool.as_deref(),
        arguments_hash: decision.arguments_hash,
        call: decision.call.as_ref().map(CallId::as_str),
        detail: decision.detail.as_deref(),
        ..AuditEntry::new(at, decision.act.as_str(), principal, &decision.outcome)
    }
}
