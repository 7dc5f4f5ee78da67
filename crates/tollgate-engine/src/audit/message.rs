//! What travels to the writer, and how it looks as a row.

use std::time::SystemTime;

use tokio::sync::oneshot;
use tollgate_core::call::Source;
use tollgate_core::id::{AgentId, ServerId, ToolName};
use tollgate_store::audit::Entry;

use super::Decision;
use crate::record::{CallId, CallRecord};

pub(super) struct Message {
    pub(super) what: What,
    /// Told when it is on the disk.
    pub(super) done: Option<oneshot::Sender<()>>,
}

pub(super) enum What {
    Call(CallRecord),
    Decision(SystemTime, Decision),
    /// Someone only wants to know when all before it is written.
    Nothing,
}

impl Message {
    pub(super) fn entry(&self) -> Option<Entry<&str>> {
        match &self.what {
            What::Call(record) => Some(of_call(record)),
            What::Decision(at, decision) => Some(of_decision(*at, decision)),
            What::Nothing => None,
        }
    }
}

fn of_call(record: &CallRecord) -> Entry<&str> {
    Entry {
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
        cached: Some(record.source == Source::Cached),
        call: Some(record.call.as_str()),
        within: record.within.as_ref().map(CallId::as_str),
        detail: record.detail.as_deref(),
    }
}

fn of_decision(at: SystemTime, decision: &Decision) -> Entry<&str> {
    let principal = decision.principal.as_str();
    Entry {
        agent: decision.agent.as_ref().map(AgentId::as_str),
        name: decision.name.as_deref(),
        server: decision.server.as_ref().map(ServerId::as_str),
        tool: decision.tool.as_deref(),
        arguments_hash: decision.arguments_hash,
        call: decision.call.as_ref().map(CallId::as_str),
        detail: decision.detail.as_deref(),
        ..Entry::new(at, decision.act.as_str(), principal, &decision.outcome)
    }
}
